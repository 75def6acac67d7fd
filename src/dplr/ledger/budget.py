"""The budget's seam: reserve before the first row is read, commit before release, refund what was never spent."""

from __future__ import annotations

from typing import Protocol

from dplr._recorder import Recorder
from dplr.privacy.statement import PrivacyStatement


class BudgetExceeded(RuntimeError):
    """A release does not fit into what is left of a budget. Nothing was read and nothing was spent.

    Privacy
    -------
    The message speaks of public facts: statements and what is left.

    Examples
    --------
    >>> import dplr, tempfile, os
    >>> ledger = dplr.Ledger(os.path.join(tempfile.mkdtemp(), "budget"), eps=1.0)
    >>> try:
    ...     ledger.reserve(dplr.plan(n_rows=1000, n_features=2, eps=1.5).statement)
    ... except dplr.BudgetExceeded:
    ...     print(ledger.remaining())
    (1.0, 1e-12)
    """


class ReservationLost(RuntimeError):
    """A driver no longer holds what it reserved: it ended, was given back, or another driver resumed it."""


class Stated(Protocol):
    """A plan: anything that has the statement of a release to come."""

    @property
    def statement(self) -> PrivacyStatement:
        """What will be promised."""
        ...


class Reservation(Protocol):
    """Budget set aside for releases. `draw` comes before the first noise; exactly one of the other calls ends it.

    A crash leaves it spent.
    """

    @property
    def token(self) -> str:
        """The name of what was set aside."""
        ...

    @property
    def recorder(self) -> Recorder | None:
        """Where a fit that may be resumed writes down what it has done; None for one that may not."""
        ...

    def draw(self) -> None:
        """Note that noise is about to be drawn; raises where the budget is no longer held, and then none may be."""
        ...

    def commit(self, outbox: bytes | None = None) -> None:
        """Record the releases as spent for good, and in the same step a file of what was released, to be kept."""
        ...

    def refund(self) -> None:
        """Give the budget back: no noise was drawn and nothing was released."""
        ...


class Budget(Protocol):
    """Anything that can refuse releases before it reads data."""

    @property
    def strict(self) -> bool:
        """Whether nothing is given back and no fault of the data is shown."""
        ...

    def reserve(self, *statements: PrivacyStatement) -> Reservation:
        """Set the cost of all statements aside, or raise an error."""
        ...


class NullReservation:
    """Counts nothing."""

    token = ""
    recorder = None

    def draw(self) -> None:
        """Do nothing."""

    def commit(self, outbox: bytes | None = None) -> None:
        """Do nothing."""

    def refund(self) -> None:
        """Do nothing."""


class NullLedger:
    """A budget without a limit and without a memory: what a fit without a ledger uses."""

    strict = False

    def reserve(self, *statements: PrivacyStatement) -> NullReservation:
        """Accept every statement."""
        return NullReservation()
