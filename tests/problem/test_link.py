"""Log odds of a margin are those at which the loss that was minimised has its smallest mean."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import brentq, minimize_scalar
from scipy.special import expit, logit

import dplr
import reference
from dplr.problem.link import LOGIT, Link, clipped_link, link_share, soft_link

CUTS = [0.1, 0.3, 0.5, 0.6, 0.75, 0.8, 0.95, 1.0]
CHANCES = [0.001, 0.05, 0.2, 0.47, 0.6, 0.9, 0.999]
LINKS = [make(cut, share) for make in (soft_link, clipped_link) for cut in CUTS for share in (0.1, 0.7, 1.0)]
NEAR = np.linspace(-40, 40, 8001)
FAR = np.array([1e-300, 1e-9, 1.0, 30.0, 800.0, 1e6, 1e300])
SHARES = {"a": 0.03, "b": 0.2, "c": 0.6, "d": 0.97}


# --- the derivation


@pytest.mark.parametrize("cut", CUTS[:-1])
def test_where_the_mean_of_the_cut_loss_is_smallest_the_link_gives_back_the_chance(cut):
    def mean(z, chance):
        yes, no = (reference.soft_logistic_curve(cut, np.array([v]))[2].item() for v in (z, -z))
        return chance * yes + (1 - chance) * no

    for chance in CHANCES:
        best = minimize_scalar(mean, (-1, 1), args=(chance,), tol=1e-12).x
        assert_allclose(soft_link(cut, 1.0).log_odds(np.array(best)), logit(chance), atol=2e-4)


@pytest.mark.parametrize("cut", CUTS)
def test_where_clipped_slopes_cancel_the_link_gives_back_the_chance(cut):
    def sums(z, chance):
        return chance * min(expit(-z), cut) - (1 - chance) * min(expit(z), cut)

    for chance in CHANCES:
        best = brentq(sums, -30, 30, args=(chance,), xtol=1e-13)
        assert_allclose(clipped_link(cut, 1.0).log_odds(np.array(best)), logit(chance), atol=1e-9)


@pytest.mark.parametrize("cut", CUTS[:-1])
def test_log_odds_are_the_quotient_of_the_slopes_at_both_margins(cut):
    up, down = (reference.soft_logistic_curve(cut, v)[0] for v in (-NEAR, NEAR))
    assert_allclose(soft_link(cut, 1.0).log_odds(NEAR), np.log(up) - np.log(down), atol=1e-9)


# --- every link


@pytest.mark.parametrize("link", LINKS)
def test_log_odds_are_odd_grow_with_the_margin_and_have_its_sign(link):
    found = link.log_odds(NEAR)
    assert_array_equal(found, -link.log_odds(-NEAR))
    if link.share == 1 and link.bend == 0 and link.turn > 0:  # where both slopes are clipped, they say nothing
        assert_array_equal(found[np.abs(NEAR) <= link.turn], 0)
        assert (np.diff(found) >= 0).all()
    else:
        assert (np.diff(found) > 0).all()
    assert link.log_odds(np.zeros(1))[0] == 0
    assert (found * NEAR >= 0).all()


@pytest.mark.parametrize("link", LINKS)
def test_no_margin_overflows_and_far_ones_keep_a_constant_distance_to_the_logistic_link(link):
    with np.errstate(over="raise", invalid="raise", divide="raise"):
        found = link.log_odds(FAR)
    assert np.isfinite(found).all()
    lost = FAR - found
    assert (lost[2:] >= 0).all()
    assert_allclose(lost[3:6], lost[3], atol=1e-9)


@pytest.mark.parametrize("link", LINKS)
def test_the_order_of_neighbouring_floats_holds_up_to_rounding(link):
    rng = np.random.default_rng(0)
    margins = rng.normal(0, 3, 20_000)
    found, above = link.log_odds(margins), link.log_odds(np.nextafter(margins, np.inf))
    assert (above >= found - 8 * np.spacing(np.maximum(np.abs(found), 8))).all()


def test_every_link_of_a_cut_is_one_and_others_are_not():
    cuts = [2.0**-10, 0.01, *CUTS, 1 - 2.0**-53]
    assert all(soft_link(cut, share).cut and clipped_link(cut, share).cut for cut in cuts for share in (0.3, 1.0))
    assert clipped_link(2.0**-30, 0.3).cut
    assert not any(each.cut for each in (Link(1.0, 40.0, 0.5), Link(0.5, -40.0, 0.5), Link(0.2, 3.0, 0.1)))


def test_a_loss_that_is_not_cut_has_the_logistic_link_and_so_has_nobody_without_rows():
    assert soft_link(1.0, 1.0) == clipped_link(1.0, 1.0) == clipped_link(1.3, 1.0) == soft_link(0.5, 0.0) == LOGIT
    assert LOGIT.log_odds(NEAR) is NEAR
    assert link_share(None, 1.0, 100.0) == 0
    assert link_share(100, 1.0, 100.0) == 0.5
    assert link_share(100, float("inf"), 100.0) == 1


# --- models


def groups(n=40_000):
    """People of four groups, whose shares of yes are exact."""
    names = np.repeat(list(SHARES), n // 4)
    y = np.concatenate([np.arange(n // 4) < round(share * n / 4) for share in SHARES.values()])
    return pd.DataFrame({"group": names}), y


BOUNDS = dplr.Bounds({"group": {"levels": list(SHARES)}})
WITHOUT_NOISE = {
    "a cut loss": dplr.ObjectivePerturbation(cut=0.5),
    "clipped gradients": dplr.NoisyGradientDescent(clip=0.4, steps=20_000, learning_rate=1.0, standardise="off"),
}


@pytest.mark.parametrize("spec", WITHOUT_NOISE.values(), ids=WITHOUT_NOISE)
def test_without_noise_each_group_has_its_share_of_yes_and_the_logistic_function_is_far_from_it(spec):
    X, y = groups()
    own = {"l2": 1e-9} if isinstance(spec, dplr.ObjectivePerturbation) else {}
    est = dplr.fit(X, y, bounds=BOUNDS, mechanism=spec, eps=float("inf"), **own)
    asked = pd.DataFrame({"group": list(SHARES)})
    assert_allclose(est.predict_proba(asked)[:, 1], list(SHARES.values()), atol=2e-3)
    assert np.abs(expit(est.decision_function(asked)) - list(SHARES.values())).max() > 0.02


@pytest.mark.parametrize("facts", [{"delta": 0.0}, {"delta": 1e-6}, {"delta": 1e-6, "mechanism": "objective"}])
def test_probabilities_agree_with_labels_with_their_logarithms_and_with_three_classes(facts):
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 1, (3000, 2))
    bounds = dplr.Bounds([(0, 1), (0, 1)])
    for y, classes in ((X[:, 0] > 0.8, None), (np.digitize(X[:, 0], [0.3, 0.6]), (0, 1, 2))):
        est = dplr.fit(X, y, model="logistic", bounds=bounds, classes=classes, eps=1.0, **facts)
        assert 0 < est._record.link.share < 1
        chances = est.predict_proba(X)
        assert_allclose(chances.sum(axis=1), 1)
        assert_array_equal(est.classes_[chances.argmax(axis=1)], est.predict(X))
        assert_allclose(np.exp(est.predict_log_proba(X)), chances)


@pytest.mark.parametrize("mechanism", ["fm", "output", "score", "none"])
def test_models_of_the_whole_logistic_loss_keep_the_logistic_function(mechanism):
    X = np.random.default_rng(0).uniform(0, 1, (3000, 2))
    level = {"eps": float("inf")} if mechanism == "none" else {"eps": 1.0}
    delta = 1e-6 if mechanism == "score" else 0.0
    bounds = dplr.Bounds([(0, 1), (0, 1)])
    est = dplr.fit(X, X[:, 0] > 0.5, model="logistic", mechanism=mechanism, bounds=bounds, delta=delta, **level)
    assert est._record.link == LOGIT
    assert_array_equal(est.predict_proba(X)[:, 1], expit(est.decision_function(X)))


def test_the_link_is_a_function_of_public_facts():
    rng = np.random.default_rng(1)
    X = rng.uniform(0, 1, (3000, 2))
    links = set()
    for y in (X[:, 0] > 0.9, X[:, 1] > 0.1, rng.random(3000) > 0.5):
        est = dplr.fit(X, y, model="logistic", bounds=dplr.Bounds([(0, 1), (0, 1)]), eps=1.0)
        links.add(est._record.link)
    assert len(links) == 1
    assert links != {LOGIT}


def test_what_was_released_and_what_it_costs_do_not_depend_on_the_link(monkeypatch):
    X = np.random.default_rng(0).uniform(0, 1, (2000, 2))

    def fitted():
        with pytest.warns(dplr.PrivacyWarning):
            return dplr.fit(X, X[:, 0] > 0.5, model="logistic", bounds=dplr.Bounds([(0, 1), (0, 1)]), eps=1.0, rng=1)

    one = fitted()
    monkeypatch.setattr(dplr.ObjectivePerturbation, "link", lambda *_: LOGIT)
    other = fitted()
    assert other._record.link == LOGIT != one._record.link
    assert_array_equal(one.coef_, other.coef_)
    assert one.privacy_ == other.privacy_
