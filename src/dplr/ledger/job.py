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
    """A budget for one fit that outlives its process: what `Ledger.job` returns, to be named as `ledger=`.

    Attributes
    ----------
    ledger : dplr.Ledger
        The ledger that pays.
    fingerprint : str or None
        Fingerprint of the data; None for a fit that is not resumed.
    resume : bool
        Whether an earlier reservation is held again, and no new one is made.
    keep : callable or None
        Takes a fitted model and returns its file as bytes, which the ledger keeps from the commit on; None for none.
    token : str or None, default=None
        Name of the reservation, once there is one.

    Privacy
    -------
    It pays as its ledger does. With a fingerprint a fit may write a journal beside the ledger while it runs: a secret
    file (resuming.md, section 5).

    See Also
    --------
    dplr.Ledger.job : Makes one.

    Examples
    --------
    >>> import dplr, tempfile, os
    >>> ledger = dplr.Ledger(os.path.join(tempfile.mkdtemp(), "budget"), eps=1.0)
    >>> job = ledger.job("people.csv, 9134 bytes")
    >>> job.fingerprint, job.resume
    ('people.csv, 9134 bytes', False)
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
        """Hold the earlier reservation again, with its journal, or make one.

        Parameters
        ----------
        *statements : dplr.PrivacyStatement
            Statements of the releases to come.

        Returns
        -------
        dplr.ledger.Reservation
            The budget that is held.

        Raises
        ------
        BudgetExceeded
            They do not fit; nothing was spent.
        ValueError
            There is no reservation to hold again, or a statement breaks a rule of the ledger.
        OSError
            The file cannot be written, or others used it for 60 seconds.

        Privacy
        -------
        Reads no row, but the journal of the fit that is resumed. Whether it fits: as `Ledger.reserve`.
        """
        self.ledger._sweep()
        if self.resume:
            held = self.ledger._resumed(None, statements, str(self.fingerprint), journalled=True)
        else:
            held = self.ledger.reserve(*statements, fingerprint=self.fingerprint)
        self.token = held.token
        return held

    def file_of(self, est: Any) -> bytes | None:
        """The file that is kept of a model. Private.

        None for a model that no file can hold: it is released all the same.
        """
        try:
            return None if self.keep is None else self.keep(est)
        except (ValueError, TypeError):
            return None
