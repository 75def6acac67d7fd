"""The sensitivity of second moments alone, and the noise that it calls for."""

import math

import numpy as np
import pytest

import dplr
from dplr.bounds.scaling import layout_prep
from dplr.moments.law import GAUSSIAN, LAPLACE, cells, covers, plan_release, proved_sensitivity
from dplr.moments.released import scaled_problem
from dplr.privacy.calibration import discrete_gaussian_mu
from dplr.privacy.guarantees import Neighbouring, Pure
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
