"""The promised tolerance is kept, in sixty digits; and is not on copies of the package in which one line was broken."""

import pytest

from dplr.rows import base as minimise_rows
from patched_copy import measure_on_a_patched_copy
from tolerance_audit import CASES, measure

FINE, ROWS = "solvers/fine.py", "rows/base.py"
# What float64 found is far better than it can certify: a copy that only skips the pairs would be right by luck.
BROKEN = [
    ("many copies", ROWS, "        minimum = _in_float64(", "        tau = 1e9 * tau\n        minimum = _in_float64("),
    ("many copies", FINE, "exact_product(ridge, away)", "exact_product(0.999 * ridge, away)"),
    ("descent", FINE, "        if bound <= tau:\n            return high, bound\n        high, low",
     "        if bound <= 1e9 * tau:\n            return high, bound\n        high, low"),
    ("descent", FINE, "rate = 1 /", "rate = 0.1 /"),
]  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_the_point_that_is_returned_lies_within_the_tolerance(name, monkeypatch):
    monkeypatch.setattr(minimise_rows, "_in_float64", minimise_rows._in_float64)  # put back afterwards
    assert 0 < measure(name, 8) <= 1


@pytest.mark.parametrize(("name", "file", "line", "broken"), BROKEN)
def test_a_broken_copy_misses_the_tolerance(name, file, line, broken, tmp_path):
    (found,) = measure_on_a_patched_copy("tolerance_audit.py", [name], 8, file, line, broken, tmp_path)
    assert found > 1
