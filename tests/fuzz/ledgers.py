"""Files of a ledger whose bytes changed: its database, and the models that it keeps."""

import os
import pathlib
import shutil
import sqlite3
import warnings

import numpy as np
from tests.fuzz.laws import ACCEPTED, REFUSED, attempt, require

import dplr
from dplr.ledger.handle import Ledger
from dplr.model_file import encode_model
from mutations import HOSTILE, of_bytes


def made(folder):
    """A ledger with a committed fit whose model it keeps, a reserved one, and one that was given back."""
    path = os.path.join(folder, "whole.ledger")
    ledger = Ledger(path, eps=3.0, delta=1e-5)
    X = np.random.default_rng(0).uniform(-0.5, 0.5, (50, 2))
    with warnings.catch_warnings(action="ignore"):
        bounds = dplr.Bounds([(-0.5, 0.5)] * 2)
        paid = ledger.labelled("first").keeping(encode_model)
        dplr.fit(X, X[:, 0] > 0, eps=0.4, mechanism="fm", bounds=bounds, ledger=paid)
        plan = dplr.plan(n_rows=50, n_features=2, eps=0.3, mechanism="fm")
        ledger.reserve(plan)
        ledger.reserve(plan).refund()
    return path


class Databases:
    KNOWN = ()

    def __init__(self, folder):
        self.whole, self.path = made(folder), os.path.join(folder, "changed.ledger")
        self.data = pathlib.Path(self.whole).read_bytes()
        with warnings.catch_warnings(action="ignore"):
            self.plan = dplr.plan(n_rows=50, n_features=2, eps=0.1, mechanism="fm")
        with sqlite3.connect(self.whole) as connection:
            tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
            self.columns = [
                (table, row[1]) for table in tables for row in connection.execute(f"PRAGMA table_info({table})")
            ]
        connection.close()

    def attack(self, rng):
        pathlib.Path(self.path + "-journal").unlink(missing_ok=True)
        data = self.data
        if rng.random() < 0.6:
            for _ in range(rng.choice([1, 1, 3, 20])):
                data = of_bytes(data, rng)[1] or b"x"
            pathlib.Path(self.path).write_bytes(data)
        else:
            shutil.copyfile(self.whole, self.path)
            self.change_a_value(rng)
        outcome, ledger = attempt(lambda: Ledger(self.path))
        if outcome == REFUSED:
            return outcome
        acts = [
            ledger.spent,
            ledger.remaining,
            lambda: list(ledger.entries()),
            lambda: ledger.recover(1),
            lambda: ledger.reserve(self.plan),
        ]
        outcomes = {attempt(act)[0] for act in acts}
        return REFUSED if REFUSED in outcomes else ACCEPTED

    def change_a_value(self, rng):
        """One value of one row becomes another one, behind the ledger's back; triggers may refuse it."""
        table, column = rng.choice(self.columns)
        value = rng.choice(
            [each for each in HOSTILE if each is None or isinstance(each, (float, str, bytes))] + [-1, 0, 2**62]
        )
        connection = sqlite3.connect(self.path)
        try:
            for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
                connection.execute(f'DROP TRIGGER "{name}"')
            connection.execute("PRAGMA ignore_check_constraints = 1")
            connection.execute(f'UPDATE "{table}" SET "{column}" = ?', (value,))
            connection.commit()
        except (sqlite3.Error, UnicodeEncodeError, OverflowError):
            connection.rollback()
        finally:
            connection.close()


class Outboxes:
    """A model that the ledger keeps, changed in the database: never handed over as the model that was paid for."""

    KNOWN = ()

    def __init__(self, folder):
        self.whole, self.path = made(folder), os.path.join(folder, "changed.ledger")
        self.body, self.model = Ledger(self.whole).recover(1), pathlib.Path(folder, "model.json")

    def attack(self, rng):
        pathlib.Path(self.path + "-journal").unlink(missing_ok=True)
        shutil.copyfile(self.whole, self.path)
        body = of_bytes(self.body, rng)[1]
        connection = sqlite3.connect(self.path)
        with connection:
            for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
                connection.execute(f'DROP TRIGGER "{name}"')
            connection.execute("UPDATE release SET body = ?", (body,))
        connection.close()

        def recovered():
            self.model.write_bytes(Ledger(self.path).recover(1))
            return dplr.load_model(self.model)

        outcome, est = attempt(recovered)
        if outcome == ACCEPTED:
            self.model.write_bytes(self.body)
            other = dplr.load_model(self.model)
            require(est.coef_.tobytes() == other.coef_.tobytes(), "another model than the one that was paid for")
            require(str(est.privacy_) == str(other.privacy_), "another statement than the one that was paid for")
        return outcome
