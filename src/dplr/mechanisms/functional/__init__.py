"""The functional mechanism.

Second moments of the rows are summed once, get noise, and every model of them is post-processing. `spec.py` is the
algorithm: plan, sum, add noise (`drawing.py`), repair the spectrum, solve. `moments.py` has the layout of the released
cells and their noise, and `readings.py` the equation for confidence intervals. Proof: functional.md.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from dplr.mechanisms.descriptions import FUNCTIONAL
from dplr.mechanisms.protocol import class_block

if TYPE_CHECKING:
    from dplr.mechanisms.functional.moments import one_class
    from dplr.mechanisms.functional.spec import FunctionalMechanism

__all__ = ["FunctionalMechanism", "class_block", "one_class"]


def __getattr__(name: str) -> Any:
    """The names of the spec's module, imported on first use."""
    if name not in __all__:
        raise AttributeError(f"module 'dplr.mechanisms.functional' has no attribute {name!r}")
    return getattr(importlib.import_module(FUNCTIONAL.module), name)
