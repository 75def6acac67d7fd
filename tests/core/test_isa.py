"""Every CPU path gives the same bits as the portable one, and DPLR_ISA chooses between them."""

import itertools
import pathlib
import platform
import re
import shutil
import subprocess

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from dplr import _core
from dplr._core import ClippedRows, RowMap, built_paths, cpu_paths, instruction_set
from dplr.bounds.scaling import box_prep
from dplr.problem.losses import LOGISTIC
from dplr.rows import ArrayRows
from dplr.rows.exact import Block, Moments, Total, row_map
from dplr.rows.losses import LossGradient
from loops import loop
from made_rows import make_data, make_prep

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

CPU_INFO = pathlib.Path("/proc/cpuinfo")
# What the operating system lists for a CPU that runs a path.
FLAGS = {"avx2": {"avx2", "fma"}, "avx512": {"avx2", "fma", "avx512f", "avx512vl", "avx512dq"}}
BUILT = {"x86_64": ("baseline", "avx2", "avx512"), "aarch64": ("baseline", "neon")}
PATHS = [path for path in cpu_paths() if path != "portable"]
KINDS = ["ball", "cube", "corner"]


@pytest.fixture
def same_bits(monkeypatch):
    """same_bits(X, y, prep): sums and counts of every path, in 1 and 2 threads, equal those of the portable path."""

    def sums(path, X, y, prep, threads):
        monkeypatch.setenv("DPLR_ISA", path)
        query = Moments(prep.geometry.d, prep.geometry.intercept > 0)
        spans = [(len(y) * part // threads, len(y) * (part + 1) // threads) for part in range(threads)]
        parts = [ArrayRows(X[a:b], y[a:b], prep).sum(query) for a, b in spans]  # faults are not refused
        return parts[0] if threads == 1 else parts[0] + parts[1]

    def compare(X, y, prep, threads=(1,)):
        expected = sums("portable", X, y, prep, 1)
        for path, count in itertools.product(PATHS, threads):
            value = sums(path, X, y, prep, count)
            assert_array_equal(value.hi, expected.hi, err_msg=path)
            assert_array_equal(value.lo, expected.lo, err_msg=path)
            assert value.faults == expected.faults, path

    return compare


def spoiled(X, y, labels):
    """Copies with NaN, infinities, the largest floats, values far outside and unknown labels, here and there."""
    X, y, n = X.copy(), y.copy(), len(y)
    rng = np.random.default_rng(1)
    for value in (np.nan, np.inf, -np.inf, np.finfo(X.dtype).max, 1e9, -1e9, 2.0, -0.0, 1e-310):
        X[rng.integers(n), rng.integers(X.shape[1])] = value
    for value in (np.nan, np.inf, 7.0):
        y[rng.integers(n)] = value
    X[-1, -1], y[-1] = np.nan, (5.0 if labels else np.inf)
    return X, y


def layouts(X):
    """The same numbers in C, Fortran, strided and reversed order."""
    wide = np.zeros((2 * X.shape[0], 3 * X.shape[1]), X.dtype)
    wide[::2, ::3] = X
    padded = np.zeros((X.shape[0], X.shape[1] + 3), X.dtype)
    padded[:, : X.shape[1]] = X
    backwards = np.ascontiguousarray(X[::-1, ::-1])
    return [X, np.asfortranarray(X), wide[::2, ::3], padded[:, : X.shape[1]], backwards[::-1, ::-1]]


@pytest.mark.parametrize("kind", KINDS)
@loop("labels", [True, False])
@loop("d", [*range(1, 41), 105, 200])
def test_every_path_gives_the_bits_of_the_portable_path(same_bits, kind, labels, d):
    X, y = make_data(kind, 300, d, labels=labels)
    same_bits(X, y, make_prep(kind, d, fit_intercept=d % 2 == 0 and kind != "corner", labels=labels))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("labels", [True, False])
@loop("kept", [np.float64, np.float32])
@loop("d", [1, 3, 4, 7, 13])
def test_odd_rows_and_layouts_do_not_show_in_the_bits(same_bits, kind, labels, kept, d):
    X, y = make_data(kind, 395, d, labels=labels)
    X, y = spoiled(X.astype(kept), y, labels)
    for layout in layouts(X):
        same_bits(layout, y, make_prep(kind, d, fit_intercept=kind != "corner", labels=labels), threads=(1, 2))


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 7, 8, 9, 15, 17, 127, 128, 129, 131, 255, 257, 8191, 8192, 8193, 16_500])
@pytest.mark.parametrize("order", ["C", "F"])
def test_numbers_of_rows_around_blocks_and_vectors(same_bits, n, order):
    for kind in ("ball", "cube"):
        X, y = make_data(kind, n, 6)
        same_bits(np.array(X, order=order), y, make_prep(kind, 6), threads=(1, 2))


@pytest.mark.parametrize("kind", [np.int64, np.uint8, np.float64])
def test_targets_of_every_type_that_kernels_read(same_bits, kind):
    X, y = make_data("cube", 700, 5)
    y = y.astype(kind)
    doubled = np.repeat(y, 2)[::2]
    for target in (y, doubled, y[::-1].copy()[::-1]):
        same_bits(X, target, make_prep("cube", 5))


@pytest.mark.parametrize("target", ["bool", "int64", "int8", "float32", ">f8"])
def test_targets_of_any_type_give_the_same_sum(target):
    X, y = make_data("cube", 700, 5)
    prep, query = make_prep("cube", 5), Moments(5, True)
    expected = ArrayRows(X, y, prep).total(query)
    value = ArrayRows(X, y.astype(target), prep).total(query)
    assert_array_equal(value.hi, expected.hi)
    assert_array_equal(value.lo, expected.lo)


def test_values_half_way_between_grid_points_round_alike(same_bits):
    grid = (np.arange(-4096, 4096).reshape(-1, 2) + 0.5) / 2**20
    same_bits(grid, np.ones(len(grid)), make_prep("ball", 2))
    same_bits(grid, grid[:, 0].copy(), make_prep("cube", 2, labels=False))


def test_counts_outside_do_not_depend_on_the_order_in_which_excesses_are_added(same_bits):
    """A value above its bound plus the slack by one unit in the last place, beside columns barely above theirs."""
    slack, tiny = 2.0**-10, 2.0**-63
    pairs = [(-1.0, tiny / 2**19)] + [(-1.0, 2.0**-150)] * 3  # d = 4: one is 2^19 grid units
    X = np.array([[slack + 2 * tiny, *[0.75 * tiny] * 3]]) / 2**19
    same_bits(X, np.zeros(1), box_prep(pairs, False, (0.0, 1.0)))


@pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")
@pytest.mark.parametrize(
    ("flags", "accepted"),
    [
        ("-O2", True),
        ("-Ofast -fno-fast-math", True),
        ("-ffast-math", False),
        ("-ffinite-math-only", False),
        ("-funsafe-math-optimizations", False),
        ("-fassociative-math -fno-signed-zeros -fno-trapping-math", False),
    ],
)
def test_kernels_refuse_flags_that_remove_rounding_or_nan(flags, accepted):
    header = pathlib.Path(__file__).parents[2] / "src" / "dplr" / "_core" / "tiles" / "tiles.h"
    command = ["gcc", "-std=c11", *flags.split(), "-fsyntax-only", "-x", "c", str(header)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (result.returncode == 0) == accepted, result.stderr
    assert ("#error" in result.stderr) != accepted


@pytest.mark.skipif(not CPU_INFO.exists(), reason="needs /proc/cpuinfo")
def test_paths_of_this_cpu_are_those_whose_flags_the_operating_system_lists():
    listed = re.search(r"^(?:flags|Features)\s*:(.*)$", CPU_INFO.read_text(), re.MULTILINE)
    flags = set(listed[1].split()) if listed else set()
    assert cpu_paths() == tuple(path for path in built_paths() if FLAGS.get(path, set()) <= flags)


def test_build_has_the_paths_of_its_processor():
    machine = {"amd64": "x86_64", "arm64": "aarch64"}.get(platform.machine().lower(), platform.machine())
    assert built_paths() == ("portable", *BUILT.get(machine, ("baseline",)))


def test_environment_variable_chooses_the_path(monkeypatch):
    for path in cpu_paths():
        monkeypatch.setenv("DPLR_ISA", path)
        assert instruction_set() == path
        assert row_map(make_prep("ball", 1)).path == path.encode()
    monkeypatch.delenv("DPLR_ISA")
    assert instruction_set() == cpu_paths()[-1]


def test_unknown_path_is_refused_with_the_remedy(monkeypatch):
    monkeypatch.setenv("DPLR_ISA", "mmx")
    with pytest.raises(ValueError, match=r"`DPLR_ISA` must name a CPU path; got 'mmx'\. Here it may be 'portable'"):
        ArrayRows(np.zeros((1, 1)), np.zeros(1), make_prep("ball", 1)).total(Moments(1, True))


def test_path_that_the_machine_lacks_is_refused_with_the_remedy(monkeypatch):
    monkeypatch.setattr(_core._isa, "_AVAILABLE", ("portable", "baseline"))
    monkeypatch.setenv("DPLR_ISA", "avx512")
    with pytest.raises(ValueError, match=r"must be supported by this CPU and build; got 'avx512'\. .*'baseline' or un"):
        instruction_set()


def test_kernels_refuse_a_path_that_they_do_not_have():
    prep = make_prep("ball", 1)
    with pytest.raises(ValueError, match="cpu_paths"):
        RowMap(prep.shift, prep.scale, prep.low, prep.high, False, 1.0, None, b"mmx")


def test_kernels_refuse_rows_that_do_not_have_the_columns_of_the_map():
    X, y, prep = np.zeros((2, 3)), np.zeros(2), make_prep("ball", 2)
    for query, coef in [(Moments(3, True), None), (LossGradient(LOGISTIC, 3, True), np.zeros(4))]:
        with pytest.raises(ValueError, match="the map"):
            query.add_block(Block(X, y, prep), coef, query.partial())
    with pytest.raises(ValueError, match="the map"):
        ClippedRows(X, y, row_map(prep))


def test_row_map_is_built_once_for_a_prep_and_a_path(monkeypatch):
    prep = make_prep("cube", 2)
    for path in cpu_paths():
        monkeypatch.setenv("DPLR_ISA", path)
        assert row_map(prep) is row_map(prep)
        assert row_map(prep).path == path.encode()
        assert row_map(make_prep("cube", 2)) is not row_map(prep)


def test_partial_sums_are_normal_after_every_block():
    prep, query = make_prep("cube", 3), Moments(3, True)
    X, y = make_data("cube", 1000, 3)
    out = query.partial()
    for start in range(0, 1000, 100):
        query.add_block(Block(X[start : start + 100], y[start : start + 100], prep), None, out)
        assert (out.lo >= 0).all()
        assert (out.lo < 2**32).all()
    assert isinstance(out.total(), Total)
