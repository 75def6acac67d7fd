"""A budget for one fit that can be resumed: what `Ledger.resumable` returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dplr.ledger.budget import Reservation
from dplr.privacy.statement import PrivacyStatement

if TYPE_CHECKING:
    from dplr.ledger.handle import Ledger


@dataclass(frozen=True, slots=True)
class Resumable:
    """A ledger whose fit is known by the fingerprint of its data, and that resumes an earlier one if it is told to."""

    ledger: Ledger
    fingerprint: str
    resume: bool

    @property
    def strict(self) -> bool:
        """Never: a strict ledger resumes nothing."""
        return self.ledger.strict

    def reserve(self, *statements: PrivacyStatement) -> Reservation:
        """Hold the earlier reservation again, or make one."""
        if self.resume:
            return self.ledger.resume(None, *statements, fingerprint=self.fingerprint)
        return self.ledger.reserve(*statements, fingerprint=self.fingerprint)
