"""Many fits in one process: memory stays flat, no noise comes twice, and the ledger holds what was asked for."""

import ctypes
import gc
import hashlib
import os
import pathlib
import sqlite3
import sys
import time
from fractions import Fraction

import numpy as np

import dplr

# Of twenty fits; each releases numbers whose noise has far more than 2^64 outcomes.
TURNS = ["fm"] * 14 + ["output"] * 3 + ["objective", "score", "ngd"]
WITH_LEDGER = 10  # one fit in ten spends from the ledger
WARM_UP = 0.2  # share of the fits after which memory must be flat
SIGHTS = 100  # how often memory is looked at
BOUNDS = dplr.Bounds([(-1, 1), (-1, 1)])


def rows():
    """The rows of every fit: releases of the same rows differ by their noise alone."""
    rng = np.random.default_rng(1)
    X = rng.uniform(-1, 1, (30, 2))
    return X, X[:, 0] > 0


def resident():
    """Bytes of this process in memory."""
    return int(pathlib.Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def settled():
    """Bytes in memory, blocks of memory of Python and objects, when all that is free was given back.

    Python keeps up to 2,000 freed tuples of each length up to 20, some 5 MB, until a full collection, which does not
    come for thousands of fits: they would look like a leak. Blocks count objects that no collector tracks, as texts.
    """
    gc.collect()
    getattr(ctypes.CDLL(None), "malloc_trim", int)(0)  # of glibc alone
    return resident(), sys.getallocatedblocks(), len(gc.get_objects())


def eps_of(turn):
    """Another eps in each turn: a thousandth to seven thousandths, as a number that users write."""
    return (1 + turn % 7) / 1000


def fit_once(X, y, turn, ledger):
    """The bytes of what one fit released."""
    name = TURNS[turn % len(TURNS)]
    mechanism = dplr.NoisyGradientDescent(steps=2) if name == "ngd" else name
    delta = 1e-6 if name in ("score", "ngd") else 0.0
    paid = {"eps": eps_of(turn), "ledger": ledger} if ledger is not None else {"eps": 1.0}
    est = dplr.fit(X, y, bounds=BOUNDS, mechanism=mechanism, delta=delta, n_rows=len(y), **paid)
    return est.coef_.tobytes() + est.intercept_.tobytes()


def spent_exactly(path):
    """The sum of the entries of a ledger, in fractions, read with SQLite alone; and their number."""
    connection = sqlite3.connect(path)
    try:
        entries = connection.execute("SELECT eps, state FROM entry").fetchall()
    finally:
        connection.close()
    assert {state for _, state in entries} <= {"committed"}
    return sum((Fraction(repr(eps)) for eps, _ in entries), Fraction(0)), len(entries)


def slopes(sights):
    """Bytes, blocks and objects per fit: the least-squares lines through what was seen after the warm-up.

    The first column of `sights` has the numbers of fits.
    """
    warm = sights[int(WARM_UP * len(sights)) :]
    if len(warm) < 10:
        raise ValueError("`fits` must be more: memory was seen too seldom for a slope")
    return map(float, np.polyfit(warm[:, 0], warm[:, 1:], 1)[0])


def repeats(hashes):
    """How many releases are equal to an earlier one."""
    return len(hashes) - len(np.unique(hashes))


def soak(folder, count, seconds, work=fit_once):
    """Fit `count` times, or for that many seconds: a dictionary of figures."""
    path = pathlib.Path(folder, "ledger")
    ledger = dplr.Ledger(path, eps=count, delta=0.5)
    X, y = rows()
    hashes = np.full(count, 1, np.uint64)  # written to at once, so that it never grows
    step = max(1, count // SIGHTS)
    asked, sights = Fraction(0), np.full((-(-count // step), 4), -1, np.int64)
    begun = time.monotonic()
    for turn in range(count):
        pays = turn % WITH_LEDGER == turn // WITH_LEDGER % WITH_LEDGER  # each mechanism pays in some of its turns
        released = work(X, y, turn, ledger if pays else None)
        asked += Fraction(repr(eps_of(turn))) if pays else 0
        hashes[turn] = int.from_bytes(hashlib.sha256(released).digest()[:8], "little")
        if turn % step == 0:
            sights[turn // step] = turn, *settled()
        if time.monotonic() - begun > seconds:
            break
    done = turn + 1
    size, blocks, objects = slopes(sights[sights[:, 0] >= 0])
    spent, entries = spent_exactly(path)
    return {
        "fits": done,
        "seconds": time.monotonic() - begun,
        "bytes per fit": size,
        "blocks per fit": blocks,
        "objects per fit": objects,
        "repeats": repeats(hashes[:done]),
        "entries": entries,
        "unaccounted": abs(spent - asked),
    }
