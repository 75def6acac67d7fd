"""What a process under test does, the journal it keeps, and the checker that compares journal and ledger.

The checker reads the file with SQLite and rationals: it shares no code with the ledger.
"""

import contextlib
import json
import os
import random
import sqlite3
from fractions import Fraction

import dplr
from dplr.ledger.budget import BudgetExceeded
from dplr.ledger.handle import Ledger
from dplr.privacy.guarantees import Neighbouring, Pure
from dplr.privacy.statement import PrivacyStatement

BUDGET = 1.0


def statement(eps):
    return PrivacyStatement(
        "fm", eps, 0.0, Pure(eps), Neighbouring.REPLACE_ONE, {}, "", (), "integer", False, "", version="0"
    )


class Journal:
    """Lines that outlive the process: each is one write to a file that was opened for appending."""

    def __init__(self, path):
        self.path = path
        self._file = os.open(path, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o666)

    def say(self, event, **facts):
        os.write(self._file, (json.dumps({"event": event, **facts}) + "\n").encode())

    @staticmethod
    def read(path):
        if not os.path.exists(path):
            return []
        with open(path) as lines:
            return [json.loads(line) for line in lines if line.endswith("\n")]


def spend(ledger, journal, name, eps, end):
    """One reservation and its end, told to the journal before and after."""
    journal.say("asked", name=name, eps=eps)
    try:
        held = ledger.labelled(name).reserve(*[statement(one) for one in eps])
    except BudgetExceeded:
        journal.say("refused", name=name)
        return
    journal.say("reserved", name=name)
    if end == "commit":
        journal.say("committing", name=name)
        held.commit()
        journal.say("committed", name=name)
    elif end == "refund":
        journal.say("refunding", name=name)
        held.refund()
        journal.say("refunded", name=name)


def whole_story(path, journal, seed=0, strict=False):
    """Make a ledger, or open it, and do everything that can be done with one, in an order of the seed's choice."""
    reader = None
    journal.say("creating")
    ledger = Ledger(path, eps=BUDGET, strict=strict)
    journal.say("created")
    if seed % 2:  # somebody else looks on: the log is not taken into the file at the end of each operation
        reader = sqlite3.connect(path)
        with contextlib.suppress(sqlite3.OperationalError):  # the fault may be its own
            reader.execute("SELECT count(*) FROM entry").fetchone()
    steps = [([0.3], "commit"), ([0.3], "refund"), ([0.2, 0.2], "commit"), ([0.5], "commit"), ([0.1], "crash")]
    random.Random(seed).shuffle(steps)
    for number, (eps, end) in enumerate(steps):
        spend(ledger, journal, f"{os.getpid()}-{number}", eps, end)
    ledger.remaining()
    del reader


class Broken(AssertionError):
    """The ledger and the journal disagree."""


def check(path, events, budget=BUDGET, usable=True):
    """No overspend, no committed entry lost, nothing refunded unasked; and the file can still be used."""
    if not os.path.exists(path):
        _require(not any(event["event"] == "created" for event in events), "a ledger that was made is gone")
        return 0
    if usable:
        remaining, _ = dplr.Ledger(path).remaining()
    with contextlib.closing(sqlite3.connect(path)) as connection:
        _require(connection.execute("PRAGMA integrity_check").fetchone() == ("ok",), "the file is damaged")
        ((terms, strict, created),) = connection.execute("SELECT eps, strict, created FROM terms").fetchall()
        times = connection.execute("SELECT reserved_at, ended_at FROM entry").fetchall()
        found = connection.execute("SELECT label, state, eps, number FROM entry ORDER BY number").fetchall()
    _require(terms == budget, "the budget changed")
    spent = sum((Fraction(repr(eps)) for _, state, eps, _ in found if state != "refunded"), Fraction(0))
    _require(spent <= Fraction(repr(budget)), f"overspent: {float(spent)}")
    if strict:
        days = [begun for begun, ended in times if ended is None and len(begun) == len("2026-11-20")]
        _require(len(created) == 10 and len(days) == len(times), "a strict ledger holds more than days")
    _compare(found, events, strict)
    if usable:
        left = Fraction(repr(budget)) - spent
        _require(Fraction(repr(remaining)) == left, f"remaining says {remaining}, and {float(left)} is left")
        ledger = dplr.Ledger(path)
        if remaining:
            ledger.reserve(statement(remaining)).commit()
        try:
            ledger.reserve(statement(1e-9))
        except BudgetExceeded:
            return len(found)
        raise Broken("a full ledger took another release")
    return len(found)


def _compare(found, events, strict):
    states = {}
    for label, state, eps, _ in found:
        states.setdefault(label, []).append((state, eps))
    journal = {}
    for event in events:
        if "name" in event:
            journal.setdefault(event["name"], {})[event["event"]] = event
    for label, entries in states.items():
        said = journal.get(label, {})
        _require("asked" in said and "refused" not in said, f"{label} was not asked for, or refused")
        _require([eps for _, eps in entries] == said["asked"]["eps"], f"{label}: other releases than asked for")
        kinds = {state for state, _ in entries}
        _require(len(kinds) == 1, f"{label}: half of a reservation ended")
        (kind,) = kinds
        if strict:
            _require(kind == "committed", f"{label}: an entry of a strict ledger is {kind}")
            continue
        _require(kind != "refunded" or "refunding" in said, f"{label}: given back without being asked")
        _require(kind != "committed" or "committing" in said, f"{label}: committed without being asked")
        _require("committed" not in said or kind == "committed", f"{label}: a committed entry is {kind}")
        _require("refunded" not in said or kind == "refunded", f"{label}: a refunded entry is {kind}")
    for label, said in journal.items():
        _require("reserved" not in said or label in states, f"{label}: a reservation was lost")


def _require(truth, complaint):
    if not truth:
        raise Broken(complaint)
