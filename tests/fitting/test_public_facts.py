"""Equal public facts are one object with one plan, and nothing private can be in what they are known by."""

import dataclasses

import numpy as np
import pandas as pd
import pytest

import dplr
from dplr.fitting import planning
from dplr.mechanisms import FunctionalMechanism
from dplr.mechanisms.protocol import Mechanism
from dplr.privacy.unit import Unit
from dplr.problem.losses import Loss

BOUNDS = {"age": (18, 99), "sex": {"levels": ["f", "m"]}, "flag": (0, 1)}
PUBLIC = (str, int, float, bool, type(None), Loss, dplr.Bounds, Unit, Mechanism)


@pytest.fixture
def keys(monkeypatch):
    """The fields and the key of all facts that are asked for, from an empty memory on."""
    found, real = [], planning.key_of
    monkeypatch.setattr(planning, "_FACTS", {})
    monkeypatch.setattr(planning, "key_of", lambda fields: found.append((fields, real(fields))) or found[-1][1])
    return found


def people(seed, n=400):
    rng = np.random.default_rng(seed)
    table = {"age": rng.uniform(10, 120, n), "sex": rng.choice(["f", "m"], n), "flag": rng.integers(0, 2, n)}
    return pd.DataFrame(table | {"id": rng.integers(0, 100, n) + seed, "w": rng.uniform(0, 3, n)}), rng.random(n) < 0.3


def fit(rows, **options):
    X, y = rows
    return dplr.fit(
        X, y, **{"eps": 1.0, "classes": (False, True), "mechanism": "fm", "bounds": dplr.Bounds(BOUNDS)} | options
    )


def leaves(value):
    if isinstance(value, (tuple, list)):
        for part in value:
            yield from leaves(part)
    else:
        yield value


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"neighbouring": "add_remove", "n_rows": 500},
        {"bounds": dplr.Bounds(BOUNDS, weight="w", weight_max=2.0), "mechanism": "objective"},
        {"bounds": dplr.Bounds(BOUNDS, person="id", rows_per_person=2), "neighbouring": "add_remove", "n_rows": 90},
        {"mechanism": "ngd", "delta": 1e-6, "curves": "auto"},
        {"mechanism": FunctionalMechanism(intervals="robust")},
    ],
    ids=str,
)
def test_no_private_fact_is_in_a_key_whatever_the_rows_hold(keys, options):
    for seed in (0, 1):
        fit(people(seed), **options)
    fields, every = zip(*keys, strict=True)
    assert len(set(every)) == len(planning._FACTS) == len(keys) / 2
    names = {field.name for field in dataclasses.fields(planning.PublicFacts)}
    for each in fields:
        assert each.keys() <= names
        assert all(isinstance(leaf, PUBLIC) for value in each.values() for leaf in leaves(value))


@pytest.mark.filterwarnings("ignore::dplr.PrivacyWarning")
def test_equal_public_facts_are_planned_once_and_others_anew(keys, monkeypatch):
    planned, real = [], FunctionalMechanism.plan
    monkeypatch.setattr(FunctionalMechanism, "plan", lambda *facts: planned.append(facts) or real(*facts))
    statements = [fit(people(seed)).privacy_ for seed in (0, 1)]
    count = len(planned)
    assert statements[0] is statements[1]
    fit(people(2), eps=2.0)
    assert len(planned) == 2 * count
    fit(people(2, n=401))
    assert len(planned) == 3 * count
    fit(people(2, n=401), rng=0)  # the plan is the same, and the statement says that its noise has a seed
    assert len(planned) == 3 * count


def test_what_is_equal_in_python_and_not_in_words_is_another_fact(keys):
    X = pd.DataFrame({"a": np.arange(300) % 2})
    y = np.arange(300) % 3 == 0
    for levels in ([0, 1], [False, True]):
        dplr.fit(X.astype(type(levels[0])), y, eps=1.0, mechanism="fm", bounds=dplr.Bounds({"a": {"levels": levels}}))
    assert len(planning._FACTS) == 2
    fit(people(0), l2=1.0)
    with pytest.raises(TypeError, match="`l2` must be"):
        fit(people(0), l2=True)
    with pytest.raises((ValueError, TypeError), match="`fit_intercept` must be"):
        fit(people(0), fit_intercept=1)


def test_public_rows_are_not_kept(keys):
    fit(people(0), mechanism="objective", public=people(3))
    assert keys == []
    assert planning._FACTS == {}
