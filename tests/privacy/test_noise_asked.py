"""The noise that a source is asked for is that of the statement: its law, its units and how many numbers."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest

import dplr
import evaluation_audit
from dplr.privacy.law import Law
from silent_noise import silent_noise

pytestmark = pytest.mark.filterwarnings("ignore")

ROWS = pd.DataFrame({
    "a": np.linspace(0, 1, 300), "b": np.arange(300) % 7, "t": np.resize(["x", "y"], 300), "y": np.arange(300) % 2 == 0,
})  # fmt: skip
RELATIONS = ({}, {"neighbouring": "add_remove", "n_rows": 300})


def check_scales(blocks):
    """A statement's scale is that of its units on its grid."""
    for block in blocks:
        units = block.units if block.law is Law.DISCRETE_LAPLACE else math.sqrt(block.units)
        assert units * block.grid == pytest.approx(block.scale, rel=1e-12)


def asked_by(statement):
    """What a statement says, in order."""
    blocks = statement.released.values()
    check_scales(blocks)
    return [(block.law, block.units, math.prod(block.shape)) for block in blocks]


@pytest.mark.parametrize("name", evaluation_audit.CASES)
def test_an_evaluation(name):
    kind, unit, relation = evaluation_audit.CASES[name]
    answers, outcomes, _ = evaluation_audit.KINDS[kind]
    count, weights, _ = evaluation_audit.UNITS[unit]
    result, asked = evaluation_audit.made(kind, unit, relation, [(answers[0], outcomes[0])] * count, weights[-1])
    assert asked == asked_by(result.privacy_)


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize(("columns", "delta"), [(("a", "b"), 0.0), (("t",), 1e-4), (("a", "t"), 1e-4), ("many", 1e-4)])
def test_learned_bounds(columns, delta, relation):
    rows = ROWS[[*columns]] if columns != "many" else pd.DataFrame({f"x{k}": ROWS["a"] for k in range(60)})
    with silent_noise() as asked:
        made = dplr.learn_bounds(rows, eps=400.0, delta=delta, rng=0, **relation)
    assert (columns == "many") == ("zCDP" in made.privacy_.calibration)
    blocks = made.privacy_.released
    check_scales(blocks.values())
    counts = [ask[1:] for ask in asked if ask[1] > 1]  # proposals of choices are of scale 1
    levels = [(blocks["levels"].units, 2)] if "levels" in blocks else []
    numbers = [(blocks["outside"].units, 1)] * blocks["outside"].shape[0] if "outside" in blocks else []
    assert sorted(counts) == sorted(numbers + levels)
    for column in made.columns:
        if column.kind == "levels":
            assert column.shares == {"x": 0.5, "y": 0.5}
        else:  # without noise it is the share beyond both ends, but for rows in the cells of the ends
            assert column.outside_noise == pytest.approx(blocks["outside"].deviation / len(rows), rel=1e-9)
            beyond = ((rows[column.name] < column.lower) | (rows[column.name] > column.upper)).mean()
            assert column.outside == pytest.approx(beyond, abs=2 / len(rows))


def test_each_column_of_learned_bounds_has_noise_of_its_own():
    rows = pd.DataFrame(dict.fromkeys("ab", np.resize([-1.0, 0.0, 1.0], 600)))
    pairs = [dplr.learn_bounds(rows, eps=2.0, rng=seed).columns for seed in range(8)]
    assert all(one.outside != other.outside for one, other in pairs)


@pytest.mark.parametrize(("relation", "delta"), itertools.product(RELATIONS, (0.0, 1e-4)))
def test_moments(relation, delta):
    bounds = {"a": (0, 1), "b": (0, 6), "t": {"levels": ["x", "y"]}}
    with silent_noise() as asked:
        made = dplr.release_moments(ROWS[[*bounds]], bounds=bounds, eps=1.0, delta=delta, rng=0, **relation)
    assert asked == asked_by(made.privacy_)


@pytest.mark.parametrize("relation", ["replace_one", "add_remove"])
@pytest.mark.parametrize(("mechanism", "delta"), [("fm", 0.0), (dplr.FunctionalMechanism(noise="gaussian"), 1e-4)])
def test_rows_that_are_held_out(relation, mechanism, delta):
    options = {"bounds": {"a": (0, 1)}, "eps": 1.0, "delta": delta, "neighbouring": relation, "rng": 0}
    with silent_noise() as asked:
        model = dplr.fit(ROWS[["a"]], ROWS["y"], mechanism=mechanism, holdout=0.5, **options)
    of_evaluation = asked_by(model.evaluation_.privacy_)
    assert asked == asked_by(model.privacy_)  # which names both parts
    assert asked[-len(of_evaluation) :] == of_evaluation
