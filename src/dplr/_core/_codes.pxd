from libc.stdint cimport int32_t, int64_t, uint64_t

from dplr._core._values cimport Piece

cdef enum:
    LEAST_CODE = -3  # minus infinity, among bins
    MISSING = -2
    UNKNOWN = -1     # and plus infinity, among bins

cdef struct Knots:
    const double *knots         # increasing
    Py_ssize_t count
    const int32_t *codes        # of the numbers that are knots; NULL for the bins between them
    const int32_t *near         # codes of the whole numbers from `low` to `high`; NULL where levels are not whole
    int64_t low, high

cdef struct Slot:
    uint64_t hash
    int64_t start, size
    int32_t code                # -1 in an empty slot

cdef struct Texts:
    Slot *slots
    uint64_t mask
    int64_t longest             # of all levels
    const char *letters         # of all levels

cdef class NumberCodes:
    cdef Knots knots
    cdef tuple owners
    cdef readonly Py_ssize_t count   # of codes

cdef class TextCodes:
    cdef Texts texts
    cdef bytes letters
    cdef readonly uint64_t probes    # of a text, at most
    cdef bint enter(self, list levels, uint64_t size) except -1
    cdef readonly Py_ssize_t count

cdef void codes_of_numbers(const Knots *known, const double *values, Py_ssize_t n, int32_t *codes) noexcept nogil

cdef void codes_of_texts(
    const Texts *known, const Piece *piece, int64_t first, const int64_t *index, Py_ssize_t n, int32_t *codes
) noexcept nogil

cdef Py_ssize_t knots_up_to(const Knots *known, double value) noexcept nogil
