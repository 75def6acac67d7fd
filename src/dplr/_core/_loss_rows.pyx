"""Residuals, gradient and Hessian of bounded rows on the portable path; and odd rows, bounded here on every path.

`tile_loss.h` has the same steps in vectors. Results differ between paths in their last bits only.
"""
from libc.math cimport copysign, exp, expm1, fabs, floor, log1p, sqrt
from libc.string cimport memset

from dplr._core._gram cimport add_gram
from dplr._core._tiles cimport (
    GRID, HUBER_SVM, KNOTTED, LARGE, LARGEST, LOGISTIC, MOST_BLOCK_ROWS, OF_FAMILY, OF_MARGIN, PACK_ROWS, SLACK,
    SOFT_HUBER, SOFT_LOGISTIC, SQUARED, STRIDE, KnotsShape)


cdef double raw_entry(const Rows *X, Py_ssize_t i, Py_ssize_t j) noexcept nogil:
    cdef const char *place = X.data + i * X.row_stride + j * X.column_stride
    if X.single:
        return (<const float *> place)[0]
    return (<const double *> place)[0]


cdef bint is_finite_raw(const Rows *X, Py_ssize_t i) noexcept nogil:
    """Whether raw row i holds neither a NaN nor an infinity."""
    cdef Py_ssize_t j
    for j in range(X.d):
        if not fabs(raw_entry(X, i, j)) <= LARGEST:
            return False
    return True


cdef void clamp_row(const LossPass *p, Py_ssize_t i, double *out, const LossWork *work) noexcept nogil:
    """Raw row i in the box, in grid units; counts what was outside."""
    cdef Py_ssize_t j
    cdef double v, clamped
    for j in range(p.X.d):
        v = (raw_entry(&p.X, i, j) - p.map.shift[j]) * p.map.scale[j]
        clamped = v if v < p.map.high[j] else p.map.high[j]
        clamped = clamped if clamped > p.map.low[j] else p.map.low[j]
        if p.count_outside:
            work.outside[j] += fabs(v - clamped) > SLACK
        out[j] = clamped


cdef void shorten_row(const LossPass *p, double *row, const LossWork *work) noexcept nogil:
    """Scale a row onto the sphere without overflow, where its squared norm is too large to be trusted.

    From half of LARGE on: in its own order of summation the caller may have found more than LARGE.
    """
    cdef double largest = 0.0, total = 0.0, factor
    cdef Py_ssize_t j
    for j in range(p.X.d):
        total += row[j] * row[j]
        largest = max(largest, fabs(row[j]))
    if total <= 0.5 * LARGE:
        return
    work.sums[2] = 1.0
    total = 0.0
    for j in range(p.X.d):
        row[j] /= largest
        total += row[j] * row[j]
    factor = p.edge / sqrt(total)
    for j in range(p.X.d):
        row[j] *= factor
    if p.count_outside:
        work.outside[0] += 1


cdef void settle_rows(
    const LossPass *p, Py_ssize_t start, Py_ssize_t rows, const double *targets, const LossWork *work
) noexcept nogil:
    """Load a block that holds an odd row: rows that are not finite count as zero, in `live` too."""
    cdef Py_ssize_t r, j
    cdef double *row
    for r in range(rows):
        row = work.block + r * work.stride
        work.live[r] = is_finite_raw(&p.X, start + r)
        if work.live[r] == 0.0:
            work.sums[2] = 1.0
            # Rows with an odd target are counted by the driver.
            work.faults[0] += targets[r] == targets[r]
            memset(row, 0, p.X.d * sizeof(double))
        elif p.map.box:
            clamp_row(p, start + r, row, work)
        else:
            for j in range(p.X.d):
                row[j] = raw_entry(&p.X, start + r, j)
            shorten_row(p, row, work)


cdef double sigmoid(double z) noexcept nogil:
    """1 / (1 + e^-z)."""
    cdef double t = exp(-fabs(z))
    return (t if z < 0 else 1.0) / (1.0 + t)


cdef double softplus(double z) noexcept nogil:
    """log(1 + e^z)."""
    return (0.0 if z < 0 else z) + log1p(exp(-fabs(z)))


cdef void bent_logistic(
    const LossShape *shape, double v, double *size, double *weight, double *loss
) noexcept nogil:
    """The soft logistic loss below its turn: slope size, second derivative and value."""
    cdef double t = exp(-fabs(v))
    weight[0] = shape.square / t if v > 0 else shape.square * t
    size[0] = shape.width - weight[0]
    loss[0] = (shape.offset - shape.width * v) + weight[0]


cdef double beyond_line(double a) noexcept nogil:
    """a - (1 - e^-a) for a >= 0, by its series a^2/2 - a^3/6 + ... where the terms would cancel."""
    cdef double total = 1.0
    cdef int k
    if not a < 0.5:
        return a + expm1(-a)
    for k in range(16, 2, -1):
        total = 1.0 - a / k * total
    return 0.5 * a * a * total


cdef double slope_at(const KnotsShape *knots, double place, const double **piece, double *part) noexcept nogil:
    """The slope of a knotted loss, its piece, and how much of the piece lies behind; NaN for a NaN."""
    cdef double u = place * knots.per_unit, whole
    u = knots.first if u < knots.first else knots.last if u > knots.last else u
    whole = floor(u)
    if whole == knots.last:
        whole -= 1.0
    piece[0] = knots.pieces + (3 * <Py_ssize_t> (whole - knots.first) if u == u else 0)
    part[0] = u - whole
    return piece[0][0] + part[0] * piece[0][1]


cdef void knotted_curve(
    const KnotsShape *knots, double m, double target, double *residual, double *weight, double *loss
) noexcept nogil:
    """dl/dm, d2l/dm2 and l of a loss with knots."""
    cdef const double *piece
    cdef double place = target * m, part, slope, beyond
    if knots.form != OF_MARGIN:
        place = m if knots.form == OF_FAMILY else m - target
    slope = slope_at(knots, place, &piece, &part)
    beyond = place * knots.per_unit
    beyond -= knots.first if beyond < knots.first else knots.last if beyond > knots.last else beyond
    residual[0] = target * slope if knots.form == OF_MARGIN else slope - target if knots.form == OF_FAMILY else slope
    weight[0] = piece[1] * knots.per_unit if beyond == 0.0 else 0.0
    loss[0] = piece[2] + (part * (piece[0] + 0.5 * part * piece[1]) + beyond * slope) / knots.per_unit
    if knots.form == OF_FAMILY:
        loss[0] -= target * m


cdef void curve(
    const LossShape *shape, double m, double target, double *residual, double *weight, double *loss
) noexcept nogil:
    """dl/dm, d2l/dm2 and l at the margin m. A NaN stays a NaN."""
    cdef double v = target * m, raw = m - target, width = shape.width, p = 0.0
    cdef int kind = shape.kind
    if kind == LOGISTIC:
        p = sigmoid(-v)
        residual[0], weight[0], loss[0] = -target * p, p * (1.0 - p), softplus(-v)
    elif kind == HUBER_SVM:
        raw = ((1.0 - v) + width) * (0.5 / width)
        p = 0.0 if raw < 0 else 1.0 if raw > 1 else raw
        residual[0] = -target * p
        weight[0] = 0.5 / width if 0 <= raw <= 1 else 0.0
        loss[0] = 1.0 - v if raw > 1 else width * p * p
    elif kind == SQUARED:
        residual[0], weight[0], loss[0] = raw, 1.0, 0.5 * raw * raw
    elif kind == SOFT_LOGISTIC:
        if v < shape.turn:
            bent_logistic(shape, v, &p, weight, loss)
        else:
            p = sigmoid(-v)
            weight[0], loss[0] = p * (1.0 - p), softplus(-v)
        residual[0] = -target * p
    elif kind == KNOTTED:
        knotted_curve(&shape.knots, m, target, residual, weight, loss)
    elif kind == SOFT_HUBER:
        p = fabs(raw) / width
        residual[0] = copysign(width * -expm1(-p), raw)
        weight[0], loss[0] = exp(-p), width * (width * beyond_line(p))
    else:
        residual[0] = -width if raw < -width else width if raw > width else raw
        weight[0] = fabs(raw) <= width
        loss[0] = 0.5 * raw * raw if fabs(raw) <= width else width * (fabs(raw) - 0.5 * width)


cdef double bounding_factor(const LossPass *p, const double *row, const LossWork *work) noexcept nogil:
    """The factor that bounds a row of the block."""
    cdef double total = 0.0
    cdef Py_ssize_t j
    if p.map.box:
        return 1.0 / GRID
    for j in range(p.X.d):
        total += row[j] * row[j]
    if total <= p.edge:
        return 1.0
    work.sums[2] = 1.0
    if p.count_outside:
        work.outside[0] += total > p.far
    return p.edge / sqrt(total)


cdef void bound_rows(
    const LossPass *p, Py_ssize_t start, Py_ssize_t rows, double *targets, const LossWork *work
) noexcept nogil:
    """Bounded rows with their constant in work->block; rows and targets of what counts as zero are zero."""
    cdef Py_ssize_t r, j
    cdef double factor
    cdef double *row
    settle_rows(p, start, rows, targets, work)
    for r in range(rows):
        row = work.block + r * work.stride
        if work.live[r] != 0.0 and targets[r] == targets[r]:
            factor = bounding_factor(p, row, work)
            row[p.X.d] = p.intercept
        else:
            factor = row[p.X.d] = targets[r] = 0.0
        if factor != 1.0:
            for j in range(p.X.d):
                row[j] *= factor


cdef void add_row(
    const LossPass *p, const double *row, double target, double times, Py_ssize_t packed, double *gradient,
    const LossWork *work
) noexcept nogil:
    """One row of the block, `times` it, with its packed columns; the sum of residuals lies behind the gradient."""
    cdef Py_ssize_t d = p.X.d, j
    cdef double factor = bounding_factor(p, row, work), margin = 0.0, root
    cdef double residual = 0.0, weight = 0.0, loss = 0.0
    for j in range(d):
        margin += row[j] * p.coef[j]
    curve(&p.shape, margin * factor + p.intercept * p.coef[d], target, &residual, &weight, &loss)
    residual *= times
    gradient[d] += residual
    work.sums[1] += loss * times
    for j in range(d):
        gradient[j] += (residual * factor) * row[j]
    if p.hessian:
        root = sqrt(weight * times)
        for j in range(d):
            work.columns[j * STRIDE + packed] = root * factor * row[j]
        if p.intercept > 0:
            work.columns[d * STRIDE + packed] = root * p.intercept


cdef void add_loss_portably(
    const LossPass *p, Py_ssize_t start, Py_ssize_t rows, const LossWork *work
) noexcept nogil:
    """Add rows [start, start + rows), at most GROUP_ROWS, to the sums."""
    cdef Py_ssize_t d = p.X.d, q = d + (p.intercept > 0), block, first, r, j, n, packed = 0
    cdef double *gradient = work.partial    # the sums of one block: short sums keep the rounding error small
    for block in range((rows + MOST_BLOCK_ROWS - 1) // MOST_BLOCK_ROWS):
        first = block * MOST_BLOCK_ROWS
        n = min(MOST_BLOCK_ROWS, rows - first)
        settle_rows(p, start + first, n, work.target + first, work)
        memset(gradient, 0, (d + 1) * sizeof(double))
        for r in range(n):
            if packed == 0 and p.hessian:
                memset(work.columns, 0, ((q + 1) & ~<Py_ssize_t> 1) * STRIDE * sizeof(double))
            if work.live[r] != 0.0 and work.target[first + r] == work.target[first + r]:
                add_row(
                    p, work.block + r * work.stride, work.target[first + r], work.weight[first + r], packed, gradient,
                    work)
            packed += 1
            if packed == PACK_ROWS or first + r == rows - 1:
                if p.hessian:
                    add_gram(work.columns, (q + 1) & ~<Py_ssize_t> 1, STRIDE, PACK_ROWS, work.gram)
                packed = 0
        for j in range(d):
            work.gradient[j] += gradient[j]
        work.sums[0] += gradient[d]
