"""Measures the code graph of click against grimp, run-time introspection and jedi; run by hand.

``python tests/references/measure_click_graph.py CLICK_SDIST_FOLDER [--functions N] [--seed S] [--verbose]``

CLICK_SDIST_FOLDER is the unpacked source distribution of click 8.3.3 (``src/`` and ``tests/``). grimp and
jedi are development dependencies. Precision is agreed / in the graph, recall agreed / in the reference; no
tool is taken to be right, so ``--verbose`` prints every difference, to be judged by hand. ``--freeze FILE``
writes what the tools found; ``tests/references/data/click_graph.json`` was made so, with the defaults.
``--history FILE`` also builds the committed graph ``cases/click/graph.json`` again and compares the bytes.
"""

from __future__ import annotations

import argparse
import ast
import json
import platform
import random
import subprocess
import sys
from collections.abc import Iterable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

from study.toolsets.codegraph import Graph, build_graph
from study.toolsets.codegraph.graph import graph_bytes

Pair = tuple[str, str]
COMMITTED = Path(__file__).resolve().parents[2] / "cases" / "click" / "graph.json"

INTROSPECTION = r"""
import dis, importlib, inspect, json, pkgutil, sys, types
import click
AUTOMATIC = {"__module__", "__doc__", "__dict__", "__weakref__", "__annotations__", "__abstractmethods__",
    "_abc_impl", "__parameters__", "__orig_bases__", "__firstlineno__", "__static_attributes__",
    "__annotate__", "__annotate_func__", "__annotations_cache__", "__conditional_annotations__"}
ENUM = {"_generate_next_value_", "_missing_", "_member_names_", "_member_map_", "_value2member_map_",
    "_unhashable_values_", "_hashable_values_", "_member_type_", "_value_repr_", "_new_member_",
    "_use_args_", "__new__", "_order_", "_unhashable_values_map_"}
NAMED = {"_fields", "_field_defaults", "_make", "_replace", "_asdict", "__getnewargs__", "__match_args__",
    "__slots__", "__new__", "__repr__", "__replace__"}
def dotted(cls):
    return cls.__qualname__ if cls.__module__ == "builtins" else f"{cls.__module__}.{cls.__qualname__}"
def stores(function):
    found, before = set(), None
    first = function.co_varnames[0] if function.co_argcount else None
    for step in dis.get_instructions(function):
        if step.opname == "STORE_ATTR" and before is not None and before.argval == first:
            found.add(step.argval)
        before = step
    return found
def codes(value):
    value = getattr(value, "fget", None) or getattr(value, "func", None) or getattr(value, "__func__", value)
    value = inspect.unwrap(value) if callable(value) and not isinstance(value, type) else value
    return [value.__code__] if isinstance(value, types.FunctionType) else []
def members(cls):
    import enum
    skipped = AUTOMATIC | (ENUM if issubclass(cls, enum.Enum) else set())
    skipped = skipped | (NAMED if hasattr(cls, "_fields") and issubclass(cls, tuple) else set())
    written = {n for n in vars(cls) if n not in skipped} | set(vars(cls).get("__annotations__", {}))
    stored = {n for value in vars(cls).values() for code in codes(value) for n in stores(code)}
    return sorted(written), sorted(stored)
out = {"classes": {}, "names": {}, "skipped": []}
for info in [None, *pkgutil.iter_modules(click.__path__, "click.")]:
    name = "click" if info is None else info.name
    try:
        module = importlib.import_module(name)
    except Exception:
        out["skipped"].append(name)
        continue
    waiting = [v for v in vars(module).values() if isinstance(v, type) and v.__module__ == name]
    while waiting:
        cls = waiting.pop()
        label = dotted(cls)
        if label in out["classes"] or "<locals>" in label:
            continue
        waiting += [v for v in vars(cls).values() if isinstance(v, type) and v.__module__ == name]
        written, stored = members(cls)
        bases = [dotted(base) for base in cls.__bases__ if base is not object]
        out["classes"][label] = {"bases": bases, "written": written, "stored": stored}
    out["names"][name] = sorted(
        f"{v.__module__}.{v.__qualname__}" for n, v in vars(module).items()
        if isinstance(v, (type, types.FunctionType)) and v.__module__.startswith("click")
        and v.__module__ != name and not n.startswith("_"))
json.dump(out, sys.stdout)
"""


def found_by_grimp(source: Path) -> set[Pair]:
    """Return the imports inside the package as grimp finds them."""
    import grimp

    sys.path.insert(0, str(source / "src"))
    graph = grimp.build_graph("click", cache_dir=None)
    return {(m, i) for m in graph.modules for i in graph.find_modules_directly_imported_by(m)}


def found_at_run_time(source: Path) -> dict[str, Any]:
    """Return classes with bases and members, and names per module, as Python finds them."""
    command = [sys.executable, "-W", "ignore", "-c", INTROSPECTION]
    run = subprocess.run(command, cwd=source / "src", capture_output=True, check=True, text=True)
    return json.loads(run.stdout)


def found_by_jedi(graph: Graph, source: Path, sample: Iterable[str]) -> dict[str, list[str]]:
    """Return caller -> callees as jedi infers them, for a sample of functions."""
    import jedi

    project = jedi.Project(source, added_sys_path=[str(source / "src")])
    path_of = {e.label: e.path or "" for e in graph.entities if e.kind in ("function", "method")}
    labels = {e.label for e in graph.entities if e.kind in ("function", "method", "class")}
    found: dict[str, set[str]] = {label: set() for label in sample}
    for path in sorted({path_of[label] for label in found}):
        text = (source / path).read_text(encoding="utf-8")
        module = path.removeprefix("src/").removesuffix(".py").replace("/", ".").removesuffix(".__init__")
        script = jedi.Script(text, path=source / path, project=project)
        for label, node in calls_of(ast.parse(text), module):
            if label in found:
                found[label] |= jedi_targets(script, node, labels)
    return {label: sorted(targets) for label, targets in sorted(found.items())}


def calls_of(tree: ast.AST, label: str) -> Iterator[tuple[str, ast.expr]]:
    """Yield ``(label of the innermost definition, called expression)``."""
    for node in ast.iter_child_nodes(tree):
        inner = label
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            for decorator in node.decorator_list:
                yield from calls_of(ast.Expression(decorator), label)
                if not isinstance(decorator, ast.Call):
                    yield label, decorator
            inner = f"{label}.{node.name}"
            node = ast.Module(body=node.body, type_ignores=[])
        if isinstance(node, ast.Call):
            yield inner, node.func
        yield from calls_of(node, inner)


def jedi_targets(script: Any, node: ast.expr, labels: set[str]) -> set[str]:
    """Return the labels that jedi infers for a called expression."""
    if not isinstance(node, ast.Name | ast.Attribute):
        return set()
    column = (node.end_col_offset or 1) - 1
    try:
        found = script.infer(node.end_lineno, column) or script.goto(node.end_lineno, column)
    except Exception:  # jedi fails on some inputs with errors of its own
        return set()
    names = {name.full_name for name in found if name.type in ("class", "function") and name.full_name}
    return {name for name in names if name in labels}


def draw_functions(graph: Graph, count: int, seed: int) -> list[str]:
    """Return a random sample of the functions and methods, sorted."""
    labels = sorted(e.label for e in graph.entities if e.kind in ("function", "method"))
    return sorted(random.Random(seed).sample(labels, count))


def collect(graph: Graph, source: Path, count: int, seed: int) -> dict[str, Any]:
    """Return what all three tools found, as JSON."""
    runtime = found_at_run_time(source)
    return {
        "about": {
            "subject": "click 8.3.3, BSD-3-Clause: names and relations only",
            "made_by": "tests/references/measure_click_graph.py",
            "python": platform.python_version(),
            "grimp": version("grimp"),
            "jedi": version("jedi"),
            "seed": seed,
        },
        "imports": sorted(map(list, found_by_grimp(source))),
        "not_importable": runtime["skipped"],
        "classes": runtime["classes"],
        "re_exports": runtime["names"]["click"],
        "calls": found_by_jedi(graph, source, draw_functions(graph, count, seed)),
    }


def pairs(relation: dict[str, tuple[str, ...]]) -> set[Pair]:
    """Return a relation as (source, target) pairs."""
    return {(source, target) for source, targets in relation.items() for target in targets}


def compared(graph: Graph, found: dict[str, Any]) -> Iterator[tuple[str, set[Any], set[Any]]]:
    """Yield ``(what, in the graph, in the reference)``."""
    modules = {module for pair in found["imports"] for module in pair}
    imports = {(a, b) for a, b in pairs(graph.relations.imports) if a in modules}
    yield "imports, grimp", imports, {(a, b) for a, b in found["imports"]}
    skipped = tuple(f"{name}." for name in found["not_importable"])
    kinds = {e.label: e.kind for e in graph.entities if not e.label.startswith(skipped)}
    classes = {n for n, kind in kinds.items() if kind == "class" and not inside_function(n, kinds)}
    yield "classes, run time", classes, set(found["classes"])
    bases = pairs(graph.relations.inherits) | pairs(graph.relations.external_bases)
    theirs = {(c, base) for c, known in found["classes"].items() for base in known["bases"]}
    yield "bases, run time", {(a, b) for a, b in bases if a in classes}, theirs
    members = {(a, b.rpartition(".")[2]) for a, b in pairs(graph.relations.contains) if a in classes}
    theirs = {(c, n) for c, known in found["classes"].items() for n in (*known["written"], *known["stored"])}
    yield "members, run time and bytecode", members, theirs
    exported = {n for n in graph.relations.re_exports["click"] if kinds[n] in ("class", "function")}
    yield "re-exports of click, run time", exported, set(found["re_exports"])
    calls = {(a, b) for a, b in pairs(graph.relations.calls) if a in found["calls"]}
    yield "calls, jedi", calls, {(a, b) for a, targets in found["calls"].items() for b in targets}


def inside_function(label: str, kinds: dict[str, str]) -> bool:
    """Whether something is defined inside a function."""
    parts = label.split(".")
    return any(kinds.get(".".join(parts[:n])) in ("function", "method") for n in range(1, len(parts)))


def rebuilt(source: Path, history: Path) -> bool:
    """Whether the committed graph is what the builder makes of this source and history."""
    graph = build_graph(source, history=history, name="click 8.3.3", docs=False)
    return graph_bytes(graph) == COMMITTED.read_bytes()


def main() -> None:
    """Build the graph and print every comparison."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("source", type=Path)
    parser.add_argument("--functions", type=int, default=80)
    parser.add_argument("--seed", type=int, default=20261130)
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("--freeze", type=Path)
    parser.add_argument("--history", type=Path)
    options = parser.parse_args()
    graph = build_graph(options.source)
    found = collect(graph, options.source, options.functions, options.seed)
    for what, ours, theirs in compared(graph, found):
        agreed = len(ours & theirs)
        print(f"{what}: precision {agreed}/{len(ours)}, recall {agreed}/{len(theirs)}")
        for title, rest in (("graph only", ours - theirs), ("reference only", theirs - ours)):
            for item in sorted(rest) if options.verbose else ():
                print(f"    {title}: {item}")
    if options.history is not None:
        print(
            f"committed graph rebuilt: {'same' if rebuilt(options.source, options.history) else 'DIFFERENT'}"
        )
    if options.freeze is not None:
        options.freeze.write_text(json.dumps(found, sort_keys=True, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
