"""Plans of fits, before any data are read: what they would release, and by simulation how good they would be.

A plan is a function of public facts. A curve and the answer to a target also simulate fits of tables that are made up:
only these load scikit-learn.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Unpack

from dplr._kit.progress import bars, silent
from dplr._kit.validation import check_eps, check_flag, sentence
from dplr.fitting.data import ClassWeight
from dplr.fitting.facts import public_facts, takes_facts
from dplr.fitting.options import PlanKeywords, documented, takes
from dplr.fitting.planning import check_promise
from dplr.fitting.run import warn_of_noise
from dplr.planner.assumptions import Assumptions, check_assumptions
from dplr.planner.curve import Curve
from dplr.planner.points import Point, Width
from dplr.planner.sweep import counts_of, curve_of, deltas_of, levels_of
from dplr.planner.target import Answer, answer_of
from dplr.privacy.guarantees import Neighbouring
from dplr.problem.plan import Plan

__all__ = [
    "Answer",
    "Assumptions",
    "Curve",
    "Point",
    "Width",
    "plan",
    "plan_curve",
    "plan_target",
]


@takes(inspect.signature(public_facts).parameters.values())
def plan(
    *,
    eps: float,
    n_rows: int | None = None,
    delta: float = 0.0,
    class_weight: ClassWeight = None,
    **facts: Unpack[PlanKeywords],
) -> Plan:
    """Plan a fit from public facts alone: no data is needed and nothing is spent.

    Parameters
    ----------
    n_rows : int or None, default=None
        Number of records, or of persons with `person`; required under replace_one, a declared reference under
        add_remove.
    n_features : int or None, default=None
        Number of columns of the table; may be left out where `bounds` says it.
    bounds : dplr.Bounds, mapping, path or None, default=None
        Public bounds and levels of the columns. A target of more than two labels plans one model per label, each
        against the rest.
    model : str or dplr.losses.Loss, default="logistic"
        `"logistic"`, `"linear"`, `"svm"` or `"huber"` (each of width 0.5), `"poisson"`, or a loss, as in `fit`.
    class_weight : dict or None, default=None
        Public factors of labels, as in `LogisticRegression`. They are not simulated, so the other plans have none.

    Returns
    -------
    dplr.results.Plan
        ``plan.statement`` is the statement that the fit will carry; ``print(plan)`` shows all of it.

    Raises
    ------
    ValueError, TypeError
        A fact is missing or outside its range.

    Privacy
    -------
    Reads public facts alone, no private row.

    See Also
    --------
    dplr.plan_curve : Simulates many fits, and their confidence intervals.
    dplr.plan_target : Searches for the smallest eps, or the fewest rows.
    dplr.fit : Makes the fit.
    dplr.Ledger.price : What a plan would cost a ledger.
    dplr.utility : Bounds of the error that are proved.

    Examples
    --------
    >>> import dplr
    >>> plan = dplr.plan(n_rows=20_190, bounds=dplr.Bounds({"age": (18, 99), "smoker": (0, 1)}), eps=0.8)
    >>> print(plan)  # doctest: +ELLIPSIS
    Plan: logistic loss, 2 features
      scaled rows   rows in [-0.707107, 0.707107]^2, intercept constant 0.5
      l2            chosen by the mechanism from public facts
      minimisation  ridge ...
    Privacy statement (objective, dplr ...)
      guarantee     (eps, delta)-differential privacy, eps = 0.8, delta = 5.42101e-20 (2^-64)
    ...
      assumed       mechanism = "auto": objective, as delta = 0
    ...
    """
    relation = facts.get("neighbouring", Neighbouring.REPLACE_ONE)
    if n_rows is None and relation == Neighbouring.REPLACE_ONE:
        raise ValueError(sentence("n_rows", "is required under replace_one", None))
    public = public_facts(n_rows=n_rows, delta=delta, class_weight=class_weight, **facts)
    level = check_eps(eps)
    check_promise([level], public)
    planned = public.planned(level)
    warn_of_noise([planned.outlook])
    return planned


@documented
@takes_facts
def plan_curve(
    *,
    n_rows: int | Sequence[int],
    eps: float | Sequence[float] | None = None,
    delta: float | Sequence[float] = 0.0,
    intervals: bool = False,
    assume: Assumptions | None = None,
    progress: bool = False,
    **facts: Unpack[PlanKeywords],
) -> Curve:
    """How good fits can be expected to be: plans of many, each also simulated on rows that are made up.

    Parameters
    ----------
    n_rows : int or list of int
        Numbers of records, or of persons with `person`; a single number has a quarter of it and four times it beside.
    eps : float, list of float or None, default=None
        Privacy losses, above 0; a single number has usual values beside it, and None stands for these alone.
    delta : float or list of float, default=0.0
        What is added to what the factor exp(eps) allows, in [0, 1). A single number has 0 beside it; 0 itself has a
        power of ten far below 1/n_rows.
    intervals : bool, default=False
        Whether the confidence intervals of coefficients are simulated too: their expected widths, with privacy and
        without, and which may be unsaid; of narrow columns, and of columns that fill their bounds. `eps`, `n_rows` and
        `delta` then have no usual values beside them, ``mechanism="auto"`` stands for what a fit takes, and the
        mechanism must release what intervals need.
    assume : dplr.planner.Assumptions or None, default=None
        What a simulation assumes of the rows; None for the defaults of `Assumptions`.
    progress : bool, default=False
        Whether a bar shows how far the curve is.
    **facts
        Public facts as in `dplr.plan`: `n_features`, `bounds`, `model`, `mechanism`, `fit_intercept`, `l2`,
        `neighbouring`, `person`, `public` and `aim`. With
        ``mechanism="auto"`` the curve has every mechanism. Simulated persons have one row, which counts whole, and
        simulated rows one weight (`Assumptions`). With public data, simulated fits start from one half of them, and
        their tables are drawn from the other.

    Returns
    -------
    dplr.planner.Curve
        ``print(curve)`` shows a table; ``curve.plot()`` draws it.

    Raises
    ------
    ValueError, TypeError
        A fact is missing or outside its range.

    Privacy
    -------
    Reads public facts alone, no private row. Simulated rows are made up, or drawn from rows that are declared public.

    See Also
    --------
    dplr.plan : Plans one fit, without a simulation.
    dplr.plan_target : Searches for the smallest eps, or the fewest rows.
    dplr.plots.plot_curve : Draws a curve.

    Examples
    --------
    >>> import dplr
    >>> curve = dplr.plan_curve(n_rows=2000, n_features=2, eps=[0.1, 1.0])
    >>> sorted({point.mechanism for point in curve.points})
    ['fm', 'ngd', 'objective', 'output', 'score']

    How wide will intervals be?

    >>> bounds = dplr.Bounds({"age": (18, 99)}, target=(0, 100))
    >>> options = {"bounds": bounds, "model": "linear", "mechanism": "fm", "intervals": True}
    >>> (point,) = dplr.plan_curve(n_rows=20_000, eps=1.0, **options).points
    >>> point.intervals[0].width > point.intervals[0].plain, point.silent
    (True, ())
    """
    intervals, track = check_flag("intervals", intervals), bars if check_flag("progress", progress) else silent
    public, assume, counts = public_facts(**facts), check_assumptions(assume), counts_of(n_rows, intervals)
    levels, deltas = levels_of(eps, intervals), deltas_of(delta, max(counts, default=1), intervals)
    return curve_of(public, levels, deltas, counts, assume, track, intervals)


@documented
@takes_facts
def plan_target(
    *,
    error: float | None = None,
    width: float | Mapping[str, float] | None = None,
    interval: Mapping[str, float] | None = None,
    eps: float | None = None,
    n_rows: int | None = None,
    delta: float = 0.0,
    assume: Assumptions | None = None,
    **facts: Unpack[PlanKeywords],
) -> Answer:
    """The smallest eps for a number of rows, or the fewest rows for an eps, at which simulated fits reach a target.

    Parameters
    ----------
    error : float or None, default=None
        An expected error (share of wrong answers, or root mean squared error of a numeric target). One of `error`,
        `width` and `interval` must be given.
    width : float, mapping or None, default=None
        The distance of coefficients from those without privacy: a mapping of their names to widths in the
        user's units, or a number for the root mean square over columns, each across its bounds.
    interval : mapping or None, default=None
        Names of coefficients and the widths that their confidence intervals shall have at most, in the user's units,
        of narrow columns unless `assume` says what columns are like. The mechanism must release what intervals need.
    eps : float or None, default=None
        Privacy loss, above 0, where the fewest rows are wanted.
    n_rows : int or None, default=None
        Number of records, or of persons with `person`, where the smallest eps is wanted.
    assume : dplr.planner.Assumptions or None, default=None
        What a simulation assumes of the rows; None for the defaults of `Assumptions`.
    **facts
        Public facts as in `dplr.plan_curve`.

    Returns
    -------
    dplr.planner.Answer
        The value, and how sure it is; ``print(answer)`` shows all of it.

    Raises
    ------
    ValueError, TypeError
        A fact is missing or outside its range, or no eps or number of rows reaches the target.

    Privacy
    -------
    Reads public facts alone, no private row. Simulated rows are made up, or drawn from rows that are declared public.

    See Also
    --------
    dplr.plan : Plans one fit, without a simulation.
    dplr.plan_curve : Simulates many fits.

    Examples
    --------
    >>> import dplr
    >>> bounds = dplr.Bounds({"age": (18, 99), "hours": (0, 80)}, target=("no", "yes"))
    >>> answer = dplr.plan_target(error=0.4, n_rows=2000, bounds=bounds, mechanism="fm")
    >>> answer.quantity, answer.expected <= answer.target
    ('eps', True)
    """
    public, assume = public_facts(n_rows=n_rows, delta=delta, **facts), check_assumptions(assume)
    level = None if eps is None else check_eps(eps)
    return answer_of(public, level, {"error": error, "width": width, "interval": interval}, assume)
