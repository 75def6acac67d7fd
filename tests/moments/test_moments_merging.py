"""Moments of disjoint parties: what merges, what it says, and what is refused."""

import numpy as np
import pandas as pd
import pytest

import dplr
from dplr.privacy.guarantees import Approx, Gaussian, Pure

INF = float("inf")
BOUNDS = dplr.Bounds({"a": (0, 1), "b": {"levels": ["x", "y"]}, "c": (0, 9)}, products=[("a", "b")])


def table(n=3000, seed=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame({"a": rng.random(n), "b": rng.choice(["x", "y"], n), "c": rng.uniform(0, 9, n)})


def parties(relation="replace_one", **options):
    X, ends = table(), (0, 500, 1700, 3000)
    given = {"bounds": BOUNDS, "eps": 1.0, "neighbouring": relation, "noise": "gaussian"} | options
    return [
        dplr.release_moments(X[low:high], party=name, **given)
        for name, low, high in zip("ABC", ends, ends[1:], strict=False)
    ]


@pytest.mark.parametrize("relation", ["replace_one", "add_remove"])
def test_three_parties_without_noise_are_one_table(relation):
    whole = dplr.release_moments(table(), bounds=BOUNDS, eps=INF, neighbouring=relation)
    merged = sum(parties(relation, eps=INF))
    assert np.array_equal(merged.matrix, whole.matrix)
    assert (merged.n_rows, merged.count) == (whole.n_rows, 3000)


@pytest.mark.parametrize("relation", ["replace_one", "add_remove"])
def test_three_parties_with_noise_differ_from_one_table_by_the_noise_that_is_stated(relation):
    whole = dplr.release_moments(table(), bounds=BOUNDS, eps=INF, neighbouring=relation)
    scaled = []
    for _ in range(100):
        merged = sum(parties(relation, delta=1e-6))
        scaled += [(merged.released_[k] - whole.released_[k]) / merged.noise_sd[k] for k in merged.released_]
    squares = np.concatenate(scaled) ** 2
    assert abs(squares.mean() - 1) < 4 * np.sqrt(2 / squares.size)


def test_merging_is_exact_in_any_order():
    a, b, c = parties(delta=1e-6)
    one, other = a + b + c, c.merge(b + a)
    assert np.array_equal(one.matrix, other.matrix)
    assert one.noise_sd == pytest.approx(other.noise_sd)
    assert [party.name for party in other.parties] == ["C", "B", "A"]


def test_the_statement_names_parties_and_the_weakest_promise():
    a, b, c = parties(delta=1e-6)
    weaker = dplr.release_moments(table(99, 9), bounds=BOUNDS, eps=2.0, delta=1e-7, noise="gaussian")
    said = a.merge(b, c, weaker).privacy_
    assert (said.eps, said.delta) == (2.0, 1e-6)
    assert said.guarantee == Gaussian(max(a.privacy_.guarantee.mu, weaker.privacy_.guarantee.mu))
    assert said.assumptions[-1] == "every person is in the rows of one party only"
    for words in ("A (eps = 1, delta = 1e-06, 500 rows)", "party 4 (eps = 2, delta = 1e-07, 99 rows)"):
        assert words in said.assumptions[-2]
    assert "the number of records = 3099" in said.assumptions
    assert not any("= 500" in fact and "records" in fact for fact in said.assumptions)
    assert "sum of discrete Gaussian" in str(said)
    assert said.released["diagonal"].deviation == pytest.approx(a.merge(b, c, weaker).noise_sd["diagonal"])


def test_parties_may_have_different_noise():
    a, b, _ = parties()
    gaussian = dplr.release_moments(table(400, 5), bounds=BOUNDS, eps=0.5, delta=1e-6, noise="gaussian")
    assert isinstance((a + b).privacy_.guarantee, Pure)
    mixed = (a + gaussian).privacy_
    assert mixed.guarantee == Approx(1.0, 1e-6)
    assert "sum of discrete Laplace and discrete Gaussian" in str(mixed)
    assert "none" in str((a + dplr.release_moments(table(9, 6), bounds=BOUNDS, eps=INF)).privacy_.guarantee)


@pytest.mark.filterwarnings("ignore::dplr.PrivacyWarning")
def test_one_party_whose_noise_can_be_drawn_again_is_said_of_all():
    a, b, c = parties()
    seeded = dplr.release_moments(table(400, 5), bounds=BOUNDS, eps=1.0, rng=7)
    assert not a.merge(b, c).privacy_.reproducible
    assert a.merge(seeded, b).privacy_.reproducible
    assert seeded.merge(a.merge(b)).privacy_.reproducible


@pytest.mark.parametrize("which", ["release", "merged", "name", "bounds", "order", "products", "relation", "type"])
def test_what_does_not_fit_together_is_refused(which, tmp_path):
    a, b, c = parties()
    other = {"bounds": BOUNDS, "eps": 1.0}
    if which == "release":
        a.save(tmp_path / "a.json")
        parts, said = (a + b, dplr.load_model(tmp_path / "a.json")), "must not be merged with itself"
    elif which == "merged":
        parts, said = (a + b, b + c), "must not be merged with itself"
    elif which == "name":
        parts, said = (a, dplr.release_moments(table(9), party="A", **other)), "must be of different parties"
    elif which == "relation":
        parts, said = (a, dplr.release_moments(table(9), **other, neighbouring="add_remove")), "must be under"
    elif which == "type":
        with pytest.raises(TypeError, match="must be released moments"):
            a.merge(3)
        with pytest.raises(TypeError):
            a + 3
        return
    else:
        values = BOUNDS.to_dict()
        if which == "bounds":
            values["features"]["a"]["upper"] = 2.0
        elif which == "order":
            values["features"] = dict(reversed(values["features"].items()))
        else:
            del values["products"]
        parts, said = (a, dplr.release_moments(table(9), bounds=values, eps=1.0)), "must have the same bounds"
    with pytest.raises(ValueError, match=said):
        parts[0].merge(*parts[1:])
