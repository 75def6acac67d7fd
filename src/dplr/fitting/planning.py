"""Problems and plans, made from public facts. Nothing here reads a private row."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from operator import attrgetter
from typing import Any

import numpy as np

from dplr._kit.validation import check_choice, check_count, sentence
from dplr._kit.warnings import PrivacyWarning, warn
from dplr.bounds.columns import CONSTANT, Pair, short
from dplr.bounds.declared import MAX_FEATURES, Bounds
from dplr.bounds.fourier import FourierMap
from dplr.bounds.layout import Layout
from dplr.bounds.scaling import Prep, ball_prep, layout_prep
from dplr.fitting.aims import COEFFICIENTS, check_table, choose_table
from dplr.fitting.curves import curved_bounds
from dplr.fitting.one_vs_rest import is_several, plan_models
from dplr.fitting.options import PLANNED, FitOptions, check_l2, check_options
from dplr.fitting.pretraining import Public, PublicLike, read_public
from dplr.fitting.ranges import choice_for, clippable, plan_ranges, with_ranges
from dplr.mechanisms import as_mechanism
from dplr.mechanisms.automatic import AUTO, choose
from dplr.mechanisms.protocol import Mechanism, MechanismLike, Tabled
from dplr.privacy.guarantees import Neighbouring
from dplr.privacy.law import Law
from dplr.privacy.unit import ROW, Unit
from dplr.problem.losses import Loss, from_zero, log_offset, model_of, poisson
from dplr.problem.plan import Plan
from dplr.problem.problem import Problem
from dplr.rows import Labels

# Above it a guarantee says little, and the user is told; and where e^eps is no float64.
_LITTLE, _OVERFLOW = 10.0, 700.0
_LARGE_DELTA = 1e-3  # of tables whose number of records is private
# Pure noise in the gauge of the bounds over Gaussian noise, up to which it is taken, without ranges and in
# them.
_GAUGE, _GAUGE_IN_RANGES = 1.07, 1.25
_IN_GAUGE = "pure noise in the gauge of the bounds, in place of Gaussian noise for delta"
# The last public facts, by their words, and how many of them, and of their plans, are kept.
_FACTS: dict[Any, PublicFacts] = {}
_KEPT = 64
_RELATIONS = [str(kind) for kind in Neighbouring]


@dataclass(frozen=True, eq=False, kw_only=True)
class PublicFacts:
    """All that a plan depends on, from the arguments of `plan`, from an estimator and its rows, or from a model file.

    Attributes
    ----------
    loss, mechanism, delta, bounds, fit_intercept, l2, neighbouring, public : as the user gave them.
    n_rows : public number of rows, or a declared reference under add_remove; None when neither is known.
    n_features, columns : of the table; the names are None where it has none.
    classes : the labels; None for a numeric target, and where they are not known.
    label_codes : the numbers that stand for two labels.
    assumptions : sentences of the statement that come before all others.
    uncovered : sentences of the statement about what its guarantee does not cover.
    public_columns : names that public rows may have where those of the table are not known yet.
    aim : the purpose of the model, one of `AIMS`.
    features : the map that made the rows, of columns with these bounds; None where the table has the columns.
    unit : the unit that the guarantee protects, and the weights of rows; `n_rows` counts units.
    curves : the number of knots, or "auto", of numbers that become curves; None where the bounds say all of it.
    """

    loss: Loss
    bounds: Bounds | None
    n_rows: int | None
    n_features: int
    columns: Sequence[str] | None
    mechanism: MechanismLike = FitOptions.mechanism
    delta: float = FitOptions.delta
    fit_intercept: bool = FitOptions.fit_intercept
    l2: float | str = FitOptions.l2
    neighbouring: str = FitOptions.neighbouring
    public: PublicLike = FitOptions.public
    classes: Sequence[Any] | None = None
    label_codes: Pair = (0.0, 1.0)
    assumptions: tuple[str, ...] = ()
    uncovered: tuple[str, ...] = ()
    public_columns: Sequence[str] | None = None
    aim: str = FitOptions.aim
    features: FourierMap | None = None
    unit: Unit = ROW
    curves: int | str | None = FitOptions.curves

    @classmethod
    def of(cls, model: Any, labels: Labels | None = None, **facts: Any) -> PublicFacts:
        """The facts of an estimator, of its labels, and further ones."""
        if labels is not None:
            facts |= {"classes": labels.classes.tolist(), "label_codes": labels.codes}
            facts["assumptions"] = (*facts["assumptions"], labels.assumption)
        return _interned(dict(zip(PLANNED, attrgetter(*PLANNED)(model), strict=True)) | {"loss": model._loss()} | facts)

    def __post_init__(self) -> None:
        if not 1 <= self.n_features <= MAX_FEATURES:
            raise ValueError(sentence("X", f"must have 1 to {MAX_FEATURES} columns", self.n_features))
        check_options(self)
        object.__setattr__(self, "delta", float(self.delta))

    @cached_property
    def layout(self) -> Layout | None:
        if self.bounds is None or self.features is not None:
            if CONSTANT in (self.columns or ()):
                raise ValueError(sentence("X", "must name no column as the intercept", CONSTANT, "Rename it."))
            return None
        return self.bounds.for_columns(self.columns, self.n_features)

    @cached_property
    def start(self) -> Public | None:
        columns = self.columns or self.public_columns
        public = read_public(self.public, self.n_features, columns, self.fit_intercept, self.layout)
        threshold = self.bounds.threshold if self.bounds is not None and self.loss.classification else None
        return public if threshold is None or public is None else public.above(threshold)

    @cached_property
    def prep(self) -> Prep:
        labels = self.label_codes if self.loss.classification else None
        if self.layout is None:
            return ball_prep(self.n_features, self.fit_intercept, labels, self.target_pair, self.loss.link)
        return layout_prep(self.layout, self.fit_intercept, labels, self.target_pair, self.loss.link)

    @cached_property
    def problem(self) -> Problem:
        """The scaled problem. Public data are fitted here."""
        relation, ridge = Neighbouring(self.neighbouring), check_l2(self.l2)
        problem = Problem(self._scaled_loss, self.prep.geometry, relation, self.n_rows, ridge, (), unit=self.unit)
        facts, w0 = self._assumed(), None
        if self.start is not None:
            w0, sentences = self.start.start(problem, self.prep, self.classes)
            facts += sentences
        problem = replace(problem, assumptions=tuple(facts), w0=w0)
        return replace(problem, clippable=clippable(self._ranges, problem, self.prep))

    @property
    def _ranges(self) -> str:
        """Whether the mechanism has ranges, known before it is chosen."""
        return choice_for(self.aim, "auto" if self.mechanism == AUTO else as_mechanism(self.mechanism).ranges)

    def at(self, eps: float) -> PublicFacts:
        """These facts with the curves that a fit with this eps has, as columns of the bounds."""
        if self.curves is None:
            return self
        bounds, reason = curved_bounds(self, eps)
        assumptions = (*self.assumptions, reason) if reason else self.assumptions
        return replace(self, bounds=bounds, curves=None, assumptions=assumptions)

    def planned(self, eps: float) -> Plan:
        """The release of a fit: one model, or one for each of more than two classes; ranges before, if any."""
        if self.curves is not None:
            return self.at(eps).planned(eps)
        plans: dict[float, Plan] = self.__dict__.setdefault("_plans", {})
        plan = plans.get(eps)
        if plan is None:
            if len(plans) >= _KEPT:
                plans.clear()
            plan = plans[eps] = self._of_least_noise(eps).stating(uncovered=self.uncovered)
        return plan

    def _of_least_noise(self, eps: float) -> Plan:
        """The plan without a delta where its noise is smaller than that for the delta, and else with it."""
        mechanism, problem = self._mechanism_and_problem(eps)
        planned = self._with_ranges(mechanism, problem, eps, self.delta)
        if self.aim == COEFFICIENTS:
            check_table(mechanism, planned.model, self.layout)
        if self.delta == 0 or math.isinf(eps):
            return planned
        without_ranges = (
            planned if planned.first is None else plan_models(mechanism, problem, eps, self.delta, self.model_labels)
        )
        pure = self._pure(mechanism, problem, eps, mechanism.noise_of(without_ranges.model))
        if pure is not None:
            return pure
        is_used = planned.statement.delta >= self.delta
        return (
            planned
            if is_used
            else _without_delta(planned, self.delta, f"pure noise, which does not use delta = {self.delta:g}")
        )

    def _mechanism_and_problem(self, eps: float) -> tuple[Mechanism, Problem]:
        """The mechanism with its options, and the problem, whose statement says what was chosen, and why."""
        problem, tables = self.problem, self.aim == COEFFICIENTS
        mechanism: Any
        said: tuple[str, ...] = ()
        if self.mechanism != AUTO:
            mechanism = as_mechanism(self.mechanism)
            mechanism = mechanism.aimed(problem, self.model_labels) if tables else mechanism
        else:
            if tables:
                mechanism, reason = choose_table(problem, self.model_labels, eps, self.delta)
            else:
                name, reason = choose(self.loss, self.n_rows, len(self.model_labels), eps, self.delta)
                mechanism = as_mechanism(name)
            said = (f'mechanism = "auto": {mechanism.about.name}, as {reason}',)
        choice = choice_for(self.aim, mechanism.ranges)
        mechanism = mechanism if choice == mechanism.ranges else replace(mechanism, ranges=choice)
        words = ((f'aim = "{self.aim}"',) if tables else ()) + solution(mechanism, problem, eps)
        return mechanism, replace(problem, assumptions=problem.assumptions + said, solution=words)

    def _with_ranges(self, mechanism: Mechanism, problem: Problem, eps: float, delta: float) -> Plan:
        """The plan with noise for this delta; ranges may have a share of eps."""
        planned = partial(plan_models, mechanism, problem, delta=delta, classes=self.model_labels)
        ranges, asked = plan_ranges(mechanism, problem, self.prep, eps, delta), mechanism.ranges == "on"
        if ranges is None:
            return planned(eps=eps)
        # Whoever gets intervals reads them as those of the declared columns.
        if not asked and isinstance(mechanism, Tabled):
            names = mechanism.blocks(problem, eps, delta, self.model_labels)
            if mechanism.as_declared(problem, names):
                return planned(eps=eps)
        try:
            return with_ranges(planned(eps=ranges.remainder), ranges, eps)
        except ValueError:  # this ridge costs more than ranges leave
            if asked:
                raise
            return planned(eps=eps)

    def _pure(self, mechanism: Mechanism, problem: Problem, eps: float, gaussian: float | None) -> Plan | None:
        """The plan without a delta, where its noise is smaller than Gaussian noise; None where it is not.

        With blocks, noise in the gauge of the bounds may be a little larger: it has a ridge a column, and ranges.
        """
        if gaussian is None:
            return None
        try:
            plan = plan_models(mechanism, problem, eps, 0.0, self.model_labels).model
            pure = mechanism.noise_of(plan)
            if pure is None or pure >= _GAUGE_IN_RANGES * gaussian:
                return None
            gauge = problem.geometry.blocks and Law.GAUGE in {one.law.family for one in plan.released.values()}
            if pure >= gaussian and not gauge:
                return None
            planned = self._with_ranges(mechanism, problem, eps, 0.0)
        except ValueError:  # this ridge costs pure noise more than its share of eps: of one of several classes, or
            return None  # what ranges leave
        if pure >= _GAUGE * gaussian and planned.first is None:
            return None
        why = pure_sentence(self.delta) if pure < gaussian else f"{_IN_GAUGE} = {self.delta:g}"
        return _without_delta(planned, self.delta, why)

    @cached_property
    def model_labels(self) -> list[Any]:
        """The labels that have a model each; none for one model."""
        return np.unique(np.asarray(self.classes)).tolist() if is_several(self.classes) else []

    @property
    def _scaled_loss(self) -> Loss:
        """The loss of the scaled target: that of counts depends on their declared range."""
        if self.loss.link != "log":
            return self.loss
        if self.bounds is None:
            remedy = "Declare it from public knowledge: Bounds(..., target=(0, 50))."
            rule = f'must declare the range of the counts with model="{model_of(self.loss)}"'
            raise ValueError(sentence("bounds", rule, None, remedy))
        target = self.target_pair or (0.0, 1.0)
        return poisson(*target, log_offset(*target) if self.fit_intercept else 0.0)

    @property
    def target_pair(self) -> Pair | None:
        """The declared range of a numeric target; None without bounds, where it is [-1, 1].

        A count is never below 0, whatever the bounds say: those that were learned may begin a step lower, by noise.
        """
        if self.bounds is None or self.loss.classification:
            return None
        pair = self.bounds.target_pair()
        if pair is None:
            remedy = "Declare it from public knowledge: Bounds(..., target=(lower, upper)). All of y would be clipped."
            raise ValueError(sentence("bounds", "must declare the range of a numeric target", None, remedy))
        return from_zero(*pair) if self.loss.link == "log" else pair

    def _assumed(self) -> list[str]:
        facts = list(self.assumptions)
        if self.layout is None:
            facts.append("rows of X lie in the unit ball (rows outside are projected onto it)")
            unknown = ["no bounds were declared: whatever scaled the rows before is public"]
            facts += unknown if self.features is None else self.features.facts
        else:
            facts += self.layout.facts(self.columns)
        if not self.loss.classification:
            low, high = self.target_pair or (-1.0, 1.0)
            facts.append(f"y lies in [{short(low)}, {short(high)}] (values outside are clipped)")
        if self.loss.knots is not None and self.loss.link == "identity":
            facts.append(f"the loss {self.loss.label} was chosen without looking at the data")
        if self.n_rows is not None:
            facts.append(rows_sentence(self.n_rows, self.neighbouring, self.unit.many))
        return facts


def _interned(fields: dict[str, Any]) -> PublicFacts:
    """Equal public facts are one object, whose plans are made once.

    A key is made of public facts alone, in words, which tell True from 1: rows never come here. Public rows, and the
    map of a kernel, have no short words, and are planned anew.
    """
    if fields["public"] is not None or fields.get("features") is not None:
        return PublicFacts(**fields)
    facts = _FACTS.get(key := key_of(fields))
    if facts is None:
        if len(_FACTS) >= _KEPT:
            _FACTS.clear()
        facts = _FACTS[key] = PublicFacts(**fields)
    return facts


def key_of(fields: dict[str, Any]) -> tuple[Loss, str, str]:
    """The words of public facts; those of bounds are made once, and a loss may have numbers that no words show."""
    bounds, words = fields["bounds"], ""
    if bounds is not None:
        words = bounds.__dict__.get("_words") or bounds.__dict__.setdefault("_words", repr(bounds._values))
    return fields["loss"], words, repr([value for name, value in fields.items() if name != "bounds"])


def pure_sentence(delta: float) -> str:
    """The statement's sentence where this delta was asked for, and pure noise was taken."""
    return f"pure noise, at the same eps smaller than Gaussian noise for delta = {delta:g}"


def _without_delta(planned: Plan, unused: float, why: str) -> Plan:
    calibration = f"{planned.statement.calibration}; {why}"
    return replace(planned, statement=replace(planned.statement, calibration=calibration, unused_delta=unused))


def solution(mechanism: Mechanism, problem: Problem, eps: float) -> tuple[str, ...]:
    """The statement's sentences on the ridge, and on how the mechanism comes to coefficients."""
    ridge = "l2 = 'auto', a function of public facts" if problem.l2 is None else f"l2 = {problem.l2:g}"
    return (ridge, *mechanism.solution(problem, eps))


def check_promise(levels: Sequence[float], facts: PublicFacts) -> None:
    """Check what a fit promises: see `check_loss`."""
    check_loss(levels, facts.delta, facts.neighbouring, facts.n_rows, facts.unit)


def check_loss(levels: Sequence[float], delta: float, neighbouring: str, n_rows: int | None, unit: Unit = ROW) -> None:
    """Refuse a large delta, with which whole records could be published; warn of a large eps."""
    limit = _delta_limit(n_rows, neighbouring)
    if delta >= limit:
        rule = f"must be below 1/n = {limit:.3g}" if n_rows and limit == 1 / n_rows else f"must be below {limit:g}"
        harm = f"At this delta a {unit.one} could be published whole."
        raise ValueError(sentence("delta", rule, delta, f"{harm} Give a far smaller one."))
    largest = max(filter(math.isfinite, levels), default=0.0)
    if largest > _LITTLE:
        factor = f"{math.exp(largest):.1e}" if largest < _OVERFLOW else f"e^{largest:g}"
        text = f"eps = {largest:g} promises little: one {unit.one} may make what is released {factor} times as likely"
        warn(f"{text}. 0.1 to 1 is usual.", PrivacyWarning)


def _delta_limit(n_rows: int | None, neighbouring: str) -> float:
    """The delta that is too large: where the number of units is private, none that is declared allows a larger one."""
    public = neighbouring == Neighbouring.REPLACE_ONE
    return min(1.0 if n_rows is None else 1 / n_rows, 1.0 if public else _LARGE_DELTA)


def public_n_rows(n: int, n_rows: int | None, neighbouring: str, unit: Unit = ROW) -> int | None:
    """The number of units is public under replace_one only; under add_remove nothing but a declared reference is."""
    check_choice("neighbouring", neighbouring, _RELATIONS)
    declared = None if n_rows is None else check_count("n_rows", n_rows)
    if neighbouring == Neighbouring.ADD_REMOVE:
        return declared
    if declared not in (None, n):
        number = f"len(X) = {n}" if unit.person is None else f"the number of persons, {n},"
        raise ValueError(sentence("n_rows", f"must be {number} under replace_one", declared, "Leave it out."))
    return n


def rows_sentence(n_rows: int, neighbouring: str, many: str = "records") -> str:
    exact = neighbouring == Neighbouring.REPLACE_ONE
    return f"{f'the number of {many}' if exact else 'a declared reference, n_rows'} = {n_rows}"
