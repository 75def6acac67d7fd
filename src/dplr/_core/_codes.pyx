"""Codes of values: their place among public levels, or the number of their bin.

Texts are found in a hash table of the levels. No cluster of slots is longer than `MOST_PROBES`, and no text is hashed
that is longer than the longest level, so no choice of texts can make a row slow.
"""
from cpython.mem cimport PyMem_Calloc, PyMem_Free
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.string cimport memcmp, memcpy

from dplr._core._hashes cimport hash_of_text
from dplr._core._values cimport LONG_TEXTS, SHORT_TEXTS, Piece, is_there

cdef enum:
    MOST_PROBES = 8
    MOST_SPARSE = 1024   # slots for each level


cdef class NumberCodes:
    """Codes of numbers.

    Parameters
    ----------
    knots : (k,) increasing.
    codes : (k,) of the numbers that are knots; None for bins, where a number has as its code how many knots it reaches.
    near : codes of the whole numbers from `low` on, where all knots are whole; None otherwise. The same codes, sooner.
    """

    def __cinit__(self, const double[::1] knots, const int32_t[::1] codes, const int32_t[::1] near, int64_t low):
        if codes is not None and (codes.shape[0] != knots.shape[0] or knots.shape[0] == 0):
            raise ValueError("codes must have an entry for each knot, of which there is at least one")
        if near is not None and (near.shape[0] == 0 or codes is None or not -2**52 <= low <= 2**52):
            raise ValueError("near must have entries, codes beside it, and a low of size up to 2^52")
        self.owners = (knots, codes, near)
        self.count = knots.shape[0] + 1 if codes is None else max(max(codes), -1 if near is None else max(near)) + 1
        if codes is not None and min(codes) < 0 or near is not None and min(near) < UNKNOWN:
            raise ValueError("codes must be 0 or more")
        self.knots.count = knots.shape[0]
        self.knots.knots = &knots[0] if self.knots.count else NULL
        if codes is not None:
            self.knots.codes = &codes[0]
        if near is not None:
            self.knots.near, self.knots.low, self.knots.high = &near[0], low, low + near.shape[0] - 1


cdef class TextCodes:
    """Codes of texts: the code of a level, given as bytes, is its place. ValueError if too many hashes collide."""

    def __cinit__(self, list levels):
        cdef uint64_t size = 16
        self.letters, self.count = b"".join(levels), len(levels)
        self.texts.letters = self.letters
        self.texts.longest = max(map(len, levels), default=0)
        while size < 4 * <uint64_t> len(levels):
            size *= 2
        while not self.enter(levels, size):
            size *= 2
            if size > MOST_SPARSE * <uint64_t> (len(levels) + 16):
                raise ValueError("levels must have hashes that differ: too many of them collide")

    def __dealloc__(self):
        PyMem_Free(self.texts.slots)

    cdef bint enter(self, list levels, uint64_t size) except -1:
        """Make a table of that size; returns whether its clusters are short enough."""
        cdef uint64_t place
        cdef uint64_t hashed
        cdef int64_t start = 0, length
        cdef Slot *slots
        cdef int32_t code
        PyMem_Free(self.texts.slots)
        self.texts.slots = slots = <Slot *> PyMem_Calloc(size, sizeof(Slot))
        if slots == NULL:
            raise MemoryError
        self.texts.mask = size - 1
        for place in range(size):
            slots[place].code = -1
        for code in range(<int32_t> len(levels)):
            length = len(levels[code])
            hashed = hash_of_text(<const uint8_t *> self.texts.letters + start, length)
            place = hashed & self.texts.mask
            while slots[place].code >= 0:
                place = (place + 1) & self.texts.mask
            slots[place] = Slot(hashed, start, length, code)
            start += length
        self.probes = longest_cluster(slots, size)
        return self.probes <= MOST_PROBES


cdef uint64_t longest_cluster(const Slot *slots, uint64_t size) noexcept:
    """The largest number of full slots in a row; the first slot follows the last."""
    cdef uint64_t place, run = 0, longest = 0
    for place in range(2 * size):
        run = run + 1 if slots[place & (size - 1)].code >= 0 else 0
        longest = max(longest, run)
    return longest


cdef void codes_of_numbers(const Knots *known, const double *values, Py_ssize_t n, int32_t *codes) noexcept nogil:
    """The code of each number, each found alone."""
    cdef Py_ssize_t k
    if known.near != NULL:
        for k in range(n):
            codes[k] = code_near(known, values[k])
    elif known.codes != NULL:
        for k in range(n):
            codes[k] = code_of_level(known, values[k])
    else:
        for k in range(n):
            codes[k] = code_of_bin(known, values[k])


cdef inline int32_t code_near(const Knots *known, double value) noexcept nogil:
    """The code of a whole number, from a table."""
    cdef int64_t whole
    if known.low <= value <= known.high:
        whole = <int64_t> value
        return known.near[whole - known.low] if whole == value else UNKNOWN
    return MISSING if value != value else UNKNOWN


cdef inline int32_t code_of_level(const Knots *known, double value) noexcept nogil:
    """The code of a number that may be a level."""
    cdef Py_ssize_t reached = knots_up_to(known, value)
    if reached > 0 and known.knots[reached - 1] == value:
        return known.codes[reached - 1]
    return MISSING if value != value else UNKNOWN


cdef inline int32_t code_of_bin(const Knots *known, double value) noexcept nogil:
    """The code of the bin of a number."""
    if value != value:
        return MISSING
    if value - value != 0:
        return UNKNOWN if value > 0 else LEAST_CODE
    return <int32_t> knots_up_to(known, value)


cdef Py_ssize_t knots_up_to(const Knots *known, double value) noexcept nogil:
    """How many knots a number reaches, found without a branch that depends on it."""
    cdef Py_ssize_t base = 0, left = known.count, half
    while left > 1:   # it reaches from `base` to `base + left` of them
        half = left >> 1
        base += half if known.knots[base + half - 1] <= value else 0
        left -= half
    return base + (left == 1 and known.knots[base] <= value)


cdef void codes_of_texts(
    const Texts *known, const Piece *piece, int64_t first, const int64_t *index, Py_ssize_t n, int32_t *codes
) noexcept nogil:
    """The code of each text, each found alone."""
    cdef Py_ssize_t k
    cdef int64_t row, size = 0
    cdef const uint8_t *text
    for k in range(n):
        row = index[k] - first if index else first + k
        if not is_there(piece, row):
            codes[k] = MISSING
            continue
        text = text_at(piece, piece.offset + row, &size)
        codes[k] = code_of_text(known, text, size) if 0 <= size <= known.longest else UNKNOWN


cdef const uint8_t *text_at(const Piece *piece, int64_t place, int64_t *size) noexcept nogil:
    """The address of a text, and its size; -1 where a view points outside its buffers."""
    cdef int32_t ends[2]
    cdef int32_t view[4]
    cdef int64_t wide[2]
    if piece.kind == SHORT_TEXTS:
        memcpy(ends, piece.values + 4 * place, 8)
        size[0] = <int64_t> ends[1] - ends[0]
        return <const uint8_t *> piece.letters + ends[0]
    if piece.kind == LONG_TEXTS:
        memcpy(wide, piece.values + 8 * place, 16)
        size[0] = wide[1] - wide[0]
        return <const uint8_t *> piece.letters + wide[0]
    memcpy(view, piece.values + 16 * place, 16)
    size[0] = view[0]
    if view[0] <= 12:
        return <const uint8_t *> piece.values + 16 * place + 4
    if not (0 <= view[2] < piece.count and 0 <= view[3] <= piece.sizes[view[2]] - view[0]):
        size[0] = -1
        return NULL
    return <const uint8_t *> piece.buffers[view[2]] + view[3]


cdef int32_t code_of_text(const Texts *known, const uint8_t *text, int64_t size) noexcept nogil:
    """The code of the level that has the same bytes."""
    cdef uint64_t hashed = hash_of_text(text, size), place = hashed & known.mask
    cdef const Slot *slot
    while known.slots[place].code >= 0:
        slot = &known.slots[place]
        if slot.hash == hashed and slot.size == size:
            if size == 0 or memcmp(known.letters + slot.start, text, size) == 0:
                return slot.code
        place = (place + 1) & known.mask
    return UNKNOWN
