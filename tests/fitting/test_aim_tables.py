"""`aim="coefficients"` gives a table, or is refused by name before anything is spent."""

import itertools
import json
import math

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import dplr
from dplr import noise
from dplr.bounds.declared import with_numbers
from dplr.cli import main
from dplr.mechanisms import SHORTHANDS
from dplr.problem.losses import LOSSES

RNG = np.random.default_rng(0)
N = 20_000
TABLE = pd.DataFrame({
    "age": RNG.uniform(18, 80, N),
    "flag": RNG.integers(0, 2, N),
    "level": RNG.choice(["a", "b", "c"], N, p=[0.5, 0.3, 0.2]),
})  # fmt: skip
SCORE = -1 + 0.02 * TABLE["age"] + 0.5 * TABLE["flag"] + 0.7 * (TABLE["level"] == "b")
LABEL = np.where(RNG.random(N) < 1 / (1 + np.exp(-SCORE)), "yes", "no")
NUMBER = (10 * SCORE + RNG.normal(0, 1 + 3 * TABLE["flag"], N)).to_numpy()
COLUMNS = {"age": (18, 80), "flag": (0, 1), "level": {"levels": ["a", "b", "c"]}}
REFERENCED = COLUMNS | {"level": {"levels": ["a", "b", "c"], "reference": "a"}}
LOGISTIC, LINEAR = dplr.Bounds(COLUMNS, target=("no", "yes")), dplr.Bounds(COLUMNS, target=(-40, 40))
COUNTS = dplr.Bounds(COLUMNS, target=(0, 40))
THREE = dplr.Bounds(COLUMNS, target=("x", "y", "z"))


HAVE = {
    ("auto", "linear"), ("auto", "logistic"), ("fm", "linear"), ("fm", "logistic"), ("objective", "logistic"),
    ("score", "logistic"), ("score", "huber"), ("score", "poisson"), ("auto", "huber"), ("auto", "poisson"),
}  # fmt: skip


def bounds_of(model):
    return LOGISTIC if LOSSES[model].classification else COUNTS if model == "poisson" else LINEAR


def target_of(model):
    return LABEL if LOSSES[model].classification else np.abs(np.round(NUMBER)) if model == "poisson" else NUMBER


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("model", list(LOSSES))
@pytest.mark.parametrize("name", ["auto", *SHORTHANDS])
def test_every_mechanism_has_a_table_of_coefficients_or_refuses_before_it_spends(tmp_path, name, model, delta):
    ledger = dplr.Ledger(tmp_path / "ledger.db", eps=10, delta=1e-3)
    y, eps = target_of(model), math.inf if name == "none" else 2.0
    delta = 0.0 if name == "none" else delta
    options = {"eps": eps, "delta": delta, "mechanism": name, "model": model, "bounds": bounds_of(model)}
    needs_delta = name == "score" or model in ("huber", "poisson")
    if (name, model) in HAVE and (delta or not needs_delta):
        est = dplr.fit(TABLE, y, aim="coefficients", ledger=ledger, **options)
        assert 'aim = "coefficients"' in est.privacy_.solution
        assert [line.name for line in est.summary().lines] == ["age", "flag", "level=b", "level=c", "(intercept)"]
        return
    with pytest.raises(ValueError, match=r'`(aim` must be "prediction"|delta` must be positive|model` must be)'):
        dplr.fit(TABLE, y, aim="coefficients", ledger=ledger, **options)
    assert ledger.remaining() == (10, 1e-3)


def taken(delta=0.0, bounds=LOGISTIC, n_rows=N, eps=1.0, **options):
    return dplr.plan(bounds=bounds, n_rows=n_rows, eps=eps, delta=delta, aim="coefficients", **options).statement


def test_auto_takes_the_mechanism_with_the_best_table_by_public_facts():
    wide = dplr.Bounds({f"x{j}": (0, 1) for j in range(30)}, target=("no", "yes"))
    assert taken().mechanism == "objective"
    assert taken(1e-6, n_rows=500_000).mechanism == "objective"  # few columns: pure noise is smaller
    assert taken(1e-6, bounds=wide).mechanism == "score"
    assert taken(bounds=wide).mechanism == "objective"
    for delta in (0.0, 1e-6):
        assert taken(delta, bounds=LINEAR, model="linear").mechanism == "fm"
        assert "squared residuals" in taken(delta, bounds=LINEAR, model="linear").calibration
        assert taken(delta, bounds=with_numbers(LOGISTIC, 1, 2.0)).mechanism in ("objective", "score")
        assert taken(delta, person="id").mechanism == ("score" if delta else "fm")
        assert taken(delta, bounds=THREE).mechanism in ("objective", "score")
    assert taken(1e-6, n_rows=None, neighbouring="add_remove").mechanism == "score"
    assert taken(n_rows=None, neighbouring="add_remove").mechanism == "fm"


def test_what_has_no_table_is_refused_by_name():
    for options, said in (
        ({"person": "id", "mechanism": "objective"}, '`aim` must be "prediction" with mechanism="objective"'),
        ({"model": "svm"}, '`aim` must be "prediction" with model="svm"'),
        ({"bounds": COUNTS, "model": "poisson"}, '`aim` must be "prediction" with model="poisson" and delta=0'),
        ({"bounds": THREE, "mechanism": "fm"}, 'with mechanism="fm" and more than two classes'),
        ({"mechanism": "ngd", "delta": 1e-6}, '`aim` must be "prediction" with mechanism="ngd"'),
        ({"mechanism": "output"}, '`aim` must be "prediction" with mechanism="output"'),
        ({"mechanism": dplr.ObjectivePerturbation(cut=0.5)}, '`aim` must be "prediction" with mechanism="objective"'),
    ):
        with pytest.raises(ValueError, match=said.replace("(", r"\(")):
            taken(**options)


@pytest.mark.parametrize("model", ["linear", "logistic"])
def test_persons_have_the_table_of_moments(model):
    statement = taken(model=model, bounds=LINEAR if model == "linear" else LOGISTIC, person="id")
    assert statement.mechanism == "fm"
    assert "squares of the persons' scores" in statement.calibration


@pytest.mark.parametrize("eps", [1e-7, 1e7])
def test_an_eps_or_delta_that_is_out_of_range_is_said_and_not_taken_for_a_lack_of_intervals(eps):
    with pytest.raises(ValueError, match="`delta` must be 0 or above 2\\^-64"):
        taken(1e-25, eps=eps)
    assert taken(eps=eps).mechanism == "objective"


def test_what_a_user_set_stays():
    spec = dplr.FunctionalMechanism(approximation="taylor")
    assert "the taylor quadratic in place of the logistic loss" in taken(mechanism=spec).solution
    with pytest.raises(ValueError, match="unequal variances"):
        taken(mechanism=dplr.FunctionalMechanism(intervals="off"))
    assert taken(mechanism=dplr.ObjectivePerturbation(coef_norm=1.0)).mechanism == "objective"


def test_a_delta_that_pure_log_odds_do_not_need_is_not_stated():
    assert taken(1e-6, mechanism="objective").delta == 2.0**-64
    with pytest.raises(ValueError, match="`delta` must be 0 or above 2\\^-64"):
        taken(1e-25, mechanism="objective")
    with pytest.raises(ValueError, match='`noise` must be "smaller"'):
        taken(1e-6, mechanism=dplr.ObjectivePerturbation(noise="gaussian"))


def test_searches_and_many_fits_know_the_aim():
    model = dplr.LogisticRegression(eps=8.0, bounds=LOGISTIC, aim="coefficients")
    search = dplr.PrivateSearch(model, {"l2": ["auto", 1e-4]})
    assert "(intercept)" in str(search.fit(TABLE, LABEL).best_estimator_.summary())
    many = dplr.fit_many(TABLE, NUMBER, eps=[0.5, 1.0], model="linear", bounds=LINEAR, aim="coefficients")
    assert all("squared residuals" in est.privacy_.calibration for est in many)


@pytest.mark.parametrize("mechanism", ["score", "objective"])
def test_contrasts_of_a_block_are_those_that_a_declared_reference_gives(mechanism):
    delta = 1e-6 if mechanism == "score" else 0.0
    tables = [
        dplr.fit(
            TABLE, LABEL, eps=math.inf, delta=delta, bounds=dplr.Bounds(columns, target=("no", "yes")),
            mechanism=mechanism, aim="coefficients",
        ).summary()
        for columns in (COLUMNS, REFERENCED)
    ]  # fmt: skip
    full, referenced = ({line.name: line for line in table.lines} for table in tables)
    assert tables[0].references == tables[1].references == {"level": "a"}
    assert list(full) == list(referenced)
    for name, line in full.items():
        other = referenced[name]
        assert [line.low, line.high] == pytest.approx([other.low, other.high], abs=0.05 * other.std_error)


@pytest.mark.parametrize(("mechanism", "delta"), [("score", 1e-6), ("objective", 0.0)])
def test_contrasts_of_a_block_do_not_depend_on_where_the_release_was_made_along_the_block(mechanism, delta):
    est = dplr.fit(TABLE, LABEL, eps=8.0, delta=delta, bounds=LOGISTIC, mechanism=mechanism, aim="coefficients")
    subject = est._subject(None)
    reading = subject.equations[0].reading
    assert len(reading.vector) == len(subject.names) == len(est.coef_[0])  # five of six: one level is left out
    shown = {line.name: line.estimate for line in est.summary().lines}
    coef = dict(zip(est.coef_names_, est.coef_[0], strict=True))
    for level in ("b", "c"):
        assert shown[f"level={level}"] == pytest.approx(coef[f"level={level}"] - coef["level=a"], abs=0.3)


@pytest.mark.parametrize(("model", "delta"), list(itertools.product(["linear", "logistic"], [0.0, 1e-6])))
def test_the_command_line_fits_for_coefficients_and_prints_the_table(tmp_path, monkeypatch, model, delta):
    monkeypatch.chdir(tmp_path)
    TABLE.assign(target=target_of(model)).to_csv("rows.csv", index=False)
    bounds_of(model).to_toml("bounds.toml")
    fit = ["fit", "rows.csv", "--bounds", "bounds.toml", "--target", "target", "--model", model, "--eps", "3",
           "--delta", str(delta), "--aim", "coefficients", "-o", "model.json"]  # fmt: skip
    done = CliRunner().invoke(main, fit)
    assert done.exit_code == 0, done.output
    done = CliRunner().invoke(main, ["summary", "model.json", "-o", "table.json"])
    assert done.exit_code == 0, done.output
    lines = json.loads((tmp_path / "table.json").read_text())["lines"]
    assert [line["name"] for line in lines] == ["age", "flag", "level=b", "level=c", "(intercept)"]
    assert all(math.isfinite(line["low"]) for line in lines)


def test_the_command_line_refuses_before_it_spends(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    TABLE.assign(target=LABEL).to_csv("rows.csv", index=False)
    LOGISTIC.to_toml("bounds.toml")
    dplr.Ledger("ledger.db", eps=1, delta=1e-3)
    fit = ["fit", "rows.csv", "--bounds", "bounds.toml", "--target", "target", "--eps", "1", "--mechanism", "output",
           "--aim", "coefficients", "-o", "model.json", "--ledger", "ledger.db"]  # fmt: skip
    done = CliRunner().invoke(main, fit)
    assert done.exit_code != 0
    assert '`aim` must be "prediction" with mechanism="output"' in done.output
    assert dplr.Ledger("ledger.db").remaining() == (1, 1e-3)


@pytest.mark.parametrize("neighbouring", ["replace_one", "add_remove"])
@pytest.mark.parametrize(("model", "mechanism"), [("linear", "auto"), ("logistic", "fm"), ("logistic", "auto")])
def test_a_table_of_levels_alone_is_planned_and_fitted(neighbouring, model, mechanism):
    X = TABLE[["level"]]
    bounds = dplr.Bounds({"level": COLUMNS["level"]}, target=bounds_of(model).target)
    facts = {"eps": 3.0, "neighbouring": neighbouring, "bounds": bounds, "aim": "coefficients", "mechanism": mechanism}
    assert dplr.plan(n_rows=len(X), model=model, **facts).outlook is not None
    table = dplr.fit(X, target_of(model), model=model, **facts).summary()
    assert [line.name for line in table.lines] == ["level=b", "level=c", "(intercept)"]


@pytest.mark.parametrize(("model", "delta"), list(itertools.product(["linear", "logistic"], [0.0, 1e-6])))
def test_the_command_line_makes_the_table_of_python_from_the_same_noise(tmp_path, monkeypatch, model, delta):
    """So the coverage of one is that of the other."""
    monkeypatch.chdir(tmp_path)
    TABLE.assign(target=target_of(model)).to_parquet("rows.parquet")
    bounds_of(model).to_toml("bounds.toml")
    fit = ["fit", "rows.parquet", "--bounds", "bounds.toml", "--target", "target", "--model", model, "--eps", "3",
           "--delta", str(delta), "--aim", "coefficients", "-o", "model.json"]  # fmt: skip
    monkeypatch.setattr(noise, "_operating_system", np.random.default_rng(11).bytes)
    assert CliRunner().invoke(main, fit).exit_code == 0
    assert CliRunner().invoke(main, ["summary", "model.json", "-o", "table.json"]).exit_code == 0
    monkeypatch.setattr(noise, "_operating_system", np.random.default_rng(11).bytes)
    facts = {"eps": 3, "delta": delta, "model": model, "bounds": bounds_of(model), "aim": "coefficients"}
    ends = dplr.fit(TABLE, target_of(model), **facts).conf_int()
    lines = json.loads((tmp_path / "table.json").read_text())["lines"]
    assert {line["name"]: (line["low"], line["high"]) for line in lines} == {name: tuple(ends[name]) for name in ends}
