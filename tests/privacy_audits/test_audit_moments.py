"""Audits of released moments: never above eps, strong enough to see most of the noise, and red when broken."""

import pytest

from moments_audit import CASES, measure
from patched_copy import measure_on_a_patched_copy

pytestmark = pytest.mark.filterwarnings("ignore::dplr.DataWarning")

# What the audit must measure at least, to count as having power. An event of many numbers shows less of the loss.
FLOORS = {
    "one number": 0.85,
    "one number, far outside": 0.85,
    "one number, add_remove": 0.7,
    "one block": 0.7,
    "one block, add_remove": 0.75,
    "number with a mark": 0.7,
    "number times levels": 0.2,  # they lose eps, spread over 19 numbers
    "curve": 0.4,  # they lose eps, and that between knots 0.84 of it, spread over eight numbers
    "curve, add_remove": 0.5,
    "between knots": 0.3,
    "gaussian, orthogonal rows": 0.65,
    "gaussian, far outside": 0.65,
    "gaussian, add_remove": 0.75,
}
MOMENTS = "mechanisms/functional/moments.py"
NOT_CLIPPED = (
    "bounds/scaling.py",
    "return shift, scale, max((low - shift) * scale, -units), min((high - shift) * scale, units)",
    "return shift, scale, -2 * units, 2 * units",
)
REPLACE_AS_ADD = (
    MOMENTS,
    "return moments_sensitivity(geometry, neighbouring, 0.0, 1.0)",
    "return moments_sensitivity(geometry, Neighbouring.ADD_REMOVE, 0.0, 1.0)",
)
REPLACE_AS_ADD_IN_L2 = (
    MOMENTS,
    "return sensitivity.l2_replace_one(geometry.radius, 0.0, 1.0, geometry.intercept)",
    "return sensitivity.l2_add_remove(geometry.radius, 0.0, 1.0, geometry.intercept)",
)
ONE_LEVEL_CHANGES = ("privacy/sensitivity.py", "changed_levels = 2 * c * blocks", "changed_levels = c * blocks")
MARKS_ARE_FREE = (
    "privacy/sensitivity.py",
    "np.arange(numeric + 1), blocks + marked + shared",
    "np.arange(numeric + 1), blocks + shared",
)
NO_NOISE_ON_THE_DIAGONAL = (
    "mechanisms/drawing.py",
    "noisy_cells(total, plan.statement.released[name], cells, source, power)",
    'noisy_cells(total, plan.statement.released[name], cells, source, power) if name != "diagonal" else '
    "np.ldexp(total.integers(-20 + power, cells).astype(np.float64), -20)",
)
HALF_THE_NOISE = (
    "moments/law.py",
    "norm = proved_sensitivity(problem.geometry, problem.neighbouring, law)",
    "norm = proved_sensitivity(problem.geometry, problem.neighbouring, law) / 2",
)
SQUARES_ARE_FREE = (
    "privacy/sensitivity.py",
    "+ quadratic * (triangle + iota * l1 + iota * iota)",
    "+ quadratic * (triangle * 0 + iota * l1 + iota * iota)",
)
SHARES_AS_ONE_NUMBER = (
    "problem/cells.py",
    "shared = len(geometry.shared) + len(geometry.hats)  # lemmas 11 and 17",
    "shared = len(geometry.shared)\n        d += len(geometry.hats)",
)
NO_NOISE_ON_NEIGHBOURS = (
    "mechanisms/drawing.py",
    "noisy_cells(total, plan.statement.released[name], cells, source, power)",
    'noisy_cells(total, plan.statement.released[name], cells, source, power) if name != "off_diagonal" else '
    "np.ldexp(total.integers(-20 + power, cells).astype(np.float64), -20)",
)
BROKEN = [
    (NOT_CLIPPED, 6000, ["one number, far outside", "gaussian, far outside"]),
    (REPLACE_AS_ADD, 20_000, ["one block"]),
    (REPLACE_AS_ADD_IN_L2, 20_000, ["gaussian, orthogonal rows"]),
    (ONE_LEVEL_CHANGES, 6000, ["one block"]),
    (MARKS_ARE_FREE, 6000, ["number with a mark"]),
    (NO_NOISE_ON_THE_DIAGONAL, 6000, ["one number"]),
    (HALF_THE_NOISE, 6000, ["one number", "one number, add_remove", "one block", "gaussian, orthogonal rows"]),
    (SQUARES_ARE_FREE, 6000, ["one number, add_remove"]),
    (SHARES_AS_ONE_NUMBER, 6000, ["curve"]),
    (NO_NOISE_ON_NEIGHBOURS, 6000, ["between knots"]),
]


@pytest.mark.parametrize("name", FLOORS)
def test_neighbours_are_told_apart_by_at_most_eps_and_by_enough_for_the_audit_to_have_power(name):
    case = CASES[name]
    assert FLOORS[name] * case.eps <= measure(case, 20_000) <= case.eps


@pytest.mark.parametrize(("patch", "runs", "names"), BROKEN)
def test_audit_is_red_on_a_broken_copy_of_the_package(patch, runs, names, tmp_path):
    """Copy the installed package, break one real line, run the same audit on the copy."""
    found = measure_on_a_patched_copy("moments_audit.py", names, runs, *patch, tmp_path)
    assert [name for name, eps in zip(names, found, strict=True) if eps <= CASES[name].eps] == []
