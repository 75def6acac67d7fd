"""Model files: what comes back is what was saved, bit for bit; nothing else gets in; nothing broken gets out."""

import hashlib
import json
import math
import os
import pathlib
import re
import threading
import tracemalloc
import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline

import dplr
import mutations
from dplr.model_file import file as model_file

MODELS = [*range(9), 10, 11]


@pytest.fixture(scope="module")
def fitted():
    return mutations.models()


def path_of(folder, name="model.json"):
    return pathlib.Path(folder, name)


def saved(est, folder):
    dplr.save_model(est, path_of(folder))
    return path_of(folder)


def rewritten(path, change):
    """The file with a changed model and the hash that belongs to it."""
    model = json.loads(path.read_text())["model"]
    change(model)
    path.write_bytes(mutations.with_hash(model))
    return path


def refusal(path):
    with pytest.raises(dplr.model_file.ModelFileError) as caught:
        dplr.load_model(path)
    text = str(caught.value)
    assert isinstance(caught.value, ValueError)
    assert text.startswith(f"`{path}`: `"), text
    assert "; got " in text, text
    assert text.endswith("."), text
    assert len(text) < 1000
    return text


def rows_of(est):
    if est.bounds is not None and est.bounds.names is not None:
        return mutations.weighted()
    X = mutations.table()[["age", "school"]] / 100
    return X if hasattr(est, "feature_names_in_") else X.to_numpy()


# --- the way there and back


@pytest.mark.parametrize("which", MODELS)
def test_a_loaded_model_is_the_saved_one_bit_for_bit(fitted, which, tmp_path):
    est = fitted[which]
    got = dplr.load_model(saved(est, tmp_path))
    X = rows_of(est)
    assert type(got) is type(est)
    for method in ("predict", "predict_proba", "predict_log_proba", "decision_function"):
        if hasattr(est, method):
            expected, found = getattr(est, method)(X), getattr(got, method)(X)
            assert_array_equal(found, expected, strict=True)
    assert got.score(X, est.predict(X)) == est.score(X, est.predict(X))
    assert got.coef_names_ == est.coef_names_
    assert got.privacy_ == est.privacy_
    assert str(got.privacy_) == str(est.privacy_)
    assert got.privacy_.reproducible
    assert list(got.released_) == list(est.released_)
    for name, block in est.released_.items():
        assert_array_equal(got.released_[name], block, strict=True)


def histories(est):
    return list(est.history_.items()) if isinstance(est.history_, dict) else [(None, est.history_)]


@pytest.mark.parametrize("which", [3, 7])
def test_histories_come_back(fitted, which, tmp_path):
    est = fitted[which]
    got = dplr.load_model(saved(est, tmp_path))
    assert len(histories(est)) == (1 if which == 3 else 3)
    for (label, one), (other_label, other) in zip(histories(est), histories(got), strict=True):
        assert label == other_label
        for name in ("gradients", "coefs", "intercepts"):
            assert_array_equal(getattr(other, name), getattr(one, name), strict=True)
        assert other.public_loss is one.public_loss is None


def test_a_history_on_public_data_comes_back(tmp_path):
    X = rows_of(mutations.models()[0])
    public = (X[:50], X[:50, 0] > 0.5)
    est = dplr.fit(X[50:], X[50:, 0] > 0.5, eps=2.0, delta=1e-6, mechanism="ngd", public=public)
    got = dplr.load_model(saved(est, tmp_path))
    assert_array_equal(got.history_.public_loss, est.history_.public_loss)
    assert got.public is None


FM = [
    {},
    {"mechanism": dplr.FunctionalMechanism(approximation="stein")},
    {"mechanism": dplr.FunctionalMechanism(calibration="paper")},
    {"delta": 1e-6, "fit_intercept": False},
    {"neighbouring": "add_remove"},
    {"public": "data"},
    {"model": "linear"},
]


@pytest.mark.parametrize("options", FM, ids=str)
@pytest.mark.parametrize("again", [{}, {"approximation": "taylor"}, {"l2": 0.5}], ids=str)
def test_refits_of_a_loaded_model_are_those_of_the_saved_one(options, again, tmp_path):
    X = mutations.table()
    y = np.where(X["age"] > 50, "yes", "no")
    target = ("no", "yes")
    if options.get("model") == "linear":
        y, target = X["age"].to_numpy(), {"lower": 18, "upper": 99}
    if options.get("public"):
        options = options | {"public": (X[10:60], y[10:60])}
    if options.get("neighbouring") and "l2" in again:
        options = options | {"n_rows": 1000}
    bounds = dplr.Bounds(mutations.NAMED, target=target)
    est = dplr.fit(X, y, **{"eps": 3.0, "mechanism": "fm", "bounds": bounds} | options)
    got = dplr.load_model(saved(est, tmp_path))
    one, other = est.refit(**again), got.refit(**again)
    assert_array_equal(other.coef_, one.coef_)
    assert_array_equal(other.intercept_, one.intercept_)
    assert other.privacy_ == one.privacy_
    assert dplr.load_model(saved(other, tmp_path)).privacy_ == one.privacy_


@pytest.mark.parametrize("which", [5])
def test_refits_of_a_loaded_model_of_three_classes_are_those_of_the_saved_one(fitted, which, tmp_path):
    est = fitted[which]
    got = dplr.load_model(saved(est, tmp_path))
    assert_array_equal(got.refit(l2=1.0).coef_, est.refit(l2=1.0).coef_)


def test_a_refit_of_the_printed_calibration_knows_that_it_released_every_cell():
    X = mutations.table()
    y = np.where(X["age"] > 50, "yes", "no")
    printed = dplr.FunctionalMechanism(calibration="paper")
    est = dplr.fit(X, y, eps=3.0, bounds=dplr.Bounds(mutations.NAMED, target=("no", "yes")), mechanism=printed)
    assert_array_equal(est.refit().coef_, est.coef_)


@pytest.mark.parametrize(
    "labels",
    [[1, 2], [1.5, -2.5], [True, False], [2**60, 2**61], ["no", "yes"], ["ä", "\U0001f600"], ["", " "]],
    ids=repr,
)
@pytest.mark.parametrize("kind", [None, object])
def test_labels_keep_their_types(labels, kind, tmp_path):
    X = rows_of(mutations.models()[0])
    y = np.array(labels)[(X[:, 0] > 0.5).astype(int)]
    y = y if kind is None else y.astype(kind)
    est = dplr.fit(X, y, eps=5.0, classes=labels)
    got = dplr.load_model(saved(est, tmp_path))
    assert_array_equal(got.predict(X), est.predict(X), strict=True)
    assert [type(label) for label in got.classes_.tolist()] == [type(label) for label in sorted(labels)]


@pytest.mark.parametrize("dtype", ["int8", "uint8", "float32", "bool"])
def test_conventional_labels_keep_the_type_of_their_array(dtype, tmp_path):
    X = rows_of(mutations.models()[0])
    est = dplr.fit(X, (X[:, 0] > 0.5).astype(dtype), eps=5.0)
    assert_array_equal(dplr.load_model(saved(est, tmp_path)).predict(X), est.predict(X), strict=True)


def test_a_loaded_model_can_be_cloned_and_fitted_like_any_other(fitted, tmp_path):
    est = fitted[1]
    got = dplr.load_model(saved(est, tmp_path))
    X = rows_of(est)
    again = clone(got).fit(X, np.where(X["age"] > 50, "yes", "no"))
    assert not again.privacy_.reproducible
    expected = est.get_params() | {"rng": None}
    found = got.get_params()
    assert found == expected


def test_saving_twice_writes_the_same_bytes_and_so_does_a_loaded_model(fitted, tmp_path):
    for est in fitted:
        first = saved(est, tmp_path).read_bytes()
        assert saved(dplr.load_model(path_of(tmp_path)), tmp_path).read_bytes() == first


def test_eps_infinity_is_a_word(tmp_path):
    X = rows_of(mutations.models()[0])
    est = dplr.fit(X, X[:, 0] > 0.5, eps=math.inf, mechanism="none")
    path = saved(est, tmp_path)
    assert json.loads(path.read_text())["model"]["parameters"]["eps"] == "inf"
    assert dplr.load_model(path).privacy_ == est.privacy_


# --- what a file holds, and what it never holds

KEYS = {
    "estimator", "parameters", "bounds", "n_features", "feature_names", "column_names", "coef_names", "target_name",
    "half_width", "n_rows", "start", "classes", "coef", "intercept", "statement", "statement_of_one", "ranges",
    "released", "history",
}  # fmt: skip
PARAMETERS = {"eps", "delta", "mechanism", "fit_intercept", "l2", "neighbouring", "n_rows"}


@pytest.mark.parametrize("which", MODELS)
def test_a_file_has_these_keys_and_no_other(fitted, which, tmp_path):
    est = fitted[which]
    whole = json.loads(saved(est, tmp_path).read_text())
    assert set(whole) == {"format", "version", "sha256", "model"}
    model = whole["model"]
    further = {"weight_column": est.privacy_.unit.weight_max, "link": est._record.link.share}
    assert set(model) - KEYS == {key for key, value in further.items() if value}
    assert set(model) >= KEYS
    own = {"LinearRegression": set(), "LogisticRegression": {"classes"}, "HuberSVC": {"classes", "width"}}
    assert set(model["parameters"]) == PARAMETERS | own[model["estimator"]]
    unit = set() if est.privacy_.unit.weighted else {"unit"}
    assert set(model["statement"]) == set(est.privacy_.__slots__) - unit - {"uncovered"}  # which it has where not empty
    blocks = {block["block"] for part in model["released"] for block in part}
    assert blocks <= set(est.released_) | {name.partition("[")[0] for name in est.released_}
    for history in model["history"] or []:
        assert set(history) == {"coefs", "intercepts", "public_loss"}


@pytest.mark.parametrize("which", MODELS)
def test_a_reader_without_dplr_knows_what_each_coefficient_is_of(fitted, which, tmp_path):
    est = fitted[which]
    model = json.loads(saved(est, tmp_path).read_text())["model"]
    found = dict(zip(model["coef_names"], np.transpose(model["coef"]).tolist(), strict=True))
    assert found == {name: np.atleast_1d(coef).tolist() for name, coef in est.named_coef_.items()}


def test_names_that_contradict_the_columns_are_refused_in_a_sentence(fitted, tmp_path):
    path = rewritten(saved(fitted[1], tmp_path), lambda m: m["coef_names"].reverse())
    assert "`model.coef_names` must be those of bounds and columns, in their order" in refusal(path)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"share": 1.0}, "`model.link.share` must be below 1 with eps = "),
        ({"turn": 1000.0, "bend": 0.5}, "`model.link.turn` must be"),
        ({"turn": 40.0, "bend": 0.5}, "`model.link.bend` must be 0 or that of a soft cut at turn = 40"),
        ({"bend": 0.25}, "`model.link.bend` must be 0 or that of a soft cut"),
        ({"share": 0.9999999999}, "`model.link.share` must be that of the mechanism and its noise, "),
        ({"turn": -0.25}, "`model.link.turn` must be that of the mechanism and its noise, "),
    ],
)
def test_a_link_that_no_mechanism_makes_is_refused(fitted, tmp_path, change, said):
    est = next(each for each in fitted if each._record.link.share)
    path = rewritten(saved(est, tmp_path), lambda m: m["link"].update(change))
    assert said in refusal(path)


def cut_model(mechanism, bounds=None, **options):
    X = np.random.default_rng(0).uniform(-0.5, 0.5, (4000, 2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return dplr.fit(X, X[:, 0] > 0, mechanism=mechanism, bounds=bounds, **{"eps": 1.0, "classes": [0, 1]} | options)


LINKED = {
    "objective": (dplr.ObjectivePerturbation(cut=0.5), {}),
    "objective, planned": (dplr.ObjectivePerturbation(cut="auto"), {}),
    "objective, without noise": (dplr.ObjectivePerturbation(cut=0.5), {"eps": math.inf}),
    "objective, Gaussian": (dplr.ObjectivePerturbation(cut=0.5, noise="gaussian"), {"delta": 1e-6}),
    "ngd": ("ngd", {"delta": 1e-6}),
    "ngd, without noise": (dplr.NoisyGradientDescent(clip=0.5), {"delta": 1e-6, "eps": math.inf}),
    "ngd, as rows are": (dplr.NoisyGradientDescent(standardise="off"), {"delta": 1e-6}),
    "ngd, per-step": (dplr.NoisyGradientDescent(composition="per-step", steps=5), {"delta": 1e-6}),
    "ngd, just below 1": (dplr.NoisyGradientDescent(standardise="off", clip=1 - 1e-9), {"delta": 1e-6}),
    "ngd, drowned": ("ngd", {"delta": 1e-6, "eps": 1e-3}),
    "ngd, drowned as rows are": (dplr.NoisyGradientDescent(standardise="off"), {"delta": 1e-6, "eps": 1e-4}),
    "ngd, a drowned short clip": (dplr.NoisyGradientDescent(clip=2.0**-18), {"delta": 1e-6, "eps": 1e-3}),
}


@pytest.mark.parametrize("neighbouring", ["replace_one", "add_remove"])
@pytest.mark.parametrize("name", LINKED)
def test_a_link_is_that_of_the_mechanism_and_its_noise(name, neighbouring, tmp_path):
    mechanism, options = LINKED[name]
    bounds = dplr.Bounds([(-0.5, 0.5)] * 2)
    est = cut_model(mechanism, bounds, neighbouring=neighbouring, n_rows=4000, **options)
    path, link = saved(est, tmp_path), est._record.link
    assert link.share
    assert dplr.load_model(path)._record.link == link
    turn = abs(link.turn) + 0.1
    bend = link.bend and 1 / (2 + math.exp(-turn))
    rewritten(path, lambda m: m["link"].update(turn=turn, bend=bend))
    assert "`model.link.turn` must be that of the mechanism and its noise" in refusal(path)


@pytest.mark.parametrize("mechanism", ["fm", "output", dplr.ObjectivePerturbation(cut=None), "score"], ids=str)
def test_a_mechanism_without_a_link_has_none_in_a_file(mechanism, tmp_path):
    est = cut_model(mechanism, dplr.Bounds([(-0.5, 0.5)] * 2), delta=1e-6 if mechanism == "score" else 0.0)
    path = rewritten(saved(est, tmp_path), lambda m: m.update(link={"share": 0.5, "turn": 0.0, "bend": 0.0}))
    assert "`model.link` must be absent with this mechanism and its noise" in refusal(path)


def test_an_older_file_without_a_link_keeps_loading(tmp_path):
    path = rewritten(saved(cut_model(dplr.ObjectivePerturbation(cut=0.5)), tmp_path), lambda m: m.pop("link"))
    assert not dplr.load_model(path)._record.link.share


OBJECTIVE_CHANGES = {
    "the delta of the solver gone": lambda m, said: said.update(delta=0.0, guarantee={"kind": "Pure", "eps": 1.0}),
    "more of it": lambda m, said: (said.update(delta=2.0**-63), said["guarantee"].update(delta=2.0**-63)),
    "less of it": lambda m, said: (said.update(delta=2.0**-65), said["guarantee"].update(delta=2.0**-65)),
    "it was asked for": lambda m, said: m["parameters"].update(delta=2.0**-64),
    "a delta that was not asked for": lambda m, said: (said.update(delta=1e-6), said["guarantee"].update(delta=1e-6)),
    "Gaussian noise": lambda m, said: [
        block.update(law="Gaussian in the objective") for block in said["released"]
    ],
}  # fmt: skip


@pytest.mark.parametrize("classes", [(0, 1), (0, 1, 2)], ids=len)
def test_a_file_of_objective_perturbation_states_the_delta_of_its_solver_for_every_model(classes, tmp_path):
    X = np.random.default_rng(0).uniform(0, 0.5, (500, 2))
    est = dplr.fit(X, np.arange(500) % len(classes), eps=1.0, mechanism="objective", classes=classes)
    whole = (1 if len(classes) == 2 else 3) * 2.0**-64
    path = saved(est, tmp_path)
    other = dplr.load_model(path)
    assert other.privacy_ == est.privacy_
    assert (other.delta, other.privacy_.delta) == (0.0, whole)
    for name, change in OBJECTIVE_CHANGES.items():
        refused = refusal(rewritten(saved(est, tmp_path), lambda m, change=change: change(m, m["statement"])))
        assert "delta" in refused or "law" in refused or "released" in refused, name
    if len(classes) == 3:
        first = OBJECTIVE_CHANGES["the delta of the solver gone"]
        refused = refusal(rewritten(saved(est, tmp_path), lambda m: (
            first(m, m["statement_of_one"]), m["statement_of_one"]["guarantee"].update(eps=m["statement_of_one"]["eps"])
        )))  # fmt: skip
        assert "statement_of_one.delta` must be at least 2^-64 with this mechanism" in refused


def test_a_file_of_objective_perturbation_with_a_delta_states_that_one(tmp_path):
    X = np.random.default_rng(0).uniform(0, 0.5, (500, 2))
    kept = dplr.ObjectivePerturbation(noise="gaussian")
    est = dplr.fit(X, np.arange(500) % 2, eps=1.0, delta=1e-6, mechanism=kept, classes=(0, 1))
    assert dplr.load_model(saved(est, tmp_path)).privacy_.delta == 1e-6
    refusal(rewritten(saved(est, tmp_path), lambda m: m["parameters"].update(delta=0.0)))


CANARY = 0.7234567890123456
ROWS = 2741


@pytest.mark.parametrize("mechanism", ["fm", "output", "objective", "ngd", "score"])
def test_nothing_private_is_in_a_file(mechanism, tmp_path):
    rng = np.random.default_rng(11)
    X = rng.uniform(0, 1, (ROWS, 3))
    X[:7] = CANARY
    frame = pd.DataFrame(X, columns=["one", "two", "three"])
    y = np.where(X[:, 0] > 0.3, "yes", "no")
    public = frame[:31] * 0 + rng.uniform(0, 1, (31, 3))
    public.iloc[0, 0] = 0.8123456789012345
    ledger = dplr.Ledger(
        tmp_path / "canary-budget.db", eps=9.0, delta=0.1, neighbouring="add_remove", label="canary-label"
    )
    est = dplr.fit(
        frame, y, eps=2.0, delta=1e-6 if mechanism in ("ngd", "score") else 0.0, mechanism=mechanism,
        neighbouring="add_remove",
        n_rows=3000, classes=["no", "yes"], public=(public, y[:31]), ledger=ledger, progress=False,
        bounds=dplr.Bounds(dict.fromkeys(frame, (0, 1))),
    )  # fmt: skip
    text = saved(est, tmp_path).read_text()
    # A digest has any digits by chance.
    numbers = set(re.findall(r"[0-9.]+(?:e[-+][0-9]+)?", re.sub(r"\b[0-9a-f]{64}\b", "", text)))
    assert "3000" in numbers  # what is public is there
    for private in (CANARY, 0.8123456789012345, ROWS, float(ROWS), int((X[:, 0] > 0.3).sum()), float(X.sum())):
        assert str(private) not in numbers
    assert "canary" not in text
    assert str(tmp_path) not in text
    other = dplr.load_model(path_of(tmp_path))
    assert other.ledger is None
    assert other.public is None
    assert other.rng is None


def test_a_seed_is_not_in_a_file_but_that_there_was_one_is(tmp_path):
    X = np.random.default_rng(0).uniform(0, 0.5, (500, 2))
    with warnings.catch_warnings(action="ignore"):
        est = dplr.fit(X, X[:, 0] > 0.2, eps=1.0, rng=918273645)
    path = saved(est, tmp_path)
    assert "918273645" not in path.read_text()
    assert dplr.load_model(path).privacy_.reproducible
    assert "WARNING" in str(dplr.load_model(path).privacy_)


@pytest.mark.parametrize("mechanism", ["fm", "output", "ngd", "score"])
@pytest.mark.parametrize("seed", [None, 1])
def test_every_statement_of_many_classes_says_whether_the_noise_came_from_a_seed(tmp_path, mechanism, seed):
    X = np.random.default_rng(0).uniform(0, 0.5, (500, 2))
    y = np.arange(500) % 3
    options = {"eps": 1.0, "delta": 1e-6, "mechanism": mechanism, "classes": (0, 1, 2), "rng": seed}
    with warnings.catch_warnings(action="ignore"):
        est = dplr.fit(X, y, **options)
    path = saved(est, tmp_path)
    assert path.read_text().count('"reproducible": ' + str(seed is not None).lower()) == 2
    got = dplr.load_model(path)
    assert got._record.plan.statement.reproducible is got.privacy_.reproducible is (seed is not None)


def test_attributes_that_somebody_set_do_not_get_into_a_file(fitted, tmp_path):
    est = clone(fitted[0]).set_params(rng=None).fit(rows_of(fitted[0]), rows_of(fitted[0])[:, 0] > 0.5)
    before = saved(est, tmp_path).read_bytes()
    est.data_ = rows_of(est)
    est.released_ = {**est.released_, "rows": rows_of(est)}
    assert saved(est, tmp_path).read_bytes() == before


# --- saving


def test_only_fitted_models_are_saved(fitted, tmp_path):
    with pytest.raises(NotFittedError):
        dplr.save_model(dplr.LogisticRegression(), path_of(tmp_path))
    for other in (3, None, make_pipeline(fitted[0]), dplr.LogisticRegression):
        with pytest.raises(TypeError, match="must be one of LogisticRegression"):
            dplr.save_model(other, path_of(tmp_path))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("name", "value"),
    [("eps", 3.0), ("delta", 0.1), ("n_rows", 5), ("classes", ["a", "b"]), ("bounds", dplr.Bounds([(0, 2), (0, 1)]))],
)
def test_parameters_that_were_changed_since_the_fit_are_refused(name, value, tmp_path):
    X = rows_of(mutations.models()[0])
    est = dplr.fit(X, X[:, 0] > 0.5, eps=2.0).set_params(**{name: value})
    with pytest.raises(dplr.model_file.ModelFileError, match="as its fit left it"):
        dplr.save_model(est, path_of(tmp_path))
    assert not list(tmp_path.iterdir())


def test_numbers_that_are_not_finite_are_refused(tmp_path):
    X = rows_of(mutations.models()[0])
    est = dplr.fit(X, X[:, 0] > 0.5, eps=2.0)
    est.coef_[0, 0] = math.nan
    with pytest.raises(dplr.model_file.ModelFileError, match="finite"):
        dplr.save_model(est, path_of(tmp_path))


def test_an_earlier_model_is_replaced_and_any_other_file_is_not(fitted, tmp_path):
    path = saved(fitted[0], tmp_path)
    dplr.save_model(fitted[4], path)
    assert type(dplr.load_model(path)) is dplr.HuberSVC
    path.write_bytes(b"")
    dplr.save_model(fitted[0], path)
    for other in (b"age,income\n1,2\n", b"{}", b'{"format": "other"}', b"SQLite format 3\0"):
        path.write_bytes(other)
        with pytest.raises(FileExistsError, match="a new file or a model file"):
            dplr.save_model(fitted[0], path)
        assert path.read_bytes() == other
    with pytest.raises(FileExistsError):
        dplr.save_model(fitted[0], tmp_path)


def test_a_file_that_is_not_there_is_named_with_the_remedy(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"^`path` must name a file that exists; got .*no\.json.*Check"):
        dplr.load_model(str(tmp_path / "no.json")[-40:])


def test_a_link_keeps_pointing_and_a_missing_folder_is_the_users_to_make(fitted, tmp_path):
    path = saved(fitted[0], tmp_path)
    link = tmp_path / "link"
    link.symlink_to(path)
    dplr.save_model(fitted[4], link)
    assert link.is_symlink()
    assert type(dplr.load_model(path)) is dplr.HuberSVC
    with pytest.raises(FileNotFoundError):
        dplr.save_model(fitted[0], tmp_path / "no" / "model.json")


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_when_the_disk_fails_the_old_file_stays_and_nothing_else(fitted, tmp_path, monkeypatch, step):
    path = saved(fitted[0], tmp_path)
    before = path.read_bytes()

    def fail(*_):
        raise OSError("no space left")

    monkeypatch.setattr(model_file.os, step, fail)
    with pytest.raises(OSError, match="no space left"):
        dplr.save_model(fitted[4], path)
    monkeypatch.undo()
    assert [entry.name for entry in tmp_path.iterdir()] == ["model.json"]
    assert path.read_bytes() == before


def test_a_reader_never_sees_half_a_file(fitted, tmp_path):
    path = saved(fitted[0], tmp_path)
    seen, done = [], threading.Event()

    def read():
        while not done.is_set():
            seen.append(type(dplr.load_model(path)).__name__)

    reader = threading.Thread(target=read)
    reader.start()
    for _ in range(20):
        dplr.save_model(fitted[4], path)
        dplr.save_model(fitted[0], path)
    done.set()
    reader.join()
    assert seen
    assert set(seen) <= {"HuberSVC", "LogisticRegression"}


def test_more_numbers_than_a_file_may_hold_are_refused_when_saving(fitted, tmp_path, monkeypatch):
    monkeypatch.setattr(model_file, "MOST_BYTES", 1000)
    with pytest.raises(dplr.model_file.ModelFileError, match="must fit into"):
        dplr.save_model(fitted[0], path_of(tmp_path))


# --- broken files

BROKEN = {
    "empty": b"",
    "a space": b" ",
    "no JSON": b"hello",
    "a list": b"[]",
    "null": b"null",
    "another format": b'{"format": "pmml", "version": 1}',
    "no version": b'{"format": "dplr model"}',
    "a version that is true": b'{"format": "dplr model", "version": true}',
    "a version that is text": b'{"format": "dplr model", "version": "1"}',
    "version 0": b'{"format": "dplr model", "version": 0}',
    "a key more": b'{"format": "dplr model", "version": 1, "sha256": "", "model": {}, "x": 1}',
    "a key less": b'{"format": "dplr model", "version": 1, "model": {}}',
    "no hash": b'{"format": "dplr model", "version": 1, "sha256": null, "model": {}}',
    "UTF-16": '{"format": "dplr model"}'.encode("utf-16"),
    "invalid UTF-8": b'{"format": "dplr \xff model"}',
    "a byte order mark": b'\xef\xbb\xbf{"format": "dplr model", "version": 1}',
    "NUL": b'{"format": "dplr model", "version": 1}\0',
    "a key twice": b'{"format": "dplr model", "format": "dplr model", "version": 1}',
    "a huge number": b'{"format": "dplr model", "version": 1e400}',
    "many digits": b'{"format": "dplr model", "version": 1' + b"0" * 100_000 + b"}",
    "NaN": b'{"format": "dplr model", "version": NaN}',
    "open brackets": b"[" * 100_000,
    "closed brackets": b"[" * 100_000 + b"]" * 100_000,
    "brackets inside": b'{"format": "dplr model", "version": 1, "sha256": "", "model": '
    + b"[" * 900
    + b"]" * 900
    + b"}",
    "tables inside": b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
    "a lone surrogate": b'{"format": "dplr model", "version": 1, "sha256": "\\ud800", "model": {"\\udfff": "\\ud800"}}',
    "many keys, one twice": b"{" + b",".join(b'"%d":0' % k for k in [*range(50_000), 49_999]) + b"}",
}


@pytest.mark.parametrize("data", BROKEN.values(), ids=BROKEN)
def test_broken_files_are_refused_in_words(data, tmp_path):
    path_of(tmp_path).write_bytes(data)
    refusal(path_of(tmp_path))


@pytest.mark.parametrize("key", ["sha256", "n_features", "eps", "name"])
def test_a_key_that_occurs_twice_is_refused_even_with_one_value(fitted, key, tmp_path):
    path = saved(fitted[1], tmp_path)
    entry = re.search(rf'"{key}": [^,}}]+', path.read_text())[0]
    path.write_text(path.read_text().replace(entry, f"{entry}, {entry}", 1))
    assert "every key once" in refusal(path)


def test_newer_files_say_what_to_do(fitted, tmp_path):
    path = saved(fitted[0], tmp_path)
    path.write_text(path.read_text().replace('"version": 1', '"version": 2, "new": {}', 1))
    assert "newer dplr: upgrade" in refusal(path)


def test_every_flipped_bit_and_every_shorter_file_is_refused_or_the_same_model(fitted, tmp_path):
    path = saved(fitted[0], tmp_path)
    data = path.read_bytes()
    original = json.loads(data)["model"]
    for end in range(0, len(data) - 2, 13):
        path.write_bytes(data[:end])
        refusal(path)
    for place in range(0, len(data), 3):
        path.write_bytes(data[:place] + bytes([data[place] ^ 1 << place % 8]) + data[place + 1 :])
        assert mutations.judge_model(path, path.read_bytes(), original, place)[0] in (mutations.REFUSED, mutations.SAME)


def test_folders_pipes_and_devices_are_refused_without_waiting(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path, tmp_path / "pipe", "/dev/zero", "/dev/null"):
        assert "regular file" in refusal(path)
    with pytest.raises(FileNotFoundError):
        dplr.load_model(tmp_path / "missing")


def test_endless_files_are_refused_before_they_are_read(tmp_path):
    path = path_of(tmp_path)
    with open(path, "wb") as file:
        file.truncate(2**40)
    assert "64 MiB" in refusal(path)


CHANGES = {
    "a coefficient less": lambda m: m["coef"][0].pop(),
    "a model more": lambda m: m["coef"].append(m["coef"][0]),
    "an intercept less": lambda m: m["intercept"].pop(),
    "an integer coefficient": lambda m: m["coef"][0].__setitem__(0, 1),
    "a coefficient that is true": lambda m: m["coef"][0].__setitem__(0, True),
    "a column more": lambda m: m.__setitem__("n_features", 5),
    "a name more": lambda m: m["feature_names"].append("x"),
    "a name changed": lambda m: m["feature_names"].__setitem__(0, "x"),
    "a coefficient's name changed": lambda m: m["coef_names"].__setitem__(0, "x"),
    "a coefficient's name less": lambda m: m["coef_names"].pop(),
    "coefficients' names swapped": lambda m: m["coef_names"].reverse(),
    "coefficients' names gone": lambda m: m.__setitem__("coef_names", None),
    "a target's name that is no text": lambda m: m.__setitem__("target_name", 3),
    "names swapped": lambda m: m["feature_names"].reverse(),
    "columns swapped": lambda m: m["bounds"]["columns"].reverse(),
    "a level more": lambda m: m["bounds"]["columns"][2]["levels"].append("x"),
    "a level twice": lambda m: m["bounds"]["columns"][2]["levels"].__setitem__(0, "some"),
    "bounds turned": lambda m: m["bounds"]["columns"][0].update(lower=99.0, upper=18.0),
    "bounds gone": lambda m: m.__setitem__("bounds", None),
    "a class more": lambda m: m["classes"]["labels"].append("zzz"),
    "classes swapped": lambda m: m["classes"]["labels"].reverse(),
    "other classes": lambda m: m["classes"].__setitem__("labels", ["a", "b"]),
    "another declared class, and a long one": lambda m: m["parameters"].__setitem__("classes", ["a" * 2**20, "b"]),
    "classes gone": lambda m: m.__setitem__("classes", None),
    "another class": lambda m: m.__setitem__("estimator", "LinearRegression"),
    "no class of ours": lambda m: m.__setitem__("estimator", "os.system"),
    "another mechanism": lambda m: m["parameters"].__setitem__("mechanism", {"name": "none"}),
    "another eps": lambda m: m["statement"].__setitem__("eps", 0.1),
    "another eps throughout": lambda m: (
        m["statement"].__setitem__("eps", 0.1), m["statement"]["guarantee"].__setitem__("eps", 0.1)
    ),
    "a guarantee of its own": lambda m: m["statement"].__setitem__("guarantee", {"kind": "Gaussian", "mu": 0.1}),
    "another relation": lambda m: m["statement"].__setitem__("neighbouring", "add_remove"),
    "no noise": lambda m: m["statement"]["released"][0].__setitem__("scale", 0.0),
    "another law": lambda m: m["statement"]["released"][0].__setitem__("law", "Gaussian"),
    "a block less": lambda m: m["statement"]["released"].pop(),
    "released less": lambda m: m["released"][0].pop(),
    "released twice": lambda m: m["released"].append(m["released"][0]),
    "numbers less": lambda m: m["released"][0][0]["numbers"].pop(),
    "numbers off the grid": lambda m: m["released"][0][0]["numbers"].__setitem__(0, 2.0**-60),
    "a history": lambda m: m.__setitem__("history", []),
    "another half-width": lambda m: m.__setitem__("half_width", m["half_width"] / 2),
    "no half-width": lambda m: m.__setitem__("half_width", None),
    "rows gone": lambda m: m.__setitem__("n_rows", None),
    "other rows": lambda m: m["parameters"].__setitem__("n_rows", 7),
    "no intercept": lambda m: m["parameters"].__setitem__("fit_intercept", False),
    "a key more": lambda m: m["parameters"].__setitem__("rng", 1),
    "a key less": lambda m: m["statement"].pop("source"),
    "a statement of one": lambda m: m.__setitem__("statement_of_one", m["statement"]),
    "a start": lambda m: m.__setitem__("start", [0.0]),
    "not arithmetic of ours": lambda m: m["statement"].__setitem__("arithmetic", "real-arithmetic"),
    "an option out of range": lambda m: m["parameters"]["mechanism"].__setitem__("coef_norm", -1.0),
    "an option that is a list": lambda m: m["parameters"]["mechanism"].__setitem__("approximation", []),
    "long digits": lambda m: m["statement"]["released"][0].__setitem__("units", 10**390),
    "another spelling": lambda m: m["bounds"]["columns"][2].__setitem__("ordinal", False),
}  # fmt: skip


FURTHER = {
    "a product of another column": lambda m: m["bounds"]["products"][0].__setitem__(1, "another"),
    "a product less": lambda m: m["bounds"]["products"].pop(),
    "a product more": lambda m: m["bounds"]["products"].append(["work", "school"]),
    "a product twice": lambda m: m["bounds"]["products"].append(["gain", "age"]),
    "levels by themselves": lambda m: m["bounds"]["products"].append(["work", "work"]),
    "no pair": lambda m: m["bounds"]["products"][0].append("age"),
    "a position": lambda m: m["bounds"]["products"][0].__setitem__(0, 1),
    "no list": lambda m: m["bounds"].__setitem__("products", "age"),
    "an empty list": lambda m: m["bounds"].__setitem__("products", []),
    "nothing for products": lambda m: m["bounds"].__setitem__("products", None),
    "products gone": lambda m: m["bounds"].pop("products"),
    "bins that fall": lambda m: m["bounds"]["columns"][0]["bins"].reverse(),
    "a bin less": lambda m: m["bounds"]["columns"][0]["bins"].pop(),
    "no reference of bins": lambda m: m["bounds"]["columns"][0].pop("reference"),
    "a reference outside": lambda m: m["bounds"]["columns"][0].__setitem__("reference", 200.0),
    "another transform": lambda m: m["bounds"]["columns"][1].__setitem__("transform", "exp"),
    "a bound that has no logarithm": lambda m: m["bounds"]["columns"][1].__setitem__("lower", 0.0),
    "a reference that is no level": lambda m: m["bounds"]["columns"][2].__setitem__("reference", "all"),
    "no reference": lambda m: m["bounds"]["columns"][2].pop("reference"),
}


@pytest.mark.parametrize("change", FURTHER.values(), ids=FURTHER)
def test_files_whose_bins_references_or_products_are_broken_are_refused(fitted, change, tmp_path):
    assert "sha256" not in refusal(rewritten(saved(fitted[8], tmp_path), change))


def test_bounds_without_products_are_written_as_before(fitted, tmp_path):
    for which, keys in ((1, {"columns", "target"}), (8, {"columns", "target", "products"})):
        model = json.loads(saved(fitted[which], tmp_path).read_text())["model"]
        assert set(model["bounds"]) == keys


@pytest.mark.parametrize("mechanism", ["output", "objective"])
def test_a_file_whose_rows_were_scaled_in_other_groups_is_refused_in_a_sentence(mechanism, tmp_path):
    """Before a number and its mark were one group its half-width was that of three groups, and no file held one."""
    bounds = dplr.Bounds([{"lower": 0, "upper": 1, "missing": "indicator"}, (0, 1)])
    X = np.random.default_rng(0).uniform(0, 1, (500, 2))
    path = saved(dplr.fit(X, X[:, 0] > 0.5, eps=1.0, mechanism=mechanism, bounds=bounds), tmp_path)
    assert json.loads(path.read_text())["model"]["half_width"] == math.isqrt(2**39) / 2**20
    of_three = math.isqrt(2**40 // 3) / 2**20
    text = refusal(rewritten(path, lambda m: m.__setitem__("half_width", of_three)))
    assert "`model.half_width` must be that of the bounds, 0.7071" in text
    assert "in other groups" in text
    assert "half_width" in refusal(rewritten(path, lambda m: m.pop("half_width")))


LONG = ["a" * 2**20, *(f"b{k:03}" for k in range(200))]


@pytest.mark.parametrize(
    "change",
    [
        lambda m: m.__setitem__("classes", {"type": "str", "labels": LONG}),
        lambda m: m["parameters"].__setitem__("classes", LONG),
        lambda m: m["bounds"].__setitem__("target", {"classes": LONG}),
        lambda m: m["bounds"]["columns"][2].update(name="x" * 2**20),
    ],
    ids=["classes", "parameters", "target", "name"],
)
def test_a_small_file_does_not_take_much_memory(fitted, change, tmp_path):
    """In an array of text every entry has the room of the longest; a column of the model is feature and level."""

    def lengthen(model):
        model["bounds"]["columns"][2]["levels"] += [f"{k}" for k in range(200)]
        change(model)
        model["feature_names"] = [column["name"] for column in model["bounds"]["columns"]]

    path = rewritten(saved(fitted[1], tmp_path), lengthen)
    tracemalloc.start()
    try:
        assert "must take at most 16777216 characters" in refusal(path)
        assert tracemalloc.get_traced_memory()[1] < 2**26
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_files_with_a_right_hash_and_contents_that_do_not_fit_are_refused(fitted, change, tmp_path):
    path = rewritten(saved(fitted[1], tmp_path), change)
    assert "sha256" not in refusal(path)


def test_the_hash_is_of_the_canonical_text_that_the_documentation_describes(fitted, tmp_path):
    whole = json.loads(saved(fitted[3], tmp_path).read_text())
    text = json.dumps(whole["model"], sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    assert hashlib.sha256(text.encode("ascii")).hexdigest() == whole["sha256"]


def test_a_file_that_was_only_laid_out_anew_is_the_same_model(fitted, tmp_path):
    path = saved(fitted[1], tmp_path)
    path.write_text(json.dumps(json.loads(path.read_text()), sort_keys=True, indent=7, ensure_ascii=False))
    assert_array_equal(dplr.load_model(path).coef_, fitted[1].coef_)


# --- campaigns; `make mutate` runs the long ones


@pytest.mark.parametrize("campaign", [mutations.mutate_models, mutations.mutate_bounds])
def test_mutated_files_are_refused_or_mean_what_they_say(campaign):
    counts, faults = campaign(1000, seed=5)
    assert not faults, faults[:3]
    outcomes = {outcome for _, outcome in counts}
    assert outcomes == {mutations.REFUSED, mutations.SAME, mutations.OTHER}


def test_the_campaign_notices_a_reader_that_is_wrong(monkeypatch):
    real = dplr.load_model

    def wrong(path):
        est = real(path)
        est.coef_ = est.coef_ * -1.0
        return est

    monkeypatch.setattr(dplr, "load_model", wrong)
    assert mutations.mutate_models(60, seed=5)[1]
