"""What a process under test does, the journal it keeps, and the checker that compares journal and ledger.

The checker reads the file with SQLite and rationals: it shares no code with the ledger.
"""

import collections
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
    said = [statement(one) for one in eps]
    try:
        held = ledger.labelled(name).reserve(*said)
    except BudgetExceeded:
        journal.say("refused", name=name)
        return
    journal.say("reserved", name=name)
    if end in ("refund", "give back"):
        journal.say("refunding", name=name)
        if end == "refund":
            held.refund()
        else:
            ledger.give_back(held.token)
        journal.say("refunded", name=name)
        return
    journal.say("drawing", name=name)
    held.draw()
    journal.say("drew", name=name)
    if end != "crash":
        journal.say("committing", name=name)
        held.commit(outbox=name.encode())
        journal.say("committed", name=name)


def search(ledger, journal, name, eps, fits, begun):
    """Set aside so many fits, begin some of them and commit all of those except the last, and give the rest back."""
    journal.say("asked", name=name, eps=[eps] * fits)
    try:
        held = ledger.labelled(name).set_aside(statement(eps), fits=fits)
    except BudgetExceeded:
        journal.say("refused", name=name)
        return
    journal.say("reserved", name=name)
    for number in range(begun):
        journal.say("beginning", name=name, number=number)
        one = held.reserve(statement(eps))
        journal.say("begun", name=name, number=number)
        if number < begun - 1:
            journal.say("committing", name=name, number=number)
            one.commit()
            journal.say("committed", name=name, number=number)
    journal.say("closing", name=name)
    held.close()
    journal.say("closed", name=name)


def whole_story(path, journal, seed=0):
    """Make a ledger, or open it, and do everything that can be done with one, in an order of the seed's choice."""
    reader = None
    journal.say("creating")
    ledger = Ledger(path, eps=BUDGET)
    journal.say("created")
    if seed % 2:  # somebody else looks on: the log is not taken into the file at the end of each operation
        reader = sqlite3.connect(path)
        with contextlib.suppress(sqlite3.OperationalError):  # the fault may be its own
            reader.execute("SELECT count(*) FROM entry").fetchone()
    steps = [([0.3], "commit"), ([0.3], "refund"), ([0.2, 0.2], "commit"), ([0.5], "commit"), ([0.05], "crash")]
    steps += [([0.05], "give back"), ([0.02, 0.02], "commit"), (0.05, "search")]
    random.Random(seed).shuffle(steps)
    for number, (eps, end) in enumerate(steps):
        if end == "search":
            search(ledger, journal, f"search-{os.getpid()}", eps, fits=4, begun=2)
        else:
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
        ((terms,),) = connection.execute("SELECT eps FROM terms").fetchall()
        found = connection.execute("SELECT label, state, eps, number FROM entry ORDER BY number").fetchall()
        kept = connection.execute("SELECT DISTINCT label, body FROM entry JOIN release USING (reservation)").fetchall()
    _require(terms == budget, "the budget changed")
    spent = sum((Fraction(repr(eps)) for _, state, eps, _ in found if state != "refunded"), Fraction(0))
    _require(spent <= Fraction(repr(budget)), f"overspent: {float(spent)}")
    _compare(found, events)
    _compare_kept(kept, found)
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


def _compare(found, events):
    states = {}
    for label, state, eps, _ in found:
        states.setdefault(label, []).append((state, eps))
    journal, searches = {}, {}
    for event in events:
        if event.get("name", "").startswith("search-"):
            searches.setdefault(event["name"], []).append(event)
        elif "name" in event:
            journal.setdefault(event["name"], {})[event["event"]] = event
    for label in searches | {label: None for label in states if (label or "").startswith("search-")}:
        _compare_search(label, states.pop(label, []), searches.get(label, []))
    for label, entries in states.items():
        said = journal.get(label, {})
        _require("asked" in said and "refused" not in said, f"{label} was not asked for, or refused")
        _require([eps for _, eps in entries] == said["asked"]["eps"], f"{label}: other releases than asked for")
        kinds = {state for state, _ in entries}
        _require(len(kinds) == 1, f"{label}: half of a reservation ended")
        (kind,) = kinds
        _require(kind != "refunded" or "refunding" in said, f"{label}: given back without being asked")
        _require(kind != "committed" or "committing" in said, f"{label}: committed without being asked")
        _require(kind != "drawing" or "drawing" in said, f"{label}: drawing without being asked")
        _require("drew" not in said or kind in ("drawing", "committed"), f"{label}: what drew noise is {kind}")
        _require("committed" not in said or kind == "committed", f"{label}: a committed entry is {kind}")
        _require("refunded" not in said or kind == "refunded", f"{label}: a refunded entry is {kind}")
    for label, said in journal.items():
        _require("reserved" not in said or label in states, f"{label}: a reservation was lost")


def _compare_kept(kept, found):
    """A release is kept of every reservation that was committed, and of no other."""
    committed = {label for label, state, _, _ in found if state == "committed" and "search" not in (label or "search")}
    _require(dict(kept) == {label: label.encode() for label in committed}, "a release was lost")


def _compare_search(label, entries, events):
    """What was set aside: all or none of it; begun and committed as often as was said; given back if it was asked."""
    said = collections.Counter(event["event"] for event in events)
    found = collections.Counter(state for state, _ in entries)
    if not entries:
        _require(not said["reserved"], f"{label}: what was set aside was lost")
        return
    (asked,) = [event["eps"] for event in events if event["event"] == "asked"]
    _require(not said["refused"] and [eps for _, eps in entries] == asked, f"{label}: other releases than asked for")
    begun = found["reserved"] + found["committed"]
    _require(said["begun"] <= begun <= said["beginning"], f"{label}: {begun} were begun, not {said['begun']}")
    count = found["committed"]
    _require(said["committed"] <= count <= said["committing"], f"{label}: {count} were committed")
    _require(said["closing"] or not found["refunded"], f"{label}: given back without being asked")
    _require(not (found["refunded"] and found["set aside"]), f"{label}: half of it was given back")
    _require(not said["closed"] or not found["set aside"], f"{label}: not given back")


def _require(truth, complaint):
    if not truth:
        raise Broken(complaint)
