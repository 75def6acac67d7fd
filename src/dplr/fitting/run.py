"""The whole story of one fit or many, in order: plan, reserve, sum, noise, post-process, commit."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from dplr._progress import Track, silent
from dplr.fitting.one_vs_rest import fit_classes, plan_classes
from dplr.fitting.silence import silence
from dplr.ledger.budget import Budget
from dplr.mechanisms.protocol import Mechanism
from dplr.noise import Source
from dplr.privacy.statement import PrivacyStatement
from dplr.problem.fit import Fit
from dplr.problem.plan import Plan
from dplr.problem.problem import Problem
from dplr.rows import Rows
from dplr.solvers.certificate import NotCertified

T = TypeVar("T")


def run(
    rows: Rows, problem: Problem, mechanism: Mechanism, eps: float, delta: float, ledger: Budget, source: Source
) -> Fit:
    """Fit one model and account for it: see `run_many`."""
    return run_many(rows, problem, mechanism, [eps], delta, ledger, source)[0]


def run_many(
    rows: Rows,
    problem: Problem,
    mechanism: Mechanism,
    levels: Sequence[float],
    delta: float,
    ledger: Budget,
    source: Source,
    track: Track = silent,
) -> list[Fit]:
    """Fit one model for each eps of `levels` and account for all of them.

    The ledger refuses before a row is read: all fits fit into the budget, or none is begun. A fault in the data raises
    before any noise is drawn, and the budget comes back; once noise was drawn nothing is refunded, and a crash leaves
    the reservation spent. So does a solver that missed its tolerance: whether it did depends on the data. A strict
    ledger gives nothing back, and what went wrong with the rows is not shown.
    """
    if rows.geometry != problem.geometry:
        raise ValueError("the rows and the problem must have one geometry; prepare both from the same public facts.")
    planned = {eps: _plan(problem, mechanism, eps, delta, source) for eps in dict.fromkeys(levels)}
    plans = [planned[eps] for eps in levels]
    statements = [plan.statement for plan in plans]
    return _accounted(ledger, statements, source, lambda: mechanism.run(rows, plans, source, track))


def run_classes(
    models: Callable[[int | None], Rows],
    classes: Sequence[Any],
    problem: Problem,
    mechanism: Mechanism,
    levels: Sequence[float],
    delta: float,
    ledger: Budget,
    source: Source,
    track: Track = silent,
) -> list[tuple[PrivacyStatement, list[Fit]]]:
    """For each eps of `levels` one model for each class against the rest, all under one statement and reservation.

    `models` gives the rows with code 1 for the class at a position (None: for all rows) and 0 for the rest.
    """
    planned = {eps: plan_classes(mechanism, problem, eps, delta, classes) for eps in dict.fromkeys(levels)}
    plans = [_drawn_from(source, planned[eps][0]) for eps in levels]
    statements = [replace(planned[eps][1], reproducible=source.reproducible) for eps in levels]
    work = functools.partial(fit_classes, models, mechanism, plans, classes, source, track)
    fits = _accounted(ledger, statements, source, work)
    return list(zip(statements, fits, strict=True))


def _accounted(
    ledger: Budget, statements: Sequence[PrivacyStatement], source: Source, work: Callable[[], list[T]]
) -> list[T]:
    """Reserve before the first row is read; commit, or give back where no noise was drawn."""
    drawn_before = source.drawn
    reservation = ledger.reserve(*statements)
    fits = None
    with silence() if ledger.strict else contextlib.nullcontext():
        try:
            fits = work()
        except BaseException as error:
            if source.drawn == drawn_before and not isinstance(error, NotCertified):
                reservation.refund()
            if not (ledger.strict and isinstance(error, Exception)):
                raise
    if fits is None:  # raised here and not above, where it would carry the error that it hides
        raise RuntimeError("the fit failed, and the ledger is strict: it says no more, and the budget stays spent.")
    reservation.commit()
    return fits


def _plan(problem: Problem, mechanism: Mechanism, eps: float, delta: float, source: Source) -> Plan:
    return _drawn_from(source, mechanism.plan(problem, eps, delta))


def _drawn_from(source: Source, plan: Plan) -> Plan:
    """The plan, whose statement says whether its noise can be drawn again."""
    return replace(plan, statement=replace(plan.statement, reproducible=source.reproducible))
