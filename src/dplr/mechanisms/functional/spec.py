"""The functional mechanism (Zhang et al. 2012): noise on a polynomial objective, once. Proofs: functional.md."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dplr._kit.progress import Track, silent
from dplr._kit.validation import check_choice, check_list, real_number, sentence
from dplr.inference.reading import Reading
from dplr.mechanisms.drawing import kept_total, noisy_blocks
from dplr.mechanisms.equations import meat_cells
from dplr.mechanisms.functional import ABOUT
from dplr.mechanisms.functional import moments as layout
from dplr.mechanisms.functional.moments import SQUARE, moment_matrix, one_class
from dplr.mechanisms.functional.noise import diagonal_deviation, gaussian_release, gradient_noise, laplace_release
from dplr.mechanisms.functional.readings import missing_for_equation, missing_for_intervals, readings, units_of
from dplr.mechanisms.protocol import AIMS, NOISES, RANGES, Description, NoisyMoments, Refitting, Tabled, class_block
from dplr.mechanisms.squares import check_persons, residuals_of, squares_at, warn_of_persons
from dplr.noise import Source
from dplr.privacy.calibration import integer_blocks
from dplr.privacy.estimand import Estimand
from dplr.privacy.guarantees import Gaussian, Pure
from dplr.problem.losses import Loss, model_of, models_with
from dplr.problem.outlook import GradientNoise
from dplr.problem.plan import Plan
from dplr.problem.problem import Problem
from dplr.rows import Rows
from dplr.rows.exact import Moments
from dplr.solvers import adassp_ridge, count_kept, is_positive_definite, solve_quadratic

_CALIBRATIONS = ("tight", "paper")
_APPROXIMATIONS = ("minimax", "taylor", "stein")
_UNBOUNDED = ("trim", "rerun", "adassp")
_INTERVALS = ("on", "off", "robust")
_LARGEST_OPTION = 1e6


@dataclass(frozen=True, slots=True)
class FunctionalMechanism(Tabled, Refitting):
    """Release the first and second moments with noise, then minimise the noisy quadratic.

    Parameters
    ----------
    calibration : {"tight", "paper"}, default="tight"
        `"tight"` for the sensitivity of rows in the unit ball, in the cube of the declared bounds, or of numbers and
        one-hot blocks; `"paper"` for the constants printed in FM12, several times larger, for reproduction. Both are
        private.
    approximation : {"minimax", "taylor", "stein"}, default="minimax"
        How the released moments approximate the logistic loss, post-processing: `"minimax"` is the best quadratic on
        [-margin_bound, margin_bound], `"taylor"` FM12's expansion at 0, `"stein"` matches the moments of a logistic
        model with Gaussian margins. They differ in the length of the coefficients, hardly in their direction.
    margin_bound : float, default=4.0
        Public bound of ``|x.w|`` for `"minimax"`, in [0.001, 1e6].
    unbounded : {"trim", "rerun", "adassp"}, default="trim"
        `"trim"` drops eigenvalues at or below the floor; `"rerun"` draws noise until the matrix is positive definite,
        with half of eps for each run (FM12 Lemma 5), without the automatic ridge. Pure eps only, and only for data much
        larger than the noise: the number of runs has no limit. `"adassp"` adds the ridge of AdaSSP (Wang 2018), for
        comparisons: what the noise could take from the smallest eigenvalue, less what is left of it. From one release,
        with Gaussian noise for delta > 0, it has less noise than the three releases of that paper.
    ridge_deviations : float, default=4.0
        With ``l2="auto"``, the ridge is this many standard deviations of the noise (FM12 section 6.1).
    floor_deviations : float, default=4.0
        Eigenvalues of the regularised matrix at or below this many standard deviations are trimmed.
    coef_norm : float, default=2.0
        Public guess of ||coef|| in the scaled problem; sets the weight between the blocks.
    intervals : {"on", "off", "robust"}, default="on"
        `"on"` releases sum y^2 of a numeric target too, from which confidence intervals learn how far rows are from the
        model, for at most 1 % of noise (add_remove 3 %); `"off"` does not. `"robust"` also spends 15 % of mu^2, or of a
        pure eps, on squared residuals, for intervals of unequal variances, as of labels, and of dependent rows.
    columns : tuple of int or None, default=None
        Positions in `coef_` of the columns that the model is made of, the others having a coefficient of 0; None for
        all. Post-processing: the moments of all columns are released (`refit` takes names).
    noise : {"smaller", "gaussian"}, default="smaller"
        Where a delta was asked for, `"smaller"` takes pure noise if it is smaller than Gaussian noise: then the release
        has no delta. `"gaussian"` keeps Gaussian noise, of which many releases cost less together.
    ranges : {"auto", "on", "off"}, default="auto"
        Whether numbers are clipped to ranges that are released first, as in `ObjectivePerturbation`.

    Raises
    ------
    ValueError
        An option is outside its range.

    Privacy
    -------
    Under the relation of the fit, replace_one or add_remove. Releases the noisy moments (`released_`); the model is
    post-processing of them. Pure eps-DP with discrete Laplace noise for delta = 0, (eps, delta)-DP with discrete
    Gaussian noise for delta > 0 where that is smaller, both in integer arithmetic. Bounds, names and the number of rows
    under replace_one are assumed public.

    See Also
    --------
    dplr.fit : Takes it as `mechanism`; its shorthand is `"fm"`.
    dplr.release_moments : The moments of a table, for many models.

    References
    ----------
    Zhang, Zhang, Xiao, Yang and Winslett 2012 (FM12), Algorithms 1 and 2; Wang 2018, Algorithm 2 (AdaSSP). Proofs:
    functional.md, theorems 1, 4 and 6 to 8.

    Examples
    --------
    >>> import dplr
    >>> spec = dplr.FunctionalMechanism(calibration="paper")
    >>> dplr.plan(n_rows=1000, n_features=2, eps=0.8, mechanism=spec).statement.calibration.split(";")[0]
    'paper: FM12 section 5.2, d^2/4 + 3d with d counting the intercept'
    """

    about: ClassVar[Description] = ABOUT
    calibration: str = "tight"
    approximation: str = "minimax"
    margin_bound: float = 4.0
    unbounded: str = "trim"
    ridge_deviations: float = 4.0
    floor_deviations: float = 4.0
    coef_norm: float = 2.0
    intervals: str = "on"
    columns: tuple[int, ...] | None = None
    noise: str = "smaller"
    ranges: str = "auto"

    def __post_init__(self) -> None:
        """Check the options."""
        check_choice("calibration", self.calibration, _CALIBRATIONS)
        check_choice("approximation", self.approximation, _APPROXIMATIONS)
        check_choice("unbounded", self.unbounded, _UNBOUNDED)
        check_choice("intervals", self.intervals, _INTERVALS)
        check_choice("noise", self.noise, NOISES)
        check_choice("ranges", self.ranges, RANGES)
        if self.columns is not None:
            object.__setattr__(self, "columns", _positions(self.columns))
        for name in ("margin_bound", "ridge_deviations", "floor_deviations", "coef_norm"):
            value = real_number(name, getattr(self, name))
            if not 0 <= value <= _LARGEST_OPTION or (name == "margin_bound" and value < 1e-3):
                raise ValueError(sentence(name, f"must be between 0 and {_LARGEST_OPTION:g}", value))

    def plan(self, problem: Problem, eps: float, delta: float, classes: Sequence[Any] = ()) -> Plan:
        """Fix the released blocks, the noise and the statement from public facts.

        With `classes` the linear block is one sum for each class: one release for models of each against the rest.
        """
        self.check(problem)
        if delta > 0 and (self.calibration == "paper" or self.unbounded == "rerun"):
            raise ValueError(sentence("delta", "must be 0 with calibration='paper' and unbounded='rerun'", delta))
        if self.intervals == "robust" and classes:
            rule = "must be 'on' or 'off' with more than two classes"
            raise ValueError(sentence("intervals", rule, self.intervals, "Fit a model for each class of interest."))
        if self.intervals == "robust" and self.unbounded == "rerun":
            rule = "must be 'on' or 'off' with unbounded='rerun'"
            raise ValueError(sentence("intervals", rule, self.intervals, "Noise that is drawn anew has no intervals."))
        # FM12 Lemma 5: the accepted run of a rerun costs twice its own eps.
        per_run = eps / 2 if self.unbounded == "rerun" else eps
        problem = self._released_problem(problem)
        sizes = {name: size for name, (size,) in self.blocks(problem, eps, delta, classes).items()}
        guarantee: Pure | Gaussian = Pure(eps)
        if math.isinf(eps):
            released, named = integer_blocks(sizes, dict.fromkeys(sizes, 1.0), 0.0, eps)[0], "none: eps = inf"
        elif delta > 0:
            released, guarantee, named = gaussian_release(problem, sizes, eps, delta, self.coef_norm, len(classes))
        else:
            paper = self.calibration == "paper"
            released, named = laplace_release(problem, sizes, per_run, self.coef_norm, len(classes), paper)
        if self.unbounded == "rerun" and math.isfinite(eps):
            named += "; noise is drawn anew until the matrix is positive definite, each run at eps/2"
        source = "theorem 6" if self.unbounded == "rerun" else "theorem 1" if delta == 0 else "theorem 4"
        if self.intervals == "robust" and math.isfinite(eps):
            source = "theorem 8" if delta == 0 else "theorem 7"
        source += " and lemma 8" if classes else ""
        statement = self.promise(
            problem,
            eps,
            delta,
            guarantee,
            released,
            named,
            f"Zhang et al. 2012; dplr functional.md, {source}",
            Estimand.MARGIN if problem.loss.classification else None,
        )
        return Plan(self, problem, statement, classes=tuple(classes))

    def blocks(self, problem: Problem, eps: float, delta: float, classes: Sequence[Any] = ()) -> dict[str, tuple[int]]:
        """Return the released cells of the moment matrix; the linear block once for each class, if there are any."""
        cells = self._cells(problem) | self._meat(problem)
        sizes = {name: (len(rows),) for name, (rows, _) in cells.items()}
        if classes:
            size = sizes.pop("linear")
            sizes = dict.fromkeys((class_block("linear", label) for label in classes), size) | sizes
        return sizes

    @property
    def printed(self) -> bool:
        """Whether the noise is what FM12 prints."""
        return self.calibration == "paper"

    @property
    def joint(self) -> bool:
        """Whether one release serves all classes; not with options that need one per model."""
        return self.calibration == "tight" and self.unbounded != "rerun"

    def aimed(self, problem: Problem, classes: Sequence[Any]) -> FunctionalMechanism:
        """The spec with the options of least bias, and intervals that hold where variances differ between rows."""
        if classes and problem.loss.classification:
            remedy = 'Its intervals need equal variances, which labels do not have; mechanism="score" does not.'
            rule = f'must be "{AIMS[0]}" with mechanism="fm" and more than two classes'
            raise ValueError(sentence("aim", rule, AIMS[1], remedy))
        spec = self.unbiased(problem.loss)
        robust = self.intervals == "on" and self.calibration == "tight" and self.unbounded != "rerun"
        return replace(spec, intervals="robust") if robust else spec

    def unbiased(self, loss: Loss) -> FunctionalMechanism:
        """The spec without a ridge, with a lower floor, and with "stein" for the logistic loss. Private."""
        options: dict[str, Any] = {"ridge_deviations": 0.0, "floor_deviations": 2.0}
        if loss.classification:
            options["approximation"] = "stein"
        defaults = FunctionalMechanism()
        return replace(
            self, **{name: options[name] for name in options if getattr(self, name) == getattr(defaults, name)}
        )

    def solution(self, problem: Problem, eps: float) -> tuple[str, ...]:
        """The quadratic in place of the logistic loss, and what shrinks the coefficients."""
        shrinkage = "" if math.isinf(eps) else self._shrinkage(problem)
        words = [f"coefficients are shrunk by {shrinkage}"] if shrinkage else []
        quadratic = f"the {self.approximation} quadratic in place of the logistic loss"
        return (quadratic, *words) if problem.loss.classification else tuple(words)

    def _shrinkage(self, problem: Problem) -> str:
        """The ridge in deviations of the noise, and the directions that are dropped; empty for none."""
        if self.unbounded != "trim":
            return "the ridge of AdaSSP" if self.unbounded == "adassp" and problem.l2 is None else ""
        ridge = self.ridge_deviations if problem.l2 is None else 0.0
        parts = [f"a ridge of {ridge:g} deviations of the noise"] if ridge else []
        if self.floor_deviations:
            parts.append(f"dropping directions up to {self.floor_deviations:g} deviations of the noise")
        return " and ".join(parts)

    def trimmed(self, plan: Plan, released: Mapping[str, NDArray[np.float64]]) -> int:
        """Count the directions of the released moment matrix that a model dropped."""
        if "linear" not in released:  # all classes have one release, and one matrix
            deviations = {name: block.deviation for name, block in plan.statement.released.items()}
            released = one_class(layout.agreeing(plan.problem, released, deviations), 0)
        matrix, _ = moment_matrix(self._released_problem(plan.problem), released)
        matrix = matrix[np.ix_(*[self._kept(plan.problem)] * 2)]
        ridge, floor, _ = self._penalty(plan, matrix)
        return len(matrix) - count_kept(matrix, ridge, floor)

    def moments(self, plan: Plan, released: Mapping[str, NDArray[np.float64]]) -> NoisyMoments:
        """The released moments of one model."""
        matrix, vector = moment_matrix(self._released_problem(plan.problem), released)
        variance = sum(block.deviation**2 for block in layout.linear_blocks(plan.statement.released))
        return NoisyMoments(matrix, vector, units_of(plan.problem, matrix), math.sqrt(variance))

    def _penalty(self, plan: Plan, matrix: NDArray[np.float64]) -> tuple[float, float, float]:
        """Ridge and floor of the released moment matrix, and the curvature of the quadratic."""
        problem, loss = plan.problem, plan.problem.loss
        deviation = diagonal_deviation(plan.statement.released)
        ridge, floor = self.ridge_deviations * deviation, self.floor_deviations * deviation
        if self.unbounded != "trim":
            ridge, floor = 0.0, 0.0
        if self.unbounded == "adassp":
            ridge = adassp_ridge(matrix, deviation)
        curvature = loss.curvature_on(self.margin_bound) if self.approximation == "minimax" else loss.curvature
        if problem.l2 is not None:
            assert problem.n_rows is not None
            ridge = problem.l2 * problem.n_rows / curvature
        return ridge, floor, curvature

    def noise_of(self, plan: Plan) -> float | None:
        """Root mean square noise of the gradient at coefficients of norm `coef_norm`."""
        if self.noise != "smaller":
            return None
        return gradient_noise(plan.statement.released, self.coef_norm)

    def gradient_noise(self, plan: Plan) -> GradientNoise:
        """The noise of the gradient of the noisy quadratic, at coefficients of norm `coef_norm`."""
        loss, noise = plan.problem.loss, gradient_noise(plan.statement.released, self.coef_norm)
        return GradientNoise(noise * loss.slope, slope=1.0) if loss.classification else GradientNoise(noise)

    def _released_problem(self, problem: Problem) -> Problem:
        """The problem whose cells are released: FM12 has no layout, and adds noise to every cell."""
        if self.calibration == "paper" and problem.geometry.grouped:
            return replace(problem, geometry=replace(problem.geometry, blocks=(), marked=(), shared=(), hats=()))
        return problem

    def check(self, problem: Problem) -> None:
        """Refuse a loss without an expansion, a ridge without a number of rows, and options that do not agree."""
        self._kept(problem)
        if self.intervals == "robust" and self.calibration == "paper":
            raise ValueError(sentence("intervals", "must be 'on' or 'off' with calibration='paper'", self.intervals))
        if self.intervals == "robust" and problem.n_rows is not None:
            check_persons(problem, problem.n_rows)
        if not problem.loss.slope:
            remedy = 'Use mechanism="objective", "output", or "score" if it has intervals of this model.'
            rule = f'must be {models_with(lambda loss: loss.slope > 0)} with mechanism="fm"'
            raise ValueError(sentence("model", rule, model_of(problem.loss), remedy))
        if problem.l2 is not None and problem.n_rows is None:
            remedy = "Declare n_rows=, a public reference, or leave l2='auto'."
            raise ValueError(sentence("l2", "needs a public number of rows", problem.l2, remedy))

    def run(self, rows: Rows, plan: Plan, source: Source, track: Track = silent) -> dict[str, NDArray[np.float64]]:
        """Sum exactly, floor to the release grid, add integer noise."""
        geometry = plan.problem.geometry
        query = Moments(geometry.d, geometry.intercept > 0)
        if plan.classes:
            return self._run_classes(rows, query, plan, source, track)
        total = kept_total(rows, query)
        parts = {name: (total, where, 0) for name, where in self._cells(plan.problem).items()}
        released = noisy_blocks(parts, plan, source)
        # Without noise another run would give the same numbers.
        rerun = self.unbounded == "rerun" and math.isfinite(plan.statement.eps)
        while rerun and not is_positive_definite(moment_matrix(plan.problem, released)[0]):
            released = noisy_blocks(parts, plan, source)
        if cells := self._meat(plan.problem):
            query_at, point = residuals_of(plan.problem), self._least_squares(plan, released)
            total = squares_at(rows, plan.problem, query_at, point)
            released |= noisy_blocks({name: (total, where, 0) for name, where in cells.items()}, plan, source)
        return released

    def _run_classes(
        self, rows: Rows, query: Moments, plan: Plan, source: Source, track: Track
    ) -> dict[str, NDArray[np.float64]]:
        """Sums of all rows (+1), and of each class against the rest, of which twice the class sum is made."""
        everyone, *twice = (
            kept_total(rows, query) if position is None else kept_total(rows.of_class(position), query)
            for position in track([None, *range(len(plan.classes))], "functional mechanism")
        )
        cells = dict(layout.blocks(plan.problem.geometry, plan.problem.counts_units))
        linear = cells.pop("linear")
        names = [name for name in plan.statement.released if name not in cells]
        parts = {name: (total + everyone, linear, 1) for name, total in zip(names, twice, strict=True)}
        return noisy_blocks(parts | {name: (everyone, where, 0) for name, where in cells.items()}, plan, source)

    def _cells(self, problem: Problem) -> dict[str, tuple[NDArray[np.intp], NDArray[np.intp]]]:
        """The released cells of the moments of (x, iota, y)."""
        geometry = self._released_problem(problem).geometry
        cells = layout.blocks(geometry, problem.counts_units)
        # Labels have y^2 = 1; a rerun conditions the noise, so its law is not the one that intervals need.
        numeric = not problem.loss.classification and self.calibration == "tight" and self.unbounded != "rerun"
        numeric = numeric and problem.unit.person is None  # nothing is made of it
        wanted = self.intervals == "robust" or (self.intervals == "on" and not problem.unit.weighted)
        return cells | {SQUARE: layout.square_cell(geometry)} if numeric and wanted else cells

    def _meat(self, problem: Problem) -> dict[str, tuple[NDArray[np.intp], NDArray[np.intp]]]:
        """The released cells of the squared residuals times rows; none except with intervals="robust"."""
        return meat_cells(problem) if self.intervals == "robust" else {}

    def check_rows(self, rows: Rows, problem: Problem) -> None:
        """Warn of more persons than have room for their scores, where no public number could be checked before."""
        if self.intervals == "robust" and problem.n_rows is None:
            warn_of_persons(problem, rows.units)

    def solve(self, plan: Plan, parts: Sequence[Mapping[str, NDArray[np.float64]]]) -> list[NDArray[np.float64]]:
        """Solve for every model: that of two classes or of a number, or of each class against the rest."""
        if "linear" in parts[0]:
            return [self._model(plan, model) for model in parts]
        deviations = {name: block.deviation for name, block in plan.statement.released.items()}
        agreed = layout.agreeing(plan.problem, parts[0], deviations)  # all classes have one release
        return [self._model(plan, one_class(agreed, k)) for k in range(len(parts))]

    def _model(self, plan: Plan, released: Mapping[str, NDArray[np.float64]]) -> NDArray[np.float64]:
        problem, loss = self._released_problem(plan.problem), plan.problem.loss
        matrix, vector = moment_matrix(problem, released)
        kept = self._kept(problem)
        matrix, vector = matrix[np.ix_(kept, kept)], vector[kept]
        ridge, floor, curvature = self._penalty(plan, matrix)
        start = np.zeros(len(vector)) if problem.w0 is None else np.array(problem.w0)[kept]
        vector = vector * (loss.slope / curvature)
        solved = start + solve_quadratic(matrix, vector - matrix @ start, ridge, floor)
        if loss.classification and self.approximation == "stein":
            solved = layout.lengthened(problem, matrix, vector, solved)
        coef = np.zeros(problem.geometry.n_coefs)
        coef[kept] = solved
        return coef

    def _least_squares(self, plan: Plan, released: Mapping[str, NDArray[np.float64]]) -> NDArray[np.float64]:
        """The least-squares solution, at which residuals are squared: for labels that of a linear probability."""
        matrix, vector = moment_matrix(self._released_problem(plan.problem), released)
        ridge, floor, _ = self._penalty(plan, matrix)
        return solve_quadratic(matrix, vector, ridge, floor)

    def _kept(self, problem: Problem) -> NDArray[np.intp]:
        """The coordinates of the model: those of its columns, and the constant's."""
        every = np.arange(problem.geometry.n_coefs)
        if self.columns is None:
            return every
        if self.columns[-1] >= problem.geometry.d:
            rule = f"must be below the number of columns, {problem.geometry.d}"
            raise ValueError(sentence("columns", rule, self.columns[-1]))
        return np.concatenate([np.array(self.columns, np.intp), every[problem.geometry.d :]])

    def lacks_intervals(self, plan: Plan) -> str:
        """The reason why there are no intervals: reruns change the law of the noise."""
        if self.unbounded == "rerun":
            return "noise was drawn until the matrix was positive definite; fit with unbounded='trim'"
        return missing_for_intervals(plan)

    def as_declared(self, problem: Problem, names: Collection[str]) -> bool:
        """Whether the blocks are an equation of the columns: for labels also without squared residuals."""
        return self.unbounded != "rerun" and not missing_for_equation(problem, names)

    def readings(
        self, plan: Plan, parts: Sequence[Mapping[str, NDArray[np.float64]]], coefs: Sequence[NDArray[np.float64]]
    ) -> list[Reading]:
        """The equations of the released moments, without ridge and trimming."""
        return readings(plan, self._released_problem(plan.problem), parts)

    @property
    def whole(self) -> bool:
        """False: moments of fewer columns are those of a smaller model."""
        return False

    @property
    def chosen(self) -> tuple[int, ...] | None:
        """Positions of the columns that the model is made of."""
        return self.columns


def _positions(columns: Sequence[int]) -> tuple[int, ...]:
    """Positions of columns in their order, each once."""
    rule = "must be positions of columns, such as (0, 2)"
    listed = check_list("columns", columns, rule)
    if not listed or any(type(column) is not int or column < 0 for column in listed):
        raise ValueError(sentence("columns", rule, columns))
    return tuple(sorted(set(listed)))
