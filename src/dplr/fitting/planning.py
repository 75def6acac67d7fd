"""Public facts in, Problem and Plan out. Nothing here sees a private row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dplr._validation import check_choice, check_count, check_delta, check_eps, check_flag, real_number, sentence
from dplr.bounds.columns import Pair
from dplr.bounds.declared import MAX_FEATURES, Bounds
from dplr.bounds.layout import Layout
from dplr.bounds.scaling import Prep, ball_prep, layout_prep
from dplr.fitting.one_vs_rest import plan_classes
from dplr.fitting.pretraining import Public, column_names, read_public, start
from dplr.mechanisms import as_mechanism
from dplr.privacy.guarantees import Neighbouring
from dplr.problem.losses import LOSSES, Loss
from dplr.problem.plan import Plan
from dplr.problem.problem import Problem


def prepare(
    *,
    n_rows: int | None,
    n_features: int,
    columns: Sequence[str] | None,
    bounds: Bounds | None,
    layout: Layout | None,
    loss: Loss,
    fit_intercept: bool,
    l2: float | str,
    neighbouring: str,
    label_codes: Pair | None,
    public: Public | None = None,
    classes: Sequence[Any] | None = None,
    assumptions: tuple[str, ...] = (),
) -> tuple[Problem, Prep]:
    """Check the public facts and turn them into the scaled problem and the row's way into it.

    `n_features` and `columns` are those of the table, `layout` is what the bounds make of them.
    """
    relation = Neighbouring(check_choice("neighbouring", neighbouring, [str(kind) for kind in Neighbouring]))
    if not 1 <= n_features <= MAX_FEATURES:
        raise ValueError(sentence("X", f"must have 1 to {MAX_FEATURES} columns", n_features))
    check_flag("fit_intercept", fit_intercept)
    check_bounds(bounds)
    ridge = check_l2(l2)
    labels = label_codes if loss.classification else None
    target = bounds.target_pair() if bounds is not None and not loss.classification else None
    facts = list(assumptions)
    if layout is None:
        prep = ball_prep(n_features, fit_intercept, labels)
        facts.append("rows of X lie in the unit ball (rows outside are projected onto it)")
    else:
        prep = layout_prep(layout, fit_intercept, labels, target)
        facts += layout.facts(columns)
    if not loss.classification:
        low, high = target or (-1.0, 1.0)
        facts.append(f"y lies in [{low:g}, {high:g}] (values outside are clipped)")
    if n_rows is not None:
        known = "the number of records" if relation is Neighbouring.REPLACE_ONE else "a declared reference, n_rows"
        facts.append(f"{known} = {n_rows}")
    problem = Problem(loss, prep.geometry, relation, n_rows, ridge, ())
    w0 = None
    if public is not None:
        w0, said = start(public, problem, prep, classes)
        facts += said
    facts.append(l2_sentence(ridge))
    return replace(problem, assumptions=tuple(facts), w0=w0), prep


def l2_sentence(l2: float | None) -> str:
    """What a statement says of the ridge."""
    return "l2 = 'auto', a function of public facts" if l2 is None else f"l2 = {l2:g}"


def plan(
    *,
    eps: float,
    n_rows: int | None = None,
    n_features: int | None = None,
    bounds: Bounds | None = None,
    model: str = "logistic",
    mechanism: Any = "fm",
    delta: float = 0.0,
    fit_intercept: bool = True,
    l2: float | str = "auto",
    neighbouring: str = "replace_one",
    public: Any = None,
) -> Plan:
    """What a fit would release, from public facts alone: no data is needed and nothing is spent.

    Parameters
    ----------
    eps, delta : privacy loss; eps > 0, delta in [0, 1).
    n_rows : number of records; required under replace_one, a declared reference under add_remove.
    n_features : number of columns of the table; may be left out where `bounds` says it.
    bounds : public bounds and levels of the columns. A target of more than two labels plans one model of each against
        the rest.
    model : `"logistic"`, `"linear"` or `"svm"` (Huber, of width 0.5).
    mechanism : shorthand or spec.
    fit_intercept : whether a constant is appended to every row.
    l2 : ridge of the mean objective of the scaled problem, or `"auto"`.
    neighbouring : `"replace_one"` or `"add_remove"`.
    public : public data or coefficients where the fit starts, as in `LogisticRegression`. Data are fitted: they are
        public, so a plan may.

    Returns
    -------
    Plan
        ``plan.statement`` is the statement the fit will carry; ``print(plan)`` reads well.

    Raises
    ------
    ValueError, TypeError
        A fact is missing or outside its range.

    Privacy
    -------
    A pure function of public facts.

    Examples
    --------
    >>> import dplr
    >>> plan = dplr.plan(n_rows=20_190, bounds=dplr.Bounds({"age": (18, 99), "smoker": (0, 1)}), eps=0.8)
    >>> print(plan)  # doctest: +ELLIPSIS
    Plan: logistic loss, 2 features
      scaled rows   rows in [-0.707107, 0.707107]^2, intercept constant 0.5
      l2            chosen by the mechanism from public facts
    Privacy statement (fm, dplr ...)
      guarantee     pure eps-differential privacy, eps = 0.8
      neighbouring  replace_one: one record replaced by another; the number of records is public
    ...
    """
    eps, delta = check_eps(eps), check_delta(delta)
    check_bounds(bounds)
    if bounds is not None and n_features is None:
        n_features = len(bounds.columns)
    if n_features is None:
        raise ValueError(sentence("n_features", "is required without bounds", None))
    if n_rows is None and neighbouring == Neighbouring.REPLACE_ONE:
        raise ValueError(sentence("n_rows", "is required under replace_one", None))
    n_features = check_count("n_features", n_features)
    loss = LOSSES[check_choice("model", model, LOSSES)]
    names = bounds.names if bounds is not None else None
    layout = bounds.for_columns(names, n_features) if bounds is not None else None
    problem, _ = prepare(
        n_rows=None if n_rows is None else check_count("n_rows", n_rows),
        n_features=n_features,
        columns=names,
        bounds=bounds,
        layout=layout,
        loss=loss,
        fit_intercept=fit_intercept,
        l2=l2,
        neighbouring=neighbouring,
        label_codes=(0.0, 1.0),
        public=read_public(public, n_features, names or column_names(public), fit_intercept, layout),
        classes=bounds.target_classes() if bounds is not None and loss.classification else None,
    )
    spec = as_mechanism(mechanism)
    classes = bounds.target_classes() if bounds is not None and loss.classification else None
    if classes is None or len(classes) == 2:
        return spec.plan(problem, eps, delta)
    one, statement = plan_classes(spec, problem, eps, delta, np.unique(np.asarray(classes)).tolist())
    return replace(one, statement=statement)


def check_bounds(bounds: Any) -> None:
    """Bounds or None."""
    if bounds is not None and not isinstance(bounds, Bounds):
        raise TypeError(sentence("bounds", "must be a dplr.Bounds or None", bounds))


def check_l2(l2: float | str) -> float | None:
    """A ridge, or None for 'auto'."""
    if isinstance(l2, str):
        check_choice("l2", l2, ["auto"])
        return None
    value = real_number("l2", l2, "Use 'auto' or a number.")
    if not 0 <= value < float("inf"):
        raise ValueError(sentence("l2", "must be 'auto', or at least 0 and finite", value))
    return value
