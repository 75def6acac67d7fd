"""Whatever a parameter gets: an answer, or an error of a documented kind that names a parameter, for every door."""

import inspect
import warnings

import numpy as np
import pandas as pd
import pytest
from tests.fuzz.laws import check_refusal

import dplr
from dplr import auditor, baselines, model_file, planner, privacy, utility

plots = pytest.importorskip("dplr.plots")
RNG = np.random.default_rng(0)
X = pd.DataFrame({"age": RNG.uniform(18, 90, 60), "town": RNG.choice(["Bonn", "Ulm"], 60)})
Y = (X["age"] > 50).to_numpy(int)
COLUMNS = {"age": (18, 90), "town": {"levels": ["Bonn", "Ulm"], "reference": "Bonn"}}
BOUNDS = dplr.Bounds(COLUMNS)
EST = dplr.fit(X, Y, eps=5.0, bounds=BOUNDS, mechanism="fm", aim="coefficients")
LIN = dplr.fit(X, Y, eps=5.0, bounds=dplr.Bounds(COLUMNS, target=(0, 1)), mechanism="fm", model="linear")
MOMENTS = dplr.release_moments(X, bounds=BOUNDS, eps=5.0)
EVALUATION = dplr.evaluate(EST, X, Y, eps=1.0, in_sample=True)
PAIR = dplr.evaluate(EST, X, Y, eps=1.0, in_sample=True, against=np.full(60, 0.5))
LEARNED = dplr.learn_bounds(X, eps=50.0, delta=1e-6, columns={"age": "number", "town": "levels"})
PLAN = dplr.plan(eps=1.0, n_rows=1000, bounds=BOUNDS)
FACTS = {"eps": 5.0, "bounds": BOUNDS, "mechanism": "fm"}
ROWS = {"X": X, "y": Y, **FACTS}
MARGIN = {
    "value": lambda z: np.logaddexp(0, -z), "slope": lambda z: -1 / (1 + np.exp(z)),
    "curvature": lambda z: 1 / (2 + 2 * np.cosh(z)),
}  # fmt: skip
HOSTILE = [
    None, float("nan"), -1, 0, "x", "\ud800", b"x", object(), np.array(3.0), np.ones(2), [], {}, 10**400, 5e-324,
    [[1, 2], [3]], {"x": object()}, dict, iter,
]  # fmt: skip
DOORS = {
    "fit": (dplr.fit, ROWS),
    "fit of numbers": (dplr.fit, ROWS | {"model": "linear", "bounds": dplr.Bounds(COLUMNS, target=(0, 1))}),
    "fit_many": (dplr.fit_many, ROWS | {"eps": [5.0]}),
    "check": (dplr.check, {"X": X, "y": Y, "bounds": BOUNDS}),
    "plan": (dplr.plan, FACTS | {"n_rows": 1000}),
    "evaluate": (dplr.evaluate, {"model": EST, "X": X, "y": Y, "eps": 1.0}),
    "learn_bounds": (dplr.learn_bounds, {"X": X, "eps": 50.0, "delta": 1e-6, "columns": {"age": "number"}}),
    "release_moments": (dplr.release_moments, {"X": X, "bounds": BOUNDS, "eps": 5.0}),
    "Bounds": (dplr.Bounds, {"features": COLUMNS}),
    "with_curves": (BOUNDS.with_curves, {}),
    "margin_loss": (dplr.losses.margin_loss, MARGIN),
    "PrivateSearch": (
        lambda **given: dplr.PrivateSearch(**given).fit(X, Y),
        {"estimator": dplr.LogisticRegression(eps=5.0, bounds=BOUNDS), "candidates": [{"l2": 0.1}, {"l2": 0.2}],
         "method": "partition", "scoring": None, "public": None},
    ),
    "BoundsEncoder": (
        lambda **given: dplr.preprocessing.BoundsEncoder(**given).fit_transform(X), {"bounds": BOUNDS, "ranges": None}
    ),
    "transform": (dplr.preprocessing.BoundsEncoder(BOUNDS).fit(X).transform, {"X": X}),
    "features": (dplr.preprocessing.RandomFourierFeatures(3, bounds=BOUNDS).fit(X).transform, {"X": X}),
    "bins": (lambda bins: baselines.DPME(bounds=BOUNDS, bins=bins).fit(X, Y), {"bins": None}),
    "save_model": (dplr.save_model, {"est": EST, "path": "x/y"}),
    "load_model": (dplr.load_model, {"path": "x"}),
    "encode_model": (model_file.encode_model, {"est": EST}),
    "summary": (EST.summary, {}),
    "conf_int": (EST.conf_int, {}),
    "contrast": (EST.contrast, {"contrasts": ["age"]}),
    "wald_test": (EST.wald_test, {"columns": ["age"], "value": 0.0}),
    "to_sql": (EST.to_sql, {"table": "people"}),
    "predict": (EST.predict, {"X": X}),
    "predict_interval": (LIN.predict_interval, {"X": X}),
    "refit": (LIN.refit, {}),
    "describe": (MOMENTS.describe, {}),
    "regress": (MOMENTS.regress, {"target": "age", "columns": ["town"]}),
    "save moments": (MOMENTS.save, {"path": "x/y"}),
    "at": (EVALUATION.at, {"level": 0.9}),
    "threshold": (EVALUATION.threshold, {"cost_false_positive": 1.0, "cost_false_negative": 2.0}),
    "calibration": (EVALUATION.calibration, {}),
    "which is better": (PAIR.against_is_better, {"name": "accuracy"}),
    "learned.to_toml": (LEARNED.to_toml, {"path": "x/y"}),
    "cost": (PLAN.cost, {"ledger": "budget.db"}),
    "basic": (privacy.basic, {"statements": [EST.privacy_]}),
    "zcdp": (privacy.zcdp, {"statements": [EST.privacy_], "delta": 1e-6}),
    "equal_shares": (privacy.equal_shares, {"k": 2, "eps": 1.0, "delta": 1e-6}),
    "excess_risk": (utility.excess_risk, {"n_rows": 1e5, "l2": 0.01, "d": 3, "eps": 1.0}),
    "sample_size": (utility.sample_size, {"excess": 0.1, "l2": 0.01, "d": 3, "eps": 1.0}),
    "expected_excess_risk": (utility.expected_excess_risk, {"n_rows": 1e5, "norm": 1.0, "d": 3, "eps": 1.0}),
    "expected_sample_size": (utility.expected_sample_size, {"target": 0.1, "norm": 1.0, "d": 3, "eps": 1.0}),
    "audit": (dplr.audit, {"eps": 1.0, "n_rows": 20, "pairs": 19, "bounds": dplr.Bounds([(0, 1)])}),
    "search": (auditor.search, {"d": 2, "loss": None, "ridge": 0.1, "scale": 0.1}),
    "plot_evaluation": (plots.plot_evaluation, {"evaluation": EVALUATION}),
    "columns of a spec": (
        lambda columns: dplr.fit(X, Y, **FACTS | {"mechanism": dplr.FunctionalMechanism(columns=columns)}),
        {"columns": (0, 1)},
    ),
    "curve": (lambda **given: planner.sweep.levels_of(**given), {"eps": [1.0]}),
}  # fmt: skip


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    """In an empty folder: some values are names of files."""
    monkeypatch.chdir(tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@pytest.mark.parametrize("door", DOORS)
def test_every_error_names_a_parameter(door):
    call, given = DOORS[door]
    parameters = inspect.signature(call).parameters.values()
    names = {parameter.name for parameter in parameters if parameter.kind != parameter.VAR_KEYWORD}
    for name in sorted(names | given.keys()):
        for value in HOSTILE:
            value = iter([1, 2]) if value is iter else value
            try:
                call(**{**given, name: value})
            except OSError:  # of a file that cannot be there
                continue
            except Exception as error:
                check_refusal(error)
