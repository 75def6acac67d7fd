"""The soft losses: their constants on a fine grid, the law of their curvature, and rounding, on every CPU path."""

import functools
import math
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import dplr
import reference
from dplr._core import cpu_paths
from dplr.bounds.scaling import ball_prep
from dplr.problem.losses import LOGISTIC, LOSSES, SQUARED, Loss, huber_svm, soft_huber, soft_logistic
from dplr.rows import ArrayRows
from dplr.rows.exact import ClippedGradient
from dplr.rows.losses import LossGradientHessian

UNIT = 2.0**-53
CUTS = [2.0**-100, 1e-6, 0.1, 0.5, 0.75, 0.8, 0.99, 1 - UNIT]
WIDTHS = [2.0**-100, 1e-6, 0.1, 1.0, 7.0, 1e6, 2.0**100]
SOFT = [soft_logistic(cut) for cut in CUTS] + [soft_huber(width) for width in WIDTHS]
named = pytest.mark.parametrize("loss", SOFT, ids=lambda loss: loss.label)


@pytest.fixture(params=cpu_paths())
def path(request, monkeypatch):
    monkeypatch.setenv("DPLR_ISA", request.param)
    return request.param


def one_row(loss):
    """The row 1/2 with a label or target so that the margin is z, or z - y, at the coefficient 2 z."""
    prep = ball_prep(1, False, (0.0, 1.0) if loss.classification else None)
    return ArrayRows(np.full((1, 1), 0.5), np.full(1, 1.0 * loss.classification), prep)


def curve_at(loss, z):
    """Slope, second derivative and value as the kernel of one model has them, and the slope of that of many."""
    rows, query = one_row(loss), LossGradientHessian(loss, 1, False, True)
    values = [rows.total(query, np.array([2 * point])) for point in z]
    alone = np.array([(2 * v.gradient[0], 4 * v.hessian[0, 0], v.loss) for v in values]).T
    return (*alone, 2 * rows.loss_gradients(loss, 2 * z[:, None])[:, 0])


def turn_of(loss):
    """Where the soft logistic loss turns."""
    root = math.sqrt(1 - loss.lipschitz)
    return math.log(root * (1 + root) / loss.lipschitz)


def grid(loss, points=1200):
    """Margins, finest where curves bend; the last one so far out that the slope has reached its end."""
    if not loss.classification:
        side = loss.lipschitz * np.concatenate([np.linspace(0, 3, points // 2), np.linspace(3.01, 45, points // 4)])
        return np.concatenate([-side[:0:-1], side])
    turn = turn_of(loss)
    near = [turn, np.nextafter(turn, -np.inf), np.nextafter(turn, np.inf)]
    return np.unique(np.concatenate([near, np.linspace(turn - 45, turn + 45, points), np.linspace(-3, 3, points // 4)]))


@functools.cache  # of a path
def curve_on_the_grid(loss, path):
    return grid(loss), *curve_at(loss, grid(loss))


@named
def test_constants_and_curvature_on_a_fine_grid(path, loss):
    end = loss.lipschitz
    z, slope, weight, _, many = curve_on_the_grid(loss, path)
    size = np.abs(slope)
    assert_allclose(many, slope, rtol=0, atol=8 * UNIT * end)
    assert (np.diff(slope) >= -8 * UNIT * end).all()  # convex
    assert size.max() <= end * (1 + 4 * UNIT)
    assert size.max() >= end * (1 - 1e-12)
    assert (weight >= 0).all()
    assert loss.smoothness * (1 - 1e-4) <= weight.max() <= loss.smoothness * (1 + 1e-14)
    if loss.classification:
        assert (slope <= 0).all()
        assert loss.one_signed
        law = np.minimum(size * (1 - size), end - size)
        assert loss.fading == "logistic"
    else:
        assert (slope * z >= 0).all()
        law = 1 - size / end
        assert loss.fading == "linear"
    assert_allclose(weight, law, rtol=0, atol=8 * UNIT * loss.smoothness * max(1, min(1, end) / loss.smoothness))


@named
def test_slope_and_value_are_integrals(path, loss):
    """Each over a cell by the trapezoid rule with its correction for the slopes at both ends."""
    z, slope, weight, value, _ = curve_on_the_grid(loss, path)
    step = np.diff(z)
    bend = (slope[1:] + slope[:-1]) * step / 2 + (weight[:-1] - weight[1:]) * step**2 / 12
    # Third derivatives in units of 1 / width for the soft Huber loss.
    scale = 1.0 if loss.classification else 1 / loss.lipschitz
    rough = loss.smoothness * step**3 * scale
    assert (np.abs(np.diff(value) - bend) <= rough * step * scale / 12 + 60 * UNIT * np.abs(value[1:]).max()).all()
    chord = (weight[1:] + weight[:-1]) * step / 2
    assert (np.abs(np.diff(slope) - chord) <= rough * scale / 6 + 16 * UNIT * loss.lipschitz).all()


@named
def test_nothing_jumps_where_the_curve_turns(path, loss):
    turn = turn_of(loss) if loss.classification else 0.0
    width = abs(turn) if loss.classification else loss.lipschitz
    z = turn + width * np.array([-8 * UNIT, 0.0, 8 * UNIT])
    slope, weight, value, _ = curve_at(loss, z)
    assert np.ptp(slope) <= 40 * UNIT * (loss.lipschitz + loss.smoothness * width)
    assert np.ptp(weight) <= 40 * UNIT * max(1.0, loss.smoothness * (1 + width))
    assert np.ptp(value) <= 400 * UNIT * loss.lipschitz * (width + 1)


@named
def test_margins_without_end_have_the_end_of_the_slope_and_a_nan_stays(path, loss):
    right = 0.0 if loss.classification else loss.lipschitz
    for far in (1e250, np.inf):
        slope, weight, value, many = curve_at(loss, np.array([-far, np.nan, far]))
        for found in (slope, many):
            assert_array_equal(found, [-loss.lipschitz, np.nan, right])
        assert_array_equal(weight, [0, np.nan, 0])
        if far < np.inf:  # else a compensated sum has no value
            assert_allclose(value, [loss.lipschitz * far, np.nan, right * far], rtol=1e-14)


def test_slope_of_the_soft_huber_loss_keeps_its_digits_near_zero(path):
    for width in (1e-3, 1.0, 1e6):
        z = width * 10.0 ** np.arange(-300, -9, 3)
        slope, _, value, many = curve_at(soft_huber(width), z)
        for found in (slope, many):
            assert_allclose(found, z * (1 - z / width / 2), rtol=1e-15)
        assert_allclose(value[-40:], (z * z / 2)[-40:] * (1 - z[-40:] / width / 3), rtol=2e-15)


def test_without_a_cut_the_soft_logistic_loss_is_the_logistic_loss(path):
    assert soft_logistic(1.0) is LOGISTIC
    z = np.concatenate([np.linspace(-50, 50, 301), [-800.0, 800.0]])
    for found, right in zip(curve_at(replace(LOGISTIC, name="soft_logistic", width=1.0), z), curve_at(LOGISTIC, z),
                            strict=True):  # fmt: skip
        assert_array_equal(found, right)
    nearly = soft_logistic(1 - UNIT)
    assert (nearly.smoothness, nearly.lipschitz) == (0.25, 1 - UNIT)


@pytest.mark.oracle
@named
def test_rounding_of_the_slope_is_within_its_bound(path, oracle, loss):
    mpmath = oracle("mpmath")
    rng = np.random.default_rng(0)
    if loss.classification:
        turn = turn_of(loss)
        spread = [rng.uniform(-1, 1, 80), rng.uniform(-40, 40, 80), rng.uniform(-800, 800, 20)]
        z = np.concatenate([turn * (1 + 2 * UNIT * np.arange(-10, 11)), turn + spread[0], *spread, [0.0, -0.0]])
    else:
        z = np.concatenate([rng.uniform(-1, 1, 80), rng.uniform(-40, 40, 80), 10.0 ** rng.uniform(-300, 2, 60), [0.0]])
        z *= loss.lipschitz
    slope, weight, _, many = curve_at(loss, z)
    with mpmath.workdps(120):
        for at in range(len(z)):
            size, bend = exact_curve(mpmath, loss, float(z[at]))
            for found in (slope[at], many[at]):
                assert abs(abs(mpmath.mpf(found)) - size) <= 4 * UNIT * loss.lipschitz, z[at]
            assert abs(mpmath.mpf(weight[at]) - bend) <= 8 * UNIT * (loss.lipschitz if loss.classification else 1), z[
                at
            ]


def exact_curve(mpmath, loss, z):
    """Slope size and second derivative."""
    end, point = mpmath.mpf(loss.lipschitz), mpmath.mpf(z)
    if not loss.classification:
        left = mpmath.exp(-abs(point) / end)
        return end * (1 - left), left
    root = mpmath.sqrt(1 - end)
    turn = mpmath.log(root / (1 - root))
    if point < turn:
        left = (end - 1 + root) * mpmath.exp(point - turn)
        return end - left, left
    size = 1 / (1 + mpmath.exp(point))
    return size, size * (1 - size)


def test_twins_say_the_same_as_the_formulas_of_the_slope():
    """The twin of the soft logistic loss by another way: its slope solves s' = -min(s (1 - s), C - s)."""
    z = np.linspace(-6, 6, 200_001)
    for loss in (soft_logistic(0.4), soft_huber(0.4)):
        slope, weight, value = reference.loss_curve(loss, z, np.array(1.0 if loss.classification else 0.0))
        assert_allclose(np.gradient(value, z)[1:-1], slope[1:-1], atol=1e-8)
        assert_allclose(np.gradient(slope, z)[1:-1], weight[1:-1], atol=2e-4)


@pytest.mark.parametrize("cut", [0.0, -1.0, 2.0**-101, 1 + 2 * UNIT, math.inf, math.nan])
def test_widths_that_no_proof_covers_are_refused(cut):
    with pytest.raises(ValueError, match=r"`cut` must be between 2\^-100 and 1; got"):
        soft_logistic(cut)
    with pytest.raises(ValueError, match=r"width must be between .* with the loss soft_logistic"):
        curve_at(replace(SOFT[0], width=cut), np.zeros(1))
    if cut != 1 + 2 * UNIT:
        with pytest.raises(ValueError, match=r"`width` must be between 2\^-100 and 1.27e\+30; got"):
            soft_huber(cut)
        with pytest.raises(ValueError, match=r"width must be between .* with the loss soft_huber"):
            one_row(SOFT[-1]).loss_gradients(replace(SOFT[-1], width=cut), np.zeros((1, 1)))


@pytest.mark.parametrize("loss", [soft_logistic(0.5), soft_huber(0.5), replace(SQUARED, name="cubic")])
def test_gradients_of_the_soft_losses_are_not_clipped(path, loss, monkeypatch):
    rows, query = one_row(loss), ClippedGradient(loss, 1, False, 1.0)
    with pytest.raises(ValueError, match=f"gradients of the loss {loss.name} are not clipped: only those of log"):
        rows.total(query, np.zeros(1))
    monkeypatch.setitem(LOSSES, "soft", loss)
    with pytest.raises(ValueError, match=r'`model` must be "logistic" or .* or "poisson" with mechanism="ngd"; got '):
        dplr.plan(n_rows=100, n_features=2, eps=1.0, delta=1e-6, model="soft", mechanism="ngd")


def test_only_losses_that_say_so_have_a_curvature_that_follows_from_the_slope():
    assert Loss("other", classification=True, lipschitz=1.0, smoothness=1.0).fading == ""
    assert [loss.fading for loss in (LOGISTIC, SQUARED, huber_svm(0.5))] == ["logistic", "", ""]
