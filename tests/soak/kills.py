"""Sixteen processes on one ledger, killed at random moments for minutes: nothing is lost and nothing overspent."""

import contextlib
import os
import pathlib
import random
import signal
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "ledger" / "faults"))

import story
from crashes import worker

EPS = 0.001
EPS_PER_SECOND = 0.005  # the budget runs out before the time does, so that refusals are killed too
CHECK_EVERY = 100  # kills between two comparisons of the ledger with the journal


def start(path, journal, seed):
    """A forked worker that spends until it is killed."""
    pid = os.fork()
    if pid == 0:
        with contextlib.suppress(BaseException):
            worker(path, journal, time.monotonic() + 3600, EPS, seed)
        os._exit(0)
    return pid


def kill(pid, faults):
    """SIGKILL; a worker that ended by itself is a fault."""
    os.kill(pid, signal.SIGKILL)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if status != -signal.SIGKILL:
        faults.append(f"a worker ended by itself with {status}")


def compare(path, journal, budget, faults, usable=False):
    """The ledger holds what the journals of the workers say."""
    try:
        return story.check(path, story.Journal.read(journal), budget, usable=usable)
    except Exception as error:
        faults.append(repr(error))
        return 0


def soak(seconds, processes=16, seed=1, folder=None):
    """Kill one of the processes at random moments for that many seconds: a dictionary of figures."""
    rng, living, faults, kills, compared = random.Random(seed), [], [], 0, 0
    with tempfile.TemporaryDirectory(dir=folder, prefix="dplr-soak-") as base:
        path, journal = os.path.join(base, "budget"), os.path.join(base, "journal")
        budget = round(EPS_PER_SECOND * seconds, 3)
        story.Ledger(path, eps=budget)
        begun = time.monotonic()
        while time.monotonic() - begun < seconds:
            while len(living) < processes:
                living.append(start(path, journal, kills * 100 + len(living)))
            time.sleep(rng.random() * 0.1)
            kill(living.pop(rng.randrange(processes)), faults)
            kills += 1
            if kills % CHECK_EVERY == 0:
                while living:
                    kill(living.pop(), faults)
                    kills += 1
                compare(path, journal, budget, faults)
                compared += 1
        while living:
            kill(living.pop(), faults)
            kills += 1
        took = time.monotonic() - begun
        entries = compare(path, journal, budget, faults, usable=True)
        events = story.Journal.read(journal)
    asked, refused = (sum(event["event"] == kind for event in events) for kind in ("asked", "refused"))
    return {
        "seconds": took, "kills": kills, "entries": entries, "asked": asked, "refused": refused,
        "comparisons": compared + 1, "faults": faults,
    }  # fmt: skip
