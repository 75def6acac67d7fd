from dplr._core._tiles cimport KnotsShape

cdef class Knots:
    cdef KnotsShape shape
    cdef const double[:, ::1] pieces
