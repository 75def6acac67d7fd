"""Audits of noisy gradient descent: sound on the package, red on copies in which one line was broken."""

import pytest

from ngd_audit import CASES, EPS, measure, stated
from patched_copy import measure_on_a_patched_copy

# Fits of each data set, and the lower bound that a sound package reaches: less would be too much noise. The noise
# is seeded, so that what was reached is reached again.
FLOORS = {
    "one step": (100_000, 0.8),
    "twenty steps": (100_000, 0.8),
    "twenty steps, add_remove": (80_000, 0.8),
    "clipped sum": (80_000, 0.8),
    "clipped sum, add_remove": (80_000, 0.8),
}


@pytest.mark.parametrize("name", FLOORS)
def test_neighbours_are_told_apart_by_at_most_eps_and_by_nearly_as_much(name):
    runs, floor = FLOORS[name]
    assert floor * EPS <= measure(CASES[name], runs) <= EPS == stated(CASES[name])


def test_steps_that_are_not_composed_show_more_than_eps_and_no_more_than_their_statement_says():
    case = CASES["not composed"]
    assert 2 * EPS < measure(case, 5_000) <= stated(case)


def test_poisson_batches_show_no_more_than_eps():
    assert 0 < measure(CASES["batches"], 4_000) <= EPS


SENSITIVITY = "privacy/sensitivity.py"
BROKEN = [
    ("clipped sum", 2_000, SENSITIVITY,
     "    return min(records * clip, 2 * radius) + radius * 2.0**-40 + floored",
     "    return min(records * clip, 2 * radius) / 401"),
    ("clipped sum, add_remove", 5_000, SENSITIVITY,
     "    return min(records * clip, 2 * radius) + radius * 2.0**-40 + floored",
     "    return records * min(clip, radius)"),
    ("twenty steps", 5_000, "mechanisms/composed.py",
     "root_above(part.times / part.share) / Fraction(mu)", "1 / Fraction(mu)"),
    ("twenty steps", 5_000, SENSITIVITY, "        return records * clip", "        return clip"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "runs", "file", "line", "broken"), BROKEN)
def test_audit_is_red_on_a_broken_copy_of_the_package(name, runs, file, line, broken, tmp_path):
    (found,) = measure_on_a_patched_copy("ngd_audit.py", [name], runs, file, line, broken, tmp_path)
    assert found > EPS
