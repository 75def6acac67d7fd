"""Progress bars for long fits: tqdm if it is installed and asked for, otherwise nothing."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from dplr._kit.extras import install_words
from dplr._kit.warnings import warn

# A bar appears only for what takes longer.
_SECONDS = 1.0


# Passes items through and says, by a label, how far they got.
Track = Callable[[Sequence[Any], str], Iterable[Any]]


def silent(items: Sequence[Any], label: str) -> Iterable[Any]:
    return items


def bars(items: Sequence[Any], label: str) -> Iterable[Any]:
    """Show a bar once the first second is over.

    How long a step takes depends on the data: a bar is for the data holder, like warnings and errors.
    """
    tqdm = _tqdm()
    if tqdm is None:
        warn(f"progress=True shows nothing without tqdm. Install it with {install_words('progress')}.", UserWarning)
        return items
    shown: Iterable[Any] = tqdm(items, desc=label, delay=_SECONDS, leave=False)
    return shown


@contextlib.contextmanager
def row_bar(label: str, rows: int | None) -> Iterator[Callable[[int], Any]]:
    """Show how many rows of a pass were read, how quickly, and how long the rest takes."""
    tqdm = _tqdm()
    if tqdm is None:
        yield lambda more: None
        return
    with tqdm(total=rows, desc=label, unit=" rows", unit_scale=True, delay=_SECONDS, leave=False) as bar:
        yield bar.update


def _tqdm() -> Any:
    try:
        from tqdm.auto import tqdm
    except ModuleNotFoundError:
        return None
    return tqdm
