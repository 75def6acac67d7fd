"""Fits of a problem that a test wrote itself: by a mechanism alone, or through plan, reserve, run, commit."""

from typing import Any, NamedTuple

from dplr._kit.progress import silent
from dplr.fitting import run as fitting
from dplr.fitting.one_vs_rest import plan_models


class Fitted(NamedTuple):
    """What a mechanism released for one model, and what follows from it."""

    coef: Any
    released: Any
    iterates: Any
    statement: Any


def once(mechanism, rows, plan, source):
    """One fit under a plan, which nobody accounts for."""
    return _fitted(plan, mechanism.run(rows, plan, source))


def often(mechanism, rows, plan, source, count):
    """Many fits under one plan."""
    return [_fitted(plan, part) for part in mechanism.run_many(rows, [plan] * count, source)]


def _fitted(plan, part):
    (coef,) = plan.mechanism.solve(plan, [part])
    blocks = {name: block for name, block in part.items() if name not in ("coef", "iterates")}
    return Fitted(coef, blocks, part.get("iterates"), plan.statement)


def run_many(rows, problem, mechanism, levels, delta, ledger, source, track=silent):
    """One fit of one model for each eps of `levels`."""
    assert rows.geometry == problem.geometry
    planned = {eps: plan_models(mechanism, problem, eps, delta) for eps in set(levels)}  # audits have many of one level
    plans = fitting.marked([planned[eps] for eps in levels], source)
    with fitting.spending(ledger, [plan.statement for plan in plans], source) as reservation:
        released = fitting.run(rows, plans, source, track)
        done = [_fitted(plan, *each.parts) for plan, each in zip(plans, released, strict=True)]
        reservation.commit(None)
    return done


def run(rows, problem, mechanism, eps, delta, ledger, source):
    """One fit."""
    return run_many(rows, problem, mechanism, [eps], delta, ledger, source)[0]
