"""Privacy of learned bounds, exactly: what neighbours show in every choice, over all that may be chosen.

The probabilities of an exponential mechanism are explicit, so nothing is sampled: the exponents that the package hands
to `choose` are turned into log probabilities of both neighbours. As a script (``python quantiles_audit.py 0 CASE
...``) it prints what each case shows, as a share of what the statement allows: tests run it on broken copies.
"""

import functools
import itertools
import json
import math
import sys
import unittest.mock

import numpy as np
import pandas as pd

from declared_units import declared
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
    kind, _, relation = case.partition(", ")
    if kind == "steps":  # of neighbours near a number at which steps outwards begin to weigh more
        options = {"neighbouring": "add_remove", "n_rows": 1000}
        return [(table(kind, n, 1e4), table(kind, n), options) for n in range(1000, 1020)]
    options = {
        "integer": {"columns": {"a": "integer", "b": "integer"}}, "persons": {"person": "id"},
        "weights": {"sample_weight": "w", "weight_max": 2.0},
    }.get(kind, {})  # fmt: skip
    values = {
        "integer": (0.0, 1_000_100.0, 2e6), "dates": (0, 2_932_000, NAN), "weights": VALUES[1::2],
        "persons": ([0.1] * 4, [1e4] * 4, [0.1, 1e4, NAN, 30.0]),
    }.get(kind, VALUES)  # fmt: skip
    tables = [_of_a_unit(kind, np.atleast_1d(rows).tolist()) for rows in values]
    if relation != "add_remove":
        return [(left, right, options) for left, right in itertools.combinations(tables, 2)]
    less, added = _of_a_unit(kind, []), {"neighbouring": relation}
    facts = [{"n_rows": RECORDS}, {"n_rows": 3 * RECORDS}, {"n_rows": RECORDS, "outside": 0.25}]
    return [(more, less, options | added | some) for more, some in itertools.product(tables, facts)]


def _of_a_unit(kind, rows):
    """A table with the rows of one unit more, which weigh as much as it may or are four of one person."""
    ids, weights = [*range(RECORDS), *[RECORDS] * len(rows)], [1.0] * RECORDS + [9.0] * len(rows)
    return table(kind, RECORDS, *rows).assign(**{"weights": {"w": weights}, "persons": {"id": ids}}.get(kind, {}))


def measured(X, options, picks):
    """Of each pick: log probabilities of middles, those of ends, and records outside; of one of two equal columns."""
    release = planned(X, eps=EPS, **declared(OPTIONS | options))
    histograms, plan, known = release.rows.counted(), release.plan, {}
    return [_stages(histograms.cells[0], plan.kinds[plan.numbers[0]], plan, pick, known) for pick in picks]


def _stages(cells, kind, plan, pick, known):
    """Log probabilities of a middle, a lower end and an upper end, and the number outside over the scale of its noise.

    A pick is a place for each: a share of those that there are.
    """
    found, source = [], NoNoise()

    def choose(rough, exponent, _):
        if rough.tobytes() not in known:  # the middle is the same for every pick
            exponents = np.array([float(exponent(place)) for place in range(len(rough))])
            assert (rough <= exponents + 1e-12).all()
            known[rough.tobytes()] = -exponents - np.log(np.exp(-exponents).sum())
        found.append(known[rough.tobytes()])
        return round(pick[len(found) - 1] * (len(rough) - 1))

    with unittest.mock.patch.object(selection, "choose", choose):
        ends = chosen_range(cells, kind, plan.records, plan.share, plan.prices, plan.changed, source)
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


def of_texts(relation, person, columns):
    """How a release of texts keeps its promise, exactly: shares of delta and of eps that neighbours show.

    The larger one where it is above 1, and else the smaller one.
    """
    tables = [_counted_texts(relation, person, columns, rows) for rows in UNITS_OF_TEXTS[relation, person is not None]]
    pairs = itertools.permutations(tables, 2)
    if relation == "add_remove":
        pairs = [pair for pair in pairs if tables[0] in pair]  # the table without the unit
    found = [_shown(left, right) for left, right in pairs]
    worst = np.max(found, axis=0)
    return float(worst.max() if worst.max() > 1 + 1e-9 else worst.min())


# The rows of one unit, beside the rows of others: numbers are texts that nobody else has.
RARE = [[f"of {count}"] for count in range(1, 7)]  # texts that few others have, about a threshold
FEW, MANY = [str(k) for k in range(16)], [str(k) for k in range(1024)]
UNITS_OF_TEXTS = {
    ("replace_one", False): (["0"], ["1"], ["x"], ["y"], *RARE),
    ("add_remove", False): ([], ["0"], ["x"], *RARE),
    ("replace_one", True): (["0"], FEW, MANY, ["x"], ["y"] * 4, ["x", "y"]),
    ("add_remove", True): ([], ["0"], FEW, MANY, ["x", "y"]),
}
TEXT_EPS, DELTA = 8.0, 1e-4


def _counted_texts(relation, person, columns, rows):
    """The plan of a release, and what the rows of each text weigh: of one column, all of which are equal."""
    others = ["x"] * 40 + ["y"] * 9 + [text for count, (text,) in enumerate(RARE, 1) for _ in range(count)]
    frame = pd.DataFrame({str(k): [*others, *rows] for k in range(columns)})
    frame["id"] = [*range(len(others)), *[len(others)] * len(rows)]
    options = {"delta": DELTA, "columns": [str(k) for k in range(columns)], "person": person}
    if relation == "add_remove":
        options |= {"neighbouring": relation, "n_rows": len(others)}
    release = planned(frame, eps=TEXT_EPS, **declared(OPTIONS | options))
    return release.plan, release.rows.counted().texts[0]


def _shown(left, right):
    """The share of delta that one table shows beside a factor of e^eps to the other, and that of eps without a delta.

    Texts that both have show a loss of eps at most; those of one alone are shown by their presence.
    """
    (plan, sums), (other, others) = left, right
    assert (plan.prices, plan.changed, plan.shared) == (other.prices, other.changed, other.shared)
    columns, facts = len(plan.texts), (plan.prices, plan.changed, plan.shared)
    laws = {weight: _law(weight, *facts) for weight in {*sums.values(), *others.values()}}
    loss = shown = hidden = 0.0
    for text in {*sums, *others}:
        if text not in others:
            shown += laws[sums[text]][2]
        elif text not in sums:
            hidden += laws[others[text]][2]
        elif sums[text] != others[text]:
            loss += _largest_loss(laws[sums[text]], laws[others[text]])
    # The worst events: a text of this table alone is there, or none is and what both have is what tells most.
    alone = -math.expm1(columns * shown)
    rest = max(0.0, math.exp(columns * shown) - math.exp(TEXT_EPS - columns * loss + columns * hidden))
    return (alone + rest) / DELTA, columns * loss / TEXT_EPS


@functools.cache
def _law(weight, *facts):
    """Numbers that a text of this weight may be released with, their log probabilities, and that of no release."""
    source = NoNoise()
    frequent_texts({"t": weight}, *facts, source)
    source.noise = noise = np.arange(-weight - 2 * UNITS, 2 * UNITS + 40 * source.scale)  # all that matters
    kept = frequent_texts({f"{k:09d}": weight for k in range(len(noise))}, *facts, source)
    rate = 1 / source.scale
    logs = math.log(math.tanh(rate / 2)) - rate * np.abs(noise)
    places = np.array([int(name) for name in kept], int)
    absent = np.exp(np.delete(logs, places)).sum() + math.exp(rate * (noise[0] - 1)) / (1 + math.exp(-rate))
    return np.array(list(kept.values())), logs[places], math.log(absent)


def _largest_loss(one, other):
    """The largest log ratio of probabilities of what is released, or of nothing."""
    (numbers, p, absent), (others, q, gone) = one, other
    _, here, there = np.intersect1d(numbers, others, return_indices=True)
    return float(max((p[here] - q[there]).max(initial=-math.inf), absent - gone))


TEXTS = {
    f"texts, {relation}, {unit}, {columns}": (relation, person, columns)
    for relation in ("replace_one", "add_remove")
    for unit, person in (("rows", None), ("persons", "id"))
    for columns in (1, 2)
}


def measure(case, _):
    """What neighbours show as a share of what is allowed."""
    return of_texts(*TEXTS[case]) if case in TEXTS else losses(case)


if __name__ == "__main__":
    print(json.dumps([measure(name, int(sys.argv[1])) for name in sys.argv[2:]]))
