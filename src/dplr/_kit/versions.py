"""Versions, the platform and CPU paths, for the report of a fault: `python -m dplr --versions`."""

from __future__ import annotations

import platform
from importlib import metadata

from dplr._core import built_paths, cpu_paths, instruction_set

_PACKAGES = ("numpy", "scipy", "scikit-learn", "narwhals")


def versions() -> str:
    """One line each. The path taken is the widest usable one, or the one that the variable DPLR_ISA names."""
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
    return "\n".join(f"{name:<20} {value}" for name, value in facts.items())


def _version(package: str) -> str:
    """Of an installed package, without importing it."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"
