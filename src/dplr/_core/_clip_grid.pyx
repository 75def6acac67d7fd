"""Bounded rows of the grid: facts about each row that all passes share, and copies that later passes read.

`clip.md`, section 1.
"""
import numpy as np

from libc.math cimport fabs
from libc.stdint cimport int64_t

from dplr._core._clip_rows cimport measure_rows_portably
from dplr._core._clip_survey cimport MeasureRows, inverse_norm, project_rows, survey_rows
from dplr._core._row_map cimport RowMap
from dplr._core._tiles cimport GRID, MOST_BLOCK_ROWS, MOST_COLUMNS, TILE_ROWS, ClipPass, floating
from dplr._core._weights cimport check_weights


_FEW_ROWS = 1 << 20  # rows whose targets are converted together


def _attach_rows(GridRows self, const floating[:, :] X):
    cdef const char *data = <const char *> &X[0, 0] if X.shape[0] else NULL
    self.base.X.data = data
    self.base.X.n, self.base.X.d = X.shape[0], X.shape[1]
    self.base.X.row_stride, self.base.X.column_stride = X.strides[0], X.strides[1]
    self.base.X.single = sizeof(floating) == sizeof(float)


cdef class GridRows:
    """Rows and targets of one array with facts that every pass needs: at most three numbers per row.

    Parameters
    ----------
    X, y : (n, d) float64 or float32, any strides, and (n,). X is referenced, not copied: it must not change.
    row_map : the map from raw rows to scaled rows.
    weights : (n,) from 0 to 1, by which residuals are multiplied and then truncated; None for ones. Referenced where
        they lie side by side.
    allocate : makes the arrays of facts about rows, and of a copy of them: n -> zeros (n,) of float64; None for memory.

    Attributes
    ----------
    n, q : rows, and entries of a gradient.
    in_place : whether passes use rows where they lie, and round as they read.
    kept_bytes : what a call of `keep` takes, at most.
    faults : (2,) rows with a NaN or an infinity, which count as zero; other rows with an unknown label, likewise.
    """

    def __init__(self, X, y, RowMap row_map not None, weights=None, allocate=None):
        cdef Py_ssize_t d, stride, j
        cdef const double[::1] factors
        cdef double[:, ::1] table
        cdef double[::1] constants, inverse, numbers
        self.tiles, self.widest, self.allocate = row_map.tiles, row_map.widest, allocate or np.zeros
        _attach_rows(self, X)
        self.n, d = self.base.X.n, self.base.X.d
        if d != row_map.d or len(y) != self.n:
            raise ValueError("X must have the columns of the map, and y one entry for each row")
        self.q = self.base.q = d + (row_map.intercept > 0)
        self.base.stride = stride = (self.q + 7) // 8 * 8
        padded = np.zeros((5, stride))
        padded[4, d:self.q] = row_map.intercept * GRID
        signs, targets = _targets(y, row_map, self.allocate)
        table, constants, inverse = padded[:4], padded[4], signs
        for j in range(d):
            table[0, j], table[1, j] = row_map.map.shift[j], row_map.map.scale[j]
            table[2, j], table[3, j] = row_map.map.low[j], row_map.map.high[j]
        self.base.map = row_map.map
        self.base.map.shift, self.base.map.scale = &table[0, 0], &table[1, 0]
        self.base.map.low, self.base.map.high = &table[2, 0], &table[3, 0]
        self.base.constants = &constants[0]
        # Bounds that round to the same two numbers need not be read for each entry. Without padding: zeros stay zeros.
        limit = np.rint(padded[3, 0])
        if row_map.map.box and (np.rint(padded[2:4, :d]) == [[-limit], [limit]]).all():
            self.base.cube = limit
        self.faults = np.zeros(2, np.int64)
        self.owners = [X, padded, signs, targets]
        if weights is not None:
            factors = np.ascontiguousarray(weights)
            check_weights(factors, self.n)
            self.owners.append(factors)
        if self.n == 0:
            return
        self.base.inverse = &inverse[0]
        if targets is not None:
            numbers = targets
            self.base.target = &numbers[0]
        if weights is not None:
            self.base.weights = &factors[0]
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
            scales = self.allocate(self.n)
            scales[:] = GRID
            scale = scales
            self.owners.append(scales)
            with nogil:
                project_rows(&self.base, measure, &scratch[0], &inverse[0], &scale[0])

    def keep(self, *, bint chosen):
        """Keep a copy of the rows on the grid; later passes of that kind, over chosen rows or all, read only the copy.

        Rows of few columns are kept by columns if all rows are read, otherwise row by row. Whole numbers of at most
        2^20 are exact in single precision. A box that is not inside the ball may have larger ones, but then only in
        rows that count as zero. A row that is longer than it was when it was measured is refused.
        """
        cdef bint by_columns = not chosen and self.base.X.d <= MOST_COLUMNS
        cdef Py_ssize_t tiles = (self.n + TILE_ROWS - 1) // TILE_ROWS
        cdef float[::1] kept
        if self.n == 0 or self.is_kept(chosen=chosen):
            return
        numbers = tiles * TILE_ROWS * self.base.X.d if by_columns else self.n * self.base.stride
        memory = self.allocate(numbers // 2 + 9).view(np.float32)
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


def _targets(y, RowMap row_map, allocate):
    """Signs of the labels, 0 for an unknown one, and None; or ones and the targets on the grid. NaN: not finite."""
    cdef Py_ssize_t d = row_map.d, start
    numbers = np.asarray(y, dtype=np.float64)
    signs, targets = allocate(len(numbers)), None if row_map.map.labels else allocate(len(numbers))
    for start in range(0, len(numbers), _FEW_ROWS):
        some = slice(start, start + _FEW_ROWS)
        raw = numbers[some]
        finite = np.isfinite(raw)
        if row_map.map.labels:
            signs[some] = raw == row_map.map.positive
            signs[some] -= raw == row_map.map.negative
        else:
            signs[some] = 1
            with np.errstate(over="ignore"):
                scaled = (np.where(finite, raw, 0.0) - row_map.map.shift[d]) * row_map.map.scale[d]
            targets[some] = np.rint(np.clip(scaled, row_map.map.low[d], row_map.map.high[d])) / GRID
        signs[some][~finite] = np.nan
    return signs, targets
