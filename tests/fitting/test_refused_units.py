"""What protects records alone refuses persons and weights: nothing ignores them."""

import numpy as np
import pandas as pd
import pytest

import dplr
from dplr import baselines

X = np.random.default_rng(0).uniform(0, 1, (400, 2))
Y = X[:, 0] > 0.5
IDS = np.arange(400) // 4
TABLE = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "id": IDS})
PAIRS = [(0, 1), (0, 1)]
DECLARED = [
    ({"person": "id"}, r"`bounds` must declare no `person` {}; got 'id'"),
    ({"weight": "w", "weight_max": 2}, r"`bounds` must declare no `weight` {}; got 'w'"),
]


@pytest.mark.parametrize(("units", "message"), DECLARED)
def test_baselines_refuse_bounds_with_persons_or_weights(units, message, entropy):
    for kind in (baselines.DPME, baselines.FilterPriority):
        with pytest.raises(ValueError, match=message.format("with a table of counts")):
            kind(eps=1.0, bounds=dplr.Bounds(PAIRS, **units)).fit(X, Y)
    assert entropy.bytes == 0


@pytest.mark.parametrize(("units", "message"), DECLARED)
def test_moments_refuse_bounds_with_persons_or_weights(units, message, entropy):
    with pytest.raises(ValueError, match=message.format("with `release_moments`")):
        dplr.release_moments(X, bounds=dplr.Bounds(PAIRS, **units), eps=1.0)
    assert entropy.bytes == 0


@pytest.mark.parametrize("method", ["partition", "public"])
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"person": "id"}, "`person` must be None in a private search"),
        ({"bounds": dplr.Bounds(PAIRS, weight_max=2)}, "`bounds` must declare no `weight_max` in a private search"),
        ({"class_weight": {0: 1, 1: 2}}, "`class_weight` must be None in a private search"),
        ({"bounds": dplr.Bounds(PAIRS, person="id")}, "`bounds` must declare no `person` in a private search"),
    ],
)
def test_a_private_search_refuses_persons_and_weights_wherever_they_are_declared(method, change, message, entropy):
    est = dplr.LogisticRegression(eps=1.0, mechanism="fm", bounds=dplr.Bounds(PAIRS))
    public = (X + 0.001, Y) if method == "public" else None
    candidates = {"l2": [0.1, 1.0]}
    with pytest.raises(ValueError, match=message):
        dplr.PrivateSearch(est.set_params(**change), candidates, method=method, public=public).fit(X, Y)
    est.set_params(bounds=dplr.Bounds(PAIRS), **dict.fromkeys(set(change) - {"bounds"}))
    (name, value), plain = *change.items(), dplr.Bounds(PAIRS)
    varied = [{name: value}, {name: plain if name == "bounds" else None}]
    with pytest.raises(ValueError, match=r"private search|must not change"):
        dplr.PrivateSearch(est, varied, method=method, public=public).fit(X, Y)
    for given in ({"person": IDS}, {"sample_weight": np.ones(400)}):
        with pytest.raises(TypeError, match="A private search protects records that count alike"):
            dplr.PrivateSearch(est, candidates, method=method, public=public).fit(X, Y, **given)
    assert entropy.bytes == 0


def test_persons_behind_random_features_are_not_ignored(entropy):
    bounds = dplr.Bounds({"a": (0, 1), "b": (0, 1)}, person="id")
    rows = dplr.preprocessing.RandomFourierFeatures(5, bounds=bounds).transform(TABLE)
    with pytest.raises(ValueError, match="`X` must have the column 'id'"):
        dplr.LogisticRegression(eps=1.0, mechanism="fm").fit(rows, Y)
    assert entropy.bytes == 0
    est = dplr.LogisticRegression(eps=1.0, mechanism="fm").fit(rows, Y, person=IDS)
    assert est.privacy_.unit.person == "id"
    assert est.predict(rows).shape == Y.shape


@pytest.mark.parametrize(
    ("keyword", "advice"),
    [
        ("groups", "Use `person`"),
        ("weights", "Use `sample_weight`"),
        ("max_rows_per_person", "Give bounds=dplr.Bounds"),
    ],
)
def test_names_of_other_libraries_are_translated(keyword, advice):
    with pytest.raises(TypeError, match=advice):
        dplr.fit(X, Y, eps=1.0, **{keyword: 1})
