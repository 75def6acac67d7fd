"""A new model of a loss that kernels know is a loss value, an estimator, and their places in two closed dicts."""

import json
import pathlib
import subprocess
import sys

import numpy as np
import pytest

import dplr
import toy_model
from dplr.estimators._models import ESTIMATORS
from dplr.fitting.options import limits_of
from dplr.problem.losses import LOSSES
from toy_model import LOSS, LogCoshRegression

BOUNDS = "[features.a]\nlower = -1\nupper = 1\n[features.b]\nlower = -1\nupper = 1\n[target]\nlower = -2\nupper = 2\n"


@pytest.fixture
def toy(monkeypatch):
    """What the two lines in the closed dicts would do."""
    monkeypatch.setitem(LOSSES, "toy", LOSS)
    monkeypatch.setitem(ESTIMATORS, "toy", LogCoshRegression)


def rows(n=3000):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (n, 2))
    return X, X @ (1.0, -0.5) + rng.normal(0, 0.05, n)


def test_every_public_model_has_a_loss_and_an_estimator_of_it():
    assert list(LOSSES) == list(ESTIMATORS)
    for name, kind in ESTIMATORS.items():
        assert kind()._loss() == LOSSES[name]
        assert limits_of(kind).keys() <= kind().get_params().keys()


def test_it_is_planned_fitted_reported_saved_and_read(toy, tmp_path):
    X, y = rows()
    bounds = dplr.Bounds([(-1, 1), (-1, 1)], target=(-2, 2))
    facts = {"eps": 4.0, "delta": 1e-6, "model": "toy", "mechanism": "ngd", "bounds": bounds}
    est = dplr.fit(X, y, **facts)
    assert isinstance(est, LogCoshRegression)
    assert est.score(X, y) > 0.9
    plan = dplr.plan(n_rows=len(y), **facts)
    assert "log cosh loss" in str(plan)
    assert plan.released == est.privacy_.released
    path = tmp_path / "model.json"
    dplr.save_model(est, path)
    assert '"width": 0.25' in path.read_text()
    other = dplr.load_model(path)
    assert (type(other), other.width, other.privacy_) == (LogCoshRegression, 0.25, est.privacy_)
    np.testing.assert_array_equal(other.coef_, est.coef_)
    pytest.importorskip("jinja2", reason="the extra `plots` is not installed")
    from dplr.report import report_html

    assert "A linear regression" in report_html(est)


def test_what_no_theorem_covers_is_refused_by_its_name(toy):
    facts = {"n_rows": 1000, "n_features": 2, "eps": 1.0}
    with pytest.raises(ValueError, match=r"`model` must be .logistic. or .linear. with .* got 'toy'"):
        dplr.plan(**facts, model="toy", mechanism="fm")
    printed = dplr.ObjectivePerturbation(calibration="cms11")
    with pytest.raises(ValueError, match=r"`model` must be .logistic. or .svm. or .* or .toy. with .* got .linear."):
        dplr.plan(**facts, model="linear", mechanism=printed)
    with pytest.raises(ValueError, match='`classes` must be None with model="toy"'):
        dplr.fit(*rows(), eps=1.0, model="toy", classes=(0, 1))


def child(*commands):
    """What each of these commands writes, all in one process of their own; the closed dicts have one line more."""
    code = (
        "import json, sys; sys.path.insert(0, sys.argv[1]); import toy_model; from dplr.estimators import ESTIMATORS; "
        "from dplr.problem.losses import LOSSES; LOSSES['toy'] = toy_model.LOSS; "
        "ESTIMATORS['toy'] = toy_model.LogCoshRegression; from dplr.cli import main; "
        "end = lambda _: print(end=chr(12)); "
        "[end(main(each, 'dplr', standalone_mode=False)) for each in json.loads(sys.argv[2])]"
    )
    command = [sys.executable, "-c", code, pathlib.Path(toy_model.__file__).parent, json.dumps(commands)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.split("\f")[:-1]


def test_the_command_line_has_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X, y = rows(400)
    pathlib.Path("bounds.toml").write_text(BOUNDS)
    lines = [f"{a},{b},{target}" for (a, b), target in zip(X.tolist(), y.tolist(), strict=True)]
    pathlib.Path("people.csv").write_text("\n".join(["a,b,y", *lines]) + "\n")
    facts = ("--bounds", "bounds.toml", "--model", "toy", "--mechanism", "ngd", "--eps", "1", "--delta", "1e-6")
    told, planned, fitted = child(
        ("fit", "--help"),
        ("plan", *facts, "--n-rows", "400"),
        ("fit", "people.csv", "--target", "y", *facts, "-o", "model.json"),
    )
    assert "[logistic|linear|svm|huber|poisson|toy]" in told
    assert "log cosh loss" in planned
    assert "Wrote model.json" in fitted
    assert '"estimator": "LogCoshRegression"' in pathlib.Path("model.json").read_text()
