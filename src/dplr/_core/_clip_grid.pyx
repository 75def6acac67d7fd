"""Bounded rows of the grid: what is known of each row before a pass, and copies of them that later passes read.

`clip.md`, section 1.
"""
import numpy as np

from libc.math cimport fabs
from libc.stdint cimport int64_t

from dplr._core._clip_rows cimport MOST_COLUMNS, TILE_ROWS, ClipPass, measure_rows_portably
from dplr._core._clip_survey cimport MeasureRows, inverse_norm, project_rows, survey_rows
from dplr._core._loss_rows cimport MOST_BLOCK_ROWS
from dplr._core._snap cimport GRID, floating

cdef extern from "clip.h":
    const Tiles *find_tiles(const char *path) noexcept nogil

# As for the loss kernels: rows in memory seldom begin on a cache line.
cdef Py_ssize_t NARROWER_FROM = 32


def _attach_rows(GridRows self, const floating[:, :] X):
    cdef const char *data = <const char *> &X[0, 0] if X.shape[0] else NULL
    self.base.X.data = data
    self.base.X.n, self.base.X.d = X.shape[0], X.shape[1]
    self.base.X.row_stride, self.base.X.column_stride = X.strides[0], X.strides[1]
    self.base.X.single = sizeof(floating) == sizeof(float)


cdef class GridRows:
    """Rows and targets of one array with what every pass needs to know of them: at most three numbers a row.

    Parameters
    ----------
    X, y : (n, d) float64 or float32, any strides, and (n,). X is referenced, not copied: it must not change.
    shift, scale, low, high : (d + 1,) affine map to grid units and clamp, target last. Without `box` the features'
        entries are unused and rows are projected onto the unit ball.
    intercept : appended constant, a multiple of 2^-20 of at most 1; 0 for none.
    labels, negative, positive : whether y holds labels, and which two.
    path : b"portable", or one of `cpu_paths()`.

    Attributes
    ----------
    n, q : rows, and entries of a gradient.
    in_place : whether passes use rows where they lie, and round as they read.
    kept_bytes : what a call of `keep` takes, at most.
    faults : (2,) rows with a NaN or an infinity, which count as zero; other rows with an unknown label, likewise.
    """

    def __init__(
        self, X, y, shift, scale, low, high, bint box, double intercept, bint labels, double negative,
        double positive, const char *path,
    ):
        cdef Py_ssize_t d, stride
        cdef double[:, ::1] table
        cdef double[::1] constants, inverse, numbers
        self.tiles = self.widest = find_tiles(path)
        if self.tiles == NULL and path != b"portable":
            raise ValueError("path must be one of cpu_paths()")
        _attach_rows(self, X)
        self.n, d = self.base.X.n, self.base.X.d
        if d < 1 or len(y) != self.n:
            raise ValueError("X must have columns, and y one entry for each row")
        if not (0 <= intercept <= 1 and intercept * GRID == int(intercept * GRID)):
            raise ValueError("intercept must be a multiple of 2^-20 of at most 1")
        if path == b"avx512" and d >= NARROWER_FROM:
            self.tiles = find_tiles(b"avx2")
        self.q = self.base.q = d + (intercept > 0)
        self.base.stride = stride = (self.q + 7) // 8 * 8
        padded = np.zeros((5, stride))
        for row, column in zip(padded, (shift, scale, low, high)):
            row[:d] = column[:d]
        padded[4, d:self.q] = intercept * GRID
        signs, targets = _targets(y, shift[d], scale[d], low[d], high[d], labels, negative, positive)
        table, constants, inverse = padded[:4], padded[4], signs
        self.base.map.shift, self.base.map.scale = &table[0, 0], &table[1, 0]
        self.base.map.low, self.base.map.high, self.base.map.box = &table[2, 0], &table[3, 0], box
        self.base.constants = &constants[0]
        # Bounds that round to the same two numbers need not be read for each entry. Without padding: zeros stay zeros.
        limit = np.rint(padded[3, 0])
        if box and (np.rint(padded[2:4, :d]) == [[-limit], [limit]]).all():
            self.base.cube = limit
        self.faults = np.zeros(2, np.int64)
        self.owners = [X, padded, signs, targets]
        if self.n == 0:
            return
        self.base.inverse = &inverse[0]
        if targets is not None:
            numbers = targets
            self.base.target = &numbers[0]
        self.survey(inverse, self.faults)

    cdef survey(self, double[::1] inverse, int64_t[::1] faults):
        """Make the signs signed inverse norms, and find the rows to project."""
        cdef double[::1] scale
        cdef double[::1] scratch = np.empty(MOST_BLOCK_ROWS * self.base.stride + 4 * (MOST_BLOCK_ROWS + 8))
        cdef Py_ssize_t odd
        cdef MeasureRows measure = measure_rows_portably
        if self.tiles != NULL:
            measure = self.tiles.measure_rows
        with nogil:
            odd = survey_rows(&self.base, measure, &scratch[0], &inverse[0], &faults[0])
        if odd and not self.base.map.box:
            scales = np.full(self.n, GRID)
            scale = scales
            self.owners.append(scales)
            with nogil:
                project_rows(&self.base, measure, &scratch[0], &inverse[0], &scale[0])

    def keep(self, *, bint chosen):
        """Keep a copy of the rows on the grid; later passes of that kind, over chosen rows or all, read it alone.

        Rows of few columns are kept by columns where all are read, else row by row. Whole numbers of at most 2^20 are
        exact in single precision. A box that is not inside the ball may have larger ones, but then only in rows that
        count as zero. A row that is longer than it was when it was measured is refused.
        """
        cdef bint by_columns = not chosen and self.base.X.d <= MOST_COLUMNS
        cdef Py_ssize_t tiles = (self.n + TILE_ROWS - 1) // TILE_ROWS
        cdef float[::1] kept
        if self.n == 0 or self.is_kept(chosen=chosen):
            return
        numbers = tiles * TILE_ROWS * self.base.X.d if by_columns else self.n * self.base.stride
        memory = np.zeros(numbers + 16, np.float32)
        kept = memory[-(memory.ctypes.data // 4) % 16:]    # whole vectors never cross a cache line
        self.copy_rows(by_columns, &kept[0])
        self.owners.append(memory)
        if by_columns:
            self.base.columns = &kept[0]
        else:
            self.base.kept = &kept[0]
            self.tiles = self.widest

    cdef copy_rows(self, bint by_columns, float *out):
        cdef Py_ssize_t start = 0, rows, r, j, d = self.base.X.d, stride = self.base.stride
        cdef double[::1] scratch = np.zeros(MOST_BLOCK_ROWS * stride + 4 * (MOST_BLOCK_ROWS + 8))
        cdef double *numbers = &scratch[MOST_BLOCK_ROWS * stride]
        cdef ClipPass raw = self.base
        cdef MeasureRows measure = measure_rows_portably
        cdef bint unchanged = True
        if self.tiles != NULL:
            measure = self.tiles.measure_rows
        raw.kept = raw.columns = NULL
        with nogil:
            while start < self.n:
                rows = min(TILE_ROWS, self.n - start)
                measure(&raw, start, rows, &scratch[0], numbers, numbers + MOST_BLOCK_ROWS + 8)
                for r in range(rows):
                    unchanged &= fabs(raw.inverse[start + r]) <= inverse_norm(&raw, numbers[r])
                if by_columns:
                    for j in range(d):
                        for r in range(rows):
                            out[start * d + j * TILE_ROWS + r] = <float> scratch[r * stride + j]
                else:
                    for j in range(rows * stride):
                        out[start * stride + j] = <float> scratch[j]
                start += rows
        if not unchanged:
            raise RuntimeError("X or y changed while they were summed")

    def is_kept(self, *, bint chosen):
        """Whether passes over chosen rows, or over all, read a copy."""
        return self.base.kept != NULL or (self.base.columns != NULL and not chosen)

    @property
    def in_place(self):
        return self.base.X.column_stride == sizeof(double) and not (
            self.base.map.box or self.base.scale != NULL or self.base.X.single)

    @property
    def kept_bytes(self):
        return self.n * self.base.stride * sizeof(float)


def _targets(y, double shift, double scale, double low, double high, bint labels, double negative, double positive):
    """Signs of the labels, 0 for an unknown one, and None; or ones and the targets on the grid. NaN: not finite."""
    raw = np.asarray(y, dtype=np.float64)
    finite = np.isfinite(raw)
    if labels:
        signs = (raw == positive).astype(np.float64)
        signs -= raw == negative
    else:
        signs = np.ones(len(raw))
    signs[~finite] = np.nan
    if labels:
        return signs, None
    with np.errstate(over="ignore"):
        targets = np.clip((np.where(finite, raw, 0.0) - shift) * scale, low, high)
    return signs, np.rint(targets) / GRID
