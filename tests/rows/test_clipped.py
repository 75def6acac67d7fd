"""Exact sums of clipped gradients, against a NumPy twin in whole numbers, on every CPU path."""

import functools
import math
import pickle
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from scipy import special

import own_losses
import reference
from dplr._core import ClippedRows, RowMap, cpu_paths
from dplr.bounds.scaling import ball_prep
from dplr.problem.losses import LOGISTIC, SQUARED, huber_residual, huber_svm
from dplr.rows import ArrayRows, chosen
from dplr.rows.exact import ClippedGradient, clipped_rows, on_coef_grid
from loops import loop
from made_rows import make_data, make_prep
from many_models import sum_of_many

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


def case(kind, d, loss, n=131, **options):
    prep = make_prep(kind, d, fit_intercept=d % 2 == 1 and kind != "corner", labels=loss.classification)
    return (*make_data(kind, n, d, labels=loss.classification, **options), prep)


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
@loop("kind", KINDS)
@loop("d", [1, 2, 3, 4, 7, 8, 9, 13, 15, 16, 17, 31, 32, 33, 64, 65, 105])
def test_sums_equal_the_numpy_twin_in_every_bit(path, kind, loss, d):
    X, y, prep, clip, sums = with_sums_of_the_twin(kind, loss, d)
    assert integers(ArrayRows(X, y, prep).total(query_of(prep, loss, clip), point(prep))) == sums


@functools.cache  # the twin is slow, and has no path
def with_sums_of_the_twin(kind, loss, d):
    X, y, prep = case(kind, d, loss)
    clip = (0.3, 1.0, 0.011, 7.5)[(d + KINDS.index(kind) + LOSSES.index(loss)) % 4]
    return X, y, prep, clip, reference.clipped_gradient(X, y, prep, loss, point(prep), clip).tolist()


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
@loop("kind", KINDS)
@loop("models", [1, 5, 33])
def test_many_models_at_once_equal_one_after_another_in_every_bit(path, kind, loss, models):
    X, y, prep = case(kind, 9, loss)
    clips = np.geomspace(0.01, 4, models)
    coefs = [np.array([point(prep, seed=seed + 100 * k) for k in range(1 + seed % 3)]) for seed in range(models)]
    rows = ArrayRows(X, y, prep)
    queries = [query_of(prep, loss, clip) for clip, points in zip(clips, coefs, strict=True) for _ in points]
    points = np.concatenate(coefs)
    for row, query, coef in zip(integers(sum_of_many(rows, queries, points)), queries, points, strict=True):
        assert row == integers(rows.total(query, coef))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("options", [{"block_rows": 1}, {"block_rows": 7}, {"threads": 2}, {"threads": 5}])
def test_blocks_and_threads_change_no_bit(path, kind, options):
    X, y, prep = case(kind, 6, LOGISTIC, n=9_011 if "threads" in options else 1_301)  # each block has its costs
    whole = ArrayRows(X, y, prep, threads=1).total(query_of(prep, LOGISTIC), point(prep))
    other = ArrayRows(X, y, prep, **options).total(query_of(prep, LOGISTIC), point(prep))
    assert_array_equal(other.hi, whole.hi)
    assert_array_equal(other.lo, whole.lo)


@pytest.mark.parametrize("d", [1, 6, 16, 17])
def test_rows_that_are_kept_are_summed_from_any_row_to_any_row(path, d):
    X, y, prep = case("ball", d, LOGISTIC, n=300)
    rows, query = clipped_rows(X, y, prep), query_of(prep, LOGISTIC)
    spans = [(0, 300), (0, 1), (31, 33), (32, 64), (40, 300), (5, 6), (64, 64), (290, 300)]

    def sums(span):
        one, points = query.partial(), np.array([point(prep, seed=seed) for seed in range(3)]) * 2.0**20
        query.add_rows(rows, point(prep), one.hi, one.lo, span, None)
        hi, lo = np.zeros((2, *points.shape), np.int64)
        clips, units = np.full((2, 3), [[0.3 * query.per_unit], [query.per_unit]])
        rows.add_many("logistic", 0.0, points, clips, units, *span, None, hi, lo)
        return [one.hi, one.lo, hi, lo]

    expected = [sums(span) for span in spans]
    rows.keep(chosen=False)
    for span, parts in zip(spans, expected, strict=True):
        for part, value in zip(parts, sums(span), strict=True):
            assert_array_equal(value, part)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("d", [1, 4, 7, 8, 16, 31, 32, 40])
def test_what_fresh_memory_holds_does_not_matter(path, kind, d, monkeypatch):
    """Scratch of NaN: a padding lane that is multiplied by zero would show."""
    X, y, prep = case(kind, d, LOGISTIC, n=77)
    X *= 0.1  # none must be projected: rows in a ball are used where they lie
    expected = reference.clipped_gradient(X, y, prep, LOGISTIC, point(prep), 0.3).tolist()
    empty = np.empty

    def spoiled(*arguments, **options):
        memory = empty(*arguments, **options)
        memory.fill(np.nan if memory.dtype.kind == "f" else 1)
        return memory

    monkeypatch.setattr(np, "empty", spoiled)
    monkeypatch.setattr("dplr.rows.array._MOST_KEPT_BYTES", 0)
    rows, query, points = ArrayRows(X, y, prep), query_of(prep, LOGISTIC), np.tile(point(prep), (33, 1))
    for kept in ((), (False,), (False, True)):
        for chosen_ones in kept:
            rows.clipped_rows.keep(chosen=chosen_ones)
        assert integers(sum_of_many(rows, [query] * 33, points)) == [expected] * 33
        assert integers(rows.total(query, point(prep))) == expected
        assert integers(rows.total(query, point(prep), chosen(np.arange(len(y))))) == expected


@pytest.mark.parametrize("kind", KINDS)
def test_order_layout_and_kind_of_array_change_no_bit(path, kind):
    X, y, prep = case(kind, 6, LOGISTIC)
    X = X.astype(np.float32)
    order = np.random.default_rng(0).permutation(len(y))
    expected = integers(ArrayRows(X.astype(np.float64), y, prep).total(query_of(prep, LOGISTIC), point(prep)))
    wide = np.repeat(X, 2, axis=1)
    for other, target in [
        (X, y), (np.asfortranarray(X), y), (wide[:, ::2], y), (X[order], y[order]), (X[::-1], y[::-1]),
        (pd.DataFrame(X), y), (X, y.astype(np.int64)), (X.astype(">f8"), y), (X, pickle.loads(pickle.dumps(y))),
    ]:  # fmt: skip
        rows, query = ArrayRows(other, target, prep), query_of(prep, LOGISTIC)
        assert integers(rows.total(query, point(prep))) == expected
        assert integers(sum_of_many(rows, [query] * 2, np.tile(point(prep), (2, 1)))) == [expected, expected]


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
@loop("kind", KINDS)
@loop("d", [1, 4, 7, 8, 9, 16, 31, 33, 105])
def test_rows_that_are_kept_on_the_grid_change_no_bit(path, kind, loss, d, monkeypatch):
    monkeypatch.setattr("dplr.rows.array._MOST_KEPT_BYTES", 0)  # only where this test says so
    X, y, prep = case(kind, d, loss)
    X[5] *= 3.0  # outside, and clamped or projected
    query, models = query_of(prep, loss), np.array([point(prep, seed=seed) for seed in range(35)])
    some = chosen(np.random.default_rng(1).integers(len(y), size=50))

    def sums(rows):
        return [
            integers(rows.total(query, point(prep))),
            integers(rows.total(query, point(prep), some)),
            integers(sum_of_many(rows, [query] * 35, models)),
        ]

    rows = ArrayRows(X, y, prep)
    expected = sums(rows)
    for layout in (X, np.asfortranarray(X)):
        kept = ArrayRows(layout, y, prep)
        for chosen_ones in (False, True):
            kept.clipped_rows.keep(chosen=chosen_ones)
            assert [each.clipped_rows.is_kept(chosen=chosen_ones) for each in (kept, rows)] == [True, False]
            assert sums(kept) == expected


def test_rows_are_kept_when_passes_have_paid_for_it_and_memory_allows(monkeypatch):
    X, y, prep = case("ball", 5, LOGISTIC)
    X *= 0.1  # none must be projected
    box = make_prep("cube", 5, labels=True)
    for most_bytes, bounds, passes, options in [
        (2**20, prep, 8, ()), (2**20, box, 2, ()), (2**20, prep, 1, (chosen(np.arange(len(y))),)), (10, prep, None, ()),
    ]:  # fmt: skip
        monkeypatch.setattr("dplr.rows.array._MOST_KEPT_BYTES", most_bytes)
        rows, query = ArrayRows(X, y, bounds), query_of(bounds, LOGISTIC)
        kept = []
        for _ in range(12):
            rows.total(query, point(bounds), *options)
            kept.append(rows.clipped_rows.is_kept(chosen=bool(options)))
        assert kept == [passes is not None and k >= passes for k in range(12)]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [1, 9, 130])
def test_chosen_rows_count_as_often_as_they_are_named(path, kind, n):
    X, y, prep = case(kind, 13, LOGISTIC, n=200)
    index = np.random.default_rng(1).integers(200, size=n)
    some = ArrayRows(X, y, prep).total(query_of(prep, LOGISTIC), point(prep), chosen(index))
    alone = ArrayRows(X[index], y[index], prep).total(query_of(prep, LOGISTIC), point(prep))
    assert integers(some) == integers(alone)


def test_no_rows_are_chosen_and_the_sum_is_zero(path):
    X, y, prep = case("ball", 3, LOGISTIC)
    assert not any(integers(ArrayRows(X, y, prep).total(query_of(prep, LOGISTIC), point(prep), chosen([]))))


def hard_rows(rng, d):
    """Rows at the ends of float64, around ties of the grid, around the sphere; and what is no number."""
    unit = 2.0**-20
    ties = (rng.integers(-3, 4, d) + 0.5) * unit
    on_sphere = rng.normal(size=d)
    on_sphere /= np.linalg.norm(on_sphere)
    half = np.full(d, 1 / math.sqrt(d))
    rows = [np.full(d, v) for v in (1e308, -1e308, 1e-308, 5e-324, 0.0, -0.0, 1.0, 2.0**-21, 3 * 2.0**-21)]
    rows += [ties, np.nextafter(ties, 9), np.nextafter(ties, -9), on_sphere, on_sphere * (1 + 1e-7), on_sphere * 1e200]
    rows += [half, np.nextafter(half, 0), np.nextafter(half, 2), np.rint(half / unit) * unit + unit / 2]
    rows += [np.where(rng.random(d) < 0.5, 1e308, 1e-308), np.where(rng.random(d) < 0.5, np.nan, 1.0), -half * 1e-5]
    rows += [np.full(d, np.inf), rng.normal(size=d) * 10.0 ** rng.integers(-300, 300)]
    return rows


@pytest.mark.grid(5)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
@pytest.mark.parametrize("d", [1, 2, 5, 13, 40])
def test_no_row_moves_the_sum_by_more_than_the_clip(path, kind, loss, d):
    rng = np.random.default_rng(d)
    _, y, prep = case(kind, d, loss)
    largest = 0.0
    for x in hard_rows(rng, d):
        for clip in (0.3, 1.0, 1e-4, 3.7, 1000.0):
            query = query_of(prep, loss, clip)
            for coef in (point(prep), on_coef_grid(np.full(query.shape, -1e300)), np.zeros(query.shape)):
                label = y[rng.integers(len(y))] if loss.classification else rng.choice([1e308, -1e308, 5e-324, 0.5])
                # Summed without the check for faults, which the guarantee must not rest on.
                total = ArrayRows(x[np.newaxis], np.array([label]), prep).sum(query, coef)
                units = Fraction(clip) / Fraction(2) ** total.exponent
                squared = sum(k * k for k in integers(total))
                assert squared <= units**2
                largest = max(largest, float(squared / units**2))
    assert largest > 0.999**2


def test_rows_that_a_box_leaves_outside_the_ball_count_as_zero(path):
    """No box of the package does; the bound must not rest on it."""
    X, y, d = np.array([[1.0, 1, 1, 1], [0.5, 0.5, 0.5, 0.5]]), np.ones(2), 4
    scale = np.full(d + 1, 2.0**20)
    row_map = RowMap(np.zeros(d + 1), scale, -scale, scale, True, 0.0, (0.0, 1.0), path.encode())
    rows = ClippedRows(X, y, row_map)
    for start, norm in [(0, 0), (1, 2**20 - 1)]:
        hi, lo = np.zeros((2, d), np.int64)
        rows.add("logistic", 0.0, np.zeros(d), 2.0**20, 2.0**21, start, start + 1, None, hi, lo)
        assert [abs(int(k)) for k in hi * 2**32 + lo] == [norm * 2**19] * d


@pytest.mark.parametrize("kind", KINDS)
def test_rows_that_are_not_finite_and_unknown_labels_are_refused_and_count_as_zero(path, kind):
    X, y, prep = case(kind, 3, LOGISTIC, n=20)
    good = integers(ArrayRows(X[2:], y[2:], prep).total(query_of(prep, LOGISTIC), point(prep)))
    X[0, 1], y[1] = np.nan, 7.0
    rows = ArrayRows(X, y, prep)
    total = rows.sum(query_of(prep, LOGISTIC), point(prep))
    assert (total.faults.non_finite_rows, total.faults.unknown_labels) == (1, 1)
    assert integers(total) == good
    with pytest.raises(ValueError, match="must be finite"):
        rows.total(query_of(prep, LOGISTIC), point(prep))


def test_sums_beyond_64_bits_are_exact(path):
    """4,200,000 equal rows at the clip: 2^62 in grid units."""
    prep = ball_prep(1, False, None)
    n = 4_200_000
    X, y = np.broadcast_to(np.ones((1, 1)), (n, 1)), np.broadcast_to(-np.ones(1), (n,))
    total = ArrayRows(X, y, prep).total(query_of(prep, SQUARED, 1.0), np.zeros(1))
    assert int(total.integers(total.exponent)[0]) == n * (2**20 - 1) * 2**20  # the clip is rounded down by a unit


def test_residuals_of_the_logistic_loss_are_as_close_as_proved(path):
    """A short row and a small clip, which caps nothing, show residuals to 2^-27."""
    x, clip = 2.0**-8, 2.0**-7
    rows = ArrayRows(np.array([[x]]), np.ones(1), ball_prep(1, False, (-1.0, 1.0)))
    query = query_of(rows.prep, LOGISTIC, clip)
    for coef in on_coef_grid(np.linspace(-4095, 4095, 1001)[:, None]):
        total = rows.total(query, coef)
        residual = -int(total.integers(total.exponent)[0]) * 2.0**total.exponent / x
        exact = special.expit(-x * coef[0])
        assert abs(residual - exact) <= min(1.2e-7, 6e-6 * exact) + clip * 2.0**-20


def test_points_off_the_grid_or_too_far_are_refused(path):
    X, y, prep = case("ball", 3, LOGISTIC)
    rows = ArrayRows(X, y, prep)
    for coef in (np.full(4, 0.1), np.full(4, 2048.5), np.full(4, np.nan), np.full(4, np.inf)):
        with pytest.raises(ValueError, match="coef must"):
            rows.total(query_of(prep, LOGISTIC), coef)
    rows.total(query_of(prep, LOGISTIC), on_coef_grid(np.full(4, 1e9)))


def test_the_grid_of_coefficients_keeps_within_its_ball():
    rng = np.random.default_rng(0)
    for d in (1, 3, 200):
        coef = on_coef_grid(rng.normal(size=d) * 1e6)
        assert_array_equal(coef * 2**20, np.rint(coef * 2**20))
        assert sum(Fraction(c) ** 2 for c in coef) <= 2**24


def test_at_most_three_numbers_a_row_are_kept(path):
    import tracemalloc

    X, y, prep = case("ball", 50, SQUARED, n=20_000)
    rows = ArrayRows(X, y, prep)
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    rows.total(query_of(prep, SQUARED), point(prep))
    kept, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert kept - before < 3.1 * 8 * len(y) < peak
    assert peak - before < 8 * 8 * len(y)


def test_rows_that_change_while_they_are_summed_raise(path):
    prep = ball_prep(1, False, (0.0, 1.0))
    X, y = np.full((10, 1), 0.5), np.ones(10)
    row_map = RowMap(prep.shift, prep.scale, prep.low, prep.high, False, 0.0, (0.0, 1.0), path.encode())
    rows = ClippedRows(X, y, row_map)
    X[3] = np.nan
    with pytest.raises(RuntimeError, match="changed"):
        rows.add(
            "logistic", 0.0, np.zeros(1), 2.0**20, 2.0**20, 0, 10, None, np.zeros(1, np.int64), np.zeros(1, np.int64)
        )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("chosen_ones", [False, True])
@pytest.mark.parametrize("value", [np.nan, np.inf, 1e308, 100.0, 0.9])
def test_a_row_that_grew_after_it_was_measured_is_not_kept(path, kind, chosen_ones, value):
    """Its residuals are clipped by the norm that it had."""
    X, y, prep = case(kind, 5, LOGISTIC, n=70)
    X[:] = prep.shift[:5] + 1e-3
    rows = clipped_rows(X, y, prep)
    X[40] = value
    with pytest.raises(RuntimeError, match="changed"):
        rows.keep(chosen=chosen_ones)
    assert not rows.is_kept(chosen=chosen_ones)
