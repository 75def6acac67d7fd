"""Models with monotone curves: the nearest ones to those of a fitted model. Post-processing."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.isotonic import isotonic_regression

from dplr._kit.validation import check_choice, sentence
from dplr.bounds.columns import Curve, middle
from dplr.bounds.layout import Layout
from dplr.bounds.scaling import Prep
from dplr.estimators._refit import SAME_RELEASE
from dplr.mechanisms.protocol import chosen_columns

Vector = NDArray[np.float64]

DIRECTIONS = ("increasing", "decreasing")


def monotone(fitted: Any, directions: Mapping[str, str]) -> Any:
    """A copy of a fitted estimator: see `PrivateLinearModel.monotone`."""
    record = fitted._record
    layout = record.prep.layout
    if not isinstance(directions, Mapping) or not directions:
        remedy = 'Such as {"age": "increasing"}.'
        raise TypeError(sentence("directions", "must be a mapping of columns to directions", directions, remedy))
    places = {name: _place(layout, name) for name in directions}
    columns = chosen_columns(record.mechanism)
    for name, place in places.items():
        if columns is not None and not set(columns_of(layout, place)) <= set(columns):
            remedy = "Make the model of all columns of the curve."
            raise ValueError(sentence("directions", "must name curves that the model has as a whole", name, remedy))
    for name, direction in directions.items():
        check_choice(f"directions[{name!r}]", direction, DIRECTIONS)
    coefs = np.atleast_2d(np.array(fitted.coef_, np.float64))
    for coef in coefs:
        for name, place in places.items():
            project(record.prep, place, directions[name], coef)
    model = copy.copy(fitted)
    model.__dict__.pop("evaluation_", None)  # of the other model
    model._set_coef(coefs, np.atleast_1d(np.array(fitted.intercept_, np.float64)))
    model._monotone = {**fitted._monotone, **directions}
    replaced = {SAME_RELEASE, monotone_words(fitted._monotone)}
    solution = (part for part in fitted.privacy_.solution if part not in replaced)
    words = (*solution, monotone_words(model._monotone), SAME_RELEASE)
    plan = replace(record.plan, statement=replace(record.plan.statement, solution=words))
    model._record = replace(record, plan=plan)
    model.privacy_ = replace(fitted.privacy_, solution=words)
    return model


def monotone_words(directions: Mapping[str, str]) -> str:
    return "curves made monotone: " + ", ".join(f"{name} {direction}" for name, direction in directions.items())


def _place(layout: Layout | None, name: str) -> int:
    """The place of a curve among the columns of the table."""
    declared = () if layout is None else zip(layout.features, layout.columns, strict=True)
    curves = [feature for feature, column in declared if isinstance(column, Curve)]
    if name not in curves:
        remedy = "Declare knots for it, or fit with curves=8."
        raise ValueError(sentence("directions", f"must name curves, {curves[:20]}", name, remedy))
    assert layout is not None
    place = layout.features.index(name)
    if product := tilted(layout, place):
        remedy = "Leave out the product: there the curve is another one for each value of the other column."
        raise ValueError(sentence("directions", "must name curves whose line is no factor", product, remedy))
    return place


def tilted(layout: Layout, place: int) -> str:
    """The first product that has the line of a curve as a factor, in words; empty where there is none."""
    tilts = [p for p in layout.products if place in p.places and p.curve is not layout.columns[place]]
    return tilts[0].said(layout.features) if tilts else ""


def columns_of(layout: Layout, place: int) -> range:
    """The columns of the model that hold a curve of the table: its line, its knots, its mark."""
    return range(layout.firsts[place], layout.firsts[place] + layout.widths[place])


def project(prep: Prep, place: int, direction: str, coef: Vector) -> None:
    """Take the curves of one column to the nearest monotone ones, in place; the line goes into the knots."""
    layout, ends, increasing = prep.layout, np.array(prep.ends, np.float64).T, direction == DIRECTIONS[0]
    assert layout is not None
    column, first = layout.columns[place], layout.firsts[place]
    assert isinstance(column, Curve)
    places = np.array(column.places)
    weights = np.gradient(places)  # of the knots, evenly over the bounds
    weights[[0, -1]] /= 2
    knots = slice(first + column.line, first + column.line + len(places))
    values = coef[knots].copy()
    if column.line:
        slope, coef[first] = coef[first], 0.0
        values += slope * np.clip(places, *ends[first])
        if column.block > len(places):
            coef[knots.stop] += slope * float(np.clip(middle(column.range), *ends[first]))
    coef[knots] = nearest = isotonic_regression(values, sample_weight=weights, increasing=increasing)
    for start, product in zip(layout.firsts[len(layout.columns) :], layout.products, strict=True):
        if product.curve is not None and product.places[1] == place:
            for run in range(start, start + product.width, len(places)):
                group = slice(run, run + len(places))
                curve = isotonic_regression(values + coef[group], sample_weight=weights, increasing=increasing)
                coef[group] = curve - nearest
