"""Columns of libraries with the Arrow C data interface: read in place, and kept alive as long as they are read.

The structs are those of the interface's specification. Whoever takes an array releases it, once.
"""
from cpython.mem cimport PyMem_Free, PyMem_Realloc
from cpython.pycapsule cimport PyCapsule_GetPointer
from libc.stdint cimport int64_t, uint8_t
from libc.string cimport memset

from dplr._core._values cimport (
    BITS, DOUBLE, FLOAT, HALF, INT8, INT16, INT32, INT64, LONG_TEXTS, NULLS, SHORT_TEXTS, UINT8, UINT16, UINT32, UINT64,
    VIEWS, Kind, Piece, Values,
)

cdef extern from *:
    """
    #include <stdint.h>
    #ifndef ARROW_C_DATA_INTERFACE
    #define ARROW_C_DATA_INTERFACE
    struct ArrowSchema {
      const char *format, *name, *metadata;
      int64_t flags, n_children;
      struct ArrowSchema **children, *dictionary;
      void (*release)(struct ArrowSchema *);
      void *private_data;
    };
    struct ArrowArray {
      int64_t length, null_count, offset, n_buffers, n_children;
      const void **buffers;
      struct ArrowArray **children, *dictionary;
      void (*release)(struct ArrowArray *);
      void *private_data;
    };
    #endif
    #ifndef ARROW_C_STREAM_INTERFACE
    #define ARROW_C_STREAM_INTERFACE
    struct ArrowArrayStream {
      int (*get_schema)(struct ArrowArrayStream *, struct ArrowSchema *);
      int (*get_next)(struct ArrowArrayStream *, struct ArrowArray *);
      const char *(*get_last_error)(struct ArrowArrayStream *);
      void (*release)(struct ArrowArrayStream *);
      void *private_data;
    };
    #endif
    """
    cdef struct ArrowSchema:
        const char *format
        ArrowSchema *dictionary
        void (*release)(ArrowSchema *)
    cdef struct ArrowArray:
        int64_t length, null_count, offset, n_buffers
        const void **buffers
        ArrowArray *dictionary
        void (*release)(ArrowArray *)
    cdef struct ArrowArrayStream:
        int (*get_schema)(ArrowArrayStream *, ArrowSchema *)
        int (*get_next)(ArrowArrayStream *, ArrowArray *)
        void (*release)(ArrowArrayStream *)

# The kind of each format, and the bytes from one value to the next.
_FORMATS = {
    b"c": (INT8, 1), b"C": (UINT8, 1), b"s": (INT16, 2), b"S": (UINT16, 2), b"i": (INT32, 4), b"I": (UINT32, 4),
    b"l": (INT64, 8), b"L": (UINT64, 8), b"e": (HALF, 2), b"f": (FLOAT, 4), b"g": (DOUBLE, 8), b"b": (BITS, 0),
    b"u": (SHORT_TEXTS, 4), b"U": (LONG_TEXTS, 8), b"vu": (VIEWS, 16), b"n": (NULLS, 0),
}
_BUFFERS = {SHORT_TEXTS: 3, LONG_TEXTS: 3, VIEWS: 3, NULLS: 0}   # at least; of all others 2


cdef class Chunks:
    """Arrays that were moved out of a stream or a capsule, and are released when no column reads them."""
    cdef ArrowArray *arrays
    cdef Py_ssize_t count, room

    def __dealloc__(self):
        cdef Py_ssize_t k
        for k in range(self.count):
            if self.arrays[k].release != NULL:
                self.arrays[k].release(&self.arrays[k])
        PyMem_Free(self.arrays)

    cdef ArrowArray *place(self) except NULL:
        """The place of the next array; the caller increments `count`."""
        cdef ArrowArray *larger
        if self.count == self.room:
            larger = <ArrowArray *> PyMem_Realloc(self.arrays, (2 * self.room + 4) * sizeof(ArrowArray))
            if larger == NULL:
                raise MemoryError
            self.arrays, self.room = larger, 2 * self.room + 4
        memset(&self.arrays[self.count], 0, sizeof(ArrowArray))
        return &self.arrays[self.count]


cdef class Format:
    """The formats that a column declares."""
    cdef bytes values, entries   # no entries without a dictionary

    cdef int read(self, ArrowSchema *schema) except -1:
        self.values = <bytes> schema.format
        self.entries = None if schema.dictionary == NULL else <bytes> schema.dictionary.format
        if schema.dictionary != NULL and schema.dictionary.dictionary != NULL:
            raise ValueError("the entries of a dictionary must not be keys of another dictionary")
        return 0


def arrow_values(stream):
    """The values of a column whose `__arrow_c_stream__` gave this capsule; raises for types that are not read."""
    cdef ArrowArrayStream *source = <ArrowArrayStream *> PyCapsule_GetPointer(stream, "arrow_array_stream")
    cdef ArrowSchema schema
    cdef ArrowArray *array
    cdef Chunks chunks = Chunks()
    cdef Format declared = Format()
    memset(&schema, 0, sizeof(schema))
    if source.release == NULL:
        raise ValueError("the stream must not have been consumed before")
    try:
        if source.get_schema(source, &schema) != 0:
            raise ValueError("the stream must have a schema")
        declared.read(&schema)
        check_format(declared)
        while True:
            array = chunks.place()
            if source.get_next(source, array) != 0:
                raise ValueError("the stream could not be read")
            if array.release == NULL:
                break
            chunks.count += 1
    finally:
        if schema.release != NULL:
            schema.release(&schema)
        source.release(source)
        source.release = NULL
    return values_of(chunks, declared)


def arrow_piece(schema, array):
    """The values of a column whose `__arrow_c_array__` gave these two capsules; raises as `arrow_values`."""
    cdef ArrowSchema *form = <ArrowSchema *> PyCapsule_GetPointer(schema, "arrow_schema")
    cdef ArrowArray *source = <ArrowArray *> PyCapsule_GetPointer(array, "arrow_array")
    cdef Chunks chunks = Chunks()
    cdef Format declared = Format()
    if form.release == NULL or source.release == NULL:
        raise ValueError("the array must not have been consumed before")
    declared.read(form)
    check_format(declared)
    chunks.place()[0] = source[0]
    chunks.count = 1
    source.release = NULL
    return values_of(chunks, declared)


cdef int check_format(Format declared) except -1:
    """Raise for formats other than numbers, booleans and text."""
    for name in (declared.values, declared.entries):
        if name is not None and name not in _FORMATS:
            raise ValueError(f"the column must hold numbers, booleans or text; got the format {name}")
    return 0


cdef Values values_of(Chunks chunks, Format declared):
    """The values of the arrays that have any."""
    cdef Values values = Values()
    cdef Py_ssize_t k, count = 0
    kind, stride = _FORMATS[declared.values]
    kind_of_entries, stride_of_entries = _FORMATS.get(declared.entries, (kind, stride))
    values.keyed = declared.entries is not None
    values.kind, values.owner = kind_of_entries, chunks
    values.make_room(chunks.count)
    for k in range(chunks.count):
        if chunks.arrays[k].length == 0:
            continue
        fill(&values.pieces.each[count], &chunks.arrays[k], kind, stride)
        if values.keyed:
            if chunks.arrays[k].dictionary == NULL:
                raise ValueError("an array of keys must have a dictionary")
            fill(&values.entries[count], chunks.arrays[k].dictionary, kind_of_entries, stride_of_entries)
        values.pieces.firsts[count + 1] = values.pieces.firsts[count] + chunks.arrays[k].length
        count += 1
    values.pieces.count = count
    return values


cdef int fill(Piece *piece, const ArrowArray *array, Kind kind, int64_t stride) except -1:
    """Fill a piece with the addresses and sizes of an array."""
    if array.n_buffers < _BUFFERS.get(kind, 2) or array.length < 0 or array.offset < 0:
        raise ValueError("an array must have all its buffers")
    piece.kind, piece.length, piece.offset, piece.stride = kind, array.length, array.offset, stride
    if kind == NULLS or array.length == 0:
        return 0
    piece.valid = <const uint8_t *> array.buffers[0] if array.null_count else NULL
    piece.values = <const char *> array.buffers[1]
    if piece.values == NULL:
        raise ValueError("an array must have values")
    if kind in (SHORT_TEXTS, LONG_TEXTS):
        piece.letters = <const char *> array.buffers[2]
    elif kind == VIEWS:
        piece.count = array.n_buffers - 3
        piece.buffers = <const void *const *> array.buffers + 2
        piece.sizes = <const int64_t *> array.buffers[array.n_buffers - 1]
    return 0
