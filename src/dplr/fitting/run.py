"""The run of one fit or many, in order: reserve, sum, add noise, post-process, commit."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from dplr._kit.progress import Track, silent
from dplr.fitting import ranges
from dplr.fitting.one_vs_rest import ReleasePlan, fit_models
from dplr.ledger.budget import Budget, Reservation
from dplr.mechanisms.protocol import Mechanism
from dplr.noise import Source
from dplr.privacy.statement import PrivacyStatement
from dplr.problem.fit import Fit
from dplr.problem.plan import Plan
from dplr.rows import Rows
from dplr.rows.exact import Total
from dplr.solvers.certificate import NotCertified

T = TypeVar("T")
Vector = NDArray[np.float64]


class Outcome(NamedTuple):
    """One release: the fits of all its models, and the ranges that were released before, if any.

    Attributes
    ----------
    fits : of each model.
    ranges : block name -> noisy numbers.
    intervals : middle and half-width of each column that they gave; None for the bounds.
    """

    fits: list[Fit]
    ranges: dict[str, Vector]
    intervals: tuple[Vector, Vector] | None


def run(
    models: Callable[[int | None], Rows],
    planned: Sequence[ReleasePlan],
    classes: int,
    ledger: Budget,
    source: Source,
    track: Track = silent,
    keep: Callable[[list[tuple[PrivacyStatement, Outcome]]], bytes | None] | None = None,
) -> list[tuple[PrivacyStatement, Outcome]]:
    """Follow each plan and account for all of them: statements, and the fits of all models; see `fit_models`.

    The ledger refuses before a row is read: all fits fit into the budget, or none is begun. A fault in the data raises
    before any noise is drawn, and the budget comes back; once noise was drawn nothing is refunded, and a crash leaves
    the reservation spent. So does a solver that missed its tolerance: whether it did depends on the data.
    """
    different = {id(plan): plan for plan in planned}  # one object for a plan, however often it runs
    marked = {key: plan.drawn_from(source) for key, plan in different.items()}
    plans = [marked[id(plan)] for plan in planned]
    statements = [plan.statement for plan in plans]

    with spending(ledger, statements, source) as reservation:
        done = list(zip(statements, _fits(models, plans, classes, source, track), strict=True))
        reservation.commit(None if keep is None else keep(done))
    return done


def _fits(
    models: Callable[[int | None], Rows],
    planned: Sequence[ReleasePlan],
    classes: int,
    source: Source,
    track: Track,
) -> list[Outcome]:
    """The fits of all plans: plans without ranges together, plans with ranges one by one, since each has its own."""
    moments = _checked_moments(models(None), planned)
    together: dict[Mechanism, list[Plan]] = {}
    for entry in planned:
        if entry.ranges is None:
            together.setdefault(entry.mechanism, []).append(entry.plan)
    fits: dict[Mechanism, Iterator[list[Fit]]] = {}
    for mechanism, plans in together.items():
        fits[mechanism] = iter(fit_models(models, mechanism, plans, classes, source, track))
    done = []
    for entry in planned:
        if entry.ranges is None or moments is None:
            done.append(Outcome(next(fits[entry.mechanism]), {}, None))
            continue
        numbers = ranges.drawn(moments, entry.ranges, source)
        parts = ranges.intervals(numbers, entry.ranges.released, entry.ranges.problem, entry.ranges.columns)
        narrowed = functools.partial(_narrowed, models, parts)
        (of_models,) = fit_models(narrowed, entry.mechanism, [entry.plan], classes, source, track)
        done.append(Outcome(of_models, numbers, parts))
    return done


def _checked_moments(rows: Rows, planned: Sequence[ReleasePlan]) -> Total | None:
    """The sums from which ranges are released; faults of the rows are raised now, before any noise is drawn.

    Every mechanism looks at the rows first: one that refuses them must not come after the noise of another.
    """
    for entry in {id(entry): entry for entry in planned}.values():
        entry.mechanism.check_rows(rows, entry.plan.problem)
    return ranges.moments_of(rows) if any(entry.ranges is not None for entry in planned) else None


def _narrowed(models: Callable[[int | None], Rows], intervals: tuple[Vector, Vector], position: int | None) -> Rows:
    """The rows of a model in their ranges."""
    return models(position).narrowed(*intervals)


def accounted(
    ledger: Budget,
    statements: Sequence[PrivacyStatement],
    source: Source,
    work: Callable[[], T],
    keep: Callable[[T], bytes | None] | None = None,
) -> T:
    """What `work` releases, paid for; the file that `keep` makes of it is written in the step that commits it."""
    with spending(ledger, statements, source) as reservation:
        done = work()
        reservation.commit(None if keep is None else keep(done))
    return done


@contextlib.contextmanager
def spending(ledger: Budget, statements: Sequence[PrivacyStatement], source: Source) -> Iterator[Reservation]:
    """Reserve before the first row is read; give back what failed before the first draw.

    The ledger is told before the first draw: if it no longer holds the budget, nothing is drawn. A missed tolerance
    depends on the data, so it is spent.
    """
    reservation, begun = ledger.reserve(*statements), False

    def first_draw() -> None:
        nonlocal begun
        begun = True
        reservation.draw()

    try:
        with source.told_first(first_draw):
            yield reservation
    except BaseException as error:
        if not begun:
            first_draw() if isinstance(error, NotCertified) else reservation.refund()
        raise
