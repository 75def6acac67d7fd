"""One release of an evaluation: what is counted, what is paid, and what is refused before anything is."""

import math
import pickle

import numpy as np
import pandas as pd
import pyarrow
import pytest
from pyarrow import parquet
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import dplr
from dplr.evaluation import tally

pytestmark = [pytest.mark.filterwarnings("ignore:rng is set"), pytest.mark.filterwarnings("ignore::dplr.DataWarning")]
BOUNDS = dplr.Bounds({"age": (18, 90), "hours": (0, 60)}, target=[0, 1])


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"age": rng.uniform(18, 90, 6000), "hours": rng.uniform(0, 60, 6000)})
    frame["y"] = (rng.random(6000) < 1 / (1 + np.exp(-(frame["age"] - 54) / 12))).astype(int)
    frame["who"] = np.arange(6000) // 3
    frame["weight"] = rng.uniform(0, 3, 6000)
    return frame


@pytest.fixture(scope="module")
def model(table):
    train = table[:3000]
    return dplr.fit(train[["age", "hours"]], train["y"], bounds=BOUNDS, eps=2.0, rng=1)


def test_a_model_an_array_a_function_and_a_method_count_alike(table, model):
    X, y = table[["age", "hours"]][3000:], table["y"][3000:]
    scores = model.predict_proba(X)[:, 1]
    expected = dplr.evaluate(model, X, y, eps=math.inf).released_
    for other in (
        dplr.evaluate(scores, None, y, eps=math.inf),
        dplr.evaluate(lambda rows: model.predict_proba(rows)[:, 1], X, y, eps=math.inf),
        dplr.evaluate(np.stack([1 - scores, scores], axis=1), None, y, eps=math.inf),
        model.evaluate(table[3000:], "y", eps=math.inf),
    ):
        assert all((other.released_[name] == numbers).all() for name, numbers in expected.items())


def test_batches_and_streams_change_no_bit(table, model, tmp_path, monkeypatch):
    rows = table[3000:].drop(columns=["weight"])
    for part in range(3):
        at = slice(part * 1000, part * 1000 + 1000)
        parquet.write_table(pyarrow.Table.from_pandas(rows[at]), tmp_path / f"{part}.parquet")
    options = {"eps": 1.0, "rng": 7, "person": "who", "bounds": dplr.Bounds(None, rows_per_person=2)}
    expected = model.evaluate(rows, "y", **options)
    streamed = model.evaluate(str(tmp_path / "*.parquet"), "y", **options)
    monkeypatch.setattr(tally, "BATCH", 128)
    monkeypatch.setattr("dplr.evaluation.release.BATCH", 700)
    small = model.evaluate(rows, "y", **options)
    for other in (streamed, small):
        assert other.privacy_ == expected.privacy_
        assert all((other.released_[name] == numbers).all() for name, numbers in expected.released_.items())


def test_sums_are_exact_and_merge(table):
    from dplr.evaluation.grids import ErrorGrid
    from dplr.evaluation.tally import Outcomes

    rng = np.random.default_rng(1)
    grid, guess, y = ErrorGrid.of(0, 1), rng.uniform(0, 1, 300), rng.uniform(0, 1, 300)
    weights = rng.integers(0, 2**30, 300) * 2.0**-30
    whole = Outcomes.of(grid, guess, y, weights)
    halves = Outcomes.of(grid, guess[:77], y[:77], weights[:77]) + Outcomes.of(grid, guess[77:], y[77:], weights[77:])
    assert whole.sums == halves.sums
    assert (whole.counts == halves.counts).all()
    units, numbers = (weights * 2**30).astype(int).tolist(), grid.place(guess, y)[1].tolist()
    assert whole.sums[2] == sum(unit * row[2] for unit, row in zip(units, numbers, strict=True))
    total = list(whole.totals())[3]
    assert int(total.hi[0]) * 2**32 + int(total.lo[0]) == whole.sums[2]


def test_models_of_scikit_learn(table):
    X, y = table[["age", "hours"]], table["y"]
    pipeline = make_pipeline(StandardScaler(), LogisticRegression()).fit(X[:3000], y[:3000])
    result = dplr.evaluate(pipeline, X[3000:], y[3000:], eps=1.0, rng=2)
    assert isinstance(result, dplr.evaluation.LabelEvaluation)
    assert result.accuracy.lower < pipeline.score(X[3000:], y[3000:]) < result.accuracy.upper
    decided = dplr.evaluate(pipeline, X[3000:], y[3000:], eps=1.0, rng=2, decisions=True)
    assert isinstance(decided, dplr.evaluation.ClassEvaluation)
    assert decided.accuracy.lower < pipeline.score(X[3000:], y[3000:]) < decided.accuracy.upper
    ridge = Ridge().fit(X[:3000], X["age"][:3000])
    with pytest.raises(ValueError, match="target_bounds"):
        dplr.evaluate(ridge, X[3000:], X["age"][3000:], eps=1.0)
    numbers = dplr.evaluate(ridge, X[3000:], X["age"][3000:], eps=1.0, target_bounds=(18, 90), rng=1)
    assert numbers.r2.estimate > 0.9


def test_models_of_numbers_and_of_decisions_of_ours(table):
    X = table[["age", "hours"]].to_numpy()
    bounds = dplr.Bounds([(18, 90), (0, 60)], target=(0, 120))
    linear = dplr.fit(X[:3000], X[:3000].sum(axis=1) * 0.8, model="linear", bounds=bounds, eps=5.0, rng=1)
    result = linear.evaluate(X[3000:], X[3000:].sum(axis=1) * 0.8, eps=2.0, rng=1)
    assert (result.grid.low, result.grid.high) == (0, 120)
    assert result.r2.estimate > 0.5
    svm = dplr.fit(X[:3000], table["y"][:3000], model="svm", bounds=dplr.Bounds([(18, 90), (0, 60)]), eps=5.0, rng=1)
    assert isinstance(svm.evaluate(X[3000:], table["y"][3000:], eps=1.0, rng=1), dplr.evaluation.ClassEvaluation)


def test_the_ledger_pays_once_and_refuses_before_rows_are_read(table, model, tmp_path):
    ledger = dplr.Ledger(tmp_path / "budget.db", eps=1.0)
    X, y = table[["age", "hours"]][3000:], table["y"][3000:]
    model.evaluate(X, y, eps=0.6, ledger=ledger)
    assert ledger.remaining()[0] == pytest.approx(0.4)
    with pytest.raises(dplr.BudgetExceeded):
        model.evaluate(X, y, eps=0.6, ledger=ledger)
    with pytest.raises(ValueError, match="label or a number in every row"):
        dplr.evaluate(np.full(3000, np.nan), None, y, eps=0.3, ledger=ledger)
    with pytest.raises(RuntimeError, match="broken"):
        dplr.evaluate(_broken, X, y, eps=0.3, ledger=ledger)
    assert ledger.remaining()[0] == pytest.approx(0.4)


def _broken(rows):
    raise RuntimeError("broken")


def test_rows_of_the_fit_are_refused_unless_asked_for(table):
    X, y = table[["age", "hours"]][:3000], table["y"][:3000]
    model = dplr.fit(X, y, bounds=BOUNDS, eps=2.0, rng=1)
    with pytest.raises(ValueError, match="in_sample=True"):
        model.evaluate(X, y, eps=1.0)
    result = model.evaluate(X, y, eps=1.0, in_sample=True, rng=1)
    assert "the noise came from a seed" in str(result)
    assert "IN SAMPLE" in str(result)
    assert any("IN SAMPLE" in fact for fact in result.privacy_.assumptions)
    other = model.evaluate(X[:], y, eps=1.0, rng=1)
    assert any("fitted to other rows, as declared" in fact for fact in other.privacy_.assumptions)
    assert pickle.loads(pickle.dumps(model)).evaluate(X, y, eps=1.0, rng=1).in_sample is False


def test_weights_and_persons(table, model):
    rows = table[3000:]
    weights, scores = np.minimum(rows["weight"], 2.0) / 2, model.predict_proba(rows[["age", "hours"]])[:, 1]
    options = {"sample_weight": rows["weight"], "bounds": dplr.Bounds(None, weight_max=2.0)}
    weighed = dplr.evaluate(scores, None, rows["y"], eps=math.inf, **options)
    assert weighed.prevalence.estimate == pytest.approx(np.average(rows["y"], weights=weights), abs=1e-6)
    right = np.average(rows["y"] == (scores >= 0.5), weights=weights)
    assert weighed.accuracy.estimate == pytest.approx(right, abs=1e-6)
    persons = dplr.evaluate(scores, None, rows["y"], eps=1.0, person=rows["who"], rng=3)
    assert persons.n_rows == 1000
    assert persons.privacy_.unit.person is not None
    assert persons.sums.counts.sum() == pytest.approx(1000)
    assert persons.auc.lower < dplr.evaluate(scores, None, rows["y"], eps=math.inf).auc.estimate < persons.auc.upper


def test_added_and_removed_records(table, model):
    X, y = table[["age", "hours"]][3000:], table["y"][3000:]
    result = model.evaluate(X, y, eps=1.0, neighbouring="add_remove", n_rows=2500, rng=1)
    assert result.n_rows == 2500
    assert result.sums.total is None
    assert result.privacy_.released["cells"].sensitivity == pytest.approx(1.08, rel=1e-3)
    numbers = dplr.evaluate(X["age"] * 0.9, None, X["age"], eps=1.0, neighbouring="add_remove",
                            target_bounds=(0, 100), rng=1)  # fmt: skip
    assert "count" in numbers.privacy_.released
    assert numbers.mean_error.lower < X["age"].mean() * 0.1 < numbers.mean_error.upper


@pytest.mark.parametrize(("changed", "match"), [
    ({"eps": 0.0}, "eps"), ({"thresholds": (2.0,)}, "thresholds"), ({"n_rows": 7}, "n_rows"),
    ({"neighbouring": "both"}, "neighbouring"), ({"classes": (0, 1, 2)}, "shape"), ({"in_sample": "no"}, "in_sample"),
    ({"target_bounds": (5, 1)}, "target_bounds"), ({"target_bounds": 5}, "target_bounds"), ({"level": 2.0}, "level"),
    ({"sample_weight": [1.0]}, "weight_max"), ({"thresold": (0.1,)}, "thresholds"),
])  # fmt: skip
def test_bad_parameters_are_named_and_nothing_is_spent(changed, match, tmp_path):
    ledger = dplr.Ledger(tmp_path / "budget.db", eps=1.0)
    with pytest.raises((ValueError, TypeError), match=match):
        dplr.evaluate(np.linspace(0, 1, 100), None, np.zeros(100), **{"eps": 0.5, "ledger": ledger, **changed})
    assert ledger.remaining()[0] == 1.0


def test_shapes_and_models_that_cannot_be_asked(table, model):
    X, y = table[["age", "hours"]][3000:], table["y"][3000:]
    for arguments, match in (
        ((np.zeros(5), None, np.zeros(6)), "one outcome for each row"), ((model, None, y), "must be rows"),
        ((object(), X, y), "model"), ((model, X, y[:5]), "one outcome for each row"),
        ((lambda rows: np.zeros(3), X, y), "shape"),
    ):  # fmt: skip
        with pytest.raises((ValueError, TypeError), match=match):
            dplr.evaluate(*arguments, eps=1.0)
    with pytest.raises(ValueError, match="classes"):
        dplr.evaluate(model, X, y, eps=1.0, classes=("a", "b"))


def test_an_evaluation_shows_nothing_but_its_release(table, model):
    result = model.evaluate(table[["age", "hours"]][3000:], table["y"][3000:], eps=1.0, rng=1)
    assert "auc" in str(result)
    assert list(result.to_frame().index) == list(result.measures)
    with pytest.raises((TypeError, ValueError)):
        result.released_["cells"][0] = 1.0
    held = {value for value in vars(result).values() if isinstance(value, (pd.DataFrame, np.ndarray))}
    assert not held
