"""What passes learn of rows that are kept on disk lies there too: memory does not grow with the rows."""

import os

import numpy as np
import pytest

from dplr.bounds.scaling import ball_prep
from dplr.problem.losses import LOGISTIC, SQUARED
from dplr.rows.array import ArrayRows
from dplr.rows.exact import ClippedGradient
from dplr.rows.spill import mapped_zeros


def is_mapped(array):
    while array is not None and not isinstance(array, np.memmap):
        array = getattr(array, "base", None)
    return array is not None


def test_zeros_in_a_mapped_file_can_be_written_and_are_in_no_folder(tmp_path):
    found = mapped_zeros(str(tmp_path), 5000)
    assert is_mapped(found)
    assert not found.any()
    found[:] = 1.5
    assert found.sum() == 7500
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), AttributeError("posix_fallocate")])
def test_without_room_they_are_in_memory(tmp_path, error, monkeypatch):
    def stop(*given):
        raise error

    monkeypatch.setattr("dplr.rows.spill.os.posix_fallocate", stop, raising=False)
    found = mapped_zeros(str(tmp_path), 7)
    assert not is_mapped(found)
    assert found.tolist() == [0] * 7


@pytest.mark.parametrize("loss", [LOGISTIC, SQUARED])
def test_sums_have_the_same_bits_wherever_what_is_learnt_lies(loss, tmp_path):
    rng, n, d = np.random.default_rng(0), (1 << 20) + 3, 3
    X = rng.normal(size=(n, d))  # some of them are projected
    y = rng.integers(0, 2, n).astype(float) if loss is LOGISTIC else rng.normal(size=n)
    prep = ball_prep(d, False, (0.0, 1.0) if loss is LOGISTIC else None)
    asked = []

    def room(count):
        asked.append(count)
        return mapped_zeros(str(tmp_path), count)

    rows = [ArrayRows(X, y, prep), ArrayRows(X, y, prep, allocate=room)]
    query, coef = ClippedGradient(loss, d, False, 0.5), np.array([0.5, -0.25, 0.125])
    for _ in range(10):  # the last ones read a copy
        first, second = (each.total(query, coef) for each in rows)
        assert np.array_equal(first.hi, second.hi)
        assert np.array_equal(first.lo, second.lo)
    targets = [] if loss is LOGISTIC else [n]
    assert asked[: 2 + len(targets)] == [n, *targets, n]  # signs, targets, and scales of projected rows
    assert len(asked) == 3 + len(targets)  # and the copy
