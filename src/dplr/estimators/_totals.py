"""How far the sum of predictions may be from that of the target, by released numbers and public facts."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from dplr.fitting.release import Record
from dplr.mechanisms.noisy_gd.spec import NoisyGradientDescent
from dplr.mechanisms.protocol import Mechanism, Refitting
from dplr.mechanisms.score.spec import ScoreRelease
from dplr.problem.outlook import GradientNoise, Total, middle_rate

# How much more a sum of predictions of a descent was off than the noise of the mean of all steps, on made-up rows.
_DESCENT = 4.0
_LOGISTIC = 8 / math.pi  # the variance of a normal law that is about as wide as the logistic one


def total_words(fitted: Any) -> tuple[str, ...]:
    """A sentence where the sum of predictions may be off by more than 5 %; () else, and where it has no meaning.

    It has none for labels that are told apart without probabilities, and for a target that may be below and above 0.
    """
    record: Record = fitted._record
    plan, mechanism = record.plan, record.mechanism
    low, high = record.prep.target or (-1.0, 1.0)
    labels = plan.problem.loss.classification
    summed = hasattr(fitted, "predict_proba") if labels else low * high >= 0
    if np.size(fitted.intercept_) > 1 or not plan.problem.geometry.intercept or not summed:
        return ()
    coef = np.array(record.prep.from_user_units(np.ravel(fitted.coef_), float(np.ravel(fitted.intercept_)[0])))
    middle = (low + high) / (high - low)
    total = _released(record, mechanism, coef, middle) if isinstance(mechanism, Refitting) else None
    if total is None:
        noise = _gradient_noise(mechanism, record)
        if noise is None or not noise.deviation:
            return ()
        total = Total.behind(plan.problem, noise, coef, _mean_at(record, coef, middle))
    return total.words(plan.problem)


def _gradient_noise(mechanism: Mechanism, record: Record) -> GradientNoise | None:
    """The noise of the last step, where it has noise on its Hessian too the larger; a descent ends beside a minimum."""
    noise = mechanism.gradient_noise(record.plan)
    if noise is not None and isinstance(mechanism, NoisyGradientDescent):
        return noise._replace(deviation=_DESCENT * noise.deviation)
    if noise is not None and isinstance(mechanism, ScoreRelease):
        return noise._replace(deviation=max(mechanism.equation_noise(record.plan)))
    return noise


def _mean_at(record: Record, coef: NDArray[np.float64], middle: float) -> float:
    """The mean prediction in the middle of all columns: a probability, or in half-ranges of the target."""
    problem = record.plan.problem
    margin = float(coef[-1]) * problem.geometry.intercept
    if problem.loss.classification:
        return float(special.expit(record.link.log_odds(np.array([margin]))[0]))
    return middle_rate(problem, coef) if problem.loss.link == "log" else abs(middle + margin)


def _released(record: Record, mechanism: Mechanism, coef: NDArray[np.float64], middle: float) -> Total | None:
    """Both sums from released moments; of probabilities for margins with a normal law of the released variance."""
    (reading, *_) = mechanism.readings(record.plan, record.parts, [np.zeros(0)])
    iota = record.prep.geometry.intercept
    if not reading.n_rows:
        return None
    scale = iota * reading.n_rows
    observed, fitted = float(reading.vector[-1]) / scale, float(reading.matrix[-1] @ coef) / scale
    deviation = math.sqrt(float(reading.vector_noise[-1, -1])) / scale
    if not record.plan.problem.loss.classification:
        return Total(middle + fitted, middle + observed, deviation)
    variance = max(float(coef @ reading.matrix @ coef) / reading.n_rows - fitted**2, 0.0)
    return Total(float(special.expit(fitted / math.sqrt(1 + variance / _LOGISTIC))), (1 + observed) / 2, deviation / 2)
