"""A law of every release: each of its numbers has noise of its own, whatever else was released before or beside it.

A few rows of zeros are far below the noise, so that what is released is the noise. Ranks of all numbers of many
releases are compared; every number must have been drawn; and no two releases share a draw.
"""

import ast
import collections
import contextlib
import functools
import itertools
import math
import pathlib
import re
import sys
from dataclasses import fields, replace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import rankdata

import dplr
from declared_units import declared
from dplr import mechanisms
from dplr.baselines import DPME
from dplr.noise import Source
from dplr.privacy.law import Law
from dplr.privacy.statement import Release

pytestmark = pytest.mark.filterwarnings("ignore")

N, D, EPS, DELTA = 8, 3, 0.1, 9e-4
REFERENCE = 10**7  # a declared number of records: some blocks are released only where there are many
# Deviations of a rank correlation, or of a sum of signs: 10^-9 for each of some thousands that are looked at.
LARGEST = 6.5
RANGES = "range_"  # how the names of their blocks begin
SPREAD = 2**12  # units of noise from which two equal numbers are no chance
# Options that are numbers or positions: values that a release may have other blocks with.
NUMBERS = {"steps": 4, "rounds": 1, "columns": (0, 1), "cut": 0.5}
COLUMNS = {f"x{place}": (-1.0, 1.0) for place in range(D)}
TARGETS = {
    "logistic": {"classes": [0, 1]},
    "classes": {"classes": [0, 1, 2]},
    "linear": (-1.0, 1.0),
    "huber": (-1.0, 1.0),
    "poisson": (0.0, 2.0),
    "svm": {"classes": [0, 1]},
}
RELATIONS = {"replace_one": {}, "add_remove": {"neighbouring": "add_remove", "n_rows": REFERENCE}}
UNITS = {"rows": {}, "persons": {"person": "id", "rows_per_person": 2}, "weights": {"weight_max": 1}}
INTERCEPTS = {"through zero": {"fit_intercept": False}, "intercept": {}, "ranges": {"options": {"ranges": "on"}}}


def named_options(kind):
    """Values of each option of a spec that its docstring lists, the default first."""
    found = {}
    for field in fields(kind):
        (listed,) = re.findall(rf"^    {field.name} : (.*)$", kind.__doc__, re.M)
        words = re.search(r"\{(.*)\}", listed)
        values = re.findall(r'"(\w+)"', words[1]) if words else [NUMBERS[field.name]] if field.name in NUMBERS else []
        found[field.name] = [value for value in values if value != field.default]
    return found


def specs(kind):
    """The spec with its defaults, and with one option changed at a time; few steps, where it has steps."""
    options, few = named_options(kind), {"steps": 4} if "steps" in named_options(kind) else {}
    yield kind(**few)
    for name, values in options.items():
        for value in values:
            yield kind(**few | {name: value})


def problems(few):
    """Facts of a fit: model, relation, unit, intercept and ranges, with and without a delta; a few without ranges."""
    units, intercepts = (("rows", "persons"), ("through zero", "intercept")) if few else (UNITS, INTERCEPTS)
    for model, relation, unit, intercept, delta in itertools.product(
        TARGETS, RELATIONS, units, intercepts, (0.0, DELTA)
    ):
        bounds = dplr.Bounds(COLUMNS, target=TARGETS[model])
        facts = RELATIONS[relation] | UNITS[unit] | INTERCEPTS[intercept] | {"delta": delta}
        yield facts | {"model": "logistic" if model == "classes" else model, "bounds": bounds}


def pattern(name):
    """The name of a block without numbers of rounds and labels of classes."""
    return re.sub(r"\[.*\]|\d+", "*", name)


@contextlib.contextmanager
def lines_of_blocks():
    """The set of (file, line) of those who make blocks inside."""
    reached, plain = set(), Release.__post_init__

    def made(self):
        caller = sys._getframe(2)
        reached.add((caller.f_code.co_filename, caller.f_lineno))
        plain(self)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Release, "__post_init__", made)
        yield reached


@functools.cache
def plans(kind):
    """[(facts, statement)] of every fit that the specs of a mechanism plan, and the lines that made their blocks."""
    with lines_of_blocks() as reached:
        return list(each_plan(kind)), reached


def each_plan(kind):
    for place, spec in enumerate(specs(kind)):
        for facts in problems(place > 0):
            mechanism = replace(spec, **facts.pop("options", {}))
            size = {} if "n_rows" in facts else {"n_rows": N // facts.get("rows_per_person", 1)}
            with contextlib.suppress(ValueError):  # what a mechanism has no plan for
                statement = dplr.plan(eps=EPS, mechanism=mechanism, **declared(facts), **size).statement
                yield facts | {"mechanism": mechanism}, statement


def configurations(name):
    """(facts, statement) of one fit for each set of blocks and laws that the specs of a mechanism state."""
    taken = {}
    for facts, statement in plans(mechanisms.SHORTHANDS[name].kind)[0]:
        blocks = {(pattern(name), block.law) for name, block in statement.released.items()}
        before = {(name, law) for name, law in blocks if name.startswith(RANGES)}  # ranges come before whatever model
        taken.setdefault(frozenset(before or blocks), (facts, statement))
    return list(taken.values())


def released(facts, runs, seed):
    """{name: (runs, numbers)} what that many fits release, from one source of noise."""
    rows = table().assign(id=np.repeat(np.arange(N // 2), 2)) if facts.get("person") else table()
    target = facts["bounds"].to_dict()["target"]
    y = np.arange(N) % len(target["classes"]) if isinstance(target, dict) else np.full(N, sum(target) / 2)
    weights = {"sample_weight": np.ones(N)} if "weight_max" in facts else {}
    models = dplr.fit_many(rows, y, eps=[EPS], repeats=runs, rng=seed, **declared(facts), **weights)
    parts = collections.defaultdict(list)
    for model in models:
        for name, numbers in model.released_.items():
            parts[name].append(np.ravel(numbers))
        if any(name.startswith("coef") for name in model.privacy_.released):
            parts["coef"].append(np.ravel(model.coef_))
    return {name: np.array(numbers) for name, numbers in parts.items()}, models[0].privacy_


class Recording:
    """What a source draws, while a test looks on: how many numbers of each law and scale."""

    def __init__(self, monkeypatch):
        self.drawn = collections.Counter()
        for name, law in {"laplace": Law.DISCRETE_LAPLACE, "gaussian": Law.DISCRETE_GAUSSIAN}.items():
            self._wrap(monkeypatch, name, lambda law, scale, size: {(law, scale): size}, law)
        for name in ("norm_gamma", "normals"):
            self._wrap(monkeypatch, name, lambda law, scale, size: {law: size}, "real")
        self._wrap(monkeypatch, "in_body", lambda law, scales, groups: {law: len(scales)}, "real")

    def _wrap(self, monkeypatch, name, counted, law):
        plain = getattr(Source, name)

        def drawing(source, *facts):
            self.drawn.update(counted(law, *facts))
            return plain(source, *facts)

        monkeypatch.setattr(Source, name, drawing)


def check_drawn(drawn, statement, runs, where, again=False):
    """As many numbers were drawn for each law and scale as are released; or that many, some times."""
    needed, size = collections.Counter(), 1
    for block in statement.released.values():
        needed[(block.law, block.units) if block.units else "real"] += runs * math.prod(block.shape)
    if "real" in needed:
        size = needed["real"]
    for law, count in needed.items():
        drew = drawn.pop(law, 0)
        assert drew == count or (again and drew > count and drew % (count // runs) == 0), (where, law, drew, count)
    for law, count in drawn.items():  # what a mechanism adds to the noise that it states
        assert count % size == 0, (where, law, count)


def check_apart(numbers, where, *, conditioned=False, vectors=False):
    """No rank correlation between two numbers, or between one and that of the next release; no sign preferred.

    The sizes of the numbers of `vectors` of a random length depend on each other. Noise that is `conditioned` was drawn
    until it made a positive matrix.
    """
    ranks = np.apply_along_axis(rankdata, 0, numbers)
    runs = len(numbers)
    assert (np.ptp(numbers, axis=0) > 0).all(), where
    for each in (ranks, *(() if conditioned or vectors else (np.apply_along_axis(rankdata, 0, np.abs(numbers)),))):
        centred = (each - each.mean(axis=0)) / each.std(axis=0)
        together = np.abs(centred.T @ centred / runs) - np.eye(len(centred.T))
        following = np.abs(centred[1:].T @ centred[:-1] / (runs - 1))
        assert max(together.max(), following.max()) * math.sqrt(runs - 2) < LARGEST, where
    if not conditioned:
        signs = np.sign(numbers).sum(axis=0) / math.sqrt(runs)
        assert np.abs(signs).max() < LARGEST, where


def check_distinct(numbers, statement, where):
    """No two released numbers of one scale are equal, or opposite, but for a few by chance."""
    by_scale = collections.defaultdict(list)
    for name, values in numbers.items():
        block = statement.released.get(name)
        if block is None or block.units >= SPREAD:
            by_scale["coef" if block is None else block.grid].append(np.abs(values).ravel())
    for values in by_scale.values():
        together = np.concatenate(values)
        assert len(together) - len(np.unique(together)) <= 5 + len(together) // 100, where


PRIVATE = [name for name, about in mechanisms.SHORTHANDS.items() if about.private]


@pytest.mark.parametrize("name", PRIVATE)
def test_all_numbers_that_fits_release_have_noise_of_their_own(name, monkeypatch):
    runs, taken = 100, configurations(name)
    assert taken
    for seed, (facts, planned) in enumerate(taken):
        where = (facts["mechanism"], {fact: facts[fact] for fact in facts if fact not in ("mechanism", "bounds")})
        with monkeypatch.context() as patch:
            recording = Recording(patch)
            numbers, statement = released(facts, runs, seed)
        assert {*map(pattern, statement.released)} == {*map(pattern, planned.released)}, where
        again = getattr(facts["mechanism"], "unbounded", "") == "rerun"
        check_drawn(recording.drawn, statement, runs, where, again)
        check_distinct(numbers, statement, where)
        # models in ranges are of rows that the noise of the ranges has moved
        names = [name for name in numbers if name.startswith(RANGES)] or list(numbers)
        vectors = any(block.law.family in (Law.NORM_GAMMA, Law.GAUGE) for block in statement.released.values())
        check_apart(np.hstack([numbers[name] for name in names]), where, conditioned=again, vectors=vectors)


def table(n=N):
    return pd.DataFrame(np.zeros((n, D)), columns=list(COLUMNS))


def moments(**options):
    made = dplr.release_moments(table(), bounds=dplr.Bounds(COLUMNS), eps=EPS, **options)
    return made.released_, made.privacy_


def evaluation(scores=None, y=None, compared=False, **options):
    scores = np.linspace(0.05, 0.95, N) if scores is None else scores
    y = np.arange(N) % 2 if y is None else y
    made = dplr.evaluate(scores, None, y, against=scores if compared else None, eps=EPS, **options)
    return made.released_, made.privacy_


def learned(rng):
    rows = pd.DataFrame({"a": np.arange(600) % 7, "b": np.arange(600) % 7, "t": np.tile([*"xyz"], 200)})
    made = dplr.learn_bounds(rows, eps=3.0, delta=1e-3, rng=rng)
    first, second, text = made.columns
    return {"outside": [first.outside, second.outside], "levels": [*text.shares.values()]}, made.privacy_


def table_of_cells(rng):
    bounds = dplr.Bounds({name: COLUMNS[name] for name in ("x0", "x1")})
    made = DPME(eps=EPS, bounds=bounds, bins=2, classes=[0, 1], rng=rng).fit(table()[["x0", "x1"]], np.arange(N) % 2)
    counts = np.zeros(math.prod(made.privacy_.released["counts"].shape))
    counts[made.released_["cells"]] = made.released_["counts"]
    return {"counts": counts}, made.privacy_


ANY = RELATIONS["add_remove"]
NUMBER = {"target_bounds": (-1.0, 1.0), "y": np.zeros(N), "scores": np.zeros(N)}
# A release of each other kind: its seed makes its numbers and its statement.
OTHERS = {
    "moments": moments,
    "moments, Gaussian": lambda rng: moments(delta=DELTA, noise="gaussian", rng=rng),
    "moments, add_remove": lambda rng: moments(rng=rng, **ANY),
    "labels": lambda rng: evaluation(rng=rng),
    "labels, add_remove": lambda rng: evaluation(rng=rng, **ANY),
    "classes": lambda rng: evaluation(scores=np.full((N, 3), 1 / 3), y=np.arange(N) % 3, classes=(0, 1, 2), rng=rng),
    "numbers": lambda rng: evaluation(rng=rng, **NUMBER),
    "two models": lambda rng: evaluation(compared=True, rng=rng),
    "two models of numbers": lambda rng: evaluation(compared=True, rng=rng, **NUMBER),
    "learned bounds": learned,
    "table of cells": table_of_cells,
}
FEW = ("learned bounds", "table of cells")  # which take long


@pytest.mark.parametrize("kind", OTHERS)
def test_all_numbers_of_other_releases_have_noise_of_their_own(kind):
    parts, runs = collections.defaultdict(list), 60 if kind in FEW else 150
    for seed in range(runs):
        numbers, statement = OTHERS[kind](rng=seed)
        for name, values in numbers.items():
            parts[name].append(np.ravel(values))
    assert {*parts} == {*statement.released}
    parts = {name: np.array(values) for name, values in parts.items()}
    if kind not in FEW:
        check_distinct(parts, statement, kind)
    check_apart(np.hstack([*parts.values()]), kind, conditioned=kind in FEW)


def test_two_fits_of_one_process_have_noise_of_their_own():
    """With the noise of a real release: a chance of 10^-8 that nothing is wrong and this is red."""
    y, facts = np.arange(N) % 2, {"eps": EPS, "bounds": dplr.Bounds(COLUMNS), "classes": (0, 1), "fit_intercept": False}
    fits = [dplr.fit(table(), y, mechanism="fm", **facts) for _ in range(100)]
    numbers = {name: np.array([fit.released_[name] for fit in fits]) for name in fits[0].released_}
    check_distinct(numbers, fits[0].privacy_, "fits")
    check_apart(np.hstack([*numbers.values()]), "fits")


def places_of_blocks():
    """{(file, line): (name of the file, first line)} of calls in the package that make a block with noise."""
    found = {}
    for path in pathlib.Path(dplr.__file__).parent.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(text)) if re.search("privacy.statement import .*\\bRelease\\b", text) else ():
            named = isinstance(node, ast.Call) and ast.unparse(node.func) == "Release"
            if not named or "Law.NONE" in ast.unparse(node) or any(keyword.arg is None for keyword in node.keywords):
                continue
            lines = range(node.lineno, node.end_lineno + 1)
            found |= {(str(path), line): (path.name, node.lineno) for line in lines}
    return found


def test_every_block_that_the_package_states_is_of_a_release_here():
    places = places_of_blocks()
    with lines_of_blocks() as reached:
        for release in OTHERS.values():
            release(rng=0)
    for name in PRIVATE:
        reached |= plans(mechanisms.SHORTHANDS[name].kind)[1]
    missing = {places[place] for place in places} - {places[place] for place in reached if place in places}
    assert [name for name, _ in missing] == ["merging.py"]  # sums of released blocks: no noise is drawn
    assert len({*places.values()}) > 9
