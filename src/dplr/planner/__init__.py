"""What fits would release and how good they would be, before any data are read: `dplr.plan`.

A plan is a function of public facts. A curve, and the answer to a target, also simulate fits of tables that are made
up: only these load scikit-learn.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypedDict, Unpack, overload

from dplr._keywords import suggests
from dplr._progress import bars, silent
from dplr._validation import check_eps, check_flag, sentence
from dplr.fitting.outlook import warn_of_noise
from dplr.fitting.planning import PublicFacts, check_promise, public_facts
from dplr.fitting.units import ClassWeight
from dplr.mechanisms.automatic import AUTO
from dplr.planner.assumptions import Assumptions, check_assumptions
from dplr.planner.curve import Curve, Point
from dplr.planner.sweep import counts_of, curve_of, deltas_of, levels_of
from dplr.planner.target import Answer, answer_of
from dplr.planner.widths import Width, Widths, widths_of
from dplr.privacy.guarantees import Neighbouring
from dplr.problem.losses import Loss
from dplr.problem.plan import Plan
from dplr.typing import BoundsLike, MechanismLike, PublicLike

__all__ = ["Answer", "Assumptions", "Curve", "Point", "Width", "Widths", "plan"]


class Facts(TypedDict, total=False):
    """The parameters of `plan` that mean the same with a curve and without."""

    n_features: int | None
    bounds: BoundsLike
    model: str | Loss
    mechanism: MechanismLike
    fit_intercept: bool
    l2: float | str
    neighbouring: str
    person: str | None
    rows_per_person: int
    weight_bounds: tuple[float, float] | None
    class_weight: ClassWeight
    public: PublicLike
    ranges: str
    large_delta: bool
    aim: str


@overload
def plan(*, eps: float, n_rows: int | None = None, delta: float = 0.0, **facts: Unpack[Facts]) -> Plan: ...
@overload
def plan(
    *,
    curve: Literal[True],
    eps: float | Sequence[float] | None = None,
    n_rows: int | Sequence[int] | None = None,
    delta: float | Sequence[float] = 0.0,
    assume: Assumptions | None = None,
    progress: bool = False,
    **facts: Unpack[Facts],
) -> Curve: ...
@overload
def plan(
    *,
    target_error: float,
    eps: float | None = None,
    n_rows: int | None = None,
    delta: float = 0.0,
    assume: Assumptions | None = None,
    **facts: Unpack[Facts],
) -> Answer: ...
@overload
def plan(
    *,
    target_width: float | Mapping[str, float],
    eps: float | None = None,
    n_rows: int | None = None,
    delta: float = 0.0,
    assume: Assumptions | None = None,
    **facts: Unpack[Facts],
) -> Answer: ...
@overload
def plan(
    *,
    intervals: Literal[True],
    eps: float,
    n_rows: int,
    delta: float = 0.0,
    assume: Assumptions | None = None,
    **facts: Unpack[Facts],
) -> Widths: ...
@suggests
def plan(
    *,
    eps: float | Sequence[float] | None = None,
    n_rows: int | Sequence[int] | None = None,
    n_features: int | None = None,
    bounds: BoundsLike = None,
    model: str | Loss = "logistic",
    mechanism: MechanismLike = AUTO,
    delta: float | Sequence[float] = 0.0,
    fit_intercept: bool = True,
    l2: float | str = "auto",
    neighbouring: str = "replace_one",
    person: str | None = None,
    rows_per_person: int = 1,
    weight_bounds: tuple[float, float] | None = None,
    class_weight: ClassWeight = None,
    public: PublicLike = None,
    ranges: str = "auto",
    large_delta: bool = False,
    aim: str = "prediction",
    curve: bool = False,
    target_error: float | None = None,
    target_width: float | Mapping[str, float] | None = None,
    intervals: bool = False,
    assume: Assumptions | None = None,
    progress: bool = False,
) -> Plan | Curve | Answer | Widths:
    """What a fit would release, from public facts alone: no data is needed and nothing is spent.

    Parameters
    ----------
    eps : float or list of float, default=None
        Privacy loss, above 0. For a curve it may be a list; a curve of a single number has usual values beside it.
    n_rows : int or list of int, default=None
        Number of records, or of persons with `person`; required under replace_one, a declared reference under
        add_remove. For a curve it may be a list; a curve of a single number has a quarter of it and four times it too.
    n_features : int or None, default=None
        Number of columns of the table; may be left out where `bounds` says it.
    bounds : dplr.Bounds, mapping, path or None, default=None
        Public bounds and levels of the columns. A target of more than two labels plans one model per label, each
        against the rest.
    model : str or dplr.Loss, default="logistic"
        `"logistic"`, `"linear"`, `"svm"` or `"huber"` (each of width 0.5), `"poisson"`, or a loss, as in `fit`.
    mechanism : str or mechanism, default="auto"
        `"auto"`, a shorthand, or a spec of `dplr.mechanisms`. A curve with `"auto"` has every mechanism.
    delta : float or list of float, default=0.0
        What is added to what the factor exp(eps) allows, in [0, 1). For a curve it may be a list.
    fit_intercept : bool, default=True
        Whether a constant is appended to every row.
    l2 : float or "auto", default="auto"
        Ridge of the mean objective of the scaled problem, at least 0; the mechanism chooses it where it is `"auto"`.
    neighbouring : {"replace_one", "add_remove"}, default="replace_one"
        Which two data sets must be hard to tell apart.
    person : str or None, default=None
        What tells persons apart, as in `LogisticRegression`. Simulated persons have one row, which counts whole.
    rows_per_person : int, default=1
        How many rows of a person count, as in `LogisticRegression`.
    weight_bounds : tuple of (float, float) or None, default=None
        Public bounds of the sample weights, as in `LogisticRegression`. Simulated rows have one weight (`Assumptions`).
    class_weight : dict or None, default=None
        Public factors of labels, as in `LogisticRegression`. They are not simulated.
    public : tuple, model, vector or None, default=None
        Public data or coefficients where the fit starts, as in `LogisticRegression`. A plan may fit public data. With
        public data, simulated fits start from one half of them, and their tables are drawn from the other.
    ranges : {"auto", "on", "off"}, default="auto"
        Whether a share of eps narrows the bounds first, as in `LogisticRegression`.
    large_delta : bool, default=False
        Whether a delta of 1/n_rows or more is meant, as in `LogisticRegression`.
    aim : {"prediction", "coefficients"}, default="prediction"
        What the fit is for, as in `LogisticRegression`.
    curve : bool, default=False
        Plan many fits, and simulate each on rows that are made up.
    target_error : float or None, default=None
        An expected error (share of wrong answers, or root mean squared error of a numeric target). The answer is the
        smallest eps for `n_rows`, or the fewest rows for `eps`.
    target_width : float, mapping or None, default=None
        The same for the distance of coefficients from those without privacy: a mapping of their names to widths in the
        user's units, or a number for the root mean square over columns, each across its bounds.
    intervals : bool, default=False
        Simulate fits, and say how wide the confidence intervals of their coefficients will be.
    assume : dplr.Assumptions or None, default=None
        What a simulation assumes of the rows; None for the defaults of `Assumptions`.
    progress : bool, default=False
        Whether a bar shows how far a curve is.

    Returns
    -------
    dplr.Plan
        ``plan.statement`` is the statement that the fit will carry; ``print(plan)`` shows all of it.
    dplr.planner.Curve
        With ``curve=True``. ``print(curve)`` shows a table; ``curve.to_html(path)`` writes a page with sliders.
    dplr.planner.Answer
        With a target.
    dplr.planner.Widths
        With ``intervals=True``.

    Raises
    ------
    ValueError, TypeError
        A fact is missing or outside its range, or no eps or number of rows reaches the target.

    Privacy
    -------
    Reads public facts alone, no private row. Simulated rows are made up, or drawn from rows that are declared public.

    See Also
    --------
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
      guarantee     (eps, delta)-differential privacy, eps = 0.8, delta = 5.42101e-20 (2^-64); other pairs follow
                    from the theorem
    ...
      assumed       mechanism = "auto": objective, as delta = 0
    ...

    >>> curve = dplr.plan(n_rows=2000, n_features=2, eps=[0.1, 1.0], curve=True)
    >>> sorted({point.mechanism for point in curve.points})
    ['fm', 'ngd', 'objective', 'output', 'score']
    """
    targets = target_error is not None or target_width is not None
    several = _asked_for_curve(curve, targets or check_flag("intervals", intervals))
    _refuse_options(None if several or targets or intervals else assume, None if several or targets else progress)
    if n_rows is None and (intervals or neighbouring == Neighbouring.REPLACE_ONE) and not targets:
        raise ValueError(sentence("n_rows", "is required under replace_one", None))
    facts = public_facts(
        n_rows=None if several else n_rows,  # type: ignore[arg-type]  # checked there
        n_features=n_features,
        bounds=bounds,
        model=model,
        mechanism=mechanism,
        delta=0.0 if several else delta,  # type: ignore[arg-type]  # checked there
        fit_intercept=fit_intercept,
        l2=l2,
        neighbouring=neighbouring,
        person=person,
        rows_per_person=rows_per_person,
        weight_bounds=weight_bounds,
        class_weight=class_weight,
        public=public,
        ranges=ranges,
        aim=aim,
    )
    if not (targets or several or intervals):
        return _one(facts, check_eps(eps), large_delta)
    _refuse_factors(facts)
    known = check_assumptions(assume)
    if several:
        return _curve(facts, eps, delta, n_rows, known, large_delta, check_flag("progress", progress))
    if targets:
        return answer_of(facts, eps if eps is None else check_eps(eps), target_error, target_width, known, large_delta)
    return widths_of(facts, check_eps(eps), known, large_delta)


def _one(facts: PublicFacts, eps: float, large_delta: bool) -> Plan:
    """The plan of one fit; noise that will drown it is warned of."""
    check_promise([eps], facts, large_delta)
    planned = facts.planned(eps).whole
    warn_of_noise([planned.outlook])
    return planned


def _curve(
    facts: PublicFacts, eps: Any, delta: Any, n_rows: Any, assume: Assumptions, large_delta: bool, progress: bool
) -> Curve:
    """Every mechanism at every eps, delta and number of rows of the lists."""
    counts, track = counts_of(n_rows), bars if progress else silent
    return curve_of(facts, levels_of(eps), deltas_of(delta, counts[-1]), counts, assume, large_delta, track)


def _refuse_factors(facts: PublicFacts) -> None:
    """Simulated labels have no factors."""
    if facts.unit.class_weights:
        rule, remedy = "must be left out with a curve, a target or intervals", "Plan one fit with it."
        raise ValueError(sentence("class_weight", rule, dict(facts.unit.class_weights), remedy))


def _asked_for_curve(curve: Any, targets: bool) -> bool:
    if check_flag("curve", curve) and targets:
        raise ValueError(sentence("curve", "must not stand beside a target or intervals", curve, "Give one of them."))
    return bool(curve)


def _refuse_options(assume: Any, progress: Any) -> None:
    """A plan without a simulation has no use for what a simulation assumes."""
    for name, value in (("assume", assume), ("progress", progress)):
        if value:
            raise ValueError(sentence(name, "is of a curve or a target", value, "Say curve=True too."))
