"""When two argument values are equal: the declared comparison rules, compiled."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Callable, Hashable, Sequence
from fractions import Fraction
from typing import Any

import msgspec

from study.binding import as_text, flat_text, number_text
from study.cases import Rules
from study.digest import is_list, is_object
from study.errors import SuiteError, did_you_mean
from study.records import Record
from study.registry import Registry

Equal = Callable[[Any], bool]
Key = Callable[[Any], Hashable]

RULE_NAMES = ("exact", "casefold", "nfc", "whitespace", "set")
_ALLOWED = f'{", ".join(RULE_NAMES)}, a list of them, or {{"tolerance": x}}'


class _Missing:
    """Stands for an argument that a call does not hold."""

    __slots__ = ()


MISSING = _Missing()


class Rule(Record):
    """How one argument is compared.

    Attributes
    ----------
    typed : bool
        Typed JSON values (5 equals 5.0, true never equals 1); otherwise each leaf's trimmed text.
    nfc, casefold, whitespace : bool
        Normalisations of text: NFC, case folding, runs of white space as one blank.
    as_set : bool
        Lists without order and repetition.
    tolerance : float or None
        Largest difference of two equal numbers, read as the decimal that is written.
    """

    typed: bool
    nfc: bool = False
    casefold: bool = False
    whitespace: bool = False
    as_set: bool = False
    tolerance: float | None = None


def parse_rule(spec: Any, base: Rule, where: str) -> Rule:
    """Read a declared rule on top of the suite's matching mode.

    Parameters
    ----------
    spec : str, list or dict
        ``exact`` compares typed values without any normalisation; ``casefold``, ``nfc``, ``whitespace`` and
        ``set`` add one each; ``{"tolerance": x}`` is for numbers.
    base : Rule
        What the matching mode says.
    where : str
        The place to name in errors.

    Raises
    ------
    SuiteError
        For anything else, and for a tolerance on a set.
    """
    changes: dict[str, Any] = {}
    for part in spec if is_list(spec) else [spec]:
        if part == "exact":
            changes |= {"typed": True, "nfc": False}
        elif part == "set":
            changes["as_set"] = True
        elif part in ("casefold", "nfc", "whitespace"):
            changes[part] = True
        elif is_object(part) and list(part) == ["tolerance"]:
            changes["tolerance"] = _tolerance(part["tolerance"], where)
        else:
            guess = did_you_mean(part, RULE_NAMES) if isinstance(part, str) else ""
            raise SuiteError(f"unknown comparison rule {part!r}{guess}", where=where, allowed=_ALLOWED)
    rule = msgspec.structs.replace(base, **changes)
    if not changes or (rule.as_set and rule.tolerance is not None):
        raise SuiteError(f"the comparison rule {spec!r} says nothing usable", where=where, allowed=_ALLOWED)
    return rule


def _tolerance(value: Any, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
        raise SuiteError(f"tolerance {value!r}", where=where, allowed="a finite number that is not negative")
    return value


def value_key(rule: Rule) -> Key:
    """Return the function whose values are equal exactly for equal arguments (a tolerance left aside).

    Leaves become text; lists and objects become a tuple around it, so that no text equals a container.
    """
    leaf = _typed_leaf(rule) if rule.typed else _text_leaf(rule)

    def nested(value: Any) -> str:
        text = leaf(value)
        return f"{len(text)}:{text}"

    def key(value: Any) -> Hashable:
        if is_list(value):
            if rule.as_set:
                return frozenset(flat_text(item, nested) for item in value)
            return (flat_text(value, nested),)
        if is_object(value):
            return (flat_text(value, nested),)
        return leaf(value)

    return key


def _normaliser(rule: Rule) -> Callable[[str], str]:
    def normalise(text: str) -> str:
        if rule.nfc:
            text = unicodedata.normalize("NFC", text)
        if rule.casefold:
            text = text.casefold()
            text = unicodedata.normalize("NFC", text) if rule.nfc else text
        return " ".join(text.split()) if rule.whitespace else text

    return normalise


def _text_leaf(rule: Rule) -> Callable[[Any], str]:
    if not (rule.nfc or rule.casefold or rule.whitespace):
        return as_text
    normalise = _normaliser(rule)
    return lambda value: normalise(as_text(value))


def _typed_leaf(rule: Rule) -> Callable[[Any], str]:
    normalise = _normaliser(rule)

    def leaf(value: Any) -> str:
        if isinstance(value, str):
            return '"' + normalise(value)
        if value is None:
            return "null"
        return number_text(value) if isinstance(value, bool | int | float) else f"<{type(value).__name__}>"

    return leaf


def equal_to(wanted: Sequence[Any], rule: Rule) -> Equal:
    """Return the test whether a produced value equals one of the wanted values.

    A missing argument arrives as :data:`MISSING`: under a text rule it is blank, else equal to nothing.
    """
    key = value_key(rule)
    if rule.tolerance is not None:
        limit = _exact(rule.tolerance)
        return lambda value: any(_close(value, w, limit, key) for w in wanted)
    keys = frozenset(key(value) for value in wanted)
    identical = frozenset(value for value in wanted if isinstance(value, str))
    if_missing = not rule.typed and key(None) in keys

    def equal(value: Any) -> bool:
        if value.__class__ is str and value in identical:
            return True
        return if_missing if value is MISSING else key(value) in keys

    return equal


def _exact(value: float) -> Fraction:
    return Fraction(value) if isinstance(value, int) else Fraction(repr(value))


def _is_number(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return math.isfinite(value) if isinstance(value, float) else True


def _close(left: Any, right: Any, limit: Fraction, key: Key) -> bool:
    """Compare numbers at any depth within a tolerance, everything else by its key."""
    pairs = [(left, right)]
    while pairs:
        a, b = pairs.pop()
        if _is_number(a) and _is_number(b):
            if abs(_exact(a) - _exact(b)) > limit:
                return False
        elif is_list(a) and is_list(b) and len(a) == len(b):
            pairs += zip(a, b, strict=True)
        elif is_object(a) and is_object(b) and a.keys() == b.keys():
            pairs += ((a[k], b[k]) for k in a)
        elif a is MISSING or is_list(a) or is_object(a) or key(a) != key(b):
            return False
    return True


class Comparison:
    """The comparison of one case: the suite's mode, its rules by argument, and the schema defaults.

    Parameters
    ----------
    rules : Rules
    compare : mapping or None
        The case's own ``expect.compare``; wins over the suite's.
    registry : Registry
        Where the defaults of optional arguments come from.
    where : str
        The place to name in errors.

    Raises
    ------
    SuiteError
        For an unknown rule.
    """

    __slots__ = ("_base_key", "_by_argument", "_defaults", "_registry", "base")

    def __init__(self, rules: Rules, compare: Any, registry: Registry, where: str) -> None:
        typed = rules.match == "json"
        self.base = Rule(typed=typed, nfc=typed)
        self._base_key = value_key(self.base)
        if compare is not None and not is_object(compare):
            raise SuiteError("compare must be an object", where=where, allowed='{"tool.arg": rule}')
        declared: dict[str, Any] = {**rules.compare, **(compare or {})}
        self._by_argument = {k: parse_rule(v, self.base, f"{where}:{k}") for k, v in declared.items()}
        self._registry = registry if rules.defaults_equal_omitted else None
        self._defaults: dict[str, dict[str, Any]] = {}

    def rule(self, tool: str, arg: str) -> Rule:
        """Return the rule of one argument."""
        return self._by_argument.get(f"{tool}.{arg}", self.base)

    def default(self, tool: str, arg: str) -> Any:
        """Return what an omitted argument stands for: its schema default where declared, else MISSING."""
        return self._defaults_of(tool).get(arg, MISSING)

    def input_key(self, name: Any, arguments: dict[str, Any]) -> Hashable:
        """Return the key under which two whole calls are one: name and input under the suite's mode.

        Arguments that say nothing are left out: blank ones under the text rule, and schema defaults of
        optional arguments where the suite declares them equal to omission.
        """
        key = self._base_key
        kept = {arg: key(value) for arg, value in arguments.items()}
        if isinstance(name, str):
            for arg, default in self._defaults_of(name).items():
                if kept.get(arg) == key(default):
                    del kept[arg]
        said = kept.items() if self.base.typed else (item for item in kept.items() if item[1] != "")
        return (name if isinstance(name, str) else (flat_text(name),), frozenset(said))

    def _defaults_of(self, tool: str) -> dict[str, Any]:
        if self._registry is None or tool not in self._registry:
            return {}
        found = self._defaults.get(tool)
        if found is None:
            found = self._defaults[tool] = _schema_defaults(self._registry[tool].input_schema or {})
        return found


def _schema_defaults(schema: dict[str, Any]) -> dict[str, Any]:
    properties, required = schema.get("properties", {}), schema.get("required", [])
    return {
        arg: entry["default"]
        for arg, entry in properties.items()
        if arg not in required and is_object(entry) and "default" in entry
    }
