"""How far the sum of predictions may be from that of the target, by released numbers and public facts."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from dplr.fitting.run import Release
from dplr.mechanisms.perturbation.minimisation import MISSED
from dplr.mechanisms.protocol import Refitting, Tabled
from dplr.privacy.guarantees import Neighbouring
from dplr.privacy.statement import MOVED
from dplr.problem.outlook import MOST_MOVED, GradientNoise, middle_rate, reach
from dplr.problem.plan import Plan
from dplr.problem.problem import Problem

# Deviations of the noise by which sums of predictions were off at most, on made-up rows; and the part of them from
# which on a table says so.
_DEVIATIONS, _SAID = 7.0, 0.05
_SEVERAL = 0.95  # from this part on digits say nothing
# How much more a sum of predictions of a descent was off than the noise of the mean of all steps, on made-up rows.
_DESCENT = 8.0
_LAST_STEP = 1.5  # the same of a step with a noisy Hessian
_LOGISTIC = 8 / math.pi  # the variance of a normal law that is about as wide as the logistic one


class Total(NamedTuple):
    """The mean prediction and that of the target, in probabilities or half-ranges of the target."""

    predicted: float
    observed: float  # about: as the fit counts its rows
    deviation: float  # of the noise of their difference
    assumed: str = ""  # sentence on what is taken for the weights of all rows; empty where public or released

    def words(self, problem: Problem, approximated: bool = False) -> tuple[str, ...]:
        """A sentence on how far the sum of predictions may be off; () for at most 5 %."""
        apart = abs(self.predicted - self.observed) + _DEVIATIONS * self.deviation
        least = abs(self.observed) - _DEVIATIONS * self.deviation
        off = apart / least if least > 0 and self.observed * self.predicted > 0 else math.inf
        if off <= _SAID:
            return ()
        loss, many = problem.loss, problem.unit.many
        size = f"{100 * off:.2g} % more or less than" if off < _SEVERAL else "several times, or a small part of,"
        what = "probabilities" if loss.classification else "counts" if loss.link == "log" else "values"
        counted = [*([] if loss.classification else ["clipped"]), *(["weighted"] if problem.unit.weighted else [])]
        those = f"{'the labels' if loss.classification else 'those'} observed"
        those += f", as {' and '.join(counted)}" if counted else ""
        why, remedy = "noise is large beside their mean", f"A larger eps, or more {many} help."
        if abs(self.predicted - self.observed) > apart / 2:
            why = "a quadratic stands for the loss" if approximated else "coefficients are shrunk"
            remedy = 'mechanism="objective" helps.' if approximated else remedy
            remedy = remedy if problem.l2 is None else "A smaller l2 helps."
        elif not loss.classification:
            remedy = f"A smaller upper bound of the target, a larger eps, or more {many} help."
        return (f"Predicted {what} may add up to {size} {those}: {why}. {remedy}{self.assumed}",)


def total_words(fitted: Any) -> tuple[str, ...]:
    """A sentence where the sum of predictions may be off by more than 5 %; () else, and where it has no meaning.

    It has none for labels that are told apart without probabilities, and for a target that may be below and above 0.
    """
    record: Release = fitted._record
    problem, mechanism = record.plan.problem, record.mechanism
    low, high = record.prep.target or (-1.0, 1.0)
    labels = problem.loss.classification
    summed = hasattr(fitted, "predict_proba") if labels else low * high >= 0
    if np.size(fitted.intercept_) > 1 or not problem.geometry.intercept or not summed:
        return ()
    coef = np.array(record.prep.from_user_units(np.ravel(fitted.coef_), float(np.ravel(fitted.intercept_)[0])))
    middle = (low + high) / (high - low)
    if isinstance(mechanism, Refitting):
        return _of_moments(record, mechanism, coef, middle).words(problem, labels)
    total = _of_minimum(record, coef, middle)
    return () if total is None else total.words(problem)


def _of_minimum(record: Release, coef: NDArray[np.float64], middle: float) -> Total | None:
    """That of a minimum of a sum objective: both sums agree up to the ridge and the noise of the gradient.

    Noise that is added to the coefficients moves every prediction, and the pull of the ridge that they tell. Of a pull
    that was taken back a part may stay: counts may be fewer than the guess that was taken for their sum.
    """
    problem, geometry = record.plan.problem, record.plan.problem.geometry
    noise = _gradient_noise(record)
    if noise is None or not noise.deviation or problem.n_rows is None:
        return None
    iota, start, ridge = geometry.intercept, problem.w0[-1] if problem.w0 else 0.0, _ridge(record)
    flags = np.array(() if record.prep.layout is None else record.prep.layout.indicators, bool)
    alone = [column for column in geometry.numbers if flags[column : column + 1].any()]
    mean = _mean_at(record, coef, middle, -abs(float((coef * geometry.sizes)[alone].sum())))  # all rare, or frequent
    units, assumed = _units(problem)
    pull = -ridge * (float(coef[-1]) - start) / iota
    if MOVED in record.plan.statement.solution:
        largest = problem.n_rows * middle_rate(problem, coef, reach(geometry, coef, flags.tolist()))
        pull -= min(max(pull, -largest / MOST_MOVED), largest) * units * mean / largest
    deviation = noise.deviation / iota
    if noise.ridge:
        slope = 1.0 if problem.loss.link == "identity" else abs(mean)
        deviation = noise.deviation / noise.ridge * (units * slope * geometry.row_norm + ridge / iota)
    return Total(mean, mean - pull / units, deviation / units, assumed)


def _units(problem: Problem) -> tuple[float, str]:
    """The sum of the weights of all rows, in units of the largest, and what is assumed for it."""
    unit, total = problem.unit, problem.reference_total or 1.0
    factors = [factor for _, factor in unit.class_weights]
    facts = [f"about {problem.n_rows:,} {unit.many}"] if problem.neighbouring is Neighbouring.ADD_REMOVE else []
    facts += ["weights of half the largest on average"] if unit.weight_max is not None else []
    facts += [f"{unit.rows_per_person} rows a person"] if unit.rows_per_person > 1 else []
    assumed = f" This is for {' and '.join(facts)}." if facts else ""
    return total * (min(factors) / max(factors) if factors else 1.0), assumed


def _gradient_noise(record: Release) -> GradientNoise | None:
    """The noise of the last step, where it has noise on its Hessian too the larger; a descent ends beside a minimum."""
    mechanism = record.mechanism
    noise = mechanism.gradient_noise(record.plan)
    if noise is not None and mechanism.about.steps_in:
        return noise._replace(deviation=_DESCENT * noise.deviation)
    if noise is not None and isinstance(mechanism, Tabled) and mechanism.about.noise_in == "sums":
        return noise._replace(deviation=_LAST_STEP * max(mechanism.equation_noise(record.plan) or (noise.deviation,)))
    return noise


def _ridge(record: Release) -> float:
    """The ridge of the sum objective, which follows from public facts."""
    mechanism, plan = record.mechanism, record.plan
    if plan.problem.l2 is not None or mechanism.about.noise_in == "sums":
        return (plan.problem.l2 or 0.0) * (plan.problem.n_rows or 0)
    delta = plan.statement.delta
    planned: Plan = mechanism.plan(plan.problem, plan.statement.eps, delta if delta > MISSED else 0.0)
    return float(planned.settings.ridge)


def _mean_at(record: Release, coef: NDArray[np.float64], middle: float, away: float) -> float:
    """The mean prediction in the middle of all columns; of counts and labels so far away from there."""
    problem = record.plan.problem
    margin = float(coef[-1]) * problem.geometry.intercept
    if problem.loss.classification:
        return float(special.expit(record.link.log_odds(np.array([margin + away]))[0]))
    return middle_rate(problem, coef, away) if problem.loss.link == "log" else middle + margin


def _of_moments(record: Release, mechanism: Refitting, coef: NDArray[np.float64], middle: float) -> Total:
    """Both sums from released moments; of probabilities for margins with a normal law of the released variance."""
    moments = mechanism.moments(record.plan, record.parts[0])
    scale = record.prep.geometry.intercept * moments.total
    observed, fitted = float(moments.vector[-1]) / scale, float(moments.matrix[-1] @ coef) / scale
    deviation = moments.deviation / scale
    if not record.plan.problem.loss.classification:
        return Total(middle + fitted, middle + observed, deviation)
    variance = max(float(coef @ moments.matrix @ coef) / moments.total - fitted**2, 0.0)
    return Total(float(special.expit(fitted / math.sqrt(1 + variance / _LOGISTIC))), (1 + observed) / 2, deviation / 2)
