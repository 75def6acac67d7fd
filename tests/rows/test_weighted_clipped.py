"""Clipped gradients, columns, scores and squared residuals of rows with weights: exact integers on every path."""

import functools
import math
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

import own_losses
import reference
from dplr._core import ClippedRows, LossRows, cpu_paths
from dplr.bounds.scaling import ball_prep, box_prep
from dplr.problem.losses import LOGISTIC, SQUARED, huber_residual, huber_svm
from dplr.rows import ArrayRows, chosen, every
from dplr.rows.exact import Block, ClippedGradient, ColumnMoments, Moments, on_coef_grid, row_map
from dplr.rows.scores_at import ScoreMoments, meat_moments
from dplr.rows.weights import multipliers
from loops import loop
from made_rows import make_data, make_prep
from many_models import sum_of_many
from row_weights import drawn_weights, of_rows

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

LOSSES = [LOGISTIC, huber_svm(0.5), SQUARED, huber_residual(0.3), *own_losses.FORMS]
KINDS = ["ball", "cube", "corner"]


@pytest.fixture(params=cpu_paths())
def path(request, monkeypatch):
    monkeypatch.setenv("DPLR_ISA", request.param)
    return request.param


def query_of(prep, loss, clip=0.3):
    return ClippedGradient(loss, prep.geometry.d, prep.geometry.intercept > 0, clip)


def point(prep, scale=3.0, seed=7):
    size = prep.geometry.d + (prep.geometry.intercept > 0)
    return on_coef_grid(scale * np.random.default_rng(seed).normal(size=size))


def integers(total):
    return total.integers(total.exponent).tolist()


def case(kind, d, loss, n=131):
    prep = make_prep(kind, d, fit_intercept=d % 2 == 1 and kind != "corner", labels=loss.classification)
    return (*make_data(kind, n, d, labels=loss.classification), prep, drawn_weights(n))


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
@loop("kind", KINDS)
@loop("d", [1, 3, 8, 13, 33, 105])
def test_weighted_sums_equal_the_numpy_twin_in_every_bit(path, kind, loss, d, monkeypatch):
    monkeypatch.setattr("dplr.rows.array._MOST_KEPT_BYTES", 0)  # only where this test says so
    X, y, prep, weights, models, clip, index = sample(kind, d, loss)
    query, expected = query_of(prep, loss, clip), sums_of_the_twin(kind, loss, d)
    rows = ArrayRows(X, y, prep, weights=of_rows(weights))
    for kept in ((), (False,), (True,)):
        for chosen_ones in kept:
            rows.clipped_rows.keep(chosen=chosen_ones)
        together = sum_of_many(rows, [query] * 35, models)
        three = sum_of_many(rows, [query] * 3, models[:3])
        assert integers(rows.total(query, models[0])) == expected[0]
        assert integers(rows.total(query, models[0], chosen(index))) == expected[1]
        assert [integers(together)[0], integers(together)[34]] == expected[::2]
        assert integers(three)[0] == expected[0]


def sample(kind, d, loss):
    """Rows with weights, models, a clip and an index of rows."""
    X, y, prep, weights = case(kind, d, loss)
    models, clip = np.array([point(prep, seed=seed) for seed in range(35)]), (0.3, 0.011, 7.5)[KINDS.index(kind)]
    return X, y, prep, weights, models, clip, np.random.default_rng(1).integers(len(y), size=50)


@functools.cache  # the twin is slow, and has no path
def sums_of_the_twin(kind, loss, d):
    """Sums over all rows at the first model, over the index at the first, over all rows at the last."""
    X, y, prep, weights, models, clip, index = sample(kind, d, loss)
    return [
        reference.clipped_gradient(X, y, prep, loss, models[0], clip, weights).tolist(),
        reference.clipped_gradient(X[index], y[index], prep, loss, models[0], clip, weights[index]).tolist(),
        reference.clipped_gradient(X, y, prep, loss, models[34], clip, weights).tolist(),
    ]


@pytest.mark.grid(5)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "options", [{"block_rows": 1}, {"block_rows": 7}, {"block_rows": 1000, "threads": 2}, {"threads": 5}]
)
def test_blocks_and_threads_change_no_bit_of_weighted_sums(path, kind, options):
    X, y, prep, weights = case(kind, 6, LOGISTIC, n=2_011 if options == {"block_rows": 1} else 9_011)
    queries = [
        (query_of(prep, LOGISTIC), point(prep)), (ColumnMoments(6, True), None), (Moments(6, False), None),
        (ScoreMoments(LOGISTIC, 6, False, prep.geometry.row_norm), point(prep)),
        (meat_moments(6, False, prep.geometry.row_norm, 2), point(prep)),
    ]  # fmt: skip
    whole = ArrayRows(X, y, prep, weights=of_rows(weights), threads=1)
    parts = ArrayRows(X, y, prep, weights=of_rows(weights), **options)
    for query, coef in queries:
        assert integers(parts.total(query, coef)) == integers(whole.total(query, coef))


@pytest.mark.parametrize("kind", KINDS)
def test_layouts_orders_selections_and_tables_hold_the_same_weighted_rows(path, kind):
    X, y, prep, weights = case(kind, 6, LOGISTIC)
    X = X.astype(np.float32)
    order, query = np.random.default_rng(0).permutation(len(y)), query_of(prep, LOGISTIC)
    expected = integers(ArrayRows(X.astype(np.float64), y, prep, weights=of_rows(weights)).total(query, point(prep)))
    spread = np.repeat(weights, 2)[::2]
    for other, target, factors in [
        (X, y, weights), (np.asfortranarray(X), y, spread), (X[order], y[order], weights[order]),
        (X[::-1], y[::-1], weights[::-1]), (pd.DataFrame(X), y, weights), (X.astype(">f8"), y, weights),
    ]:  # fmt: skip
        rows = ArrayRows(other, target, prep, weights=of_rows(factors))
        assert integers(rows.total(query, point(prep))) == expected
        assert integers(sum_of_many(rows, [query] * 2, np.tile(point(prep), (2, 1)))) == [expected, expected]
    for layout in (X.astype(np.float64), pd.DataFrame(X), X.astype(">f8")):
        rows = ArrayRows(layout, y, prep, weights=of_rows(weights))
        for selection, part in ((every(3), slice(None, None, 3)), (chosen([5, 5, 0, 99]), [5, 5, 0, 99])):
            alone = reference.clipped_gradient(X[part], y[part], prep, LOGISTIC, point(prep), 0.3, weights[part])
            assert integers(rows.total(query, point(prep), selection)) == alone.tolist()
            columns = reference.column_moments(X[part], y[part], prep, weights[part])
            assert integers(rows.total(ColumnMoments(6), None, selection)) == columns


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("d", [1, 3, 9, 33])
def test_weighted_columns_scores_and_squares_equal_exact_integers(path, kind, d):
    X, y, prep, weights = case(kind, d, LOGISTIC)
    rows, norm = ArrayRows(X, y, prep, weights=of_rows(weights)), prep.geometry.row_norm
    factors = [reference.root_multiplier(weight) for weight in weights]
    columns = rows.total(ColumnMoments(d, True))
    assert integers(columns) == reference.column_moments(X, y, prep, weights, counted=True)
    assert (columns.lo < 2**32).all()
    moments = np.triu(rows.total(Moments(d, prep.geometry.intercept > 0)).integers(-40).astype(object))
    assert_array_equal(moments, reference.moments(X, y, prep, factors))
    query = ScoreMoments(LOGISTIC, d, prep.geometry.intercept > 0, norm)
    score = np.triu(rows.total(query, point(prep)).integers(-40).astype(object))
    assert_array_equal(score, reference.score_moments(X, y, prep, point(prep), norm, weights))


@pytest.mark.parametrize("labels", [True, False])
def test_a_squared_residual_has_the_weight_squared(path, labels):
    X, y, prep, weights = case("cube", 3, LOGISTIC if labels else SQUARED)
    target = np.array([reference.snapped_target(v, prep) for v in y]) / 2**20
    grid, _ = reference.gridded_rows(X, prep)
    query = meat_moments(3, True, prep.geometry.row_norm, 2)
    assert query.gradient.per_unit == 2**18
    residuals = grid @ point(prep) / 2**20 - target
    sizes = np.floor(np.minimum(np.abs(residuals), 2) * 2**18).astype(int)  # rows at their corner would lose a unit
    entries = [
        [(abs(int(k)) * (int(size) * 2**11 * int(a * 2**30) >> 30) >> 30) * int(np.sign(k)) for k in row]
        for size, a, row in zip(sizes, weights, grid, strict=True)
    ]
    expected = np.triu(np.array(entries, object).T @ np.array(entries, object))
    total = ArrayRows(X, y, prep, weights=of_rows(weights)).total(query, point(prep))
    assert_array_equal(np.triu(total.integers(-40).astype(object))[:4, :4], expected)


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
@loop("kind", KINDS)
def test_weights_of_one_change_no_bit_and_rows_of_weight_zero_add_nothing(path, kind, loss):
    X, y, prep, _ = case(kind, 7, loss)
    intercept, norm = prep.geometry.intercept > 0, prep.geometry.row_norm
    queries = [(query_of(prep, loss), point(prep)), (ColumnMoments(7), None), (Moments(7, intercept), None)]
    queries.append((meat_moments(7, intercept, norm, 2), point(prep)))
    if loss is LOGISTIC:
        queries.append((ScoreMoments(LOGISTIC, 7, intercept, norm), point(prep)))
    some = np.arange(len(y)) % 3 > 0
    for query, coef in queries:
        ones = ArrayRows(X, y, prep, weights=of_rows(np.ones(len(y))))
        assert integers(ones.total(query, coef)) == integers(ArrayRows(X, y, prep).total(query, coef))
        few = ArrayRows(X, y, prep, weights=of_rows(some * 1.0))
        assert integers(few.total(query, coef)) == integers(ArrayRows(X[some], y[some], prep).total(query, coef))


@settings(max_examples=150, deadline=None)
@given(
    loss=st.sampled_from(LOSSES), clip=st.floats(1e-6, 1e3), weight=st.integers(0, 2**30), seed=st.integers(0, 2**20),
    size=st.floats(1e-6, 1.0), scale=st.floats(0.0, 4000.0), kind=st.sampled_from(KINDS),
)  # fmt: skip
def test_a_row_never_moves_the_sum_by_more_than_its_weight_times_the_clip(loss, clip, weight, seed, size, scale, kind):
    rng, d = np.random.default_rng(seed), 3
    prep = make_prep(kind, d, fit_intercept=False, labels=loss.classification)
    x, y = make_data(kind, 1, d, labels=loss.classification, seed=seed)
    if kind == "ball":
        x *= size
    query, coef = query_of(prep, loss, clip), on_coef_grid(scale * rng.normal(size=d))
    total = ArrayRows(x, y, prep, weights=of_rows(np.array([weight / 2**30]))).sum(query, coef)
    units = Fraction(clip) / Fraction(2) ** total.exponent
    assert sum(k * k for k in integers(total)) <= (units * Fraction(weight, 2**30)) ** 2


def test_residuals_of_short_rows_are_long_and_their_products_are_rounded_once(path):
    """2^30 units and more, where a product with a weight has more digits than float64."""
    rng = np.random.default_rng(0)
    X, y, weights = rng.normal(size=(400, 2)) * 2.0**-16, rng.uniform(-1, 1, 400), drawn_weights(400)
    prep, clip = ball_prep(2, False, None), 2.0**-14
    query, coef = query_of(prep, SQUARED, clip), on_coef_grid(np.array([3.0, -2.0]))
    assert query.per_unit == 2.0**34
    expected = reference.clipped_gradient(X, y, prep, SQUARED, coef, clip, weights)
    assert integers(ArrayRows(X, y, prep, weights=of_rows(weights)).total(query, coef)) == expected.tolist()


def test_rows_that_take_another_way_keep_their_weights(path):
    X, y, prep, weights = case("cube", 3, LOGISTIC)
    rows, c = ArrayRows(X, y, prep, weights=of_rows(weights)), prep.geometry.half_width
    center, factors, ends = np.full(3, c / 8), np.full(3, 0.25), (np.full(3, c / 16), np.full(3, c / 2))
    for other, way in [
        (rows.standardised(center, factors, 0.125), prep.standardised(center, factors, 0.125)),
        (rows.clipped(*ends), prep.clipped(*ends)), (rows.narrowed(*ends), prep.narrowed(*ends)),
    ]:  # fmt: skip
        expected = reference.clipped_gradient(X, y, way, LOGISTIC, point(prep), 0.3, weights).tolist()
        assert integers(other.total(query_of(way, LOGISTIC), point(prep))) == expected


@pytest.mark.parametrize("wrong", [[0.5], [0.5] * 3, [0.5, 1.0 + 1e-15], [-1e-300, 1], [np.nan, 1.0], [[0.5], [0.5]]])
@pytest.mark.parametrize("kernel", [ClippedRows, LossRows])
def test_weights_that_are_not_one_number_from_0_to_1_per_row_are_refused(kernel, wrong):
    X, y = make_data("cube", 2, 2)
    with pytest.raises(ValueError, match=r"number from 0 to 1 for each row|wrong number of dimensions"):
        kernel(X, y, row_map(make_prep("cube", 2)), np.array(wrong))


@pytest.mark.parametrize("kernel", [ClippedRows, LossRows])
def test_weights_of_another_type_are_refused_and_no_rows_have_none(kernel):
    X, y = make_data("cube", 2, 2)
    with pytest.raises(ValueError, match="dtype"):
        kernel(X, y, row_map(make_prep("cube", 2)), np.ones(2, np.float32))
    kernel(X[:0], y[:0], row_map(make_prep("cube", 2)), np.ones(0))


@pytest.mark.parametrize("wrong", [[0.5], [0.5, 1.5], [0.5, np.nan], [-0.5, 0.5]])
def test_weights_of_second_moments_out_of_range_are_refused(wrong):
    X, y = make_data("cube", 2, 2)
    query = Moments(2, True)
    with pytest.raises(ValueError, match="number from 0 to 1 for each row"):
        query.add_block(Block(X, y, make_prep("cube", 2), np.array(wrong)), None, query.partial())


def test_multipliers_of_weights_are_the_largest_that_the_proof_allows():
    weights = drawn_weights(2000)
    assert multipliers(weights).tolist() == [reference.root_multiplier(weight) for weight in weights]
    assert all(Fraction(int(a), 2**30) ** 2 <= Fraction(w) for a, w in zip(multipliers(weights), weights, strict=True))
    assert math.isqrt(2**60) == multipliers(np.ones(1))[0]


def test_a_box_and_a_numeric_target_keep_weights_too(path):
    X, y = np.array([[0.5, -0.25], [1.0, 1.0]]), np.array([0.5, -1.0])
    prep = box_prep([(-1.0, 1.0)] * 2, True, None, (-1.0, 1.0))
    rows = ArrayRows(X, y, prep, weights=of_rows(np.array([0.25, 1.0])))
    found = np.triu(rows.total(Moments(2, True)).integers(-40).astype(float)) * 2.0**-40
    c = prep.geometry.half_width
    table = np.column_stack([X * c, np.full(2, 0.5), y])
    assert found == pytest.approx(np.triu(table.T @ (table * [[0.25], [1.0]])), abs=1e-5)
