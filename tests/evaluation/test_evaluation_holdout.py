"""Rows that a fit does not see: one payment for the fit and for its evaluation on them."""

import copy
import math
import pickle
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import dplr
from dplr.bounds.declared import with_numbers
from dplr.evaluation.law import beside
from dplr.noise.splits import secret_parts, split_source
from dplr.privacy.gaussian import pure_mu
from dplr.privacy.guarantees import Gaussian, Poisson, Pure

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
    assert any("4000" in fact for fact in model.privacy_.assumptions)
    result = model.evaluation_
    assert (result.n_rows, result.privacy_.eps, result.in_sample) == (1000, 0.8, False)
    assert "1000 of 5000 rows, by a secret split" in result.privacy_.assumptions[-1]
    assert 0.6 < result.auc.estimate <= 1.0


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


def test_the_split_is_secret(rows):
    """Each fit has a split of its own, which nothing that is kept of it holds."""
    X, y = rows
    models = [dplr.fit(X, y, bounds=BOUNDS, mechanism="fm", eps=math.inf, holdout=0.5) for _ in range(2)]
    assert (models[0].coef_ != models[1].coef_).all()
    sizes = {np.size(value) for value in vars(models[0]).values() if isinstance(value, np.ndarray | list | tuple)}
    assert max(sizes) < 100
    assert len(pickle.dumps(models[0])) < 20_000


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
    assert "by a split from a seed, which is not secret" in model.evaluation_.privacy_.assumptions[-1]
    assert beside(Pure(0.7)) == 0.7
    with pytest.raises(ValueError, match="full batches"):
        beside(Poisson(1.0, 0.1, 10))


@pytest.mark.parametrize(("changed", "match"), [
    ({"holdout": 0.0}, "holdout"), ({"holdout": 1}, "holdout"), ({"holdout": 1e-6}, "at least one"),
    ({"neighbouring": "both"}, "neighbouring"), ({"person": np.arange(5000) // 2}, "person"),
    ({"n_rows": 4000}, "n_rows"),
    ({"mechanism": dplr.NoisyGradientDescent(batch=100), "delta": 1e-6}, "full batches"),
])  # fmt: skip
def test_what_the_proof_does_not_cover_is_refused_before_anything_is_paid(rows, changed, match, tmp_path):
    X, y = rows
    ledger = dplr.Ledger(tmp_path / "budget.db", eps=2.0, delta=1e-5)
    options = {"bounds": BOUNDS, "eps": 0.8, "holdout": 0.2, "ledger": ledger, **changed}
    with pytest.raises((ValueError, TypeError), match=match):
        dplr.fit(X, y, **options)
    assert ledger.remaining()[0] == 2.0


def test_a_stream_is_refused(rows, tmp_path):
    X, y = rows
    X.assign(y=y).to_parquet(tmp_path / "rows.parquet")
    with pytest.raises(TypeError, match="`X` must be in memory with `holdout`"):
        dplr.fit(tmp_path / "rows.parquet", "y", bounds=BOUNDS, eps=0.8, holdout=0.2)


def test_a_fault_in_the_other_rows_does_not_lose_the_model(rows):
    X, y = rows
    tested, _ = secret_parts(split_source(1), 5000, [Fraction(1, 5), Fraction(4, 5)], "replace_one")
    outcomes = y.astype(float)
    outcomes[tested[3]] = 7.0
    with pytest.warns(dplr.DataWarning, match="was not evaluated"):
        model = dplr.fit(X, outcomes, bounds=BOUNDS, mechanism="fm", eps=0.8, holdout=0.2, rng=1)
    assert model.evaluation_ is None
    assert model.coef_.shape == (1, 2)


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
