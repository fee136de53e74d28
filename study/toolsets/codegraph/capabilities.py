"""The registered tools of the code graph as capabilities, with the reasons for those left out."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from study.registry import Capability, Parameter, Registry

_TEXT = "text"
_SYMBOL = "symbol"
_SITED = "sited-symbol"
_CLASS = "class"
_MODULE = "module"
_PACKAGE = "package"
_TERM = "memory-term"
"""What a parameter binds as: text, any symbol, any symbol with a place, a kind of entity, a memory term."""


def _query(
    tool: str,
    topic: str,
    question: str,
    arg: str | None = None,
    kind: str = _SYMBOL,
    *,
    required: bool = True,
) -> Capability:
    """Return a capability that reads the graph about one optional argument and makes one topic known."""
    preconditions: list[dict[str, Any]] = [{"kind": "graph-loaded"}]
    parameters: tuple[Parameter, ...] = ()
    if arg is not None:
        parameters = (Parameter(name=arg, kind=kind, arg=arg, required=required),)
        if required:
            preconditions.append({"kind": "resolves", "param": arg, "class": kind})
    return Capability(
        name=f"tmct_{tool}",
        label=tool.replace("_", " "),
        question=question,
        parameters=parameters,
        preconditions=tuple(preconditions),
        effects={"add": [{"kind": "knows", "topic": topic, "param": arg}], "del": []},
    )


def _memory_query(tool: str, question: str, arg: str, further: tuple[Parameter, ...] = ()) -> Capability:
    """Return a capability that reads the memory facts about one term; the topic has the tool's name."""
    return Capability(
        name=f"tmct_{tool}",
        label=tool,
        question=question,
        parameters=(Parameter(name=arg, kind=_TERM, arg=arg, required=True), *further),
        preconditions=({"kind": "memory-facts", "param": arg},),
        effects={"add": [{"kind": "knows", "topic": tool, "param": arg}], "del": []},
    )


_SEARCH = Capability(
    name="tmct_search",
    label="search",
    question="Which entities have this text in their name, or are of this kind?",
    parameters=(
        Parameter(name="query", kind=_TEXT, arg="query"),
        Parameter(name="kind", kind=_TEXT, arg="kind"),
        Parameter(name="name", kind=_TEXT, arg="name"),
        Parameter(name="decorator", kind=_TEXT, arg="decorator"),
    ),
    preconditions=({"kind": "graph-loaded"}, {"kind": "any-present", "args": ["query", "kind"]}),
    effects={"add": [{"kind": "knows", "topic": "matches", "param": "query"}], "del": []},
)

REGISTRY = Registry(
    [
        _SEARCH,
        _query("describe", "description", "What is this, and where does it stand?", "symbol"),
        _query("signature", "signature", "How is this called or declared?", "symbol"),
        _query("impact", "impact", "Which modules depend on this one?", "module", _SITED),
        _query("members", "members", "What does this class consist of?", "class", _CLASS),
        _query("subclasses", "subclasses", "Which classes derive from this one?", "class", _CLASS),
        _query("exports", "exports", "What does this module offer to others?", "module", _MODULE),
        _query("callers", "callers", "Which code calls this?", "symbol"),
        _query("callees", "callees", "What does this code call?", "symbol"),
        _query("calls", "calls", "Which calls lead to or from this?", "symbol"),
        _query("tests_for", "tests", "Which test modules exercise this?", "symbol"),
        _query("untested", "untested", "Which code does no test module name?"),
        _query("history", "history", "Which commits changed the file of this?", "symbol"),
        _query("cochanges", "cochanges", "Which modules tend to change with this one?", "symbol"),
        _query(
            "architecture",
            "architecture",
            "Which modules lie in this package, or in the whole project, and how do they import each other?",
            "package",
            _PACKAGE,
            required=False,
        ),
        _memory_query("related", "Which terms mean the same as this one, or are related to it?", "term"),
        _memory_query(
            "sprite",
            "What does the sprite of this look like?",
            "class",
            (
                Parameter(name="expression", kind=_TEXT, arg="expression"),
                Parameter(name="size", kind=_TEXT, arg="size"),
            ),
        ),
    ],
    "study.toolsets.codegraph.capabilities",
)
"""The closed world of a code graph with memory facts: what a case may declare."""

MEMORY_TOOLS = ("tmct_related", "tmct_sprite")
"""The tools that answer from memory facts."""

GRAPH_REGISTRY = Registry(
    [capability for name, capability in REGISTRY.items() if name not in MEMORY_TOOLS],
    "study.toolsets.codegraph.capabilities",
)
"""The closed world of a code graph without memory facts."""

EXCLUDED_FROM_REGISTRY: dict[str, str] = {
    "tmct_snippet": "its output is raw source of any length, and it depends on a source folder being present",
    "tmct_context": "its output is a whole bundle for an edit, without a bound on its size",
    "tmct_context_more": "it continues the unbounded bundle of tmct_context",
}
"""Tools that can be dispatched but are not registered, each with its reason."""


def registry_bytes(registry: Registry = REGISTRY) -> bytes:
    """Return a registry as the bytes of a registry file: a few lines per capability."""
    entries = [_entry(msgspec.to_builtins(capability)) for capability in registry.values()]
    return ("[\n" + ",\n".join(entries) + "\n]\n").encode("utf-8")


def _entry(capability: dict[str, Any]) -> str:
    head = {key: capability[key] for key in ("name", "label", "question", "readOnly")}
    tail = {key: capability[key] for key in ("preconditions", "effects")}
    parameters = {"parameters": capability["parameters"]}
    lines = [json.dumps(part, ensure_ascii=False)[1:-1] for part in (head, parameters, tail)]
    return "{" + ",\n ".join(lines) + "}"
