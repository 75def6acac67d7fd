"""The kernel against exact Python integers, and the laws of an exact sum."""

import contextvars
import itertools
import os
import pickle
import signal
import tracemalloc
import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

import reference
from dplr._core._gram import gram
from dplr.problem.geometry import GRID, INTERCEPT
from dplr.rows import ArrayRows, chosen, every
from dplr.rows import threads as _pool
from dplr.rows.exact import Block, Faults, Moments, Total, normalised
from dplr.rows.weights import RowWeights
from made_rows import make_data, make_prep

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

KINDS = ["ball", "cube", "corner"]


def total(X, y, prep, **options):
    rows = ArrayRows(X, y, prep, **options)
    return rows.total(Moments(prep.geometry.d, prep.geometry.intercept > 0))


def integers(value):
    return np.triu(value.integers(-40))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("labels", [True, False])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("d", [1, 2, 3, 5, 13, 22])
def test_kernel_equals_exact_integer_reference(kind, d, fit_intercept, labels):
    prep = make_prep(kind, d, fit_intercept=fit_intercept, labels=labels)
    X, y = make_data(kind, 131, d, labels=labels)
    assert_array_equal(integers(total(X, y, prep)), reference.moments(X, y, prep))


def test_kernel_calls_longer_than_a_flush_are_exact_for_the_largest_rows():
    """2^13 rows on the sphere fill a block sum up to 2^53: one row more must not be lost."""
    prep = make_prep("ball", 1, fit_intercept=False)
    X = np.ones((2**15 + 1, 1))
    X[-1] = 3 / 2**20  # an odd last bit, which a sum above 2^53 could not hold
    value = integers(total(X, np.ones(len(X)), prep, block_rows=2**16))
    assert value[0, 0] == 2**15 * 2**40 + 9


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n", [8193, 8320, 8321, 16_385])
def test_the_first_row_above_a_full_sum_is_not_lost(n, weighted):
    """2^13 rows of 2^40 are 2^53: whichever block of rows an odd one is in, it is added to a smaller sum."""
    prep, X = make_prep("ball", 1, fit_intercept=False), np.ones((n, 1))
    X[-1] = 3 / 2**20
    options = {"weights": RowWeights(np.ones(n), None, n)} if weighted else {}
    value = integers(total(X, np.ones(n), prep, block_rows=2**16, **options))
    assert value[0, 0] == (n - 1) * 2**40 + 9


@pytest.mark.parametrize("n", [1, 2, 127, 128, 129, 8191, 8192, 8193, 16_500])
def test_every_number_of_rows_is_summed_exactly(n):
    prep = make_prep("cube", 2)
    X, y = make_data("cube", n, 2)
    assert_array_equal(integers(total(X, y, prep)), reference.moments(X, y, prep))


@pytest.mark.parametrize("kind", KINDS)
def test_total_does_not_depend_on_blocks_threads_order_or_layout(kind):
    d, n = 7, 20_000
    prep = make_prep(kind, d)
    X, y = make_data(kind, n, d)
    expected = total(X, y, prep, threads=1)
    variants = [total(X[:500], y[:500], prep, block_rows=size) for size in (1, 7)]
    head = total(X[:500], y[:500], prep)
    for value in variants:
        assert_array_equal(value.hi, head.hi)
        assert_array_equal(value.lo, head.lo)
    order = np.random.default_rng(3).permutation(n)
    wide = np.zeros((n, 2 * d))
    wide[:, ::2] = X
    for other_X, other_y, options in [
        (X, y, {"block_rows": 1000}),
        (X, y, {"block_rows": 2**13, "threads": 2}),
        (X, y, {"block_rows": 1000, "threads": 3}),
        (X[order], y[order], {}),
        (np.asfortranarray(X), y, {"threads": 2}),
        (X[::-1], y[::-1], {}),
        (wide[:, ::2], np.repeat(y, 2)[::2], {}),
        (pd.DataFrame(X), y, {}),
        (X.astype(">f8"), y.astype(int), {}),
    ]:
        value = total(other_X, other_y, prep, **options)
        assert_array_equal(value.hi, expected.hi)
        assert_array_equal(value.lo, expected.lo)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("order", ["C", "F"])
def test_float32_input_equals_the_same_numbers_in_float64(kind, order):
    prep = make_prep(kind, 5)
    X, y = make_data(kind, 3000, 5)
    single = np.array(X, dtype=np.float32, order=order)
    left, right = total(single, y, prep), total(single.astype(np.float64), y, prep)
    assert_array_equal(left.hi, right.hi)
    assert_array_equal(left.lo, right.lo)


def test_memory_mapped_and_read_only_input_is_summed_and_left_unchanged(tmp_path):
    prep = make_prep("cube", 3)
    X, y = make_data("cube", 1000, 3)
    np.save(tmp_path / "x.npy", X)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    before = X.copy()
    X.flags.writeable = y.flags.writeable = False
    assert_array_equal(integers(total(mapped, y, prep)), integers(total(X, y, prep)))
    assert_array_equal(X, before)


@pytest.mark.parametrize("kept", [np.float64, np.float32])
def test_kernel_gets_aligned_arrays_from_columns_of_packed_records(kept, monkeypatch):
    X, y = make_data("cube", 300, 3)
    records = np.zeros(300, dtype=[("tag", "u1"), ("X", kept, (3,)), ("y", "f8")])
    records["X"], records["y"] = X, y
    assert not records["X"].flags.aligned
    assert not records["y"].flags.aligned
    seen, add_block = [], Moments.add_block

    def spy(self, block, *others):
        seen.extend([block.X.flags.aligned, block.y.flags.aligned])
        add_block(self, block, *others)

    monkeypatch.setattr(Moments, "add_block", spy)
    prep = make_prep("cube", 3)
    assert_array_equal(integers(total(records["X"], records["y"], prep)), integers(total(X.astype(kept), y, prep)))
    assert seen
    assert all(seen)


def mixed_frame(X):
    return pd.DataFrame({f"c{j}": X[:, j].astype("float32" if j % 2 else "float64") for j in range(X.shape[1])})


@pytest.mark.parametrize("convert", [np.asarray, np.asfortranarray, lambda X: X.astype("int8"), mixed_frame])
@pytest.mark.parametrize("threads", [1, 2])
def test_peak_extra_memory_is_below_three_doubles_a_row(convert, threads):
    n, d = 200_000, 12
    X, y = make_data("cube", n, d)
    X, y = convert(X), y.astype("int64")
    rows = ArrayRows(X, y, make_prep("cube", d), threads=threads)
    rows.total(Moments(d, True))
    tracemalloc.start()
    rows.total(Moments(d, True))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak <= 3 * 8 * n


@pytest.mark.parametrize("d", [1, 2, 3, 8, 13, 100])
def test_every_row_ends_in_the_unit_ball_in_integers(d):
    """Rows on, just inside, just outside and far outside the sphere; the moments of one row show its squared norm."""
    rng = np.random.default_rng(d)
    prep = make_prep("ball", d)
    directions = [rng.normal(size=d), np.ones(d), np.eye(d)[0], rng.exponential(size=d) ** 8]
    lengths = [0.0, 1e-320, 1e-9, 1 - 1e-9, 1.0, 1 + 1e-16, 1 + 1e-9, 1 + 1e-6, 1 + 1e-5, 3.0, 1e10, 1e150, 1e300]
    for direction, length in itertools.product(directions, lengths):
        row = length * direction / np.linalg.norm(direction)
        norm = np.trace(integers(total(row[None, :], np.zeros(1), prep))[:d, :d])
        assert norm <= 2**40
        assert norm >= min(1.0, length) ** 2 * 2**40 * 0.999 - d * 2**20


def test_largest_finite_values_stay_in_the_domain():
    for kind in KINDS:
        prep = make_prep(kind, 2, labels=False)
        limit = np.finfo(float).max
        for value in (limit, -limit, limit / 3):
            moments = integers(total(np.array([[value, value / 7]]), np.array([value]), prep))
            assert moments[0, 0] + moments[1, 1] <= 2**40
            assert moments[-1, -1] <= 2**40


def test_rows_with_non_finite_values_count_as_zero_whatever_the_caller_checks():
    """The guarantee must not rest on the error that the caller raises."""
    prep = make_prep("ball", 2)
    query = Moments(2, True)
    partial = query.partial()
    X = np.array([[np.nan, 0.1], [np.inf, 0.1], [0.3, -np.inf], [0.3, 0.4], [0.3, 0.4]])
    query.add_block(Block(X, np.array([0.0, 1.0, 1.0, np.nan, 7.0]), prep), None, partial)
    value = partial.total()
    assert value.faults == Faults(5, 4, 1, (0, 0, 0))
    good = reference.snapped_row([0.3, 0.4], prep)
    expected = np.zeros((4, 4), dtype=object)
    expected[0, 0], expected[0, 1], expected[1, 1] = good[0] ** 2, good[0] * good[1], good[1] ** 2
    constant = int(INTERCEPT * GRID)
    expected[0, 2], expected[1, 2], expected[2, 2] = good[0] * constant, good[1] * constant, 5 * constant**2
    assert_array_equal(integers(value), expected)


def test_totals_of_ten_billion_rows_merge_without_overflow():
    """Merge a block of largest rows with itself until it stands for more than 10^10 of them."""
    prep = make_prep("ball", 1, fit_intercept=False)
    value = total(np.ones((8192, 1)), np.ones(8192), prep)
    rows = 8192
    while rows < 10**10:
        value, rows = value + value, rows * 2
    assert value.faults.rows == rows
    assert integers(value)[0, 0] == rows * 2**40 > 2**63
    restored = pickle.loads(pickle.dumps(value))
    assert integers(restored)[0, 1] == rows * 2**40


def test_negative_totals_floor_downwards():
    faults = Faults(1, 0, 0, (0,))
    value = normalised(np.array([0, -1]), np.array([-3, 2**32 - 3]), -40, faults)
    assert value.integers(-40).tolist() == [-3, -3]
    assert value.integers(-39).tolist() == [-2, -2]
    assert value.integers(-42).tolist() == [-12, -12]
    assert_array_equal(value.lo, [2**32 - 3, 2**32 - 3])


@pytest.mark.parametrize("exponent", [-41, -40, -39, -24, -9, -8, -7, 0])
def test_integers_are_the_floor_for_small_and_for_huge_sums(exponent):
    hi = np.array([0, -1, 5, -7, 2**29, -(2**30), 2**31, 2**46, -(2**47), 2**61, -(2**61)])
    lo = np.arange(len(hi)) * 98_765_432 % 2**32
    for cells in (slice(0, 4), slice(0, 7), ...):
        value = Total(hi, lo, -40, Faults(1, 0, 0, (0,))).integers(exponent, cells)
        exact = [int(h) * 2**32 + int(k) for h, k in zip(hi[cells], lo[cells], strict=True)]
        assert value.tolist() == [k * 2 // 2 ** (exponent + 41) for k in exact]


@pytest.mark.parametrize("shift", [0, 1, 20, 31, 32])
def test_whole_grid_units_are_right_at_both_ends_of_their_range(shift):
    limit = 2 ** (30 + shift)
    for high in (limit - 1, limit, -limit, 1 - limit, 2**63 - 1, -(2**63), 0, -1):
        for low in (0, 1, 2**32 - 1):
            value = Total(np.array([high]), np.array([low]), -40, Faults(1, 0, 0, (0,))).integers(shift - 40)
            assert value.tolist() == [(high * 2**32 + low) // 2**shift]
            assert (value.dtype == np.int64) == (abs(high) < limit)


@pytest.mark.parametrize("cells", [np.s_[:, 0], np.s_[1, ::2], np.s_[::-1, 1:], (1, 2), np.s_[:0]])
def test_integers_of_any_cells_are_those_of_all_there(cells):
    hi = np.arange(-6, 6).reshape(3, 4)
    total = Total(hi, np.abs(hi), -40, Faults(1, 0, 0, (0,)))
    assert_array_equal(total.integers(-20, cells), total.integers(-20)[cells])


def test_totals_of_different_queries_do_not_merge():
    faults = Faults(1, 0, 0, (0,))
    left = Total(np.zeros((2, 2), int), np.zeros((2, 2), int), -40, faults)
    with pytest.raises(ValueError, match="same query"):
        left + Total(np.zeros((3, 3), int), np.zeros((3, 3), int), -40, faults)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_forked_child_of_a_threaded_parent_sums_with_threads_of_its_own():
    prep = make_prep("cube", 3)
    X, y = make_data("cube", 40_000, 3)
    expected = total(X, y, prep, threads=2)
    child = os.fork()
    if child == 0:
        signal.alarm(60)  # a pool inherited from the parent would wait forever
        same = (total(X, y, prep, threads=2).hi == expected.hi).all()
        os._exit(0 if same else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_number_of_threads_comes_from_the_environment_and_is_checked(monkeypatch):
    monkeypatch.setenv("DPLR_NUM_THREADS", "3")
    assert _pool.threads_for(1e12) == 3
    assert _pool.threads_for(1e3) == 1
    monkeypatch.setenv("DPLR_NUM_THREADS", "many")
    with pytest.raises(ValueError, match="`DPLR_NUM_THREADS` must be a positive integer; got 'many'"):
        _pool.threads_for(1e12)


@pytest.mark.parametrize("threads", [1, 2])
def test_selections_sum_what_they_name(threads):
    prep = make_prep("cube", 3)
    X, y = make_data("cube", 1000, 3)
    query = Moments(3, True)
    rows = ArrayRows(X, y, prep, block_rows=64, threads=threads)
    indices = np.random.default_rng(0).integers(0, 1000, 300)
    assert_array_equal(integers(rows.total(query, rows=every(7))), integers(total(X[::7], y[::7], prep)))
    assert_array_equal(integers(rows.total(query, rows=chosen(indices))), integers(total(X[indices], y[indices], prep)))


@pytest.mark.parametrize("q", [2, 4, 6, 8, 14])
def test_gram_kernel_equals_numpy_on_integers(q):
    columns = np.random.default_rng(0).integers(-(2**20), 2**20, (q, 40)).astype(float)
    out = np.zeros((q, q))
    gram(columns, out)
    assert_array_equal(np.triu(out), np.triu(columns @ columns.T))


def test_kernel_refuses_arrays_that_do_not_fit_together():
    prep = make_prep("ball", 2)
    query = Moments(2, True)
    for X, y in [(np.zeros((3, 2)), np.zeros(4)), (np.zeros((3, 3)), np.zeros(3)), (np.zeros((3, 0)), np.zeros(3))]:
        with pytest.raises(ValueError, match="do not fit"):
            query.add_block(Block(X, y, prep), None, query.partial())


def test_warning_tells_the_share_of_rows_outside_the_ball():
    X = np.array([[0.6, 0.8], [2.0, 0.0], [0.0, 0.1], [0.1, 0.0]])
    with pytest.warns(UserWarning, match=r"25\.00% of the rows of X lie outside the unit ball") as record:
        total(X, np.zeros(4), make_prep("ball", 2))
    assert "bounds=dplr.Bounds" in str(record[0].message)


def test_no_warning_for_rows_on_the_sphere_or_values_on_their_bounds():
    angles = np.linspace(0, 6, 1000)
    circle = np.column_stack([np.cos(angles), np.sin(angles)])
    with warnings.catch_warnings(record=True) as raised:
        warnings.simplefilter("always")
        total(circle, np.zeros(1000), make_prep("ball", 2))
        for kind in ("cube", "corner"):
            prep = make_prep(kind, 2, fit_intercept=kind == "cube", labels=False)
            corners = np.array([[-1.0, -2.0], [2.0, 3.0]]) if kind == "cube" else np.array([[0.0, 0.0], [2.0, 3.0]])
            total(corners, np.array([-3.0, 5.0]), prep)
    assert [str(warning.message) for warning in raised] == []


def test_warning_names_the_columns_that_were_clipped():
    X, y = np.array([[0.0, 99.0], [1.0, 1.0]]), np.array([9.0, 0.0])
    with pytest.warns(UserWarning, match=r"clipped \(column 1 50\.00%\).*50\.00% of y lies outside"):
        total(X, y, make_prep("cube", 2, labels=False))


def test_threads_of_the_pool_work_in_the_context_of_their_caller():
    who = contextvars.ContextVar("who")

    def ask(name):
        who.set(name)
        return _pool.run(lambda _: who.get(), range(4))

    assert ask("first") == ["first"] * 4
    assert ask("second") == ["second"] * 4
    assert contextvars.Context().run(_pool.run, lambda _: who.get("nobody"), range(4)) == ["nobody"] * 4
