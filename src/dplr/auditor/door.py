"""The audit of a user's own configuration."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from typing import Any, Unpack

import numpy as np

from dplr._kit.progress import bars, silent
from dplr._kit.validation import check_count, check_eps, check_flag, real_number, sentence
from dplr.auditor.evidence import evidence_of
from dplr.auditor.neighbours import Record, pool_of
from dplr.auditor.result import Audit, audit_of
from dplr.auditor.trial import Trial
from dplr.auditor.twins import twins_of
from dplr.auditor.worst import Worst, worst_pair
from dplr.bounds.columns import Levels
from dplr.bounds.declared import coded_bounds, with_numbers
from dplr.estimators import estimator_of
from dplr.fitting.data import ClassWeight
from dplr.fitting.facts import public_facts, takes_facts
from dplr.fitting.options import PLANNED, PlanKeywords, documented
from dplr.fitting.planning import PublicFacts, check_promise
from dplr.privacy.guarantees import Neighbouring
from dplr.problem.losses import Loss

_LEAST_ROWS = 2


@documented
@takes_facts
def audit(
    *,
    eps: float,
    delta: float = 0.0,
    n_rows: int = 100,
    pairs: int = 300,
    runs: int = 1000,
    confidence: float = 0.999,
    seed: int = 0,
    broken: bool = False,
    class_weight: ClassWeight = None,
    progress: bool = False,
    **facts: Unpack[PlanKeywords],
) -> Audit:
    """Try to prove the promise of a fit wrong, on made-up neighbours within and beyond your own bounds.

    The fits are those of `dplr.fit`, from the scaling of rows to the coefficients; levels and labels are codes. Pairs
    of tables that differ in one record, or one person, are searched for the one whose releases differ most. Its privacy
    loss is computed from the exact sums to which noise was added; many fits of both tables are told apart by their
    likelihood ratio and by a learned score; and the noise is tested against its law.

    Parameters
    ----------
    eps : float
        Privacy loss that is claimed, above 0 and finite.
    n_rows : int, default=100
        Records, or persons with `person`, of each made-up table. A plan may depend on it: give yours if fits are quick.
    pairs : int, default=300
        Pairs of neighbours to try.
    runs : int, default=1000
        Fits of each table of the worst pair. More tell more.
    confidence : float, default=0.999
        A right claim is called wrong with at most the probability ``1 - confidence``.
    seed : int, default=0
        Of the made-up rows and of their noise: an audit can be repeated.
    broken : bool, default=False
        Whether copies that are broken on purpose are audited too, to see whether the audit would see such faults.
    **facts
        Public facts as in `dplr.plan`: `n_features`, `bounds`, `model`, `mechanism`, `fit_intercept`, `l2`,
        `neighbouring`, `person`, `public` (coefficients, not rows), `curves` and `aim`.

    Returns
    -------
    dplr.auditor.Audit
        ``print(audit)`` shows it, ``audit.verdict`` is one sentence, ``audit.passed`` says whether nothing contradicts
        the claim.

    Raises
    ------
    ValueError, TypeError
        A fact is missing or outside its range, or no made-up row suits the bounds.

    Privacy
    -------
    Reads public facts alone, no private row, and spends nothing. An audit can prove a promise wrong, never right.

    See Also
    --------
    dplr.plan : The promise itself.
    dplr.auditor.search : The worst pair of neighbours for output and objective perturbation, by exact densities.

    References
    ----------
    Ding, Wang, Wang, Zhang and Kifer 2018 and Nasr et al. 2023 for bounds from releases; dplr auditor.md.

    Examples
    --------
    >>> import dplr
    >>> audit = dplr.audit(eps=1.0, bounds={"age": (18, 99)}, mechanism="fm", pairs=50, runs=100)
    >>> print(audit.verdict)  # doctest: +ELLIPSIS
    Nothing contradicts eps = 1: of 50 pairs of neighbours, the worst pair loses ...
    """
    level = check_eps(eps)
    if level == float("inf"):
        raise ValueError(sentence("eps", "must be finite", eps, "There is nothing to audit without a promise."))
    for name, value in (("pairs", pairs), ("runs", runs)):
        check_count(name, value, minimum=20)
    check_count("n_rows", n_rows, minimum=_LEAST_ROWS)
    if not 0 < real_number("confidence", confidence) < 1:
        raise ValueError(sentence("confidence", "must be between 0 and 1", confidence))
    if check_flag("broken", broken) and runs < 100:
        raise ValueError(sentence("runs", "must be at least 100 with broken=True", runs))
    public = public_facts(n_rows=n_rows, delta=delta, class_weight=class_weight, **facts)
    if isinstance(public.public, tuple) and not _are_coefficients(public.public):
        raise ValueError(sentence("public", "must be coefficients for an audit", "rows", "Fit them first."))
    check_promise([level], public)
    public.planned(level)  # refuses what a fit would refuse
    track = bars if check_flag("progress", progress) else silent
    rng = np.random.default_rng(check_count("seed", seed, minimum=0))
    trial, classes = _trial(public, level, facts.get("model", "logistic"), class_weight)
    relation = Neighbouring(public.neighbouring)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of seeds, of eps, of what is clipped: all rows are made up
        worst = worst_pair(trial, pool_of(public, classes), relation, n_rows, pairs, rng, track)
        if worst is None:
            remedy = "Declare what a missing or undeclared value counts as."
            raise ValueError(sentence("bounds", "must allow a row that a fit takes", public.bounds, remedy))
        claim = worst.duel.statement
        evidence = evidence_of(worst.duel, claim, runs, confidence, seed, track)
        twins = twins_of(worst.duel, claim, runs // 4, confidence, seed, track) if broken else ()
    return audit_of(
        evidence, statement=claim, n_rows=n_rows, pairs=worst.tried, refused=worst.refused, runs=runs,
        confidence=confidence, worst=_described(worst, public, classes), twins=twins,
    )  # fmt: skip


def _are_coefficients(public: tuple[Any, ...]) -> bool:
    """Whether a pair is a vector and a number, and not rows and targets."""
    return np.ndim(public[0]) == 1


def _trial(public: PublicFacts, eps: float, model: str | Loss, class_weight: ClassWeight) -> tuple[Trial, int]:
    """Fits with these facts, of columns by position, and the number of labels."""
    classes = (2 if public.classes is None else len(public.classes)) if public.loss.classification else 0
    target = None if classes else public.target_pair
    columns, unit = coded_bounds(public.bounds, classes, target), public.unit
    bounds = with_numbers(columns, unit.rows_per_person, unit.weight_max)
    options: dict[str, Any] = {name: getattr(public, name) for name in PLANNED} | {"eps": eps, "bounds": bounds}
    if public.neighbouring == Neighbouring.ADD_REMOVE:
        options["n_rows"] = public.n_rows
    labels = list(range(classes)) if classes and columns is None else None
    weights = None
    if class_weight is not None and public.classes is not None:
        weights = {place: class_weight[label] for place, label in enumerate(public.classes)}
    estimator = estimator_of(model, classes=labels, class_weight=weights, **options)
    return Trial(estimator, bounds, eps, unit.person is not None, unit.weight_max is not None), classes


def _described(worst: Worst, public: PublicFacts, classes: int) -> tuple[Mapping[str, Any], Mapping[str, Any] | None]:
    """Both records of the worst pair, in the user's columns and levels."""
    pair = worst.duel.pair
    second = None if pair.second is None else _of_columns(pair.second, public, classes)
    return _of_columns(pair.first, public, classes), second


def _of_columns(record: Record, public: PublicFacts, classes: int) -> dict[str, Any]:
    columns = () if public.bounds is None else public.bounds.columns
    names = public.columns or [f"column {place}" for place in range(public.n_features)]
    values: dict[str, Any] = {}
    for place, name in enumerate(names):
        value: Any = float(record.x[place])
        column = columns[place] if columns else None
        if isinstance(column, Levels) and not math.isnan(value):
            value = column.levels[int(value)] if value >= 0 else "undeclared"
        values[name] = value
    target = public.classes[int(record.y)] if classes and public.classes is not None else record.y
    values["target"] = target
    if public.unit.person is not None:
        values["rows"] = (
            f"{record.rows}, every second one different" if record.mate and record.rows > 1 else record.rows
        )
    if public.unit.weight_max is not None:
        values["weight"] = record.weight
    return values
