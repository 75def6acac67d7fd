"""Units in model files: what contradicts itself is refused, and files without persons stay as they were."""

import json

import numpy as np
import pytest

import dplr
import mutations

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """The plain values of a model with persons, weights and factors of labels."""
    est = mutations.models()[10]
    path = tmp_path_factory.mktemp("model") / "model.json"
    dplr.save_model(est, path)
    return json.loads(path.read_text())["model"]


def loaded(model, tmp_path):
    path = tmp_path / "model.json"
    path.write_bytes(mutations.with_hash(model))
    return dplr.load_model(path)


def edited(model, *changes):
    copied = json.loads(json.dumps(model))
    for path, value in changes:
        *before, key = path.split(".")
        at = copied
        for each in before:
            at = at[int(each) if each.isdigit() else each]
        if value is None:
            del at[key]
        else:
            at[int(key) if key.isdigit() else key] = value
    return copied


def test_what_was_declared_comes_back_as_parameters(model, tmp_path):
    est = loaded(model, tmp_path)
    assert (est.person, est.bounds.rows_per_person, est.bounds.weight_max) == ("id", 2, 9.0)
    assert est.class_weight == {"no": 1.0, "yes": 2.5}
    frame = mutations.weighted()
    np.testing.assert_array_equal(est.predict(frame), est.predict(frame.drop(columns=["id", "w"])))
    again = est.fit(frame, np.where(frame["age"] > 50, "yes", "no"))
    assert again.privacy_.unit == mutations.models()[10].privacy_.unit


UNIT = "statement.unit"
CONTRADICTIONS = [
    ([(UNIT, None)], "model"),
    ([(f"{UNIT}.person", "household")], "`person` must be 'id', as the bounds say"),
    ([(f"{UNIT}.rows_per_person", 3)], "`rows_per_person` must be 2, as the bounds say"),
    ([(f"{UNIT}.weight_max", 8.0)], "as the bounds say"),
    ([("bounds.person", None), (f"{UNIT}.person", "age")], "must not name a column"),
    ([("bounds.person", "x")], "`person` must be 'x', as the bounds say"),
    ([("bounds.weight.column", None), ("weight_column", "age")], "must not name a column of the model"),
    ([("bounds.weight", None)], "`model.statement.unit` must be that of the bounds"),
    ([("bounds.rows_per_person", None)], "`model.statement.unit` must be that of the bounds"),
    ([("weight_column", "v")], "`model.weight_column` must be that of the bounds"),
    ([("weight_column", None)], "`model.weight_column` must be that of the bounds"),
    ([(f"{UNIT}.class_weights.0.label", "maybe")], "must be of the labels"),
    ([(f"{UNIT}.class_weights.0", {"label": "yes", "factor": 1.0})], "must be of the labels"),
    ([(f"{UNIT}.class_weights.0.factor", 0.0)], "must be above 0"),
    ([(f"{UNIT}.rows_per_person", 0)], "must be an integer from 1"),
    ([(f"{UNIT}.other", 1)], "must have no key but"),
    ([("bounds.rows_per_person", 1), (f"{UNIT}.rows_per_person", 1)], "must be an integer from 2"),
]


@pytest.mark.parametrize(("changes", "message"), CONTRADICTIONS)
def test_a_unit_that_contradicts_the_file_is_refused(model, tmp_path, changes, message):
    with pytest.raises(dplr.model_file.ModelFileError, match=message):
        loaded(edited(model, *changes), tmp_path)


@pytest.mark.parametrize("word", ["records", "rows"])
def test_a_statement_about_persons_counts_persons(model, tmp_path, word):
    facts = [fact.replace("number of persons", f"number of {word}") for fact in model["statement"]["assumptions"]]
    assert facts != model["statement"]["assumptions"]
    with pytest.raises(dplr.model_file.ModelFileError, match="must count persons: the number of persons = "):
        loaded(edited(model, ("statement.assumptions", facts)), tmp_path)


def test_a_model_about_records_has_no_key_of_units(tmp_path):
    path = tmp_path / "plain.json"
    dplr.save_model(mutations.models()[1], path)
    text = path.read_text()
    assert not any(key in text for key in ('"unit"', '"person"', '"weight_column"', '"class_weights"'))
