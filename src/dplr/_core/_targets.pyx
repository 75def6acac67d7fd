"""Targets and weights of a group of rows: read as they are kept, labels to signs, numbers into their bounds."""
from libc.math cimport fabs
from libc.stdint cimport int64_t, uint8_t
from libc.string cimport memcpy

from dplr._core._loss_rows cimport is_finite_raw
from dplr._core._tiles cimport GRID, LARGEST, SLACK, LossPass, LossWork, Map

cdef double NOT_A_NUMBER = float("nan")


cdef void read_targets(const Targets *targets, Py_ssize_t start, Py_ssize_t rows, double *out) noexcept nogil:
    """Raw targets in float64."""
    cdef const char *place = targets.data + start * targets.stride
    cdef Py_ssize_t r
    if targets.kind == 0 and targets.stride == sizeof(double):
        memcpy(out, place, rows * sizeof(double))
    elif targets.kind == 0:
        for r in range(rows):
            out[r] = (<const double *> (place + r * targets.stride))[0]
    elif targets.kind == 1:
        for r in range(rows):
            out[r] = <double> (<const int64_t *> (place + r * targets.stride))[0]
    else:
        for r in range(rows):
            out[r] = <double> (<const uint8_t *> (place + r * targets.stride))[0]


cdef bint sign_labels_portably(const Map *to_grid, Py_ssize_t rows, double *target) noexcept nogil:
    """Raw labels to -1 and 1, and NaN for what is neither; returns whether one was neither."""
    cdef Py_ssize_t r
    cdef double raw
    cdef bint odd = False
    for r in range(rows):
        raw = target[r]
        target[r] = 1.0 if raw == to_grid.positive else -1.0 if raw == to_grid.negative else NOT_A_NUMBER
        odd |= target[r] != target[r]
    return odd


cdef void count_odd_targets(
    const Targets *targets, const LossPass *p, Py_ssize_t start, Py_ssize_t rows, const LossWork *work
) noexcept nogil:
    """Count rows that count as zero because of their target; one that is not finite is counted as such."""
    cdef Py_ssize_t r
    cdef double raw
    for r in range(rows):
        if work.target[r] == work.target[r]:
            continue
        read_targets(targets, start + r, 1, &raw)
        if fabs(raw) <= LARGEST and is_finite_raw(&p.X, start + r):
            work.faults[1] += 1
        else:
            work.faults[0] += 1


cdef void load_targets(
    const Targets *targets, const LossPass *p, Py_ssize_t start, Py_ssize_t rows, const LossWork *work
) noexcept nogil:
    """Targets of a group into `work`: -1 and 1, or bounded numbers; NaN for what is not a label or not a number.

    Its weights too, where rows have any.
    """
    cdef Py_ssize_t r, d = p.X.d
    cdef double v, clamped, *target = work.target
    cdef Py_ssize_t odd = 0
    read_targets(targets, start, rows, target)
    if targets.weights != NULL:
        memcpy(work.weight, targets.weights + start, rows * sizeof(double))
    if p.map.labels:
        if targets.sign_labels(&p.map, rows, target):
            count_odd_targets(targets, p, start, rows, work)
        return
    for r in range(rows):
        v = (target[r] - p.map.shift[d]) * p.map.scale[d]
        clamped = v if v < p.map.high[d] else p.map.high[d]
        clamped = clamped if clamped > p.map.low[d] else p.map.low[d]
        if p.count_outside and fabs(target[r]) <= LARGEST:
            work.outside[d] += fabs(v - clamped) > SLACK
        odd += not fabs(target[r]) <= LARGEST
        target[r] = clamped / GRID if fabs(target[r]) <= LARGEST else NOT_A_NUMBER
    if odd:
        count_odd_targets(targets, p, start, rows, work)
