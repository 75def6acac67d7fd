"""Scores and Hessians of numbers against exact Python integers, on every path, and what one row can add."""

import math

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import reference
from dplr._core import cpu_paths
from dplr.problem.losses import poisson, smooth_huber
from dplr.rows import ArrayRows
from dplr.rows.exact import ClippedGradient, on_coef_grid
from dplr.rows.scores_at import RateMoments, SoftHuberMoments
from made_rows import make_data, make_prep

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")
KINDS = ["cube", "corner"]


@pytest.fixture(params=cpu_paths())
def path(request, monkeypatch):
    monkeypatch.setenv("DPLR_ISA", request.param)
    return request.param


def query_of(kind, prep, loss):
    geometry = prep.geometry
    facts = loss, geometry.d, geometry.intercept > 0, max(1.0, geometry.row_norm * loss.lipschitz)
    return SoftHuberMoments(*facts) if kind == "huber" else RateMoments(*facts)


# Counts from 1 to 9: rates of 0 lie a quarter below the least target.
LOSSES = {"huber": smooth_huber(0.3), "poisson": poisson(1.0, 9.0, 0.5)}


def sizes_of(kind, query, X, y, prep, coef):
    """Whole numbers that multipliers are roots of: slopes of single rows, and of those rows beside the least target."""
    slopes, loss = [], query.loss
    for i in range(len(X)):
        targets = y[i : i + 1] if kind == "huber" else prep.shift[-1:] + prep.low[-1:] / prep.scale[-1]
        constant = ClippedGradient(loss, query.d, query.intercept, query.clip)
        total = reference.clipped_gradient(X[i : i + 1], targets, prep, loss, coef, query.clip)
        rows, _ = reference.gridded_rows(X[i : i + 1], prep)
        place = int(np.argmax(np.abs(rows[0])))
        slopes.append(int(total[place]) // int(rows[0][place]) if rows[0][place] else 0)
    per_unit = constant.per_unit
    if kind == "huber":
        most = int(loss.lipschitz * per_unit)
        return [math.isqrt((((most - min(abs(s), most)) << 40) // most) << 20) for s in slopes]
    least = math.floor((-loss.knots.values[0] - 1) * per_unit)
    bits = int(math.log2(per_unit)) + query.curvature_exponent
    return [math.isqrt(max(0, s - (s < 0) + least) << (60 - bits)) for s in slopes]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("d", [1, 3, 9])
def test_sums_equal_exact_integers_on_every_path(path, name, kind, d):
    X, y = make_data(kind, 61, d, labels=False)
    prep = make_prep(kind, d, fit_intercept=True, labels=False)
    query = query_of(name, prep, LOSSES[name])
    coef = on_coef_grid(np.random.default_rng(1).normal(size=d + 1))
    found = np.triu(ArrayRows(X, y, prep).total(query, coef).integers(-40))
    multipliers = sizes_of(name, query, X, y, prep, coef)
    assert len(set(multipliers)) > 20
    expected = reference.moments(X, y, prep, multipliers) * 2**query.curvature_exponent
    gradient = reference.clipped_gradient(X, y, prep, query.loss, coef, query.clip)
    expected[:, -1] = 0
    expected[:-1, -1] = [-int(g) * 2 ** (query.gradient.exponent + 40) for g in gradient]
    assert_array_equal(found, expected)


@pytest.mark.parametrize("name", LOSSES)
def test_sums_are_those_of_the_loss_in_real_numbers(name):
    X, y = make_data("cube", 500, 3, labels=False)
    prep = make_prep("cube", 3, fit_intercept=True, labels=False)
    query = query_of(name, prep, LOSSES[name])
    coef = on_coef_grid(np.array([0.4, -0.3, 0.2, 0.5]))
    whole = ArrayRows(X, y, prep).total(query, coef).integers(-40).astype(float) * 2.0**-40
    rows, _ = reference.gridded_rows(X, prep)
    Z, u = rows.astype(float) / 2**20, np.clip((y - 1.0) / 4.0, -1, 1)
    margins = Z @ coef
    if name == "huber":
        residuals = margins - u
        slopes = np.sign(residuals) * 0.3 * -np.expm1(-np.abs(residuals) / 0.3)
        bends = np.exp(-np.abs(residuals) / 0.3)
    else:
        bends = np.minimum(np.exp(margins + 0.5), 9.0) / 4.0
        slopes = bends - 5.0 / 4.0 - u
    np.testing.assert_allclose(whole[:4, 4], -(Z.T @ slopes), atol=500 * 2e-5)
    np.testing.assert_allclose(np.triu(whole[:4, :4]), np.triu(Z.T @ (Z * bends[:, None])), atol=500 * 1e-4)


@pytest.mark.parametrize("name", LOSSES)
def test_no_row_adds_more_than_its_slope_and_curvature_allow(name):
    """In the relation that the sensitivities are proved with, whatever the point."""
    X, y = make_data("cube", 200, 2, labels=False)
    prep, loss = make_prep("cube", 2, fit_intercept=True, labels=False), LOSSES[name]
    query, rng = query_of(name, prep, loss), np.random.default_rng(0)
    most, norm = loss.lipschitz, prep.geometry.row_norm
    for x, target in zip(X, y, strict=True):
        coef = on_coef_grid(rng.normal(size=3) * rng.choice([0.3, 2.0, 20.0]))
        whole = ArrayRows(x[None], np.array([target]), prep).total(query, coef).integers(-40).astype(float) * 2.0**-40
        slope, bend = float(np.linalg.norm(whole[:3, 3])), float(np.trace(whole[:3, :3]))
        if name == "huber":
            assert slope / (most * norm) + bend / norm**2 <= 1 + 1e-9
        else:
            assert slope <= most * norm
            assert bend <= most * norm**2
