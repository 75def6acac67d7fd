"""Processes that are killed, disks that lose power or fail, and many processes at once."""

import contextlib
import os
import pathlib
import random
import signal
import sqlite3
import sys
import time

import story
from lab import Row, arm, count_calls, judge, story_in


def crash_at_statements(lab, repeats):
    """SIGKILL before and after each SQL statement (opening and closing a connection count as statements)."""
    row = Row("SIGKILL before and after every SQL statement")
    counter = os.path.join(lab.base, "count")

    def prepare(point, after):
        def arm(_root):
            passed = 0

            def step(call, *arguments):
                nonlocal passed
                passed += 1
                if passed == point and not after:
                    os.kill(os.getpid(), signal.SIGKILL)
                result = call(*arguments)
                if passed == point and after:
                    os.kill(os.getpid(), signal.SIGKILL)
                pathlib.Path(counter).write_text(str(passed)) if not point else None
                return result

            class Counted(sqlite3.Connection):
                def execute(self, *arguments):
                    return step(super().execute, *arguments)

                def executemany(self, *arguments):
                    return step(super().executemany, *arguments)

                def close(self):
                    return step(super().close)

            plain = sqlite3.connect
            sqlite3.connect = lambda *args, **options: plain(*args, factory=Counted, **options)

        return arm

    for seed in range(repeats):
        story_in(lab, lab.fresh(), seed, prepare(0, False))
        points = int(pathlib.Path(counter).read_text())
        for point in lab.points(points):
            for after in (False, True):
                judge(row, *story_in(lab, lab.fresh(), seed, prepare(point, after)))
    row.fault += f" ({repeats} orders)"
    return row


def at_calls(lab, name, kind, mode, repeats):
    """A fault at each system call of a kind."""
    row = Row(name)
    for seed in range(repeats):
        points = count_calls(lab, kind, seed)
        for point in lab.points(points):
            judge(row, *story_in(lab, lab.fresh(), seed, arm(lab, kind, point, mode)))
    row.fault += f" ({repeats} orders)"
    return row


def power_cut(lab, name, kind, mode, repeats):
    """The same, and all that was not synced is gone: contents and names as of their last sync."""
    row = Row(name)
    for seed in range(repeats):
        points = count_calls(lab, kind, seed)
        for point in [*lab.points(points), points + 1]:  # the last one: at the end
            root = lab.fresh()
            status, _, events = story_in(lab, root, seed, arm(lab, kind, point, mode, keep=True))
            judge(row, status, restored(root), events)
    row.fault += f" ({repeats} orders)"
    return row


def restored(root):
    """The disk after a power cut."""
    disk, kept = os.path.join(root, "after"), os.path.join(root, "kept")
    os.makedirs(disk)
    names = os.path.join(kept, "names")
    for line in pathlib.Path(names).read_text().splitlines() if os.path.exists(names) else []:
        inode, name = line.split(" ", 1)
        content = os.path.join(kept, inode)
        data = pathlib.Path(content).read_bytes() if os.path.exists(content) else b""
        pathlib.Path(disk, name).write_bytes(data)
    return os.path.join(disk, "budget")


def worker(path, journal_path, until, eps, seed):
    """Spend at random until the time is over."""
    rng, journal, ledger, number = random.Random(seed), story.Journal(journal_path), story.Ledger(path), 0
    while time.monotonic() < until:
        number += 1
        name = f"{os.getpid()}-{seed}-{number}"
        story.spend(ledger, journal, name, [eps] * rng.choice([1, 1, 3]), rng.choice(["commit", "commit", "refund"]))
    return 0


def random_kills(lab, kills):
    """Three workers on one ledger, killed at random times and replaced."""
    row = Row("SIGKILL at random times, three processes on one ledger")
    root = lab.fresh()
    path, journal = os.path.join(root, "disk", "budget"), os.path.join(root, "journal")
    budget = kills * 0.002
    story.Ledger(path, eps=budget)
    rng, living = random.Random(1), []

    def start(seed):
        pid = os.fork()
        if pid == 0:
            with contextlib.suppress(BaseException):
                worker(path, journal, time.monotonic() + 60, 0.001, seed)
            os._exit(0)
        living.append(pid)

    for kill in range(kills):
        while len(living) < 3:
            start(kill * 10 + len(living))
        time.sleep(rng.random() * 0.03)
        pid = living.pop(rng.randrange(3))
        os.kill(pid, signal.SIGKILL)
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        row.add("killed" if status == -signal.SIGKILL else "failed")
        if status != -signal.SIGKILL:
            row.broken.append(f"a worker ended by itself with {status}")
        if kill % 50 == 49 or kill == kills - 1:
            for other in living:
                os.kill(other, signal.SIGKILL)
                os.waitpid(other, 0)
            living.clear()
            try:
                story.check(path, story.Journal.read(journal), budget, usable=kill == kills - 1)
            except Exception as error:
                row.broken.append(repr(error))
    return row


def many_processes(lab, processes, seconds):
    """Many workers at once, on a budget that runs out."""
    row = Row(f"{processes} processes for {seconds:g} s on one ledger, made by all of them at once")
    root = lab.fresh()
    path, journal = os.path.join(root, "disk", "budget"), os.path.join(root, "journal")
    budget, until, pids = round(0.1 * seconds, 3), time.monotonic() + seconds, []  # runs out before the time does
    for seed in range(processes):
        pid = os.fork()
        if pid == 0:
            status = 2
            try:
                story.Ledger(path, eps=budget)
                status = worker(path, journal, until, 0.004, seed)
            except BaseException as error:
                print(repr(error), file=sys.stderr)
            os._exit(status)
        pids.append(pid)
    for pid in pids:
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        row.add("finished" if status == 0 else "failed")
        if status:
            row.broken.append(f"a worker ended with {status}")
    events = story.Journal.read(journal)
    row.fault += f" ({sum(event['event'] == 'asked' for event in events)} reservations asked for)"
    try:
        story.check(path, events, budget)
    except Exception as error:
        row.broken.append(repr(error))
    return row
