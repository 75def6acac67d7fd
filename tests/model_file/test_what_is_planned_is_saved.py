"""Whatever a fit can plan, its file holds: every mechanism by unit, delta and model, in Python and by command."""

import itertools

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import dplr
from declared_units import declared
from dplr.bounds.declared import with_numbers
from dplr.cli import main
from dplr.estimators import _base
from dplr.model_file import encode_model

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")
MECHANISMS = ("auto", "fm", "objective", "output", "ngd", "score")
UNITS = {
    "rows": {},
    "persons": {"person": "id"},
    "some rows of persons": {"person": "id", "rows_per_person": 2},
    "weights": {"sample_weight": "w", "weight_max": 3},
}
TARGETS = {
    "two": ("logistic", ("no", "yes")),
    "three": ("logistic", ("a", "b", "c")),
    "linear": ("linear", (0, 90)),
    "huber": ("huber", (0, 90)),
    "svm": ("svm", ("no", "yes")),
    "poisson": ("poisson", (0, 9)),
}


def made(target, n=240):
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"age": rng.integers(18, 99, n), "kind": rng.choice(["p", "q"], n)})
    if target in ("two", "svm"):
        y = np.where(table.age > 60, "yes", "no")
    elif target == "three":
        y = np.array(["a", "b", "c"])[(table.age.to_numpy() // 30) % 3]
    else:
        y = (table.age / 10 if target == "poisson" else table.age).round().to_numpy(float)
    return table.assign(id=np.arange(n) // 2, w=rng.uniform(0, 2, n)), y


def bounds_of(target):
    return dplr.Bounds({"age": (18, 99), "kind": {"levels": ["p", "q"]}}, target=TARGETS[target][1])


def options_of(target, unit, delta, mechanism):
    return {"mechanism": mechanism, "eps": 1.0, "delta": delta, "model": TARGETS[target][0], **UNITS[unit]}


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("unit", UNITS)
def test_a_model_of_every_plan_is_saved_and_read_and_kept_for_recover(target, unit, tmp_path, monkeypatch):
    foreseen, sizes, honest = [], [], _base.blank
    monkeypatch.setattr(_base, "blank", lambda *given: foreseen.append(honest(*given)) or foreseen[-1])

    def keep(est):
        sizes.append(len(data := encode_model(est)))
        return data

    (table, y), bounds, fits = made(target), bounds_of(target), 0
    ledger = dplr.Ledger(tmp_path / "budget", eps=100.0, delta=1e-3, unit=UNITS[unit].get("person"))
    used = [name for name in ("id", "w") if name not in (UNITS[unit].get("person"), UNITS[unit].get("sample_weight"))]
    for mechanism, delta in itertools.product(MECHANISMS, (0.0, 1e-6)):
        options = options_of(target, unit, delta, mechanism)
        planned = {name: value for name, value in options.items() if name != "sample_weight"}
        n_rows = table.id.nunique() if "id" in UNITS[unit].values() else len(table)
        try:
            dplr.plan(n_rows=n_rows, **declared({"bounds": bounds, **planned}))
        except ValueError:
            continue  # no such mechanism: nothing is spent
        held = ledger.keeping(keep)
        est = dplr.fit(table.drop(columns=used), y, ledger=held, **declared({"bounds": bounds, **options}))
        dplr.save_model(est, tmp_path / "model.json")
        read = dplr.load_model(tmp_path / "model.json")
        assert read.privacy_ == est.privacy_
        np.testing.assert_array_equal(read.coef_, est.coef_)
        kept = ledger.recover(held.tokens[-1])
        assert kept == (tmp_path / "model.json").read_bytes(), mechanism
        assert sizes[-1] <= sizes[-2] + _base._DIGITS * foreseen[-1].size, mechanism
        fits += 1
    assert fits >= 4


@pytest.mark.parametrize("mechanism", ["fm", "objective"])
@pytest.mark.parametrize("target", ["three", "linear"])
def test_the_file_that_is_tried_is_the_same_for_any_rows(target, mechanism, tmp_path):
    """It is made before the reservation, and an error may show it: public facts alone are in it."""
    table, y = made(target)
    table = table.drop(columns=["id", "w"])
    tried = []
    for rows, values in ((table, y), (table.assign(age=18, kind="q"), np.full_like(y, y[0]))):
        files = []
        held = dplr.Ledger(tmp_path / f"{len(tried)}", eps=9.0, delta=1e-3).keeping(
            lambda est, files=files: files.append(encode_model(est)) or files[-1]
        )
        dplr.fit(rows, values, bounds=bounds_of(target), ledger=held, **options_of(target, "rows", 0.0, mechanism))
        assert len(files) == 2
        tried.append(files[0])
    assert tried[0] == tried[1]


@pytest.mark.parametrize(
    ("unit", "target"), [("rows", "three"), ("persons", "two"), ("persons", "linear"), ("weights", "two")]
)
def test_the_command_writes_a_model_of_every_plan_and_leaves_nothing_to_recover(unit, target, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table, y = made(target)
    table.assign(y=y).to_csv("people.csv", index=False)
    with_numbers(bounds_of(target), 1, 3.0 if unit == "weights" else None).to_toml("bounds.toml")
    ledger = dplr.Ledger("budget.db", eps=100.0, delta=1e-3, unit="id" if unit == "persons" else None)
    for mechanism, delta in itertools.product(MECHANISMS, ("0", "1e-6")):
        command = ["fit", "people.csv", "--target", "y", "--bounds", "bounds.toml", "--eps", "1", "-o", "model.json"]
        command += ["--overwrite", "--ledger", "budget.db", "--mechanism", mechanism, "--delta", delta]
        command += ["--model", TARGETS[target][0]]
        command += {"persons": ["--person", "id"], "weights": ["--weight", "w"]}.get(unit, [])
        before = len(ledger.entries())
        result = CliRunner().invoke(main, command)
        if result.exit_code:
            assert len(ledger.entries()) == before, result.output  # refused before anything was spent
            continue
        assert ledger.entries()[-1].state == "committed"
        assert dplr.load_model("model.json").privacy_.delta == ledger.entries()[-1].delta
        assert ledger.kept() == []


def test_the_command_recovers_a_model_of_persons_with_a_delta(tmp_path):
    table, y = made("two")
    ledger = dplr.Ledger(tmp_path / "budget.db", eps=1.0, delta=1e-6, unit="id")
    held = ledger.keeping(encode_model)
    est = dplr.fit(table.drop(columns="w"), y, bounds=bounds_of("two"), ledger=held, person="id", eps=0.5, delta=1e-7)
    assert ledger.kept() == [1]
    output = tmp_path / "model.json"
    result = CliRunner().invoke(main, ["ledger", "recover", str(tmp_path / "budget.db"), "1", "-o", str(output)])
    assert result.exit_code == 0, result.output
    assert dplr.load_model(output).privacy_ == est.privacy_


@pytest.mark.parametrize("paid", [True, False])
def test_the_command_refuses_a_model_that_its_file_cannot_hold_before_it_spends(paid, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table, y = made("two")
    table.assign(y=y).to_csv("people.csv", index=False)
    bounds_of("two").to_toml("bounds.toml")
    ledger, drawn = dplr.Ledger("budget.db", eps=1.0), []
    monkeypatch.setattr("dplr.model_file.state.write_statement", lambda _: {"nothing": "that is read"})
    monkeypatch.setattr("dplr.noise.Source._sampler", property(lambda _: drawn.append("noise")))
    command = ["fit", "people.csv", "--target", "y", "--bounds", "bounds.toml", "--eps", "1", "-o", "model.json"]
    result = CliRunner().invoke(main, [*command, *(["--ledger", "budget.db"] if paid else [])])
    assert result.exit_code == 3
    assert "the model could not be kept" in result.output
    assert "Nothing was spent" in result.output
    assert (drawn, ledger.entries()) == ([], [])
    assert not (tmp_path / "model.json").exists()


@pytest.mark.parametrize("mechanism", ["fm", "output", "score", dplr.NoisyGradientDescent(ranges="on")], ids=str)
def test_models_of_classes_are_saved_where_noise_drowns_them(mechanism, tmp_path):
    """A share of mu at a share of delta costs more eps than all of mu at all of delta, where eps is small."""
    table, y = made("three")
    eps = 1e-4 if isinstance(mechanism, str) else 1e-3
    options = {"mechanism": mechanism, "eps": eps, "delta": 1e-3, "bounds": bounds_of("three")}
    est = dplr.fit(table.drop(columns=["id", "w"]), y, **options)
    assert est._record.plan.statement.eps > eps or mechanism == "fm"
    dplr.save_model(est, tmp_path / "model.json")
    assert dplr.load_model(tmp_path / "model.json").privacy_ == est.privacy_


@pytest.mark.parametrize(
    "options", [{"mechanism": dplr.ObjectivePerturbation(intervals="on")}, {"person": "id"}], ids=str
)
def test_models_without_noise_are_saved_whether_or_not_their_mechanism_states_the_delta(options, tmp_path):
    table, y = made("two")
    options = {"mechanism": "objective", "eps": np.inf, "delta": 1e-4, "bounds": bounds_of("two")} | options
    est = dplr.fit(table.drop(columns=["w"] if "person" in options else ["id", "w"]), y, **declared(options))
    dplr.save_model(est, tmp_path / "model.json")
    assert dplr.load_model(tmp_path / "model.json").privacy_ == est.privacy_


# --- whether a plan can be saved is asked before anything is reserved, and once


@pytest.fixture
def asked(monkeypatch):
    """The coefficients of the models whose files are made."""
    models, honest = [], _base._encode
    monkeypatch.setattr(_base, "_FILED", [])
    monkeypatch.setattr(_base, "_encode", lambda est: models.append(est.coef_) or honest(est))
    return models


def test_a_fit_that_a_ledger_pays_is_refused_if_no_file_could_hold_its_model(tmp_path, monkeypatch):
    table, y = made("two")
    monkeypatch.setattr("dplr.model_file.state.write_statement", lambda _: {"nothing": "that is read"})
    monkeypatch.setattr(_base, "_FILED", [])
    ledger = dplr.Ledger(tmp_path / "budget", eps=1.0)
    for fit in (dplr.fit, lambda *rows, eps, **options: dplr.fit_many(*rows, eps=[0.2, eps], **options)):
        with pytest.raises(ValueError, match=r"the model could not be kept: .* Nothing was spent"):
            fit(table[["age"]], y, eps=0.5, bounds=dplr.Bounds({"age": (18, 99)}, target=("no", "yes")), ledger=ledger)
    assert ledger.entries() == []


def test_equal_plans_are_asked_once_and_others_by_themselves(asked, tmp_path):
    table, y = made("three")
    options = {"bounds": bounds_of("three"), "mechanism": "fm", "ledger": dplr.Ledger(tmp_path / "budget", eps=9.0)}
    rows = table[["age", "kind"]]
    for eps in (0.5, 0.5, 0.25, 0.5):
        dplr.fit(rows, y, eps=eps, **options)
    dplr.fit(rows[::-1], y[::-1], eps=0.25, **options)
    assert len(asked) == 2
    assert not np.any(asked)
    dplr.fit_many(rows, y, eps=[0.25, 0.125], **options)
    dplr.fit(
        rows,
        y,
        eps=0.25,
        **options | {"bounds": dplr.Bounds({"age": (0, 99), "kind": {"levels": ["p", "q"]}}, target=("a", "b", "c"))},
    )
    assert len(asked) == 4
    dplr.fit(rows, y, eps=0.3, **options | {"ledger": None})
    assert len(asked) == 4


def test_a_model_of_a_users_class_or_too_large_for_a_file_is_paid_for_all_the_same(asked, tmp_path, monkeypatch):
    class Own(dplr.LogisticRegression):
        pass

    table, y = made("two")
    ledger = dplr.Ledger(tmp_path / "budget", eps=9.0)
    Own(bounds=dplr.Bounds({"age": (18, 99)}, target=("no", "yes")), ledger=ledger).fit(table[["age"]], y)
    monkeypatch.setattr(_base, "MOST_BYTES", 10)
    dplr.fit(table[["age"]], y, eps=0.5, bounds=dplr.Bounds({"age": (18, 99)}, target=("no", "yes")), ledger=ledger)
    assert [entry.state for entry in ledger.entries()] == ["committed"] * 2
    assert asked == []


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("eps", [1e-5, 1e-4, 0.01])
def test_models_of_three_labels_are_saved_where_each_has_a_larger_eps_at_its_delta_than_all_at_theirs(mechanism, eps):
    table, y = made("three", 60)
    est = dplr.fit(
        table[["age"]],
        y,
        eps=eps,
        delta=1e-4,
        mechanism=mechanism,
        bounds=dplr.Bounds({"age": (18, 99)}, target=TARGETS["three"][1]),
    )
    assert encode_model(est)
