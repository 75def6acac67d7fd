"""The question mark of a notebook's diagram opens the page of the class on the documentation site."""

import inspect
import pathlib
import tomllib

import pytest

import api_pages
import dplr
import dplr.baselines
import dplr.preprocessing
import own_losses
from dplr.estimators._html import DOCUMENTATION

URLS = tomllib.loads((pathlib.Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]["urls"]
DRAWN = [
    (module, thing)
    for module in (dplr, dplr.baselines, dplr.preprocessing)
    for thing in (getattr(module, name) for name in module.__all__)
    if inspect.isclass(thing) and hasattr(thing, "_get_doc_link")
]


OPTIONS = {
    "BoundsEncoder": {"bounds": dplr.Bounds([(0, 1)])},
    "MarginClassifier": {"loss": dplr.losses.smoothed_hinge(0.5)},
    "ResidualRegressor": {"loss": own_losses.own_log_cosh()},
    "PrivateSearch": {"estimator": dplr.LogisticRegression(), "candidates": {"l2": [0.1, 1.0]}},
}


def test_the_address_is_that_of_the_project():
    assert URLS["Documentation"] == DOCUMENTATION


def test_every_estimator_is_looked_at():
    assert {"LogisticRegression", "BoundsEncoder", "PrivateSearch", "DPME"} <= {cls.__name__ for _, cls in DRAWN}


@pytest.mark.parametrize(("module", "cls"), DRAWN, ids=lambda each: each.__name__)
def test_the_diagram_opens_the_page_of_the_class(module, cls):
    address = f"{DOCUMENTATION}reference/api/{module.__name__}.{cls.__name__}.html"
    assert f'href="{address}"' in cls(**OPTIONS.get(cls.__name__, {}))._repr_html_()


@pytest.mark.parametrize(("module", "cls"), DRAWN, ids=lambda each: each.__name__)
def test_the_page_of_the_class_is_in_the_reference(module, cls):
    assert cls.__name__ in api_pages.own_names(module.__name__)
