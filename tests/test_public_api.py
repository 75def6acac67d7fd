"""What is public is listed once, told apart from what is private, and documented without a gap."""

import ast
import functools
import importlib
import inspect
import pkgutil
import re
import types

import numpy as np
import pandas as pd
import pytest

import dplr
import privacy_section
from privacy_section import is_private
from public_api import (
    PUBLIC,
    ROOT,
    documented,
    function_of,
    gaps,
    gaps_of_public,
    members,
    objects,
    private_results,
    public_names,
    sections,
)

SOURCE = ROOT / "src" / "dplr"
FENCE = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# What users read and copy from.
USERS = [ROOT / "README.md", *(page for top in ("use", "papers") for page in (ROOT / "docs" / top).rglob("*.md"))]


def modules():
    return ["dplr", *(info.name for info in pkgutil.walk_packages(dplr.__path__, "dplr."))]


def kind(name):
    """Constants, then classes, then functions: the order that ruff keeps."""
    return (0 if name.isupper() and len(name) > 1 else 1 if name[0].isupper() else 2, name)


@pytest.mark.parametrize("module", PUBLIC)
def test_names_of_a_public_module_are_sorted_and_exist(module):
    home = importlib.import_module(module)
    assert home.__all__ == sorted(set(home.__all__), key=kind)
    assert [name for name in home.__all__ if name.startswith("_") or not hasattr(home, name)] == []


@pytest.mark.parametrize("module", [name for name in modules() if name.count(".") == 1])
def test_a_room_is_public_or_says_that_it_is_private(module):
    """Rooms with an underscore say so by their name."""
    private = is_private(importlib.import_module(module)) or module.startswith("dplr._")
    assert private == (module not in PUBLIC)


def test_public_modules_are_rooms():
    assert {name for name in modules() if name.count(".") <= 1} >= set(PUBLIC)


def test_private_modules_list_names_only_to_hand_on_those_of_others():
    for module in set(modules()) - set(PUBLIC):
        home = importlib.import_module(module)
        foreign = [
            name for name in getattr(home, "__all__", ()) if getattr(getattr(home, name), "__module__", "") != module
        ]
        assert foreign or not hasattr(home, "__all__"), module


def test_results_of_private_classes_are_seen(monkeypatch):
    monkeypatch.setitem(dplr.fit.__annotations__, "return", "Problem | Curve")
    assert "dplr.fit -> Problem" in set(private_results())


def imported(code):
    """Modules and names that a program imports, and dotted names that begin with dplr."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.split(".")[0] == "dplr")
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "dplr":
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def is_public(dotted):
    """Whether a dotted name is a public module, one of its names, or an attribute of one of these."""
    names = {*PUBLIC, *(name for module in PUBLIC for name in public_names(module)), "dplr.__version__"}
    parts = dotted.split(".")
    longest = max(count for count in range(1, len(parts) + 1) if ".".join(parts[:count]) in names)
    return longest == len(parts) or ".".join(parts[:longest]) not in PUBLIC


def private_names(text):
    """What a page names of dplr that is private: in its programs, and in backquotes in its prose."""
    named = {name for body in FENCE.findall(text) for name in imported(body)}
    named |= set(re.findall(r"`(dplr(?:\.\w+)+)", text))
    return sorted(name for name in named if not is_public(name))


def test_pages_for_users_name_what_is_public():
    found = {page.relative_to(ROOT).as_posix(): private_names(page.read_text()) for page in USERS}
    assert {page: names for page, names in found.items() if names} == {}
    assert [name for name in imported((SOURCE / "demo.py").read_text()) if not is_public(name)] == []


def test_private_names_on_a_page_are_seen():
    page = "```python\nfrom dplr.rows import Rows\nimport dplr.noise\n```\nSee `dplr.solvers.newton` and `dplr.fit`."
    assert private_names(page) == ["dplr.noise", "dplr.rows.Rows", "dplr.solvers.newton"]


def test_docstrings_have_no_gap():
    assert gaps() == []


def test_gaps_are_seen_where_there_are_any(monkeypatch):
    """A docstring without its sections has the gaps of each."""
    monkeypatch.setattr(dplr.fit, "__doc__", "Fit a model\n\n    eps : privacy loss.")
    found = set(gaps_of_public(dplr.fit))
    assert {"SS03", "PR01", "RT01", "SA01", "EX01"} <= found


def test_a_default_that_is_not_that_of_the_code_is_a_gap(monkeypatch):
    thing = inspect.unwrap(dplr.fit)
    monkeypatch.setattr(
        thing, "__doc__", thing.__doc__.replace("delta : float, default=0.0", "delta : float, default=0.1")
    )
    assert gaps_of_public(dplr.fit) == ["XD"]


def test_marks_that_the_site_would_misread_are_a_gap(monkeypatch):
    thing = inspect.unwrap(dplr.fit)
    broken = thing.__doc__.replace("Protects one record,", "Protects *.csv,")
    monkeypatch.setattr(thing, "__doc__", broken)
    assert gaps_of_public(dplr.fit) == ["XM"]


def test_a_docstring_that_cannot_be_parsed_is_a_gap(monkeypatch):
    monkeypatch.setattr(inspect.unwrap(dplr.fit), "__doc__", "Fit.\n\nSee Also\n--------\nnot an entry. a : b\n")
    assert gaps_of_public(dplr.fit) == ["XS"]


def test_members_of_public_classes_are_looked_at():
    found = {name for _, thing in objects() if inspect.isclass(thing) for name, _, _ in members(thing)}
    assert {"fit", "predict", "predict_proba", "conf_int", "reserve", "from_toml", "spent", "to_html"} <= found
    assert function_of(vars(dplr.Bounds)["from_toml"]) is not None


def fitted():
    """One model of every class of models, fitted to a table with names."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.uniform(0, 1, (2000, 2)), columns=["a", "b"])
    features, number = {"a": (0, 1), "b": (0, 1)}, frame["a"].rename("number")
    label, labels, numbers = (number > 0.5), dplr.Bounds(features), dplr.Bounds(features, target=(0, 2))

    def value(r):
        return np.sqrt(0.01 + r**2) / 10

    own = dplr.losses.residual_loss(
        value, lambda r: r / np.sqrt(0.01 + r**2) / 10, lambda r: 0.001 * (0.01 + r**2) ** -1.5, name="own"
    )
    yield dplr.LogisticRegression(bounds=labels).fit(frame, label)
    yield dplr.HuberSVC(bounds=labels).fit(frame, label)
    yield dplr.MarginClassifier(loss=dplr.losses.smoothed_hinge(0.5), bounds=labels).fit(frame, label)
    yield dplr.LinearRegression(bounds=numbers).fit(frame, number)
    yield dplr.HuberRegressor(bounds=numbers).fit(frame, number)
    yield dplr.PoissonRegressor(bounds=numbers).fit(frame, number)
    yield dplr.ResidualRegressor(loss=own, bounds=numbers).fit(frame, number)
    search = dplr.PrivateSearch(dplr.LogisticRegression(bounds=labels, mechanism="fm"), {"l2": [0.01, 1.0]})
    yield search.fit(frame, label)
    yield dplr.preprocessing.RandomFourierFeatures(5).fit(frame)


def learnt(est):
    """Names that a fit adds: attributes of the object, and properties of its class; a search has some of its model."""
    names = {*vars(est), *(name for name, _, shown in members(type(est)) if isinstance(shown, property))}
    chosen = {"classes_", "n_features_in_", "cv_results_"} if isinstance(est, dplr.PrivateSearch) else set()
    return {name for name in names if name.endswith("_") and not name.startswith("_")} - chosen


def test_what_a_fit_sets_is_documented_and_what_is_documented_is_set():
    differ = {type(est).__name__: learnt(est) ^ documented(sections(type(est)), "Attributes") for est in fitted()}
    assert len(differ) == 9
    assert {name: names for name, names in differ.items() if names} == {}


def test_the_site_shows_privacy_and_leaves_out_what_is_private(monkeypatch):
    from numpydoc.docscrape_sphinx import SphinxDocString

    monkeypatch.setattr(SphinxDocString, "_str_section", SphinxDocString._str_section)  # put back afterwards
    handlers = {}
    privacy_section.setup(types.SimpleNamespace(connect=handlers.__setitem__))
    shown = str(SphinxDocString(inspect.getdoc(dplr.fit)))
    assert ".. rubric:: Privacy\n\n" in shown
    assert "Protects one record" in shown
    skips = functools.partial(handlers["autodoc-skip-member"], None, "class", "")
    assert skips(dplr.Bounds.for_columns, False, None)
    assert skips(dplr.FunctionalMechanism.plan, False, None)
    assert skips(vars(dplr.Bounds)["layout"], False, None)
    assert not skips(dplr.Bounds.to_toml, False, None)
    assert not skips(dplr.LogisticRegression.predict, False, None)
    assert not skips(dplr.fit, False, None)
