"""Audits of released moments, exact: never above what is allowed, nearly as much, and red when broken."""

import pytest

from moments_audit import CASES, measure
from patched_copy import measure_on_a_patched_copy

pytestmark = pytest.mark.filterwarnings("ignore::dplr.DataWarning")

# What cases must show, as a share of what is allowed, where it is less than all: their rows are not the worst ones.
FLOORS = {"number times levels": 0.86, "between knots": 0.91}
ROUNDING = 1e-9
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
    (NOT_CLIPPED, ["one number, far outside", "gaussian, far outside"]),
    (REPLACE_AS_ADD, ["one block"]),
    (REPLACE_AS_ADD_IN_L2, ["gaussian, orthogonal rows"]),
    (ONE_LEVEL_CHANGES, ["one block"]),
    (MARKS_ARE_FREE, ["number with a mark"]),
    (NO_NOISE_ON_THE_DIAGONAL, ["one number"]),
    (HALF_THE_NOISE, ["one number", "one number, add_remove", "one block", "gaussian, orthogonal rows"]),
    (SQUARES_ARE_FREE, ["one number, add_remove"]),
    (SHARES_AS_ONE_NUMBER, ["curve"]),
    (NO_NOISE_ON_NEIGHBOURS, ["between knots"]),
]


@pytest.mark.parametrize("name", CASES)
def test_neighbours_show_at_most_what_is_allowed_and_nearly_as_much(name):
    assert FLOORS.get(name, 0.999) <= measure(CASES[name], 0) <= 1 + ROUNDING


@pytest.mark.parametrize(("patch", "names"), BROKEN)
def test_audit_is_red_on_a_broken_copy_of_the_package(patch, names, tmp_path):
    """Copy the installed package, break one real line, run the same audit on the copy."""
    found = measure_on_a_patched_copy("moments_audit.py", names, 0, *patch, tmp_path)
    assert [name for name, share in zip(names, found, strict=True) if share <= 1 + ROUNDING] == []
