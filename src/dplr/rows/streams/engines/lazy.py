"""Tables of any library that are read anew for every pass: one part of them."""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from dplr._kit.validation import sentence

# Rows of a batch: few enough to stay in a cache, many enough that the cost of a call does not matter.
BATCH_ROWS = 2**16


class Unreadable(ValueError):
    """Rows that the library which reads them could not read. What it says is the cause: it may quote a value."""


@dataclass(frozen=True, eq=False)
class LazyPart:
    """Rows that a function reads.

    Attributes
    ----------
    read : columns, None for all -> tables in memory or record batches, in one order.
    kind : name of the rows in errors.
    rows : number of rows; None where it is not known without reading them.
    identity : tells these rows from others. By default it is random, because a query may read other rows next time.
    lasts : whether reading again gives the same rows, or is refused.
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
        """Every row once; Unreadable where the library that reads them fails."""
        with explained(self.kind):
            yield from self.read(None if self.columns is None else list(self.columns))


@contextlib.contextmanager
def explained(kind: str) -> Iterator[None]:
    """Errors of other libraries as a sentence; those of this package, of the system and of memory as they are."""
    try:
        yield
    except MemoryError:
        raise
    except Exception as error:
        foreign = type(error).__module__.partition(".")[0] not in ("builtins", "dplr")
        if not foreign and not (isinstance(error, OSError) and error.errno is None):
            raise
        rule = "must be rows that can be read in every pass, as its schema declares them"
        remedy = "Read it with its own library to see which row or file is at fault, and write it anew."
        raise Unreadable(sentence("X", rule, f"{kind} with a {type(error).__name__}", remedy)) from error
