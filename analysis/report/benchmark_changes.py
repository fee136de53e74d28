"""What changed since the previous report, capability apart from meaning."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from analysis.benchmark import Benchmark, Changes, DriverChange, Tally
from analysis.report.benchmark_words import cases_of, of_cases, share
from analysis.report.blocks import Block, Bullets, Heading, Paragraph, Table

_LISTED = 40


def delta(benchmark: Benchmark) -> str:
    """Return the honest delta of the subject: unchanged cases apart from everything that was redefined."""
    changes = benchmark.changes
    if changes is None:
        return "There is no previous report to compare with; nothing here is a change."
    found = next((change for change in changes.drivers if change.name == benchmark.subject), None)
    if found is None:
        return f"The previous report {changes.previous_version} did not measure {benchmark.subject}."
    return f"Since {changes.previous_version}: {' '.join(_sentences(found, changes))}"


def _sentences(found: DriverChange, changes: Changes) -> Iterator[str]:
    yield f"{_passing(found.before)} passed then, {_passing(found.after)} now."
    total = found.unchanged_after.total
    if not total:
        yield "No case is the same in both, so nothing is read as capability."
        return
    before, after = found.unchanged_before.passed, found.unchanged_after.passed
    yield (
        f"On the {cases_of(total)} that did not change: {before} then, {after} now "
        f"({found.gained} gained, {found.lost} lost)."
    )
    if found.other_after.total:
        yield f"The rest is the measure: {_passing(found.other_after)} that are new or changed pass."
    if changes.gone_cases:
        yield f"No longer measured: {cases_of(len(changes.gone_cases))} of the previous report."
    world = [meaning.text for meaning in changes.meanings if meaning.world]
    if world:
        yield f"NOT read as capability, for the world changed too: {'; '.join(world)}."
    if found.code_changed:
        yield code_change(found)
    elif not world and found.version_before == found.version_after and found.flips:
        yield f"The driver says that it is the same version ({found.version_after})."


def code_change(found: DriverChange) -> str:
    """Return that the driver's code changed, and what its version says of that."""
    same = found.version_before == found.version_after
    said = f"though it says that it is the same version ({found.version_after})"
    other = f"version {found.version_before} before, {found.version_after} now"
    return f"The driver's code changed, {said if same else other}."


def _passing(tally: Tally) -> str:
    return of_cases(tally.passed, tally.total)


def changes(benchmark: Benchmark) -> Iterator[Block]:
    """Yield every named change of meaning, then each driver's flips on unchanged cases."""
    yield Heading(text="What changed since the previous report")
    found = benchmark.changes
    if found is None:
        yield Paragraph(text="There is no previous report.")
        return
    yield Paragraph(
        text=f"Previous: BENCHMARK_AGENT {found.previous_version}, benchmark.json with SHA-256 "
        f"{found.previous_digest}."
    )
    items = [f"CHANGE OF MEANING ({meaning.code}): {meaning.text}." for meaning in found.meanings]
    yield Bullets(items=tuple(items or ["No change of meaning: the same cases, judged in the same way."]))
    yield from _case_lists(found)
    if coded := [change for change in found.drivers if change.code_changed]:
        yield Bullets(items=tuple(_code_item(change) for change in coded))
    rows = [_driver_row(change) for change in found.drivers]
    rows += [(name, "not measured", "", "", "", "", "") for name in found.new_drivers]
    rows += [(name, "", "not measured", "", "", "", "") for name in found.gone_drivers]
    yield Table(
        caption="Cases that pass; only the unchanged ones can show capability",
        headers=("driver", "before", "now", "unchanged, before", "unchanged, now", "gained", "lost"),
        rows=tuple(rows),
        right=(1, 2, 3, 4, 5, 6),
    )
    flips = [
        (change.name, flip.case_id, flip.before, flip.after)
        for change in found.drivers
        for flip in change.flips
    ]
    if flips:
        yield Table(
            caption="Unchanged cases whose outcome changed",
            headers=("driver", "case", "before", "now"),
            rows=tuple(flips),
        )
    else:
        yield Paragraph(text="No unchanged case has another outcome.")


def _code_item(change: DriverChange) -> str:
    before, after = (str(digest)[:12] for digest in (change.code_before, change.code_after))
    return f"{change.name}: {code_change(change)} SHA-256 {before} then, {after} now."


def _case_lists(found: Changes) -> Iterator[Block]:
    lists = (
        ("New", found.new_cases),
        ("No longer measured", found.gone_cases),
        ("Another request", found.changed_requests),
        ("Another expectation", found.changed_expectations),
    )
    items = [f"{title}: {_ids(ids)}" for title, ids in lists if ids]
    if items:
        yield Bullets(items=tuple(items))


def _ids(ids: Sequence[str]) -> str:
    more = len(ids) - _LISTED
    text = ", ".join(ids[:_LISTED])
    return f"{text} and {more} more in benchmark.json" if more > 0 else text


def _driver_row(change: DriverChange) -> tuple[str, ...]:
    return (
        change.name,
        share(change.before.passed, change.before.total),
        share(change.after.passed, change.after.total),
        share(change.unchanged_before.passed, change.unchanged_before.total),
        share(change.unchanged_after.passed, change.unchanged_after.total),
        str(change.gained),
        str(change.lost),
    )
