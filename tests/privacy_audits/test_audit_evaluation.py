"""Audits of evaluations: never above eps, strong enough to see most of the noise, and red when broken."""

import pytest

from evaluation_audit import CASES, EPS, measure
from patched_copy import measure_on_a_patched_copy

# What the audit must measure at least, to count as having power. An event of many numbers shows less of the loss.
FLOORS = {
    "labels": 0.65,
    "one outcome flips": 0.65,
    "scores outside": 0.65,
    "no score": 0.25,  # a row that counts nowhere loses half of what one in the place of another does
    "labels, add_remove": 0.65,
    "classes": 0.5,
    "classes outside": 0.5,
    "decisions": 0.7,
    "numbers": 0.4,  # spread over six sums
    "numbers outside": 0.4,
    "numbers, add_remove": 0.45,
    "persons": 0.65,
    "persons, numbers": 0.4,
    "two models": 0.65,
    "two models of numbers": 0.65,
}
GRIDS, TALLY = "evaluation/grids.py", "evaluation/tally.py"
LOSSES_NOT_BOUNDED = (
    GRIDS, "np.asarray(np.clip(np.nan_to_num(rest), -most, most), np.int64)", "np.asarray(rest, np.int64)",
)  # fmt: skip
SCORES_NOT_BOUNDED = (GRIDS, "np.clip(np.nan_to_num(scores, nan=0.5), 0.0, 1.0)", "np.clip(scores, -9.0, 9.0)")
CLASSES_NOT_BOUNDED = (GRIDS, "p = np.clip(np.nan_to_num(scores), 0.0, 1.0)", "p = np.clip(scores, -9.0, 9.0)")
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
    "privacy/evaluation_sensitivity.py",
    'return 2 * weights["difference"] + targets',
    'return weights["difference"] + targets',
)
BROKEN = [
    ([SCORES_NOT_BOUNDED, LOSSES_NOT_BOUNDED], ["scores outside"]),
    ([CLASSES_NOT_BOUNDED, LOSSES_NOT_BOUNDED], ["classes outside"]),
    ([TARGETS_NOT_BOUNDED], ["numbers outside"]),
    ([A_ROW_TWICE], ["labels", "decisions", "two models"]),
    ([CELLS_OF_THE_DATA], ["labels"]),
    ([ONE_DRAW], ["labels", "decisions"]),
    ([PERSONS_AS_ROWS], ["persons", "persons, numbers"]),
    ([HALF_THE_NOISE], ["labels", "labels, add_remove", "numbers", "persons", "two models of numbers"]),
    ([REPLACE_AS_ADD], ["labels", "classes"]),
    ([NO_COST_OF_DIFFERENCES], ["two models of numbers"]),
]


@pytest.mark.parametrize("name", FLOORS)
def test_neighbours_are_told_apart_by_at_most_eps_and_by_enough_for_the_audit_to_have_power(name):
    assert FLOORS[name] * EPS <= measure(CASES[name], 20_000) <= EPS


@pytest.mark.parametrize(("patches", "names"), BROKEN)
def test_audit_is_red_on_a_broken_copy_of_the_package(patches, names, tmp_path):
    """Copy the installed package, break real lines, run the same audit on the copy."""
    first, *others = patches
    found = measure_on_a_patched_copy("evaluation_audit.py", names, 8000, *first, tmp_path, others)
    assert [name for name, eps in zip(names, found, strict=True) if eps <= EPS] == []
