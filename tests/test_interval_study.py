"""The study of intervals: what is committed stays in its band, the page shows it, and the study itself can fail."""

import csv
import pathlib
from types import SimpleNamespace

import numpy as np
import pytest

from bench.studies.intervals import __main__ as study
from bench.studies.intervals import designs, methods, page
from dplr.privacy.statement import Release

FOLDER = pathlib.Path(__file__).parents[1] / "docs" / "trust" / "intervals"


@pytest.fixture(scope="module")
def results():
    with open(FOLDER / "coverage.csv", newline="") as file:
        return list(csv.DictReader(file))


def test_coverage_that_is_committed_stays_in_its_band(results):
    grid = [row for row in results if row["method"] == methods.SCORE and row["design"] in page.GRID]
    assert len(grid) == 108
    assert not study.outside(results)


def test_coverage_outside_its_band_is_found(results):
    ours = [row for row in results if row["method"] == methods.SCORE]
    ample = next(row for row in ours if float(row["weakest"]) > study.AMPLE)
    weak = next(row for row in ours if float(row["weakest"]) < 1)
    assert study.outside([{**weak, "coverage": "0.85"}])
    assert study.outside([{**ample, "coverage": "0.995", "error": "0.003"}])
    assert not study.outside([{**weak, "coverage": "1.0"}])


def test_the_page_shows_the_tables_of_the_results():
    shown = FOLDER.with_suffix(".md").read_text(encoding="utf-8")
    for table in page.tables(page.read(FOLDER)):
        assert table in shown


def test_a_part_of_the_study_runs_and_naive_intervals_fail_in_it():
    rows = study.measure(designs.continuous(3), 4000, 40, 5, budgets=((1.0, 1e-6),))
    coverage = {row["method"]: row["coverage"] for row in rows}
    assert set(coverage) == set(page.NAMES)
    assert coverage[methods.SCORE] > 0.88
    assert coverage[methods.NAIVE] < 0.6
    assert not study.outside(rows)


@pytest.mark.parametrize("make", [designs.collinear, designs.one_hot, designs.weak, lambda: designs.binary(10)])
def test_rows_of_the_designs_lie_in_the_ball_and_no_target_is_clipped(make):
    design = make()
    V = design.draw(np.random.default_rng(0), 2000)
    assert np.linalg.norm(V[:, :-1], axis=1).max() <= 1 + 1e-12
    assert np.abs(V @ design.coef).max() + designs.ERROR <= 1.0
    assert np.linalg.matrix_rank(V) == V.shape[1]


def test_the_noise_of_the_squared_targets_is_the_plans_where_it_releases_them():
    block = Release((1,), 1.0, "discrete Gaussian", 5.0, 1.0)
    plan = SimpleNamespace(
        statement=SimpleNamespace(released={"target_square": block}), problem=SimpleNamespace(geometry=None)
    )
    assert methods.square_deviation(plan) == 5.0


def test_levels_follow_the_constants_cells_in_the_noise_of_a_plan():
    noise = methods.planned(designs.one_hot(), 10_000, 1.0, 1e-6)
    assert np.all(noise.tied[3:11] > 0)
    assert not np.any(np.diag(noise.cells)[3:])
    draw = noise.matrices(np.random.default_rng(0), 4)
    np.testing.assert_allclose(draw[:, 5, 5], noise.tied[5] * draw[:, 5, -1])
    assert not np.any(draw[:, 3, 4])
