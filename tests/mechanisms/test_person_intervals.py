"""Intervals where rows of one person depend on each other: the covariance of the persons' scores."""

import math

import numpy as np
import pandas as pd
import pytest

import dplr
from bench.studies.persons_intervals import clustered, ends, simulated

FEATURES = {"age": (0, 1), "job": {"levels": ["a", "b", "c"]}, "size": {"lower": 0, "upper": 1, "missing": "indicator"}}


def visits(persons=2000, seed=0):
    rng = np.random.default_rng(seed)
    ids = np.repeat(np.arange(persons), rng.integers(1, 6, persons))
    table = pd.DataFrame({"age": rng.uniform(0, 1, persons)[ids], "job": rng.choice(["a", "b", "c"], len(ids))})
    table["size"] = np.where(rng.random(len(ids)) < 0.3, np.nan, rng.uniform(0, 1, len(ids)))
    own = rng.normal(0, 1, persons)[ids]
    y = table["age"] + (table["job"] == "b") - table["size"].fillna(0.3) + own + rng.normal(0, 1, len(ids))
    return table, y.to_numpy(), ids


def sandwich(columns, y, ids):
    """Estimates and cluster-robust errors with weights 1/m."""
    weights = 1 / np.bincount(ids)[ids]
    bread = np.linalg.inv(columns.T @ (columns * weights[:, None]))
    coef = bread @ (columns.T @ (weights * y))
    scores = np.zeros((ids.max() + 1, columns.shape[1]))
    np.add.at(scores, ids, columns * (weights * (y - columns @ coef))[:, None])
    return coef, np.sqrt(np.diag(bread @ (scores.T @ scores) @ bread))


@pytest.mark.parametrize("labels", [False, True])
@pytest.mark.parametrize("relation", ["replace_one", "add_remove"])
def test_without_noise_errors_are_cluster_robust_also_where_a_person_shows_several_levels(relation, labels):
    table, y, ids = visits()
    y = (y > 0).astype(int) if labels else y
    bounds = dplr.Bounds(FEATURES, target=(0, 1) if labels else (-9, 9))
    spec = dplr.FunctionalMechanism(intervals="robust")
    est = dplr.fit(
        table, y, person=ids, eps=math.inf, model="logistic" if labels else "linear", bounds=bounds, mechanism=spec,
        aim="coefficients" if not labels else "prediction", neighbouring=relation, n_rows=2000,
    )  # fmt: skip
    missing = table["size"].isna().to_numpy()
    columns = np.column_stack([
        table["age"], table["job"] == "b", table["job"] == "c", np.where(missing, 0.5, table["size"]), missing,
        np.ones(len(y)),
    ]).astype(float)  # fmt: skip
    coef, errors = sandwich(columns, y.astype(float), ids)
    summary = est.summary()
    lines = {line.name: line for line in summary.lines}
    assert list(lines) == ["age", "job=b", "job=c", "size", "size is missing", "(intercept)"]
    assert [line.estimate for line in lines.values()] == pytest.approx(coef, abs=2e-3)
    assert [line.std_error for line in lines.values()] == pytest.approx(errors, rel=2e-3)
    assert any("rows of one person may depend on each other" in note for note in summary.notes)
    assert "2,000 persons" in summary.title or "2,000 persons" in str(summary)


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_both_laws_state_their_part_and_their_theorem(delta):
    bounds = dplr.Bounds({f"x{j}": (0, 1) for j in range(30 if delta else 2)}, target=(0, 1))
    plan = dplr.plan(
        n_rows=10_000, eps=1.0, delta=delta, bounds=bounds, person="id", model="linear", aim="coefficients"
    )
    assert "squares of the persons' scores" in plan.statement.calibration
    assert plan.statement.source.endswith("theorem 7" if delta else "theorem 8")
    assert "target_square" not in plan.released
    assert plan.statement.delta == delta


def test_every_cell_of_blocks_is_released_for_persons_and_not_for_rows():
    bounds = dplr.Bounds(FEATURES, target=(-9, 9))
    options = {"n_rows": 1000, "eps": 1.0, "bounds": bounds, "model": "linear", "aim": "coefficients"}
    persons, rows = dplr.plan(person="id", **options).released, dplr.plan(**options).released
    assert persons["meat_off_diagonal"].shape == (21,)  # of 7 columns
    assert persons["meat_diagonal"].shape == (7,)
    assert rows["meat_off_diagonal"].shape == (17,)


def test_without_the_squares_there_is_no_table_and_a_smaller_model_has_none():
    table, y, ids = visits(300)
    bounds = dplr.Bounds(FEATURES, target=(-9, 9))
    options = {"person": ids, "eps": 5.0, "model": "linear", "bounds": bounds}
    plain = dplr.fit(table, y, mechanism="fm", **options)
    with pytest.raises(ValueError, match=r"Rows of one person depend on each other; Fun"):
        plain.conf_int()
    est = dplr.fit(table, y, aim="coefficients", **options)
    with pytest.raises(ValueError, match="`columns` must be None with persons"):
        est.summary(columns=["age"])


@pytest.mark.thorough
def test_intervals_hold_as_often_as_they_say_and_not_where_persons_are_ignored():
    rng, held = np.random.default_rng(5), {"person": [], "persons ignored": []}
    for _ in range(100):
        X, y, ids = simulated("constant", 20_000, rng)
        assert clustered(X, y, ids)[1].shape == (3,)
        for method, found in held.items():
            low, high = ends(method, X, y, ids, 3.0, rng).T
            found += ((low <= [1.0, -1.0, 0.5]) & (high >= [1.0, -1.0, 0.5])).tolist()
    assert np.mean(held["person"]) >= 0.92
    assert np.mean(held["persons ignored"]) <= 0.85
