"""A request as one line of lower-case words in which names are marks."""

from __future__ import annotations

import re
from collections.abc import Callable

from study.drivers.router.lexicon import RESERVED
from study.records import Record

_TOKEN = re.compile(
    r"`(?P<tick>[^`\n]+)`|[\"“”](?P<double>[^\"“”\n]+)[\"“”]|(?<![\w])['‘](?P<single>[^'’\n]+)['’](?!\w)"
    r"|(?P<short>(?:i|we|you|it|that|there|what|who|where|let|do|does|did|is|are|was|were|has|have|had|would"
    r"|could|should|ca|wo|they)(?:n?['’](?:m|d|ve|re|ll|s|t)))\b"
    r"|(?P<own>['’]s\b|(?<=s)['’](?=\s))"
    r"|(?P<word>\w+(?:(?:\.|/|::|-)\w+)*)(?P<call>\(\))?|(?P<mark>[,;:.?!()\n–—…]|(?<=\s)-{1,2}(?=\s))",
    re.IGNORECASE,
)
_STRONG = re.compile(r"[./_\d]|::|[a-z][A-Z]|[A-Z]{2}.*[a-z]")
_SHORT = {
    "'m": " am",
    "'d": " would",
    "'ve": " have",
    "'re": " are",
    "'ll": " will",
    "'s": " is",
}
_MARKS = {"\n": ";", "–": ",", "—": ",", "-": ",", "--": ",", "!": ".", "…": "."}
"""Mark -> the one that is read for it."""
_WORDS = {
    "codebase": "code base",
    "everybody": "everyone",
    "re-exports": "exports",
    "reexports": "exports",
    "re-export": "export",
    "cannot": "can not",
    "dependants": "dependents",
    "organized": "organised",
    "organization": "organisation",
    "specialization": "specialisation",
    "specializations": "specialisations",
    "specialize": "specialise",
    "specializes": "specialises",
}
MARK = re.compile(r"«(\d+)»")
ITEM = "«each»"
"""The mark of every label of the answer before."""

Known = Callable[[str], bool]


class Scanned(Record):
    """A request that was scanned.

    Attributes
    ----------
    line : str
        Words in lower case, marks ``«n»`` for names, punctuation; one space between.
    names : tuple of str
        What each mark stands for, as written.
    plain : dict of str to str
        Ordinary words that may be a name as well -> as written.
    """

    line: str
    names: tuple[str, ...]
    plain: dict[str, str]


def scan(request: str, known: Known) -> Scanned:
    """Split a request into words and names.

    Parameters
    ----------
    request : str
    known : callable
        Whether a word is the name of something.
    """
    parts: list[str] = []
    names: list[str] = []
    plain: dict[str, str] = {}

    def mark(text: str) -> None:
        if text not in names:
            names.append(text)
        parts.append(f"«{names.index(text)}»")

    for match in _TOKEN.finditer(request):
        if match["mark"]:
            parts.append(_MARKS.get(match["mark"], match["mark"]))
            continue
        if match["own"]:
            parts.append("'s")
            continue
        if match["short"]:
            parts.append(_long_form(match["short"]))
            continue
        quoted = match["tick"] or match["double"] or match["single"]
        text: str = (quoted or match["word"]).strip().removesuffix("()")
        if not text:
            continue
        opening = not parts or parts[-1] in ".?;:"
        if quoted or match["call"] or _is_name(text, opening, known):
            mark(text)
            continue
        low = _WORDS.get(text.lower(), text.lower())
        parts.append(low)
        if low not in RESERVED and low not in plain and known(text):
            plain[low] = text
    return Scanned(line=_joined(" ".join(parts)), names=tuple(names), plain=plain)


def _is_name(text: str, opening: bool, known: Known) -> bool:
    """Whether a word is a name by its form; capitals at the start of a sentence prove nothing."""
    if text in ("I", "A"):
        return False
    if _STRONG.search(text):
        return not text.isdecimal()
    if text[0].isupper():
        return not opening and text.lower() not in RESERVED and (known(text) or not text.isupper())
    return "-" in text and text[-1].isdecimal()


def _long_form(short: str) -> str:
    low = short.lower().replace("’", "'")
    if low.endswith("n't"):
        return {"ca": "can", "wo": "will"}.get(low[:-3], low[:-3]) + " not"
    stem, _, ending = low.partition("'")
    return "let us" if low == "let's" else stem + _SHORT.get("'" + ending, "")


def _joined(line: str) -> str:
    """Return a line in which compounds of several words are one."""
    line = re.sub(r"\btest (module|file)(s?)\b", r"test-module\2", line)
    line = re.sub(r"\b(?:each other|one another)(?: 's)?\b", "each-other", line)
    return re.sub(r"\bco change(s|d)?\b", r"cochange\1", line.replace("co-chang", "cochang"))
