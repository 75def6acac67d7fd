"""Files of models with an evaluation: they hold it, and hold no other one."""

import copy
import json
import math

import numpy as np
import pytest

import dplr
import mutations
from dplr.model_file.file import encode_model

RNG = np.random.default_rng(0)
X, Y = RNG.uniform(0, 1, (400, 2)), RNG.integers(0, 3, 400)
FITS = {
    "scores": {"mechanism": "fm"},
    "approx": {"mechanism": "objective", "l2": 0.1},
    "gaussian": {"mechanism": "ngd", "delta": 1e-6},
    "exact": {"mechanism": "fm", "eps": math.inf},
    "classes": {"classes": [0, 1, 2]},
    "decisions": {"model": "svm"},
    "numbers": {"model": "linear", "neighbouring": "add_remove"},
    "ball": {"model": "linear", "bounds": None},
}


def fitted(name):
    options = {"eps": 1.0, "holdout": 0.25, "bounds": dplr.Bounds([(0, 1)] * 2, target=None), **FITS[name]}
    y = Y if name == "classes" else Y > 0
    if options.get("model") == "linear":
        y = Y / 2
        options["bounds"] = options["bounds"] and dplr.Bounds([(0, 1)] * 2, target=(0, 1))
    return dplr.fit(X, y, **options)


@pytest.mark.parametrize("name", FITS)
def test_a_file_holds_the_evaluation_of_its_model(name, tmp_path):
    model = fitted(name)
    dplr.save_model(model, tmp_path / "model.json")
    read = dplr.load_model(tmp_path / "model.json")
    one, other = model.evaluation_, read.evaluation_
    assert type(one) is type(other)
    assert (one.grid, one.n_rows, one.classes, one.level) == (other.grid, other.n_rows, other.classes, other.level)
    assert (one.privacy_, model.privacy_) == (other.privacy_, read.privacy_)
    assert {name: block.tolist() for name, block in one.released_.items()} == {
        name: block.tolist() for name, block in other.released_.items()
    }
    assert str(one) == str(other)
    assert encode_model(read) == encode_model(model)


def test_nothing_that_was_attached_by_hand_gets_into_a_file():
    model = dplr.fit(X, Y > 0, bounds=dplr.Bounds([(0, 1)] * 2), eps=1.0)
    model.evaluation_ = model.evaluate(X[:100], Y[:100] > 0, eps=1.0)
    assert b'"evaluation"' not in encode_model(model)


FORGED = {
    "another eps": lambda held: held["statement"].update(eps=0.5, guarantee={"kind": "Pure", "eps": 0.5}),
    "less noise": lambda held: [block.update(scale=block["grid"], units=1) for block in held["statement"]["released"]],
    "of others": lambda held: held["statement"].update(neighbouring="add_remove"),
    "no number of rows": lambda held: held.update(n_rows=None),
    "no half": lambda held: held["grid"]["edges"].remove(0.5),
    "edges that fall": lambda held: held["grid"]["edges"].reverse(),
    "an edge beyond": lambda held: held["grid"]["edges"].append(1.0),
    "fewer cells": lambda held: held["grid"]["edges"].pop(),
    "other cells": lambda held: held.update(grid={"kind": "errors", "low": 0.0, "high": 1.0, "edges": []}),
    "numbers of no grid": lambda held: held["released"][0]["numbers"].__setitem__(0, 0.1),
    "lost numbers": lambda held: held["released"].pop(),
    "unknown cells": lambda held: held.update(grid={"kind": "cells"}),
    "a seed": lambda held: held["statement"].update(reproducible=True),
}


@pytest.fixture(scope="module")
def model():
    return json.loads(encode_model(fitted("scores")))["model"]


@pytest.mark.parametrize("change", FORGED)
def test_an_evaluation_that_is_not_of_the_model_and_its_statement_is_refused(change, model, tmp_path):
    forged = copy.deepcopy(model)
    FORGED[change](forged["evaluation"])
    (tmp_path / "model.json").write_bytes(mutations.with_hash(forged))
    with pytest.raises(dplr.model_file.ModelFileError, match=r"`model\.evaluation"):
        dplr.load_model(tmp_path / "model.json")


def test_an_evaluation_without_a_statement_is_refused(model, tmp_path):
    forged = copy.deepcopy(model)
    for name in ("statement", "statement_of_one"):
        blocks = forged[name]["released"]
        blocks[:] = [block for block in blocks if not block["block"].startswith("evaluation ")]
    forged["statement_of_one"] = None
    (tmp_path / "model.json").write_bytes(mutations.with_hash(forged))
    with pytest.raises(dplr.model_file.ModelFileError, match="must be of the release of the model"):
        dplr.load_model(tmp_path / "model.json")
