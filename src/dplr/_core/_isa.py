"""The CPU path of the kernels: the fastest one in measurements, or the one that DPLR_ISA names."""

import os

from dplr._core._row_map import cpu_paths

_KNOWN = ("portable", "baseline", "neon", "avx2", "avx512")
_AVAILABLE = cpu_paths()


def instruction_set() -> str:
    """Name of the path: the last of `cpu_paths()`, or the environment variable DPLR_ISA. All have the same bits.

    Raises
    ------
    ValueError
        DPLR_ISA is not a path, or is one that this build or this CPU does not have.
    """
    path = os.environ.get("DPLR_ISA", "")
    if not path:
        return _AVAILABLE[-1]
    if path in _AVAILABLE:
        return path
    rule = "must be supported by this CPU and build" if path in _KNOWN else "must name a CPU path"
    choices = ", ".join(repr(name) for name in _AVAILABLE)
    raise ValueError(f"`DPLR_ISA` {rule}; got {path!r}. Here it may be {choices} or unset.")
