"""Versions, the platform and CPU paths, for the report of a fault."""

from __future__ import annotations

import platform
from importlib import metadata

from dplr._core import built_paths, cpu_paths, instruction_set

_PACKAGES = ("numpy", "scipy", "scikit-learn", "narwhals")


def show_versions() -> None:
    """Print the versions of dplr and of what it needs, the platform, and the CPU paths.

    Add what it prints to a report of a fault.

    Returns
    -------
    None
        Three lines tell of CPU paths: those that this build has, those of them that this CPU runs, and the one that
        sums take: the last of these, or the one that the environment variable DPLR_ISA names. All have the same exact
        sums and releases; they differ in speed.

    Raises
    ------
    ValueError
        DPLR_ISA is not a path that this build has and this CPU runs.

    Privacy
    -------
    It reads no data.

    See Also
    --------
    check : What dplr makes of a table, before a fit.

    Examples
    --------
    >>> import dplr
    >>> dplr.show_versions()  # doctest: +ELLIPSIS
    dplr                 ...
    CPU path taken       ...
    """
    facts = {
        "dplr": metadata.version("dplr"),
        "Python": f"{platform.python_version()}, {platform.python_implementation()}",
        "platform": platform.platform(),
        "processor": platform.machine(),
        **{name: _version(name) for name in _PACKAGES},
        "CPU paths built": ", ".join(built_paths()),
        "CPU paths usable": ", ".join(cpu_paths()),
        "CPU path taken": instruction_set(),
    }
    print("\n".join(f"{name:<20} {value}" for name, value in facts.items()))


def _version(package: str) -> str:
    """Of an installed package, without importing it."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"
