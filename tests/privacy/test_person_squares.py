"""Sensitivity of the squares of persons' scores: sums over all rows of a person, which may show two levels."""

import math

import numpy as np
import pytest

from dplr.mechanisms.equations import meat_l1_sensitivity
from dplr.privacy import sensitivity
from dplr.privacy.guarantees import Neighbouring
from dplr.privacy.unit import Unit
from dplr.problem.geometry import Geometry
from dplr.problem.losses import SQUARED
from dplr.problem.problem import Problem

CUBE, BALL, LEVELS = (
    Geometry(3, half_width=1 / math.sqrt(3), intercept=0.5),
    Geometry(2, intercept=0.5),
    Geometry(3, half_width=1 / math.sqrt(2), intercept=0.5, blocks=((1, 2),)),
)


def scores_in_hull(rng, geometry, count):
    """Mixtures of up to three rows, or rows with the other sign, whose shares add up to 1 or less."""
    if geometry.half_width is None:
        rows = rng.normal(size=(count, 3, geometry.d))
        rows /= np.linalg.norm(rows, axis=2, keepdims=True)
    else:
        rows = geometry.half_width * rng.choice([-1.0, 1.0], (count, 3, geometry.d))
        for first, size in geometry.blocks:
            rows[..., first : first + size] = geometry.half_width * np.eye(size)[rng.integers(0, size, (count, 3))]
    rows = np.concatenate([rows, np.full((count, 3, 1), geometry.intercept)], axis=2)
    shares = rng.dirichlet([0.3, 0.3, 0.3, 0.1], count)[:, :3] * rng.choice([-1.0, 1.0], (count, 3))
    shares[::2] = np.sign(shares[::2, :1]) * [1.0, 0.0, 0.0]
    return (shares[:, :, None] * rows).sum(axis=1)


@pytest.mark.parametrize("relation", list(Neighbouring))
@pytest.mark.parametrize(("name", "geometry", "reached"), [
    ("cube", CUBE, 0.99), ("ball", BALL, 0.5), ("levels", LEVELS, 0.6)
])  # fmt: skip
def test_squares_of_persons_scores_move_by_at_most_their_sensitivity(name, geometry, reached, relation):
    problem = Problem(SQUARED, geometry, relation, 1000, None, (), unit=Unit("id"))
    stated, rng = meat_l1_sensitivity(problem), np.random.default_rng(0)
    row_norm, records = geometry.row_norm, relation.records_changed
    frobenius = (sensitivity.meat_add_remove if records == 1 else sensitivity.meat_replace_one)(row_norm)
    upper, found, length = np.triu_indices(geometry.n_coefs), 0.0, 0.0
    for _ in range(20):
        one, other = (scores_in_hull(rng, geometry, 10_000) for _ in range(2))
        moved = one[:, :, None] * one[:, None] - (records - 1) * other[:, :, None] * other[:, None]
        found = max(found, float(np.abs(moved[:, upper[0], upper[1]]).sum(axis=1).max()))
        length = max(length, float(np.linalg.norm(moved, axis=(1, 2)).max()))
    assert reached * stated <= found <= stated * (1 + 1e-12)
    assert 0.7 * frobenius <= length <= frobenius * (1 + 1e-12)


def test_vectors_of_the_squares_of_persons_scores():
    """functional.md, lemma 18."""
    for half_widths, stated in (((1.0, 0.5), 1.75), ((3**-0.5,) * 3 + (0.5,), 3.1160)):
        longest, norm = sum(half_widths), math.hypot(*half_widths)
        for records in (1, 2):
            assert sensitivity.clusters_change(longest, norm, half_widths, records) == pytest.approx(stated, rel=1e-5)
    assert sensitivity.clusters_change(1.5, math.sqrt(1.25), (1.0, 1.0, 0.5), 2) == pytest.approx(3.5)
    assert sensitivity.clusters_change(1.5, math.sqrt(1.25), (), 2) == pytest.approx(3.5)
