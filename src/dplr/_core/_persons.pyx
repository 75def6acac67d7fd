"""Numbers for ids, by hash tables.

A table has a power of two of slots, (hash, code + 1), probed one after the other. The caller makes it, and a larger one
when it is half full. The caller also limits the probes: if an attacker chose ids whose hashes collide, the pass ends,
and the caller uses another method. Different integers have different hashes; for texts `all_same` compares all bytes.
"""
from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.string cimport memcmp

from dplr._core._hashes cimport hash_of_text, mixed

cdef extern from *:
    void __builtin_prefetch(const void *place) noexcept nogil

cdef enum:
    AHEAD = 16   # rows whose slots are on their way from memory


def hash_integers(const int64_t[::1] values, int64_t[::1] hashes):
    """Write the hash of each integer."""
    cdef Py_ssize_t row, n = values.shape[0]
    if hashes.shape[0] != n:
        raise ValueError("hashes must be as many as values")
    with nogil:
        for row in range(n):
            hashes[row] = <int64_t> mixed(<uint64_t> values[row])


def hash_texts(const uint8_t[::1] data, const int64_t[::1] ends, int64_t[::1] hashes):
    """Write the hash of each text: text i is data[ends[i] : ends[i + 1]], and 0 is that of an empty one."""
    cdef Py_ssize_t row, n = hashes.shape[0]
    cdef int64_t size = data.shape[0], place, end
    cdef const uint8_t *text = &data[0] if size > 0 else NULL
    cdef bint outside = False
    if ends.shape[0] != n + 1:
        raise ValueError("ends must have one entry more than hashes")
    with nogil:
        for row in range(n):
            place, end = ends[row], ends[row + 1]
            if not 0 <= place <= end <= size:
                outside = True
                break
            hashes[row] = <int64_t> hash_of_text(text + place, end - place)
    if outside:
        raise ValueError("ends must lie within the data, in increasing order")


cdef int check_table(const int64_t[:, ::1] slots) except -1:
    if slots.shape[0] < 2 or slots.shape[0] & (slots.shape[0] - 1) or slots.shape[1] != 2:
        raise ValueError("slots must have two columns, and a power of two of rows, at least 2")
    return 0


def move_slots(const int64_t[:, ::1] slots, int64_t[:, ::1] larger):
    """Enter what a table holds into a larger one, which is empty."""
    cdef Py_ssize_t old, place, mask = larger.shape[0] - 1
    check_table(slots)
    check_table(larger)
    if larger.shape[0] < slots.shape[0]:
        raise ValueError("the new slots must be a larger table than the old ones")
    with nogil:
        for old in range(slots.shape[0]):
            if slots[old, 1]:
                place = <Py_ssize_t> slots[old, 0] & mask
                while larger[place, 1]:
                    place = (place + 1) & mask
                larger[place, 0] = slots[old, 0]
                larger[place, 1] = slots[old, 1]


def number_rows(
    int64_t[::1] numbers, Py_ssize_t row, Py_ssize_t known, int64_t probes,
    int64_t[:, ::1] slots, int64_t[::1] firsts, int64_t[::1] counts,
):
    """Put numbers in place of the hashes of the rows from `row` on, until the table or the room for new ones is full.

    Returns the next row, or -1 where more probes were needed; the number of hashes known; and how many probes are left.
    """
    cdef Py_ssize_t n = numbers.shape[0], mask = slots.shape[0] - 1, place, room = firsts.shape[0]
    cdef int64_t value, code
    check_table(slots)
    if not 0 <= row <= n or not 0 <= known <= room or counts.shape[0] != room:
        raise ValueError("rows and ids must be numbered from 0 on, with as many counts as first rows")
    room = room if room < slots.shape[0] // 2 else slots.shape[0] // 2
    with nogil:
        while row < n:
            if row + AHEAD < n:
                __builtin_prefetch(&slots[<Py_ssize_t> numbers[row + AHEAD] & mask, 0])
            value = numbers[row]
            place = <Py_ssize_t> value & mask
            while slots[place, 1] and slots[place, 0] != value:
                probes -= 1
                place = (place + 1) & mask
            if probes < 0:
                row = -1
                break
            code = slots[place, 1] - 1
            if code < 0:
                if known == room:
                    break
                code = known
                slots[place, 0] = value
                slots[place, 1] = code + 1
                firsts[code] = row
                counts[code] = 0
                known += 1
            numbers[row] = code
            counts[code] += 1
            row += 1
    return row, known, probes


def all_same(
    const uint8_t[::1] data, const int64_t[::1] ends, const int64_t[::1] codes, const int64_t[::1] starts,
    const int64_t[::1] sizes,
):
    """Whether every text is that of its code: data[starts[c] : starts[c] + sizes[c]], with ends as in `hash_texts`."""
    cdef Py_ssize_t row, n = codes.shape[0], known = starts.shape[0]
    cdef int64_t code, ahead, size, length = data.shape[0]
    cdef const uint8_t *text = &data[0] if length > 0 else NULL
    cdef bint same = True, outside = False
    if ends.shape[0] != n + 1 or sizes.shape[0] != known:
        raise ValueError("ends must have one entry more than codes, and sizes must be as many as starts")
    with nogil:
        for row in range(n):
            ahead = codes[row + AHEAD] if row + AHEAD < n else -1
            if 0 <= ahead < known:
                __builtin_prefetch(text + starts[ahead])
            code, size = codes[row], ends[row + 1] - ends[row]
            if not (0 <= code < known and 0 <= ends[row] <= ends[row + 1] <= length):
                outside = True
                break
            if not 0 <= starts[code] <= length - sizes[code]:
                outside = True
                break
            if size != sizes[code] or (size > 0 and memcmp(text + ends[row], text + starts[code], size) != 0):
                same = False
                break
    if outside:
        raise ValueError("codes must be at least 0 and below the number of starts, and texts must lie within the data")
    return same
