"""The interface of a budget: reserve before the first row is read, commit before release, refund before any noise."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from dplr.privacy.statement import PrivacyStatement


class BudgetExceeded(RuntimeError):
    """A release does not fit into what is left of a budget. Nothing was read and nothing was spent.

    Privacy
    -------
    The message speaks of statements and of what is left. That depends on the data where fits failed before: it is
    for the data holder.

    See Also
    --------
    dplr.Ledger.remaining : The (eps, delta) that one further release could have.

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
    """A driver no longer holds what it reserved: it ended, or was given back.

    Privacy
    -------
    The message speaks of public facts. No noise is drawn and nothing is released by the driver that lost its
    reservation.

    Examples
    --------
    >>> import dplr, tempfile, os
    >>> from dplr.ledger import ReservationLost
    >>> ledger = dplr.Ledger(os.path.join(tempfile.mkdtemp(), "budget"), eps=1.0)
    >>> held = ledger.reserve(dplr.plan(n_rows=1000, n_features=2, eps=0.4, mechanism="fm"))
    >>> ledger.give_back(1)  # while the fit still runs
    [1]
    >>> try:
    ...     held.draw()
    ... except ReservationLost:
    ...     print("no noise is drawn")
    no noise is drawn
    """


class Stated(Protocol):
    """A plan: anything that has the statement of a release to come."""

    @property
    def statement(self) -> PrivacyStatement:
        """The promise of the release."""
        ...


class Reservation(Protocol):
    """Budget set aside for releases: what `Ledger.reserve` returns.

    `draw` comes before the first noise; exactly one of the other calls ends it. A crash leaves it spent.

    Privacy
    -------
    What is set aside counts as spent until it is refunded, which is possible only before the first noise.

    See Also
    --------
    dplr.Ledger.reserve : Make a reservation.

    Examples
    --------
    >>> import dplr, tempfile, os
    >>> ledger = dplr.Ledger(os.path.join(tempfile.mkdtemp(), "budget"), eps=1.0)
    >>> held = ledger.reserve(dplr.plan(n_rows=1000, n_features=2, eps=0.4, mechanism="fm"))
    >>> held.refund()
    >>> ledger.remaining()
    (1.0, 1e-12)
    """

    @property
    def token(self) -> str:
        """The name of what was set aside."""
        ...

    def draw(self) -> None:
        """Note that noise is about to be drawn.

        Raises
        ------
        ReservationLost
            The budget is no longer held; then no noise may be drawn.

        Privacy
        -------
        From now on nothing gives the budget back.
        """
        ...

    def commit(self, outbox: bytes | None = None) -> None:
        """Record the releases as spent for good.

        Parameters
        ----------
        outbox : bytes or None, default=None
            A file of what was released, to be kept in the same step; None for none.

        Raises
        ------
        ReservationLost
            The budget is no longer held; then nothing may be released.
        RuntimeError
            It has ended already.
        ValueError
            The file is larger than 64 MiB.

        Privacy
        -------
        The file that is kept is the release itself, which is paid for.
        """
        ...

    def refund(self) -> None:
        """Give the budget back: no noise was drawn and nothing was released.

        Raises
        ------
        ReservationLost
            The budget is no longer held, or noise may have been drawn.

        Privacy
        -------
        Whether a fit was refunded may depend on its data: for the data holder alone.
        """
        ...


class Budget(Protocol):
    """Anything that can refuse releases before it reads data."""

    def reserve(self, *statements: PrivacyStatement) -> Reservation:
        """Set the cost of all statements aside, or raise an error."""
        ...


class NullReservation:
    """The reservation of a fit without a ledger: it counts nothing."""

    token = ""

    def draw(self) -> None:
        """Do nothing."""

    def commit(self, outbox: bytes | None = None) -> None:
        """Do nothing."""

    def refund(self) -> None:
        """Do nothing."""


class NullLedger:
    """The budget of a fit without a ledger: it has no limit and counts nothing.

    `encode` returns the file of a fitted model as bytes, as that of a `Keeping` does.
    """

    def __init__(self, encode: Callable[[Any], bytes] | None = None) -> None:
        self.encode = encode

    def reserve(self, *statements: PrivacyStatement) -> NullReservation:
        """Accept every statement."""
        return NullReservation()
