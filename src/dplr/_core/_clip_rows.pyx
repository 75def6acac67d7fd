"""Bounded rows on the grid and the sum of their clipped gradients, the portable way.

`tile_pack.h` and `tile_residuals.h` have the same sequence in vectors: every rounding is done alike, and the sums
are of whole numbers, so every path has the same bits.
"""
from libc.math cimport copysign, fabs, ldexp, signbit
from libc.stdint cimport int64_t
from libc.string cimport memset

from dplr._core._loss_rows cimport raw_entry, slope_at
from dplr._core._tiles cimport (
    GRID, HUBER_RESIDUAL, HUBER_SVM, KNOTTED, LOG2_OF_E, LOGISTIC, MOST_BLOCK_ROWS, OF_FAMILY, OF_MARGIN, PANEL_MODELS,
    POWER_1, POWER_2, POWER_3, POWER_4, POWER_5, ROUNDER, ROUNDER_SINGLE, SQUARED_GRID, STEEPEST, TILE_ROWS)


cdef inline double nearest(double v) noexcept nogil:
    """Round a number of size up to 2^51 to the nearest whole number, ties to even."""
    return (v + ROUNDER) - ROUNDER


cdef inline double at_most(double v, double high) noexcept nogil:
    """The smaller one; the bound where v is a NaN."""
    return v if v < high else high


cdef inline double at_least(double v, double low) noexcept nogil:
    return v if v > low else low


cdef inline double on_grid(const ClipPass *p, Py_ssize_t j, double raw, double scale, double *excess) noexcept nogil:
    """An entry in grid units. In a box `excess` grows by how far it was outside."""
    cdef double v, clamped
    if p.map.box:
        v = (raw - p.map.shift[j]) * p.map.scale[j]
        clamped = at_least(at_most(v, p.map.high[j]), p.map.low[j])
        excess[0] += fabs(v - clamped)
        return nearest(clamped)
    if p.scale == NULL:
        return nearest(raw * GRID)
    return nearest(at_least(at_most(raw * scale, GRID), -GRID))


cdef inline int64_t row_number(const ClipPass *p, Py_ssize_t i) noexcept nogil:
    return i if p.index == NULL else p.index[i]


cdef void pack(
    const ClipPass *p, Py_ssize_t start, Py_ssize_t rows, double *block, double *squared_norm, double *excess
) noexcept nogil:
    """Rows with their constant; their squared norms without it."""
    cdef Py_ssize_t r, j, d = p.X.d
    cdef int64_t number
    cdef double v, total, outside, scale
    for r in range(rows):
        number = row_number(p, start + r)
        if p.kept != NULL:
            for j in range(p.q):
                block[r * p.stride + j] = p.kept[number * p.stride + j]
            continue
        if p.q > d:
            block[r * p.stride + d] = p.constants[d]
        if p.columns != NULL:
            for j in range(d):
                block[r * p.stride + j] = p.columns[(number // TILE_ROWS * d + j) * TILE_ROWS + number % TILE_ROWS]
            continue
        scale = GRID if p.scale == NULL else p.scale[number]
        total = outside = 0.0
        for j in range(d):
            v = on_grid(p, j, raw_entry(&p.X, number, j), scale, &outside)
            block[r * p.stride + j] = v
            total += v * v
        squared_norm[r], excess[r] = total, outside


cdef void measure_rows_portably(
    const ClipPass *p, Py_ssize_t start, Py_ssize_t rows, double *block, double *squared_norm, double *excess
) noexcept nogil:
    """Squared norms in grid units, without the constant, and how far rows are outside their box."""
    pack(p, start, rows, block, squared_norm, excess)


cdef double sigmoid_of_minus(double v) noexcept nogil:
    """1 / (1 + e^v), in single precision: far closer than residuals are rounded to."""
    cdef float z = <float> v * LOG2_OF_E, k, r, s, power
    z = z if z < STEEPEST else STEEPEST
    z = z if z > -STEEPEST else -STEEPEST
    k = (z + ROUNDER_SINGLE) - ROUNDER_SINGLE
    r = z - k
    s = r * r
    power = POWER_5 * r + POWER_4
    power = power * s + (POWER_3 * r + POWER_2)
    power = power * s + (POWER_1 * r + <float> 1.0)
    power = <float> ldexp(power, <int> k)
    return <float> 1.0 / (<float> 1.0 + power)


cdef double knotted_slope(const ClipPass *p, double m, double inverse, double target) noexcept nogil:
    """dl/dm of a loss with knots, whose label is the sign of `inverse`."""
    cdef const double *piece
    cdef double part, slope
    if p.knots.form == OF_MARGIN:
        slope = slope_at(&p.knots, -m if signbit(inverse) else m, &piece, &part)
        return -slope if signbit(inverse) else slope
    slope = slope_at(&p.knots, m if p.knots.form == OF_FAMILY else m - target, &piece, &part)
    return slope - target if p.knots.form == OF_FAMILY else slope


cdef double clipped_residual(
    const ClipPass *p, double m, double inverse, double target, double per_unit, double clip
) noexcept nogil:
    """dl/dm, clipped to clip * |inverse| and truncated: a whole number of residual units."""
    cdef double v, t, size, sign
    if p.kind == KNOTTED:
        sign = knotted_slope(p, m, inverse, target)
        size = fabs(sign)
    elif p.kind == LOGISTIC or p.kind == HUBER_SVM:
        v = -m if inverse < 0 else m
        sign = -inverse
        if p.kind == LOGISTIC:
            size = sigmoid_of_minus(v)
        else:
            size = at_least(at_most(((1.0 - v) + p.width) * p.slope, 1.0), 0.0)
    else:
        sign = m - target
        size = fabs(sign)
        if p.kind == HUBER_RESIDUAL:
            size = at_most(size, p.width)
    v = at_most(size * per_unit, clip * fabs(inverse))
    t = nearest(v)
    if t > v:
        t -= 1.0
    return -t if sign < 0 else t


cdef double weighted(const ClipPass *p, int64_t number, double residual) noexcept nogil:
    """The residual times the weight of its row, truncated: one rounding, no more than the product."""
    cdef double v, t
    if p.weights == NULL:
        return residual
    v = fabs(residual) * p.weights[number]
    t = nearest(v)
    if t > v:
        t -= 1.0
    return copysign(t, residual)


cdef void add_clipped_portably(
    const ClipPass *p, Py_ssize_t start, Py_ssize_t rows, const ClipModel *model, const ClipWork *work
) noexcept nogil:
    """Add the clipped gradients of rows [start, start + rows), or of as many entries of the index, to work.gradient.

    work.unweighted, if any, holds the residuals of up to MOST_BLOCK_ROWS rows, the last ones, without weights.
    """
    cdef Py_ssize_t i, j
    cdef int64_t number
    cdef double margin, residual, norm = 0.0, excess = 0.0
    for i in range(start, start + rows):
        pack(p, i, 1, work.block, &norm, &excess)
        number = row_number(p, i)
        margin = 0.0
        for j in range(p.q):
            margin += work.block[j] * model.coef[j]
        residual = clipped_residual(
            p, margin * (1.0 / SQUARED_GRID), p.inverse[number], 0.0 if p.target == NULL else p.target[number],
            model.per_unit, model.clip)
        if work.unweighted != NULL:
            work.unweighted[(i - start) % MOST_BLOCK_ROWS] = residual
        residual = weighted(p, number, residual)
        for j in range(p.q):
            work.gradient[j] += residual * work.block[j]


cdef void add_clipped_many_portably(
    const ClipPass *p, Py_ssize_t start, Py_ssize_t rows, const ClipPanel *panels, Py_ssize_t count, double *block
) noexcept nogil:
    """Add the clipped gradients of panels of models over these rows."""
    cdef Py_ssize_t i, j, k, panel
    cdef int64_t number
    cdef double target, norm = 0.0, excess = 0.0
    cdef double residuals[PANEL_MODELS]
    cdef const ClipPanel *of
    for i in range(start, start + rows):
        pack(p, i, 1, block, &norm, &excess)
        number = row_number(p, i)
        target = 0.0 if p.target == NULL else p.target[number]
        for panel in range(count):
            of = &panels[panel]
            memset(residuals, 0, sizeof(residuals))
            for j in range(p.q):
                for k in range(PANEL_MODELS):
                    residuals[k] += block[j] * of.coefs[j * PANEL_MODELS + k]
            for k in range(PANEL_MODELS):
                residuals[k] = weighted(p, number, clipped_residual(
                    p, residuals[k] * (1.0 / SQUARED_GRID), p.inverse[number], target, of.per_unit[k], of.clip[k]))
            for j in range(p.q):
                for k in range(PANEL_MODELS):
                    of.gradients[j * PANEL_MODELS + k] += residuals[k] * block[j]
