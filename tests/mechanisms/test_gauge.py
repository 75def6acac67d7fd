"""Noise in the gauge of the body that declared bounds give: its law, the weighted problem, and whole fits."""

import itertools
import math
import re
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import dplr
from dplr.auditor import log_density_ratio, search
from dplr.auditor.density import Logistic, log_density
from dplr.bounds.scaling import layout_prep
from dplr.mechanisms.perturbation.noise import soft_logistic_loss
from dplr.mechanisms.perturbation.ridge import gauge_deviations, gauge_ridges
from dplr.noise import Source
from dplr.problem.geometry import Geometry
from dplr.problem.losses import LOGISTIC, soft_huber, soft_logistic
from dplr.rows import ArrayRows
from dplr.rows.losses import LossGradient
from margin_losses import HuberSVM, SoftHuber, SoftLogistic

BOUNDS = dplr.Bounds({"a": (-1, 1), "b": {"levels": ["u", "v", "w"]}, "c": (0, 10)})
UNCUT = dplr.ObjectivePerturbation(cut=None)
MIXED = Geometry(6, half_width=0.5, intercept=0.5, blocks=((1, 3),))
MARKED = Geometry(8, half_width=0.5, intercept=0.5, blocks=((3, 3),), marked=(0, 6))


def frame(n, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"a": rng.uniform(-1, 1, n), "b": rng.choice(list("uvw"), n), "c": rng.uniform(0, 10, n)})
    return X, (X["a"] + (X["b"] == "u") - X["c"] / 5 + 0.3 * rng.logistic(size=n) > -0.7).to_numpy()


def body_of(geometry):
    """(half-width, columns) of each group, for the auditor: written down anew."""
    blocks, body, j = dict(geometry.blocks + geometry.shared) | dict.fromkeys(geometry.marked, 2), [], 0
    while j < geometry.d:
        body.append((geometry.half_width, blocks.get(j, 1)))
        j += body[-1][1]
    return body


def gauge(b, body):
    groups = np.split(np.abs(b), np.cumsum([size for _, size in body])[:-1], axis=-1)
    return np.max([group.sum(axis=-1) / width for group, (width, _) in zip(groups, body, strict=True)], axis=0)


def ridges_of(plan):
    return plan.settings.ridge / np.array(plan.settings.weights or [1.0] * plan.problem.geometry.n_coefs) ** 2


def test_groups_are_numbers_blocks_and_the_constant_in_their_order():
    assert MIXED.groups == (1, 3, 1, 1, 1)
    assert Geometry(6, half_width=0.5, blocks=((0, 2), (3, 3))).groups == (2, 1, 3)
    assert MIXED.half_widths == (0.5,) * 7
    assert MIXED.firsts == (0, 1, 4, 5, 6)
    assert (MARKED.groups, MARKED.firsts, MARKED.numbers) == ((2, 1, 3, 2, 1), (0, 2, 3, 6, 8), (0, 2, 6))


def test_weighted_rows_have_the_norm_of_their_groups():
    weights = (2.0, 3.0, 3.0, 3.0, 1.0, 0.5, 1.0)
    weighted = MIXED.weighted(weights)
    assert weighted.half_widths == (1.0, 1.5, 1.5, 1.5, 0.5, 0.25, 0.5)
    assert weighted.radius == pytest.approx(math.sqrt(1 + 1.5**2 + 0.25 + 0.0625))


def test_the_weighted_geometry_of_many_columns_takes_no_time(monkeypatch):
    """The groups are counted a few times, and not once for each of them."""
    counted, groups = [], Geometry.groups
    monkeypatch.setattr(Geometry, "groups", property(lambda self: counted.append(1) or groups.fget(self)))
    geometry = Geometry(500, half_width=0.04, intercept=0.5)
    assert geometry.weighted([1.0] * 501).radius == pytest.approx(0.04 * math.sqrt(500))
    assert len(counted) < 5


def test_noise_of_a_body_has_a_gamma_gauge_and_the_stated_deviations():
    body, source = [*body_of(MIXED), (0.5, 1)], Source(0)
    fine = 2**30
    scales = [fine * 2 * Fraction(half) for half in MIXED.half_widths]
    draws = np.array([source.in_body(scales, MIXED.groups) for _ in range(20_000)]) / fine
    lengths = gauge(draws, body) / 2.0
    assert stats.kstest(lengths, stats.gamma(7).cdf).pvalue > 1e-4
    np.testing.assert_allclose(draws.std(axis=0), 2.0 * gauge_deviations(MIXED), rtol=0.04)
    np.testing.assert_allclose(draws.mean(axis=0), 0.0, atol=0.3)
    # Two numbers of a uniform point are independent and uniform.
    ratio = np.abs(draws[:, 0]) / (np.abs(draws[:, 0]) + np.abs(draws[:, 4]))
    assert stats.kstest(ratio, lambda t: np.where(t < 0.5, t / (1 - t) / 2, 1 - (1 - t) / t / 2)).pvalue > 1e-4


@pytest.mark.parametrize("groups", [(1,), (3,), (1, 1)])
def test_the_auditors_density_of_a_body_integrates_to_one(groups):
    """By its own draws: the mean of density over sampling density is 1."""
    q, rng = sum(groups), np.random.default_rng(0)
    body = [(0.5 + g / 4, size) for g, size in enumerate(groups)]
    draws = rng.laplace(scale=0.8, size=(200_000, q))
    sampled = -np.abs(draws).sum(axis=1) / 0.8 - q * math.log(1.6)
    density = log_density(
        np.zeros((1, q)), [1.0], draws, loss=Logistic(), ridge=1.0, scale=0.7, law="gauge", body=body
    )  # fmt: skip
    assert np.exp(density - sampled).mean() == pytest.approx(1.0, abs=0.03)


def test_the_noise_of_whole_fits_has_the_stated_law():
    """b is minus the gradient at the released coefficients; its gauge is that of the declared body."""
    n, levels, rng = 12, list("abcdefghijklmnop"), np.random.default_rng(0)
    X = pd.DataFrame({"x": rng.uniform(-1, 1, n), "level": rng.choice(levels, n)})
    y = X["x"].to_numpy() > 0
    bounds = dplr.Bounds({"x": (-1, 1), "level": {"levels": levels}})
    # Few rows and a small eps: the ridge is nearly all of the Hessian, and the tolerance's noise moves b by 3 %.
    options = {"bounds": bounds, "mechanism": UNCUT}
    plan = dplr.plan(n_rows=n, n_features=2, eps=0.05, **options)
    assert max(plan.settings.weights) > 5
    fits = dplr.fit_many(X, y, eps=[0.05], repeats=2500, **options)
    geometry = plan.problem.geometry
    columns = [X["x"], *((X["level"] == level) for level in levels), np.ones(n)]
    V = np.column_stack(columns).astype(float) * ([geometry.half_width] * 17 + [0.5])
    found, signs = [], np.where(y, 1.0, -1.0)
    for est in fits:
        w = np.append(est.coef_[0] / geometry.half_width, est.intercept_[0] / 0.5)
        found.append(-ridges_of(plan) * w - Logistic().residual(V @ w, signs) @ V)
    scale = plan.released["coef"].scale
    lengths = gauge(np.array(found), [*body_of(geometry), (0.5, 1)])
    assert stats.kstest(lengths, stats.gamma(18, scale=scale).cdf).pvalue > 1e-4
    np.testing.assert_allclose(np.std(found, axis=0), scale * gauge_deviations(geometry), rtol=0.12)
    assert plan.released["coef"].law == "gauge in the objective"


@pytest.mark.parametrize("relation", ["replace_one", "add_remove"])
def test_marked_rows_lie_in_the_body_that_their_noise_is_drawn_for(relation):
    """Every row has a gauge of at most 1, and the worst ones have it: another group would be noise for nothing."""
    bounds = dplr.Bounds({"a": {"lower": 0, "upper": 5, "missing": "indicator"}, "b": (-1, 1)})
    plan = dplr.plan(n_rows=1000, bounds=bounds, eps=1.0, mechanism="objective", neighbouring=relation)
    geometry = plan.problem.weighted(plan.settings.weights).geometry
    widths = geometry.half_widths
    assert geometry.groups == (2, 1, 1)
    assert widths[0] == widths[1]
    X = pd.DataFrame({"a": [0.0, 5.0, None, 1e9, 2.0, None], "b": [1.0, -1.0, 7.0, 0.0, 0.3, 0.0]})
    prep = layout_prep(bounds.for_columns(list(X), 2), True, (0.0, 1.0)).weighted(plan.settings.weights)
    query = LossGradient(LOGISTIC, 3, True)
    rows = [-2 * ArrayRows(X[i : i + 1], np.ones(1), prep).sum(query, np.zeros(4)).gradient for i in range(6)]
    lengths = gauge(np.array(rows), [(widths[0], 2), (widths[2], 1), (0.5, 1)])
    assert (lengths == 1).all()
    assert [row[1] > 0 for row in rows] == [False, False, True, False, False, True]


@pytest.mark.parametrize("relation", ["replace_one", "add_remove"])
def test_blocks_of_products_lie_in_the_body_that_their_noise_is_drawn_for(relation):
    """Every row has a gauge of at most 1, with either sign, and the worst ones have it."""
    levels = {"levels": ["u", "v", "w"], "missing": "indicator"}
    bounds = dplr.Bounds({"a": (0, 5), "b": levels}, products=[("a", "b"), ("a", "a")])
    plan = dplr.plan(n_rows=1000, bounds=bounds, eps=1.0, mechanism="objective", neighbouring=relation)
    geometry = plan.problem.weighted(plan.settings.weights).geometry
    widths = geometry.half_widths
    assert geometry.groups == (1, 4, 4, 1, 1)
    assert len(set(widths[5:9])) == 1
    X = pd.DataFrame({"a": [0.0, 5.0, 9e9, 1.0, 2.5, -3.0], "b": ["u", "w", None, "v", "?", "v"]})
    prep = layout_prep(bounds.for_columns(list(X), 2), True, (0.0, 1.0)).weighted(plan.settings.weights)
    query = LossGradient(LOGISTIC, 10, True)
    rows = [-2 * ArrayRows(X[i : i + 1], np.ones(1), prep).sum(query, np.zeros(11)).gradient for i in range(6)]
    lengths = gauge(np.array(rows), [(widths[0], 1), (widths[1], 4), (widths[5], 4), (widths[9], 1), (0.5, 1)])
    assert (lengths == 1).all()
    found = [np.sign(row[5:9]).astype(int).tolist() for row in rows]
    assert found == [[-1, 0, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1], [0, -1, 0, 0], [0, 0, 0, 0], [0, -1, 0, 0]]


def test_weighted_rows_are_the_rows_times_their_weights():
    """Minimising over them and going back is minimising with a ridge for each coefficient."""
    X, y = frame(400)
    plan = dplr.plan(n_rows=400, n_features=3, bounds=BOUNDS, eps=0.5, mechanism="objective")
    prep = layout_prep(BOUNDS.for_columns(list(X), 3), True, (0.0, 1.0))
    rows, weights = ArrayRows(X, y.astype(float), prep), plan.settings.weights
    coef = np.linspace(-1, 1, 6)
    query = LossGradient(LOGISTIC, 5, True)
    plain = rows.total(query, coef * np.array(weights)).gradient
    np.testing.assert_allclose(rows.weighted(weights).total(query, coef).gradient, plain * weights, rtol=1e-12)
    assert rows.weighted(()) is rows
    assert rows.weighted(weights).geometry == plan.problem.weighted(weights).geometry


LOSSES = [("logistic", None, Logistic()), ("logistic", 0.5, SoftLogistic(0.5)), ("linear", 0.5, SoftHuber(0.5)),
          ("svm", "auto", HuberSVM(0.5))]  # fmt: skip
SHAPES = {
    "numbers": [(-1, 1)] * 2, "a block": [(-1, 1), {"levels": [1, 2, 3]}],
    "a mark": [(-1, 1), {"lower": 0, "upper": 5, "missing": "indicator"}],
    "a block of products": [(-1, 1), {"levels": [1, 2, 3], "reference": 2}],
}  # fmt: skip
PRODUCTS = {"a block of products": [(0, 1)]}


@pytest.mark.parametrize("l2", ["auto", 0.02])
@pytest.mark.parametrize("relation", ["replace_one", "add_remove"])
@pytest.mark.parametrize(("model", "cut", "twin"), LOSSES, ids=["logistic", "soft logistic", "soft Huber", "SVM"])
@pytest.mark.parametrize("shape", SHAPES)
def test_no_density_ratio_exceeds_what_a_plan_states_and_the_search_reaches_it(shape, model, cut, twin, relation, l2):
    bounds = dplr.Bounds(SHAPES[shape], (-1, 1) if model == "linear" else None, PRODUCTS.get(shape, ()))
    facts = {"n_rows": 500, "n_features": 2, "bounds": bounds, "model": model, "neighbouring": relation, "l2": l2}
    plan = dplr.plan(eps=1.0, mechanism=dplr.ObjectivePerturbation(cut=cut, ranges="off"), **facts)
    body = body_of(plan.problem.geometry)
    found = search(plan.problem.geometry.d, loss=twin, ridge=ridges_of(plan), scale=plan.statement.noise_scale,
                   neighbouring=relation, iota=0.5, body=body, pairs=20_000)  # fmt: skip
    share = 1 - 2.0**-8  # the rest pays for the tolerance
    assert 0.99 * share <= found.log_ratio <= share + 1e-9  # the auditor rounds


@pytest.mark.parametrize(("scale", "body"), [(1.98, [(0.5, 1), (0.5, 1)]), (2.0, [(0.4, 1), (0.5, 1)])])
def test_the_auditor_sees_noise_of_a_wrong_scale_or_body(scale, body):
    """Rows fill the box of half-width 0.5; kappa is far below what the corollary needs."""
    rows = {"X": [[0.5, 0.5]], "y": [1.0], "X2": [[-0.5, 0.5]], "y2": [1.0]}
    coef = [[-0.2, -60.0]]  # the second column makes both slopes 1; the first lets b point along it
    ratio = log_density_ratio(**rows, coef=coef, loss=Logistic(), ridge=[1e6, 10.0], scale=scale, law="gauge",
                              body=body, w0=[[9.0, -60.0]])  # fmt: skip
    sound = log_density_ratio(**rows, coef=coef, loss=Logistic(), ridge=[1e6, 10.0], scale=2.0, law="gauge",
                              body=[(0.5, 1), (0.5, 1)], w0=[[9.0, -60.0]])  # fmt: skip
    assert abs(sound[0]) <= 1.0 + 1e-9
    assert abs(ratio[0]) > 1.005


def test_constants_of_a_plan():
    facts = {"n_rows": 1000, "n_features": 2, "eps": 1.0, "mechanism": dplr.ObjectivePerturbation(ranges="off")}
    plan = dplr.plan(**facts, bounds=dplr.Bounds(SHAPES["a block"]))
    block, solved = plan.released["coef"], plan.settings
    assert block.sensitivity == 1.0  # 2 C with C = 0.5
    assert block.scale == pytest.approx(1 / (255 / 256), rel=1e-9)
    h = plan.problem.geometry.half_width
    assert h == pytest.approx(math.sqrt(0.5), rel=1e-5)
    # sqrt(6 * 7) h times sqrt(1/3), sqrt(1/10) for a block of three; the constant has half-width 0.5.
    deviations = math.sqrt(42) * np.array([h / 3**0.5, *[h / 10**0.5] * 3, 0.5 / 3**0.5]) * block.scale
    assert block.spread == pytest.approx(math.sqrt(np.mean(deviations**2)))
    assert block.deviation == block.spread
    ridges = ridges_of(plan)
    guess = 1.5 * 2 * math.sqrt(5) / math.sqrt(5)
    expected = deviations / guess + deviations**2 * 5 / 4000
    kappa = h * h / expected[0] + h * h / expected[1] + 0.25 / expected[4]
    allowed = 255 / 256 / (2 * 0.5)
    np.testing.assert_allclose(ridges, expected * max(1, kappa / allowed), rtol=1e-9)
    assert solved.weights[-1] == 1.0


@pytest.mark.parametrize("l2", ["auto", 0.01])
def test_a_statement_lets_a_reader_recompute_the_guarantee(l2):
    """From its own words alone: eps' and kappa for theorem 5, the body for the law, tau and Lam for theorem 4."""
    bounds = dplr.Bounds(SHAPES["a block"])
    facts = {"n_rows": 1000, "n_features": 2, "eps": 1.0, "mechanism": dplr.ObjectivePerturbation(ranges="off")}
    plan = dplr.plan(**facts, l2=l2, bounds=bounds)
    words, block = plan.statement.calibration, plan.released["coef"]

    def said(name, number=r"([0-9.e+-]*[0-9])"):
        return float(re.search(name + number, words)[1])

    lam, cut = said("Lam = "), said(r"minimises the soft_logistic \(")
    kappa = said("kappa = ") if l2 == "auto" else said("R~ = ") ** 2 / lam
    tolerance_eps = 2 * said(" T = ") / said("Laplace noise of scale ")
    assert soft_logistic_loss(said("eps' = "), kappa, 2, cut) + tolerance_eps == pytest.approx(1.0, abs=1e-4)
    assert block.scale == pytest.approx(2 * cut / said("eps' = "), rel=1e-5)
    assert "N the gauge of rows in 2 groups of size 0.707107: 1 numeric columns and 1 one-hot blocks (3 c" in words
    assert "intercept constant 0.5" in words
    assert block.noise_words.endswith("for a sensitivity of 1 in the gauge")


@pytest.mark.parametrize("signs", [1, 2])
@pytest.mark.parametrize("eps", [0.1, 1.0, 10.0])
@pytest.mark.parametrize("loss", [LOGISTIC, soft_logistic(0.5), soft_huber(0.5)], ids=lambda loss: loss.name)
@pytest.mark.parametrize(("geometry", "firsts"), [(MIXED, [0, 1, 4, 5, 6]), (MARKED, [0, 2, 3, 6, 8])], ids=str)
def test_default_ridges_make_the_curvature_free(geometry, firsts, loss, eps, signs):
    for n in (100, 10**6):
        ridges = gauge_ridges(loss, n, geometry, eps, signs, None)
        kappa = (0.25 / ridges[firsts]).sum()
        allowed = eps / (signs * loss.lipschitz) if loss.classification else eps / signs
        assert kappa <= allowed * (1 + 1e-12)
        for first, last in itertools.pairwise([*firsts, len(ridges)]):
            assert len(set(ridges[first:last])) == 1


def test_noise_of_the_ball_stays_where_no_bounds_or_a_printed_calibration_or_a_delta_say_otherwise():
    facts = {"n_rows": 1000, "n_features": 2, "eps": 1.0}
    bounds = dplr.Bounds([(-1, 1)] * 2)
    laws = [
        dplr.plan(mechanism="objective", **facts).released["coef"].law,
        dplr.plan(mechanism=dplr.ObjectivePerturbation(calibration="cms11"), bounds=bounds, **facts)
        .released["coef"]
        .law,
        dplr.plan(mechanism=dplr.ObjectivePerturbation(noise="gaussian"), bounds=bounds, delta=1e-6, **facts)
        .released["coef"]
        .law,
    ]
    assert laws == ["norm-Gamma in the objective"] * 2 + ["Gaussian in the objective"]


@pytest.mark.parametrize("model", ["logistic", "svm", "linear"])
def test_a_model_comes_back_from_its_file_with_the_law_of_its_noise(model, tmp_path):
    X, y = frame(500)
    target = X["a"].to_numpy() / 2 if model == "linear" else y
    bounds = dplr.Bounds(BOUNDS.to_dict()["features"], target=(-1, 1)) if model == "linear" else BOUNDS
    est = dplr.fit(X, target, eps=1.0, model=model, bounds=bounds, mechanism="objective")
    dplr.save_model(est, tmp_path / "model.json")
    other = dplr.load_model(tmp_path / "model.json")
    assert other.privacy_ == est.privacy_
    np.testing.assert_array_equal(other.coef_, est.coef_)


def test_public_coefficients_and_classes_go_through_the_weights():
    X, y = frame(3000)
    start = dplr.fit(X, y, eps=math.inf, bounds=BOUNDS, mechanism="none", l2=1e-4)
    est = dplr.fit(X, y, eps=0.05, bounds=BOUNDS, mechanism="objective", public=start)
    assert est.score(X, y) > 0.95 * start.score(X, y)  # alone, eps = 0.05 finds little
    classes = np.where(y, np.where(X["a"] > 0, 2, 1), 0)
    three = dplr.fit(
        X, classes, eps=30.0, bounds=BOUNDS, mechanism=dplr.ObjectivePerturbation(ranges="off"), classes=(0, 1, 2)
    )
    assert three.score(X, classes) > 0.75
    assert {block.law for block in three.privacy_.released.values()} == {"gauge in the objective"}


def test_many_fits_of_several_eps_have_weights_of_their_own():
    X, y = frame(2000)
    fits = dplr.fit_many(X, y, eps=[0.2, 5.0, 50.0], repeats=2, bounds=BOUNDS, mechanism="objective")
    assert [est.privacy_.eps for est in fits] == [0.2, 0.2, 5.0, 5.0, 50.0, 50.0]
    assert min(est.score(X, y) for est in fits[4:]) > 0.8


def test_bad_bodies_are_refused_by_the_auditor():
    options = {"loss": Logistic(), "ridge": 1.0, "scale": 1.0}
    data = ([[0.5, 0.5]], [1.0], [[0.0, 0.0]])
    for law, body in (("gauge", None), ("gamma", [(1, 2)]), ("gauge", [(1, 3)]), ("gauge", [(0, 1), (1, 1)])):
        with pytest.raises(ValueError, match="`body`"):
            log_density(*data, law=law, body=body, **options)
    with pytest.raises(ValueError, match="`ridge` must be one number or have 2 entries"):
        log_density(*data, loss=Logistic(), ridge=[1.0, 1.0, 1.0], scale=1.0)
