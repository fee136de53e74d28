"""The ``tmct_*`` tools: each answers one question with a set of labels.

``result`` is the whole answer, sorted by code point; ``text`` shows the first of it. A term is bound as
:class:`study.toolsets.codegraph.names.NameIndex` says. An unknown or tied term and an entity of the wrong
kind are a :class:`study.driver.ToolError`, never an empty answer. *Sited* is everything but a commit;
*symbol* is a module, class, function, method, attribute or global; *memory term* is
explained in :mod:`study.toolsets.codegraph.memory`.

============ ================ =========================================================================
tool         argument         answer
============ ================ =========================================================================
search       text             entities that satisfy all that is given: ``query`` occurs in the label (any
                              case), ``kind`` is the kind, ``name`` is the last name of the label,
                              ``decorator`` is a decorator or the last name of one
describe     anything         the entity itself; the text has kind, place, container, signature, counts
signature    symbol but no    the entity itself; the text has the signature or the declared type
             module
impact       sited            modules (no test modules) that import the module of the argument, directly
                              or through others to any depth; never that module itself
members      class            methods, attributes and classes written in the class; nothing inherited
subclasses   class            classes that derive from it, directly or through others
exports      module           its ``__all__``; without one its public definitions and re-exports
callers      symbol           code that calls exactly this: for a class, that constructs it
callees      symbol           what exactly this code calls; of a module or class its own statements count
calls        symbol           the other ends of both; the text also has the calls without a known target
tests_for    symbol           test modules that import, call or name it or something inside it
untested     nothing          modules, classes, functions and methods without such a test module; special
                              methods and what is inside a function left out, since no test names them
history      sited            commits that touched its file
cochanges    sited            modules and test modules that changed together with its module (what counts:
                              :mod:`study.toolsets.codegraph.history`)
architecture package, or      modules below the package, without it; without an argument all modules but
             nothing          test modules; the text has their imports and import cycles
============ ================ =========================================================================

Not registered, because their output has no bound: ``tmct_snippet`` (the source of a symbol, when the
toolset knows the source folder), ``tmct_context`` (everything the graph says about a symbol) and
``tmct_context_more`` (its further pages).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from study.binding import as_text
from study.driver import Resolution, ToolError, ToolResult
from study.errors import did_you_mean, listed
from study.toolsets.codegraph import wording
from study.toolsets.codegraph.bundle import context_lines, page
from study.toolsets.codegraph.commands import TERSE_COMMANDS
from study.toolsets.codegraph.graph import KINDS, Entity, Graph
from study.toolsets.codegraph.index import Answer, GraphIndex
from study.toolsets.codegraph.memory import SIZES, Memory
from study.toolsets.codegraph.names import NameIndex
from study.toolsets.codegraph.snippet import read_snippet

SYMBOLS = frozenset({"module", "class", "function", "method", "attribute", "global"})
SITED = SYMBOLS | {"test-module"}
_ANY = frozenset(KINDS)
_CLASS = frozenset({"class"})
_MODULE = frozenset({"module"})

_Arguments = Mapping[str, Any]
_Tool = Callable[[_Arguments], ToolResult]


class CodeGraphTools:
    """The toolset of one code graph.

    Parameters
    ----------
    graph : Graph
    source : Path, optional
        The folder that the paths of the graph are relative to; only ``tmct_snippet`` reads it.

    Attributes
    ----------
    names : tuple of str
        Every tool that :meth:`dispatch` runs, registered or not.
    labels : frozenset of str
        Every label of the graph and every term of its memory.
    commands : mapping of str to (str, str or None)
        The terse commands: verb -> (tool, key of its argument).
    """

    commands: Mapping[str, tuple[str, str | None]] = TERSE_COMMANDS

    def __init__(self, graph: Graph, source: Path | None = None) -> None:
        self._index = GraphIndex(graph)
        self._names = NameIndex(self._index)
        self._memory = graph.memory or Memory()
        self._labels = frozenset([*self._index.entities, *self._memory.terms])
        self._source = source
        self._texts: dict[tuple[str, str], str] = {}
        self._tools: dict[str, tuple[frozenset[str], _Tool]] = self._table()

    @property
    def names(self) -> Sequence[str]:
        """Every name that :meth:`dispatch` can run."""
        return tuple(self._tools)

    @property
    def labels(self) -> frozenset[str]:
        """Every label of the graph, and every term of its memory: what a pinned result may name."""
        return self._labels

    def resolve(self, term: str) -> Resolution:
        """Bind a term to an entity of the graph."""
        return self._names.resolve(term)

    def resolve_memory_term(self, term: str) -> Resolution:
        """Bind a mention to a term of the memory facts."""
        found = self._memory.find(term.strip())
        return Resolution(found[0], "term") if len(found) == 1 else Resolution(None, tied=found)

    def dispatch(self, name: str, arguments: Mapping[str, Any]) -> ToolResult:
        """Run one tool.

        Raises
        ------
        ToolError
            For an unknown tool or argument, a missing argument, a term that binds nothing or several
            entities, and an entity of the wrong kind.
        """
        entry = self._tools.get(name)
        if entry is None:
            raise ToolError(f"there is no tool {name!r}{did_you_mean(str(name), self._tools)}")
        accepted, tool = entry
        if not accepted.issuperset(arguments):
            wrong = min(str(key) for key in arguments if key not in accepted)
            raise ToolError(
                f"{name} takes no argument {wrong!r}; it takes {listed(sorted(accepted)) or 'none'}"
            )
        return tool(arguments)

    def _table(self) -> dict[str, tuple[frozenset[str], _Tool]]:
        index = self._index
        queries = {
            "tmct_members": self._query("members", "class", _CLASS, index.members),
            "tmct_subclasses": self._query("subclasses", "class", _CLASS, index.subclasses),
            "tmct_exports": self._query("exports", "module", _MODULE, index.exports),
            "tmct_callers": self._query("callers", "symbol", SYMBOLS, index.callers),
            "tmct_callees": self._query("callees", "symbol", SYMBOLS, index.callees),
            "tmct_calls": self._query("calls", "symbol", SYMBOLS, index.calls),
            "tmct_tests_for": self._query("tests", "symbol", SYMBOLS, index.tests_for),
            "tmct_impact": self._query("impact", "module", SITED, index.impact, of_module=True),
            "tmct_history": self._query("history", "symbol", SITED, index.history, of_module=True),
            "tmct_cochanges": self._query("cochanges", "symbol", SITED, index.cochanges, of_module=True),
        }
        tools: dict[str, tuple[frozenset[str], _Tool]] = {
            "tmct_search": (frozenset({"query", "kind", "name", "decorator"}), self._search),
            "tmct_describe": (frozenset({"symbol"}), self._describe),
            "tmct_signature": (frozenset({"symbol"}), self._signature),
            "tmct_untested": (frozenset(), self._untested),
            "tmct_architecture": (frozenset({"package"}), self._architecture),
            "tmct_related": (frozenset({"term"}), self._related),
            "tmct_sprite": (frozenset({"class", "expression", "size"}), self._sprite),
            "tmct_snippet": (frozenset({"symbol"}), self._snippet),
            "tmct_context": (frozenset({"symbol"}), self._context),
            "tmct_context_more": (frozenset({"symbol", "page"}), self._context_more),
        }
        return tools | queries

    def _query(
        self,
        topic: str,
        key: str,
        kinds: frozenset[str],
        answers: Mapping[str, Answer],
        *,
        of_module: bool = False,
    ) -> tuple[frozenset[str], _Tool]:
        """Return a tool that binds one argument, then looks its answer up."""
        module_of, entities, texts = self._index.module_of, self._index.entities, self._texts

        def run(arguments: _Arguments) -> ToolResult:
            label = self._bind(arguments, key, kinds)
            about = label
            if of_module:
                if label not in module_of:
                    raise ToolError(f"the graph has no module for {label!r}")
                about = module_of[label]
            answer = answers.get(about, ())
            text = texts.get((topic, label))
            if text is None:
                text = wording.answer(topic, entities[label], about, answer, self._index)
                texts[topic, label] = text
            return ToolResult(True, text, None, label, list(answer))

        return frozenset({key}), run

    def _bind(self, arguments: _Arguments, key: str, kinds: frozenset[str]) -> str:
        term = as_text(arguments.get(key))
        labels = self._names.candidates(term)
        if len(labels) != 1:
            raise ToolError(self._unbound(term, key, labels))
        label = labels[0]
        kind = self._index.entities[label].kind
        if kind not in kinds:
            wanted = listed(kind for kind in KINDS if kind in kinds)
            raise ToolError(f"{label!r} is a {kind}; {key!r} must be one of {wanted}")
        return label

    def _unbound(self, term: str, key: str, tied: tuple[str, ...]) -> str:
        if not term:
            return f"the argument {key!r} is missing"
        if tied:
            return f"{term!r} could be any of {listed(tied)}"
        return f"nothing is called {term!r}{did_you_mean(term, self._index.entities)}"

    def _search(self, arguments: _Arguments) -> ToolResult:
        given = {key: text for key, value in arguments.items() if (text := as_text(value))}
        if not given.keys() & {"query", "kind"}:
            raise ToolError("one of 'query' and 'kind' is needed")
        what = ", ".join(f"{key} {given[key]!r}" for key in sorted(given))
        kind = given.get("kind")
        if kind is not None and kind not in KINDS:
            raise ToolError(f"there is no kind {kind!r}{did_you_mean(kind, KINDS)}; kinds: {listed(KINDS)}")
        found = [entity.label for entity in _matches(self._index, given)]
        return ToolResult(True, wording.listing(f"matches for {what}", found), None, None, found)

    def _describe(self, arguments: _Arguments) -> ToolResult:
        label = self._bind(arguments, "symbol", _ANY)
        text = wording.description(self._index.entities[label], self._index)
        return ToolResult(True, text, None, label, [label])

    def _signature(self, arguments: _Arguments) -> ToolResult:
        label = self._bind(arguments, "symbol", SYMBOLS - {"module"})
        signature = self._index.entities[label].signature
        text = f"{label}: {signature or 'nothing is declared'}"
        return ToolResult(True, text, None, label, [label])

    def _untested(self, arguments: _Arguments) -> ToolResult:
        text = self._texts.get(("untested", ""))
        if text is None:
            text = self._texts["untested", ""] = wording.listing("untested", self._index.untested)
        return ToolResult(True, text, None, None, list(self._index.untested))

    def _architecture(self, arguments: _Arguments) -> ToolResult:
        label, found = None, self._index.modules
        if as_text(arguments.get("package")):
            label = self._bind(arguments, "package", _MODULE)
            if label not in self._index.packages:
                raise ToolError(
                    f"{label!r} is a module without modules below it; 'package' must be a package"
                )
            found = self._index.below[label]
        text = self._texts.get(("architecture", label or ""))
        if text is None:
            text = self._texts["architecture", label or ""] = wording.architecture(label, found, self._index)
        return ToolResult(True, text, None, label, list(found))

    def _related(self, arguments: _Arguments) -> ToolResult:
        term = self._bind_term(arguments, "term")
        found = self._memory.relatives(term)
        text = wording.listing(f"related to {term}", [f"{other} ({how})" for other, how in found])
        return ToolResult(True, text, None, term, [other for other, _ in found])

    def _sprite(self, arguments: _Arguments) -> ToolResult:
        term = self._bind_term(arguments, "class")
        size = as_text(arguments.get("size")) or "1"
        if size not in map(str, SIZES):
            raise ToolError(f"the size {size!r} is none of {listed(map(str, SIZES))}")
        try:
            lines = self._memory.sprite(term, as_text(arguments.get("expression")) or None, int(size))
        except LookupError as error:
            raise ToolError(str(error.args[0])) from None
        return ToolResult(True, "\n".join(lines), None, term, [term])

    def _bind_term(self, arguments: _Arguments, key: str) -> str:
        term = as_text(arguments.get(key))
        found = self._memory.find(term)
        if len(found) == 1:
            return found[0]
        if not term or found:
            raise ToolError(self._unbound(term, key, found))
        raise ToolError(f"the memory knows no {term!r}{did_you_mean(term, self._memory.terms)}")

    def _snippet(self, arguments: _Arguments) -> ToolResult:
        label = self._bind(arguments, "symbol", SITED)
        text = read_snippet(self._index.entities[label], self._source)
        return ToolResult(True, text, None, label, [label])

    def _context(self, arguments: _Arguments) -> ToolResult:
        return self._context_page(arguments, 1)

    def _context_more(self, arguments: _Arguments) -> ToolResult:
        number = as_text(arguments.get("page")) or "2"
        if not number.isdecimal() or int(number) < 1:
            raise ToolError(f"the page {number!r} is no number from 1")
        return self._context_page(arguments, int(number))

    def _context_page(self, arguments: _Arguments, number: int) -> ToolResult:
        label = self._bind(arguments, "symbol", SITED)
        lines, labels = context_lines(self._index.entities[label], self._index)
        return ToolResult(True, page(lines, number), None, label, labels)


def _matches(index: GraphIndex, given: Mapping[str, str]) -> list[Entity]:
    """Return the entities that satisfy every given criterion of a search, sorted by label."""
    query, kind, name, decorator = (given.get(key) for key in ("query", "kind", "name", "decorator"))
    text = "" if query is None else query.casefold()
    found = [entity for folded, entity in index.by_text if text in folded]
    if kind is not None:
        found = [entity for entity in found if entity.kind == kind]
    if name is not None:
        found = [entity for entity in found if entity.label.rpartition(".")[2] == name]
    if decorator is not None:
        found = [entity for entity in found if _is_decorated(entity, decorator)]
    return found


def _is_decorated(entity: Entity, name: str) -> bool:
    return any(name in (decorator, decorator.rpartition(".")[2]) for decorator in entity.decorators)
