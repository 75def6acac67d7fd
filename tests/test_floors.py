"""Lower bounds are those that `make floors` installs, and what broke below them works at them."""

import pathlib
import re
import tomllib

import numpy as np
import pytest
from packaging.requirements import Requirement
from packaging.version import Version

import dplr
from dplr.estimators._callers import REFUSED

ROOT = pathlib.Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
# Read by tests alone, as a table that a user may bring.
BROUGHT = {"polars"}


def declared():
    """The lower bound of every library that users install, the lowest of several extras."""
    extras = PROJECT["optional-dependencies"]
    for_users = {name: each for name, each in extras.items() if name not in {"test", "oracle", "docs", "spark"}}
    listed = [*PROJECT["dependencies"], *(one for each in for_users.values() for one in each)]
    listed += [one for one in extras["test"] if Requirement(one).name in BROUGHT]
    bounds = {}
    for requirement in map(Requirement, listed):
        if requirement.name != "dplr":
            (lower,) = [Version(each.version) for each in requirement.specifier if each.operator == ">="]
            bounds[requirement.name] = min(lower, bounds.get(requirement.name, lower))
    return bounds


def tried():
    lines = (ROOT / ".ci" / "floors.txt").read_text().splitlines()
    pins = [line.split("==") for line in lines if line and not line.startswith("#")]
    return {name: Version(version) for name, version in pins}


def test_every_lower_bound_is_the_version_that_is_tried():
    assert tried() == declared()


def test_the_oldest_version_of_spark_is_the_one_that_the_makefile_names():
    requirement = Requirement(PROJECT["optional-dependencies"]["spark"][0])
    (lower,) = [Version(each.version) for each in requirement.specifier if each.operator == ">="]
    (line,) = re.findall(r"`make spark .*?PIN=\"?(.*?)\"?`", (ROOT / "Makefile").read_text())
    pin = Requirement(line)
    assert (pin.name, pin.extras, str(pin.specifier)[:2]) == (requirement.name, requirement.extras, "==")
    assert Version(str(pin.specifier)[2:]) == lower


def test_tests_at_the_floors_exist():
    (listed,) = re.findall(r"^FLOOR_TESTS := ((?:.*\\\n)*.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    named = listed.replace("\\\n", " ").split()
    assert len(named) > 10
    assert [path for path in named if not (ROOT / path).exists()] == []


# What a frame of scikit-learn's bag holds in each version: weights of its own, or among the parameters of the fit.
_FRAMES = {
    "from 1.8 on": "def _parallel_build_estimators(ensemble, sample_weight, fit_params, est, X, y): est.fit(X, y)",
    "before 1.8": "def _parallel_build_estimators(ensemble, fit_params, est, X, y): est.fit(X, y)",
}


class Bag:
    bootstrap = False


@pytest.mark.parametrize("version", _FRAMES)
def test_a_bag_with_weights_is_refused_in_every_version_of_scikit_learn(version, entropy):
    space = {"__name__": "sklearn.ensemble._bagging"}
    exec(_FRAMES[version], space)
    (build,) = [space[name] for name in REFUSED if name in space]
    X, y, weights = np.linspace(0, 1, 20)[:, None], np.linspace(0, 1, 20), np.ones(20)
    est = dplr.LinearRegression(eps=1.0, bounds=dplr.Bounds([(0, 1)], target=(0, 1)))

    def fit(given):
        own = version == "from 1.8 on"
        build(Bag, *([given] if own else []), {} if own or given is None else {"sample_weight": given}, est, X, y)

    with pytest.raises(ValueError, match="a bag with weights"):
        fit(weights)
    assert entropy.bytes == 0
    with pytest.warns(dplr.PrivacyWarning, match="is not known"):  # a frame of a worker, and no client who sent it
        fit(None)
    assert entropy.bytes > 0
