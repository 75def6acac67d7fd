"""Persons and weights by every way in and at every door: protected in each statement, or refused before any noise."""

import numpy as np
import pandas as pd
import pytest

import dplr

pytestmark = pytest.mark.filterwarnings("ignore")

ROWS, PERSONS = 120, 40
RNG = np.random.default_rng(0)
TABLE = pd.DataFrame({
    "a": RNG.uniform(0, 1, ROWS), "y": np.arange(ROWS) % 2, "who": np.arange(ROWS) // 3, "w": RNG.uniform(0, 3, ROWS),
})  # fmt: skip
COLUMNS = {"a": (0, 1)}
MODEL = {"bounds": COLUMNS, "mechanism": "fm", "eps": 1.0}
EVALUATE = {"eps": 1.0, "classes": (0, 1)}


def score(rows):
    return np.asarray(rows)[:, 0].astype(float)


def holdout(X, y, **options):
    model = dplr.fit(X, y, **options, holdout=0.5)
    return [model, model.evaluation_]


# Each door takes rows, the target, bounds and what else declares units, and gives what has a statement.
DOORS = {
    "fit": lambda X, y, bounds, **more: [dplr.fit(X, y, **MODEL | {"bounds": bounds}, **more)],
    "fit_many": lambda X, y, bounds, **more: dplr.fit_many(X, y, **MODEL | {"bounds": bounds, "eps": [1.0, 2]}, **more),
    "holdout": lambda X, y, bounds, **more: holdout(X, y, **MODEL | {"bounds": bounds}, **more),
    "evaluate": lambda X, y, bounds, **more: [dplr.evaluate(score, X, y, bounds=bounds, **EVALUATE, **more)],
    "evaluate, against": lambda X, y, bounds, **more: [
        dplr.evaluate(score, X, y, against=lambda rows: 1 - score(rows), bounds=bounds, **EVALUATE, **more)
    ],
    "learn_bounds": lambda X, y, bounds, **more: [
        dplr.learn_bounds(X, eps=99.0, columns={"y": "integer"}, bounds=bounds, **more)
    ],
    "release_moments": lambda X, y, bounds, **more: [
        dplr.release_moments(X, eps=1.0, bounds=dplr.Bounds({"a": (0, 1), "y": (0, 1)}, **units_of(bounds)), **more)
    ],
}


def units_of(bounds):
    return {name: getattr(bounds, name) for name in ("person", "weight", "weight_max")}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("rows")
    for column in ("who", "w"):
        TABLE.drop(columns=column).to_parquet(path / f"{column}.parquet", row_group_size=50)
    return path


def asked(unit, way, folder):
    """Rows, the target, and what declares the unit."""
    column, facts = ("who", {}) if unit == "persons" else ("w", {"weight_max": 2.0})
    parameter, others = ("person", "w") if unit == "persons" else ("sample_weight", "who")
    bounds, rest = dplr.Bounds(COLUMNS, **facts), TABLE.drop(columns=others)
    named = dplr.Bounds(COLUMNS, **{"person" if unit == "persons" else "weight": column}, **facts)
    stream = dplr.Stream(str(folder / f"{others}.parquet"))
    return {
        "a name": (rest, "y", bounds, {parameter: column}),
        "an array": (rest.drop(columns=column), "y", bounds, {parameter: rest[column].to_numpy()}),
        "the bounds": (rest, "y", named, {}),
        "stream, a name": (stream, "y", bounds, {parameter: column}),
        "stream, an array": (stream, "y", bounds, {parameter: rest[column].to_numpy()}),
        "stream, the bounds": (stream, "y", named, {}),
    }[way]


WAYS = ("a name", "an array", "the bounds", "stream, a name", "stream, an array", "stream, the bounds")
# What is refused, and by which words; all else is protected.
REFUSED = {
    ("persons", "holdout"): dict.fromkeys(WAYS[:3], "with `holdout`"),
    ("persons", "learn_bounds"): dict.fromkeys(("an array", "stream, an array"), "must be the name of a column"),
    ("weights", "learn_bounds"): {"stream, an array": "must be the name of a column"},
    ("persons", "release_moments"): dict.fromkeys(WAYS, "person"),
    ("weights", "release_moments"): dict.fromkeys(WAYS, "weight"),
}
STREAMS = {"holdout": dict.fromkeys(WAYS[3:], "`X` must be in memory with `holdout`")}


@pytest.mark.parametrize("unit", ["persons", "weights"])
@pytest.mark.parametrize("door", DOORS)
def test_a_unit_is_protected_or_refused(unit, door, folder, entropy):
    refused = {"stream, an array": ""} | STREAMS.get(door, {}) | REFUSED.get((unit, door), {})
    for way in WAYS:
        X, y, bounds, more = asked(unit, way, folder)
        if way in refused:
            before = entropy.bytes
            with pytest.raises((ValueError, TypeError), match=refused[way]):
                DOORS[door](X, y, bounds, **more)
            assert entropy.bytes == before, way
            continue
        for made in DOORS[door](X, y, bounds, **more):
            check_protected(unit, made.privacy_, way)


def check_protected(unit, statement, way):
    if unit == "persons":
        assert statement.unit.person in ("who", "person"), way
        assert f"the number of persons = {PERSONS}" in statement.assumptions, way
    else:
        assert statement.unit.weight_max == 2.0, way


@pytest.mark.parametrize("unit", ["persons", "weights"])
def test_an_evaluation_protects_what_either_of_two_models_declares(unit):
    facts = {"person": "who"} if unit == "persons" else {"weight": "w", "weight_max": 2.0}
    rows = TABLE.drop(columns="w" if unit == "persons" else "who")
    told = dplr.fit(rows, "y", **MODEL | {"bounds": dplr.Bounds(COLUMNS, **facts)})
    plain = dplr.fit(rows[["a"]], rows["y"], **MODEL)
    for model, against in ((told, None), (told, plain), (plain, told), (score, told), (told, score)):
        result = dplr.evaluate(model, rows, "y", against=against, eps=1.0, in_sample=True)
        check_protected(unit, result.privacy_, (model, against))
