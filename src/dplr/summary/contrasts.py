"""Contrasts: the released coefficients as differences to reference levels. Post-processing of them and public facts.

A block with a column for each of its levels, and a constant beside it, has one column more than it can tell apart: in a
row with a declared level the columns add up to 1. So coefficients may be moved between block and constant, and nothing
else of the model changes. Here the reference level is moved to 0. A product with that level goes to its other factor.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dplr.bounds.columns import Curve, middle
from dplr.bounds.layout import Layout
from dplr.bounds.products import Product
from dplr.bounds.scaling import Prep
from dplr.summary.columns import compared_knots, declared_reference, levels_of, narrowed, spare_knots

Matrix = NDArray[np.float64]

_MOST = 256  # directions of the noise at a time


@dataclass(frozen=True, eq=False, slots=True)
class Contrasts:
    """A model in terms of its reference levels. Predictions are those of the released coefficients.

    Except in a row with a value that is not among the declared levels: it is 0 in all columns of their block, which
    here is the reference, and there is not. Its prediction is that of the reference less what was moved.

    Attributes
    ----------
    names : of the columns that are left, in their order.
    positions : of these columns among all columns of the model.
    references : column of the table -> the level that its others are compared with.
    coef : (models, columns) in the user's units.
    intercept : (models,): at the reference levels, and 0 elsewhere.
    """

    names: tuple[str, ...]
    positions: tuple[int, ...]
    references: Mapping[str, str]
    coef: Matrix
    intercept: Matrix


def contrasts(names: Sequence[str], coef: Matrix, intercept: Matrix, prep: Prep | None) -> Contrasts:
    """The contrasts of models with these names, coefficients (models, columns) and intercepts (models,).

    The reference is the declared level, which has no column, or else the first one. Without a constant nothing is
    moved: then levels can be told apart. `prep` is None where nothing is declared of the columns.
    """
    coef, intercept = np.array(coef, np.float64), np.array(intercept, np.float64)
    layout = None if prep is None else prep.layout
    if layout is None or layout.width != len(names):
        return Contrasts(tuple(names), tuple(range(len(names))), {}, coef, intercept)
    assert prep is not None
    references = {
        feature: str(level)
        for feature, column in zip(layout.features, layout.columns, strict=True)
        if (level := declared_reference(column)) is not None
    }
    left_out: set[int] = set()
    if prep.geometry.intercept:
        full = _full(layout)
        for first, product in _movable(layout, full, narrowed(prep)):
            left_out |= _move_product(layout, first, product, full, coef, intercept)
        for places in _spare(layout, narrowed(prep)):
            left_out |= _move_knots(places, coef, intercept)
        for feature, column, first in zip(layout.features, layout.columns, layout.firsts, strict=False):
            if isinstance(column, Curve) and first + column.line in left_out:
                references[feature] = compared_knots(column, first, left_out)
        for place in full:
            first = layout.firsts[place]
            levels = np.arange(first + 1, first + layout.columns[place].block)
            intercept += coef[:, first]
            coef[:, levels] -= coef[:, [first]]
            left_out.add(first)
            references[layout.features[place]] = levels_of(layout.columns[place])[0]
    positions = tuple(j for j in range(len(names)) if j not in left_out)
    in_order = {feature: references[feature] for feature in layout.features if feature in references}
    return Contrasts(tuple(names[j] for j in positions), positions, in_order, coef[:, list(positions)], intercept)


def deviations(names: Sequence[str], deviation: float, prep: Prep) -> tuple[Matrix, float]:
    """Standard deviations of the noise on contrasts (columns,) and intercept, in the user's units.

    `deviation` is that of each scaled coefficient, whose noises have equal deviations and no correlation, as the
    numbers of a Gaussian vector and of one with a spherical density do.
    """
    size, d = prep.geometry.n_coefs, prep.geometry.d
    start, offset = prep.to_user_units(np.zeros(size))
    squares, square = 0.0, 0.0
    for begin in range(0, size, _MOST):
        units = np.eye(min(_MOST, size - begin), size, begin)
        models = [prep.to_user_units(unit) for unit in units]
        unit_contrasts = contrasts(
            names,
            np.array([slopes - start for slopes, _ in models]).reshape(-1, d),
            np.array([constant - offset for _, constant in models]),
            prep,
        )
        squares = squares + (unit_contrasts.coef**2).sum(axis=0)
        square += float((unit_contrasts.intercept**2).sum())
    return deviation * np.sqrt(squares), float(deviation * np.sqrt(square))


def _spare(layout: Layout, narrow: Collection[int]) -> list[dict[int, dict[int, float]]]:
    """Groups of knots that other columns make up for, products before the levels and curves that they go to."""
    spare = spare_knots(layout, True, range(layout.width), narrow)
    singles = len(layout.columns) and (layout.firsts[len(layout.columns)] if layout.products else layout.width)
    products = [{place: parts} for place, parts in spare.items() if place >= singles]
    curves: dict[int, dict[int, dict[int, float]]] = {}
    for place, parts in spare.items():
        if place < singles:
            feature = max(first for first in layout.firsts if first <= place)
            curves.setdefault(feature, {})[place] = parts
    return [*products, *curves.values()]


def _move_knots(places: Mapping[int, Mapping[int, float]], coef: Matrix, intercept: Matrix) -> set[int]:
    """Take the coefficients of these knots to 0 along their directions, in place; the knots."""
    knots, size = list(places), coef.shape[1]
    directions = np.zeros((len(knots), size + 1))
    for direction, parts in zip(directions, places.values(), strict=True):
        direction[list(parts)] = list(parts.values())
    steps = np.linalg.solve(directions[:, knots].T, coef[:, knots].T).T  # (models, directions)
    moved = steps @ directions
    coef -= moved[:, :-1]
    intercept -= moved[:, -1]
    coef[:, knots] = 0.0
    return set(knots)


def _full(layout: Layout) -> tuple[int, ...]:
    """Places of the columns of the table each level of which has a column."""
    columns = enumerate(layout.columns)
    return tuple(place for place, column in columns if levels_of(column) and declared_reference(column) is None)


def _movable(layout: Layout, full: Sequence[int], narrow: frozenset[int]) -> Iterator[tuple[int, Product]]:
    """Each product with a column of `full`, and its first column.

    The other factor is a column of the model. Where that is a number in a narrower range, it is not what the product
    has, whose numbers keep their declared bounds: such a product stays as it is.
    """
    firsts = layout.firsts[len(layout.columns) :]
    for first, product in zip(firsts, layout.products, strict=True):
        if any(place in full for place in product.places):
            places = () if product.curve else product.places
            numbers = {layout.firsts[place] for place in places if layout.columns[place].number}
            if not numbers & narrow:
                yield first, product


def _move_product(
    layout: Layout, first: int, product: Product, full: Sequence[int], coef: Matrix, intercept: Matrix
) -> set[int]:
    """Take the reference levels of a product to 0, in place; the columns that this leaves out."""
    columns = [_columns(layout, place) for place in product.places]
    if product.curve:  # the knots of the curve, of which its line is a sum
        start = layout.firsts[product.places[1]] + product.curve.line
        columns[1] = np.arange(start, start + len(product.curve.places))
    block = first + np.arange(product.width).reshape([len(group) for group in columns])
    for axis in (0, 1):
        if product.places[axis] not in full:
            continue
        block = np.moveaxis(block, axis, 0)
        reference, rest, target = block[0], block[1:], columns[1 - axis]
        shift = coef[:, reference]
        coef[:, rest] -= shift[:, np.newaxis]
        coef[:, target] += shift
        coef[:, reference] = 0.0
        if product.curve is None and (number := layout.columns[product.places[1 - axis]].number) is not None:
            intercept -= middle(number) * shift[:, 0]
        block, columns[axis] = np.moveaxis(rest, 0, axis), columns[axis][1:]
    return set(range(first, first + product.width)) - set(block.ravel().tolist())


def _columns(layout: Layout, place: int) -> NDArray[np.intp]:
    """The columns of the model that a product multiplies for a column of the table."""
    column, first = layout.columns[place], layout.firsts[place]
    return np.arange(first, first + (1 if column.number else column.block))
