"""Allotments: budget set aside for a number of fits, so that a search runs as a whole or not at all."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import Any

from dplr.ledger import outcomes, transactions
from dplr.ledger.account import Account
from dplr.ledger.budget import BudgetExceeded, Reservation, Stated
from dplr.ledger.pieces import Piece, matched
from dplr.ledger.reservation import FileReservation
from dplr.ledger.room import room_of
from dplr.ledger.terms import cost_of, statements_of
from dplr.privacy.rules import Cost
from dplr.privacy.statement import PrivacyStatement, delta_words


class Allotment:
    """Budget that a ledger set aside for a number of fits in one step, as `Ledger.set_aside` returns it.

    Fits that name it (`ledger=`) take their cost from it and from nowhere else. It is a handle, as a ledger is: copied,
    pickled, cloned by scikit-learn or taken into a fork, it stands for the same pieces in the same file. What was never
    begun comes back with `close`, or at the end of a ``with`` block; until then, and after a crash, it is spent.

    A fit may take a piece that covers its cost. A pure piece covers pure fits whose eps is no larger; a Gaussian piece
    covers Gaussian fits whose eps, delta and mu are no larger; any other piece covers fits that are not Gaussian and
    whose eps and delta are no larger. A fit that fails before noise was drawn gives its piece back to the ledger, not
    to the allotment.

    Parameters
    ----------
    ledger : dplr.Ledger
        The ledger that pays.
    token : str
        Name of what was set aside, as `Ledger.set_aside` made it.

    Privacy
    -------
    A piece is an entry of the ledger from the beginning, and a fit that takes it promises at least what it says: the
    ledger counts the same with it and without.

    See Also
    --------
    dplr.Ledger.set_aside : Make an allotment.

    Examples
    --------
    >>> import dplr, os, tempfile
    >>> ledger = dplr.Ledger(os.path.join(tempfile.mkdtemp(), "budget"), eps=3.0)
    >>> plan = dplr.plan(n_rows=1000, n_features=2, eps=0.5, mechanism="fm")
    >>> with ledger.set_aside(plan, fits=5) as held:
    ...     held.unused(), ledger.remaining()  # fits name ledger=held
    (5, (0.5, 1e-12))
    >>> ledger.remaining()
    (3.0, 1e-12)
    """

    __slots__ = ("_ledger", "_token")

    def __init__(self, ledger: Account, token: str) -> None:
        self._ledger, self._token = ledger, token

    def unused(self) -> int:
        """How many fits it still has room for.

        Returns
        -------
        int
            Pieces that no fit has begun.

        Raises
        ------
        ValueError
            The file is not the ledger that was opened.
        OSError
            The file cannot be read.

        Privacy
        -------
        Reads public facts alone.
        """
        with self._ledger._opened.reading() as (connection, _):
            return len(transactions.set_aside(connection, self._token))

    def reserve(self, *statements: PrivacyStatement | Stated) -> Reservation:
        """Take a piece for each statement, or none.

        Parameters
        ----------
        *statements : dplr.privacy.PrivacyStatement or dplr.results.Plan
            Statements of the releases to come.

        Returns
        -------
        dplr.ledger.Reservation
            The pieces that are held.

        Raises
        ------
        BudgetExceeded
            No piece is left, or none as large as a statement; nothing was taken.
        ValueError
            A statement promises nothing, was seeded, or speaks of another relation.
        OSError
            The file cannot be written.

        Privacy
        -------
        Reads public facts alone. What is taken was spent already.
        """
        with self._ledger._opened.writing(outcomes.TAKE) as (connection, terms):
            releases = statements_of(statements, some=False)
            costs = [cost_of(statement, terms) for statement in releases]
            pieces = transactions.set_aside(connection, self._token)
            matches = matched(pieces, costs)
            if matches is None:
                raise BudgetExceeded(_refusal(self._ledger._opened.path, pieces, costs))
            token = secrets.token_hex(16)
            draws = [max(piece.draws, cost.draws) for (_, piece), cost in zip(matches, costs, strict=True)]
            begun = zip([number for number, _ in matches], draws, releases, strict=True)
            transactions.begin(connection, token, begun)
            grown = sum(draws) > sum(piece.draws for _, piece in matches)
            if grown and not room_of(self._ledger._opened, connection, terms).takes({}):
                raise BudgetExceeded(_too_many(self._ledger._opened.path, sum(draws), matches))
        return FileReservation(self._ledger._opened, token, len(statements))

    def close(self) -> None:
        """Give back what no fit has begun.

        Fits that have begun go on.

        Raises
        ------
        ValueError
            The file is not the ledger that was opened.
        OSError
            The file cannot be written.

        Privacy
        -------
        What comes back was never spent on a release.
        """
        with self._ledger._opened.writing(outcomes.GIVE_BACK) as (connection, _):
            transactions.give_back(connection, self._token)

    def __enter__(self) -> Allotment:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # An allotment is a handle of entries in a file: a copy, also in another process, stands for the same entries.
    def __reduce__(self) -> tuple[Any, ...]:
        return Allotment, (self._ledger, self._token)

    def __copy__(self) -> Allotment:
        return self

    def __deepcopy__(self, _: Any) -> Allotment:
        return self

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Allotment) and self.__reduce__() == other.__reduce__()

    def __hash__(self) -> int:
        return hash(self.__reduce__()[1])

    def __repr__(self) -> str:
        return f"Allotment({self._ledger!r})"


def _in_words(cost: Cost) -> str:
    return f"(eps = {cost.eps:g}, delta {delta_words(cost.delta)}), {cost.guarantee}"


def _refusal(path: str, pieces: Sequence[Piece], costs: Sequence[Cost]) -> str:
    cost_words = ", ".join(sorted({_in_words(cost) for cost in costs}))
    piece_words = ", ".join(sorted({_in_words(piece) for _, piece in pieces}))
    has = f"{len(pieces)} pieces are left: {piece_words}" if pieces else "none is left, or it was closed"
    return (
        f"`ledger` must have set aside as much as the fit costs; got {len(costs)} of {cost_words}, and of what was set "
        f"aside in {path} {has}. No row was read, and nothing more was spent. Set aside more fits, or what the dearest "
        "of them costs."
    )


def _too_many(path: str, draws: int, matches: Sequence[Piece]) -> str:
    aside = sum(piece.draws for _, piece in matches)
    return (
        f"`ledger` must have room for the numbers with Gaussian noise of the fit; got {draws}, and {aside} were set "
        f"aside in {path}, which has no room for more. No row was read, and nothing more was spent. Set aside the cost "
        "of the plan with the most steps."
    )
