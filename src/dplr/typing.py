"""Types of what users pass, for annotations of their own."""

from __future__ import annotations

from dplr.bounds.declared import BoundsLike
from dplr.fitting.pretraining import FittedModel, PublicLike
from dplr.ledger.handle import LedgerLike
from dplr.mechanisms.protocol import MechanismLike

__all__ = ["BoundsLike", "FittedModel", "LedgerLike", "MechanismLike", "PublicLike"]
