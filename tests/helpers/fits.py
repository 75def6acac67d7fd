"""Fits of a problem that a test wrote itself, through the whole story: plan, reserve, run, commit."""

from dplr._kit.progress import silent
from dplr.fitting import run as fitting
from dplr.fitting.one_vs_rest import plan_models


def run_many(rows, problem, mechanism, levels, delta, ledger, source, track=silent):
    """One fit of one model for each eps of `levels`."""
    assert rows.geometry == problem.geometry
    planned = {eps: plan_models(mechanism, problem, eps, delta) for eps in set(levels)}  # audits have many of one level
    done = fitting.run(lambda _: rows, [planned[eps] for eps in levels], 0, ledger, source, track)
    return [fit for _, each in done for fit in each.fits]


def run(rows, problem, mechanism, eps, delta, ledger, source):
    """One fit."""
    return run_many(rows, problem, mechanism, [eps], delta, ledger, source)[0]
