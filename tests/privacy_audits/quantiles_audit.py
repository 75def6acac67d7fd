"""Privacy of learned bounds, exactly: what neighbours show in every choice, over all that may be chosen.

The probabilities of an exponential mechanism are explicit, so nothing is sampled: the exponents that the package hands
to `choose` are turned into log probabilities of both neighbours. As a script (``python quantiles_audit.py RUNS CASE
...``) it prints what each case shows, as a share of what the statement allows: tests run it on broken copies.
"""

import itertools
import json
import math
import sys
import unittest.mock

import numpy as np
import pandas as pd

import dplr
from declared_units import declared
from dplr.auditor.sampled import eps_lower_bound
from dplr.quantiles import selection
from dplr.quantiles.law import OUTSIDE, UNITS
from dplr.quantiles.levels import frequent_texts
from dplr.quantiles.release import planned
from dplr.quantiles.selection import chosen_range

EPS, RECORDS = 2.0, 400
NAN, INF = float("nan"), float("inf")
# Values of the record in which neighbours differ.
VALUES = (-INF, -50.0, 0.1, 1.0, 30.0, 1e4, INF, NAN)
OPTIONS = {
    "delta": 0.0, "columns": None, "target": None, "outside": 0.01, "bounds": None, "person": None,
    "sample_weight": None, "neighbouring": "replace_one", "n_rows": None,
}  # fmt: skip


class NoNoise:
    """Noise of one number, 0 unless told otherwise; it remembers the scale that was asked for."""

    def __init__(self, noise=0):
        self.noise, self.scale = noise, None

    def laplace(self, scale, size):
        self.scale = scale
        return np.full(size, self.noise)


def column(kind, n):
    """Half of the numbers and a few more at 1, the others at 100: a middle in between is as bad for each record."""
    if kind == "dates":  # near the end of the calendar, where one cell holds five years
        return np.full(n, 2_932_000)
    if kind == "integer":  # all in one cell, wider than the nearest ends
        return np.full(n, 1_000_000 + 100)
    return np.where(np.arange(n) < 0.52 * n, 1.0, 100.0)


def table(kind, n, *records):
    """Equal columns with some records more."""
    rows = [*column(kind, n), *records]
    if kind == "dates":
        times = np.array([None if np.isnan(day) else int(day) for day in rows], "datetime64[D]").astype("datetime64[s]")
        return pd.DataFrame({"a": times, "b": times})
    return pd.DataFrame({"a": rows, "b": rows}).astype("float64")


def neighbours(case):
    """Pairs of tables, with the options of the release; one object for a table, however often it comes."""
    kinds = {"columns": {"a": "integer", "b": "integer"}} if case == "integer" else {}
    if case in ("numbers", "integer"):
        values = VALUES if case == "numbers" else (0.0, 1_000_100.0, 2e6)
        return _all_pairs([table(case, RECORDS, value) for value in values], kinds)
    if case == "dates":
        return _all_pairs([table(case, RECORDS, day) for day in (0, 2_932_000, NAN)], {})
    if case == "add_remove":
        less = table(case, RECORDS)
        more = [table(case, RECORDS, value) for value in VALUES[1:-1]]
        options = [{"neighbouring": case, "n_rows": n_rows} for n_rows in (RECORDS, 3 * RECORDS)]
        return [(one, less, some) for one, some in itertools.product(more, options)]
    if case == "steps":  # of neighbours near a number at which steps outwards begin to weigh more
        options = {"neighbouring": "add_remove", "n_rows": 1000}
        return [(table(case, n, 1e4), table(case, n), options) for n in range(1000, 1020)]
    if case == "weights":
        rows = [table(case, RECORDS, value).assign(w=[1.0] * RECORDS + [9.0]) for value in VALUES[1::2]]
        return _all_pairs(rows, {"sample_weight": "w", "weight_max": 2.0})
    ids = [*np.arange(RECORDS).tolist(), *[RECORDS] * 4]
    of_one = ([0.1] * 4, [1e4] * 4, [0.1, 1e4, NAN, 30.0])
    return _all_pairs([table(case, RECORDS, *some).assign(id=ids) for some in of_one], {"person": "id"})


def _all_pairs(tables, options):
    return [(left, right, options) for left, right in itertools.combinations(tables, 2)]


def measured(X, options, picks):
    """Of each pick: log probabilities of middles, those of ends, and records outside; of one of two equal columns."""
    release = planned(X, eps=EPS, **declared(OPTIONS | options))
    histograms, plan = release.rows.counted(), release.plan
    return [_stages(histograms.cells[0], plan.kinds[plan.numbers[0]], plan, pick) for pick in picks]


def _stages(cells, kind, plan, pick):
    """Log probabilities of a middle, a lower end and an upper end, and the number outside over the scale of its noise.

    A pick is a place for each: a share of those that there are.
    """
    found, source = [], NoNoise()

    def choose(rough, exponent, _):
        exponents = np.array([float(exponent(place)) for place in range(len(rough))])
        assert (rough <= exponents + 1e-12).all()
        found.append(-exponents - np.log(np.exp(-exponents).sum()))
        return round(pick[len(found) - 1] * (len(rough) - 1))

    with unittest.mock.patch.object(selection, "choose", choose):
        ends = chosen_range(cells, kind, plan.records, plan.share, plan.prices, source)
    return [*found, np.array([ends.outside * UNITS / source.scale])]


def losses(case):
    """The largest loss of each stage over all neighbours and picks; their sum for two columns, over eps."""
    places = (0.5, (2560 + 1 + 32 * 32) / 5120, (2560 + 36 * 32) / 5120)
    if case == "integer":
        places = (0.5, (2560 + 32 * 49 + 30) / 5120)
    if case == "dates":
        places = (0.5, (2560 + 1 + 1702) / 5120)  # a middle beyond the calendar
    picks = [(place, *ends) for place, ends in itertools.product(places, ((0.0, 0.0), (0.1, 0.3), (1.0, 1.0)))]
    picks = [picks[2]] if case == "steps" else picks
    largest, done = np.zeros(4), {}
    for left, right, options in neighbours(case):
        for X in (left, right):
            key = id(X), str(options)
            if key not in done:
                done[key] = X, measured(X, options, picks)  # with the table, whose id must stay its own
        both = (done[id(X), str(options)][1] for X in (left, right))
        for stages in zip(*both, strict=True):
            found = [float(np.abs(p - q).max()) for p, q in zip(*stages, strict=True)]
            largest = np.maximum(largest, found)
    if case == "dates":  # no choice shows much of these records
        return float(largest[3] / (EPS / 2 * OUTSIDE))
    return float(2 * largest.sum() / EPS)


def of_texts(case):
    """How a release of texts keeps its promise: the largest of several shares of what is allowed, exactly.

    The least noise with which a text is released says how probable that is.
    """
    n, persons = 2000, case == "texts of persons"
    frame = pd.DataFrame({"t": ["x"] * n, "id": np.arange(n)})
    options = {"delta": 1e-4, "columns": ["t"], "person": "id" if persons else None}
    plan = planned(frame if persons else frame[["t"]], eps=EPS, **declared(OPTIONS | options)).plan
    each, delta = EPS / plan.changed, 1e-4 / (1 + math.exp(EPS))
    alone = max(_any_released(plan, count) for count in ((1, 2, 16, 1024) if persons else (1,)))
    weights = np.arange(1, 40) * UNITS
    common = [_log_odds(plan, int(weight), int(weight) + UNITS) / each for weight in weights]
    return max(alone / delta, *common)


def _released(plan, weight):
    """Log probabilities that a text of this weight is released, and that it is not."""
    low, high, source = -(2**20), 2**20, NoNoise()  # the least noise that suffices lies above `low`, up to `high`

    def is_kept(noise):
        source.noise = noise
        return bool(frequent_texts({"t": weight}, plan.prices, plan.changed, plan.shared, source))

    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_kept(middle) else (middle, high)
    b = source.scale
    tail = math.exp(-abs(high) / b) / (1 + math.exp(-1 / b))  # of noise of at least |high|
    if high > 0:
        return math.log(tail or 5e-324), math.log1p(-tail)
    below = math.exp(-(1 - high) / b) / (1 + math.exp(-1 / b))
    return math.log1p(-below), math.log(below or 5e-324)


def _any_released(plan, count):
    """How probable it is that any of so many texts of one unit is released."""
    return -math.expm1(count * _released(plan, UNITS // count)[1])


def _log_odds(plan, weight, more):
    return max(abs(p - q) for p, q in zip(_released(plan, weight), _released(plan, more), strict=True))


def of_two_columns(runs):
    """A sampled bound: whether noise of two columns is drawn apart, by the difference of their records outside."""
    base = np.repeat([-1.0, 0.0, 1.0], RECORDS // 3)
    found = []
    for side in (0, 1):
        far = [(1e6, 0.0), (0.0, 1e6)][side]
        X = pd.DataFrame({name: [*base, far[k]] for k, name in enumerate("ab")})
        done = [dplr.learn_bounds(X, eps=EPS, rng=runs * side + k).columns for k in range(runs)]
        found.append(np.round([a.outside - b.outside for a, b in done], 6))
    return eps_lower_bound(*found) / EPS


def measure(case, runs):
    """What neighbours show as a share of what is allowed."""
    if case == "two columns":
        return of_two_columns(runs)
    return of_texts(case) if case.startswith("texts") else losses(case)


if __name__ == "__main__":
    print(json.dumps([measure(name, int(sys.argv[1])) for name in sys.argv[2:]]))
