"""A convex loss given by its slope at knots, which every kernel takes beside the losses that it implements by name.

`loss.md` and `clip.md` count its roundings.
"""
from math import frexp

import numpy as np

from dplr._core._tiles cimport OF_FAMILY, OF_MARGIN, OF_RESIDUAL

FORMS = {"margin": OF_MARGIN, "residual": OF_RESIDUAL, "family": OF_FAMILY}
# The largest size of a knot's number, so that a place between knots keeps enough digits.
MOST_KNOTS = 2**16


cdef class Knots:
    """Slopes at knots: linear between them, constant beyond the first and the last.

    Parameters
    ----------
    form : `"margin"` for a function of y m, `"residual"` of m - y, `"family"` of m, from whose slope y is taken.
    first : number of the first knot.
    per_unit : knots in 1.0, a power of two.
    slopes : (n,) at knots first, first + 1, ...; never falling, two or more.

    The loss is 0 at the first knot.
    """

    def __cinit__(self, str form, Py_ssize_t first, double per_unit, const double[::1] slopes):
        cdef Py_ssize_t n = slopes.shape[0] - 1
        values = np.asarray(slopes)
        if n < 1 or not -MOST_KNOTS <= first <= first + n <= MOST_KNOTS:
            raise ValueError("knots must be two or more, with numbers of size up to 2^16")
        if not 2.0**-16 <= per_unit <= 2.0**16 or frexp(per_unit)[0] != 0.5:
            raise ValueError("per_unit must be a power of two from 2^-16 to 2^16")
        changes = np.diff(values)
        if not (np.isfinite(values).all() and (changes >= 0).all()):
            raise ValueError("slopes must be finite, and must not fall")
        pieces = np.empty((n, 3))
        pieces[:, 0], pieces[:, 1] = values[:-1], changes
        pieces[:, 2] = np.concatenate(([0.0], np.cumsum((values[:-1] + values[1:]) / 2)[:-1])) / per_unit
        self.pieces = pieces
        self.shape.form, self.shape.per_unit = FORMS[form], per_unit
        self.shape.first, self.shape.last = first, first + n
        self.shape.pieces = &self.pieces[0, 0]
