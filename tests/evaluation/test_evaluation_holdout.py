"""Rows that a fit does not see: one release, and one payment, of the fit and of its evaluation on them."""

import contextlib
import copy
import math
import pickle
import warnings
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import dplr
from dplr.bounds.declared import with_numbers
from dplr.cli import main
from dplr.evaluation.law import beside
from dplr.model_file import encode_model
from dplr.noise.splits import secret_parts, split_source
from dplr.privacy.gaussian import pure_mu
from dplr.privacy.guarantees import Approx, Gaussian, Poisson, Pure
from dplr.privacy.statement import EVALUATION

pytestmark = pytest.mark.filterwarnings("ignore:rng is set")
BOUNDS = {"a": (0, 1), "b": (0, 1)}


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.uniform(0, 1, 5000), "b": rng.uniform(0, 1, 5000)})
    return X, (rng.random(5000) < X["a"]).to_numpy()


def test_the_fit_sees_the_rest_and_the_ledger_pays_once(rows, tmp_path):
    X, y = rows
    ledger = dplr.Ledger(tmp_path / "budget.db", eps=2.0, delta=1e-6)
    model = dplr.fit(X, y, bounds=BOUNDS, mechanism="fm", eps=0.8, holdout=0.2, ledger=ledger)
    assert ledger.remaining()[0] == pytest.approx(1.2)
    assert "the number of records = 4000" in model.privacy_.assumptions
    result = model.evaluation_
    assert (result.n_rows, result.privacy_.eps, result.in_sample) == (1000, 0.8, False)
    assert "1000 of 5000 rows, by a secret split" in result.privacy_.assumptions[-1]
    assert 0.6 < result.auc.estimate <= 1.0


@pytest.mark.parametrize("options", [
    {"mechanism": "fm"}, {"mechanism": "objective", "neighbouring": "add_remove", "n_rows": 5000},
    {"mechanism": "ngd", "delta": 1e-6},
], ids=["pure", "approx", "gaussian"])  # fmt: skip
def test_one_statement_is_of_both_parts_in_the_model_in_the_ledger_and_on_paper(rows, options, tmp_path):
    relation = options.get("neighbouring", "replace_one")
    ledger = dplr.Ledger(tmp_path / "budget.db", eps=2.0, delta=1e-5, neighbouring=relation)
    model = dplr.fit(*rows, bounds=BOUNDS, eps=0.8, holdout=0.2, ledger=ledger, **options)
    (entry,), stated, own = ledger.entries(), model.privacy_, model.evaluation_.privacy_
    assert {name: block for name, block in stated.released.items() if name.startswith(EVALUATION)} == {
        f"evaluation {name}": block for name, block in own.released.items()
    }
    assert stated.source.endswith("; dplr evaluation.md, theorem 2")
    of_fit = "share of 0.8" if relation == "add_remove" else "4000 of 5000 rows"
    assert of_fit in stated.assumptions[-1]
    assert f"evaluated on the others at eps = {own.eps:.6g}" in stated.assumptions[-1]
    assert (entry.state, entry.guarantee) == ("committed", stated.guarantee)
    assert list(entry.statement["released"]) == list(stated.released)
    assert entry.statement["assumptions"][-1] == stated.assumptions[-1]
    shown = CliRunner().invoke(main, ["ledger", "show", str(tmp_path / "budget.db")]).output
    assert f"{stated.mechanism} and an evaluation" in shown
    assert f"{stated.mechanism} and an evaluation" in ledger._repr_html_()
    numbers = sum(np.size(block) for block in (*model.evaluation_.released_.values(), *model.released_.values()))
    coefficients = model.coef_.size + 1 if options["mechanism"] == "objective" else 0
    assert any(f"Released: {numbers + coefficients:,} noisy numbers." in line for line in stated.brief)


def test_a_guarantee_of_one_pair_names_no_other():
    """Beside an evaluation, or the choice of a search, no theorem of the fit gives the delta at another eps."""
    assert str(Approx(1.0, 1e-6)) == "(eps, delta)-differential privacy, eps = 1, delta = 1e-06"


@pytest.mark.parametrize("relation", ["replace_one", "add_remove"])
def test_both_parts_are_those_of_the_split(rows, relation):
    X, y = rows
    options = {"bounds": BOUNDS, "mechanism": "fm", "eps": math.inf, "neighbouring": relation, "rng": 7}
    tested, fitted = secret_parts(split_source(7), 5000, [Fraction(3, 10), Fraction(7, 10)], relation)
    model = dplr.fit(X, y, holdout=0.3, **options)
    alone = dplr.fit(X.iloc[fitted], y[fitted], **options)
    np.testing.assert_array_equal(model.coef_, alone.coef_)
    expected = alone.evaluate(X.iloc[tested], y[tested], eps=math.inf)
    np.testing.assert_array_equal(model.evaluation_.released_["cells"], expected.released_["cells"])
    assert not set(tested) & set(fitted)


def test_the_noise_of_the_evaluation_is_not_that_of_the_fit_again(rows):
    """With a seed both come from one stream, one after the other."""
    X, y = rows
    options = {"bounds": BOUNDS, "mechanism": "fm", "eps": 0.8, "rng": 7}
    tested, fitted = secret_parts(split_source(7), 5000, [Fraction(1, 5), Fraction(4, 5)], "replace_one")
    model = dplr.fit(X, y, holdout=0.2, **options)
    np.testing.assert_array_equal(model.coef_, dplr.fit(X.iloc[fitted], y[fitted], **options).coef_)
    again = model.evaluate(X.iloc[tested], y[tested], eps=0.8, rng=7)
    assert (model.evaluation_.released_["cells"] != again.released_["cells"]).any()


def held(value, depth=3):
    """Names of all that an object of dplr holds, and of what that holds."""
    slots = [name for kind in type(value).__mro__ for name in getattr(kind, "__slots__", ())]
    names = {*getattr(value, "__dict__", ()), *slots} if type(value).__module__.startswith("dplr.") else set()
    inner = {f"{name}.{each}" for name in names if depth for each in held(getattr(value, name, None), depth - 1)}
    return names | inner


def test_the_split_is_secret(rows):
    """Each fit has a split of its own, which nothing that is kept of it holds."""
    X, y = rows
    models = [dplr.fit(X, y, bounds=BOUNDS, mechanism="fm", eps=math.inf, holdout=0.5) for _ in range(2)]
    assert (models[0].coef_ != models[1].coef_).all()
    assert models[0].privacy_ == models[1].privacy_
    assert models[0].evaluation_.privacy_ == models[1].evaluation_.privacy_
    alone = dplr.fit(X, y, bounds=BOUNDS, mechanism="fm", eps=math.inf)
    alone.evaluation_ = alone.evaluate(X, y, eps=1.0, in_sample=True)
    assert held(models[0]) == held(alone)
    few = dplr.fit(X[:1000], y[:1000], bounds=BOUNDS, mechanism="fm", eps=math.inf, holdout=0.5)
    assert abs(len(pickle.dumps(models[0])) - len(pickle.dumps(few))) < 100  # a split has 500 bytes more


def test_under_add_remove_a_reference_has_its_shares(rows):
    X, y = rows
    options = {"bounds": BOUNDS, "mechanism": "fm", "eps": 0.8, "holdout": 0.2, "neighbouring": "add_remove"}
    model = dplr.fit(X, y, n_rows=1000, **options)
    assert "a declared reference, n_rows = 800" in model.privacy_.assumptions
    assert model.evaluation_.privacy_.neighbouring == "add_remove"
    assert model.evaluation_.n_rows == 200
    assert "a share of 0.2 was drawn for, one by one, by a secret split" in model.evaluation_.privacy_.assumptions[-1]
    assert dplr.fit(X, y, **options).evaluation_.n_rows is None


def test_a_gaussian_fit_is_evaluated_within_its_guarantee(rows):
    X, y = rows
    model = dplr.fit(X, y, bounds=BOUNDS, mechanism="ngd", eps=1.0, delta=1e-6, holdout=0.2, rng=1)
    assert isinstance(model.privacy_.guarantee, Gaussian)
    eps = model.evaluation_.privacy_.eps
    assert 0.999 * model.privacy_.guarantee.mu < pure_mu(eps) <= model.privacy_.guarantee.mu
    for statement in (model.privacy_, model.evaluation_.privacy_):
        assert "by a split from a seed, which is not secret" in statement.assumptions[-1]
        assert statement.reproducible
    assert beside(Pure(0.7)) == 0.7
    with pytest.raises(ValueError, match="full batches"):
        beside(Poisson(1.0, 0.1, 10))


@pytest.mark.parametrize(("changed", "match"), [
    ({"holdout": 0.0}, "holdout"), ({"holdout": 1}, "holdout"), ({"holdout": 1e-6}, "at least one"),
    ({"neighbouring": "both"}, "neighbouring"), ({"n_rows": 4000}, "n_rows"),
    ({"public": "private"}, "must not be the private rows"),
    ({"mechanism": dplr.NoisyGradientDescent(batch=100), "delta": 1e-6}, "full batches"),
])  # fmt: skip
def test_what_the_proof_does_not_cover_is_refused_before_anything_is_paid(rows, changed, match, tmp_path):
    X, y = rows
    ledger = dplr.Ledger(tmp_path / "budget.db", eps=2.0, delta=1e-5)
    options = {"bounds": BOUNDS, "eps": 0.8, "holdout": 0.2, "ledger": ledger, **changed}
    if "public" in changed:
        options["public"] = X, y
    with pytest.raises((ValueError, TypeError), match=match):
        dplr.fit(X, y, **options)
    assert not ledger.entries()


def persons(way, table, folder):
    """Rows and options that declare persons in one of many ways."""
    features = table[["a", "b"]]
    if way == "ids":
        return features, {"person": table["who"].to_numpy()}
    if way == "column":
        return table[["a", "b", "who"]], {"person": "who"}
    if way == "bounds":
        return table[["a", "b", "who"]], {"bounds": dplr.Bounds(BOUNDS, person="who", target=[False, True])}
    if way == "bounds, ids beside":
        return features, {"bounds": dplr.Bounds(BOUNDS, rows_per_person=2), "person": table["who"]}
    if way == "features":
        bounds = dplr.Bounds(BOUNDS, person="who", target=[False, True])
        transformer = dplr.preprocessing.RandomFourierFeatures(3, bounds=bounds)
        return transformer.fit_transform(features), {"bounds": None, "person": table["who"].to_numpy()}
    table.to_parquet(folder / "rows.parquet")
    return folder / "rows.parquet", {"person": "who"} if way == "stream" else {
        "bounds": dplr.Bounds(BOUNDS, person="who")
    }


WAYS = ["ids", "column", "bounds", "bounds, ids beside", "features", "stream", "stream, bounds"]


@pytest.mark.parametrize("way", WAYS)
def test_persons_are_refused_in_whatever_way_they_are_declared(rows, way, tmp_path):
    """A person may have rows in both parts, and would lose both losses."""
    table = rows[0].assign(y=rows[1], who=np.arange(5000) // 2)
    X, options = persons(way, table, tmp_path)
    y = "y" if "stream" in way else rows[1]
    ledger = dplr.Ledger(tmp_path / "budget.db", eps=2.0, unit="who")
    with pytest.raises((ValueError, TypeError), match=r"`person` must be None with|`X` must be in memory with"):
        dplr.fit(X, y, eps=0.8, holdout=0.2, ledger=ledger, **{"bounds": BOUNDS, **options})
    assert not ledger.entries()


def test_a_stream_is_refused(rows, tmp_path):
    X, y = rows
    X.assign(y=y).to_parquet(tmp_path / "rows.parquet")
    with pytest.raises(TypeError, match="`X` must be in memory with `holdout`"):
        dplr.fit(tmp_path / "rows.parquet", "y", bounds=BOUNDS, eps=0.8, holdout=0.2)


@pytest.mark.parametrize("fault", ["missing", "infinite", "label", "no label"])
@pytest.mark.parametrize("mechanism", ["fm", "objective"])
def test_a_fault_in_any_row_is_refused_before_anything_is_paid(fault, mechanism, tmp_path):
    """In whatever part the row comes to lie: a fault must not be met after the fit was paid for."""
    ledger, n = dplr.Ledger(tmp_path / "budget.db", eps=1.0, delta=1e-9), 7
    for row in range(n):
        X, y = np.linspace(0, 1, n)[:, np.newaxis].copy(), np.arange(n).astype(object) % 2
        if fault in ("missing", "infinite"):
            X[row] = np.nan if fault == "missing" else np.inf
        else:
            y[row] = 7 if fault == "label" else None
        with pytest.raises(ValueError, match=r"must be finite|must hold only its labels"):
            dplr.fit(X, y, bounds=dplr.Bounds([(0, 1)]), mechanism=mechanism, eps=0.1, holdout=0.5, ledger=ledger)
    assert {entry.state for entry in ledger.entries()} <= {"refunded"}


@pytest.mark.parametrize("mechanism", ["objective", "output"])
def test_too_many_rows_are_refused_before_the_split_is_drawn(mechanism, entropy):
    """How many of the rows are fitted is secret: 16 times 21 of 480 may be, or not."""
    options = {"mechanism": mechanism, "neighbouring": "add_remove", "n_rows": 30, "holdout": 0.3, "eps": 1.0,
               "bounds": dplr.Bounds([(0, 1)])}  # fmt: skip
    for _ in range(8):
        with pytest.raises(ValueError, match="must be at least a 16th"):
            dplr.fit(np.linspace(0, 1, 480)[:, np.newaxis], np.arange(480) % 2, **options)
    assert entropy.bytes == 0  # the split was not drawn either


def test_warnings_are_of_all_rows_and_come_once(rows):
    """What one part holds would tell who is in it."""
    X, y = rows[0].copy(), rows[1]
    X.loc[:499, "a"] = 3.0
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        dplr.fit(X, y, bounds=BOUNDS, eps=0.8, holdout=0.2)
    (one,) = [str(each.message) for each in caught if each.category is dplr.DataWarning]
    assert "(a 10.00%)" in one


@pytest.mark.parametrize("mechanism", ["fm", "objective", "output", "ngd"])
def test_parts_without_rows_are_released_all_the_same(mechanism):
    """Under add_remove a part may have no row: whether it has is private."""
    options = {"bounds": dplr.Bounds([(0, 1)]), "neighbouring": "add_remove", "n_rows": 50, "eps": 1.0, "delta": 1e-6}
    with warnings.catch_warnings():
        warnings.simplefilter("error", dplr.DataWarning)
        for seed in range(8):
            model = dplr.fit([[0.2], [0.9]], [0, 1], holdout=0.5, mechanism=mechanism, rng=seed, **options)
            assert model.evaluation_ is not None


def test_a_row_without_a_finite_answer_does_not_end_the_evaluation(rows, monkeypatch):
    """It counts nowhere: an evaluation that is missing would tell of that row."""
    answers = dplr.LogisticRegression.predict_proba

    def one_lost(self, X):
        values = answers(self, X)
        values[0] = np.nan
        return values

    monkeypatch.setattr(dplr.LogisticRegression, "predict_proba", one_lost)
    model = dplr.fit(*rows, bounds=BOUNDS, mechanism="fm", eps=math.inf, holdout=0.2)
    assert model.evaluation_.released_["cells"].sum() == 999


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(1), MemoryError("no room"), RuntimeError("broken")])
@pytest.mark.parametrize("strict", [False, True], ids=["warned", "warnings are errors"])
def test_what_ends_an_evaluation_does_not_lose_the_fit_that_is_paid_for(rows, error, strict, monkeypatch, tmp_path):
    """An interrupt goes on, since whoever sent it wants no further fit, and has the model."""

    def ended(*_):
        raise error

    monkeypatch.setattr("dplr.estimators._holdout.counted", ended)
    ledger, stopped = dplr.Ledger(tmp_path / "budget.db", eps=2.0), not isinstance(error, Exception)
    silent = strict or stopped
    told = contextlib.nullcontext() if silent else pytest.warns(dplr.DataWarning, match="was not evaluated")
    with warnings.catch_warnings(), ledger.keeping(encode_model) as held:
        warnings.simplefilter("error" if strict else "always")
        with told, pytest.raises(type(error)) if stopped else contextlib.nullcontext() as caught:
            model = dplr.fit(*rows, bounds=BOUNDS, mechanism="fm", eps=0.8, holdout=0.2, ledger=held)
        assert ledger.kept() == [1]
    if stopped:
        model = caught.value.model
        assert "`model` of this exception" in caught.value.__notes__[-1]
    assert model.evaluation_ is None
    assert model.coef_.shape == (1, 2)
    assert [entry.state for entry in ledger.entries()] == ["committed"]
    dplr.save_model(model, tmp_path / "model.json")
    assert dplr.load_model(tmp_path / "model.json").privacy_ == model.privacy_


@pytest.mark.parametrize("n", range(1, 11))
def test_under_add_remove_a_number_of_rows_refuses_no_fit_and_ends_no_evaluation(n, monkeypatch):
    """The number of rows is private, and so is that of each part: every one has the same kind of outcome."""
    for tested in range(n + 1):
        parts = np.split(np.arange(n), [tested])
        monkeypatch.setattr("dplr.estimators._holdout.secret_parts", lambda *_, parts=parts: parts)
        model = dplr.fit(np.full((n, 1), 0.5), np.ones(n, bool), bounds=dplr.Bounds([(0, 1)], target=[False, True]),
                         eps=0.1, mechanism="fm", holdout=0.2, neighbouring="add_remove")  # fmt: skip
        assert model.evaluation_ is not None


def test_numbers_weights_and_copies(rows):
    X, _ = rows
    weights = np.random.default_rng(1).uniform(0, 2, 5000)
    bounds = dplr.Bounds(BOUNDS, target=(0, 2))
    target = X["a"] + X["b"]
    model = dplr.fit(X, target, model="linear", bounds=with_numbers(bounds, 1, 2.0), eps=2.0, sample_weight=weights,
                     holdout=0.4, rng=1)  # fmt: skip
    assert isinstance(model.evaluation_, dplr.evaluation.NumberEvaluation)
    assert model.evaluation_.r2.estimate > 0.5
    for twin in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        assert twin.evaluation_.r2 == model.evaluation_.r2


def test_weights_of_an_evaluation_are_those_of_the_rows_and_not_of_labels(rows):
    X, y = rows
    options = {"bounds": with_numbers(dplr.Bounds(BOUNDS), 1, 2.0), "mechanism": "fm", "eps": math.inf, "rng": 7}
    weights = np.linspace(0, 1.5, 5000)
    tested, _ = secret_parts(split_source(7), 5000, [Fraction(1, 5), Fraction(4, 5)], "replace_one")
    model = dplr.fit(X, y, holdout=0.2, sample_weight=weights, class_weight={False: 0.5, True: 1.0}, **options)
    assert model.evaluation_.released_["cells"].sum() == pytest.approx(weights[tested].sum() / 2, rel=1e-8)


def test_only_the_model_that_was_evaluated_has_the_evaluation(rows):
    """Another model of the release, and another fit of the estimator, would be told of by numbers of this one."""
    X, y = rows
    bounds = {"a": (0, 1.5), "b": (0, 1.5)}
    model = dplr.fit(X, y, bounds=bounds, mechanism="fm", eps=0.8, holdout=0.2, curves=4)
    assert not hasattr(model.refit(l2=1.0), "evaluation_")
    assert not hasattr(model.monotone({"a": "increasing"}), "evaluation_")
    assert model.refit(l2=1.0).privacy_.released == model.privacy_.released
    assert not hasattr(model.fit(X, y), "evaluation_")
