"""Tables of any library that are read anew for every pass: one part of them."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

# Rows of a batch: few enough to stay in a cache, many enough that the cost of a call does not matter.
BATCH_ROWS = 2**16


@dataclass(frozen=True, eq=False)
class LazyPart:
    """Rows that a function reads.

    Attributes
    ----------
    read : columns, None for all -> tables in memory or record batches, in one order.
    kind : name of the rows in errors.
    rows : number of rows; None where it is not known without reading them.
    identity : tells these rows from others. By default it is random, because a query may read other rows next time.
    lasts : whether the identity is the same in another process.
    """

    read: Callable[[list[str] | None], Iterator[Any]]
    kind: str
    rows: int | None = None
    identity: str = ""
    columns: tuple[str, ...] | None = field(default=None)
    lasts: bool = True

    def __post_init__(self) -> None:
        if not self.identity:
            object.__setattr__(self, "identity", f"{self.kind} {uuid.uuid4().hex[:12]}")
            object.__setattr__(self, "lasts", False)

    def chosen(self, columns: Sequence[str]) -> LazyPart:
        """The part with these columns alone."""
        return replace(self, columns=tuple(dict.fromkeys(columns)))

    def batches(self) -> Iterator[Any]:
        """Every row once."""
        return self.read(None if self.columns is None else list(self.columns))
