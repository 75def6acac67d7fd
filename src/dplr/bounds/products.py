"""Products of two declared columns as further columns of the model. Proofs: layout.md."""

from __future__ import annotations

import difflib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations_with_replacement
from typing import Any

import numpy as np

from dplr._kit.validation import is_listed, sentence
from dplr.bounds.columns import Column, Curve, Matrix, Numeric, Pair, middle, require, short

_FORM = 'Such as [["age", "hours"], ["age", "age"]], or "all".'
_MOST_PRODUCTS = 4096  # each is a column of the model at least
_NAMED = 5  # numbers in a sentence


@dataclass(frozen=True)
class Product:
    """The product of two columns, as the model has them: a number counts as what it is less the middle of its range.

    Two numbers give one column, a number and levels (or bins) one column per level, levels and levels one per pair. A
    curve and levels give a curve for each level; the curve is the second factor. In other products it is its line.

    Attributes
    ----------
    places : positions of the two declared columns, the same one twice for a square.
    factors : what is known of them.
    """

    places: tuple[int, int]
    factors: tuple[Column, Column]

    @property
    def square(self) -> bool:
        return self.places[0] == self.places[1]

    @cached_property
    def curve(self) -> Curve | None:
        """The second factor, where it is a curve and the first one has levels."""
        second = self.factors[1]
        return second if isinstance(second, Curve) and _has_levels(self.factors[0]) else None

    @cached_property
    def _spans(self) -> tuple[range, range]:
        """The columns of each factor that take part, counted from its first: of a number no mark does."""
        first, second = (range(1 if factor.number else factor.block) for factor in self.factors)
        if self.curve:
            second = range(self.curve.line, self.curve.line + len(self.curve.places))
        return first, second

    @property
    def numbers(self) -> int:
        """How many of the factors are numbers: 2 for one number, 1 for a block of them, 0 for a block of shares."""
        return 0 if self.curve else sum(factor.number is not None for factor in self.factors)

    @property
    def quantity(self) -> bool:
        """Whether it measures something, as both of its factors do."""
        return all(isinstance(factor, Numeric) and factor.quantity for factor in self.factors)

    @property
    def width(self) -> int:
        """Columns of the model; where a factor has levels, at most one of them is not zero in any row."""
        return math.prod(map(len, self._spans))

    @property
    def pair(self) -> Pair:
        """The range of every column, as rounded subtractions have it."""
        ranges = [factor.number for factor in self.factors if factor.number and not self.curve]
        reach = math.prod(max(high - middle((low, high)), middle((low, high)) - low) for low, high in ranges)
        return (0.0 if self.square or not ranges else -reach, reach)

    def _names(self, features: Sequence[str]) -> list[list[str]]:
        """Names of the columns of each factor that take part."""
        parts = zip(self.places, self.factors, self._spans, strict=True)
        return [factor.names(features[place])[span.start : span.stop] for place, factor, span in parts]

    def names(self, features: Sequence[str]) -> list[str]:
        """Names of the columns, such as "age*hours", "age^2", "age*work=Private"."""
        first, second = self._names(features)
        return [f"{first[0]}^2"] if self.square else [f"{a}*{b}" for a in first for b in second]

    def letters(self, features: Sequence[str]) -> int:
        """How long the names are together, without making them."""
        first, second = self._names(features)
        return sum(map(len, first)) * len(second) + sum(map(len, second)) * len(first) + self.width

    def said(self, features: Sequence[str]) -> str:
        """The product in the words of a statement."""
        first, second = (
            f"({names[0]} - {short(middle(factor.number))})" if factor.number else f"each column of {features[place]}"
            for place, factor, names in zip(self.places, self.factors, self._names(features), strict=True)
        )
        if self.curve:
            return f"a curve of {features[self.places[1]]} for {first}"
        return f"{first} squared" if self.square else f"{first} * {second}"

    def write(self, encoded: Matrix, firsts: Sequence[int], out: Matrix) -> None:
        """Fill the columns from those of the factors, whose first ones are given. Every row by itself.

        Where both factors count as something, so does the product; a row that is refused is refused for its factor.
        """
        parts = [
            encoded[:, first + span.start : first + span.stop] for first, span in zip(firsts, self._spans, strict=True)
        ]
        if not self.numbers:  # of levels with levels, 1 where both are there; with a curve, its shares
            second = parts[1] if self.curve else parts[1] != 0
            out[:] = np.where((parts[0] != 0)[:, :, np.newaxis], second[:, np.newaxis], 0.0).reshape(out.shape)
            return
        for k, factor in enumerate(self.factors):
            if factor.number:  # clipped, and less the middle: 0 exactly where a mark stands for it
                parts[k] = np.clip(parts[k], *factor.number) - middle(factor.number)
        if self.numbers == 2:
            out[:, 0] = parts[0][:, 0] * parts[1][:, 0]
        else:
            number, block = parts if self.factors[0].number else parts[::-1]
            out[:] = np.where(block != 0, number, 0.0)


def _has_levels(column: Column) -> bool:
    return column.number is None and not isinstance(column, Curve)


def _product(first: int, second: int, columns: Sequence[Column]) -> Product:
    if isinstance(columns[first], Curve) and _has_levels(columns[second]):
        first, second = second, first  # the knots of each level lie side by side
    return Product((first, second), (columns[first], columns[second]))


def _fault(product: Product) -> tuple[str, str] | None:
    """The rule that the product breaks, and a remedy: a square that repeats its column, a curve without a line."""
    first = product.factors[0]
    if product.square:
        if isinstance(first, Curve):
            return "must not square a curve", "A curve bends by itself: drop the square."
        if first.number is None:
            return "must not multiply levels by themselves", "Each of their columns is 0 or 1, and so its own square."
        if first.kind in ("binary", "ordinal") and first.number == (0.0, 1.0):
            return "must not square a column of two levels", "The square is the same for both: drop it."
    elif not product.curve and any(isinstance(factor, Curve) and not factor.line for factor in product.factors):
        remedy = "Leave out line = false, and its line is multiplied; or multiply it by levels."
        return "must not multiply a curve without a line by a number", remedy
    return None


def read_products(pairs: Any, names: Sequence[str] | None, columns: Sequence[Column]) -> tuple[Product, ...]:
    """The products that a list of pairs describes: of names, or of positions where columns have no names; or "all".

    All are every square of a number and every product of two columns: polynomials of degree 2. A column of two levels
    has no square, and levels no product with themselves: those would repeat a column.
    """
    shown = range(len(columns)) if names is None else names
    if isinstance(pairs, str) and pairs == "all":
        places = combinations_with_replacement(range(len(columns)), 2)
        pairs = [[shown[a], shown[b]] for a, b in places if _fault(_product(a, b, columns)) is None]
    require(is_listed(pairs), "products", "must be a list of pairs of columns", pairs, _FORM, TypeError)
    rule = f"must list at most {_MOST_PRODUCTS} pairs"
    require(len(pairs) <= _MOST_PRODUCTS, "products", rule, f"{len(pairs)} pairs")
    products: list[Product] = []
    seen: set[frozenset[int]] = set()
    place_of = None if names is None else {name: place for place, name in enumerate(names)}
    for pair in pairs:
        two = is_listed(pair) and len(pair) == 2
        require(two, "products", "must be a list of pairs of columns", pair, _FORM)
        first, second = (_place(factor, place_of, len(columns)) for factor in pair)
        product = _product(first, second, columns)
        remedy = "Drop the second one."
        require(frozenset(product.places) not in seen, "products", "must list every product once", list(pair), remedy)
        seen.add(frozenset(product.places))
        if fault := _fault(product):
            raise ValueError(sentence("products", fault[0], list(pair), fault[1]))
        low, high = product.pair
        finite, remedy = math.isfinite(high - low) and high > 0, "Express them in other units."
        require(finite, "products", "must have a finite range above 0", list(pair), remedy)
        products.append(product)
    return tuple(products)


def write_products(products: Sequence[Product], names: Sequence[str] | None) -> list[list[Any]]:
    """The pairs that `read_products` reads back."""
    return [[place if names is None else names[place] for place in product.places] for product in products]


def centred(products: Sequence[Product], features: Sequence[str]) -> str:
    """From where numbers count in products, as a sentence; empty where no product has a number."""
    starts = {
        factor.names(features[place])[0]: f"{middle(factor.number):.6g}"
        for product in products
        for place, factor in zip(product.places, product.factors, strict=True)
        if factor.number and not product.curve
    }
    if not starts:
        return ""
    clauses = [f"{name} counts from {start}" for name, start in list(starts.items())[:_NAMED]]
    remainder = f", and so do {len(starts) - _NAMED} more" if len(starts) > _NAMED else ""
    whose, there = ("their", "these middles") if len(starts) > 1 else ("its", "that middle")
    return (
        f"In products {', '.join(clauses)}{remainder}: the middle of {whose} bounds. The coefficient of a column "
        f"that is multiplied is its effect at {there}."
    )


def _place(column: Any, names: Mapping[str, int] | None, count: int) -> int:
    if names is not None:
        name = str(column)
        if name not in names:
            close = difflib.get_close_matches(name, names, 1)
            remedy = f"Did you mean {close[0]!r}?" if close else "Declare it among the features."
            raise ValueError(sentence("products", "must name columns of the bounds", column, remedy))
        return names[name]
    indexed = not isinstance(column, (bool, np.bool_)) and hasattr(column, "__index__")
    remedy = "Columns without names are multiplied by position."
    require(indexed, "products", "must hold positions of columns", column, remedy, TypeError)
    place = int(column.__index__())
    require(0 <= place < count, "products", f"must hold positions from 0 to {count - 1}", place)
    return place
