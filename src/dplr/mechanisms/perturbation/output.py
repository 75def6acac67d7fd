"""Output perturbation (CM08 Algorithm 1, CMS11 Algorithm 1): minimise exactly enough, then add noise.

Proofs and constants: output.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dplr._kit.progress import Track, silent
from dplr._kit.validation import check_choice, check_positive, sentence
from dplr.mechanisms.descriptions import OUTPUT
from dplr.mechanisms.perturbation import minimisation
from dplr.mechanisms.perturbation.ridge import output_ridge, pull_words, slope_cut
from dplr.mechanisms.protocol import NOISES, RANGES, Description, Mechanism, instead
from dplr.noise import Source
from dplr.privacy import sensitivity
from dplr.privacy.estimand import Estimand
from dplr.privacy.gaussian import gaussian_mu
from dplr.privacy.guarantees import Gaussian, Pure
from dplr.privacy.law import Law
from dplr.privacy.statement import PrivacyStatement, Release
from dplr.problem.losses import huber_residual, model_of
from dplr.problem.outlook import GradientNoise
from dplr.problem.plan import Plan, Settings
from dplr.problem.problem import Problem
from dplr.rows import Rows


@dataclass(frozen=True, slots=True)
class OutputPerturbation(Mechanism):
    """Release the minimiser of the regularised objective plus noise in proportion to what one record can move it.

    Parameters
    ----------
    coef_norm : float or None, default=None
        Public guess of ||coef|| in the scaled problem, for ``l2="auto"``; None for min(8, sqrt(q)), q the number of
        coefficients, or for numbers 0.7 sqrt(q).
    cut : float or "auto", default="auto"
        The squared loss has no bound of its slope: the Huber loss of this width, in [2^-10, 2^10], replaces it, on a
        target that is scaled to [-1, 1]. `"auto"` chooses the width from public facts. Noise is proportional to it, and
        **it biases the coefficients**: targets far from the model count less. The statement says which loss was
        minimised. Other losses stay as they are.
    projection : float or None, default=None
        Radius of a public ball in the scaled problem onto which the noisy coefficients are projected; None for no ball.
        Post-processing: it helps where noise is larger than any sensible model.
    noise : {"smaller", "gaussian"}, default="smaller"
        Where a delta was asked for, `"smaller"` takes pure noise if it is smaller than Gaussian noise: then the release
        has no delta. `"gaussian"` keeps Gaussian noise, of which many releases cost less together.
    ranges : {"auto", "on", "off"}, default="auto"
        Whether numbers are clipped to narrower ranges, released first for a share of eps, as in
        `ObjectivePerturbation`.

    Raises
    ------
    ValueError
        An option is outside its range.

    Privacy
    -------
    Under the relation of the fit, replace_one or add_remove. Releases the coefficients alone; `released_` is empty.
    Pure eps-DP with noise of density proportional to exp(-eps ||z|| / sensitivity) for delta = 0, (eps, delta)-DP with
    Gaussian noise for delta > 0 where that is smaller, for the computed numbers. The sensitivity covers what the solver
    leaves and what rounding adds. Bounds, every option and a number of rows are assumed public.

    See Also
    --------
    dplr.fit : Takes it as `mechanism`; its shorthand is `"output"`.
    dplr.ObjectivePerturbation : Usually less noise for the same promise.

    References
    ----------
    Chaudhuri and Monteleoni 2008 (CM08), Algorithm 1; Chaudhuri, Monteleoni and Sarwate 2011 (CMS11), Algorithm 1.
    Proof: output.md, theorems 1 and 2.

    Examples
    --------
    >>> import dplr
    >>> plan = dplr.plan(n_rows=10_000, n_features=2, eps=1.0, mechanism="output", l2=0.01, fit_intercept=False)
    >>> round(plan.statement.sensitivity, 4)
    0.02
    """

    about: ClassVar[Description] = OUTPUT
    coef_norm: float | None = None
    cut: float | str = "auto"
    projection: float | None = None
    noise: str = "smaller"
    ranges: str = "auto"

    def __post_init__(self) -> None:
        check_choice("noise", self.noise, NOISES)
        check_choice("ranges", self.ranges, RANGES)
        if self.coef_norm is not None:
            minimisation.check_guess(self.coef_norm)
        if isinstance(self.cut, str):
            check_choice("cut", self.cut, ["auto"])
        else:
            object.__setattr__(self, "cut", minimisation.check_cut(self.cut))
        if self.projection is not None:
            check_positive("projection", self.projection)

    def check(self, problem: Problem) -> None:
        minimisation.check(self._minimised(problem, math.inf, 0.0), self.about.name)

    def plan(self, problem: Problem, eps: float, delta: float, classes: Sequence[Any] = ()) -> Plan:
        asked, problem = problem.loss, self._minimised(problem, eps, delta)
        n_rows, loss = minimisation.check(problem, self.about.name), problem.loss
        size, norm, records = problem.geometry.n_coefs, problem.geometry.row_norm, problem.neighbouring.records_changed
        if problem.l2 is None:
            total = problem.reference_total or 0.0
            ridge = output_ridge(loss, total, size, eps, delta, norm, records, self.coef_norm)
        else:
            ridge = problem.l2 * n_rows
        solved = minimisation.minimisation(problem, ridge, linear_norm=0.0)
        moved = sensitivity.minimiser(records, loss.lipschitz, norm, ridge, solved.tolerance)
        guarantee: Pure | Gaussian = Pure(eps)
        law, price, grid = Law.NORM_GAMMA, eps, 0.0
        if math.isinf(eps):
            law = Law.NONE
        elif delta > 0:
            guarantee = Gaussian(gaussian_mu(eps, delta))
            law, price = Law.GAUSSIAN, guarantee.mu
        if law is not Law.NONE:  # both points are rounded to a grid that adds 2^-20 to what moves
            grid = minimisation.release_grid(min(moved, moved / price))
            moved = (moved + math.sqrt(size) * grid) * minimisation.ROUNDED_UP
        coef = Release((size,), moved, law, moved / price * minimisation.ROUNDED_UP, grid)
        words = (
            f"one {problem.unit.one} moves the minimiser by at most {records} L R~/Lam, the tolerance by 2 tau/Lam, "
            f"the grid by the root of the number of coefficients: L = {loss.lipschitz:g}, R~ = {norm:.6g}, "
            f"Lam = {ridge:.6g}, tau = {solved.tolerance:.3g}{minimisation.instead(asked, loss)}"
        )
        source = "Chaudhuri and Monteleoni 2008, Algorithm 1; dplr output.md, theorem 2"
        estimand = Estimand.MARGIN  # the ridge that its noise asks for is no smaller than the curvature of the rows
        assumptions = minimisation.assumptions(problem)
        released = {"coef": coef}
        statement = self.promise(problem, eps, delta, guarantee, released, words, source, estimand, assumptions)
        return Plan(self, problem, statement, solved)

    def _minimised(self, problem: Problem, eps: float, delta: float) -> Problem:
        """The problem with the loss that is minimised: a squared loss is cut."""
        loss, cut = problem.loss, self.cut
        if loss.name != "squared":
            if cut == "auto":
                return problem
            raise ValueError(sentence("cut", f'must be "auto" with model="{model_of(loss)}"', cut))
        if isinstance(cut, str):
            if problem.reference_total is None:
                raise minimisation.no_reference(self.about.name)
            records = problem.neighbouring.records_changed
            cut = slope_cut(loss, problem.reference_total, problem.geometry, eps, delta, records)
        return replace(problem, loss=huber_residual(cut))

    def check_rows(self, rows: Rows, problem: Problem) -> None:
        minimisation.check_count(rows, problem)

    def run(self, rows: Rows, plan: Plan, source: Source, track: Track = silent) -> dict[str, NDArray[np.float64]]:
        minimisation.check_rows(rows, plan.problem)
        return self._release(minimisation.minimise(rows, plan), plan, source)

    def run_many(
        self, rows: Rows, plans: Sequence[Plan], source: Source, track: Track = silent
    ) -> list[dict[str, NDArray[np.float64]]]:
        if len(plans) == 1:
            return [self.run(rows, plans[0], source, track)]
        minimisation.check_rows(rows, plans[0].problem)
        minima: dict[Settings | None, NDArray[np.float64]] = {}
        for plan in track(plans, "output perturbation"):
            if plan.settings not in minima:
                minima[plan.settings] = minimisation.minimise(rows, plan)
        return [self._release(minima[plan.settings], plan, source) for plan in plans]

    def _release(self, coef: NDArray[np.float64], plan: Plan, source: Source) -> dict[str, NDArray[np.float64]]:
        block = plan.statement.released["coef"]
        if block.scale:
            draw = source.norm_gamma if block.law is Law.NORM_GAMMA else source.normals
            units = draw(Fraction(block.scale) / Fraction(block.grid), len(coef))
            coef = minimisation.noisy(coef, block.grid, units)
        if self.projection is not None:
            coef = coef * min(1.0, self.projection / max(float(np.linalg.norm(coef)), 1e-300))
        return {"coef": minimisation.to_grid(coef, block.grid)}

    def solution(self, problem: Problem, eps: float) -> tuple[str, ...]:
        return () if self.projection is not None else pull_words(problem, eps)  # of the intercept of counts

    def coef_noise(self, statement: PrivacyStatement) -> float | None:
        # The noise's deviation, unless a projection changed it.
        block = statement.released["coef"]
        return block.deviation if block.scale and self.projection is None else None

    def lacks_intervals(self, plan: Plan) -> str:
        # The ridge that the noise asks for is too large for the coefficients to be near those without one.
        return f"its ridge pulls the coefficients by an amount that it does not release{instead(plan)}"

    def noise_of(self, plan: Plan) -> float | None:
        # In units of what hides one gradient: ridges differ between the laws.
        return self.gradient_noise(plan).deviation if self.noise == "smaller" else None

    def gradient_noise(self, plan: Plan) -> GradientNoise:
        # The noise on coefficients times the ridge: noise of the gradient that the ridge does not shrink.
        if plan.settings is None:  # from a file
            plan = self.plan(plan.problem, plan.statement.eps, plan.statement.delta)
        ridge: float = plan.settings.ridge
        return GradientNoise(plan.statement.released["coef"].deviation * ridge, plan.problem.loss.lipschitz, ridge)
