"""With a strict ledger no id and no weight decides whether a fit fails, and no value of one is told."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

import dplr

N = 400
X = np.random.default_rng(0).uniform(-0.5, 0.5, (N, 2))
Y = (X[:, 0] > 0).astype(int)
IDS = np.arange(N) // 4
BOUNDS = dplr.Bounds([(-1, 1), (-1, 1)])


@pytest.fixture
def ledger(tmp_path):
    return dplr.Ledger(tmp_path / "strict.ledger", eps=100.0, strict=True, unit="id")


@pytest.fixture
def model(ledger):
    facts = {"n_rows": N // 4, "bounds": BOUNDS, "person": "id", "ledger": ledger}
    return dplr.LogisticRegression(eps=1.0, mechanism="fm", **facts)


def test_no_value_of_an_id_or_a_weight_makes_a_fit_fail_or_warn(model, recwarn):
    texts = pl.Series([None if k == 5 else f"p{k // 4}" for k in range(N)])
    numbers = np.where(np.arange(N) == 5, np.nan, IDS.astype(float))
    spoiled = np.where(np.arange(N) < 4, [np.nan, -1.0, np.inf, 1e300] * (N // 4), 1.0)
    for ids in (IDS, texts, numbers, pd.Series(numbers), numbers + 0.5):
        model.fit(X, Y, person=ids)
    model.set_params(weight_bounds=(0, 2))
    for weights in (spoiled, pl.Series(spoiled)):
        model.fit(X, Y, person=IDS, sample_weight=weights)
    assert [str(each.message) for each in recwarn] == []


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"person": IDS.tolist()}, "`person` must be a column of numbers or text with a strict ledger"),
        ({"person": IDS.astype(object)}, "`person` must be a column of numbers or text"),
        ({"person": pd.Series(IDS.astype(str), dtype=object)}, "`person` must be a column of numbers or text"),
        ({"person": IDS > 3}, "`person` must be a column of numbers or text"),
        ({"person": IDS, "sample_weight": [1.0] * N}, "`sample_weight` must be an array or a frame of numbers"),
        ({"person": IDS, "sample_weight": np.ones(N, object)}, "`sample_weight` must be an array or a frame"),
    ],
)
def test_types_that_do_not_tell_are_refused_before_the_ledger_is_asked(model, ledger, given, message):
    bounds = {"weight_bounds": (0, 2)} if "sample_weight" in given else {}
    with pytest.raises(TypeError, match=message):
        model.set_params(**bounds).fit(X, Y, **given)
    assert ledger.remaining()[0] == 100.0
