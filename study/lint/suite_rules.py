"""The rules for a whole suite: registry, comparison, second looks, seals, templates, repeated requests."""

from __future__ import annotations

from collections.abc import Iterator

from study.binding import argument_check
from study.cases import Suite
from study.errors import SuiteError, did_you_mean
from study.grading.values import Comparison
from study.lint.case_rules import lint_cases
from study.lint.findings import Finding
from study.lint.oracle import Oracle
from study.lint.recheck import recheck_cases
from study.lint.sealing import seal_findings
from study.templates import masker


def lint_suite(
    suite: Suite, *, labels: frozenset[str] | None = None, oracle: Oracle | None = None
) -> list[Finding]:
    """Lint a suite and its cases.

    Parameters
    ----------
    suite : Suite
        As read by :func:`study.cases.load_suite`, which has refused what has no meaning at all.
    labels : frozenset of str, optional
        Labels of the suite's graph; without them, stale literals are not looked for and only the names that
        can be told without a graph are masked in templates.
    oracle : Oracle, optional
        Another way to the answers of the suite's tools; the expectation of every case without an error is
        looked at a second time with it.

    Returns
    -------
    list of Finding
        Errors stop a run; warnings (an id that is not sealed yet, one request in two tasks) do not.
    """
    found = [*_registry_findings(suite), *_rule_findings(suite)]
    usable = not any(finding.code in ("schema", "compare") for finding in found)
    where = str(suite.folder / suite.file.cases)
    found += lint_cases(
        suite.cases, suite.rules, suite.registry, where=where, labels=labels, self_check=usable
    )
    if oracle is not None:
        wrong = {finding.where for finding in found if finding.level == "error"}
        sound = (case for case in suite.cases if f"{where}:{case.id}" not in wrong)
        found += recheck_cases(sound, suite.rules, suite.registry, oracle, where=where)
    return [*found, *seal_findings(suite), *_template_findings(suite, labels), *_repeated_requests(suite)]


def _where(suite: Suite, key: str) -> str:
    return f"{suite.folder / 'suite.toml'}:{key}"


def _registry_findings(suite: Suite) -> Iterator[Finding]:
    for name, capability in suite.registry.items():
        try:
            argument_check(capability)
        except SuiteError as error:
            where = f"{suite.folder / suite.file.registry}:{name}"
            yield Finding(where=where, code="schema", text=error.problem)


def _rule_findings(suite: Suite) -> Iterator[Finding]:
    if suite.file.execution == "required" and suite.file.toolset == "none":
        text = 'execution = "required" needs a toolset; say execution = "optional" to grade calls alone'
        yield Finding(where=_where(suite, "execution"), code="execution", text=text)
    try:
        Comparison(suite.rules, None, suite.registry, _where(suite, "compare"))
    except SuiteError as error:
        where = error.where or _where(suite, "compare")
        yield Finding(where=where, code="compare", text=error.problem)
    arguments = [
        f"{name}.{arg}" for name, capability in suite.registry.items() for arg in capability.accepted
    ]
    for key in suite.file.compare:
        if key not in arguments:
            text = f"{key!r} is no argument of a registered tool{did_you_mean(key, arguments)}"
            yield Finding(where=_where(suite, "compare"), code="compare", text=text)


def _template_findings(suite: Suite, labels: frozenset[str] | None) -> Iterator[Finding]:
    limit = suite.file.max_tasks_per_template
    if limit is None:
        return
    if limit < 1:
        text = f"max_tasks_per_template is {limit}; allowed: 1 or more"
        yield Finding(where=_where(suite, "max_tasks_per_template"), code="template", text=text)
        return
    mask, task_of = masker(labels), suite.task_of
    served: dict[tuple[str, str], dict[str, None]] = {}
    for case in suite.cases:
        task = task_of[case.id]
        served.setdefault((suite.file.tasks[task].split, mask(case)), {})[task] = None
    for (split, template), tasks in served.items():
        if len(tasks) > limit:
            names = ", ".join(list(tasks)[:6]) + (", ..." if len(tasks) > 6 else "")
            text = f"the template {template!r} serves {len(tasks)} tasks of {split} ({names}); limit {limit}"
            yield Finding(where=_where(suite, "tasks"), code="template", text=text)


def _repeated_requests(suite: Suite) -> Iterator[Finding]:
    """Look for one request, but for case and white space, in two tasks; across splits that is a leak."""
    task_of, first = suite.task_of, dict[str, str]()
    for case in suite.cases:
        request, task = " ".join(case.request.casefold().split()), task_of[case.id]
        other = first.setdefault(request, task)
        if other == task:
            continue
        splits = {suite.file.tasks[other].split, suite.file.tasks[task].split}
        text = f"the request of {case.id!r} is also one of the task {other!r}"
        yield Finding(
            where=f"{suite.folder / suite.file.cases}:{case.id}",
            code="repeated-request",
            text=text + (", which lies in the other split" if len(splits) > 1 else ""),
            level="error" if len(splits) > 1 else "warning",
        )
