"""The percentile interval of a mean difference against other ways to compute it: ``make bench``.

CPU seconds in one process, measured in turn; nothing is asserted. The naive loop and the public packages
are timed on fewer resamples and told for 10,000. ``arch``, ``evalci`` and ``evalsig`` are used where they
are installed; nothing installs them. Every package is given the task means, as ours computes them first,
and the public call of it that does least beside the interval.
"""

from __future__ import annotations

import statistics
import time
import tracemalloc
from collections.abc import Callable
from importlib import import_module

import numpy as np
from scipy import stats

from analysis import paired

RESAMPLES = 10_000
FEW = 200
ROUNDS = 5

Scores = np.ndarray


def trials(n_tasks: int, repetitions: int, seed: int = 7) -> tuple[Scores, Scores]:
    """Return pass or fail of both arms, shape (n_tasks, repetitions) each, with task difficulty shared."""
    rng = np.random.default_rng(seed)
    rate = rng.beta(4.0, 1.5, size=(n_tasks, 1))
    return tuple((rng.random((n_tasks, repetitions)) < rate).astype(float) for _ in range(2))


def ours(baseline: Scores, candidate: Scores) -> None:
    """Compute our interval with all resamples."""
    paired.interval(baseline, candidate, method="percentile", resamples=RESAMPLES, rng=1)


def naive(baseline: Scores, candidate: Scores) -> None:
    """Draw tasks with all their trials, one resample after the other."""
    rng = np.random.default_rng(1)
    n = len(baseline)
    for _ in range(FEW):
        drawn = rng.integers(0, n, n)
        candidate[drawn].mean(axis=1).mean() - baseline[drawn].mean(axis=1).mean()


def by_scipy(baseline: Scores, candidate: Scores) -> None:
    """Bootstrap the task differences with SciPy."""
    differences = candidate.mean(axis=1) - baseline.mean(axis=1)
    stats.bootstrap(
        (differences,), np.mean, n_resamples=FEW, method="percentile", random_state=np.random.default_rng(1)
    )


def by_arch(baseline: Scores, candidate: Scores) -> None:
    """Bootstrap the task differences with arch."""
    differences = candidate.mean(axis=1) - baseline.mean(axis=1)
    bootstrap = import_module("arch.bootstrap").IIDBootstrap(differences, seed=1)
    bootstrap.conf_int(lambda x: np.array([x.mean()]), reps=FEW, method="percentile")


def by_evalci(baseline: Scores, candidate: Scores) -> None:
    """Bootstrap the task means with evalci; of its tests, McNemar's is the one that draws nothing."""
    means = candidate.mean(axis=1), baseline.mean(axis=1)
    import_module("evalci").compare(*means, method="mcnemar", n_resamples=FEW, random_state=1)


def by_evalsig(baseline: Scores, candidate: Scores) -> None:
    """Bootstrap the task means with evalsig, whose test reads the draws of the interval."""
    means = baseline.mean(axis=1), candidate.mean(axis=1)
    import_module("evalsig.inference").paired_bootstrap_ci(*means, n_resamples=FEW, rng=1)


INSTALLED_OR_NOT = {
    "arch": ("arch.bootstrap", by_arch),
    "evalci": ("evalci", by_evalci),
    "evalsig": ("evalsig.inference", by_evalsig),
}
"""Public packages that nothing here depends on: name -> the module to import, and what to time."""


def cpu(action: Callable[[Scores, Scores], None], data: tuple[Scores, Scores], scale: float) -> float:
    """Return the median CPU seconds of an action, told for all resamples."""
    action(*data)
    spent: list[float] = []
    for _ in range(ROUNDS):
        started = time.process_time()
        action(*data)
        spent.append((time.process_time() - started) * scale)
    return statistics.median(spent)


def main() -> None:
    """Measure and print."""
    others: dict[str, Callable[[Scores, Scores], None]] = {"naive loop": naive, "scipy": by_scipy}
    for name, (module, action) in INSTALLED_OR_NOT.items():
        try:
            import_module(module)
            others[name] = action
        except ImportError:
            print(f"{name} is not installed here and is left out")
    for n_tasks in (1_000, 10_000):
        data = trials(n_tasks, 10)
        own = cpu(ours, data, 1.0)
        told = [f"{name} {cpu(action, data, RESAMPLES / FEW) / own:.1f} x" for name, action in others.items()]
        print(
            f"percentile interval, {n_tasks} x 10, {RESAMPLES} resamples: {own * 1e3:.0f} ms; "
            + ", ".join(told)
        )
    tracemalloc.start()
    ours(*trials(10_000, 10))
    print(f"  peak beside the data and imports: {tracemalloc.get_traced_memory()[1] / 1e6:.0f} MB")
    tracemalloc.stop()
    small, large = (
        cpu(lambda b, c: paired.interval(b, c) and None, trials(n, 10), 1.0) for n in (200, 1_000)
    )
    print(f"default interval, 1000 x 10 against 200 x 10: {large / small:.1f} x ({large * 1e3:.0f} ms)")


if __name__ == "__main__":
    main()
