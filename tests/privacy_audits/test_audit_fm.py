"""Audits of the functional mechanism: never above eps, strong enough to see half the noise, and red when broken."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from dplr.privacy import sensitivity
from fm_audit import CASES, measure, scores, theory
from patched_copy import measure_on_a_patched_copy

# What the audit must measure at least, to count as having power. An event of many numbers shows less of the loss.
FLOORS = {
    "logistic d=1": 0.7,
    "logistic d=2": 0.7,
    "logistic d=2 intercept": 0.5,
    "logistic d=1 bounds": 0.7,
    "logistic d=2 bounds": 0.5,
    "squared d=1": 0.7,
    "squared d=2": 0.7,
    "default weight, logistic d=1": 0.7,
    "default weight, squared d=1 corner": 0.7,
    "default weight, add_remove d=1": 0.5,
    "default weight, add_remove d=2 bounds": 0.1,
    "paper d=1": 0.1,
    "gaussian, logistic d=1": 0.8,
    "gaussian, logistic d=2": 0.6,
    "gaussian, squared d=2 intercept": 0.6,
    "rerun, squared d=1": 0.3,
    # These lose 0.75, 0.56, 1 and 1 of eps (of mu, the second), spread over three numbers.
    "sum y^2 d=1": 0.5,
    "gaussian, sum y^2 d=1": 0.3,
    "sum y^2, add_remove d=1": 0.4,
    "target beyond its bounds": 0.7,
    "gaussian, squared residuals d=2": 0.5,  # loses 0.76 of mu
    "squared residuals d=2": 0.4,
    # These pairs lose eps, the third 0.97 of it, spread over 4, 4, 8 and 2 numbers.
    "one block": 0.7,
    "default weight, one block": 0.5,
    "default weight, number beside a block": 0.3,
    "default weight, add_remove one block": 0.7,
    # These lose eps, eps, 0.91 and eps, spread over six numbers, three, three and six.
    "default weight, number with a mark": 0.4,
    "number with a mark": 0.5,
    "missing number": 0.6,
    "default weight, add_remove number with a mark": 0.4,
    # These lose eps, eps, eps and 0.89, spread over four numbers, seven, four and over a hundred.
    "default weight, block of numbers": 0.5,
    "default weight, block of numbers, intercept": 0.35,
    "default weight, add_remove block of numbers": 0.7,
    "number times levels": 0.5,
    # These lose eps, the last one 0.92 of it, spread over 8 numbers, 11, 8, 8, over fifty, 8 and 8.
    "default weight, curve": 0.5,
    "default weight, curve, intercept": 0.3,
    "curve": 0.6,
    "default weight, add_remove curve": 0.7,
    "default weight, curve of levels": 0.1,
    "beside a knot": 0.6,
    "default weight, neighbours": 0.3,
}
HALVED_DELTA = (
    "privacy/calibration.py",
    "exact = Fraction(sensitivity) * _FLOAT_MARGIN",
    "exact = Fraction(sensitivity) / 2 * _FLOAT_MARGIN",
)
HALVED_NORM = (
    "privacy/calibration.py",
    "norm = Fraction(sensitivity) * _FLOAT_MARGIN",
    "norm = Fraction(sensitivity) / 2 * _FLOAT_MARGIN",
)
DRAWING = "mechanisms/drawing.py"
DRAWN = "noisy_cells(total, plan.statement.released[name], cells, source, power)"
EXACT = "np.ldexp(total.integers(-20 + power, cells).astype(np.float64), -20)"
NO_NOISE_ON_MOMENTS = (DRAWING, DRAWN, f'{DRAWN} if name == "linear" else {EXACT}')
NO_NOISE_ON_SQUARE = (DRAWING, DRAWN, f'{DRAWN} if name != "target_square" else {EXACT}')
SQUARE_IS_FREE = (
    "mechanisms/functional/moments.py",
    "return square, sensitivity.square_replace_one(moments, reach, square)",
    "return 2 * alone, alone",
)
SQUARE_IS_FREE_IN_L2 = ("mechanisms/functional/moments.py", "return square, alone", "return 8 * square, alone")
TARGETS_UNCLIPPED = (
    "bounds/scaling.py",
    'of_target = _scale_to(target or (-1.0, 1.0), geometry.intercept > 0 or link == "log", GRID)',
    "of_target = (0.0, GRID, -4 * GRID, 4 * GRID)",
)
EIGHTH_OF_MEAT = ("privacy/sensitivity.py", "return math.sqrt(2) * row_norm**2", "return row_norm**2 / 8")
SLIVER_OF_PURE_MEAT = (
    "mechanisms/functional/moments.py",
    "meat_change = meat_l1_sensitivity(problem)",
    "meat_change = meat_l1_sensitivity(problem) / 32",
)
FLOAT_NOISE = (
    "mechanisms/drawing.py",
    "return np.ldexp(value.astype(np.float64), exponent)",
    "exact = np.ldexp(total.integers(exponent + power, cells).astype(np.float64), exponent)\n"
    "    return exact + block.scale * np.random.default_rng().laplace(0, 1, len(exact))",
)
NO_FLIPPED_LABELS = ("privacy/sensitivity.py", "return max(flipped, same)", "return same")
BLOCK_AS_ONE_NUMBER = (
    "problem/cells.py",
    "return sensitivity.groups_replace_one(numeric, blocks, c, linear, quadratic, iota, marked, shared)",
    "return sensitivity.box_replace_one(numeric + blocks, c, linear, quadratic, iota)",
)
ONE_LEVEL_CHANGES = ("privacy/sensitivity.py", "changed_levels = 2 * c * blocks", "changed_levels = c * blocks")
MARKS_ARE_FREE = (
    "privacy/sensitivity.py",
    "np.arange(numeric + 1), blocks + marked + shared",
    "np.arange(numeric + 1), blocks + shared",
)
BLOCK_OF_NUMBERS_AS_ONE = (
    "problem/cells.py",
    "return sensitivity.groups_replace_one(numeric, blocks, c, linear, quadratic, iota, marked, shared)",
    "return sensitivity.groups_replace_one(numeric + shared, blocks, c, linear, quadratic, iota, marked)",
)
SQUARES_ARE_FREE = ("privacy/sensitivity.py", "+ marked + (2 * shared if iota else 0))", "+ marked)")
ALL_PRODUCTS_FILLED = (
    "bounds/products.py",
    "out[:] = np.where(block != 0, number, 0.0)",
    "out[:] = number",
)
NUMBER_BESIDE_ITS_MARK = (
    "rows/tables/encoder.py",
    "filler = None if column.missing is None else column.filler",
    "filler = None if column.missing is None else column.range[1]",
)
NO_PARTITION_OF_ONE = (
    "rows/tables/encoder.py",
    "    return marks[:, 0]",
    "    if isinstance(column, Curve):\n        here = first + column.line\n"
    "        part = matrix[:, here : here + len(column.places)]\n"
    "        part[:, :-1] += part[:, 1:] / 2\n    return marks[:, 0]",
)
KNOTS_OF_THE_DATA = (
    "rows/tables/encoder.py",
    "    knots = np.array(column.places)",
    "    seen, places = np.empty(len(native.values)), column.places\n"
    "    native.values.write_numbers(0, None, seen)\n"
    "    knots = np.array([*places[:-1], max((places[-2] + places[-1]) / 2, np.nanmax(seen))])",
)
SHARES_AS_ONE_NUMBER = (
    "problem/cells.py",
    "shared = len(geometry.shared) + len(geometry.hats)  # lemmas 11 and 17",
    "shared = len(geometry.shared)\n        d += len(geometry.hats)",
)
SHARES_FOR_HALF = (
    "problem/cells.py",
    "return sensitivity.groups_replace_one(numeric, blocks, c, linear, quadratic, iota, marked, shared)",
    "return sensitivity.groups_replace_one(numeric, blocks, c, linear, quadratic, iota, marked, shared) / (\n"
    "                2 if geometry.hats else 1)",
)
NO_NOISE_ON_NEIGHBOURS = (DRAWING, DRAWN, f'{DRAWN} if name != "off_diagonal" else {EXACT}')
BROKEN = [  # the number of releases of each data set, and the cases, which one process measures on one copy
    (HALVED_DELTA, 6000, ["logistic d=1", "logistic d=2", "squared d=1", "default weight, squared d=1 corner",
                          "default weight, add_remove d=1", "one block"]),
    (NO_FLIPPED_LABELS, 20_000, ["logistic d=1 bounds"]),  # a quarter too little noise, not a half
    (NO_NOISE_ON_MOMENTS, 6000, ["default weight, logistic d=1"]),
    (NO_NOISE_ON_SQUARE, 6000, ["sum y^2 d=1", "sum y^2, add_remove d=1"]),
    (SQUARE_IS_FREE, 6000, ["sum y^2 d=1"]),
    (SQUARE_IS_FREE_IN_L2, 6000, ["gaussian, sum y^2 d=1"]),
    (TARGETS_UNCLIPPED, 6000, ["target beyond its bounds"]),
    (EIGHTH_OF_MEAT, 6000, ["gaussian, squared residuals d=2"]),
    (SLIVER_OF_PURE_MEAT, 6000, ["squared residuals d=2"]),
    (FLOAT_NOISE, 6000, ["floating point"]),
    (BLOCK_AS_ONE_NUMBER, 6000, ["default weight, one block"]),
    (ONE_LEVEL_CHANGES, 6000, ["one block"]),
    (MARKS_ARE_FREE, 6000, ["number with a mark", "missing number"]),
    (BLOCK_OF_NUMBERS_AS_ONE, 6000, ["default weight, block of numbers"]),
    (SQUARES_ARE_FREE, 20_000, ["default weight, block of numbers, intercept"]),
    (ALL_PRODUCTS_FILLED, 20_000, ["number times levels"]),
    (NUMBER_BESIDE_ITS_MARK, 20_000, ["missing number"]),  # they lose 1.52: not eps, and not twice it
    (NO_PARTITION_OF_ONE, 20_000, ["beside a knot"]),
    (KNOTS_OF_THE_DATA, 6000, ["default weight, curve"]),
    (SHARES_AS_ONE_NUMBER, 6000, ["default weight, curve"]),
    (SHARES_FOR_HALF, 6000, ["default weight, curve"]),
    (NO_NOISE_ON_NEIGHBOURS, 6000, ["default weight, neighbours"]),
    (HALVED_NORM, 6000, ["gaussian, logistic d=1", "gaussian, logistic d=2"]),
]  # fmt: skip


@pytest.mark.parametrize("name", FLOORS)
def test_neighbours_are_told_apart_by_at_most_eps_and_by_enough_for_the_audit_to_have_power(name):
    case = CASES[name]
    # Over seeds the bound for 25,000 Gaussian releases lies between 0.74 and 0.84.
    measured = measure(case, 60_000 if FLOORS[name] == 0.8 else 25_000 if case.delta else 20_000)
    assert FLOORS[name] * case.eps <= measured <= case.eps
    if not case.delta:
        assert theory(case) <= case.eps


@pytest.mark.parametrize("eps", [0.2, 1.0, 3.0])
def test_rerun_needs_the_factor_two_for_squared_loss_and_no_more(eps):
    """Exact, one feature: loss of a run's eps plus the log ratio of the chances that noise leaves S positive.

    At the eps of one run some pair of records exceeds it (so the factor is needed); no pair exceeds twice that.
    """
    worst = 0.0
    for weight in (0.25, 0.5, 1.0, 2.0):
        joint = sensitivity.box_replace_one(1, 1.0, 1.0, weight)
        scale = joint / (weight * eps)
        for x, other in itertools.product(np.linspace(0, 1, 41), repeat=2):
            change = abs(x + other) + weight * abs(x**2 - other**2)
            chances = [stats.laplace.sf(-(value**2) / scale) for value in (x, other)]
            worst = max(worst, change * eps / joint + abs(math.log(chances[0] / chances[1])))
    assert eps * 1.001 < worst <= 2 * eps


def test_no_floating_point_residue_tells_neighbours_apart():
    left, right = scores(CASES["floating point"], 4000)
    assert left.sum() == right.sum() == 0


@pytest.mark.parametrize(("patch", "runs", "names"), BROKEN)
def test_audit_is_red_on_a_broken_copy_of_the_package(patch, runs, names, tmp_path):
    """Copy the installed package, break one real line, run the same audit on the copy."""
    found = measure_on_a_patched_copy("fm_audit.py", names, runs, *patch, tmp_path)
    assert [name for name, eps in zip(names, found, strict=True) if eps <= CASES[name].eps] == []
