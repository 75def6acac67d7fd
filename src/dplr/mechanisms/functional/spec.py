"""The functional mechanism (Zhang et al. 2012): noise on a polynomial objective, once. Proofs: functional.md."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from dplr._kit.progress import Track, silent
from dplr._kit.validation import check_choice, check_list, real_number, sentence
from dplr.inference.reading import Reading
from dplr.mechanisms.descriptions import FUNCTIONAL
from dplr.mechanisms.drawing import kept_total, noisy_blocks
from dplr.mechanisms.equations import MEAT_BLOCKS, meat_cells
from dplr.mechanisms.functional import moments as layout
from dplr.mechanisms.functional.moments import SQUARE, Blocks, Vector, diagonal_deviation, moment_matrix, one_class
from dplr.mechanisms.functional.readings import missing_for_equation, missing_for_intervals, readings, units_of
from dplr.mechanisms.protocol import AIMS, NOISES, RANGES, Description, NoisyMoments, Refitting, Tabled, class_block
from dplr.mechanisms.squares import check_persons, residuals_of, squares_at, warn_of_persons
from dplr.noise import Source
from dplr.privacy.estimand import Estimand
from dplr.privacy.guarantees import Pure
from dplr.problem.cells import Cells
from dplr.problem.losses import Loss, model_of, models_with
from dplr.problem.outlook import GradientNoise
from dplr.problem.plan import Plan
from dplr.problem.problem import Problem
from dplr.rows import Rows
from dplr.rows.exact import Moments
from dplr.solvers import adassp_ridge, count_kept, is_positive_definite, solve_quadratic
from dplr.solvers.stein import stein_coef

_CHOICES = {
    "calibration": ("tight", "paper"),
    "approximation": ("minimax", "taylor", "stein"),
    "unbounded": ("trim", "rerun", "adassp"),
    "intervals": ("on", "off", "robust"),
    "noise": NOISES,
    "ranges": RANGES,
}
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

    about: ClassVar[Description] = FUNCTIONAL
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
        for name, choices in _CHOICES.items():
            check_choice(name, getattr(self, name), choices)
        if self.columns is not None:
            object.__setattr__(self, "columns", _positions(self.columns))
        for name in ("margin_bound", "ridge_deviations", "floor_deviations", "coef_norm"):
            value = real_number(name, getattr(self, name))
            if not 0 <= value <= _LARGEST_OPTION or (name == "margin_bound" and value < 1e-3):
                raise ValueError(sentence(name, f"must be between 0 and {_LARGEST_OPTION:g}", value))

    @property
    def printed(self) -> bool:
        return self.calibration == "paper"

    @property
    def joint(self) -> bool:
        return self.calibration == "tight" and self.unbounded != "rerun"

    @property
    def whole(self) -> bool:
        return False  # moments of fewer columns are those of a smaller model

    @property
    def chosen(self) -> tuple[int, ...] | None:
        return self.columns

    def check(self, problem: Problem) -> None:
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

    def plan(self, problem: Problem, eps: float, delta: float, classes: Sequence[Any] = ()) -> Plan:
        self.check(problem)
        rerun, robust = self.unbounded == "rerun", self.intervals == "robust"
        if delta > 0 and (self.calibration == "paper" or rerun):
            raise ValueError(sentence("delta", "must be 0 with calibration='paper' and unbounded='rerun'", delta))
        if robust and classes:
            rule = "must be 'on' or 'off' with more than two classes"
            raise ValueError(sentence("intervals", rule, self.intervals, "Fit a model for each class of interest."))
        if robust and rerun:
            rule = "must be 'on' or 'off' with unbounded='rerun'"
            raise ValueError(sentence("intervals", rule, self.intervals, "Noise that is drawn anew has no intervals."))
        problem = self._released_problem(problem)
        sizes = {name: size for name, (size,) in self.blocks(problem, eps, delta, classes).items()}
        per_run = eps / 2 if rerun else eps  # FM12 Lemma 5: the accepted run of a rerun costs twice its own eps
        paper = self.calibration == "paper"
        released, guarantee, words = layout.noise(problem, sizes, per_run, delta, self.coef_norm, len(classes), paper)
        theorem = "theorem 1" if delta == 0 else "theorem 4"
        if rerun:
            theorem = "theorem 6"
            if math.isfinite(eps):
                words += "; noise is drawn anew until the matrix is positive definite, each run at eps/2"
        if robust and math.isfinite(eps):
            theorem = "theorem 8" if delta == 0 else "theorem 7"
        source = f"Zhang et al. 2012; dplr functional.md, {theorem}{' and lemma 8' if classes else ''}"
        estimand = Estimand.MARGIN if problem.loss.classification else None
        guarantee = Pure(eps) if isinstance(guarantee, Pure) else guarantee
        statement = self.promise(problem, eps, delta, guarantee, released, words, source, estimand)
        return Plan(self, problem, statement, classes=tuple(classes))

    def blocks(self, problem: Problem, eps: float, delta: float, classes: Sequence[Any] = ()) -> dict[str, tuple[int]]:
        sizes = {name: (len(rows),) for name, (rows, _) in self._cells(problem).items()}
        if not classes:
            return sizes
        linear = sizes.pop("linear")
        return {class_block("linear", label): linear for label in classes} | sizes

    def _cells(self, problem: Problem) -> Mapping[str, Cells]:
        """The released cells of the moments of (x, iota, y), and of the squared residuals times rows."""
        geometry, robust = self._released_problem(problem).geometry, self.intervals == "robust"
        cells = layout.blocks(geometry, problem.counts_units)
        # Labels have y^2 = 1; a rerun conditions the noise, so its law is not the one that intervals need; of persons
        # nothing is made of it.
        wanted = robust or (self.intervals == "on" and not problem.unit.weighted)
        if wanted and self.joint and not problem.loss.classification and problem.unit.person is None:
            last = np.array([geometry.n_coefs])
            cells = {**cells, SQUARE: (last, last)}
        return {**cells, **meat_cells(problem)} if robust else cells

    def _released_problem(self, problem: Problem) -> Problem:
        """The problem whose cells are released: FM12 has no layout, and adds noise to every cell."""
        if self.calibration == "paper" and problem.geometry.grouped:
            return replace(problem, geometry=replace(problem.geometry, blocks=(), marked=(), shared=(), hats=()))
        return problem

    def _kept(self, problem: Problem) -> Any:
        """The coordinates of the model: those of its columns, and the constant's."""
        if self.columns is None:
            return slice(None)
        if self.columns[-1] >= problem.geometry.d:
            rule = f"must be below the number of columns, {problem.geometry.d}"
            raise ValueError(sentence("columns", rule, self.columns[-1]))
        return np.array([*self.columns, *range(problem.geometry.d, problem.geometry.n_coefs)], np.intp)

    def check_rows(self, rows: Rows, problem: Problem) -> None:
        if self.intervals == "robust" and problem.n_rows is None:
            warn_of_persons(problem, rows.units)

    def run(self, rows: Rows, plan: Plan, source: Source, track: Track = silent) -> dict[str, Vector]:
        problem, parts = plan.problem, {}
        query, cells = Moments(problem.geometry.d, problem.geometry.intercept > 0), self._cells(problem)
        meat = {name: where for name, where in cells.items() if name in MEAT_BLOCKS}
        total = kept_total(rows, query)
        if plan.classes:  # of each class against the rest and of all rows (+1): together twice the class sum, exactly
            names = [class_block("linear", label) for label in plan.classes]
            for position in track(range(len(names)), "functional mechanism"):
                both = kept_total(rows.of_class(position), query) + total
                parts[names[position]] = both, cells["linear"], 1
        linear = ("linear",) if plan.classes else ()
        parts |= {name: (total, where, 0) for name, where in cells.items() if name not in (*meat, *linear)}
        released = noisy_blocks(parts, plan, source)
        # Without noise another run would give the same numbers.
        rerun = self.unbounded == "rerun" and math.isfinite(plan.statement.eps)
        while rerun and not is_positive_definite(moment_matrix(problem, released)[0]):
            released = noisy_blocks(parts, plan, source)
        if meat:
            total = squares_at(rows, problem, residuals_of(problem), self._least_squares(plan, released))
            released |= noisy_blocks({name: (total, where, 0) for name, where in meat.items()}, plan, source)
        return released

    def _least_squares(self, plan: Plan, released: Blocks) -> Vector:
        """The point at which residuals are squared: for labels that of a linear probability."""
        matrix, vector = moment_matrix(self._released_problem(plan.problem), released)
        ridge, floor, _ = self._penalty(plan, matrix)
        return solve_quadratic(matrix, vector, ridge, floor)

    def solve(self, plan: Plan, parts: Sequence[Blocks]) -> list[Vector]:
        return [self._model(plan, released) for released in self._models(plan, parts)]

    def _models(self, plan: Plan, parts: Sequence[Blocks]) -> Sequence[Blocks]:
        """The moments of every model; of several classes, which have one release, those that agree."""
        if "linear" in parts[0]:
            return parts
        deviations = {name: block.deviation for name, block in plan.statement.released.items()}
        agreed = layout.agreeing(plan.problem, parts[0], deviations)
        return [one_class(agreed, position) for position in range(len(parts))]

    def _model(self, plan: Plan, released: Blocks) -> Vector:
        problem, loss = self._released_problem(plan.problem), plan.problem.loss
        kept = self._kept(problem)
        matrix, vector = moment_matrix(problem, released)
        if self.columns is not None:
            matrix, vector = matrix[np.ix_(kept, kept)], vector[kept]
        ridge, floor, curvature = self._penalty(plan, matrix)
        start = np.zeros(len(vector)) if problem.w0 is None else np.array(problem.w0)[kept]
        vector = vector * (loss.slope / curvature)
        solved = start + solve_quadratic(matrix, vector - matrix @ start, ridge, floor)
        if loss.classification and self.approximation == "stein":
            solved = _lengthened(problem, matrix, vector, solved)
        coef = np.zeros(problem.geometry.n_coefs)
        coef[kept] = solved
        return coef

    def _penalty(self, plan: Plan, matrix: Vector) -> tuple[float, float, float]:
        """Ridge and floor of the released moment matrix, and the curvature of the quadratic."""
        problem, loss = plan.problem, plan.problem.loss
        deviation = diagonal_deviation(plan.statement.released)
        ridge, floor = self.ridge_deviations * deviation, self.floor_deviations * deviation
        if self.unbounded != "trim":
            ridge, floor = adassp_ridge(matrix, deviation) if self.unbounded == "adassp" else 0.0, 0.0
        curvature = loss.curvature_on(self.margin_bound) if self.approximation == "minimax" else loss.curvature
        if problem.l2 is not None:
            assert problem.n_rows is not None
            ridge = problem.l2 * problem.n_rows / curvature
        return ridge, floor, curvature

    def trimmed(self, plan: Plan, released: Blocks) -> int:
        matrix, _ = moment_matrix(self._released_problem(plan.problem), self._models(plan, [released])[0])
        if self.columns is not None:
            matrix = matrix[np.ix_(*[self._kept(plan.problem)] * 2)]
        ridge, floor, _ = self._penalty(plan, matrix)
        return len(matrix) - count_kept(matrix, ridge, floor)

    def moments(self, plan: Plan, released: Blocks) -> NoisyMoments:
        matrix, vector = moment_matrix(self._released_problem(plan.problem), released)
        variance = sum(block.deviation**2 for block in layout.linear_blocks(plan.statement.released))
        return NoisyMoments(matrix, vector, units_of(plan.problem, matrix), math.sqrt(variance))

    def aimed(self, problem: Problem, classes: Sequence[Any]) -> FunctionalMechanism:
        if classes and problem.loss.classification:
            remedy = 'Its intervals need equal variances, which labels do not have; mechanism="score" does not.'
            rule = f'must be "{AIMS[0]}" with mechanism="fm" and more than two classes'
            raise ValueError(sentence("aim", rule, AIMS[1], remedy))
        spec = self.unbiased(problem.loss)
        return replace(spec, intervals="robust") if self.intervals == "on" and self.joint else spec

    def unbiased(self, loss: Loss) -> FunctionalMechanism:
        """The spec without a ridge, with a lower floor, and with "stein" for the logistic loss. Private."""
        options: dict[str, Any] = {"ridge_deviations": 0.0, "floor_deviations": 2.0}
        options |= {"approximation": "stein"} if loss.classification else {}
        usual = FunctionalMechanism()
        return replace(self, **{name: options[name] for name in options if getattr(self, name) == getattr(usual, name)})

    def solution(self, problem: Problem, eps: float) -> tuple[str, ...]:
        words = f"the {self.approximation} quadratic in place of the logistic loss"
        said, parts = (words,) if problem.loss.classification else (), []
        if self.unbounded == "trim" and self.ridge_deviations and problem.l2 is None:
            parts.append(f"a ridge of {self.ridge_deviations:g} deviations of the noise")
        if self.unbounded == "trim" and self.floor_deviations:
            parts.append(f"dropping directions up to {self.floor_deviations:g} deviations of the noise")
        if self.unbounded == "adassp" and problem.l2 is None:
            parts.append("the ridge of AdaSSP")
        shrunk = parts and math.isfinite(eps)
        return (*said, f"coefficients are shrunk by {' and '.join(parts)}") if shrunk else said

    def noise_of(self, plan: Plan) -> float | None:
        noise = layout.gradient_noise(plan.statement.released, self.coef_norm)
        return noise if self.noise == "smaller" else None

    def gradient_noise(self, plan: Plan) -> GradientNoise:
        loss, noise = plan.problem.loss, layout.gradient_noise(plan.statement.released, self.coef_norm)
        return GradientNoise(noise * loss.slope, slope=1.0) if loss.classification else GradientNoise(noise)

    def lacks_intervals(self, plan: Plan) -> str:
        if self.unbounded == "rerun":  # which changes the law of the noise
            return "noise was drawn until the matrix was positive definite; fit with unbounded='trim'"
        return missing_for_intervals(plan)

    def as_declared(self, problem: Problem, names: Collection[str]) -> bool:
        return self.unbounded != "rerun" and not missing_for_equation(problem, names)

    def readings(self, plan: Plan, parts: Sequence[Blocks], coefs: Sequence[Vector]) -> list[Reading]:
        return readings(plan, self._released_problem(plan.problem), parts)


def _lengthened(problem: Problem, matrix: Vector, vector: Vector, coef: Vector) -> Vector:
    """The Taylor solution, rescaled to the length of coefficients of a logistic model with Gaussian margins."""
    iota, n_rows = problem.geometry.intercept, problem.reference_total
    if iota and problem.counts_units:
        n_rows = float(matrix[-1, -1]) / iota**2  # the released count
    if n_rows is None or n_rows < 1:
        return coef  # without a number of rows there is no scale of the margins: Taylor's solution stays
    mean_label = float(vector[-1]) * problem.loss.curvature / problem.loss.slope / (iota * n_rows) if iota else 0.0
    return stein_coef(coef, matrix / n_rows, iota, mean_label)


def _positions(columns: Sequence[int]) -> tuple[int, ...]:
    """Positions of columns in their order, each once."""
    rule = "must be positions of columns, such as (0, 2)"
    listed = check_list("columns", columns, rule)
    if not listed or any(type(column) is not int or column < 0 for column in listed):
        raise ValueError(sentence("columns", rule, columns))
    return tuple(sorted(set(listed)))
