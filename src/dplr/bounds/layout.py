"""Which columns the model has for the columns of a table, and for their products. Public facts only."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np

from dplr._kit.validation import sentence
from dplr.bounds.beside import Provenance
from dplr.bounds.columns import CONSTANT, Bins, Column, Curve, Levels, Matrix, Numeric, Pair, require
from dplr.bounds.products import Product

_MOST_LETTERS = 2**24  # of the names of all columns: a long name is written once for each level


class Group(NamedTuple):
    """Columns of the model that stand side by side.

    Attributes
    ----------
    kind : "number", of a number or the product of two; "position" of a level; "hot", of which at most one is 1 and the
        others 0; "mark" of what is missing, behind a number or position; "shares" of knots, and the mark behind them;
        "shared", numbers of which at most one is not 0.
    range : of every column.
    knots : of each curve, among its shares.
    flags : how many of the last columns are 0 or 1 and measure nothing.
    quantity : whether it measures something.
    """

    kind: str
    width: int
    range: Pair = (0.0, 1.0)
    knots: int = 0
    flags: int = 0
    quantity: bool = False


def _of_column(column: Column) -> Iterator[Group]:
    """The number, if there is one, and the block behind it."""
    number, block = column.number, column.block
    if number and isinstance(column, Numeric):
        yield Group("number", 1, number, 0, column.flag, column.quantity)
    elif number:
        yield Group("position", 1, number, flags=column.kind == "binary")
    if isinstance(column, Curve):
        yield Group("shares", block, knots=len(column.places), flags=column.marked)
    elif block:
        yield Group("mark" if number else "hot", block, flags=block)


def _of_product(product: Product) -> Group:
    if product.curve:
        return Group("shares", product.width, knots=len(product.curve.places))
    if not product.numbers:
        return Group("hot", product.width, flags=product.width)
    kind = "number" if product.numbers == 2 else "shared"
    return Group(kind, product.width, product.pair, quantity=product.quantity)


@dataclass(frozen=True)
class Layout:
    """The declared columns in order; everything else follows from them.

    Attributes
    ----------
    named : whether names find the columns of a table; else their order does.
    products : of these columns; they come after all of them.
    provenance : of learned bounds; None where all were declared.
    """

    features: tuple[str, ...]
    columns: tuple[Column, ...]
    named: bool
    products: tuple[Product, ...] = ()
    provenance: Provenance | None = None

    @cached_property
    def plain(self) -> bool:
        """Whether a table's numbers are the model's as they stand."""
        return not self.products and all(isinstance(column, Numeric) and column.plain for column in self.columns)

    @cached_property
    def groups(self) -> tuple[tuple[int, Group], ...]:
        """Each group with its first column."""
        groups = [group for column in self.columns for group in _of_column(column)]
        groups += map(_of_product, self.products)
        return tuple(zip(accumulate((group.width for group in groups), initial=0), groups, strict=False))

    @cached_property
    def widths(self) -> tuple[int, ...]:
        """How many columns of the model each feature has, its number first, then its block; then each product."""
        of_columns = ((column.number is not None) + column.block for column in self.columns)
        return (*of_columns, *(product.width for product in self.products))

    @cached_property
    def width(self) -> int:
        return sum(self.widths)

    @cached_property
    def firsts(self) -> tuple[int, ...]:
        """The first column of each feature, then of each product."""
        return tuple(accumulate(self.widths, initial=0))[:-1]

    @cached_property
    def blocks(self) -> tuple[tuple[int, int], ...]:
        """(first column, number of columns) of each one-hot block; the mark beside a number is a block of one."""
        return tuple((first, group.width) for first, group in self.groups if group.kind in ("hot", "mark"))

    @cached_property
    def hats(self) -> tuple[tuple[int, int, int], ...]:
        """(first column, number of columns, knots) of each block with a curve, or with one for each level."""
        return tuple((first, group.width, group.knots) for first, group in self.groups if group.kind == "shares")

    @cached_property
    def shared(self) -> tuple[tuple[int, int], ...]:
        """(first column, number of columns) of each block of numbers of which at most one is not 0 in any row."""
        return tuple((first, g.width) for first, g in self.groups if g.kind == "shared" and g.width > 1)

    @cached_property
    def marked(self) -> tuple[int, ...]:
        """The column of each number, or position of a level, that the mark of its missing values follows."""
        return tuple(first - 1 for first, group in self.groups if group.kind == "mark")

    @cached_property
    def numbers(self) -> tuple[int, ...]:
        """The columns of the model that hold a number with bounds, or the product of two.

        Not the position of a level, nor a number that other columns share a row with: those keep their bounds.
        """
        return tuple(first for first, group in self.groups if group.kind == "number")

    @cached_property
    def quantities(self) -> tuple[int, ...]:
        """Those of the numbers that measure something, and products of two such: not flags."""
        return tuple(first for first, group in self.groups if group.quantity)

    @cached_property
    def indicators(self) -> tuple[bool, ...]:
        """Whether each column of the model is 0 or 1 and measures nothing: flags, levels, bins, marks, level pairs."""
        return tuple(k >= group.width - group.flags for _, group in self.groups for k in range(group.width))

    @cached_property
    def straight(self) -> tuple[str, ...]:
        """The numbers without a curve, and why, where another number has one; else nothing."""
        if not self.hats:
            return ()
        squares = {product.places[0] for product in self.products if product.square}
        return tuple(
            f"{name} ({'a flag' if column.flag else 'squared' if place in squares else 'without knots'})"
            for place, (name, column) in enumerate(zip(self.features, self.columns, strict=True))
            if type(column) is Numeric
        )

    @cached_property
    def pairs(self) -> tuple[Pair, ...]:
        """The range of every column of the model; those of one-hot blocks are 0 or 1."""
        return tuple(group.range for _, group in self.groups for _ in range(group.width))

    @cached_property
    def ends(self) -> Matrix:
        """(2, columns) those ranges, lower ones first."""
        ends = np.array(self.pairs, np.float64).T
        ends.flags.writeable = False
        return ends

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the columns of the model, such as "age", "log1p(gain)", "work=Private", "age is missing"."""
        of_columns = (name for feature, column in self._named for name in column.names(feature))
        return (*of_columns, *(name for product in self.products for name in product.names(self.features)))

    @property
    def _named(self) -> list[tuple[str, Column]]:
        return list(zip(self.features, self.columns, strict=True))

    def check_names(self) -> None:
        """Refuse two coefficients with one name, and one with the name of another column, product or level.

        Tests, contrasts, refits and tables find coefficients by all of these names.
        """
        letters = sum(len(name) * width for name, width in zip(self.features, self.widths, strict=False))
        if letters <= _MOST_LETTERS:
            letters += sum(product.letters(self.features) for product in self.products)
        rule = f"must take at most {_MOST_LETTERS} characters in names of columns"
        require(letters <= _MOST_LETTERS, "bounds", rule, letters, "Shorten names and levels.")
        claims = [(repr(name), column.names(name), (name, *column.unnamed(name))) for name, column in self._named]
        for product in self.products:
            factors = " * ".join(self.features[place] for place in product.places)
            claims.append((f"the product {factors}", product.names(self.features), (factors,)))
        owners, rule = {CONSTANT: "the intercept"}, "must give every coefficient a name of its own"
        for owner, names, others in claims:
            made = set(names)
            for name in (*names, *(other for other in others if other not in made)):
                if name in owners:
                    remedy = f"It is of {owners[name]} and of {owner}: rename one of them."
                    raise ValueError(sentence("bounds", rule, name, remedy))
                owners[name] = owner

    @cached_property
    def made(self) -> dict[Any, Any]:
        """What was made of these columns and other public facts, such as the maps of `layout_prep`, to be made once."""
        return {}

    def __getstate__(self) -> dict[str, Any]:
        # What follows from the fields is found anew.
        return {each.name: getattr(self, each.name) for each in fields(self)}

    def facts(self, table: Sequence[str] | None = None) -> list[str]:
        """The columns in the sentences of a statement; `table` names those of the table."""
        features = set(self.features)
        ignored = [] if table is None or not self.named else [name for name in table if name not in features]
        learned = [] if self.provenance is None else [self.provenance.fact]
        return [*self._facts, *([f"ignored columns: {', '.join(ignored)}"] if ignored else []), *learned]

    @cached_property
    def _facts(self) -> list[str]:
        numbers = [f"{name} {column}" for name, column in self._named if isinstance(column, Numeric)]
        bins = [f"{name} {column}" for name, column in self._named if isinstance(column, Bins)]
        levels: dict[bool, list[str]] = {True: [], False: []}
        for name, column in self._named:
            if isinstance(column, Levels):
                levels[column.reference is None].append(f"{name} {column}")
        missing = [
            f"in {name} {'marked by a column of their own' if column.marked else f'counted as {column.missing}'}"
            for name, column in self._named
            if column.missing is not None
        ]
        clauses: list[tuple[str, str, Sequence[str]]] = [
            ("declared bounds (values outside are clipped): ", ", ", numbers),
            ("numbers that stay straight, without a curve: ", ", ", self.straight),
            ("declared bins (values outside count in the first or the last): ", "; ", bins),
            ("declared levels (another value counts as none of them): ", "; ", levels[True]),
            ("declared levels (another value counts as the reference, which has no column): ", "; ", levels[False]),
            ("missing values are refused, except ", ", ", missing),
            (
                "products of these columns, which are clipped before: ",
                ", ",
                [p.said(self.features) for p in self.products],
            ),
        ]
        return [lead + between.join(entries) for lead, between, entries in clauses if entries]
