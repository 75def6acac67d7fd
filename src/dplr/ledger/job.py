"""A budget for one fit that outlives its process: what `Ledger.job` returns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dplr.ledger.budget import Reservation
from dplr.ledger.recovery import Recovery
from dplr.ledger.reservation import begin
from dplr.ledger.resuming import resumed, sweep
from dplr.privacy.statement import PrivacyStatement


class Job:
    """A budget for one fit that outlives its process: what `Ledger.job` returns, to be named as `ledger=`.

    A copy is the same job. A pickled job becomes the ledger that pays, so the fingerprint's code stays in this process.

    Parameters
    ----------
    ledger : dplr.Ledger
        The ledger that pays.
    code : str or None
        Code of the fingerprint of the data, as `Ledger.job` makes it; None for a fit that is not resumed.
    resume : bool
        Whether an earlier reservation is held again, and no new one is made.
    keep : callable or None, default=None
        Takes a fitted model and returns its file as bytes, which the ledger keeps from the commit on; None for none.

    Attributes
    ----------
    ledger : dplr.Ledger
        The ledger that pays.
    resume : bool
        Whether an earlier reservation is held again.
    keep : callable or None
        Returns the file of a fitted model as bytes.
    token : str or None
        Name of the reservation, once there is one.

    Privacy
    -------
    It pays as its ledger does. Neither it nor an estimator that names it shows or holds the fingerprint of the data:
    the ledger keeps a code of it, under a random key that never leaves its file (resuming.md, section 4). With a
    fingerprint a fit may write a journal beside the ledger while it runs: a secret file (section 5 there).

    See Also
    --------
    dplr.Ledger.job : Make a job.

    Examples
    --------
    >>> import dplr, tempfile, os
    >>> ledger = dplr.Ledger(os.path.join(tempfile.mkdtemp(), "budget"), eps=1.0)
    >>> job = ledger.job("people.csv, 9134 bytes")
    >>> job.resumable, job.resume
    (True, False)
    """

    __slots__ = ("_code", "keep", "ledger", "resume", "token")

    def __init__(
        self, ledger: Recovery, code: str | None, resume: bool, keep: Callable[[Any], bytes] | None = None
    ) -> None:
        self.ledger: Recovery = ledger
        self.resume: bool = resume
        self.keep: Callable[[Any], bytes] | None = keep
        self._code = code
        self.token: str | None = None

    @property
    def resumable(self) -> bool:
        """Whether it has a fingerprint, by which another process finds its reservation."""
        return self._code is not None

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
            The file cannot be written.

        Privacy
        -------
        Reads no row. Reads the journal of the fit that is resumed. Whether there is room depends on the same facts as
        in `Ledger.reserve`.
        """
        opened = self.ledger._opened
        sweep(opened)
        if self.resume:
            reservation = resumed(opened, None, statements, str(self._code), journalled=True)
        else:
            reservation = begin(opened, statements, self._code)
        self.token = reservation.token
        return reservation

    def file_of(self, est: Any) -> bytes | None:
        """The file that is kept of a model. Private.

        None for a model that no file can hold: it is released all the same.
        """
        try:
            return None if self.keep is None else self.keep(est)
        except (ValueError, TypeError):
            return None

    # The code of the fingerprint stays in this process and in the ledger.
    def __reduce__(self) -> str | tuple[Any, ...]:
        return self.ledger.__reduce__()

    def __copy__(self) -> Job:
        return self

    def __deepcopy__(self, _: Any) -> Job:
        return self

    def __repr__(self) -> str:
        return f"Job({self.ledger!r}, resume={self.resume})"
