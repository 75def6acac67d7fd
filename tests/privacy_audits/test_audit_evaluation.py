"""Audits of evaluations, exact and of whole releases: never above eps, nearly as much, and red when broken."""

import pytest

from evaluation_audit import CASES, measure
from patched_copy import measure_on_a_patched_copy

GRIDS, TALLY = "evaluation/grids.py", "evaluation/tally.py"
LOSSES_NOT_BOUNDED = (
    GRIDS, "np.asarray(np.clip(np.nan_to_num(rest), -most, most), np.int64)", "np.asarray(rest, np.int64)",
)  # fmt: skip
TARGETS_NOT_BOUNDED = (
    GRIDS, "np.clip(np.rint((clipped - low) / (high - low) * one), 0, one)",
    "np.clip((values - low) / (high - low) * one, -4 * one, 4 * one)",
)  # fmt: skip
A_ROW_TWICE = (TALLY, "grid.size).astype(np.int64)", "grid.size).astype(np.int64) * 2")
CELLS_OF_THE_DATA = (
    GRIDS,
    '2 * np.searchsorted(self.edges, score, "right") + y',
    '2 * np.searchsorted(np.sort(score)[:: len(score) // 3], score, "right") + y',
)
ONE_DRAW = ("mechanisms/drawing.py", "draw(block.units, len(value))", "draw(block.units, 1)")
PERSONS_AS_ROWS = (TALLY, "if weights is None else np.rint", "if True else np.rint")
HALF_THE_NOISE = (
    "evaluation/law.py",
    "norm = grid.sensitivity(neighbouring is Neighbouring.REPLACE_ONE, counted)",
    "norm = grid.sensitivity(neighbouring is Neighbouring.REPLACE_ONE, counted) / 2",
)
REPLACE_AS_ADD = (
    GRIDS,
    "return outcomes_replace_one(shares) if replaced else outcomes_add_remove(shares)",
    "return outcomes_add_remove(shares)",
)
NO_COST_OF_DIFFERENCES = (
    "privacy/sensitivity.py",
    'return 2 * weights["difference"] + targets',
    'return weights["difference"] + targets',
)
ROUNDING = 1e-9
COUNT_IS_FREE = (
    "privacy/sensitivity.py",
    'return errors + targets + weights["cells"] + weights.get("count", 0.0) + 3',
    'return errors + targets + weights["cells"] + 3',
)
WEIGHTS_BY_POSITION = ("evaluation/release.py", "data.weights.of_rows[at]", "data.weights.of_rows[::-1][at]")
HALF_THE_UNITS = ("evaluation/law.py", "weight, noise.units)", "weight, noise.units // 2)")
ROWS, PERSONS, WEIGHTS = ("rows, replace_one", "persons, replace_one", "weights, add_remove")
BROKEN = [
    (LOSSES_NOT_BOUNDED, [f"classes, {ROWS}"]),
    (TARGETS_NOT_BOUNDED, [f"numbers, {ROWS}"]),
    (A_ROW_TWICE, [f"labels, {ROWS}", f"decisions, {ROWS}", f"two models, {WEIGHTS}"]),
    (CELLS_OF_THE_DATA, [f"labels, {ROWS}"]),
    (ONE_DRAW, [f"labels, {ROWS}", f"decisions, {ROWS}"]),
    (PERSONS_AS_ROWS, [f"labels, {PERSONS}", f"numbers, {PERSONS}"]),
    (WEIGHTS_BY_POSITION, [f"numbers, {PERSONS}", "labels, persons, add_remove"]),
    (HALF_THE_NOISE, [f"{kind}, {ROWS}" for kind in ("labels", "classes", "numbers", "two models of numbers")]),
    (HALF_THE_UNITS, [f"labels, {ROWS}", f"two models of numbers, {WEIGHTS}"]),
    (REPLACE_AS_ADD, [f"labels, {ROWS}", f"classes, {PERSONS}"]),
    (NO_COST_OF_DIFFERENCES, [f"two models of numbers, {ROWS}"]),
    (COUNT_IS_FREE, [f"numbers, {WEIGHTS}", "numbers, persons, two rows, add_remove"]),
]


@pytest.mark.parametrize("name", CASES)
def test_neighbours_show_at_most_eps_and_nearly_as_much(name):
    assert 0.92 <= measure(name, 0) <= 1 + ROUNDING


@pytest.mark.parametrize(("patch", "names"), BROKEN)
def test_audit_is_red_on_a_broken_copy_of_the_package(patch, names, tmp_path):
    """Copy the installed package, break a real line, run the same audit on the copy."""
    found = measure_on_a_patched_copy("evaluation_audit.py", names, 0, *patch, tmp_path)
    assert [name for name, share in zip(names, found, strict=True) if share <= 1 + ROUNDING] == []
