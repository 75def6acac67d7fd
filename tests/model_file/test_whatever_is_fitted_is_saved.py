"""A law of model files: whatever `fit` accepts is read back as it was, or is refused in a sentence."""

import math
import re
import warnings

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

import dplr
import every_column
from declared_units import declared
from specs import spec_with

N = 60
TARGETS = {
    "logistic": ((0, 1), ("no", "yes"), (0, 1, 2)),
    "svm": ((0, 1), ("no", "yes")),
    "linear": ((0, 90),),
    "huber": ((-3, 90),),
    "poisson": ((0, 9),),
}
SPECS = [
    "auto", "fm", "objective", "output", "ngd", "score", "none",
    dplr.FunctionalMechanism(intervals="robust"), dplr.FunctionalMechanism(approximation="stein", noise="gaussian"),
    dplr.FunctionalMechanism(unbounded="adassp"), dplr.FunctionalMechanism(calibration="paper"),
    dplr.NoisyGradientDescent(steps=5, averaging="last"), dplr.NoisyGradientDescent(steps=4, standardise="on"),
    dplr.ObjectivePerturbation(intervals="on"), dplr.ObjectivePerturbation(cut=0.5), dplr.ScoreRelease(rounds=1),
]  # fmt: skip
UNITS = [
    {}, {"person": "id"}, {"person": "id", "rows_per_person": 2}, {"sample_weight": "w", "weight_max": 3},
    {"person": "id", "sample_weight": "w", "weight_max": 2},
]  # fmt: skip


@st.composite
def fits(draw):
    """(table, y, parameters) of a fit: some columns of every kind, a target, a mechanism, a unit and options."""
    names = draw(st.lists(st.sampled_from([*every_column.COLUMNS]), min_size=1, max_size=4, unique=True))
    model = draw(st.sampled_from(["logistic", "logistic", *TARGETS]))
    target = draw(st.sampled_from(TARGETS[model]))
    numeric = model in ("linear", "huber", "poisson")
    table = every_column.table(N, draw(st.integers(0, 3)))[names]
    table = table.assign(id=[f"p{k // 2}" for k in range(N)], w=1 + np.arange(N) % 3)
    y = np.linspace(*target, N).round() if numeric else np.array(target)[np.arange(N) % len(target)]
    unit = draw(st.sampled_from(UNITS))
    table = table.drop(columns=[name for name in ("id", "w") if name not in unit.values()])
    pairs = [pair for pair in every_column.PRODUCTS if {*pair} <= {*names}]
    products = draw(st.sampled_from([[], pairs]))
    options = {
        "bounds": dplr.Bounds({name: every_column.COLUMNS[name] for name in names}, target=target, products=products),
        "model": model,
        "mechanism": spec_with(draw(st.sampled_from(SPECS)), draw(st.sampled_from(["auto", "on", "off"]))),
        "eps": draw(st.sampled_from([1e-5, 1e-4, 1e-3, 0.01, 0.1, 0.5, 20.0, 1e5, math.inf])),
        "delta": draw(st.sampled_from([0.0, 1e-4, 1e-3])),
        "fit_intercept": draw(st.sampled_from([True, True, False])),
        "l2": draw(st.sampled_from(["auto", "auto", 0.1])),
        "curves": draw(st.sampled_from([None, None, 4])),
        "neighbouring": draw(st.sampled_from(["replace_one", "add_remove"])),
    }
    options |= {"n_rows": N} if options["neighbouring"] == "add_remove" else {}
    options |= {"holdout": draw(st.sampled_from([None, None, None, 0.3]))} if "person" not in unit else {}
    if model == "logistic" and draw(st.booleans()):
        options["class_weight"] = dict.fromkeys(target, 0.5) | {target[-1]: 1.0}
    return table, y, options | unit


def shown(call):
    """What is returned, as text, or the refusal."""
    try:
        return str(call())
    except (ValueError, TypeError, ModuleNotFoundError) as error:
        return f"refused: {error}"


def check_same(est, other, table):
    """Every public answer is the same in every bit."""
    assert other.privacy_ == est.privacy_
    assert str(other.privacy_) == str(est.privacy_)
    for method in ("predict", "decision_function", "predict_proba"):
        assert hasattr(est, method) is hasattr(other, method)
        if hasattr(est, method):
            np.testing.assert_array_equal(getattr(other, method)(table), getattr(est, method)(table))
    assert str(getattr(other, "evaluation_", None)) == str(getattr(est, "evaluation_", None))
    assert est.released_.keys() == other.released_.keys()
    for name, numbers in est.released_.items():
        np.testing.assert_array_equal(other.released_[name], numbers)
    for call in (lambda e: e.summary(), lambda e: e.to_sql(), lambda e: e.ranges_):
        assert shown(lambda call=call: call(est)) == shown(lambda call=call: call(other))


def fitted(table, y, options):
    """The model, or None and the refusal."""
    try:
        return dplr.fit(table, y, **declared(options)), ""
    except (ValueError, TypeError) as error:
        return None, str(error)


def check_saved(fit, path):
    table, y, options = fit
    with warnings.catch_warnings(action="ignore"):
        est, refusal = fitted(table, y, options)
        if est is None:
            assert re.match(r"`\w+`", refusal), refusal  # it names the parameter
            return
        rows = table.drop(columns=[name for name in ("id", "w") if name in table])
        dplr.save_model(est, path)
        check_same(est, dplr.load_model(path), rows)


COMMON = {"deadline": None, "derandomize": True, "suppress_health_check": [*HealthCheck]}


@settings(max_examples=300, **COMMON)
@given(fit=fits())
def test_whatever_is_fitted_is_read_back_as_it_was(tmp_path_factory, fit):
    check_saved(fit, tmp_path_factory.getbasetemp() / "model.json")


@pytest.mark.thorough
@settings(max_examples=2_000, **COMMON)
@given(fit=fits())
def test_whatever_many_are_fitted_is_read_back_as_it_was(tmp_path_factory, fit):
    check_saved(fit, tmp_path_factory.getbasetemp() / "model.json")
