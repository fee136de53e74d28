"""Results as a JUnit test suite, which fails exactly when the verdict does not satisfy the claim."""

from __future__ import annotations

from xml.sax.saxutils import escape, quoteattr

from analysis import formatting
from analysis.report import wording
from analysis.results import Estimate, Results

_DECIDING = {"primary", "guardrail"}


def render(results: Results) -> str:
    """Return one ``testsuite``: a case for the verdict, then one for each endpoint.

    A secondary or descriptive endpoint never fails, for it never changes the verdict; one whose claim was
    not shown is *skipped*, with its outcome as the message. A void run is an *error*.
    """
    cases = [_verdict(results), *[_endpoint(results, estimate) for estimate in results.endpoints]]
    kinds = [kind for kind, _ in cases]
    counts = " ".join(f'{tag}="{kinds.count(kind)}"' for kind, tag in _COUNTED.items())
    suite = f'<testsuite name={_attribute(results.study)} tests="{len(cases)}" {counts}>'
    body = "\n".join(text for _, text in cases)
    prolog = '<?xml version="1.0" encoding="UTF-8"?>'
    return f"{prolog}\n<testsuites>\n{suite}\n{body}\n</testsuite>\n</testsuites>\n"


_COUNTED = {"failure": "failures", "error": "errors", "skipped": "skipped"}


def _attribute(text: str) -> str:
    return quoteattr(formatting.visible(text))


def _case(results: Results, name: str, kind: str, message: str, detail: str) -> tuple[str, str]:
    head = f"<testcase classname={_attribute(results.study)} name={_attribute(name)}>"
    text = escape(formatting.visible(detail))
    if kind == "passed":
        inner = f"<system-out>{text}</system-out>"
    elif kind == "skipped":
        inner = f"<skipped message={_attribute(message)} /><system-out>{text}</system-out>"
    else:
        inner = f"<{kind} message={_attribute(message)} type={_attribute(message)}>{text}</{kind}>"
    return kind, f"{head}{inner}</testcase>"


def _verdict(results: Results) -> tuple[str, str]:
    flags = wording.kind(results).lower()
    name = f"verdict ({flags})" if flags else "verdict"
    kind = "error" if results.verdict.outcome == "void" else "failure"
    if wording.verdict_met(results):
        kind = "passed"
    return _case(results, name, kind, wording.verdict_words(results), wording.sentence(results))


def _endpoint(results: Results, estimate: Estimate) -> tuple[str, str]:
    name = f"{estimate.role}: {estimate.label}"
    counted = formatting.counts(estimate.n_tasks, estimate.n_pairs)
    if wording.is_pilot(results):
        return _case(results, name, "skipped", "pilot: counts only", counted)
    numbers = f"{wording.contrast(estimate)} {wording.decision_interval(estimate)}"
    detail = f"claim: {wording.claim(estimate)}; {numbers}; {counted}"
    if results.verdict.outcome == "void":
        return _case(results, name, "skipped", "void: supports no statement", detail)
    if wording.is_met(estimate):
        return _case(results, name, "passed", "", detail)
    if estimate.claim is None:
        return _case(results, name, "skipped", "descriptive: nothing was claimed", detail)
    words = formatting.outcome(estimate.outcome) if estimate.outcome else "not decided"
    if estimate.role in _DECIDING:
        return _case(results, name, "failure", words, detail)
    return _case(results, name, "skipped", f"{words}; never changes the verdict", detail)
