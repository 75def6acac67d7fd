"""Exact sums of clipped gradients over bounded rows of the grid: what is known of each row, groups, two limbs.

A row, its margin at coefficients on the grid, and its clipped, truncated residual are whole numbers; so are the sums,
whatever block, thread or CPU path they are made on. `clip.md` has the proofs.
"""
from math import frexp

import numpy as np

from libc.math cimport fabs, floor
from libc.stdint cimport int64_t, uint8_t
from libc.string cimport memcpy, memset

from dplr._core._clip_rows cimport (
    MOST_COLUMNS, PANEL_MODELS, TILE_ROWS, ClipModel, ClipPanel, ClipPass, ClipWork, add_clipped_many_portably,
    add_clipped_portably, measure_rows_portably)
from dplr._core._clip_survey cimport MeasureRows, project_rows, survey_rows
from dplr._core._limbs cimport add_limbs
from dplr._core._loss_rows cimport MOST_BLOCK_ROWS
from dplr._core._snap cimport FLUSH_ROWS, GRID, floating

from dplr._core._loss import KINDS

cdef extern from "clip.h":
    ctypedef struct Tiles:
        void (*measure_rows)(
            const ClipPass *p, Py_ssize_t start, Py_ssize_t rows, double *block, double *squared_norm, double *excess
        ) noexcept nogil
        void (*add_clipped)(
            const ClipPass *p, Py_ssize_t start, Py_ssize_t rows, const ClipModel *model, const ClipWork *work
        ) noexcept nogil
        void (*add_clipped_many)(
            const ClipPass *p, Py_ssize_t start, Py_ssize_t rows, const ClipPanel *panels, Py_ssize_t count,
            double *block
        ) noexcept nogil
        void (*add_columns)(
            const ClipPass *p, Py_ssize_t start, Py_ssize_t rows, const ClipModel *models, Py_ssize_t count,
            double *sums, double *gradients
        ) noexcept nogil

    const Tiles *find_tiles(const char *path) noexcept nogil

# Coefficients are whole numbers of 2^-20 of norm at most 2^12: every partial sum of a margin is then exact.
cdef double LARGEST_COEF = 4294967296.0
cdef double EXACT = 9007199254740992.0
# A panel costs about as much as so many models one by one.
cdef Py_ssize_t FEW_MODELS = 8
# From here on panels of models are quicker than rows by columns, one model after another. Measured.
cdef Py_ssize_t WIDE_FROM = 17
# As for the loss kernels: rows in memory seldom begin on a cache line.
cdef Py_ssize_t NARROWER_FROM = 32


def _attach_rows(ClippedRows self, const floating[:, :] X):
    cdef const char *data = <const char *> &X[0, 0] if X.shape[0] else NULL
    self.base.X.data = data
    self.base.X.n, self.base.X.d = X.shape[0], X.shape[1]
    self.base.X.row_stride, self.base.X.column_stride = X.strides[0], X.strides[1]
    self.base.X.single = sizeof(floating) == sizeof(float)


cdef class ClippedRows:
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

    cdef ClipPass base
    cdef const Tiles *tiles
    cdef const Tiles *widest
    cdef readonly Py_ssize_t n
    cdef readonly Py_ssize_t q
    cdef readonly object faults
    cdef object owners

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
        count as zero.
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
        if self.tiles != NULL:
            measure = self.tiles.measure_rows
        raw.kept = raw.columns = NULL
        with nogil:
            while start < self.n:
                rows = min(TILE_ROWS, self.n - start)
                measure(&raw, start, rows, &scratch[0], numbers, numbers + MOST_BLOCK_ROWS + 8)
                if by_columns:
                    for j in range(d):
                        for r in range(rows):
                            out[start * d + j * TILE_ROWS + r] = <float> scratch[r * stride + j]
                else:
                    for j in range(rows * stride):
                        out[start * stride + j] = <float> scratch[j]
                start += rows

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

    def add(
        self, str kernel, double width, const double[::1] coef, double clip, double per_unit, Py_ssize_t start,
        Py_ssize_t end, const int64_t[::1] index, int64_t[::1] hi, int64_t[::1] lo,
    ):
        """Add the clipped gradients of rows [start, end), or of so many entries of `index`, to hi * 2^32 + lo.

        Parameters
        ----------
        kernel, width : the loss.
        coef : (q,) whole numbers, in units of 2^-20, of norm at most 2^32.
        clip : largest norm of a row's gradient, in residual units; at most 2^20.
        per_unit : residual units in 1.0, a power of two.
        index : row numbers, or None.
        hi, lo : (q,) limbs, 0 <= lo < 2^32, in units of 2^-20 / per_unit.
        """
        cdef ClipPass p = self.base
        cdef ClipModel model
        cdef ClipWork work
        cdef Py_ssize_t stride = self.base.stride, rows, q = self.q
        cdef bint exact = True
        _check_model(coef, clip, per_unit)
        if coef.shape[0] != q or hi.shape[0] != q or lo.shape[0] != q:
            raise ValueError("coef, hi and lo must have an entry for each column and the intercept")
        _check_span(self.n, start, end, index)
        p.kind, p.width, p.slope = KINDS[kernel], width, 0.5 / width if width else 0.0
        if self.by_columns(index):
            model = ClipModel(&coef[0], per_unit, clip)
            self.add_columns(&p, &model, 1, start, end, &hi[0], &lo[0])
            return
        cdef double[::1] scratch = np.empty((MOST_BLOCK_ROWS + 2) * stride + MOST_BLOCK_ROWS + 16)
        work.block = on_cache_line(&scratch[0])
        work.gradient = work.block + MOST_BLOCK_ROWS * stride
        model.coef, work.residual = work.gradient + stride, work.gradient + 2 * stride
        if p.kept == NULL:    # else every block is written whole
            memset(work.block, 0, MOST_BLOCK_ROWS * stride * sizeof(double))
        memset(work.gradient, 0, 2 * stride * sizeof(double))
        memcpy(<void *> model.coef, &coef[0], q * sizeof(double))
        model.clip, model.per_unit = clip, per_unit
        p.index = &index[0] if index is not None and end > start else NULL
        add_rows = add_clipped_portably
        if self.tiles != NULL:
            add_rows = self.tiles.add_clipped
        with nogil:
            while start < end and exact:
                rows = min(FLUSH_ROWS, end - start)
                add_rows(&p, start, rows, &model, &work)
                exact = flush(work.gradient, 1, q, &hi[0], &lo[0])
                start += rows
        if not exact:
            raise RuntimeError("X or y changed while they were summed")

    def add_many(
        self, str kernel, double width, const double[:, ::1] coefs, const double[::1] clips,
        const double[::1] per_units, Py_ssize_t start, Py_ssize_t end, const int64_t[::1] index, int64_t[:, ::1] hi,
        int64_t[:, ::1] lo,
    ):
        """The same for many models: coefs, hi and lo (models, q), clips and per_units (models,)."""
        cdef ClipPass p = self.base
        cdef Py_ssize_t models = coefs.shape[0], q = self.q, panel, rows, m, k
        cdef Py_ssize_t count = (models + PANEL_MODELS - 1) // PANEL_MODELS
        cdef bint exact = True
        if models < 1 or coefs.shape[1] != q or clips.shape[0] != models or per_units.shape[0] != models:
            raise ValueError("coefs must have rows of q entries, clips and per_units one entry for each")
        if hi.shape[0] != models or hi.shape[1] != q or lo.shape[0] != models or lo.shape[1] != q:
            raise ValueError("hi and lo must have the shape of coefs")
        if self.by_columns(index) and self.base.X.d < WIDE_FROM:
            self.add_columns_many(kernel, width, coefs, clips, per_units, start, end, hi, lo)
            return
        if models % PANEL_MODELS <= FEW_MODELS:
            for m in range(models // PANEL_MODELS * PANEL_MODELS, models):
                self.add(kernel, width, coefs[m], clips[m], per_units[m], start, end, index, hi[m], lo[m])
            models = models // PANEL_MODELS * PANEL_MODELS
            count = models // PANEL_MODELS
        if models == 0:
            return
        for m in range(models):
            _check_model(coefs[m], clips[m], per_units[m])
        _check_span(self.n, start, end, index)
        packed, constants = np.zeros((count, q, PANEL_MODELS)), np.zeros((2, count * PANEL_MODELS))
        for panel in range(count):
            chosen = np.asarray(coefs)[panel * PANEL_MODELS:(panel + 1) * PANEL_MODELS]
            packed[panel, :, :len(chosen)] = chosen.T
        constants[0, :models], constants[1, :models] = per_units[:models], clips[:models]
        cdef double[:, :, ::1] points = packed
        cdef double[:, :, ::1] sums = np.zeros((count, q, PANEL_MODELS))
        cdef double[:, ::1] public = constants
        cdef double[::1] scratch = np.zeros(MOST_BLOCK_ROWS * (self.base.stride + PANEL_MODELS) + 8)
        cdef double *block = on_cache_line(&scratch[0])
        cdef uint8_t[::1] memory = np.empty(count * sizeof(ClipPanel), np.uint8)
        cdef ClipPanel *panels = <ClipPanel *> &memory[0]
        for panel in range(count):
            k = panel * PANEL_MODELS
            panels[panel] = ClipPanel(
                &points[panel, 0, 0], &public[0, k], &public[1, k], block + MOST_BLOCK_ROWS * p.stride,
                &sums[panel, 0, 0])
        p.kind, p.width, p.slope = KINDS[kernel], width, 0.5 / width if width else 0.0
        p.index = &index[0] if index is not None and end > start else NULL
        add_rows = add_clipped_many_portably
        if self.tiles != NULL:
            add_rows = self.tiles.add_clipped_many
        with nogil:
            while start < end and exact:
                rows = min(FLUSH_ROWS, end - start)
                add_rows(&p, start, rows, panels, count, block)
                for m in range(models):
                    exact &= flush(
                        &sums[m // PANEL_MODELS, 0, m % PANEL_MODELS], PANEL_MODELS, q, &hi[m, 0], &lo[m, 0])
                start += rows
        if not exact:
            raise RuntimeError("X or y changed while they were summed")

    cdef bint by_columns(self, index):
        """Whether a pass reads columns, with vectors."""
        return index is None and self.base.columns != NULL and self.widest != NULL

    cdef add_columns_many(
        self, str kernel, double width, const double[:, ::1] coefs, const double[::1] clips,
        const double[::1] per_units, Py_ssize_t start, Py_ssize_t end, int64_t[:, ::1] hi, int64_t[:, ::1] lo,
    ):
        cdef ClipPass p = self.base
        cdef Py_ssize_t m, models = coefs.shape[0]
        cdef uint8_t[::1] memory = np.empty(models * sizeof(ClipModel), np.uint8)
        cdef ClipModel *of = <ClipModel *> &memory[0]
        for m in range(models):
            _check_model(coefs[m], clips[m], per_units[m])
            of[m] = ClipModel(&coefs[m, 0], per_units[m], clips[m])
        _check_span(self.n, start, end, None)
        p.kind, p.width, p.slope = KINDS[kernel], width, 0.5 / width if width else 0.0
        self.add_columns(&p, of, models, start, end, &hi[0, 0], &lo[0, 0])

    cdef add_columns(
        self, const ClipPass *p, const ClipModel *models, Py_ssize_t count, Py_ssize_t start, Py_ssize_t end,
        int64_t *hi, int64_t *lo,
    ):
        """Rows that are kept by columns: one kernel for any number of models."""
        cdef Py_ssize_t rows, size = count * self.q, vectors = count * (p.X.d + 1) * 8    # lanes of the widest path
        cdef double[::1] scratch = np.empty(vectors + size + 8)
        cdef double *sums = on_cache_line(&scratch[0])
        cdef bint exact = True
        with nogil:
            while start < end and exact:
                rows = min(FLUSH_ROWS, end - start)
                self.widest.add_columns(p, start, rows, models, count, sums, sums + vectors)
                exact = flush(sums + vectors, 1, size, hi, lo)
                start += rows
        if not exact:
            raise RuntimeError("X or y changed while they were summed")


cdef double *on_cache_line(double *place) noexcept nogil:
    """Up to seven entries on: whole vectors then never cross a cache line."""
    return <double *> (((<size_t> place) + 63) & ~<size_t> 63)


cdef bint flush(double *sums, Py_ssize_t step, Py_ssize_t q, int64_t *hi, int64_t *lo) noexcept nogil:
    """Move q sums, `step` apart, into limbs; returns whether all were exact."""
    cdef Py_ssize_t j
    cdef bint exact = True
    for j in range(q):
        if not fabs(sums[j * step]) <= EXACT:
            exact = False
        else:
            add_limbs(sums[j * step], &hi[j], &lo[j])
        sums[j * step] = 0.0
    return exact


cdef _check_model(const double[::1] coef, double clip, double per_unit):
    """Outside these limits sums would be rounded."""
    cdef double total = 0.0
    cdef Py_ssize_t j
    for j in range(coef.shape[0]):
        if not (fabs(coef[j]) <= LARGEST_COEF and floor(coef[j]) == coef[j]):
            raise ValueError("coef must be whole numbers of 2^-20")
        total += coef[j] * coef[j]
    if not total <= LARGEST_COEF * LARGEST_COEF:
        raise ValueError("coef must have a norm of at most 2^12")
    if not (0 < clip <= GRID and frexp(per_unit)[0] == 0.5):
        raise ValueError("clip must be at most 2^20 residual units, and per_unit a power of two")


cdef _check_span(Py_ssize_t n, Py_ssize_t start, Py_ssize_t end, const int64_t[::1] index):
    cdef Py_ssize_t i, limit = n if index is None else index.shape[0]
    if not 0 <= start <= end <= limit:
        raise ValueError("start and end must lie among the rows")
    if index is not None:
        for i in range(start, end):
            if not 0 <= index[i] < n:
                raise ValueError("index must hold row numbers")


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
