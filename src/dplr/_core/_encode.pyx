"""Rows of a table as rows of the model: each column of the table fills its columns of the matrix.

The entries that a value becomes are public and come in arrays: for numbers the filler of a missing one, for each code
a column and its entry. A kernel reads a value, looks it up, and writes. Columns that are not written are zero before.
"""
from cpython.mem cimport PyMem_Calloc, PyMem_Free
from libc.math cimport NAN
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t

import numpy as np

from dplr._core._codes cimport (
    LEAST_CODE, MISSING, UNKNOWN, Knots, NumberCodes, TextCodes, Texts, codes_of_numbers, codes_of_texts,
)
from dplr._core._shares cimport write_shares
from dplr._core._values cimport (
    BITS, BYTES, DOUBLE, FLOAT, HALF, INT8, NULLS, UINT8, Piece, Pieces, Values, check_rows, is_there, read_numbers,
    run_of,
)

cdef enum:
    ROWS = 1024         # at a time,
    ENTRIES = 3072      # or as many as have that many entries, which stay in the cache,
    LEAST_ROWS = 64     # and never fewer

cdef struct Entries:            # of one dictionary
    int64_t length
    const int32_t *codes        # one of the two is NULL
    const double *numbers

cdef struct Job:
    Pieces pieces               # the column
    bint keyed
    Entries *entries            # of each piece, where it is keyed
    Py_ssize_t first            # column in the matrix
    const Knots *knots          # the codes of numbers, or
    const Texts *texts          # of texts; both NULL where numbers stay numbers
    const int32_t *of_bytes     # the code of each byte; NULL where values are longer
    const double *byte_numbers  # of each byte, where all that a byte counts as is a number; else NULL
    const uint64_t *byte_marks  # of each byte, 1 where it has no code; NULL where numbers stay numbers
    const double *numbers       # of each code, for the first column; NULL where it holds no number
    const int32_t *places       # of each code, the column that holds `held`; -1 for none
    const double *held
    bint spread                 # whether any code has a place
    bint filled                 # whether a missing number counts as `filler`,
    double filler
    Py_ssize_t mark             # and which column then is 1; 0 for none
    Knots curve                 # its knots, increasing; NULL for none
    bint line                   # whether the number has the first column, and the knots those behind it


cdef class Feature:
    """One column of a table and what it is in the matrix.

    Parameters
    ----------
    values : the column.
    first : its first column in the matrix.
    known : `NumberCodes` or `TextCodes`; None where numbers stay numbers.
    numbers, places, held : (k + 3,) of each code from -3 on: the number in the first column (None for none); and
        which column, -1 for none, holds what.
    filler, mark : of a number, what a missing one counts as, None to leave it NaN; and which column then is 1, 0 for
        none.
    knots, line : of a curve, its knots, and whether a column of the number stands before theirs.
    entries : codes or numbers of a dictionary whose keys the values are, where it is known; else None.
    """
    cdef Values values
    cdef Job job
    cdef Py_ssize_t width       # columns that are written
    cdef list owners

    def __cinit__(
        self, Values values, Py_ssize_t first, known=None, const double[::1] numbers=None,
        const int32_t[::1] places=None, const double[::1] held=None, filler=None, Py_ssize_t mark=0,
        entries=None, const double[::1] knots=None, bint line=True,
    ):
        cdef Py_ssize_t k
        self.values = values
        self.job.pieces, self.job.keyed, self.job.first = values.pieces, values.keyed, first
        self.owners = [known, numbers, places, held]
        self.job.filled, self.job.filler, self.job.mark = filler is not None, filler or 0.0, mark
        self.width = mark + 1
        if mark < 0:
            raise ValueError("mark must not be negative")
        if knots is not None:
            if knots.shape[0] < 2:
                raise ValueError("a curve must have two knots")
            for k in range(knots.shape[0] - 1):
                if not knots[k] < knots[k + 1]:
                    raise ValueError("knots must increase")
            self.job.curve, self.job.line = Knots(&knots[0], knots.shape[0], NULL, NULL, 0, 0), line
            self.owners.append(knots)
            self.width = max(self.width, line + knots.shape[0])
        if known is not None:
            self.take_codes(known, numbers, places, held)
        elif values.holds == "text":
            raise ValueError("a column of text must have codes")
        if entries is not None:
            self.take_entries(entries)
        elif known is not None and values.holds not in ("text" if isinstance(known, TextCodes) else "numbers", "nulls"):
            raise ValueError("codes must be of the kind of values that the column holds")
        elif values.keyed:
            self.read_entries()
        elif knots is None and values.kind in (INT8, UINT8, BYTES, BITS):
            self.read_bytes()

    def __dealloc__(self):
        PyMem_Free(self.job.entries)

    cdef int take_codes(
        self, known, const double[::1] numbers, const int32_t[::1] places, const double[::1] held
    ) except -1:
        """Set the codes of values, and the entries that codes stand for."""
        cdef Py_ssize_t code, codes = places.shape[0]
        if isinstance(known, TextCodes):
            self.job.texts = &(<TextCodes> known).texts
        else:
            self.job.knots = &(<NumberCodes?> known).knots
        if codes < known.count - LEAST_CODE or held.shape[0] != codes:
            raise ValueError("an entry for each code")
        if numbers is not None and numbers.shape[0] != codes:
            raise ValueError("an entry for each code")
        for code in range(codes):
            self.width = max(self.width, places[code] + 1)
            self.job.spread |= places[code] >= 0
        if numbers is not None:
            self.job.numbers = &numbers[0]
        self.job.places, self.job.held = &places[0], &held[0]
        return 0

    cdef int make_entries(self) except -1:
        """Allocate entries for the dictionary of each piece."""
        self.job.keyed = True
        self.job.entries = <Entries *> PyMem_Calloc(self.values.pieces.count + 1, sizeof(Entries))
        if self.job.entries == NULL:
            raise MemoryError
        return 0

    cdef int take_entries(self, entries) except -1:
        """Take entries of a dictionary that the caller has looked up, for all pieces."""
        cdef Py_ssize_t k
        cdef const int32_t[::1] codes
        cdef const double[::1] numbers
        cdef Entries all_pieces
        if self.values.keyed or self.values.holds != "numbers" or len(entries) == 0:
            raise ValueError("entries must not be empty, and the values must be their keys")
        all_pieces.length, all_pieces.codes, all_pieces.numbers = len(entries), NULL, NULL
        if self.job.places != NULL:
            codes = entries
            all_pieces.codes = &codes[0]
        else:
            numbers = entries
            all_pieces.numbers = &numbers[0]
        self.owners.append(entries)
        self.make_entries()
        for k in range(self.values.pieces.count):
            self.job.entries[k] = all_pieces
        return 0

    cdef int read_entries(self) except -1:
        """Look every entry of a dictionary up once; pieces may share one."""
        cdef Py_ssize_t k
        cdef int32_t[::1] codes
        cdef double[::1] numbers
        cdef const Piece *piece
        self.make_entries()
        for k in range(self.values.pieces.count):
            piece = &self.values.entries[k]
            if k > 0 and is_same(piece, &self.values.entries[k - 1]):
                self.job.entries[k] = self.job.entries[k - 1]
                continue
            self.job.entries[k].length = piece.length
            if self.job.places != NULL:
                codes = np.empty(piece.length + 1, np.int32)
                self.owners.append(codes)
                self.job.entries[k].codes = &codes[0]
                read_codes(&self.job, piece, 0, NULL, piece.length, &codes[0])
            else:
                numbers = np.empty(piece.length + 1)
                self.owners.append(numbers)
                self.job.entries[k].numbers = &numbers[0]
                read_numbers(piece, 0, NULL, piece.length, &numbers[0], 1)
        return 0

    cdef int read_bytes(self) except -1:
        """Look every byte up once: its code, or its number where it counts as nothing else."""
        cdef uint8_t[::1] every = np.arange(256, dtype=np.uint8)
        cdef int32_t[::1] codes = np.empty(256, np.int32)
        cdef double[::1] numbers = np.empty(256)
        cdef uint64_t[::1] marks = np.zeros(256, np.uint64)
        cdef Piece piece
        cdef Py_ssize_t byte
        piece.kind = BYTES if self.values.kind == BITS else self.values.kind
        piece.length, piece.offset, piece.stride, piece.valid = 256, 0, 1, NULL
        piece.values = <const char *> &every[0]
        self.owners += [codes, numbers, marks]
        if self.job.places != NULL:
            read_codes(&self.job, &piece, 0, NULL, 256, &codes[0])
            self.job.of_bytes = &codes[0]
            if self.job.numbers == NULL or self.values.kind == BITS:
                return 0
            for byte in range(256):
                if self.job.places[codes[byte] - LEAST_CODE] >= 0:
                    return 0
                numbers[byte], marks[byte] = self.job.numbers[codes[byte] - LEAST_CODE], codes[byte] == UNKNOWN
            self.job.byte_marks = &marks[0]
        elif self.values.kind == BITS:
            return 0
        else:
            read_numbers(&piece, 0, NULL, 256, &numbers[0], 1)
        self.job.byte_numbers = &numbers[0]
        return 0


cdef class Features:
    """All columns of a table that kernels read.

    Parameters
    ----------
    features : list of `Feature`.
    """
    cdef list features
    cdef const Job **jobs

    def __cinit__(self, list features):
        cdef Py_ssize_t k
        self.features = features
        self.jobs = <const Job **> PyMem_Calloc(len(features) + 1, sizeof(Job *))
        if self.jobs == NULL:
            raise MemoryError
        for k in range(len(features)):
            self.jobs[k] = &(<Feature?> features[k]).job

    def __dealloc__(self):
        PyMem_Free(self.jobs)

    def write(self, int64_t start, const int64_t[::1] index, double[:, ::1] out, int64_t[:, ::1] marks):
        """Fill the columns of a matrix that is zero with the rows from `start` on, or those of the index.

        Parameters
        ----------
        start, index : the first row; or all rows, and then `start` is not used.
        out : (n, width).
        marks : (2, features); how many values have no code, and how many are missing, are added.
        """
        cdef Py_ssize_t n = out.shape[0], width = out.shape[1], done = 0, k, rows, count = len(self.features)
        cdef Py_ssize_t most = min(ROWS, max(LEAST_ROWS, ENTRIES // (width + 1)))
        cdef const int64_t *places = NULL
        cdef Feature feature
        if marks.shape[0] != 2 or marks.shape[1] != count:
            raise ValueError("marks must have two rows, and a column for each feature")
        for feature in self.features:
            check_rows(&feature.values.pieces, start, index, n)
            if feature.job.first < 0 or feature.job.first + feature.width > width:
                raise ValueError("out must have all columns of each feature")
        if n == 0 or count == 0:
            return
        if index is not None:
            places = &index[0]
        with nogil:
            while done < n:
                rows = min(most, n - done)
                for k in range(count):
                    write_feature(
                        self.jobs[k], start + done, places, rows, &out[done, 0], width, &marks[0, k], &marks[1, k])
                done += rows
                if places != NULL:
                    places += rows


cdef void write_feature(
    const Job *job, int64_t start, const int64_t *index, Py_ssize_t n, double *out, Py_ssize_t width,
    int64_t *unknown, int64_t *missing
) noexcept nogil:
    """Fill the columns of one feature, in runs of rows that lie in one piece."""
    cdef double scratch[ROWS]
    cdef int32_t codes[ROWS]
    cdef Py_ssize_t done = 0, run, piece = 0
    cdef const int64_t *rows
    cdef int64_t first
    while done < n:
        rows = index + done if index else NULL
        run = run_of(&job.pieces, start + done, rows, n - done, &piece)
        first = job.pieces.firsts[piece] if index else start + done - job.pieces.firsts[piece]
        if job.keyed:
            read_numbers(&job.pieces.each[piece], first, rows, run, scratch, 1)
        if job.curve.knots != NULL:
            if job.keyed:
                numbers_of_keys(&job.entries[piece], scratch, run, scratch, 1)
            else:
                read_numbers(&job.pieces.each[piece], first, rows, run, scratch, 1)
            missing[0] += write_shares(
                &job.curve, job.line, job.filled, job.filler, job.mark, scratch, run, out + done * width + job.first,
                width)
        elif job.byte_numbers != NULL and job.pieces.each[piece].valid == NULL:
            unknown[0] += write_bytes(
                job, &job.pieces.each[piece], first, rows, run, out + done * width + job.first, width)
        elif job.places == NULL:
            if job.keyed:
                numbers_of_keys(&job.entries[piece], scratch, run, out + done * width + job.first, width)
            else:
                read_numbers(&job.pieces.each[piece], first, rows, run, out + done * width + job.first, width)
            if job.filled and may_miss(job, &job.pieces.each[piece]):
                missing[0] += fill_gaps(job, run, out + done * width + job.first, width)
        else:
            if job.keyed:
                codes_of_keys(&job.entries[piece], scratch, run, codes)
            else:
                read_codes(job, &job.pieces.each[piece], first, rows, run, codes)
            write_codes(job, codes, run, out + done * width + job.first, width, unknown, missing)
        done += run


cdef int64_t write_bytes(
    const Job *job, const Piece *piece, int64_t first, const int64_t *index, Py_ssize_t n, double *out,
    Py_ssize_t width
) noexcept nogil:
    """Write the number of each byte; how many of them have no code. None is missing."""
    cdef const uint8_t *values = <const uint8_t *> piece.values + piece.offset * piece.stride
    cdef const double *numbers = job.byte_numbers
    cdef const uint64_t *marks = job.byte_marks
    cdef int64_t unknown = 0, stride = piece.stride
    cdef Py_ssize_t k
    if index:
        for k in range(n):
            out[k * width] = numbers[values[(index[k] - first) * stride]]
            unknown += marks[values[(index[k] - first) * stride]] if marks else 0
        return unknown
    values += first * stride
    for k in range(n):
        out[k * width] = numbers[values[k * stride]]
    if marks:
        for k in range(n):
            unknown += marks[values[k * stride]]
    return unknown


cdef bint may_miss(const Job *job, const Piece *piece) noexcept nogil:
    """Whether a number of these may be NaN."""
    return job.keyed or piece.valid != NULL or piece.kind in (HALF, FLOAT, DOUBLE, NULLS)


cdef int64_t fill_gaps(const Job *job, Py_ssize_t n, double *out, Py_ssize_t width) noexcept nogil:
    """Write what missing numbers count as; how many they are."""
    cdef Py_ssize_t k
    cdef int64_t missing = 0
    for k in range(n):
        if out[k * width] != out[k * width]:
            out[k * width] = job.filler
            missing += 1
            if job.mark:
                out[k * width + job.mark] = 1.0
    return missing


cdef void numbers_of_keys(
    const Entries *entries, const double *keys, Py_ssize_t n, double *out, Py_ssize_t width
) noexcept nogil:
    """The number of each key; NaN for what is not a key."""
    cdef Py_ssize_t k
    for k in range(n):
        out[k * width] = entries.numbers[<int64_t> keys[k]] if 0 <= keys[k] < entries.length else NAN


cdef void codes_of_keys(const Entries *entries, const double *keys, Py_ssize_t n, int32_t *codes) noexcept nogil:
    """The code of each key; what is not a key is missing."""
    cdef Py_ssize_t k
    for k in range(n):
        codes[k] = entries.codes[<int64_t> keys[k]] if 0 <= keys[k] < entries.length else MISSING


cdef void read_codes(
    const Job *job, const Piece *piece, int64_t first, const int64_t *index, Py_ssize_t n, int32_t *codes
) noexcept nogil:
    """Codes of values that are not keys."""
    cdef double scratch[ROWS]
    cdef Py_ssize_t done = 0, rows
    if job.texts != NULL:
        codes_of_texts(job.texts, piece, first, index, n, codes)
        return
    if job.of_bytes != NULL:
        codes_of_bytes(job.of_bytes, piece, first, index, n, codes)
        return
    while done < n:
        rows = min(ROWS, n - done)
        if index:
            read_numbers(piece, first, index + done, rows, scratch, 1)
        else:
            read_numbers(piece, first + done, NULL, rows, scratch, 1)
        codes_of_numbers(job.knots, scratch, rows, codes + done)
        done += rows


cdef void codes_of_bytes(
    const int32_t *of_bytes, const Piece *piece, int64_t first, const int64_t *index, Py_ssize_t n, int32_t *codes
) noexcept nogil:
    """Codes of values of one byte, or of one bit."""
    cdef const uint8_t *values = <const uint8_t *> piece.values
    cdef int64_t row
    cdef Py_ssize_t k
    for k in range(n):
        row = piece.offset + (index[k] - first if index else first + k)
        if piece.kind == BITS:
            codes[k] = of_bytes[values[row >> 3] >> (row & 7) & 1]
        else:
            codes[k] = of_bytes[values[row * piece.stride]]
    if piece.valid != NULL:
        for k in range(n):
            if not is_there(piece, index[k] - first if index else first + k):
                codes[k] = MISSING


cdef void write_codes(
    const Job *job, const int32_t *codes, Py_ssize_t n, double *out, Py_ssize_t width,
    int64_t *unknown, int64_t *missing
) noexcept nogil:
    """Write what each code stands for."""
    cdef const double *numbers = job.numbers
    cdef const double *held = job.held
    cdef const int32_t *places = job.places
    cdef int64_t unknowns = 0, gaps = 0
    cdef double nowhere = 0.0
    cdef double *place
    cdef int32_t code
    cdef Py_ssize_t k
    for k in range(n):
        unknowns += codes[k] == UNKNOWN
        gaps += codes[k] == MISSING
    unknown[0] += unknowns
    missing[0] += gaps
    if numbers != NULL:
        for k in range(n):
            out[k * width] = numbers[codes[k] - LEAST_CODE]
    if job.spread:
        for k in range(n):
            code = codes[k] - LEAST_CODE
            place = &nowhere if places[code] < 0 else &out[k * width + places[code]]
            place[0] = held[code]


cdef bint is_same(const Piece *one, const Piece *other) noexcept:
    """Whether two dictionaries are the same memory."""
    return (
        one.values == other.values and one.letters == other.letters and one.buffers == other.buffers
        and one.valid == other.valid and one.offset == other.offset and one.length == other.length
    )
