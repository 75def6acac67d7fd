"""The budget's seam: reserve before the first row is read, commit before release, release what was never spent."""

from __future__ import annotations

from typing import Protocol

from dplr.privacy import PrivacyStatement


class Reservation(Protocol):
    """Budget set aside for one release. Exactly one of the two calls ends it; a crash leaves it spent."""

    def commit(self) -> None:
        """Record the release as spent for good."""
        ...

    def release(self) -> None:
        """Give the budget back: no noise was drawn and nothing was released."""
        ...


class Budget(Protocol):
    """Anything that can refuse a release before it reads data."""

    def reserve(self, statement: PrivacyStatement) -> Reservation:
        """Set the statement's cost aside, or raise."""
        ...


class NullReservation:
    """Counts nothing."""

    def commit(self) -> None:
        """Do nothing."""

    def release(self) -> None:
        """Do nothing."""


class NullLedger:
    """A budget without a limit and without a memory: what a fit without a ledger uses."""

    def reserve(self, statement: PrivacyStatement) -> NullReservation:
        """Accept every statement."""
        return NullReservation()
