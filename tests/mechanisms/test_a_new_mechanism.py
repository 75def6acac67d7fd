"""A new mechanism is one folder and its place in `SHORTHANDS`: everything else asks it what it is."""

import ast
import inspect
import json
import math
import pathlib
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

import dplr
import toy_mechanism
from dplr import mechanisms
from dplr.mechanisms.protocol import Mechanism
from dplr.privacy.guarantees import Pure
from toy_mechanism import ABOUT, LabelledMean

SOURCE = pathlib.Path(dplr.__file__).parent
BOUNDS = """
[features.age]
lower = 18
upper = 99
[features.hours]
lower = 0
upper = 80
[target]
classes = ["no", "yes"]
"""


@pytest.fixture
def toy(monkeypatch):
    """What the line in the closed dict would do."""
    monkeypatch.setitem(mechanisms.SHORTHANDS, "toy", ABOUT)


def rows(n=2000, classes=2):
    rng = np.random.default_rng(0)
    X = rng.uniform(-0.6, 0.6, (n, 2))
    return X, np.digitize(X[:, 0] + rng.normal(0, 0.1, n), np.linspace(-0.3, 0.3, classes + 1)[1:-1])


def test_a_mechanism_that_is_not_in_the_closed_dict_is_refused():
    for unknown in ("toy", LabelledMean()):
        with pytest.raises(ValueError, match="`mechanism` must be one of 'auto', 'fm'"):
            dplr.plan(n_rows=10, n_features=1, eps=1.0, mechanism=unknown)


@pytest.mark.parametrize("mechanism", ["toy", LabelledMean(length=2.0)], ids=str)
@pytest.mark.parametrize("classes", [2, 3])
def test_it_is_planned_fitted_saved_and_read(toy, tmp_path, mechanism, classes):
    X, y = rows(classes=classes)
    est = dplr.fit(X, y, eps=2.0, mechanism=mechanism, classes=tuple(range(classes)))
    assert np.mean(est.predict(X) == y) > (0.85 if classes == 2 else 0.5)
    assert str(est.privacy_).startswith("Privacy statement (toy, dplr ")
    assert (est.privacy_.guarantee, est.privacy_.arithmetic) == (Pure(2.0), "integer")
    path = tmp_path / "model.json"
    dplr.save_model(est, path)
    other = dplr.load_model(path)
    assert other.privacy_ == est.privacy_
    assert other.mechanism == mechanism
    for name, numbers in est.released_.items():
        np.testing.assert_array_equal(other.released_[name], numbers)
    np.testing.assert_array_equal(other.coef_, est.coef_)


def test_its_plan_is_the_statement_of_its_fit_and_a_ledger_takes_it(toy, tmp_path):
    X, y = rows()
    ledger = dplr.Ledger(tmp_path / "budget.db", eps=3.0)
    est = dplr.fit(X, y, eps=2.0, mechanism="toy", classes=(0, 1), ledger=ledger)
    plan = dplr.plan(n_rows=len(y), n_features=2, eps=2.0, mechanism="toy")
    assert plan.released == est.privacy_.released
    assert ledger.spent() == (2.0, 0.0)
    with pytest.raises(ValueError, match='`mechanism` must be "fm" to refit'):
        est.refit(l2=1.0)


def changed(path, *pairs):
    """The refusal of a model file in which some text is another, its hash made anew."""
    from dplr.model_file.file import _FILE, decoded
    from dplr.model_file.strict_json import parse

    text = path.read_text()
    for old, new in pairs:
        assert old in text
        text = text.replace(old, new)
    with pytest.raises(dplr.model_file.ModelFileError) as refused:
        decoded(_FILE.text(parse(text.encode())["model"]))
    return str(refused.value)


def test_a_model_file_keeps_the_rules_that_it_says_of_itself(toy, tmp_path):
    X, y = rows()
    dplr.save_model(dplr.fit(X, y, eps=2.0, mechanism="toy", classes=(0, 1)), path := tmp_path / "model.json")
    assert "law` must be discrete Laplace with this" in changed(path, ('"discrete Laplace"', '"discrete Gaussian"'))
    assert "arithmetic` must be integer with this" in changed(path, ('"integer"', '"real-arithmetic"'))
    assert "must be about the blocks [('labelled', (3,))]" in changed(path, ('"labelled"', '"linear"'))
    assert "length" in changed(path, ('"length": 4.0', '"length": -4.0'))
    assert "must be that of the parameters" in changed(path, ('"mechanism": "toy"', '"mechanism": "fm"'))


def test_a_report_says_what_it_is(toy, tmp_path):
    pytest.importorskip("jinja2", reason="the extra `plots` is not installed")
    from dplr.report import write_report

    X, y = rows()
    path = write_report(dplr.fit(X, y, eps=2.0, mechanism="toy", classes=(0, 1)), tmp_path / "model.html")
    page = path.read_text(encoding="utf-8")
    assert "labelled mean: noise on the sum of labels times records" in page


def child(*commands):
    """What each of these commands writes, all in one process of their own; the closed dict has one line more."""
    code = (
        "import json, sys; sys.path.insert(0, sys.argv[1]); import toy_mechanism; "
        "from dplr.mechanisms import SHORTHANDS; SHORTHANDS['toy'] = toy_mechanism.ABOUT; "
        "from dplr.cli import main; end = lambda _: print(end=chr(12)); "
        "[end(main(each, 'dplr', standalone_mode=False)) for each in json.loads(sys.argv[2])]"
    )
    command = [sys.executable, "-c", code, pathlib.Path(toy_mechanism.__file__).parent, json.dumps(commands)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.split("\f")[:-1]


def test_the_command_line_has_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X, y = rows(400)
    pathlib.Path("bounds.toml").write_text(BOUNDS)
    lines = [f"{int(40 + 30 * a)},{40 + 30 * b},{('no', 'yes')[k]}" for (a, b), k in zip(X, y, strict=True)]
    pathlib.Path("people.csv").write_text("\n".join(["age,hours,sick", *lines]) + "\n")
    facts = ("--bounds", "bounds.toml", "--mechanism", "toy", "--eps", "1")
    told, planned, fitted = child(
        ("fit", "--help"),
        ("plan", *facts, "--n-rows", "400"),
        ("fit", "people.csv", "--target", "sick", *facts, "-o", "model.json"),
    )
    assert "none|toy]" in told
    assert "toy is pure." in " ".join(told.split())
    assert "Privacy statement (toy, dplr " in planned
    assert "Noise of labelled: standard deviation" in planned
    assert "over the number of records" in planned
    assert "Wrote model.json" in fitted
    assert '"name": "toy", "length": 4.0' in pathlib.Path("model.json").read_text()


@pytest.mark.parametrize("name", mechanisms.SHORTHANDS)
def test_every_description_is_that_of_its_spec(name):
    about = mechanisms.SHORTHANDS[name]
    spec = mechanisms.as_mechanism(name)
    assert about.name == name
    assert isinstance(spec, Mechanism)
    assert spec.about is about
    assert type(spec) is getattr(mechanisms, about.spec) is getattr(dplr, about.spec)
    assert about.noise_in in ("sums", "objective", "coefficients")
    assert about.arithmetic in ("integer", "real-arithmetic")
    assert inspect.getdoc(type(spec))


@pytest.mark.parametrize("name", mechanisms.SHORTHANDS)
@pytest.mark.parametrize("relation", ["replace_one", "add_remove"])
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_every_plan_has_what_its_mechanism_says(name, relation, delta):
    spec = mechanisms.as_mechanism(name)
    if hasattr(spec, "noise"):
        spec = replace(spec, noise="gaussian")
    eps, delta = (1.0, delta or 1e-7 * (name in ("ngd", "score"))) if spec.about.private else (math.inf, 0.0)
    plan = dplr.plan(n_rows=5000, n_features=3, eps=eps, delta=delta, mechanism=spec, neighbouring=relation)
    statement = plan.statement
    assert (statement.mechanism, statement.arithmetic) == (name, spec.about.arithmetic)
    assert {block.law for block in statement.released.values()} <= set(spec.about.laws[delta > 0])
    assert statement.delta == (delta or spec.about.least_delta)
    shapes = spec.blocks(plan.problem, eps, delta)
    assert shapes.keys() == statement.released.keys()
    for block, shape in shapes.items():
        assert all(size in (None, own) for own, size in zip(statement.released[block].shape, shape, strict=True))


def test_no_room_asks_which_mechanism_it_has():
    """No comparison with a shorthand, no table of them, and no test for a class of a spec."""
    shorthands = set(mechanisms.SHORTHANDS) - {"none"}  # also a law, and a word of tables
    specs = {about.spec for about in mechanisms.SHORTHANDS.values()}
    found = []
    for room in ("model_file", "report", "plots", "cli", "fitting", "estimators"):
        for path in (SOURCE / room).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.Compare | ast.Dict) and shorthands & set(constants(node)):
                    found.append((path.name, node.lineno))
                if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "isinstance" and specs & names(node):
                    found.append((path.name, node.lineno))
    assert found == []


def constants(node):
    inner = node.keys if isinstance(node, ast.Dict) else [node.left, *node.comparators]
    flat = [each for part in inner if part for each in (getattr(part, "elts", None) or [part])]
    return [each.value for each in flat if isinstance(each, ast.Constant)]


def names(node):
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
