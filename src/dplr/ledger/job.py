"""A budget for one fit that outlives its process: what `Ledger.job` returns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from dplr.ledger.budget import Reservation
from dplr.privacy.statement import PrivacyStatement

if TYPE_CHECKING:
    from dplr.ledger.handle import Ledger


@dataclass(slots=True)
class Job:
    """A ledger for one fit.

    Attributes
    ----------
    ledger : that pays.
    fingerprint : of the data; None for a fit that is not resumed.
    resume : whether an earlier reservation is held again, and no new one made.
    keep : from a fitted model to its file, which the ledger keeps from the commit on; None for none.
    token : of the reservation, once there is one.
    """

    ledger: Ledger
    fingerprint: str | None
    resume: bool
    keep: Callable[[Any], bytes] | None
    token: str | None = field(default=None, compare=False)

    @property
    def strict(self) -> bool:
        """Never: a strict ledger resumes nothing and keeps nothing."""
        return self.ledger.strict

    def reserve(self, *statements: PrivacyStatement) -> Reservation:
        """Hold the earlier reservation again, with its journal, or make one."""
        self.ledger._sweep()
        if self.resume:
            held = self.ledger._resumed(None, statements, str(self.fingerprint), journalled=True)
        else:
            held = self.ledger.reserve(*statements, fingerprint=self.fingerprint)
        self.token = held.token
        return held

    def file_of(self, est: Any) -> bytes | None:
        """The file that is kept of a model; None for a model that no file can hold: it is released all the same."""
        try:
            return None if self.keep is None else self.keep(est)
        except (ValueError, TypeError):
            return None
