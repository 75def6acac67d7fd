"""Products of two declared columns as further columns of the model. Proofs: layout.md."""

from __future__ import annotations

import difflib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dplr._kit.validation import is_listed, sentence
from dplr.bounds.curves import Curve
from dplr.bounds.kinds import Column, Numeric, Pair, middle, short

Matrix = NDArray[np.float64]

ALL = "all"
_FORM = 'Such as [["age", "hours"], ["age", "age"]], or "all".'
_MOST_PRODUCTS = 4096  # each is a column of the model at least
_NAMED = 5  # numbers in a sentence


@dataclass(frozen=True, slots=True)
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
    kind: ClassVar[str] = "product"

    @property
    def square(self) -> bool:
        """Whether a number is multiplied by itself."""
        return self.places[0] == self.places[1]

    @property
    def curve(self) -> Curve | None:
        """The second factor, where it is a curve and the first one has levels."""
        second = self.factors[1]
        return second if isinstance(second, Curve) and _has_levels(self.factors[0]) else None

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
        if self.curve:
            return self.factors[0].block * len(self.curve.places)
        first, second = (1 if factor.number else factor.block for factor in self.factors)
        return first * second

    @property
    def pair(self) -> Pair:
        """The range of every column."""
        reach = math.prod(_reach(factor.number) for factor in self.factors if factor.number and not self.curve)
        return (0.0 if self.square or not self.numbers else -reach, reach)

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
        first, second = (_phrase(factor, features[j]) for j, factor in zip(self.places, self.factors, strict=True))
        if self.curve:
            return f"a curve of {features[self.places[1]]} for {first}"
        return f"{first} squared" if self.square else f"{first} * {second}"

    def _names(self, features: Sequence[str]) -> list[list[str]]:
        """Names of the columns of each factor that take part."""
        names = [_names(factor, features[place]) for place, factor in zip(self.places, self.factors, strict=True)]
        if self.curve:
            knots = self.curve.names(features[self.places[1]])[self.curve.line :]
            names[1] = knots[: len(self.curve.places)]
        return names

    def write(self, encoded: Matrix, firsts: Sequence[int], out: Matrix) -> None:
        """Fill the columns from those of the factors, whose first ones are given. Every row by itself.

        Where both factors count as something, so does the product; a row that is refused is refused for its factor.
        """
        if self.curve:
            first, second = (encoded[:, start:] for start in firsts)
            levels, start = first[:, : self.factors[0].block], int(self.curve.line)
            shares = second[:, start : start + len(self.curve.places)]
            out[:] = np.where((levels != 0)[:, :, np.newaxis], shares[:, np.newaxis], 0.0).reshape(len(out), self.width)
            return
        parts = [_part(encoded[:, first:], factor) for first, factor in zip(firsts, self.factors, strict=True)]
        if self.numbers == 2:
            out[:, 0] = parts[0][:, 0] * parts[1][:, 0]
        elif self.numbers == 1:
            number, block = parts if self.factors[0].number else parts[::-1]
            out[:] = np.where(block != 0, number, 0.0)
        else:
            both = (parts[0] != 0)[:, :, np.newaxis] & (parts[1] != 0)[:, np.newaxis, :]
            out[:] = both.reshape(len(out), self.width)


def read_products(pairs: Any, names: Sequence[str] | None, columns: Sequence[Column]) -> tuple[Product, ...]:
    """The products that a list of pairs describes: of names, or of positions where columns have no names; or "all".

    All are every square of a number and every product of two columns: polynomials of degree 2. A column of two levels
    has no square, and levels no product with themselves: those would repeat a column.
    """
    if isinstance(pairs, str) and pairs == ALL:
        pairs = _all_pairs(names, columns)
    if not is_listed(pairs):
        raise TypeError(sentence("products", "must be a list of pairs of columns", pairs, _FORM))
    if len(pairs) > _MOST_PRODUCTS:
        raise ValueError(sentence("products", f"must list at most {_MOST_PRODUCTS} pairs", f"{len(pairs)} pairs"))
    products, places = [], set()
    place_of = None if names is None else {name: place for place, name in enumerate(names)}
    for pair in pairs:
        if not is_listed(pair) or len(pair) != 2:
            raise ValueError(sentence("products", "must be a list of pairs of columns", pair, _FORM))
        first, second = (_place(factor, place_of, len(columns)) for factor in pair)
        if isinstance(columns[first], Curve) and _has_levels(columns[second]):
            first, second = second, first  # the knots of each level lie side by side
        if frozenset((first, second)) in places:
            raise ValueError(sentence("products", "must list every product once", list(pair), "Drop the second one."))
        places.add(frozenset((first, second)))
        products.append(_checked(Product((first, second), (columns[first], columns[second])), list(pair)))
    return tuple(products)


def _all_pairs(names: Sequence[str] | None, columns: Sequence[Column]) -> list[tuple[str | int, str | int]]:
    places = combinations_with_replacement(range(len(columns)), 2)
    pairs = [(a, b) for a, b in places if not _is_refused(Product((a, b), (columns[a], columns[b])))]
    return list(pairs) if names is None else [(names[a], names[b]) for a, b in pairs]


def _has_levels(column: Column) -> bool:
    """Whether columns of levels or bins stand for it."""
    return column.number is None and not isinstance(column, Curve)


def _is_refused(product: Product) -> bool:
    return (product.square and _repeats(product.factors[0])) or _lacks_line(product)


def _repeats(column: Column) -> bool:
    """Whether the square of a column says nothing that the column does not say."""
    if isinstance(column, Curve) or column.number is None:
        return True
    return column.kind in ("binary", "ordinal") and column.number == (0.0, 1.0)


def _lacks_line(product: Product) -> bool:
    """Whether a curve without a line is a factor that must count as a number."""
    first, second = product.factors
    if isinstance(first, Curve) and _has_levels(second):
        return False  # the pair as it is listed; a product has the curve behind
    return not product.curve and any(isinstance(factor, Curve) and not factor.line for factor in product.factors)


def write_products(products: Sequence[Product], names: Sequence[str] | None) -> list[list[Any]]:
    """The pairs that `read_products` reads back."""
    return [[place if names is None else names[place] for place in product.places] for product in products]


def centred(products: Sequence[Product], features: Sequence[str]) -> str:
    """From where numbers count in products, as a sentence; empty where no product has a number."""
    starts: dict[str, str] = {}
    for product in products:
        for place, factor in zip(product.places, product.factors, strict=True):
            if factor.number is not None and not product.curve:
                starts[_names(factor, features[place])[0]] = f"{middle(factor.number):.6g}"
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
        if name in names:
            return names[name]
        close = difflib.get_close_matches(name, names, 1)
        remedy = f"Did you mean {close[0]!r}?" if close else "Declare it among the features."
        raise ValueError(sentence("products", "must name columns of the bounds", column, remedy))
    if isinstance(column, (bool, np.bool_)) or not hasattr(column, "__index__"):
        remedy = "Columns without names are multiplied by position."
        raise TypeError(sentence("products", "must hold positions of columns", column, remedy))
    place = int(column.__index__())
    if not 0 <= place < count:
        raise ValueError(sentence("products", f"must hold positions from 0 to {count - 1}", place))
    return place


def _checked(product: Product, pair: list[Any]) -> Product:
    first = product.factors[0]
    if not product.square and _lacks_line(product):
        remedy = "Leave out line = false, and its line is multiplied; or multiply it by levels."
        raise ValueError(sentence("products", "must not multiply a curve without a line by a number", pair, remedy))
    if product.square and isinstance(first, Curve):
        remedy = "A curve bends by itself: drop the square."
        raise ValueError(sentence("products", "must not square a curve", pair, remedy))
    if product.square and _repeats(first):
        if first.number is None:
            remedy = "Each of their columns is 0 or 1, and so its own square."
            raise ValueError(sentence("products", "must not multiply levels by themselves", pair, remedy))
        remedy = "The square is the same for both: drop it."
        raise ValueError(sentence("products", "must not square a column of two levels", pair, remedy))
    low, high = product.pair
    if not (math.isfinite(high - low) and high > 0):
        raise ValueError(sentence("products", "must have a finite range above 0", pair, "Express them in other units."))
    return product


def _reach(number: Pair) -> float:
    """How far a number is from the middle of its range at most, as rounded subtractions have it."""
    low, high = number
    return max(high - middle(number), middle(number) - low)


def _names(factor: Column, feature: str) -> list[str]:
    """Of the number alone where there is one: a mark of what is missing takes no part."""
    names = factor.names(feature)
    return names[:1] if factor.number else names


def _phrase(factor: Column, feature: str) -> str:
    name = _names(factor, feature)[0] if factor.number else feature
    return f"({name} - {short(middle(factor.number))})" if factor.number else f"each column of {name}"


def _part(encoded: Matrix, factor: Column) -> Matrix:
    """The columns of a factor: a number clipped and less the middle, which is 0 exactly where a mark stands for it."""
    if factor.number is None:
        return encoded[:, : factor.block]
    low, high = factor.number
    return np.clip(encoded[:, :1], low, high) - middle(factor.number)
