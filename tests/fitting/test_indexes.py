"""X, y, ids, weights and answers meet by position: indexes of pandas that say another order are refused, unpaid."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import sklearn
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Binarizer

import dplr
from dplr import baselines

N = 400
RNG = np.random.default_rng(0)
ORDER = RNG.permutation(N)
X = pd.DataFrame({"a": RNG.uniform(0, 1, N), "b": RNG.uniform(0, 1, N)})
Y = pd.Series((X["a"] > 0.5).astype(int), name="y")
IDS, WEIGHTS = pd.Series(np.arange(N) // 2), pd.Series(RNG.uniform(0, 1, N))
SORTED = X.loc[ORDER]
PAIRS = {"a": (0, 1), "b": (0, 1)}
BOUNDS, CAPPED = dplr.Bounds(PAIRS), dplr.Bounds(PAIRS, weight_max=2)
FOLDS = KFold(2, shuffle=True)


def model(**options):
    return dplr.LogisticRegression(**{"eps": 1.0, "bounds": BOUNDS, "mechanism": "fm"} | options)


def searched(ledger):
    return dplr.PrivateSearch(model(ledger=ledger), {"l2": [0.1, 1.0]})


def routed(ledger):
    """Persons behind a step that makes an array of a table."""
    with sklearn.config_context(enable_metadata_routing=True):
        last = model(bounds=None, ledger=ledger).set_fit_request(person=True)
        return make_pipeline(Binarizer(), last).fit(SORTED, Y, person=IDS)


# A door, and the name of what lies in another order there.
DOORS = {
    "fit": ("y", lambda ledger: dplr.fit(SORTED, Y, eps=1.0, bounds=BOUNDS, ledger=ledger)),
    "frame of one column": ("y", lambda ledger: model(ledger=ledger).fit(SORTED, Y.to_frame())),
    "persons": ("person", lambda ledger: model(ledger=ledger).fit(SORTED, Y.loc[ORDER], person=IDS)),
    "persons beside an array": ("person", lambda ledger: model(ledger=ledger).fit(X.to_numpy(), Y, person=IDS[::-1])),
    "weights": (
        "sample_weight",
        lambda ledger: model(ledger=ledger, bounds=CAPPED).fit(SORTED, Y.loc[ORDER], sample_weight=WEIGHTS),
    ),
    "persons beside a column": (
        "person",
        lambda ledger: dplr.fit(SORTED.assign(y=Y), "y", eps=1.0, bounds=BOUNDS, person=IDS, ledger=ledger),
    ),
    "fit_many": ("y", lambda ledger: dplr.fit_many(SORTED, Y, eps=[0.1, 1.0], bounds=BOUNDS, ledger=ledger)),
    "holdout": ("y", lambda ledger: dplr.fit(SORTED, Y, eps=1.0, bounds=BOUNDS, ledger=ledger, holdout=0.5)),
    "evaluate": ("y", lambda ledger: dplr.evaluate(lambda rows: np.ones(len(rows)), SORTED, Y, eps=1.0, ledger=ledger)),
    "evaluated persons": (
        "person",
        lambda ledger: dplr.evaluate(np.ones(N), SORTED, Y.loc[ORDER], eps=1.0, person=IDS, ledger=ledger),
    ),
    "answers": ("model", lambda ledger: dplr.evaluate(WEIGHTS.loc[ORDER], None, Y, eps=1.0, ledger=ledger)),
    "answers of another model": (
        "against",
        lambda ledger: dplr.evaluate(WEIGHTS, X, Y, against=WEIGHTS.loc[ORDER], eps=1.0, ledger=ledger),
    ),
    "learned bounds": (
        "sample_weight",
        lambda ledger: dplr.learn_bounds(
            SORTED, eps=1.0, sample_weight=WEIGHTS, bounds=dplr.Bounds(None, weight_max=2)
        ),
    ),
    "check": ("y", lambda ledger: dplr.check(SORTED, Y, bounds=BOUNDS)),
    "checked persons": ("person", lambda ledger: dplr.check(SORTED, Y.loc[ORDER], bounds=BOUNDS, person=IDS)),
    "search": ("y", lambda ledger: searched(ledger).fit(SORTED, Y)),
    "table of counts": ("y", lambda ledger: baselines.DPME(eps=1.0, bounds=BOUNDS, ledger=ledger).fit(SORTED, Y)),
    "folds": (
        "y",
        lambda ledger: cross_val_score(model(ledger=ledger), SORTED, Y, cv=FOLDS, error_score="raise"),
    ),
    "grid": (
        "y",
        lambda ledger: GridSearchCV(model(ledger=ledger), {"l2": [1.0]}, cv=FOLDS, error_score="raise").fit(SORTED, Y),
    ),
    "step that makes an array": (
        "y",
        routed,
    ),
    "public rows": (r"public\[1\]", lambda ledger: model(public=(SORTED, Y), ledger=ledger).fit(X + 0.0, Y)),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("door", DOORS)
def test_an_index_in_another_order_is_refused_before_anything_is_spent(door, tmp_path, entropy):
    name, opened = DOORS[door]
    ledger = dplr.Ledger(tmp_path / "budget.json", eps=10.0)
    with pytest.raises(ValueError, match=rf"^`{name}` must have the index of .*, row by row; got .*Give {name}.loc\["):
        opened(ledger)
    assert ledger.spent() == (0, 0)
    assert entropy.bytes == 0


NAMED = X.set_axis([f"n{place}" for place in range(N)])
TWICE = np.arange(N) // 2
ALIKE = {
    "an array": (SORTED, Y.loc[ORDER].to_numpy()),
    "a list": (SORTED, Y.loc[ORDER].tolist()),
    "polars": (SORTED, pl.Series(Y.loc[ORDER].to_numpy())),
    "Arrow": (pa.table(dict(SORTED)), Y),
    "both sorted": (SORTED, Y.loc[ORDER]),
    "an equal index of another type and name": (X, Y.set_axis(pd.Index(np.arange(N, dtype=float), name="row"))),
    "names beside numbers": (NAMED, Y),
    "numbers of other rows beside a new index": (X.set_axis(np.arange(N) + N), Y),
    "equal duplicates": (X.set_axis(TWICE), Y.set_axis(TWICE)),
    "two levels beside one": (X.set_axis(pd.MultiIndex.from_arrays([TWICE, TWICE])), Y),
}


@pytest.mark.filterwarnings("ignore:rng is set")
@pytest.mark.parametrize("kind", ALIKE)
def test_rows_meet_by_position_where_no_index_contradicts(kind):
    rows, target = ALIKE[kind]
    plain = rows.to_pandas() if kind == "Arrow" else rows.reset_index(drop=True)
    same = model(rng=0).fit(plain, np.asarray(target))
    assert model(rng=0).fit(rows, target).coef_.tolist() == same.coef_.tolist()


CHOSEN = X[X["a"] > 0.1]
DIFFERENT = {
    "a new index beside chosen rows": (CHOSEN, Y[X["a"] > 0.1].reset_index(drop=True)),
    "other rows of one table": (X[:300], Y[100:]),
    "duplicates in another order": (X.set_axis(TWICE), Y.set_axis(TWICE[::-1])),
}


@pytest.mark.parametrize("kind", DIFFERENT)
def test_a_label_in_two_rows_is_refused_and_an_array_is_the_remedy(kind):
    rows, target = DIFFERENT[kind]
    with pytest.raises(ValueError, match="row by row"):
        model().fit(rows, target)
    assert model().fit(rows, target.to_numpy()).privacy_.eps == 1.0


def test_the_sentence_shows_no_label_of_an_index():
    names = [f"Ingeborg {place}" for place in range(N)]
    with pytest.raises(ValueError, match="must have the index") as caught:
        model().fit(X.set_axis(names), Y.set_axis(names[::-1]))
    assert "Ingeborg" not in str(caught.value)
