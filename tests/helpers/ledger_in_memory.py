"""A ledger in memory, on the transactions of those in files."""

import contextlib
import sqlite3

import dplr
from dplr.ledger import file as ledger_file
from dplr.ledger.entries import Terms

STATEMENT = dplr.plan(n_rows=100, n_features=2, eps=0.25, mechanism="fm").statement
TERMS = Terms("id", 1.0, 0.0, "basic", "replace_one", "2026-11-23")


class Shared:
    """A ledger in memory, which all drivers use."""

    def __init__(self):
        self.connection = sqlite3.connect(":memory:", isolation_level=None)
        ledger_file._write_schema(self.connection, TERMS)

    @contextlib.contextmanager
    def transaction(self, *_):
        self.connection.execute("BEGIN IMMEDIATE")
        try:
            yield self.connection, TERMS
        except BaseException:
            self.connection.execute("ROLLBACK")
            raise
        self.connection.execute("COMMIT")
