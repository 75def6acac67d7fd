"""Guarantees, and their costs.

Pure functions of public numbers. A statement (`statement.py`) is what a release promises: to whom (`unit.py`), how much
(`guarantees.py`), with which noise on which block (`law.py`). `sensitivity.py` and `calibration.py` lead from a theorem
to the noise; `rules.py` asks `composition.py`, `profiles.py` and `accounting.py` what several releases cost together.

>>> from dplr.privacy import Law, Pure
>>> Pure(0.5).eps, Law.DISCRETE_GAUSSIAN.gaussian
(0.5, True)
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from dplr.privacy.estimand import Estimand
from dplr.privacy.guarantees import Approx, Gaussian, Neighbouring, Poisson, Pure
from dplr.privacy.law import Law
from dplr.privacy.statement import PrivacyStatement, Release
from dplr.privacy.unit import Unit

if TYPE_CHECKING:
    from dplr.privacy.composition import basic, equal_shares, zcdp

__all__ = [
    "Approx",
    "Estimand",
    "Gaussian",
    "Law",
    "Neighbouring",
    "Poisson",
    "PrivacyStatement",
    "Pure",
    "Release",
    "Unit",
    "basic",
    "equal_shares",
    "zcdp",
]


def __getattr__(name: str) -> Any:
    """The functions that compose statements, imported on first use: they load scipy."""
    if name in ("basic", "equal_shares", "zcdp"):
        return getattr(importlib.import_module("dplr.privacy.composition"), name)
    raise AttributeError(f"module 'dplr.privacy' has no attribute {name!r}")
