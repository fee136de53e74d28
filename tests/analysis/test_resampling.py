"""Task weights: the multinomial law, and the same draws for any block size."""

from __future__ import annotations

import numpy as np
import pytest

from analysis.resampling import generator, task_weights
from study.errors import InputError


@pytest.mark.parametrize("counts", [[1] * 9, [30, 5, 1]])
def test_each_resample_holds_as_many_tasks(counts):
    counts = np.array(counts)
    blocks = list(task_weights(counts, 101, np.random.default_rng(0), 40))
    weights = np.concatenate(blocks)
    assert weights.shape == (101, len(counts))
    assert (weights.sum(1) == counts.sum()).all()
    assert max(block.size for block in blocks) <= max(40, len(counts))


@pytest.mark.parametrize("counts", [[1] * 12, [30, 5, 1], [3, 3, 1]])
def test_both_ways_of_drawing_have_the_multinomial_moments(counts):
    counts = np.array(counts)
    n = counts.sum()
    (weights,) = task_weights(counts, 40_000, np.random.default_rng(1), 10**8)
    share = counts / n
    assert weights.mean(0) == pytest.approx(counts, abs=5 * np.sqrt(n * share.max() / 40_000))
    expected = n * (np.diag(share) - np.outer(share, share))
    assert np.cov(weights.T) == pytest.approx(expected, abs=0.05 * n * share.max())


@pytest.mark.parametrize("counts", [[1] * 9, [30, 5, 1]])
def test_blocks_continue_one_stream(counts):
    counts = np.array(counts)
    whole = np.concatenate(list(task_weights(counts, 57, np.random.default_rng(3), 10**6)))
    for cells in (1, 10, 37):
        parts = np.concatenate(list(task_weights(counts, 57, np.random.default_rng(3), cells)))
        assert np.array_equal(parts, whole)


def test_a_generator_is_used_as_it_is():
    rng = np.random.default_rng(5)
    assert generator(rng) is rng
    assert generator(5).random() == np.random.default_rng(5).random()


@pytest.mark.parametrize("seed", [-1, 1.5, "1", None, True])
def test_other_seeds_are_refused(seed):
    with pytest.raises(InputError, match="rng"):
        generator(seed)
