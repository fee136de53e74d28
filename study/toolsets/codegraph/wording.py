"""The texts of the code graph tools, capped for reading."""

from __future__ import annotations

from collections.abc import Sequence

from study.toolsets.codegraph.graph import Entity
from study.toolsets.codegraph.index import Answer, GraphIndex

SHOWN = 20
"""Lines of an answer that a text shows; ``result`` always holds all of it."""


def listing(title: str, lines: Sequence[str]) -> str:
    """Return a title with the number of lines, then the first lines."""
    head = f"{title}: {len(lines) or 'none'}"
    shown = [f"- {line}" for line in lines[:SHOWN]]
    left = len(lines) - SHOWN
    return "\n".join([head, *shown, *([f"... and {left} more"] if left > 0 else [])])


def answer(topic: str, entity: Entity, about: str, labels: Answer, index: GraphIndex) -> str:
    """Return the text of one set query."""
    title = f"{topic} of {entity.label}"
    if about != entity.label:
        title += f" (through {about})"
    if topic == "calls":
        return listing(title, call_lines(entity.label, index))
    if topic == "subclasses":
        direct = index.direct_subclasses.get(about, ())
        return listing(title, [label if label in direct else f"{label} (indirect)" for label in labels])
    if topic == "cochanges":
        counts = index.counts.get(about, {})
        ranked = sorted(labels, key=lambda label: (-counts[label], label))
        return listing(title, [f"{label} ({counts[label]} commits)" for label in ranked])
    if topic == "history":
        dated = sorted(((index.entities[label].date or "", label) for label in labels), reverse=True)
        return listing(title, [f"{label} {date}" for date, label in dated])
    return listing(title, labels)


def call_lines(label: str, index: GraphIndex) -> list[str]:
    """Return the call edges at a label, then its calls that could not be resolved."""
    lines = [f"{caller} -> {label}" for caller in index.callers.get(label, ())]
    lines += [f"{label} -> {callee}" for callee in index.callees.get(label, ())]
    return lines + [f"{label} -> ? {written}" for written in index.unresolved.get(label, ())]


def place(entity: Entity) -> str:
    """Return where an entity stands, or when a commit was made."""
    return f"{entity.path}:{entity.line}" if entity.path else (entity.date or "")


def description(entity: Entity, index: GraphIndex) -> str:
    """Return what an entity is, where, and how many of everything it has."""
    label = entity.label
    lines = [f"{label}: {entity.kind} at {place(entity)}"]
    if label in index.container:
        lines.append(f"in {index.entities[index.container[label]].kind} {index.container[label]}")
    lines += [f"@{name}" for name in entity.decorators]
    lines += [text for text in (entity.signature, entity.doc) if text]
    counts = [f"{topic} {len(labels)}" for topic, labels in sections(entity, index) if labels]
    if counts:
        lines.append(", ".join(counts))
    return "\n".join(lines)


def sections(entity: Entity, index: GraphIndex) -> list[tuple[str, Sequence[str]]]:
    """Return everything that the graph relates to an entity, by topic."""
    label = entity.label
    module = index.module_of.get(label, label)
    relations = index.graph.relations
    return [
        ("bases", [*relations.inherits.get(label, ()), *relations.external_bases.get(label, ())]),
        ("subclasses", index.subclasses.get(label, ())),
        ("members", index.members.get(label, ())),
        ("imports", index.imports.get(label, ())),
        ("exports", index.exports.get(label, ())),
        ("callers", index.callers.get(label, ())),
        ("callees", index.callees.get(label, ())),
        ("unresolved calls", index.unresolved.get(label, ())),
        ("tests", index.tests_for.get(label, ())),
        ("touched modules", relations.touches.get(label, ())),
        ("commits", index.history.get(module, ())),
        ("cochanges", index.cochanges.get(module, ())),
    ]


def architecture(label: str | None, modules: Sequence[str], index: GraphIndex) -> str:
    """Return the modules with their imports among each other, then the import cycles."""
    kept = set(modules)
    lines: list[str] = []
    for module in modules:
        targets = [target for target in index.imports.get(module, ()) if target in kept]
        lines.append(f"{module} -> {', '.join(targets)}" if targets else module)
    text = listing(f"modules below {label}" if label else "modules", lines)
    cycles = index.cycles(modules)
    return text if not cycles else f"{text}\n" + listing("import cycles", [", ".join(c) for c in cycles])
