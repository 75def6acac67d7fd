"""Which columns the model has for the columns of a table: a number, a one-hot block, or both. Public facts only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from dplr.bounds.columns import INDICATOR, Column, Levels, Numeric, Pair


@dataclass(frozen=True)
class Layout:
    """The declared columns in order; everything else follows from them.

    Attributes
    ----------
    features : their names.
    columns : what is known of each.
    named : whether names find the columns of a table; else their order does.
    """

    features: tuple[str, ...]
    columns: tuple[Column, ...]
    named: bool

    @cached_property
    def plain(self) -> bool:
        """Whether a table's numbers are the model's as they stand."""
        return all(isinstance(c, Numeric) and c.transform == "clip" and c.missing is None for c in self.columns)

    @cached_property
    def widths(self) -> tuple[int, ...]:
        """How many columns of the model each feature has: its number first, then its block."""
        return tuple((column.number is not None) + column.block for column in self.columns)

    @cached_property
    def width(self) -> int:
        """Number of columns of the model."""
        return sum(self.widths)

    @cached_property
    def firsts(self) -> tuple[int, ...]:
        """The first column of each feature."""
        widths = self.widths
        return tuple(sum(widths[:j]) for j in range(len(widths)))

    @cached_property
    def blocks(self) -> tuple[tuple[int, int], ...]:
        """(first column, number of columns) of each one-hot block; the mark beside a number is a block of one."""
        return tuple(
            (first + (column.number is not None), column.block)
            for first, column in zip(self.firsts, self.columns, strict=True)
            if column.block
        )

    @cached_property
    def marked(self) -> tuple[int, ...]:
        """The column of each number, or position of a level, that the mark of its missing values follows."""
        known = zip(self.firsts, self.columns, strict=True)
        return tuple(first for first, column in known if column.number is not None and column.block)

    @cached_property
    def numbers(self) -> tuple[int, ...]:
        """The columns of the model that hold a number with bounds, and not the position of a level."""
        known = zip(self.firsts, self.columns, strict=True)
        return tuple(first for first, column in known if isinstance(column, Numeric))

    @cached_property
    def pairs(self) -> tuple[Pair, ...]:
        """The range of every column of the model; those of one-hot blocks are 0 or 1."""
        return tuple(
            pair
            for column in self.columns
            for pair in [*([column.number] if column.number else []), *[(0.0, 1.0)] * column.block]
        )

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the columns of the model, such as "age", "log1p(gain)", "work=Private", "age is missing"."""
        return tuple(
            name for feature, column in zip(self.features, self.columns, strict=True) for name in column.names(feature)
        )

    def facts(self, seen: Sequence[str] | None = None) -> list[str]:
        """What a statement says of the columns; `seen` are those of the table."""
        named = list(zip(self.features, self.columns, strict=True))
        facts = []
        numbers = [f"{name} {column}" for name, column in named if isinstance(column, Numeric)]
        if numbers:
            facts.append(f"declared bounds (values outside are clipped): {', '.join(numbers)}")
        levels = [f"{name} {column}" for name, column in named if isinstance(column, Levels)]
        if levels:
            facts.append(f"declared levels (another value counts as none of them): {'; '.join(levels)}")
        fillers = [(name, column.missing) for name, column in named if column.missing is not None]
        if fillers:
            said = [f"in {name} {_filler(missing)}" for name, missing in fillers]
            facts.append(f"missing values are refused, except {', '.join(said)}")
        ignored = [] if seen is None or not self.named else [name for name in seen if name not in set(self.features)]
        if ignored:
            facts.append(f"ignored columns: {', '.join(ignored)}")
        return facts


def _filler(missing: object) -> str:
    return "marked by a column of their own" if missing == INDICATOR else f"counted as {missing}"
