"""Intervals of labels from moments hold where the variances of the labels differ: moments.md, lemma 3."""

import numpy as np
import pandas as pd
import pytest

import dplr

FLAG = {"levels": ["no", "yes"], "binary": True}
BOUNDS = dplr.Bounds({"rare": (0, 1), "age": (18, 90), "hit": FLAG, "kind": {"levels": ["a", "b", "c"]}})


def people(seed, n=20_000):
    """A flag of 5 %, and a probability of .5 with it and of .01 without."""
    rng = np.random.default_rng(seed)
    rare = (rng.random(n) < 0.05).astype(float)
    hit = rng.random(n) < 0.01 + 0.49 * rare
    kind = np.where(hit, "b", rng.choice(["a", "c"], n))
    return pd.DataFrame({"rare": rare, "age": rng.uniform(18, 90, n), "hit": np.where(hit, "yes", "no"), "kind": kind})


def exact():
    return dplr.release_moments(people(0), bounds=BOUNDS, eps=float("inf"))


@pytest.mark.filterwarnings("ignore::dplr.PrivacyWarning")
def test_a_rare_flag_with_another_variance_is_covered():
    hits, equal = np.zeros(40), np.zeros(40)
    for seed in range(40):
        released = dplr.release_moments(people(seed), bounds=BOUNDS, eps=1.0, delta=1e-6, rng=seed)
        for covered, variances in ((hits, "auto"), (equal, "equal")):
            low, high = released.probability("hit", ["rare", "age"], variances=variances).conf_int()["rare"]
            covered[seed] = low <= 0.49 <= high
    assert hits.mean() >= 0.92
    assert equal.mean() < 0.8  # the reason for the bound


@pytest.mark.parametrize(("target", "level"), [("hit", "yes"), ("kind", "b")])
def test_the_bound_is_a_quarter_whatever_the_coding_of_the_label(target, level):
    """Columns of two levels lie in -1 and 1, levels of three in 0 and 1: widths are the same."""
    released = exact()
    low, high = released.probability(target, ["rare"], level=level).conf_int()["rare"]
    share = 0.05
    expected = 2 * 1.96 * 0.5 / np.sqrt(20_000 * share * (1 - share))
    assert high - low == pytest.approx(expected, rel=0.06)


def test_fewer_columns_keep_the_bound_and_say_so():
    model = exact().probability("hit", ["rare", "age"])
    small = model.conf_int(columns=["age"])["age"]
    whole = model.conf_int()["age"]
    assert small[1] - small[0] == pytest.approx(whole[1] - whole[0], rel=0.01)
    text = " ".join(str(model.summary()).split())
    assert "intervals take the largest, 1/4" in text
    assert "Equal variances are assumed" not in text
    equal = " ".join(str(exact().probability("hit", ["rare"], variances="equal").summary()).split())
    assert "Equal variances are assumed" in equal
    assert "largest, 1/4" not in equal


def test_a_number_declared_0_to_1_is_a_label_too_and_others_are_not():
    released = exact()
    label, equal = (released.regress("rare", ["age"], variances=v).conf_int()["age"] for v in ("auto", "equal"))
    assert label[1] - label[0] == pytest.approx((equal[1] - equal[0]) / np.sqrt(4 * 0.05 * 0.95), rel=0.05)
    assert released.regress("age", ["rare"]).reading_.largest is None
    with pytest.raises(ValueError, match="`variances` must not be 'largest'"):
        released.regress("age", ["rare"], variances="largest")
    with pytest.raises(ValueError, match="`variances` must be"):
        released.regress("age", ["rare"], variances="robust")


def test_an_eps_that_promises_nothing_is_said_as_a_fit_says_it():
    with pytest.warns(dplr.PrivacyWarning, match="promises little"):
        dplr.release_moments(people(0, 500), bounds=BOUNDS, eps=1e6)
