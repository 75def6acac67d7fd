"""Objective perturbation (CM08 Algorithm 2, CMS11 Algorithm 2): a random linear term, then minimise.

Proofs and constants: objective.md.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dplr._kit.progress import Track, silent
from dplr._kit.validation import check_choice, sentence
from dplr.inference.reading import Reading
from dplr.mechanisms.descriptions import OBJECTIVE
from dplr.mechanisms.perturbation import hessian, minimisation
from dplr.mechanisms.perturbation import noise as objective_noise
from dplr.mechanisms.perturbation.minimisation import Minimisation
from dplr.mechanisms.perturbation.noise import LinearTerm, deviations, linear_term
from dplr.mechanisms.perturbation.ridge import gauge_ridges, objective_ridge, pull_words, slope_cut
from dplr.mechanisms.protocol import NOISES, RANGES, Description, Shape, Tabled, instead
from dplr.noise import Source
from dplr.privacy import sensitivity
from dplr.privacy.guarantees import Approx, Pure
from dplr.privacy.law import Law
from dplr.privacy.profiles import Profile, pure_profile
from dplr.privacy.statement import PrivacyStatement, Release
from dplr.problem.link import LOGIT, Link, link_share, soft_link
from dplr.problem.losses import Loss, model_of, soft_huber, soft_logistic
from dplr.problem.outlook import GradientNoise
from dplr.problem.plan import Plan
from dplr.problem.problem import Problem
from dplr.rows import Rows

Vector = NDArray[np.float64]
# Where each calibration comes from.
_SOURCES = {
    "tight": "Chaudhuri, Monteleoni and Sarwate 2011, Algorithm 2; dplr objective.md, theorems 1 to 7",
    "cms11": "Chaudhuri, Monteleoni and Sarwate 2011, Algorithm 2 and theorem 9; dplr objective.md, section 6",
    "cm08": "Chaudhuri and Monteleoni 2008, Algorithm 2; dplr objective.md, section 6",
}
# The share of eps that pays for the solver's tolerance.
_TOLERANCE_SHARE = 2.0**-8
# The printed algorithms have no tolerance: theirs is so small that its noise does not show, even with few rows.
_PRINTED_TOLERANCE = 2.0**-20
# Rows times eps at which half of the link is that of the cut loss (link.md, section 3).
_HALFWAY = 4_000.0


@dataclass(frozen=True, slots=True)
class ObjectivePerturbation(Tabled):
    """Release the minimiser of the regularised objective plus a random linear term.

    Parameters
    ----------
    calibration : {"tight", "cms11", "cm08"}, default="tight"
        `"tight"` is the exact privacy loss for the logistic loss (objective.md, theorem 2; an upper bound with one
        coefficient under replace-one), theorem 5 where the slope is cut, and the rank-one bound for others (theorem 1);
        `"cms11"` is CMS11 Algorithm 2, which charges the curvature twice and raises the ridge where eps would not pay
        for it; `"cm08"` is CM08 Algorithm 2 as printed, for reproduction: with a small ridge its privacy loss exceeds
        the eps asked for, and its statement says what it is. Only `"tight"` takes a delta.
    coef_norm : float or None, default=None
        Public guess of ||coef|| in the scaled problem, for ``l2="auto"``; None for min(16, 2 sqrt(q)), and 0.7 sqrt(q)
        for a numeric target, q the number of coefficients.
    cut : float, "auto" or None, default="auto"
        Largest slope C of the loss. Noise is proportional to it. A number replaces the logistic loss by one that is cut
        softly at slope C in (0, 1], and the squared loss by the soft Huber loss of width C > 0, on a target that is
        scaled to [-1, 1]; `"auto"` chooses C from public facts, and keeps the Huber SVM and the losses of printed
        algorithms as they are. **A cut biases the coefficients**: rows that contradict the model count less. The
        statement says which loss was minimised. None keeps the logistic loss; the squared loss has no bound of its
        slope, and needs a cut.
    intervals : {"off", "on"}, default="off"
        `"on"` spends 40 % of eps on the Hessian at the released coefficients, so that log odds have confidence
        intervals; logistic loss alone, without a cut, and delta = 0 (mechanism="score" is better where delta > 0).
        Where n eps allows it, 10 % go to squares of the score: intervals then hold where the logistic model is wrong.
        `released_` holds the Hessian, and the squares.
    noise : {"smaller", "gaussian"}, default="smaller"
        Where a delta was asked for, `"smaller"` takes pure noise if it is smaller than Gaussian noise, or, with levels
        in the bounds, a little larger: then the release has no delta. `"gaussian"` keeps Gaussian noise, of which many
        releases cost less together.
    ranges : {"auto", "on", "off"}, default="auto"
        Whether numbers are clipped to narrower ranges than the bounds, in the fit and in predictions. A range is the
        mean and three deviations to both sides, from sums that are released first, for at most 15 % of eps. Levels,
        and numbers whose bounds are digits, such as (0, 1) or (1, 5), keep their bounds. It needs bounds, an intercept
        and n_rows, and no `public`. `"auto"` does so with pure noise under replace_one, where the noise of a mean is at
        most a ninth of its half-width (ranges.md), and the fit has no intervals and another `aim` than coefficients;
        for labels, where half of the columns have ranges.
        With delta > 0, `"auto"` lets standardised `"ngd"` clip numbers of a regression to ranges made of its own sums,
        for no further eps (noisy_gd.md, section 7).

    Raises
    ------
    ValueError
        An option is outside its range.

    Privacy
    -------
    Under the relation of the fit, replace_one or add_remove. Releases the coefficients alone; `released_` is empty,
    except with ``intervals="on"``. (eps, 2^-64)-DP for delta = 0, (eps, delta)-DP with Gaussian noise for delta > 2^-64
    where that is smaller, for the computed numbers. A share of eps pays for tolerance and rounding (theorem 4). Not
    quite pure: if the noise is very long, the solver may miss its tolerance, and then nothing is released. Whether it
    does may depend on the data, so its probability is charged: that is the 2^-64. Bounds, every option and a number of
    rows are assumed public.

    See Also
    --------
    dplr.fit : Takes it as `mechanism`; its shorthand is `"objective"`.
    dplr.ScoreRelease : Log odds with intervals, for delta > 0.
    dplr.auditor.log_density_ratio : The exact privacy loss of what it releases.

    References
    ----------
    Chaudhuri and Monteleoni 2008 (CM08), Algorithm 2; Chaudhuri, Monteleoni and Sarwate 2011 (CMS11), Algorithm 2;
    Kifer, Smith and Thakurta 2012. Proofs: objective.md.

    Examples
    --------
    >>> import dplr
    >>> printed = dplr.ObjectivePerturbation(calibration="cm08")
    >>> facts = dict(n_rows=1000, n_features=2, fit_intercept=False, l2=1e-5, eps=1.0)
    >>> round(dplr.plan(mechanism=printed, **facts).statement.eps, 2)
    4.03
    """

    about: ClassVar[Description] = OBJECTIVE
    calibration: str = "tight"
    coef_norm: float | None = None
    cut: float | str | None = "auto"
    intervals: str = "off"
    noise: str = "smaller"
    ranges: str = "auto"

    def __post_init__(self) -> None:
        check_choice("calibration", self.calibration, list(_SOURCES))
        check_choice("noise", self.noise, NOISES)
        check_choice("ranges", self.ranges, RANGES)
        if check_choice("intervals", self.intervals, ("on", "off")) == "on" and self.calibration != "tight":
            raise ValueError(sentence("intervals", f'must be "off" with calibration="{self.calibration}"', "on"))
        if self.coef_norm is not None:
            minimisation.check_guess(self.coef_norm)
        if isinstance(self.cut, str):
            check_choice("cut", self.cut, ["auto"])
        elif self.cut is not None:
            object.__setattr__(self, "cut", minimisation.check_cut(self.cut))
        if self.cut not in (None, "auto") and self.calibration != "tight":
            rule = f'must be None or "auto" with calibration="{self.calibration}"'
            raise ValueError(sentence("cut", rule, self.cut, "The printed algorithms know no cut."))

    @property
    def keeps_eps(self) -> bool:
        return self.calibration == "tight"

    def check(self, problem: Problem) -> None:
        self._check_unit(problem)
        if self.intervals == "on":
            hessian.check(problem)
        minimisation.check(self._minimised(problem, math.inf, 0.0), self.about.name)

    def _check_unit(self, problem: Problem) -> None:
        if problem.unit.person is not None and self.calibration != "tight":
            remedy = "The printed algorithms protect single rows."
            raise ValueError(sentence("calibration", 'must be "tight" with persons', self.calibration, remedy))
        if problem.unit.person is not None and self.intervals == "on":
            remedy = 'Rows of one person depend on each other: mechanism="score" with a delta shows how much.'
            raise ValueError(sentence("intervals", 'must be "off" with persons', self.intervals, remedy))

    def plan(self, problem: Problem, eps: float, delta: float, classes: Sequence[Any] = ()) -> Plan:
        if problem.unit.person is not None and delta > 0:
            if self.noise == "gaussian":
                remedy = 'Use noise="smaller": it is pure here, and no delta is used.'
                raise ValueError(sentence("noise", 'must be "smaller" with persons', self.noise, remedy))
            _noise_delta(eps, delta)  # refuses what is less than will be stated
            delta = 0.0  # no theorem covers Gaussian noise where a unit has several rows (unit.md, theorem 6)
        if self.intervals == "off":
            return self._model(problem, eps, delta)
        hessian.check(problem)
        minimisation.check(problem, self.about.name)
        if delta > 0 and self.noise == "gaussian":
            remedy = 'Use noise="smaller", which is pure here, or mechanism="score", which is made for a delta.'
            raise ValueError(sentence("noise", "must be \"smaller\" with intervals='on'", self.noise, remedy))
        _noise_delta(eps, delta)  # refuses what is less than will be stated
        return hessian.with_hessian(self._model(problem, hessian.model_share(problem, eps), 0.0), eps)

    def _model(self, problem: Problem, eps: float, delta: float) -> Plan:
        self._check_unit(problem)
        original, problem = problem.loss, self._minimised(problem, eps, delta)
        minimisation.check(problem, self.about.name)
        if delta > 0 and self.calibration != "tight":
            rule = f'must be 0 with calibration="{self.calibration}"'
            raise ValueError(sentence("delta", rule, delta, 'Use calibration="tight".'))
        for_noise, remainder = eps * (1 - _TOLERANCE_SHARE), _noise_delta(eps, delta)
        ridge, weights = self._ridge(problem, for_noise, remainder)
        weighted, finite = problem.weighted(weights), math.isfinite(eps)
        term = linear_term(self.calibration, weighted, for_noise, remainder, ridge)
        term = term._replace(scale=term.scale * minimisation.ROUNDED_UP)
        # The tolerance as a share of one record's largest gradient.
        share = minimisation.TOLERANCE if self.calibration == "tight" else _PRINTED_TOLERANCE
        if finite:
            noise = float(deviations(term.law, term.scale, weighted.geometry).mean())
            lost = minimisation.share_beside_noise(weighted, term.ridge, noise, _TOLERANCE_SHARE * eps)
            share = min(share, lost)
        stated = max(eps, term.eps + _TOLERANCE_SHARE * eps)
        longest = term.longest(weighted.geometry, stated)
        solved = replace(minimisation.minimisation(weighted, term.ridge, longest, share), weights=weights)
        if finite:
            solved = minimisation.paying(solved, problem.geometry.n_coefs, longest, eps, _TOLERANCE_SHARE)
            delta = delta or minimisation.MISSED
        return Plan(self, problem, self._statement(problem, original, term, solved, stated, delta), solved)

    def _minimised(self, problem: Problem, eps: float, delta: float) -> Problem:
        loss, numbers, cut = problem.loss, problem.loss.name == "squared", self.cut
        cuttable = numbers or loss.name == "logistic"
        if self.intervals == "on":
            if cut not in (None, "auto"):
                raise ValueError(sentence("cut", "must be None with intervals='on'", cut, "A cut biases log odds."))
            return problem
        if self.calibration != "tight" or (cut == "auto" and not cuttable) or (cut is None and not numbers):
            return problem
        if not cuttable or cut is None:
            rule = 'must be "auto" or a number' if numbers else 'must be "auto" or None'
            raise ValueError(sentence("cut", f'{rule} with model="{model_of(loss)}"', cut))
        if isinstance(cut, str):
            if problem.reference_total is None:
                raise minimisation.no_reference(self.about.name)
            records = problem.neighbouring.records_changed
            cut = slope_cut(loss, problem.reference_total, problem.geometry, eps, delta, records)
        elif not numbers and cut > 1:
            raise ValueError(sentence("cut", "must be at most 1 with the logistic loss", cut, "Its slope is below 1."))
        return replace(problem, loss=soft_huber(cut) if numbers else soft_logistic(cut))

    def _ridge(self, problem: Problem, eps: float, delta: float) -> tuple[float, tuple[float, ...]]:
        """The ridge, and the weights of the coefficients that give each its own; () for one ridge for all."""
        loss, geometry, total = problem.loss, problem.geometry, problem.reference_total
        assert problem.n_rows is not None
        assert total is not None
        if problem.l2 is not None:
            return problem.l2 * problem.n_rows, ()
        records, tight = problem.neighbouring.records_changed, self.calibration == "tight"
        if math.isfinite(eps) and delta == 0 and tight and geometry.half_width is not None:
            ridges = gauge_ridges(loss, total, geometry, eps, records, self.coef_norm)
            # The last coefficient keeps the weight 1: the intercept's constant stays as it is.
            return float(ridges[-1]), tuple(np.sqrt(ridges[-1] / ridges).tolist())
        size, norm = geometry.n_coefs, geometry.row_norm
        return objective_ridge(loss, total, size, eps, delta, norm, records, self.coef_norm), ()

    def _statement(
        self, problem: Problem, original: Loss, term: LinearTerm, solved: Minimisation, eps: float, delta: float
    ) -> PrivacyStatement:
        weights = np.asarray(solved.weights or 1.0)
        each = deviations(term.law, term.scale, problem.geometry)
        grid = minimisation.release_grid(float((each * weights**2).min()) / term.ridge)
        spread = math.sqrt(float(np.square(each).mean())) if term.law is Law.GAUGE else 0.0
        shape, law = (problem.geometry.n_coefs,), term.law.in_the_objective()
        ridge = f"R~ = {problem.geometry.row_norm:.6g}, Lam = {solved.ridge:.6g}"
        if solved.weights:
            kappa = problem.weighted(solved.weights).geometry.row_norm ** 2 / solved.ridge
            least, largest = solved.ridges[0], solved.ridges[-1]
            ridge = f"a ridge for each coefficient, {least:.6g} to {largest:.6g}, the last one Lam = {solved.ridge:.6g}"
            ridge += f", kappa = {kappa:.6g}"
        missed = "; delta has 2^-64 for a linear term too long for the solver" if math.isfinite(eps) else ""
        named = (
            f"{term.named}; {ridge}; minimum within tau/Lam, tau = {solved.tolerance:.3g}; rounded, within "
            f"T = {solved.offset * solved.lattice:.5g} in all coordinates together, paid by Laplace noise of scale "
            f"{solved.tolerance_noise:.5g} on coef{' over its weights' if solved.weights else ''}{missed}"
            f"{minimisation.instead(original, problem.loss)}"
        )
        guarantee = Approx(eps, delta) if delta > 0 else Pure(eps)
        coef = Release(shape, term.moved, law, term.scale, grid, spread=spread)
        source, facts = _SOURCES[self.calibration], minimisation.assumptions(problem)
        return self.promise(problem, eps, delta, guarantee, {"coef": coef}, named, source, assumptions=facts)

    def blocks(self, problem: Problem, eps: float, delta: float, classes: Sequence[Any] = ()) -> dict[str, Shape]:
        coef: dict[str, Shape] = {"coef": (problem.geometry.n_coefs,)}
        return coef if self.intervals == "off" else coef | hessian.blocks(problem, eps)

    def check_rows(self, rows: Rows, problem: Problem) -> None:
        minimisation.check_count(rows, problem)

    def run(self, rows: Rows, plan: Plan, source: Source, track: Track = silent) -> dict[str, Vector]:
        (released,) = self.run_many(rows, [plan], source, track)
        return released

    def run_many(
        self, rows: Rows, plans: Sequence[Plan], source: Source, track: Track = silent
    ) -> list[dict[str, Vector]]:
        minimisation.check_rows(rows, plans[0].problem)
        linear = [_linear(plan, source) for plan in plans]
        minima = minimisation.minimise_many(rows, plans, linear)
        for term in linear:
            term.fill(0.0)  # whoever knows it knows the minimum of the rows
        return [self._release(rows, minimum, plan, source) for minimum, plan in zip(minima, plans, strict=True)]

    def _release(self, rows: Rows, coef: Vector, plan: Plan, source: Source) -> dict[str, Vector]:
        solved: Minimisation = plan.settings
        if solved.noise_units:
            coef = minimisation.noisy(coef, solved.lattice, source.laplace(solved.noise_units, len(coef)))
        coef = coef * np.asarray(solved.weights or 1.0)
        coef = minimisation.to_grid(coef, plan.statement.released["coef"].grid)
        beside = hessian.released_hessian(rows, coef, plan, source) if self.intervals == "on" else {}
        return {"coef": coef, **beside}

    def solution(self, problem: Problem, eps: float) -> tuple[str, ...]:
        return pull_words(problem, eps) if self.calibration == "tight" else ()

    def aimed(self, problem: Problem, classes: Sequence[Any]) -> ObjectivePerturbation:
        logistic = problem.loss.name == "logistic" and problem.unit.person is None
        tight = self.calibration == "tight" and self.cut in (None, "auto")
        return replace(self, intervals="on") if logistic and tight else self

    def noise_of(self, plan: Plan) -> float | None:
        # For a loss of slope 1: cuts differ between the laws.
        deviation = plan.statement.released["coef"].deviation
        comparable = self.noise == "smaller" and self.intervals == "off"
        return deviation / plan.problem.loss.lipschitz if comparable else None

    def gradient_noise(self, plan: Plan) -> GradientNoise:
        # Where the slope is cut, the sensitivity tells.
        block, problem = plan.statement.released["coef"], plan.problem
        slope = block.sensitivity / problem.neighbouring.records_changed
        if block.law.family is not Law.GAUGE:
            slope /= problem.geometry.row_norm
        return GradientNoise(block.deviation, slope)

    def profiles(self, plan: Plan) -> tuple[Profile, ...]:
        block, eps = plan.statement.released["coef"], plan.statement.eps
        if not block.law.gaussian:
            return ()
        problem, loss, records = plan.problem, plan.problem.loss, plan.problem.neighbouring.records_changed
        alone = objective_noise.privacy_loss(problem, plan.settings.ridge, records=1)
        ratio = sensitivity.gradient(1, loss.lipschitz, problem.geometry.row_norm) / block.scale
        of_term = objective_noise.gaussian_profile(ratio, eps, minimisation.MISSED, alone, records, loss.one_signed)
        return of_term, pure_profile(_TOLERANCE_SHARE * eps)

    def lacks_intervals(self, plan: Plan) -> str:
        if self.intervals == "on":
            return ""
        return f"the coefficients alone do not say how uncertain they are{instead(plan)}"

    def as_declared(self, problem: Problem, names: Collection[str]) -> bool:
        return self.intervals == "on"

    def equation_noise(self, plan: Plan) -> tuple[float, float] | None:
        if self.intervals == "off":
            return None
        each = _deviations(plan) / np.asarray(plan.settings.weights or 1.0)  # in coordinates with a ridge each
        return math.sqrt(float(np.mean(each**2))), hessian.deviation(plan)

    def readings(self, plan: Plan, parts: Sequence[Mapping[str, Vector]], coefs: Sequence[Vector]) -> list[Reading]:
        planned = self.plan(plan.problem, plan.statement.eps, 0.0)  # ridge and tolerance follow from public facts
        if planned.statement.released != plan.statement.released:
            rule = "must be planned by this version of dplr to have intervals: it takes another ridge or noise"
            raise ValueError(sentence("mechanism", rule, plan.statement.version, "Fit again."))
        each, stated = _deviations(planned), replace(planned, statement=plan.statement)
        return [hessian.reading(stated, part, coef, each) for part, coef in zip(parts, coefs, strict=True)]

    def link(self, plan: Plan) -> Link:
        # The link of the cut loss. The plan of a model file has the loss before: there the noise tells the cut.
        loss = plan.problem.loss
        if loss.name == "soft_logistic":
            cut = loss.width
        elif loss.name == "logistic" and self.cut is not None:
            cut = self.gradient_noise(plan).slope
        else:
            return LOGIT
        return soft_link(cut, link_share(plan.problem.reference_total, plan.statement.eps, _HALFWAY))


def _noise_delta(eps: float, delta: float) -> float:
    """The remainder of delta for Gaussian noise, rounded down; 0 where none was asked for."""
    if math.isinf(eps) or delta == 0:
        return delta
    if delta <= minimisation.MISSED:
        remedy = "delta=0 takes pure noise, and states the 2^-64 that the solver needs."
        raise ValueError(sentence("delta", 'must be 0 or above 2^-64 with mechanism="objective"', delta, remedy))
    return math.nextafter(delta - minimisation.MISSED, 0.0)


def _deviations(plan: Plan) -> Vector:
    """Those of the linear term on each coordinate of the weighted problem."""
    block = plan.statement.released["coef"]
    return deviations(block.law.family, block.scale, plan.problem.weighted(plan.settings.weights).geometry)


def _linear(plan: Plan, source: Source) -> Vector:
    """The linear term, rounded to its lattice: whole units that float64 holds exactly, up to the planned length."""
    solved: Minimisation = plan.settings
    block = plan.statement.released["coef"]
    if not block.scale:
        return np.zeros(block.shape)
    scale, size = Fraction(block.scale) / Fraction(solved.unit), plan.problem.geometry.n_coefs
    if block.law.family is Law.GAUGE:
        geometry = plan.problem.weighted(solved.weights).geometry
        units = source.in_body([scale * Fraction(half) for half in geometry.half_widths], geometry.groups)
    elif block.law.family is Law.NORM_GAMMA:
        units = source.norm_gamma(scale, size)
    else:
        units = source.normals(scale, size)
    term = units.astype(np.float64) * solved.unit
    units.fill(0)  # as `run_many` wipes the term
    return term
