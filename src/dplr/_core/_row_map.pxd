from dplr._core._tiles cimport Map, Tiles

cdef class RowMap:
    cdef Map map
    cdef readonly double intercept
    cdef readonly Py_ssize_t d
    cdef readonly bytes path
    cdef const Tiles *tiles         # for rows where they lie in memory; NULL for the portable path, as the next
    cdef const Tiles *widest        # for packed rows
    cdef tuple owners

cdef const Tiles *tiles_of(const char *path) except? NULL
