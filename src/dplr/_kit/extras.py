"""How a missing library is installed: the words of every message that names an extra."""

from __future__ import annotations

import importlib
from typing import Any, Literal

Extra = Literal["accounting", "cli", "demo", "files", "formulas", "frames", "offices", "plots", "progress"]
PUBLISHED = False  # whether dplr is on the package index: turned with the first release (docs/develop/releasing.md)


def install_words(extra: Extra) -> str:
    """The command that installs an extra, as a part of a sentence."""
    if PUBLISHED:
        return f'pip install "dplr[{extra}]"'
    return f'pip install ".[{extra}]" in a checkout of dplr, or pip install "FILE.whl[{extra}]" with its wheel'


def missing_library(purpose: str, library: str, extra: Extra, name: str | None = None) -> ModuleNotFoundError:
    """The error for a library of an extra that is not installed; `name` is that of its module, where it differs."""
    return ModuleNotFoundError(
        f"{purpose} needs {library}. Install it with {install_words(extra)}.", name=name or library
    )


def optional_library(name: str, purpose: str, extra: Extra) -> Any:
    """The module of an extra; ModuleNotFoundError with the extra where it is not installed."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as missing:
        raise missing_library(purpose, name, extra, missing.name) from missing


def pandas() -> Any:
    return optional_library("pandas", "a data frame", "frames")
