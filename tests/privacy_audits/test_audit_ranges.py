"""Audits of private ranges: sound on the package, red on copies in which one line was broken."""

import pytest

from patched_copy import measure_on_a_patched_copy
from ranges_audit import CASES, measure

# Releases of each data set, and the share of eps that a sound package shows: less would be too much noise. What is seen
# of many numbers with Laplace noise is far below the largest loss, which is eps up to rounding.
FLOORS = {
    "ranges": (5_000, 0.7),
    "intervals": (3_000, 0.1),
    "all": (1_500, 0.2),
    "all, add_remove": (1_500, 0.15),
    "theory of ranges": (1, 0.999),
    "theory of ranges, add_remove": (1, 0.999),
    "theory": (1, 0.999),
    "ranges of labels": (5_000, 0.7),
    "theory of labels": (1, 0.999),
    "all, labels": (1_500, 0.2),
    "all, delta": (1_500, 0.2),
    "all, labels, delta": (1_500, 0.2),
    "delta of both": (1, 0.05),
    "delta of both, labels": (1, 0.05),
}


@pytest.mark.parametrize("name", FLOORS)
def test_neighbours_are_told_apart_by_at_most_eps_and_by_enough_for_the_audit_to_have_power(name):
    runs, floor = FLOORS[name]
    assert floor * CASES[name].eps <= measure(CASES[name], runs) <= CASES[name].eps


def test_ranges_show_nothing_of_a_label():
    assert measure(CASES["label alone"], 3_000) <= 0


SENSITIVITY, RANGES = "privacy/sensitivity.py", "fitting/ranges.py"
SILENT = 'type("Silent", (), {"laplace": lambda self, units, size: 0, "gaussian": None})()'
FROM_ROWS = f"        ends = ranges.intervals(ranges.drawn(moments, plan.first, {SILENT}), plan"
BROKEN = [
    ("ranges", SENSITIVITY, "return 2.25 * half_width * numbers", "return half_width * numbers"),
    ("theory of ranges", SENSITIVITY, "return 2.25 * half_width * numbers", "return 2.25 * half_width"),
    ("theory of ranges, add_remove", SENSITIVITY, "return 2 * half_width * numbers", "return 2 * half_width"),
    ("intervals", "fitting/run.py", "        ends = ranges.intervals(numbers, plan", FROM_ROWS),
    ("theory", RANGES, "remainder = math.nextafter(eps - share, 0.0)", "remainder = eps"),
    ("theory of labels", RANGES, "remainder = math.nextafter(eps - share, 0.0)", "remainder = eps"),
    ("delta of both", RANGES, "remainder = math.nextafter(eps - share, 0.0)", "remainder = eps"),
    ("label alone", RANGES, "SUMS: (columns, geometry.d, geom", "SUMS: (columns, geometry.d + 1, geom"),
    ("theory", RANGES, "SQUARES: 1 / c}", "SQUARES: 2 / c}"),
    ("theory of ranges, add_remove", RANGES, "{RECORDS: c}", "{RECORDS: 2 * c}"),
    ("theory of ranges, add_remove", SENSITIVITY, "half_width * numbers + half_width", "half_width * numbers"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "file", "line", "broken"), BROKEN)
def test_audit_is_red_on_a_broken_copy_of_the_package(name, file, line, broken, tmp_path):
    (found,) = measure_on_a_patched_copy("ranges_audit.py", [name], 3_000, file, line, broken, tmp_path)
    assert found > CASES[name].eps
