"""Exact sums of clipped gradients over bounded rows of the grid: groups, two limbs, one model or many.

A row, its margin at coefficients on the grid, and its clipped, truncated residual are whole numbers; so are the sums,
whatever block, thread or CPU path they are made on. `clip.md` has the proofs.
"""
from math import frexp

import numpy as np

from libc.math cimport fabs, floor
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memcpy, memset

from dplr._core._clip_grid cimport GridRows
from dplr._core._clip_rows cimport add_clipped_many_portably, add_clipped_portably, measure_rows_portably
from dplr._core._clip_survey cimport MeasureRows
from dplr._core._knots cimport Knots
from dplr._core._limbs cimport add_limbs
from dplr._core._tiles cimport (
    FLUSH_ROWS, GRID, KNOTTED, MOST_BLOCK_ROWS, PANEL_MODELS, ClipModel, ClipPanel, ClipPass, ClipWork)
from dplr._core._weights cimport root_of_weight

from dplr._core._loss import KINDS

# Losses with knots are clipped too.
CLIPPED = ("logistic", "huber_svm", "squared", "huber_residual")

# Coefficients are whole numbers of 2^-20 of norm at most 2^12: every partial sum of a margin is then exact.
cdef double LARGEST_COEF = 4294967296.0
cdef double EXACT = 9007199254740992.0
# Rows of a call for residuals: the smallest block of any path, which keeps the residuals of all its rows.
cdef Py_ssize_t RESIDUAL_ROWS = 16
# A row's part along one direction, in units of 2^-20, counts as at most 2^25: squares of 2^12 such add up to 2^62.
cdef int64_t LARGEST_PART = 1 << 25
# The largest entry of a direction, in units of 2^-20; and a sum of squares of 1.
cdef int64_t LARGEST_ENTRY = 1 << 32, ONE_SQUARED = 1 << 40, LOW_LIMB = (1 << 32) - 1
# A panel costs about as much as this many models one by one.
cdef Py_ssize_t FEW_MODELS = 8


cdef class ClippedRows(GridRows):
    """Rows of the grid, and sums of their clipped gradients."""

    def add(
        self, kernel, double width, const double[::1] coef, double clip, double per_unit, Py_ssize_t start,
        Py_ssize_t end, const int64_t[::1] index, int64_t[::1] hi, int64_t[::1] lo,
    ):
        """Add the clipped gradients of rows [start, end), or of those entries of `index`, to hi * 2^32 + lo.

        Parameters
        ----------
        kernel, width : the loss; its name or its `Knots`.
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
        _set_loss(&p, kernel, width)
        if self.by_columns(index):
            model = ClipModel(&coef[0], per_unit, clip)
            self.add_columns(&p, &model, 1, start, end, &hi[0], &lo[0])
            return
        cdef double[::1] scratch = np.empty((MOST_BLOCK_ROWS + 2) * stride + MOST_BLOCK_ROWS + 16)
        work.block, work.unweighted = on_cache_line(&scratch[0]), NULL
        work.gradient = work.block + MOST_BLOCK_ROWS * stride
        model.coef, work.residual = work.gradient + stride, work.gradient + 2 * stride
        if p.kept == NULL:    # otherwise every block is written whole
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
        self, kernel, double width, const double[:, ::1] coefs, const double[::1] clips,
        const double[::1] per_units, Py_ssize_t start, Py_ssize_t end, const int64_t[::1] index, int64_t[:, ::1] hi,
        int64_t[:, ::1] lo,
    ):
        """Add the clipped gradients of many models: coefs, hi and lo (models, q), clips and per_units (models,)."""
        cdef ClipPass p = self.base
        cdef Py_ssize_t models = coefs.shape[0], q = self.q, panel, rows, m, k
        cdef Py_ssize_t count = (models + PANEL_MODELS - 1) // PANEL_MODELS
        cdef bint exact = True
        if models < 1 or coefs.shape[1] != q or clips.shape[0] != models or per_units.shape[0] != models:
            raise ValueError("coefs must have rows of q entries, clips and per_units one entry for each")
        if hi.shape[0] != models or hi.shape[1] != q or lo.shape[0] != models or lo.shape[1] != q:
            raise ValueError("hi and lo must have the shape of coefs")
        if self.by_columns(index):
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
        _set_loss(&p, kernel, width)
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

    def add_with_residuals(
        self, kernel, double width, const double[::1] coef, double clip, double per_unit, Py_ssize_t start,
        Py_ssize_t end, int64_t[::1] hi, int64_t[::1] lo, int64_t[::1] residuals,
    ):
        """As `add` over rows [start, end), and set their clipped, truncated residuals, which no weight has multiplied.

        residuals : (end - start,) whole numbers of residual units; 0 for a row that counts as zero.
        """
        cdef ClipPass p = self.base
        cdef ClipModel model
        cdef ClipWork work
        cdef Py_ssize_t stride = self.base.stride, first = start, rows, r, q = self.q
        cdef bint exact = True
        _check_model(coef, clip, per_unit)
        if coef.shape[0] != q or hi.shape[0] != q or lo.shape[0] != q or residuals.shape[0] != end - start:
            raise ValueError("coef, hi and lo must have an entry for each column and the intercept, residuals for rows")
        _check_span(self.n, start, end, None)
        _set_loss(&p, kernel, width)
        p.kept, p.columns, p.index = NULL, NULL, NULL
        cdef double[::1] scratch = np.zeros((MOST_BLOCK_ROWS + 2) * stride + 2 * MOST_BLOCK_ROWS + 24)
        work.block = on_cache_line(&scratch[0])
        work.gradient = work.block + MOST_BLOCK_ROWS * stride
        model.coef, work.residual = work.gradient + stride, work.gradient + 2 * stride
        work.unweighted = work.residual + MOST_BLOCK_ROWS + 8
        memcpy(<void *> model.coef, &coef[0], q * sizeof(double))
        model.clip, model.per_unit = clip, per_unit
        add_rows = add_clipped_portably
        if self.tiles != NULL:
            add_rows = self.tiles.add_clipped
        with nogil:
            while first < end and exact:
                rows = min(RESIDUAL_ROWS, end - first)
                add_rows(&p, first, rows, &model, &work)
                for r in range(rows):
                    residuals[first - start + r] = <int64_t> work.unweighted[r]
                exact = flush(work.gradient, 1, q, &hi[0], &lo[0])
                first += rows
        if not exact:
            raise RuntimeError("X or y changed while they were summed")

    def add_squares(
        self, const int64_t[::1] residuals, int bits, const int64_t[:, ::1] directions, Py_ssize_t start,
        Py_ssize_t end, int64_t[::1] hi, int64_t[::1] lo,
    ):
        """Add the squares of residual times row, along each direction, of rows [start, end), to hi * 2^32 + lo.

        A row whose squares add up to more than 1 has them multiplied by a number that makes their sum at most 1. No
        weight multiplies anything. `clip.md`, section 6.

        Parameters
        ----------
        residuals : (end - start,) whole numbers of size up to 2^bits, bits at most 20.
        directions : (m, q) in units of 2^-20, of norm at most 2^12; m at most 2^12.
        hi, lo : (m,) limbs in units of 2^-40.
        """
        cdef Py_ssize_t m = directions.shape[0], q = self.q, d = self.base.X.d, stride = self.base.stride
        cdef Py_ssize_t rows, r, j, k, first = start
        cdef double[::1] scratch = np.zeros(MOST_BLOCK_ROWS * stride + 2 * (MOST_BLOCK_ROWS + 8))
        cdef double *numbers = &scratch[MOST_BLOCK_ROWS * stride]
        cdef int64_t[::1] squares = np.zeros(m, np.int64)
        cdef int64_t size, part, total
        cdef ClipPass raw = self.base
        cdef MeasureRows measure = measure_rows_portably
        if directions.shape[1] != q or hi.shape[0] != m or lo.shape[0] != m or residuals.shape[0] != end - start:
            raise ValueError("directions must have q columns, hi and lo an entry for each, residuals one for each row")
        low, high = np.min(directions, initial=0), np.max(directions, initial=0)    # the size of -2^63 is no int64
        if not 0 <= bits <= 20 or m > 4096 or low < -LARGEST_ENTRY or high > LARGEST_ENTRY:
            raise ValueError("there must be up to 4096 directions of norm up to 2^12, and residuals of up to 20 bits")
        _check_span(self.n, start, end, None)
        if self.tiles != NULL:
            measure = self.tiles.measure_rows
        raw.kept = raw.columns = NULL
        with nogil:
            while first < end:
                rows = min(MOST_BLOCK_ROWS, end - first)
                measure(&raw, first, rows, &scratch[0], numbers, numbers + MOST_BLOCK_ROWS + 8)
                for r in range(rows):
                    size = residuals[first - start + r]
                    size = min(-size if size < 0 else size, <int64_t> 1 << bits)
                    if size == 0:
                        continue
                    total = 0
                    for j in range(m):
                        part = 0
                        for k in range(d):
                            part += <int64_t> scratch[r * stride + k] * directions[j, k]
                        if q > d:
                            part += <int64_t> raw.constants[d] * directions[j, d]
                        part = ((-part if part < 0 else part) >> 20) * size >> bits
                        part = min(part, LARGEST_PART)
                        squares[j] = part * part
                        total += squares[j]
                    total = (total >> 20) + 1 if total > ONE_SQUARED else 0
                    for j in range(m):
                        part = squares[j] // total << 20 if total else squares[j]
                        hi[j] += part >> 32
                        lo[j] += part & LOW_LIMB
                first += rows
        for j in range(m):
            hi[j], lo[j] = hi[j] + (lo[j] >> 32), lo[j] & LOW_LIMB

    def add_to_persons(
        self, const int64_t[::1] factors, const int64_t[::1] persons, Py_ssize_t start, Py_ssize_t end,
        int64_t[:, ::1] sums,
    ):
        """Add factor times row, of rows [start, end), to the sum of the row's person, in int64.

        The factors of one person's rows must add up, in size, to at most 2^41: entries are at most 2^20, and no sum
        then leaves int64. No weight multiplies anything.

        Parameters
        ----------
        factors : (end - start,) whole numbers; 0 for a row that counts as zero.
        persons : (end - start,) number of each row's person.
        sums : (persons, q).
        """
        cdef Py_ssize_t q = self.q, d = self.base.X.d, stride = self.base.stride, rows, r, j, first = start
        cdef double[::1] scratch = np.zeros(MOST_BLOCK_ROWS * stride + 2 * (MOST_BLOCK_ROWS + 8))
        cdef double *numbers = &scratch[MOST_BLOCK_ROWS * stride]
        cdef int64_t factor, person
        cdef ClipPass raw = self.base
        cdef MeasureRows measure = measure_rows_portably
        _check_span(self.n, start, end, None)
        if factors.shape[0] != end - start or sums.shape[1] != q:
            raise ValueError("there must be a factor for each row, and sums of q entries")
        _check_persons(persons, end - start, sums.shape[0])
        if self.tiles != NULL:
            measure = self.tiles.measure_rows
        raw.kept = raw.columns = NULL
        with nogil:
            while first < end:
                rows = min(MOST_BLOCK_ROWS, end - first)
                measure(&raw, first, rows, &scratch[0], numbers, numbers + MOST_BLOCK_ROWS + 8)
                for r in range(rows):
                    factor, person = factors[first - start + r], persons[first - start + r]
                    if factor == 0:
                        continue
                    for j in range(d):
                        sums[person, j] += factor * <int64_t> scratch[r * stride + j]
                    if q > d:
                        sums[person, d] += factor * <int64_t> raw.constants[d]
                first += rows

    def add_column_moments(self, Py_ssize_t start, Py_ssize_t end, int64_t[::1] hi, int64_t[::1] lo):
        """Add the sums of the features of rows [start, end), then those of their squares, to hi * 2^32 + lo.

        A row that counts as zero adds nothing. One with a weight adds what it does in `add_moments`: products of its
        entries with a constant of 1, and squares. hi, lo : (2 d,) limbs, 0 <= lo < 2^32, in units of 2^-40.
        """
        cdef Py_ssize_t d = self.base.X.d, stride = self.base.stride, rows, r, j, unflushed = 0
        cdef double[::1] scratch = np.zeros(MOST_BLOCK_ROWS * stride + 4 * (MOST_BLOCK_ROWS + 8) + 2 * d)
        cdef double *numbers = &scratch[MOST_BLOCK_ROWS * stride]
        cdef double *sums = numbers + 4 * (MOST_BLOCK_ROWS + 8)
        cdef double v, factor = 1.0
        cdef ClipPass raw = self.base
        cdef MeasureRows measure = measure_rows_portably
        cdef bint exact = True
        if hi.shape[0] != 2 * d or lo.shape[0] != 2 * d:
            raise ValueError("hi and lo must have two entries for each column")
        _check_span(self.n, start, end, None)
        if self.tiles != NULL:
            measure = self.tiles.measure_rows
        raw.kept = raw.columns = NULL
        with nogil:
            while start < end and exact:
                rows = min(MOST_BLOCK_ROWS, end - start)
                measure(&raw, start, rows, &scratch[0], numbers, numbers + MOST_BLOCK_ROWS + 8)
                for r in range(rows):
                    if raw.weights != NULL:
                        factor = root_of_weight(raw.weights[start + r])
                    if raw.inverse[start + r] != 0:
                        for j in range(d):
                            v = <double> <int32_t> (scratch[r * stride + j] * factor)    # exact; towards zero
                            sums[j] += v * (GRID * factor)
                            sums[d + j] += v * v
                start, unflushed = start + rows, unflushed + rows
                if unflushed > FLUSH_ROWS - MOST_BLOCK_ROWS or start == end:
                    exact = flush(sums, 1, 2 * d, &hi[0], &lo[0])
                    unflushed = 0
        if not exact:
            raise RuntimeError("X or y changed while they were summed")

    cdef bint by_columns(self, index):
        """Whether a pass reads columns, with vectors."""
        return index is None and self.base.columns != NULL and self.widest != NULL

    cdef add_columns_many(
        self, kernel, double width, const double[:, ::1] coefs, const double[::1] clips,
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
        _set_loss(&p, kernel, width)
        self.add_columns(&p, of, models, start, end, &hi[0, 0], &lo[0, 0])

    cdef add_columns(
        self, const ClipPass *p, const ClipModel *models, Py_ssize_t count, Py_ssize_t start, Py_ssize_t end,
        int64_t *hi, int64_t *lo,
    ):
        """Add the sums of rows that are kept by columns, for any number of models."""
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
    """The pointer moved up by at most seven entries: whole vectors then never cross a cache line."""
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


cdef _set_loss(ClipPass *p, kernel, double width):
    """Set the loss of a pass; refuse one that has no clipped residual."""
    if isinstance(kernel, Knots):
        p.kind, p.knots = KNOTTED, (<Knots> kernel).shape
        return
    if kernel not in CLIPPED:
        raise ValueError(f"gradients of the loss {kernel} are not clipped: only those of {', '.join(CLIPPED)}")
    p.kind, p.width, p.slope = KINDS[kernel], width, 0.5 / width if width else 0.0


cdef _check_model(const double[::1] coef, double clip, double per_unit):
    """Refuse coefficients, clips and units beyond the limits within which sums are exact."""
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


cdef _check_persons(const int64_t[::1] persons, Py_ssize_t n, Py_ssize_t count):
    """Refuse persons that are not n numbers from 0 to count - 1."""
    cdef Py_ssize_t r, outside = 0
    for r in range(persons.shape[0]):
        outside += not 0 <= persons[r] < count
    if outside or persons.shape[0] != n:
        raise ValueError("persons must be one number of a person for each row")


cdef _check_span(Py_ssize_t n, Py_ssize_t start, Py_ssize_t end, const int64_t[::1] index):
    cdef Py_ssize_t i, limit = n if index is None else index.shape[0]
    if not 0 <= start <= end <= limit:
        raise ValueError("start and end must lie among the rows")
    if index is not None:
        for i in range(start, end):
            if not 0 <= index[i] < n:
                raise ValueError("index must hold row numbers")
