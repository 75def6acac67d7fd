"""The exact loss of whole releases from secret parts of tables that are kept sorted: rows held out, and searches.

Every split that may occur is made, and all noise is silent: a release is a mixture, over splits, of products of Laplace
laws about what its parts hold. Fits with rows held out release model and evaluation; of a search all models count, and
the choice. Models answer, and are scored, by the row alone, so that no law depends on the noise of a fit.

As a script (``python splits_audit.py RUNS CASE ...``) it prints the loss of each case as JSON: tests run it on patched
copies of the package to show that the audit sees a broken one.
"""

import collections
import contextlib
import functools
import itertools
import json
import math
import sys
import warnings
from unittest.mock import patch

import numpy as np

import dplr
from dplr.estimators import _holdout, _search
from dplr.noise import Source
from dplr.privacy.selection import SCORE_UNITS
from search_audit import law
from silent_noise import numbers_over_noise, silent_noise

EPS = 1.0
HIGH, LOW = (1.0, True), (-1.0, True)
BOUNDS = dplr.Bounds([(-1, 1)], target=[False, True])
OPTIONS = {"eps": EPS, "bounds": BOUNDS, "mechanism": dplr.FunctionalMechanism(ranges="off")}
BOTH = {"fit_intercept": [True, False]}
law_of_choice = functools.cache(law)


class Script:
    """A source of these words, which remembers whether it was asked."""

    def __init__(self, words):
        self._words, self.asked = np.array(words, np.uint64), False

    def words(self, size):
        assert size == len(self._words)
        self.asked = True
        return self._words


def scripts(n, shares):
    """Fair words for n rows, and how probable: in any order, and with any number of them in the share of each part."""
    starts = [math.floor(end * 2**64) for end in itertools.accumulate([0, *shares])][:-1]
    for counts in itertools.product(range(n + 1), repeat=len(shares)):
        if sum(counts) != n:
            continue
        ways = math.factorial(n) / math.prod(map(math.factorial, counts))
        weight = ways * math.prod(float(share) ** count for share, count in zip(shares, counts, strict=True))
        words = [start + 1 + rank for start, count in zip(starts, counts, strict=True) for rank in range(count)]
        for order in itertools.permutations(words):
            yield order, weight / math.factorial(n)


def law_of_splits(module, release, relation, table):
    """Parts -> probability, of the rows of a table, by the split that its release asks for."""
    asked, parted = [], module.secret_parts
    with patch.object(module, "secret_parts", lambda *how: asked.append(how) or parted(*how)):
        release(table, relation)
    ((source, n, shares, neighbouring),) = asked
    assert isinstance(source, Source)
    assert not source.reproducible
    found = collections.Counter()
    for words, weight in scripts(n, shares):
        script = Script(words)
        found[tuple(map(tuple, parted(script, n, shares, neighbouring)))] += weight
        assert script.asked
    return found


def law_of_release(module, release, relation, table):
    """Of each split: its probability, what is released, in units of its noise, and the log law of the choice."""
    every = []
    for parts, weight in law_of_splits(module, release, relation, table).items():
        rows = [np.array(part, np.intp) for part in parts]
        with patch.object(module, "secret_parts", lambda *_, rows=rows: rows):
            every.append((weight, *release(table, relation)))
    return [np.array(column) for column in zip(*every, strict=True)]


def loss(one, other):
    """The largest log ratio of two such laws, at their centres and at the corners of the least box around these."""
    points = np.concatenate([one[1], other[1]])
    ends = np.column_stack([points.min(axis=0), points.max(axis=0)])
    points = np.concatenate([points, list(itertools.product(*map(np.unique, ends)))])
    logs = []
    for weights, centres, choices in (one, other):
        near = np.exp(-np.abs(points[:, np.newaxis] - centres[np.newaxis]).sum(axis=2))
        logs.append(np.log(near @ (weights[:, np.newaxis] * np.exp(choices))))
    return float(np.abs(logs[0] - logs[1]).max())


def columns(table):
    return np.array([[x] for x, _ in table]), np.array([label for _, label in table], bool)


def answers(_, X):
    """Probabilities by the row alone."""
    return np.column_stack([0.5 - 0.4 * X[:, 0], 0.5 + 0.4 * X[:, 0]])


def held_out(table, relation):
    """The numbers of a model and its evaluation; there is no choice."""
    with silent_noise() as asked, patch.object(dplr.LogisticRegression, "predict_proba", answers):
        model = dplr.fit(*columns(table), holdout=0.5, neighbouring=relation, **OPTIONS)
    released = [*model.released_.values(), *model.evaluation_.released_.values()]
    return numbers_over_noise(released, model.privacy_.released.values(), asked), [0.0]


def misses(model, ready):
    """The rows on the side of a candidate."""
    return SCORE_UNITS * int((ready.data.X[:, 0] > 0).sum() if model.fit_intercept else (ready.data.X < 0).sum())


def searched(table, relation):
    """The numbers of the models of both candidates, and the law of the choice."""
    models, costs, fit = [], [], _search.Trial.fit
    with contextlib.ExitStack() as stack:
        asked = stack.enter_context(silent_noise())
        stack.enter_context(patch.object(_search.Trial, "fit", lambda *of: models.append(fit(*of)) or models[-1]))
        stack.enter_context(patch.object(_search, "cost", misses))
        stack.enter_context(patch.object(_search, "choose", lambda found, *_: costs.extend(found) or 0))
        stack.enter_context(patch.object(dplr.PrivateSearch, "_enough"))  # tables of few rows have few splits
        est = dplr.LogisticRegression(neighbouring=relation, **OPTIONS)
        dplr.PrivateSearch(est, BOTH).fit(*columns(table))
    released = [block for model in models for block in model.released_.values()]
    blocks = [block for model in models for block in model._record.plan.statement.released.values()]
    return numbers_over_noise(released, blocks, asked), law_of_choice(tuple(costs))


def neighbours(relation, n):
    """Pairs of tables: a record, the first of one, is another one in the other or is not there, and lies anywhere."""
    for first, last, *rest in itertools.product((HIGH, LOW), repeat=n + 1):
        for place in range(n):
            other = (*rest[:place], last, *rest[place:])
            yield ((first, *rest), other) if relation == "replace_one" else (other, tuple(rest))


def largest(module, release, relation, n, alike=False):
    """The largest loss of neighbours; `alike` takes those where one table has LOW records alone."""
    law_of = functools.cache(functools.partial(law_of_release, module, release, relation))
    pairs = [pair for pair in neighbours(relation, n) if not alike or HIGH not in pair[1]]
    return max(loss(law_of(one), law_of(other)) for one, other in dict.fromkeys(pairs))


CASES = {
    "holdout replace_one": lambda: largest(_holdout, held_out, "replace_one", 4),
    "holdout add_remove": lambda: largest(_holdout, held_out, "add_remove", 4, alike=True),
    "search replace_one": lambda: largest(_search, searched, "replace_one", 3),
    "search add_remove": lambda: largest(_search, searched, "add_remove", 2),
}


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    print(json.dumps([CASES[name]() for name in sys.argv[2:]]))
