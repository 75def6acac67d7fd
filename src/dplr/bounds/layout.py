"""Which columns the model has for the columns of a table, and for their products. Public facts only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

from dplr._kit.validation import sentence
from dplr.bounds.curves import Curve
from dplr.bounds.kinds import CONSTANT, INDICATOR, Bins, Column, Levels, Numeric, Pair
from dplr.bounds.products import Product
from dplr.bounds.provenance import Provenance

_MOST_LETTERS = 2**24  # of the names of all columns: a long name is written once for each level


@dataclass(frozen=True)
class Layout:
    """The declared columns in order; everything else follows from them.

    Attributes
    ----------
    features : their names.
    columns : what is known of each.
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
    def widths(self) -> tuple[int, ...]:
        """How many columns of the model each feature has, its number first, then its block; then each product."""
        of_columns = ((column.number is not None) + column.block for column in self.columns)
        return (*of_columns, *(product.width for product in self.products))

    @cached_property
    def width(self) -> int:
        """Number of columns of the model."""
        return sum(self.widths)

    @cached_property
    def firsts(self) -> tuple[int, ...]:
        """The first column of each feature, then of each product."""
        return tuple(accumulate(self.widths, initial=0))[:-1]

    @cached_property
    def blocks(self) -> tuple[tuple[int, int], ...]:
        """(first column, number of columns) of each one-hot block; the mark beside a number is a block of one."""
        of_columns = [
            (first + (column.number is not None), column.block)
            for first, column in zip(self.firsts, self.columns, strict=False)
            if column.block and not isinstance(column, Curve)
        ]
        hot = ((first, p.width) for first, p in self._products if not p.numbers and p.curve is None)
        return (*of_columns, *hot)

    @cached_property
    def hats(self) -> tuple[tuple[int, int, int], ...]:
        """(first column, number of columns, knots) of each block with a curve, or with one for each level."""
        places = zip(self.firsts, self.columns, strict=False)
        of_columns = [
            (first + column.line, column.block, len(column.places))
            for first, column in places
            if isinstance(column, Curve)
        ]
        return (*of_columns, *((first, p.width, len(p.curve.places)) for first, p in self._products if p.curve))

    @cached_property
    def shared(self) -> tuple[tuple[int, int], ...]:
        """(first column, number of columns) of each block of numbers of which at most one is not 0 in any row."""
        return tuple((first, p.width) for first, p in self._products if p.numbers == 1 and p.width > 1)

    @cached_property
    def marked(self) -> tuple[int, ...]:
        """The column of each number, or position of a level, that the mark of its missing values follows."""
        places = zip(self.firsts, self.columns, strict=False)
        marked = (first for first, c in places if c.number is not None and c.block and not isinstance(c, Curve))
        return tuple(marked)

    @cached_property
    def numbers(self) -> tuple[int, ...]:
        """The columns of the model that hold a number with bounds, or the product of two.

        Not the position of a level, nor a number that other columns share a row with: those keep their bounds.
        """
        places = zip(self.firsts, self.columns, strict=False)
        of_columns = (first for first, column in places if isinstance(column, Numeric) and column.number)
        return (*of_columns, *(first for first, product in self._products if product.numbers == 2))

    @cached_property
    def quantities(self) -> tuple[int, ...]:
        """Those of the numbers that measure something, and products of two such: not flags."""
        pairs = zip(self.firsts, self.columns, strict=False)
        singles = (first for first, column in pairs if isinstance(column, Numeric) and column.quantity)
        return (*singles, *(first for first, product in self._products if product.quantity))

    @cached_property
    def indicators(self) -> tuple[bool, ...]:
        """Whether each column of the model is 0 or 1 and measures nothing: flags, levels, bins, marks, level pairs."""
        marked = {first + k for first, width in self.blocks for k in range(width)}
        for first, column in zip(self.firsts, self.columns, strict=False):
            if isinstance(column, Curve):
                marked.update(range(first + column.line + len(column.places), first + column.line + column.block))
            elif column.kind == "binary" or (isinstance(column, Numeric) and column.flag):
                marked.add(first)
        return tuple(place in marked for place in range(self.width))

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
        of_columns = (
            pair
            for column in self.columns
            for pair in [*([column.number] if column.number else []), *[(0.0, 1.0)] * column.block]
        )
        return (*of_columns, *(product.pair for product in self.products for _ in range(product.width)))

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the columns of the model, such as "age", "log1p(gain)", "work=Private", "age is missing"."""
        pairs = zip(self.features, self.columns, strict=True)
        of_columns = (name for feature, column in pairs for name in column.names(feature))
        return (*of_columns, *(name for product in self.products for name in product.names(self.features)))

    def check_names(self) -> None:
        """Refuse two coefficients with one name, and one with the name of another column, product or level.

        Tests, contrasts, refits and tables find coefficients by all of these names.
        """
        letters = sum(len(name) * width for name, width in zip(self.features, self.widths, strict=False))
        if letters <= _MOST_LETTERS:
            letters += sum(product.letters(self.features) for product in self.products)
        if letters > _MOST_LETTERS:
            rule = f"must take at most {_MOST_LETTERS} characters in names of columns"
            raise ValueError(sentence("bounds", rule, letters, "Shorten names and levels."))
        pairs = zip(self.features, self.columns, strict=True)
        claims = [(repr(name), column.names(name), (name, *column.unnamed(name))) for name, column in pairs]
        for product in self.products:
            factors = " * ".join(self.features[place] for place in product.places)
            claims.append((f"the product {factors}", product.names(self.features), (factors,)))
        owners = {CONSTANT: "the intercept"}
        for owner, names, others in claims:
            made = set(names)
            for name in (*names, *(other for other in others if other not in made)):
                if name in owners:
                    remedy = f"It is of {owners[name]} and of {owner}: rename one of them."
                    raise ValueError(sentence("bounds", "must give every coefficient a name of its own", name, remedy))
                owners[name] = owner

    def facts(self, table: Sequence[str] | None = None) -> list[str]:
        """The columns in the sentences of a statement; `table` names those of the table."""
        named = list(zip(self.features, self.columns, strict=True))
        facts = []
        numbers = [f"{name} {column}" for name, column in named if isinstance(column, Numeric)]
        if numbers:
            facts.append(f"declared bounds (values outside are clipped): {', '.join(numbers)}")
        if self.straight:
            facts.append(f"numbers that stay straight, without a curve: {', '.join(self.straight)}")
        bins = [f"{name} {column}" for name, column in named if isinstance(column, Bins)]
        if bins:
            facts.append(f"declared bins (values outside count in the first or the last): {'; '.join(bins)}")
        for referred, rule in ((False, "none of them"), (True, "the reference, which has no column")):
            pairs = [(n, c) for n, c in named if isinstance(c, Levels) and (c.reference is not None) is referred]
            levels = "; ".join(f"{name} {column}" for name, column in pairs)
            facts += [f"declared levels (another value counts as {rule}): {levels}"] if levels else []
        fillers = [(name, column.missing) for name, column in named if column.missing is not None]
        if fillers:
            phrases = [f"in {name} {_filler(missing)}" for name, missing in fillers]
            facts.append(f"missing values are refused, except {', '.join(phrases)}")
        if self.products:
            phrases = [product.said(self.features) for product in self.products]
            facts.append(f"products of these columns, which are clipped before: {', '.join(phrases)}")
        ignored = [] if table is None or not self.named else [name for name in table if name not in set(self.features)]
        if ignored:
            facts.append(f"ignored columns: {', '.join(ignored)}")
        return facts if self.provenance is None else [*facts, self.provenance.fact]

    @property
    def _products(self) -> list[tuple[int, Product]]:
        """Each product with its first column."""
        return list(zip(self.firsts[len(self.columns) :], self.products, strict=True))


def _filler(missing: object) -> str:
    return "marked by a column of their own" if missing == INDICATOR else f"counted as {missing}"
