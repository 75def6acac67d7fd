"""The map from raw rows to scaled rows, and its CPU path."""
from dplr._core._tiles cimport GRID, built_tiles, find_tiles

# From this many columns on, the avx2 kernels read rows in memory faster than the avx512 ones, as measured: rows seldom
# begin on a cache line, and each of the widest loads then touches two lines.
cdef Py_ssize_t NARROWER_FROM = 32


cdef class RowMap:
    """Affine map to grid units and clamp, labels, the intercept's constant, and a CPU path. Public constants only.

    Parameters
    ----------
    shift, scale, low, high : (d + 1,) a value v becomes (v - shift) * scale, clamped to [low, high]; target last.
        Referenced, not copied. Without `box` the features' entries are unused and rows are projected onto the unit
        ball.
    box : whether the features have bounds.
    intercept : appended constant, a multiple of 2^-20 of at most 1; 0 for none.
    labels : the negative and the positive label, or None for a numeric target.
    path : b"portable", or one of `cpu_paths()`.

    Attributes
    ----------
    d, intercept, path : columns of the rows, and as above.
    """

    def __init__(
        self, const double[::1] shift, const double[::1] scale, const double[::1] low, const double[::1] high,
        bint box, double intercept, labels, bytes path,
    ):
        cdef Py_ssize_t columns = shift.shape[0]
        if columns < 2 or scale.shape[0] != columns or low.shape[0] != columns or high.shape[0] != columns:
            raise ValueError("shift, scale, low and high must have one entry for each column of X and one for y")
        if not (0 <= intercept <= 1 and intercept * GRID == int(intercept * GRID)):
            raise ValueError("intercept must be a multiple of 2^-20 of at most 1")
        negative, positive = (0.0, 0.0) if labels is None else labels
        self.d, self.intercept, self.path = columns - 1, intercept, path
        self.map = Map(
            &shift[0], &scale[0], &low[0], &high[0], box, labels is not None, <double> negative, <double> positive)
        self.owners = (shift, scale, low, high)
        self.tiles = self.widest = tiles_of(path)
        if path == b"avx512" and self.d >= NARROWER_FROM:
            self.tiles = find_tiles(b"avx2")


cdef const Tiles *tiles_of(const char *path) except? NULL:
    """The kernels of a path; NULL for the portable one."""
    cdef const Tiles *tiles = find_tiles(path)
    if tiles == NULL and path != b"portable":
        raise ValueError("path must be one of cpu_paths()")
    return tiles


# All paths except the portable one, from narrow to wide.
_PATHS = ("baseline", "neon", "avx2", "avx512")


def built_paths() -> tuple[str, ...]:
    """The paths that this build has, whether or not this CPU runs them, in the same order."""
    return ("portable", *(name for name in _PATHS if built_tiles(name.encode()) != NULL))


def cpu_paths() -> tuple[str, ...]:
    """The paths that this build has and this CPU runs, "portable" first and the widest vectors last."""
    return ("portable", *(name for name in _PATHS if find_tiles(name.encode()) != NULL))
