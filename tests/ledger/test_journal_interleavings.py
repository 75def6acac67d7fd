"""Every order of the steps of drivers who record their noise, of their deaths, and of who gives back or sweeps.

The ledger's own transactions and recordings run; the journal's file is held in memory. See resuming.md, theorem 1.
"""

import collections
import contextlib

import pytest

from dplr.ledger import handle, job, recording, recovery, reservation, resuming, transactions
from dplr.ledger.budget import ReservationLost
from dplr.ledger.transactions import LedgerAccess
from ledger_in_memory import STATEMENT, Shared

pytestmark = pytest.mark.filterwarnings("ignore:The journal of the fit")


class Disk:
    """Files by name: records, and who has the lock."""

    def __init__(self):
        self.files, self.running, self.is_full = {}, None, False

    def create(self, ledger, token, fingerprint):
        if token in self.files:
            raise FileExistsError(17, "File exists")
        self.files[token] = {"records": {}, "lock": None}
        return Held(self, token)

    def reopen(self, ledger, token, fingerprint):
        if token not in self.files:
            raise FileNotFoundError(2, "No such file")
        return Held(self, token)

    def unlink(self, _, token):
        self.files.pop(token, None)

    def release(self, who):
        for file in self.files.values():
            if file["lock"] == who:
                file["lock"] = None


class Held:
    """A journal that one process has open."""

    def __init__(self, disk, token):
        self.disk, self.token, self.file = disk, token, disk.files[token]
        if self.file["lock"] is not None:
            raise ValueError("`journal` must not be held by another process")
        self.file["lock"] = disk.running

    def get(self, key):
        return self.file["records"].get(key)

    def keys(self):
        return list(self.file["records"])

    def record(self, key, payload):
        if self.disk.is_full:
            raise OSError(28, "No space left on device")
        assert key not in self.file["records"]
        self.file["records"][key] = payload

    def remove(self):
        self.disk.files.pop(self.token, None)
        self.close()

    def close(self):
        self.file["lock"] = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class World:
    """Drivers, what they drew and delivered, a ledger and a disk."""

    def __init__(self, patch, sums, unrecorded):
        shared, self.disk, self.unrecorded = Shared(), Disk(), unrecorded
        self.sums = sums
        for name in ("reading", "writing"):
            patch.setattr(transactions, name, shared.transaction)
        patch.setattr(recording, "Journal", self.disk)
        patch.setattr(resuming, "has_journal", lambda _, token: token in self.disk.files)
        patch.setattr(resuming, "prefixes_of", lambda _: list(self.disk.files))
        for room in (recovery, reservation, resuming):
            patch.setattr(room, "remove_journal", self.disk.unlink)
        self.ledger, self.sweep = handle._handle(LedgerAccess("budget", "id", None)), resuming.sweep
        patch.setattr(job, "sweep", lambda _: None)  # a step of its own here
        self.drivers, self.held, self.steps, self.dead = {}, {}, collections.Counter(), set()
        self.drew, self.delivered, self.was, self.gave_back = {}, {}, None, False

    def drive(self, who):
        """All steps of one driver, as `Source.once` and `accounted` take them: one per turn."""
        held = self.held[who] = self.ledger.job("f", resume=who != "A").reserve(STATEMENT)
        yield
        used, told, recorder = [], False, held.recorder
        for number in self.sums:
            if (found := recorder.get(f"sum {number}")) is not None:
                used.append(found)
                continue
            if not recorder.begun:
                recorder.begin()
                yield
            if not told:
                held.draw()
                told = True
                yield
            recorder.record(f"draw {number}", b"")
            yield
            used.append(self.noise(who, number))
            yield
            recorder.record(f"sum {number}", used[-1])
            yield
        if self.unrecorded:
            if not told:
                held.draw()
                yield
            recorder.end()
            yield
            used.append(self.noise(who, "rest"))
            yield
        held.commit(outbox=b" ".join(used))
        yield
        self.delivered[who] = used
        yield

    def noise(self, who, number):
        with self.ledger._opened.reading() as (connection, _):
            ((state, holder),) = connection.execute("SELECT state, holder FROM entry")
        assert (state, holder) == ("drawing", self.held[who]._holder), "noise of a driver that is not the holder"
        assert number not in self.drew, f"noise {number} was drawn by {self.drew[number]}, and by {who}"
        assert not self.gave_back, "noise after the budget came back"
        self.drew[number] = who
        return f"{number} of {who}".encode()

    def step(self, who, what):
        self.disk.running = who
        if what == "dies":
            self.end(who)
        elif what == "fills":
            self.disk.is_full = True
        elif what == "sweeps":
            self.sweep(self.ledger._opened)
        elif what == "gives back":
            with contextlib.suppress(ValueError):
                self.ledger.give_back(1)
                self.gave_back = True
                assert not self.drew, "given back after noise"
        else:
            self.drivers.setdefault(who, self.drive(who))
            self.steps[who] += 1
            try:
                next(self.drivers[who])
            except (ReservationLost, ValueError, OSError):
                self.end(who)
            except StopIteration:
                self.dead.add(who)
        self.check()

    def end(self, who):
        self.dead.add(who)
        self.disk.release(who)

    def check(self):
        states = [entry.state for entry in self.ledger.entries()]
        assert len(states) <= 1
        state = states[0] if states else None
        assert len(self.delivered) <= 1
        for used in self.delivered.values():
            assert state == "committed"
            assert used == [
                f"{number} of {who}".encode()
                for number, who in sorted(self.drew.items(), key=lambda drawn: str(drawn[0]))
            ]
        assert self.was not in ("refunded", "committed") or state == self.was
        assert not (self.drew and state in ("refunded", "reserved"))
        assert self.ledger.spent()[0] == (0.25 if state not in (None, "refunded") else 0.0)
        self.was = state

    def key(self):
        """What all that follows hangs on."""
        names = {held._holder: who for who, held in self.held.items()}
        with self.ledger._opened.reading() as (connection, _):
            rows = connection.execute("SELECT state, holder FROM entry").fetchall()
        files = [
            (tuple(" ".join(names.get(word, word) for word in key.split()) for key in file["records"]), file["lock"])
            for file in self.disk.files.values()
        ]
        rows = [(state, names.get(holder, holder)) for state, holder in rows]
        return str((rows, files, sorted(self.steps.items()), sorted(self.dead), sorted(self.drew.items(), key=str)))


def explore(monkeypatch, drivers, mortals, others, sums, unrecorded):
    """Walk through all states that any order of steps leads to; yields the world of each once."""
    seen, left = set(), [[]]
    events = [(who, "dies") for who in mortals] + [("H", each) for each in others]
    while left:
        path = left.pop()
        with monkeypatch.context() as patch:
            world = World(patch, sums, unrecorded)
            for who, what in path:
                world.step(who, what)
            key = world.key() + str(sorted(each for each in path if each in events))
            if key in seen:
                continue
            seen.add(key)
            yield world
            left += [[*path, (who, "goes on")] for who in drivers if who not in world.dead]
            left += [[*path, each] for each in events if each not in path and each[0] not in world.dead]


A_ALONE = {("A", "A"), ("B", "A"), ("B", "B"), ("drawing", "A")}
TWO = A_ALONE | {("B", "AB"), ("drawing", "AB")}
THREE = A_ALONE | {("C", "A"), ("C", "B"), ("C", "C")}


CASES = {
    "one dies, and another gives back": ("AB", "A", ["gives back"], (1, 2), TWO | {("refunded", "")}),
    "one dies, and another sweeps": ("AB", "A", ["sweeps"], (1, 2), TWO),
    "the disk is full": ("AB", "A", ["fills"], (1, 2), TWO),
    "two die": ("ABC", "AB", [], (1,), THREE),
}


@pytest.mark.thorough
@pytest.mark.parametrize("unrecorded", [False, True])
@pytest.mark.parametrize(("drivers", "mortals", "others", "sums", "expected"), CASES.values(), ids=list(CASES))
def test_no_noise_is_drawn_twice_whoever_dies_sleeps_or_goes_on(
    monkeypatch, drivers, mortals, others, sums, expected, unrecorded
):
    """Who delivers, or else the last state, and who drew: each must be reached, or the orders show nothing."""
    reached = set()
    for world in explore(monkeypatch, drivers, mortals, others, sums, unrecorded):
        who = "".join(sorted({who for number, who in world.drew.items() if number != "rest"}))
        reached.add((next(iter(world.delivered), world.was), who))
    assert expected <= reached
