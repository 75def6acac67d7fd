"""Sums of finished parts in the journal of a fit, so that a resumed fit reads only the other parts.

Exact sums alone: merged in any order they have the same bits. See ledger/resuming.md, section 5.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

from dplr._kit.recorder import Recorder, digest
from dplr.rows.queries.losses import LossGradient
from dplr.rows.streams.parts import LocalParts, Parts, Pass, Progress
from dplr.rows.streams.passes import SumPass, Totals

# A sum is recorded after at least this many seconds of reading, this share of the reading of the pass so far, and this
# multiple of the time of the last record: records after the first cost at most a hundredth of the reading.
_SECONDS, _SHARE, _COST = 2.0, 0.05, 100.0
_PLACE = 8  # bytes: the first part that a sum does not hold


def name_of(parts: Parts, job: Pass[Any]) -> str | None:
    """The name of a pass over these rows, which no other pass has; None for one that is not recorded.

    Only exact sums that need no point are recorded, over parts whose identity is the same in any process. The number of
    rows of each person follows from the parts, and is not in the name.
    """
    if not isinstance(job, SumPass) or not isinstance(parts, LocalParts):
        return None
    if any(coef is not None or isinstance(query, LossGradient) for query, coef in job.queries):
        return None
    if not all(getattr(part, "lasts", True) for part in parts.parts):
        return None
    recipe = job.recipe
    if recipe.weighing is not None:
        recipe = replace(recipe, weighing=replace(recipe.weighing, counts=None, tally=None))
    try:
        return digest(recipe, [query for query, _ in job.queries], parts.identity)
    except TypeError:  # labels of a kind that has no text of its own
        return None


def finished_pass(parts: LocalParts, job: SumPass, name: str, recorder: Recorder, progress: Progress) -> Totals:
    """The state of all rows, with the parts that an earlier process finished; what this one finishes is recorded."""
    state, place = _recorded(job, name, recorder, progress)
    fresh, start, clock = job.zero(), place, _Clock()
    for part_sums in parts.after(place).sums(job, progress):
        fresh, place = job.merge(fresh, part_sums), place + 1
        if clock.is_due():
            recorder.record(f"{name} {start}", place.to_bytes(_PLACE, "little") + job.dump(fresh))
            clock.recorded()
            state, fresh, start = job.merge(state, fresh), job.zero(), place
    return job.merge(state, fresh)


def _recorded(job: SumPass, name: str, recorder: Recorder, progress: Progress) -> tuple[Totals, int]:
    """The sum of the first parts, which were finished before, and how many they are."""
    state, place = job.zero(), 0
    while (record := recorder.get(f"{name} {place}")) is not None:
        totals = job.load(record[_PLACE:])
        state, place = job.merge(state, totals), int.from_bytes(record[:_PLACE], "little")
        progress(totals[0].faults.rows if totals else 0)
    return state, place


class _Clock:
    """A clock of the time that parts were read since the last record."""

    def __init__(self) -> None:
        self._begun = self._last = self._now = time.monotonic()
        self._took = 0.0

    def is_due(self) -> bool:
        """Whether a record now costs little beside what it saves."""
        self._now = time.monotonic()
        total, since = self._now - self._begun, self._now - self._last
        return since >= max(_SECONDS, _SHARE * total, _COST * self._took)

    def recorded(self) -> None:
        """A record was written since it was due."""
        self._last = time.monotonic()
        self._took = self._last - self._now
