"""What a guarantee does not cover is a value of the statement, wherever the statement goes."""

import dataclasses
import json
import pathlib
import pickle

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import dplr
from dplr.ledger.entries import statement_text
from dplr.privacy.unit import Unit

pytestmark = pytest.mark.filterwarnings("ignore::dplr.DataWarning")

ROOT = pathlib.Path(__file__).parents[2]
FACT = "StandardScaler learned from the private rows before this fit, without noise"
RNG = np.random.default_rng(0)
X = RNG.uniform(-0.5, 0.5, (300, 2))
MODELS = {
    "two labels": (dplr.LogisticRegression(eps=1.0, mechanism="fm"), (X[:, 0] > 0).astype(int)),
    "three labels": (dplr.LogisticRegression(eps=3.0, mechanism="objective", classes=(0, 1, 2)), np.arange(300) % 3),
    "numbers": (dplr.LinearRegression(eps=1.0, delta=1e-6), X[:, 1]),
}


@pytest.fixture(params=MODELS)
def scaled(request):
    """A model behind a step that no noise covers."""
    model, y = MODELS[request.param]
    with pytest.warns(dplr.PrivacyWarning, match="learned from the private rows"):
        return make_pipeline(StandardScaler(), model).fit(X, y)[-1]


def test_a_fact_that_is_not_covered_follows_the_guarantee_where_a_statement_is_read(scaled):
    assert scaled.privacy_.uncovered == (FACT,)
    assert scaled.privacy_.lines[1] == ("NOT COVERED", FACT)
    assert f"  NOT COVERED   {FACT}" in str(scaled.privacy_).splitlines()


def test_a_plain_fit_says_nothing_of_the_kind():
    model, y = MODELS["two labels"]
    statement = model.fit(X, y).privacy_
    assert statement.uncovered == ()
    assert "NOT COVERED" not in str(statement)


def test_statements_that_cover_less_are_not_equal_and_survive_a_pickle(scaled):
    statement = scaled.privacy_
    covered = dataclasses.replace(statement, uncovered=())
    assert statement != covered
    assert hash(statement) != hash(covered)
    assert pickle.loads(pickle.dumps(statement)) == statement


def test_model_files_and_ledgers_keep_what_is_not_covered(scaled, tmp_path):
    dplr.save_model(scaled, tmp_path / "model.json")
    read = dplr.load_model(tmp_path / "model.json")
    assert read.privacy_ == scaled.privacy_
    assert read._record.plan.statement.uncovered == (FACT,)
    assert json.loads(statement_text(scaled.privacy_))["uncovered"] == [FACT]
    tree = json.loads((tmp_path / "model.json").read_text())["model"]
    assert tree["statement"]["uncovered"] == [FACT]


def test_a_model_file_cannot_drop_it_from_one_of_two_statements(tmp_path):
    model, y = MODELS["three labels"]
    with pytest.warns(dplr.PrivacyWarning, match="learned from the private rows"):
        est = make_pipeline(StandardScaler(), model).fit(X, y)[-1]
    est.privacy_ = dataclasses.replace(est.privacy_, uncovered=())
    with pytest.raises(dplr.model_file.ModelFileError, match="must be of the same release"):
        dplr.save_model(est, tmp_path / "model.json")


def test_another_model_from_the_same_release_says_it_too():
    model, y = MODELS["two labels"]
    with pytest.warns(dplr.PrivacyWarning, match="learned from the private rows"):
        est = make_pipeline(StandardScaler(), model).fit(X, y)[-1]
    assert est.refit(l2=2.0).privacy_.uncovered == (FACT,)


def test_a_report_shows_an_alarm_and_its_citation_says_so(scaled):
    from dplr.report._words import alarms, citation

    (alarm,) = alarms(scaled.privacy_)
    assert FACT in alarm.text
    assert f"(not covered: {FACT})" in citation(scaled.privacy_)
    assert alarms(dataclasses.replace(scaled.privacy_, uncovered=())) == []


def test_a_regression_table_says_so():
    with pytest.warns(dplr.PrivacyWarning, match="learned from the private rows"):
        est = make_pipeline(StandardScaler(), dplr.LinearRegression(eps=1.0, mechanism="fm")).fit(X, X[:, 1])[-1]
    assert f"NOT COVERED: {FACT}." in est.summary().alarms


@pytest.mark.parametrize("unit", [Unit(), Unit(person="patient")])
def test_every_statement_says_what_its_proof_asks_of_the_table_in_the_words_of_the_pages(unit):
    """No row alone can tell whether it holds: whoever has the table must know it."""
    asked, rest = dplr.plan(n_rows=900, n_features=2, eps=1.0, person=unit.person).statement, unit.of_table
    assert ("table", rest) in asked.lines
    for page in ("attack-model.md", "promise.md"):
        text = " ".join((ROOT / "docs" / "trust" / page).read_text(encoding="utf-8").split())
        assert all(part in text for part in rest.split("; ")), page
