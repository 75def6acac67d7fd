"""The whole story of a fit, in order: plan, reserve, sum, noise, post-process, commit."""

from __future__ import annotations

from dataclasses import replace

from dplr.certificate import NotCertified
from dplr.ledger import Budget
from dplr.mechanisms import Mechanism
from dplr.noise import Source
from dplr.problem import Problem
from dplr.result import Fit
from dplr.rows import Rows


def run(
    rows: Rows, problem: Problem, mechanism: Mechanism, eps: float, delta: float, ledger: Budget, source: Source
) -> Fit:
    """Fit one model and account for it.

    The ledger refuses before a row is read. A fault in the data raises before any noise is drawn, and the budget comes
    back; once noise was drawn nothing is refunded, and a crash leaves the reservation spent. So does a solver that
    missed its tolerance: whether it did depends on the data.
    """
    if rows.geometry != problem.geometry:
        raise ValueError("the rows and the problem must have one geometry; prepare both from the same public facts.")
    plan = mechanism.plan(problem, eps, delta)
    plan = replace(plan, statement=replace(plan.statement, reproducible=source.reproducible))
    drawn_before = source.drawn
    reservation = ledger.reserve(plan.statement)
    try:
        fit = mechanism.run(rows, plan, source)
    except BaseException as error:
        if source.drawn == drawn_before and not isinstance(error, NotCertified):
            reservation.release()
        raise
    reservation.commit()
    return fit
