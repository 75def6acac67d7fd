"""One column of a table in memory, in one piece or several, read in place; and its numbers as float64.

A number becomes the nearest float64, a missing value NaN. Each value is read by itself. Rows are `first`, `first + 1`
and so on; or, with an index, its entries less `first`.
"""
from cpython.buffer cimport PyBUF_FORMAT, PyBUF_STRIDES, Py_buffer, PyBuffer_Release, PyObject_GetBuffer
from cpython.mem cimport PyMem_Calloc, PyMem_Free
from libc.math cimport NAN
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy

ctypedef fused Number:
    int8_t
    uint8_t
    int16_t
    uint16_t
    int32_t
    uint32_t
    int64_t
    uint64_t
    float
    double

_INTEGERS = {("b", 1): INT8, ("b", 2): INT16, ("b", 4): INT32, ("b", 8): INT64}
_NATURALS = {("B", 1): UINT8, ("B", 2): UINT16, ("B", 4): UINT32, ("B", 8): UINT64}
_OTHERS = {("e", 2): HALF, ("f", 4): FLOAT, ("d", 8): DOUBLE, ("?", 1): BYTES}
_KINDS = _INTEGERS | _NATURALS | _OTHERS
_ALIKE = dict.fromkeys("bhilq", "b") | dict.fromkeys("BHILQ", "B")


cdef class Values:
    """One column. Made by `array_values`, `arrow_values` and `arrow_piece`.

    Attributes
    ----------
    holds : "numbers", "text" or "nulls"; of a dictionary, what its entries are.
    keyed : whether the values are keys of a dictionary.
    """

    def __dealloc__(self):
        PyMem_Free(self.pieces.each)
        PyMem_Free(self.pieces.firsts)
        PyMem_Free(self.entries)

    def __len__(self):
        return self.pieces.firsts[self.pieces.count]

    @property
    def holds(self):
        if self.kind == NULLS:
            return "nulls"
        return "text" if self.kind in (SHORT_TEXTS, LONG_TEXTS, VIEWS) else "numbers"

    def write_numbers(self, int64_t start, const int64_t[::1] index, double[::1] out):
        """Write the rows from `start` on, or those of the index, as float64."""
        cdef Py_ssize_t n = out.shape[0], done = 0, run, piece = 0
        cdef const int64_t *rows = NULL
        cdef int64_t first
        if self.keyed or self.holds != "numbers":
            raise ValueError("the values must be numbers, and not keys of a dictionary")
        check_rows(&self.pieces, start, index, n)
        if index is not None and n > 0:
            rows = &index[0]
        with nogil:
            while done < n:
                run = run_of(&self.pieces, start + done, rows, n - done, &piece)
                first = self.pieces.firsts[piece] if rows else start + done - self.pieces.firsts[piece]
                read_numbers(&self.pieces.each[piece], first, rows, run, &out[done], 1)
                done += run
                rows = rows + run if rows else NULL

    cdef int make_room(self, Py_ssize_t count) except -1:
        """Allocate that many pieces, which the caller fills."""
        self.pieces.count = count
        self.pieces.each = <Piece *> PyMem_Calloc(count + 1, sizeof(Piece))
        self.pieces.firsts = <int64_t *> PyMem_Calloc(count + 1, sizeof(int64_t))
        self.entries = <Piece *> PyMem_Calloc(count + 1, sizeof(Piece))
        if self.pieces.each == NULL or self.pieces.firsts == NULL or self.entries == NULL:
            raise MemoryError
        return 0


cdef class Held:
    """The buffer of an array."""
    cdef Py_buffer view
    cdef bint taken

    def __cinit__(self, array):
        PyObject_GetBuffer(array, &self.view, PyBUF_STRIDES | PyBUF_FORMAT)
        self.taken = True

    def __dealloc__(self):
        if self.taken:
            PyBuffer_Release(&self.view)


def array_values(array):
    """The values of an array (n,) of numbers or booleans of this machine's byte order; raises for another one."""
    cdef Values values = Values()
    cdef Held held = Held(array)
    cdef str letter = (<bytes> held.view.format).decode()
    kind = _KINDS.get((_ALIKE.get(letter, letter), held.view.itemsize))
    if held.view.ndim != 1 or kind is None:
        raise ValueError("the array must be one-dimensional, and hold numbers or booleans")
    values.make_room(1)
    values.kind, values.owner = kind, held
    values.pieces.each[0].kind = values.kind
    values.pieces.each[0].length = values.pieces.firsts[1] = held.view.shape[0]
    values.pieces.each[0].stride = held.view.strides[0]
    values.pieces.each[0].values = <const char *> held.view.buf
    return values


cdef int check_rows(const Pieces *pieces, int64_t start, const int64_t[::1] index, Py_ssize_t n) except -1:
    """Raise IndexError for rows outside the column."""
    cdef int64_t rows = pieces.firsts[pieces.count]
    cdef Py_ssize_t k
    cdef bint within = True
    if index is None:
        within = 0 <= start <= rows - n
    else:
        within = index.shape[0] == n
        for k in range(index.shape[0]):
            within &= 0 <= index[k] < rows
    if not within:
        raise IndexError("rows must lie within the column")
    return 0


cdef bint is_there(const Piece *piece, int64_t row) noexcept nogil:
    """Whether a value is not missing."""
    row += piece.offset
    return piece.kind != NULLS and (piece.valid == NULL or piece.valid[row >> 3] >> (row & 7) & 1)


cdef Py_ssize_t run_of(
    const Pieces *pieces, int64_t first, const int64_t *index, Py_ssize_t n, Py_ssize_t *piece
) noexcept nogil:
    """How many of the next rows lie in one piece, and in which; `piece` is a guess before, and there is a row."""
    cdef int64_t row = first if index == NULL else index[0], end
    cdef Py_ssize_t low = 0, high = pieces.count, middle, run = 1
    if not pieces.firsts[piece[0]] <= row < pieces.firsts[piece[0] + 1]:
        while high - low > 1:
            middle = (low + high) // 2
            if pieces.firsts[middle] <= row:
                low = middle
            else:
                high = middle
        piece[0] = low
    low = piece[0]
    end = pieces.firsts[low + 1]
    if index == NULL:
        return n if n < end - row else <Py_ssize_t> (end - row)
    if pieces.count == 1:
        return n
    while run < n and pieces.firsts[low] <= index[run] < end:
        run += 1
    return run


cdef void read_numbers(
    const Piece *piece, int64_t first, const int64_t *index, Py_ssize_t n, double *out, Py_ssize_t step
) noexcept nogil:
    """Write numbers, or keys, to every `step`-th place."""
    cdef Py_ssize_t k
    cdef double value
    if piece.kind == INT8:
        cast_numbers(<const int8_t *> piece.values, piece, first, index, n, out, step)
    elif piece.kind == UINT8:
        cast_numbers(<const uint8_t *> piece.values, piece, first, index, n, out, step)
    elif piece.kind == INT16:
        cast_numbers(<const int16_t *> piece.values, piece, first, index, n, out, step)
    elif piece.kind == UINT16:
        cast_numbers(<const uint16_t *> piece.values, piece, first, index, n, out, step)
    elif piece.kind == INT32:
        cast_numbers(<const int32_t *> piece.values, piece, first, index, n, out, step)
    elif piece.kind == UINT32:
        cast_numbers(<const uint32_t *> piece.values, piece, first, index, n, out, step)
    elif piece.kind == INT64:
        cast_numbers(<const int64_t *> piece.values, piece, first, index, n, out, step)
    elif piece.kind == UINT64:
        cast_numbers(<const uint64_t *> piece.values, piece, first, index, n, out, step)
    elif piece.kind == FLOAT:
        cast_numbers(<const float *> piece.values, piece, first, index, n, out, step)
    elif piece.kind == DOUBLE:
        cast_numbers(<const double *> piece.values, piece, first, index, n, out, step)
    else:
        read_odd_numbers(piece, first, index, n, out, step)
    if piece.valid != NULL:
        for k in range(n):
            value = out[k * step]
            out[k * step] = value if is_there(piece, index[k] - first if index else first + k) else NAN


cdef void cast_numbers(
    const Number *values, const Piece *piece, int64_t first, const int64_t *index, Py_ssize_t n, double *out,
    Py_ssize_t step
) noexcept nogil:
    """Numbers of one type, which need not be aligned."""
    cdef const char *place = <const char *> values + piece.offset * piece.stride
    cdef Number value = 0
    cdef Py_ssize_t k
    if index == NULL:
        place += first * piece.stride
        for k in range(n):
            memcpy(&value, place + k * piece.stride, sizeof(Number))
            out[k * step] = <double> value
    else:
        for k in range(n):
            memcpy(&value, place + (index[k] - first) * piece.stride, sizeof(Number))
            out[k * step] = <double> value


cdef void read_odd_numbers(
    const Piece *piece, int64_t first, const int64_t *index, Py_ssize_t n, double *out, Py_ssize_t step
) noexcept nogil:
    """Booleans, numbers of 16 bits, and missing values."""
    cdef Py_ssize_t k
    cdef int64_t row
    cdef uint16_t half = 0
    for k in range(n):
        row = piece.offset + (index[k] - first if index else first + k)
        if piece.kind == BYTES:
            out[k * step] = piece.values[row * piece.stride] != 0
        elif piece.kind == BITS:
            out[k * step] = (<const uint8_t *> piece.values)[row >> 3] >> (row & 7) & 1
        elif piece.kind == HALF:
            memcpy(&half, piece.values + row * piece.stride, 2)
            out[k * step] = of_half(half)
        else:
            out[k * step] = NAN


cdef double of_half(uint16_t bits) noexcept nogil:
    """A number of 16 bits: sign, 5 of the exponent, 10 of the fraction."""
    cdef uint64_t exponent = bits >> 10 & 31, fraction = bits & 1023, wide
    cdef double value = 0.0
    if exponent == 0:
        value = fraction * 2.0 ** -24
        return -value if bits >> 15 else value
    exponent = 2047 if exponent == 31 else exponent + 1008
    wide = <uint64_t> (bits >> 15) << 63 | exponent << 52 | fraction << 42
    memcpy(&value, &wide, 8)
    return value
