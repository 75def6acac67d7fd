"""An opened ledger: the facts that its handles share, and its transactions."""

from __future__ import annotations

import sqlite3
from contextlib import AbstractContextManager
from dataclasses import dataclass

from dplr.ledger import transactions
from dplr.ledger.entries import Terms
from dplr.ledger.room import Limit, Room
from dplr.ledger.terms import rule_of
from dplr.privacy.guarantees import Neighbouring
from dplr.privacy.rules import rule_for


@dataclass(frozen=True, slots=True)
class Opened:
    """A ledger file that was opened, or one share of it.

    Attributes
    ----------
    path : the file.
    id : the identity of the ledger; another ledger under the same path is refused.
    strict : whether nothing is given back and no fault of the data is shown.
    label : the name of the data in new entries; None for no name.
    share : the name of the share; None for the whole ledger.
    """

    path: str
    id: str
    strict: bool
    label: str | None
    share: str | None = None

    def reading(self) -> AbstractContextManager[tuple[sqlite3.Connection, Terms]]:
        """A consistent view of the file, and its terms."""
        return transactions.reading(self.path, self.id)

    def writing(self) -> AbstractContextManager[tuple[sqlite3.Connection, Terms]]:
        """A transaction of the only writer, and the terms."""
        return transactions.writing(self.path, self.id)

    def room(self, connection: sqlite3.Connection, terms: Terms) -> Room:
        """The room of the share, if this is one, and of the whole ledger."""
        ledger_limit = Limit(rule_of(terms), transactions.costs(connection), None)
        if self.share is None:
            return Room((ledger_limit,))
        limits = transactions.shares(connection)[self.share]
        rule = rule_for(terms.composition, *limits, Neighbouring(terms.neighbouring))
        return Room((Limit(rule, transactions.costs(connection, self.share), self.share), ledger_limit))
