"""Audits of private searches: sound on the package, red on copies in which one line was broken."""

import pytest

from patched_copy import measure_on_a_patched_copy
from search_audit import CASES, EPS

RUNS = 3_000
# The share of eps that a sound package shows: less would be too much noise.
FLOORS = {"choice": 0.99, "partition": 0.35}


@pytest.mark.parametrize("name", FLOORS)
def test_neighbours_are_told_apart_by_at_most_eps_and_by_enough_for_the_audit_to_have_power(name):
    assert FLOORS[name] * EPS <= CASES[name](RUNS) <= EPS * (1 + 1e-9)


SELECTION, SENSITIVITY = "privacy/selection.py", "privacy/sensitivity.py"
HALF = "rate = rounded_down(eps) / (2 * score_sum(SCORE_UNITS))"
BROKEN = [
    ("choice", SELECTION, HALF, "rate = rounded_down(eps) / score_sum(SCORE_UNITS)"),
    ("choice", SENSITIVITY, "    return largest\n", "    return largest // 2\n"),
    ("partition", SELECTION, HALF, "rate = rounded_down(eps) / score_sum(SCORE_UNITS)"),
    ("partition", SENSITIVITY, "    return largest\n", "    return largest // 2\n"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "file", "line", "broken"), BROKEN)
def test_audit_is_red_on_a_broken_copy_of_the_package(name, file, line, broken, tmp_path):
    (found,) = measure_on_a_patched_copy("search_audit.py", [name], RUNS, file, line, broken, tmp_path)
    assert found > EPS * (1 + 1e-9)
