from libc.stdint cimport int64_t, uint8_t

cdef enum Kind:
    INT8, UINT8, INT16, UINT16, INT32, UINT32, INT64, UINT64, HALF, FLOAT, DOUBLE
    BYTES                               # booleans of NumPy
    BITS                                # booleans of Arrow
    SHORT_TEXTS, LONG_TEXTS, VIEWS      # texts whose ends have 32 or 64 bits, or which have a view each
    NULLS                               # nothing but missing values

cdef struct Piece:                      # values that lie together
    Kind kind
    int64_t length
    int64_t offset                      # of the first value, in values
    int64_t stride                      # bytes from one value to the next
    const uint8_t *valid                # a bit for each value, from `offset` on; NULL where none is missing
    const char *values                  # numbers, keys of a dictionary, ends of texts, or views
    const char *letters                 # of texts with ends
    const void *const *buffers          # of texts with views,
    const int64_t *sizes                # their lengths,
    int64_t count                       # and how many they are

cdef struct Pieces:
    Piece *each
    int64_t *firsts                     # the first row of each, then the number of rows
    Py_ssize_t count

cdef class Values:
    cdef Pieces pieces
    cdef Piece *entries                 # the dictionary of each piece
    cdef Kind kind                      # of the values, or of the entries of the dictionary
    cdef readonly bint keyed
    cdef object owner                   # of the memory
    cdef int make_room(self, Py_ssize_t count) except -1

cdef bint is_there(const Piece *piece, int64_t row) noexcept nogil

cdef void read_numbers(
    const Piece *piece, int64_t first, const int64_t *index, Py_ssize_t n, double *out, Py_ssize_t step
) noexcept nogil

cdef Py_ssize_t run_of(
    const Pieces *pieces, int64_t first, const int64_t *index, Py_ssize_t n, Py_ssize_t *piece
) noexcept nogil

cdef int check_rows(const Pieces *pieces, int64_t start, const int64_t[::1] index, Py_ssize_t n) except -1
