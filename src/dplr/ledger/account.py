"""The account of a ledger: its terms, its entries, the budget spent and remaining, and the price of a release."""

from __future__ import annotations

from dplr._kit.validation import check_count
from dplr.ledger import transactions
from dplr.ledger.budget import Stated
from dplr.ledger.entries import Entry, Terms
from dplr.ledger.room import room_of
from dplr.ledger.terms import Price, checked_kind, cost_of, price_of, statements_of
from dplr.ledger.transactions import LedgerAccess
from dplr.privacy.statement import PrivacyStatement


class Account:
    """The part of a ledger that reads its file and writes nothing."""

    __slots__ = ("_opened",)
    _opened: LedgerAccess

    @property
    def path(self) -> str:
        """The file."""
        return self._opened.path

    @property
    def label(self) -> str | None:
        """The name of the data in new entries; None for no name."""
        return self._opened.label

    def _repr_html_(self) -> str:
        """Return the budget and the last releases for notebooks, as may be published."""
        from dplr.ledger.printing import as_html

        return as_html(self)

    def terms(self) -> Terms:
        """The terms of the ledger: eps, delta, composition, neighbouring, created, unit.

        Returns
        -------
        dplr.ledger.Terms
            The terms as a frozen value.

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
        with self._opened.reading() as (_, terms):
            return terms

    def entries(self) -> list[Entry]:
        """All entries in their order, the refunded ones too.

        Returns
        -------
        list of dplr.ledger.Entry
            Entries of this share, or of the whole ledger.

        Raises
        ------
        ValueError
            The file is not the ledger that was opened.
        OSError
            The file cannot be read.

        Privacy
        -------
        States and times depend on the data where fits failed: they are for the data holder.
        """
        with self._opened.reading() as (connection, _):
            entries = transactions.entries(connection)
        return [entry for entry in entries if self._opened.share in (None, entry.share)]

    def shares(self) -> dict[str, tuple[float, float]]:
        """The limits of every share, in the order in which they were made.

        Returns
        -------
        dict of str to tuple of (float, float)
            Name of each share, and its (eps, delta).

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
        with self._opened.reading() as (connection, _):
            return transactions.shares(connection)

    def spent(self) -> tuple[float, float]:
        """The loss of all entries that are not refunded, composed by the ledger's rule.

        Returns
        -------
        tuple of (float, float)
            The pair (eps, delta), rounded up.

        Raises
        ------
        ValueError
            The file is not the ledger that was opened.
        OSError
            The file cannot be read.

        Privacy
        -------
        Reads no row. What fits that failed have spent depends on their data, so it is for the data holder.
        """
        with self._opened.reading() as (connection, terms):
            room = room_of(self._opened, connection, terms)
        return room.spent()

    def remaining(self, kind: str = "approx", delta: float | None = None) -> tuple[float, float]:
        """The (eps, delta) that one further release could have: it fits, and a larger eps or delta does not.

        The remainder depends on the kind of the release, because kinds cost a budget differently.

        Parameters
        ----------
        kind : {"approx", "pure", "gaussian"}, default="approx"
            `"approx"`: a release that states (eps, delta) and nothing simpler, such as objective perturbation and
            Poisson batches. `"pure"`: one with delta = 0. `"gaussian"`: one whose Gaussian noise was calibrated to
            (eps, delta), such as noisy gradient descent in full batches; its `delta` must be given.
        delta : float or None, default=None
            The delta that the release will state; eps is 0 where less delta remains. None: all delta that remains.

        Returns
        -------
        tuple of (float, float)
            The pair (eps, delta). With composition `"basic"` all kinds have the same eps. With `"pld"` an approximate
            release without a delta given is a pure one, and the search stops at a 10^-7 part of eps, or at the
            accountant's grid, which is a 10^-4 part of the ledger's eps. What is left of the ten million numbers of
            `"gdp"` is not looked at beyond whether there are any.

        Raises
        ------
        ValueError, TypeError
            The kind is unknown, or its delta is missing, not allowed or out of its range.
        OSError
            The file cannot be read.

        Privacy
        -------
        Reads no row. What fits that failed have spent depends on their data, so it is for the data holder.

        Examples
        --------
        >>> import dplr, tempfile, os
        >>> path = os.path.join(tempfile.mkdtemp(), "budget")
        >>> ledger = dplr.Ledger(path, eps=1.0, delta=1e-5, composition="zcdp")
        >>> ledger.remaining(), ledger.remaining("pure")
        ((1.0, 5e-06), (1.0, 0.0))
        >>> ledger.remaining("gaussian", delta=1e-6)[0] > 1
        True
        """
        delta = checked_kind(kind, delta)
        with self._opened.reading() as (connection, terms):
            room = room_of(self._opened, connection, terms)
        return room.remaining(kind, delta)

    def price(self, *statements: PrivacyStatement | Stated, fits: int = 1) -> Price:
        """The cost of statements, and whether they fit now; reads no data and spends nothing.

        Parameters
        ----------
        *statements : dplr.privacy.PrivacyStatement or dplr.results.Plan
            Statements of the releases, or plans that have one.
        fits : int, default=1
            How many releases of each of them.

        Returns
        -------
        dplr.ledger.Price
            The cost, and what would remain.

        Raises
        ------
        ValueError, TypeError
            A statement promises nothing, was seeded, or speaks of another relation; `fits` is not a positive integer.
        OSError
            The file cannot be read.

        Privacy
        -------
        Reads no row. What fits that failed have spent depends on their data, so it is for the data holder.

        Examples
        --------
        >>> import dplr, tempfile, os
        >>> ledger = dplr.Ledger(os.path.join(tempfile.mkdtemp(), "budget"), eps=1.0)
        >>> ledger.price(dplr.plan(n_rows=1000, n_features=2, eps=0.1, mechanism="fm"), fits=11).fits
        False
        """
        releases, times = statements_of(statements, some=True), check_count("fits", fits)
        with self._opened.reading() as (connection, terms):
            room = room_of(self._opened, connection, terms)
        return price_of(room, terms, [cost_of(statement, terms) for statement in releases], times)
