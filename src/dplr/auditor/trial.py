"""Fits of made-up neighbours, and the privacy loss of each: how much likelier its release is on its own rows."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplr._kit.progress import silent
from dplr.auditor.density import log_noise
from dplr.auditor.neighbours import Pair, Table
from dplr.auditor.trace import Draw, ReleaseDiffers, Tracing
from dplr.bounds.declared import Bounds
from dplr.fitting.ranges import intervals
from dplr.fitting.run import FitInput, Release, release
from dplr.ledger.budget import NullLedger
from dplr.mechanisms.perturbation.minimisation import Minimisation
from dplr.privacy.law import Law
from dplr.privacy.statement import PrivacyStatement
from dplr.problem.plan import Plan
from dplr.rows import Rows
from dplr.rows.losses import LossGradientHessian

Vector = NDArray[np.float64]
_IN_OBJECTIVE = (Law.NORM_GAMMA_IN_OBJECTIVE, Law.GAUGE_IN_OBJECTIVE, Law.GAUSSIAN_IN_OBJECTIVE)
_LAWS = {Law.GAUGE: "gauge", Law.NORM_GAMMA: "gamma", Law.GAUSSIAN: "gaussian"}


@dataclass(frozen=True, slots=True)
class Loss:
    """The privacy loss that a pair of neighbours may have at most, under the noise that was drawn.

    Attributes
    ----------
    pure : part of all noise that bounds it.
    mu : of all Gaussian noise together.
    """

    pure: float = 0.0
    mu: float = 0.0


@dataclass(frozen=True, eq=False, slots=True)
class Run:
    """One fit of one table.

    Attributes
    ----------
    draws : all draws of noise, in their order.
    done : the release.
    sampled : whether batches were drawn.
    """

    draws: list[Draw]
    done: Release
    sampled: bool

    @property
    def numbers(self) -> Vector:
        """Every released number, the coefficients last."""
        blocks = {id(part): part for part in (self.done.ranges, *self.done.parts)}
        parts = [np.ravel(block) for part in blocks.values() for block in part.values()]
        return np.concatenate([*parts, *self.done.coefs])


@dataclass(eq=False)
class Trial:
    """Fits under one plan.

    Attributes
    ----------
    estimator : that has not been fitted.
    bounds : of its columns, by position, with the numbers of persons and weights; None for the unit ball.
    eps : of the plan.
    persons, weighted : whether rows have ids and weights.
    source : the class of the noise.
    splits_persons : whether every row has an id of its own, as a copy that is broken on purpose has it.
    """

    estimator: Any
    bounds: Bounds | None
    eps: float
    persons: bool
    weighted: bool
    source: type[Tracing] = Tracing
    splits_persons: bool = False

    def ready(self, table: Table) -> FitInput:
        """Rows before a fit."""
        labelled = hasattr(self.estimator, "classes")
        y = table.y.astype(np.int64) if labelled else table.y
        ids = np.arange(len(y)) if self.splits_persons else table.ids
        ready: FitInput = self.estimator._prepared(
            table.X, y, self.bounds, [self.eps], table.weights if self.weighted else None,
            ids if self.persons else None,
        )  # fmt: skip
        return ready

    def planned(self, ready: FitInput) -> Plan:
        """The plan of these rows' public facts."""
        return ready.facts.planned(self.eps)

    def run(self, ready: FitInput, planned: Plan, seed: int, script: list[Draw] | None = None) -> Run:
        """One fit; with a script, one that releases what another fit did."""
        source = self.source(seed, script)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            (done,) = release(ready, [planned], NullLedger(), source, silent)
        return Run(source.draws, done, source.sampled)


@dataclass(eq=False)
class Duel:
    """Two neighbours before their fits.

    Attributes
    ----------
    trial : the fits.
    pair : the neighbours.
    """

    trial: Trial
    pair: Pair

    @cached_property
    def sides(self) -> tuple[FitInput, FitInput]:
        """The rows of both."""
        first, second = (self.trial.ready(self.pair.table(which)) for which in (0, 1))
        return first, second

    @cached_property
    def planned(self) -> Plan:
        """The plan, which is that of both."""
        return self.trial.planned(self.sides[0])

    @property
    def statement(self) -> PrivacyStatement:
        """The promise."""
        return self.planned.statement

    def run(self, which: int, seed: int) -> Run:
        """A fit of one of both tables."""
        return self.trial.run(self.sides[which], self.planned, seed)

    def twin(self, which: int, run: Run) -> Run:
        """The fit of the other table with the noisy sums of this one; `ReleaseDiffers` if it releases other numbers."""
        twin = self.trial.run(self.sides[1 - which], self.planned, 0, run.draws)
        if run.numbers.tobytes() != twin.numbers.tobytes():
            raise ReleaseDiffers("neighbours with the same noisy sums released different numbers")
        return twin

    def loss(self, which: int, run: Run) -> float:
        """Log likelihood of the first table, given what was released, less that of the second."""
        sign, twin = 1 - 2 * which, self.twin(which, run)
        total = sum(draw.loss(forced) for draw, forced in self._added(run, twin))
        if self._in_objective:
            for place, coef in enumerate(run.done.coefs):
                total += sign * float(self._density_ratio(run, place, coef[None])[0])
        return sign * total

    def exact(self, run: Run) -> Loss:
        """The loss that the pair may have at most, along what a fit of its first table released.

        Of noise in the objective: the largest density ratio, at the released point and at points all around.
        """
        twin, pure, squares = self.twin(0, run), 0.0, 0.0
        for draw, forced in self._added(run, twin):
            if draw.law in (Law.DISCRETE_LAPLACE, Law.NORM_GAMMA):
                pure += draw.moved(forced)
            else:
                squares += draw.moved(forced) ** 2
        if self._in_objective:
            for place, coef in enumerate(run.done.coefs):
                ratios = self._density_ratio(run, place, self._around(coef))
                if self._law.gaussian:
                    squares += self._moved_in_objective(run, place, coef) ** 2
                else:
                    pure += float(np.abs(ratios).max())
        return Loss(pure, math.sqrt(squares))

    @property
    def _law(self) -> Law:
        block = self._plan.statement.released.get("coef")
        return Law.NONE if block is None else block.law

    @property
    def has_gaussian_objective(self) -> bool:
        """Whether the noise is a Gaussian linear term, whose loss has no bound and no closed form."""
        return self._law is Law.GAUSSIAN_IN_OBJECTIVE

    @property
    def _in_objective(self) -> bool:
        return self._law in _IN_OBJECTIVE

    def _added(self, run: Run, twin: Run) -> Iterator[tuple[Draw, Draw]]:
        """Draws that were added to numbers, of both fits.

        Of a perturbed objective they are those of the Hessian: noise on a minimum only pays for the solver's tolerance,
        and the density of the released point stands for it.
        """
        pairs = [pair for pair in zip(run.draws, twin.draws, strict=True) if pair[0].value is not None]
        if not self._in_objective:
            yield from pairs
            return
        paying, sizes = self.planned.settings.noise_units, {len(coef) for coef in run.done.coefs}
        yield from (
            pair for pair in pairs
            if not (pair[0].law is Law.DISCRETE_LAPLACE and pair[0].scale == paying and len(pair[0].noise) in sizes)
        )  # fmt: skip

    def _rows(self, which: int, run: Run, place: int) -> Rows:
        """The rows that the model at a place was fitted to."""
        side, planned = self.sides[which], self.planned
        rows = side.data.rows(side.facts.prep)
        rows = rows.of_class(place) if len(run.done.coefs) > 1 else rows
        if (ranges := planned.first) is not None:
            rows = rows.narrowed(*intervals(run.done.ranges, ranges.released, ranges.problem, ranges.columns))
        return rows.weighted(self._settings.weights)

    @property
    def _plan(self) -> Plan:
        return self.planned.model

    @property
    def _settings(self) -> Minimisation:
        settings: Minimisation = self._plan.settings
        return settings

    def _derivatives(self, which: int, run: Run, place: int, points: Vector) -> tuple[Vector, Vector]:
        """Gradients and Hessians (k, q) and (k, q, q) of the unperturbed objective, in weighted coordinates."""
        problem, settings = self._plan.problem, self._settings
        rows, size = self._rows(which, run, place), points.shape[1]
        start = np.zeros(size) if problem.w0 is None else np.array(problem.w0) / np.asarray(settings.weights or 1.0)
        query = LossGradientHessian(problem.loss, problem.geometry.d, problem.geometry.intercept > 0)
        totals = [rows.total(query, point) for point in points]
        hessians = np.array([total.hessian for total in totals]) + settings.ridge * np.eye(size)
        gradients = np.array([total.gradient for total in totals])
        return gradients + settings.ridge * (points - start), hessians

    def _density_ratio(self, run: Run, place: int, coefs: Vector) -> Vector:
        """Log densities of released points under the first table, less those under the second (objective.md, 1)."""
        points = coefs / np.asarray(self._settings.weights or 1.0)
        block, sides = self._plan.statement.released["coef"], []
        body = None
        if self._law.family is Law.GAUGE:
            geometry = self._plan.problem.weighted(self._settings.weights).geometry
            firsts = np.cumsum([0, *geometry.groups[:-1]])
            body = [(geometry.half_widths[first], size) for first, size in zip(firsts, geometry.groups, strict=True)]
        for which in (0, 1):
            gradients, hessians = self._derivatives(which, run, place, points)
            noise = log_noise(gradients, block.scale, _LAWS[self._law.family], body)
            sides.append(noise + np.linalg.slogdet(hessians)[1])
        return np.asarray(sides[0] - sides[1])

    def _moved_in_objective(self, run: Run, place: int, coef: Vector) -> float:
        """The distance of both gradients at a released point, in deviations of the linear term."""
        points = coef[None] / np.asarray(self._settings.weights or 1.0)
        first, second = (self._derivatives(which, run, place, points)[0] for which in (0, 1))
        return float(np.linalg.norm(first - second)) / self._plan.statement.released["coef"].scale

    def _around(self, coef: Vector) -> Vector:
        """A released point, and points all around of many norms."""
        rng = np.random.default_rng(0)
        directions = rng.normal(size=(60, len(coef)))
        directions[:20] = np.sign(directions[:20])
        lengths = np.exp(np.linspace(-3, 5, 60))[:, None]
        return np.vstack([coef, directions / np.linalg.norm(directions, axis=1)[:, None] * lengths])
