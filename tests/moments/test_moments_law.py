"""The sensitivity of second moments alone, and the noise that it calls for."""

import math

import numpy as np
import pytest

import dplr
from dplr.bounds.scaling import layout_prep
from dplr.moments.importance import moments_prep
from dplr.moments.law import GAUSSIAN, LAPLACE, cells, covers, plan_release, proved_sensitivity
from dplr.moments.released import scaled_problem
from dplr.privacy.calibration import discrete_gaussian_mu
from dplr.privacy.guarantees import Neighbouring, Pure
from dplr.privacy.sensitivity import sized_add_remove, sized_replace_one
from dplr.rows import ArrayRows
from dplr.rows.queries.moments import Moments
from sensitivity_search import worst_moments_change

BOUNDS = {
    "one number": [(0, 1)],
    "numbers": [(0, 1)] * 4,
    "one block": [{"levels": ["a", "b", "c"]}],
    "numbers and blocks": [(0, 1), {"levels": ["a", "b"]}, (0, 9), {"levels": ["x", "y", "z"]}],
    "marks": [{"lower": 0, "upper": 1, "missing": "indicator"}] * 2 + [(0, 1)],
    "a binary column": [{"levels": [0, 1], "binary": True}, (0, 1), (0, 1)],
    "a curve": [{"lower": 0, "upper": 1, "knots": 4, "missing": "indicator"}],
    "a reference": [{"levels": ["a", "b", "c"], "reference": "a"}, (0, 1)],
}
PRODUCTS = {
    "a block of numbers": ([(0, 1), {"levels": ["a", "b"]}], [(0, 1)]),
    "a curve for each level": ([{"lower": 0, "upper": 1, "knots": 3, "line": False}, {"levels": [0, 1]}], [(0, 1)]),
    "squares": ([(0, 1), (0, 1)], [(0, 0), (0, 1)]),
}
LAYOUTS = {name: dplr.Bounds(each).layout for name, each in BOUNDS.items()} | {
    name: dplr.Bounds(features, products=products).layout for name, (features, products) in PRODUCTS.items()
}


def geometry_of(name):
    return layout_prep(LAYOUTS[name], True, None).geometry


@pytest.mark.parametrize("relation", list(Neighbouring))
@pytest.mark.parametrize("name", LAYOUTS)
def test_search_never_exceeds_the_sensitivity_in_l1_and_reaches_it(name, relation):
    geometry = geometry_of(name)
    proved = proved_sensitivity(geometry, relation, LAPLACE)
    found = worst_moments_change(geometry, relation, 1)
    assert 0.99 * proved <= found <= proved * (1 + 1e-9)


@pytest.mark.parametrize("relation", list(Neighbouring))
@pytest.mark.parametrize("name", LAYOUTS)
def test_search_never_exceeds_the_sensitivity_in_l2(name, relation):
    geometry = geometry_of(name)
    assert worst_moments_change(geometry, relation, 2) <= proved_sensitivity(geometry, relation, GAUSSIAN) * (1 + 1e-9)


@pytest.mark.parametrize("relation", list(Neighbouring))
def test_search_reaches_the_sensitivity_in_l2_where_rows_can_be_orthogonal(relation):
    """Eight numbers: rows that differ in five of their signs have the product 3/8 - 5/8 + 1/4 = 0."""
    geometry = layout_prep(dplr.Bounds([(0, 1)] * 8).layout, True, None).geometry
    found = worst_moments_change(geometry, relation, 2)
    assert 0.99 * proved_sensitivity(geometry, relation, GAUSSIAN) <= found


# By the layouts above, columns first and then products.
IMPORTANCE = {
    "numbers": (4.0, 1.0, 1.0, 0.5),
    "numbers and blocks": (1.0, 3.0, 2.0, 0.5),
    "marks": (3.0, 1.0, 0.5),
    "a binary column": (0.1, 10.0, 1.0),
    "a reference": (3.0, 1.0),
    "a block of numbers": (1.0, 2.0, 4.0),
    "a curve for each level": (2.0, 1.0, 4.0),
    "squares": (4.0, 1.0, 0.5, 0.5),
}


@pytest.mark.parametrize("relation", list(Neighbouring))
@pytest.mark.parametrize("name", IMPORTANCE)
def test_search_never_exceeds_the_sensitivity_of_columns_of_unequal_importance_and_comes_close(name, relation):
    geometry = moments_prep(LAYOUTS[name], IMPORTANCE[name]).geometry
    proved = proved_sensitivity(geometry, relation, LAPLACE)
    found = worst_moments_change(geometry, relation, 1)
    assert 0.98 * proved <= found <= proved * (1 + 1e-9)
    assert worst_moments_change(geometry, relation, 2) <= proved_sensitivity(geometry, relation, GAUSSIAN) * (1 + 1e-9)


@pytest.mark.parametrize("relation", list(Neighbouring))
@pytest.mark.parametrize("name", LAYOUTS)
def test_columns_of_equal_size_have_the_sensitivity_that_groups_of_one_size_have(name, relation):
    geometry = geometry_of(name)
    equal = geometry.weighted((1.0,) * geometry.d)
    expected = proved_sensitivity(geometry, relation, LAPLACE)
    assert expected * (1 - 1e-12) <= proved_sensitivity(equal, relation, LAPLACE) <= 1.03 * expected


def test_test_vectors_of_the_sensitivity_of_columns_of_unequal_importance():
    """Two numbers of half-widths 3/5 and 4/5; and of 4/5 beside a block of 3/5. The constant is 1/2."""
    assert sized_add_remove([0.6, 0.8], [], 0.5) == pytest.approx((1.96 + 1) / 2 + 0.7 + 0.25)
    # theta = 1/3: 1/18 + 2 (1/6)^2 / 2.
    assert sized_replace_one([0.6, 0.8], [], [], [], 0.5) == pytest.approx(1.48 + 0.7 + 1 / 18 + 1 / 36)
    assert sized_add_remove([0.8], [0.6], 0.5) == pytest.approx((1.96 + 1) / 2 + 0.7 + 0.25 - 0.36)
    # theta = 1/2: the number may move by 3/5 only; and the block moves 2 * 0.5 * 0.6 beside it.
    assert sized_replace_one([0.8], [0.6], [], [], 0.5) == pytest.approx(0.64 + 1.1 * 0.8 + 0.125 + 0.18 + 0.6)
    assert sized_replace_one([], [0.6], [0.5], [0.4], 0.5) == pytest.approx(1.5 + 2.25 - 0.77 + 0.25 + 0.32)


@pytest.mark.parametrize("importance", [(4.0, 1.0, 1.0, 0.5), (0.1, 10.0, 10.0, 0.3), (1.0, 1.0, 7.0, 3.0)])
def test_rows_of_columns_of_unequal_importance_lie_in_the_unit_ball_to_the_last_bit(importance):
    columns = [(0, 1), {"levels": [0, 1, 2]}, {"lower": 0, "upper": 9, "missing": "indicator"}]
    columns.append({"lower": 0, "upper": 1, "knots": 4, "line": False})
    prep = moments_prep(dplr.Bounds(columns).layout, importance)
    units = [int(width * 2**20) for width in prep.geometry.half_widths]
    heads = prep.geometry.firsts[:-1]
    assert units == [width * 2**20 for width in prep.geometry.half_widths]
    assert sum(units[first] ** 2 for first in heads) <= 2**40
    values = [-1e9, 1e9, 1 / 3, 0.1, 0.7]
    rows = [(x, level, y, z) for x in values[:2] for level in (0, 2) for y in (*values[:2], np.nan) for z in values]
    for row in rows:
        total = ArrayRows(np.array([row]), np.zeros(1), prep).total(Moments(prep.geometry.d, True))
        cells = total.integers(-40)
        ends = np.abs(cells[:-2, prep.geometry.d]) / 2**19  # of the column in grid units: its product with 1/2
        assert np.trace(cells[:-2, :-2]) <= 2**40
        sizes = [ends[first : first + size].sum() for first, size in zip(heads, prep.geometry.groups, strict=False)]
        assert np.all(sizes <= np.array(units)[list(heads)])
        assert sizes[:3] == [units[0], units[1], units[4]]  # all of them are at an end of their range


def test_test_vectors_of_the_sensitivities():
    """Rational where the half-width is: one number has c = 1, four have c = 1/2."""
    replace, add = Neighbouring.REPLACE_ONE, Neighbouring.ADD_REMOVE
    one, four, block = (geometry_of(name) for name in ("one number", "numbers", "one block"))
    assert proved_sensitivity(one, add, LAPLACE) == 1 + 0.5 + 0.25
    # x = 1 against x': 1 - x'^2 + (1 - x')/2 is largest at x' = -1/4.
    assert proved_sensitivity(one, replace, LAPLACE) == pytest.approx(1 - 1 / 16 + 5 / 8)
    assert proved_sensitivity(four, add, LAPLACE) == 10 / 4 + 1 + 0.25
    # Four numbers at 1/2 against u - 1/2: 10 u (1 - u) + 2 (1 - u) is largest at u = 2/5.
    assert proved_sensitivity(four, replace, LAPLACE) == pytest.approx(10 * 0.24 + 2 * 0.6)
    assert proved_sensitivity(block, replace, LAPLACE) == 2 * 0.5  # two levels, and their cells with the constant
    assert proved_sensitivity(block, add, LAPLACE) == 0.5 + 0.25
    assert [proved_sensitivity(one, each, GAUSSIAN) for each in (add, replace)] == pytest.approx(
        [1.25, math.sqrt(3.125)]
    )


def test_the_noise_is_the_sensitivity_over_eps_or_mu():
    problem = scaled_problem(LAYOUTS["numbers"], "replace_one", 1000)
    pure = plan_release(problem, 0.5, 0.0).statement
    assert isinstance(pure.guarantee, Pure)
    assert [block.scale for block in pure.released.values()] == pytest.approx([3.6 / 0.5] * 2, rel=1e-4)
    gaussian = plan_release(problem, 0.5, 1e-6).statement
    mu = discrete_gaussian_mu(0.5, 1e-6, 14)
    scales = [gaussian.released[name].scale for name in ("diagonal", "off_diagonal")]
    assert scales == pytest.approx([math.sqrt(2) * 1.25 / mu, 1.25 / mu], rel=1e-4)
    assert all(covers(each, problem.geometry) for each in (pure, gaussian))


@pytest.mark.parametrize("relation", list(Neighbouring))
def test_cells_that_are_public_or_follow_from_others_are_not_released(relation):
    geometry = geometry_of("numbers and blocks")
    released = cells(geometry, relation)
    pairs = {
        tuple(pair) for block in released.values() for pair in zip(*(each.tolist() for each in block), strict=True)
    }
    # Columns: a number, levels 1 and 2, a number, levels 4, 5 and 6, the constant.
    assert pairs.isdisjoint({(1, 2), (4, 5), (4, 6), (5, 6), *((k, k) for k in (1, 2, 4, 5, 6))})
    assert ((7, 7) in pairs) is (relation == "add_remove")
    assert len(pairs) == 36 - 4 - 5 - (relation == "replace_one")
    assert np.all([row <= column for row, column in pairs])
