"""Noisy gradient descent (Song et al. 2013, Abadi et al. 2016, HHA23): every sum of clipped gradients gets noise.

Proofs and constants: noisy_gd.md.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dplr._core import CLIPPED, go_down
from dplr._kit.progress import Track, silent
from dplr._kit.validation import check_choice, check_count, check_positive, real_number, sentence
from dplr.mechanisms.descriptions import DESCENT
from dplr.mechanisms.drawing import noisy_blocks
from dplr.mechanisms.noisy_gd.noise import (
    BLOCK,
    COLUMNS_SHARE,
    MEANS,
    RECORDS,
    SQUARES,
    Descent,
    column_part,
    cost_of,
    defaults,
    pays,
    reach,
)
from dplr.mechanisms.protocol import CLIPS, RANGES, Description, Intervals, Mechanism, Shape, instead
from dplr.noise import Source
from dplr.privacy.calibration import RATE_UNITS
from dplr.privacy.gaussian import gaussian_mu
from dplr.privacy.statement import Release
from dplr.problem.geometry import Geometry
from dplr.problem.intervals import intervals
from dplr.problem.link import LOGIT, Link, clipped_link, link_share
from dplr.problem.losses import Loss, model_of, models_with
from dplr.problem.outlook import GradientNoise
from dplr.problem.plan import Plan
from dplr.problem.problem import Problem
from dplr.rows import Rows, chosen
from dplr.rows.exact import LARGEST_COEF, ClippedGradient, ColumnMoments, Total, on_coef_grid
from dplr.rows.losses import LossGradient

Vector = NDArray[np.float64]
# A number is divided by its deviation to this power. Deviations count as at least the floor, a share of the half-width,
# and as at least this many deviations of the noise of a mean.
_POWER, _FLOOR, _NOISES = 0.75, 0.1, 2.0
# A share of a knot is multiplied by the number of knots to this power: curves are learnt sooner. Levels of a block are
# not multiplied: what is gained where large blocks tell much is lost where they tell little.
_KNOTS_POWER = 0.3
# The best guess of a mean with noise of deviation s: means anywhere in [-c, c] have variance c^2 / 3.
_DOUBT = 3.0
# Mean squares of the norm of centred rows count as at least this, in squared half-widths of all groups together.
_LEAST_SPREAD = 0.02
# Rows are shrunk so far that they stay inside the unit ball when they are rounded to the grid.
_ROOM = 1 + 2.0**-10
# Share of the iterates, the last ones, that are averaged.
_TAIL = 0.25
_SMALLEST_CLIP, _LARGEST_CLIP = 2.0**-20, 2.0**20
# No released sum over its number of rows is larger, and a longer move might overflow.
_LARGEST_MEAN, _LARGEST_MOVE = 2.0**100, 2.0**1000
# Rows times eps at which half of the link is that of clipped slopes (link.md, section 3).
_HALFWAY = 500.0
_WIDEST = 1 - 2.0**-53
_WORDS = {
    "averaging": ("last", "tail"),
    "init": ("public", "zero"),
    "standardise": ("auto", "on", "off"),
    "clipping": ("example", "aggregate"),
    "composition": ("exact", "per-step"),
    "ranges": RANGES,
}


@dataclass(frozen=True, slots=True)
class NoisyGradientDescent(Mechanism):
    """Gradient descent in which every row's gradient is clipped and every sum gets Gaussian noise.

    Parameters
    ----------
    steps : int or None, default=None
        Number of steps; None for a function of public facts (noisy_gd.md, section 5).
    learning_rate : float or None, default=None
        Learning rate of the mean objective in the scaled problem; None as for `steps`.
    clip : float or None, default=None
        Bound of the norm of one row's gradient in the scaled problem, in [2^-20, 2^20]; None as for `steps`.
    momentum : float, default=0.9
        Share of a step's direction that stays in the next, in [0, 1). A direction keeps its whole learning rate in the
        long run, and the noise of one.
    averaging : {"tail", "last"}, default="tail"
        `"tail"` for the average of the last quarter of the iterates, `"last"` for the last one.
    batch : "full" or int, default="full"
        `"full"`, or the expected size of a Poisson batch: each row enters each sum with the same probability,
        independently. Arrays and frames only; needs the extra `accounting`.
    init : {"public", "zero"}, default="public"
        `"public"` starts at the public coefficients where some are given, `"zero"` at zero.
    standardise : {"auto", "on", "off"}, default="auto"
        `"on"` spends a tenth of the privacy (of mu^2) on sums of the columns and of squared numbers, under add_remove
        also on the number of records, and descends on rows that these centre and rescale; `"off"` does not;
        `"auto"` does where it was found to pay (noisy_gd.md, section 7). Needs declared bounds, an intercept, full
        batches and no ridge. Learning rate and clip are then those of the standardised problem; coefficients and
        `history_` stay in the user's units. With a numeric target the same sums clip numbers to their `ranges_`,
        unless ``ranges="off"``.
    clipping : {"example", "aggregate"}, default="example"
        `"example"` clips each row's gradient; `"aggregate"` clips the sum instead, as HHA23 prints it.
    composition : {"exact", "per-step"}, default="exact"
        `"exact"` spends (eps, delta) on all steps together; `"per-step"` gives every step the noise that (eps, delta)
        would need alone, as HHA23 prints it: the statement carries the eps that all steps really cost.
    ranges : {"auto", "on", "off"}, default="auto"
        Whether numbers are clipped to narrower ranges, released first for a share of eps, as in
        `ObjectivePerturbation`.

    Raises
    ------
    ValueError
        An option is outside its range.

    Privacy
    -------
    Under the relation of the fit, replace_one or add_remove. Releases the noisy gradient sums (`released_`); iterates,
    coefficients and `history_` are post-processing of them. Needs delta > 0. Full batches compose exactly as one
    Gaussian mechanism, Poisson batches through the privacy loss distribution of dp-accounting. Noise is the discrete
    Gaussian on exact sums. Bounds, every option and a number of rows are assumed public. `clipping="aggregate"` and
    `composition="per-step"` are for reproduction.

    See Also
    --------
    dplr.fit : Takes it as `mechanism`; its shorthand is `"ngd"`.
    dplr.results.History : The path of the descent.
    dplr.plots.plot_history : Draw the path.

    References
    ----------
    Song, Chaudhuri and Sarwate 2013; Abadi et al. 2016, Algorithm 1. Proofs: noisy_gd.md, theorems 1 and 2.

    Examples
    --------
    >>> import dplr
    >>> plan = dplr.plan(n_rows=10_000, n_features=2, eps=1.0, delta=1e-6, mechanism="ngd")
    >>> print(plan.statement.released["gradients"].law)
    discrete Gaussian
    """

    about: ClassVar[Description] = DESCENT
    steps: int | None = None
    learning_rate: float | None = None
    clip: float | None = None
    momentum: float = 0.9
    averaging: str = "tail"
    batch: int | str = "full"
    init: str = "public"
    standardise: str = "auto"
    clipping: str = "example"
    composition: str = "exact"
    ranges: str = "auto"

    def __post_init__(self) -> None:
        if self.steps is not None:
            object.__setattr__(self, "steps", check_count("steps", self.steps))  # a NumPy integer would overflow
        for name in ("learning_rate", "clip"):
            if getattr(self, name) is not None:  # a NumPy float32 would do its arithmetic in float32
                object.__setattr__(self, name, check_positive(name, getattr(self, name)))
        if self.clip is not None and not _SMALLEST_CLIP <= self.clip <= _LARGEST_CLIP:
            raise ValueError(sentence("clip", "must be between 2^-20 and 2^20", self.clip))
        object.__setattr__(self, "momentum", real_number("momentum", self.momentum))
        if not 0 <= self.momentum < 1:
            raise ValueError(sentence("momentum", "must be at least 0 and below 1", self.momentum))
        if isinstance(self.batch, str):
            check_choice("batch", self.batch, ("full",))
        else:
            check_count("batch", self.batch)
        for name, words in _WORDS.items():
            check_choice(name, getattr(self, name), words)
        if self.batch != "full" and self._printed:
            rule = "must be 'full' with clipping='aggregate' or composition='per-step'"
            raise ValueError(sentence("batch", rule, self.batch, "HHA23 sums over all rows."))
        if self.standardise == "on" and (self._printed or self.batch != "full"):
            rule = "must be 'auto' or 'off' with Poisson batches, clipping='aggregate' or composition='per-step'"
            raise ValueError(sentence("standardise", rule, "on", "Use batch='full' and the default algorithm."))

    @property
    def _printed(self) -> bool:
        return (self.clipping, self.composition) != ("example", "exact")

    @property
    def keeps_eps(self) -> bool:
        return self.composition == "exact"

    def check(self, problem: Problem) -> None:
        loss, n_rows = problem.loss, problem.n_rows
        if not _clipped(loss):
            rule = f'must be {models_with(_clipped)} with mechanism="ngd"'
            remedy = f"Gradients of its loss, {loss.label}, are not clipped here."
            raise ValueError(sentence("model", rule, model_of(loss), remedy))
        if n_rows is None:
            remedy = "Declare a public reference: sums are divided by it."
            raise ValueError(sentence("n_rows", 'is required with mechanism="ngd" under add_remove', None, remedy))
        if self.batch != "full" and int(self.batch) > n_rows:
            counted = "rows" if problem.unit.person is None else "persons"
            raise ValueError(sentence("batch", f"must be at most the number of {counted}, {n_rows}", self.batch))
        if self.clipping == "aggregate" and math.isinf(loss.lipschitz):
            rule, remedy = "must be 'example' where one row's gradient is unbounded", "Clip each row's gradient: "
            raise ValueError(sentence("clipping", rule, "aggregate", f"{remedy}clipping='example'."))
        if self.standardise == "on" and (lacking := _lacking(problem)):
            where, remedy = lacking
            raise ValueError(sentence("standardise", f"must be 'auto' or 'off' {where}", "on", remedy))

    def standardises(self, problem: Problem, eps: float, delta: float) -> bool:
        """Whether rows of this problem are standardised. Private."""
        if self.standardise != "auto":
            return self.standardise == "on"
        able = self.batch == "full" and not self._printed and _lacking(problem) is None
        return able and pays(problem, eps, delta)

    def plan(self, problem: Problem, eps: float, delta: float, classes: Sequence[Any] = ()) -> Plan:
        if delta == 0 and math.isfinite(eps):
            remedy = 'Gaussian noise has no pure guarantee: use 1e-6, say, or mechanism "fm", "output" or "objective".'
            raise ValueError(sentence("delta", 'must be positive with mechanism="ngd"', delta, remedy))
        self.check(problem)
        descent, geometry = self._descent(problem, eps, delta), problem.geometry
        query = ClippedGradient(problem.loss, geometry.d, geometry.intercept > 0, descent.clip)
        cost = cost_of(problem, descent, query.exponent, eps, delta, self.composition == "per-step")
        named, source = f"{descent.calibration}{cost.remark}", f"Abadi et al. 2016; dplr noisy_gd.md, {cost.theorem}"
        facts, kind = problem.assumptions, problem.loss.estimand.clipped
        if clips(problem, cost.released):
            facts = (*facts, CLIPS)
        statement = self.promise(problem, cost.eps, delta, cost.guarantee, cost.released, named, source, kind, facts)
        return Plan(self, problem, statement, descent)

    def _descent(self, problem: Problem, eps: float, delta: float) -> Descent:
        """Every number of the descent: the user's, or a function of public facts."""
        n_rows, total, size = problem.n_rows, problem.reference_total, problem.geometry.n_coefs
        assert n_rows is not None
        assert total is not None
        mu = math.inf if math.isinf(eps) else gaussian_mu(eps, delta)
        per_clip = problem.neighbouring.records_changed * math.sqrt(size) / (total * mu)
        standardised, started = self.standardises(problem, eps, delta), problem.w0 if self.init == "public" else None
        if standardised:  # the steps have the remaining share of mu^2
            per_clip /= math.sqrt(1 - COLUMNS_SHARE)
        warm = started is not None
        steps, rate, clip = defaults(problem, per_clip, warm, self.momentum, self.steps, self.clip, standardised)
        share = 1.0 if self.batch == "full" else int(self.batch) / n_rows
        rate_units = max(1, round(share * RATE_UNITS))
        descent = Descent(
            steps=steps,
            learning_rate=self.learning_rate or rate,
            momentum=self.momentum,
            clip=clip,
            tail=max(1, round(steps * _TAIL)) if self.averaging == "tail" else 1,
            l2=(problem.l2 or 0.0) * (n_rows / total),
            start=started or (0.0,) * size,
            rows=total * rate_units / RATE_UNITS,
            rate_units=rate_units,
            standardised=standardised,
        )
        if self.clipping == "aggregate":  # HHA23 clips the sum over all rows itself, and steps along it
            # A sum is nearly always longer than the clip, so the rate is about how far the descent goes.
            rate = self.learning_rate or reach(size) / (steps * clip)
            most = problem.loss.lipschitz * problem.geometry.row_norm
            descent = replace(descent, clip=most, radius=clip, rows=1.0, learning_rate=rate)
        # Numbers that could overflow in a step: after noise was drawn there would be no point for the next sum.
        pull = descent.l2 * (LARGEST_COEF + math.hypot(*(problem.w0 or ()))) if descent.l2 else 0.0
        if not descent.learning_rate * (_LARGEST_MEAN + pull) <= _LARGEST_MOVE:
            rule = f"must be at most {_LARGEST_MOVE / (_LARGEST_MEAN + pull):.3g} with this ridge and public start"
            remedy = "Use a smaller learning rate or ridge, or public coefficients nearer to zero."
            raise ValueError(sentence("learning_rate", rule, descent.learning_rate, remedy))
        return descent

    def blocks(self, problem: Problem, eps: float, delta: float, classes: Sequence[Any] = ()) -> dict[str, Shape]:
        # The number of steps may be a default.
        steps: dict[str, Shape] = {BLOCK: (self.steps, problem.geometry.n_coefs)}
        if not self.standardises(problem, eps, delta):
            return steps
        return {name: shape for name, shape, _ in column_part(problem).blocks} | steps

    def run(self, rows: Rows, plan: Plan, source: Source, track: Track = silent) -> dict[str, Vector]:
        """In a frame points are coefficients of its rows.

        These, and so their gradients, are `shrink` times the standardised rows that plan and release are about.
        """
        geometry, walk, w0, size = plan.problem.geometry, plan.settings, plan.problem.w0, plan.problem.geometry.n_coefs
        facts, columns, frame, shrink = (plan.problem.loss, geometry.d, geometry.intercept > 0), {}, None, 1.0
        rows.total(LossGradient(*facts), np.zeros(size))  # refuses faulty rows
        if walk.standardised:
            columns = noisy_columns(rows, plan, source)
            frame = frame_of(columns, plan)
            ends = self.intervals_of(plan, columns)
            rows, shrink = frame.of(rows if ends is None else rows.clipped(*ends)), frame.shrink
        query = ClippedGradient(*facts, walk.clip * shrink)
        start, center = np.array([walk.start]), np.zeros(size) if w0 is None else np.array(w0)
        power, rate = math.frexp(shrink)[1] - 1, walk.learning_rate / shrink**2
        point = on_coef_grid(start if frame is None else frame.points(start))  # (1, q), as `go_down` takes it
        velocity, path, gradients = np.zeros((1, size)), np.empty((walk.steps + 1, size)), np.empty((walk.steps, size))
        path[0] = point if frame is None else frame.coefs(point)
        for step in track(range(walk.steps), "noisy gradient descent"):
            total = _total(rows, query, point, walk, source)
            gradients[step] = noisy_blocks({BLOCK: (total, ..., power)}, plan, source)[BLOCK]
            slopes = gradients[step, np.newaxis] * shrink
            go_down(slopes, walk.rows, walk.l2, center, walk.momentum, rate, velocity, point)
            point = on_coef_grid(point)
            path[step + 1] = point if frame is None else frame.coefs(point)
        return {**columns, BLOCK: gradients, "coef": path[-walk.tail :].mean(axis=0), "iterates": path}

    def intervals_of(self, plan: Plan, part: Mapping[str, Vector]) -> Intervals | None:
        blocks, columns = plan.statement.released, list(plan.problem.clippable)
        if not clips(plan.problem, blocks):
            return None
        squares = np.zeros(plan.problem.geometry.d)
        squares[numeric_columns(plan.problem.geometry)] = part[SQUARES]
        noise, n = blocks[SQUARES].deviation, _records(part, plan.problem)
        return intervals(part[MEANS][columns], squares[columns], noise, n, plan.problem, columns)

    def lacks_intervals(self, plan: Plan) -> str:
        # Clipped gradients are zero at other coefficients, unknown how far.
        return f"it clips gradients, so its coefficients are not those of the loss{instead(plan)}"

    def gradient_noise(self, plan: Plan) -> GradientNoise:
        # Of the mean of all steps. A batch is charged for one record.
        block, problem = plan.statement.released[BLOCK], plan.problem
        records = problem.neighbouring.records_changed if self.batch == "full" else 1
        clip = block.sensitivity / (records * problem.geometry.row_norm)
        return GradientNoise(block.deviation / math.sqrt(block.shape[0]), clip)

    def link(self, plan: Plan) -> Link:
        """The link of clipped slopes: the gradient of a row of norm r is clipped where its slope is above clip / r.

        Standardised rows have a mean square norm of about 1; of others r is taken to be the largest norm. The plan of a
        model file has no descent: there the noise of full or Poisson batches tells the clip. What they charge is the
        clip and what flooring to the grid adds (calibration.py, `gaussian_blocks`), which at small eps is as large.
        """
        problem, released = plan.problem, plan.statement.released
        if problem.loss.name != "logistic" or self.clipping == "aggregate":
            return LOGIT
        norm = 1.0 if MEANS in released else problem.geometry.row_norm
        if isinstance(plan.settings, Descent):
            cut = plan.settings.clip / norm
        else:
            records, block = problem.neighbouring.records_changed if self.batch == "full" else 1, released[BLOCK]
            moved = block.sensitivity - math.sqrt(block.shape[-1]) * block.grid
            cut = min(moved / (records * norm), _WIDEST)  # rounding may hide that it is just below 1
        return clipped_link(cut, link_share(problem.reference_total, plan.statement.eps, _HALFWAY))


def _clipped(loss: Loss) -> bool:
    """Whether gradients of the loss are clipped exactly: those of counts have knots once their range is known."""
    return loss.knots is not None or loss.link == "log" or loss.name in CLIPPED


def _lacking(problem: Problem) -> tuple[str, str] | None:
    """What a problem lacks that standardisation needs, and the remedy.

    Centred rows need a range of every column, an intercept that takes the centre up, and no ridge: it is on the
    coefficients of the scaled problem, and the descent knows those of the standardised one. Means are sums over the
    number of units, which the weights must add up to.
    """
    if not problem.unit.total_is_public:
        return "where the sum of the weights is private", "Use rows_per_person=1 and no other weights."
    if problem.geometry.half_width is None:
        return "without bounds", "Declare what is public about the columns: bounds=."
    if not problem.geometry.intercept:
        return "without an intercept", "Use fit_intercept=True."
    if problem.l2:
        return "with a ridge", "Use l2='auto', which is none here."
    return None


def _total(rows: Rows, query: ClippedGradient, point: Vector, walk: Descent, source: Source) -> Any:
    """The exact sum of clipped gradients over all rows, or over a fresh Poisson batch."""
    if walk.samples_rows:
        batch = rows.of_units(source.bernoulli_indices(rows.units, walk.rate_units))
        return rows.total(query, point[0], chosen(batch))
    total = rows.total(query, point[0])
    return total if math.isinf(walk.radius) else InTheBall(total, walk.radius)


class InTheBall(NamedTuple):
    """An exact sum that is itself clipped to a radius, as HHA23 has it."""

    total: Total
    radius: float

    def integers(self, exponent: int, cells: Any = ...) -> NDArray[Any]:
        """As `Total.integers`."""
        vector = np.ldexp(self.total.integers(self.total.exponent).astype(np.float64), self.total.exponent)
        norm = np.linalg.norm(vector, axis=-1, keepdims=True)
        factor = np.minimum(1.0, np.divide(self.radius, norm, out=np.ones_like(norm), where=norm > 0))
        units = np.floor(vector * factor / math.ldexp(1.0, exponent))[cells]
        if np.abs(units).max(initial=0) < 2.0**62:
            return np.asarray(units, dtype=np.int64)
        return np.array([int(unit) for unit in units], dtype=object)  # without noise the grid is fine


def numeric_columns(geometry: Geometry) -> NDArray[np.bool_]:
    """Which columns are numbers: outside every one-hot block and every block of shares, and no marks, (d,)."""
    numeric = np.zeros(geometry.d, dtype=bool)
    numeric[list(geometry.numbers)] = True
    return numeric


def noisy_columns(rows: Rows, plan: Plan, source: Source) -> dict[str, Vector]:
    """The sums of the columns, of squared numbers and of records, on their grids with noise."""
    d, problem = plan.problem.geometry.d, plan.problem
    total = rows.total(ColumnMoments(d, problem.counts_units))
    squares = d + np.flatnonzero(numeric_columns(problem.geometry))
    cells = {MEANS: range(d), SQUARES: squares, RECORDS: [2 * d]}
    return noisy_blocks({name: (total, cells[name], 0) for name, *_ in column_part(problem).blocks}, plan, source)


class Frame(NamedTuple):
    """Rows as factors * (x - center), with a constant of iota * shrink.

    Attributes
    ----------
    center, factors : (d,)
    shrink : a power of two, which the factors hold too: rows lie in the unit ball, and times 1 / shrink they are the
        standardised rows, whose mean square norm is about 1.
    iota : the intercept's constant.
    """

    center: Vector
    factors: Vector
    shrink: float
    iota: float

    def of(self, rows: Rows) -> Rows:
        return rows.standardised(self.center, self.factors, self.iota * self.shrink)

    def coefs(self, points: Vector) -> Vector:
        """Coefficients (..., q) of the scaled problem, from those of rows in this frame."""
        coefs = np.empty_like(points)
        coefs[..., :-1] = points[..., :-1] * self.factors
        coefs[..., -1] = points[..., -1] * self.shrink - coefs[..., :-1] @ self.center / self.iota
        return coefs

    def points(self, coefs: Vector) -> Vector:
        """Coefficients (..., q) of rows in this frame, from those of the scaled problem."""
        points = np.empty_like(coefs)
        points[..., :-1] = coefs[..., :-1] / self.factors
        points[..., -1] = (coefs[..., -1] + coefs[..., :-1] @ self.center / self.iota) / self.shrink
        return points


def frame_of(released: Mapping[str, Vector], plan: Plan) -> Frame:
    """The frame made of the released sums of columns and of squared numbers."""
    geometry, n = plan.problem.geometry, _records(released, plan.problem)
    assert geometry.half_width is not None
    c, numeric = geometry.half_width, numeric_columns(geometry)
    noise = plan.statement.released[MEANS].scale / n
    center = np.clip(released[MEANS] / n, np.where(numeric, -c, 0.0), c)
    center[numeric] /= 1 + _DOUBT * (noise / c) ** 2
    variance = center * (c - center)  # of a cell that is 0 or c
    if SQUARES in released:
        variance[numeric] = np.maximum(released[SQUARES] / n - center[numeric] ** 2, 0.0)
    deviation = np.maximum(np.clip(np.sqrt(variance), _FLOOR * c, c), _NOISES * noise)
    factors = np.where(numeric, (deviation / c) ** -_POWER, 1.0)
    for first, size, knots in geometry.hats:
        factors[first : first + size] = knots**_KNOTS_POWER
    factors /= math.sqrt(max(float(factors**2 @ variance), _LEAST_SPREAD))
    shrink = math.ldexp(1.0, -max(0, math.ceil(math.log2(_largest_norm(geometry, center, factors) * _ROOM))))
    return Frame(center, factors * shrink, shrink, geometry.intercept)


def clips(problem: Problem, released: Mapping[str, Release]) -> bool:
    """Whether numbers are clipped to ranges made of these blocks: they are where sums and squares have noise."""
    return bool(problem.clippable) and SQUARES in released and released[SQUARES].scale > 0


def _records(released: Mapping[str, Vector], problem: Problem) -> float:
    """The number of records that means are over: the public one, or where it is private the released one."""
    if RECORDS in released:
        return max(float(released[RECORDS][0]), 1.0)
    assert problem.n_rows is not None
    return float(problem.n_rows)


def _largest_norm(geometry: Geometry, center: Vector, factors: Vector) -> float:
    """Largest norm of factors * (x - center) over all rows x of the geometry."""
    assert geometry.half_width is not None
    c, firsts = geometry.half_width, [first for first in geometry.firsts if first < geometry.d]
    zero = (factors * center) ** 2  # of an entry that is 0, and of one that is as far from the center as can be
    far = (factors * np.where(numeric_columns(geometry), c + np.abs(center), c - center)) ** 2
    longer = np.maximum(np.maximum.reduceat(far - zero, firsts), 0.0)  # convex: at most one of a group is not 0
    return math.sqrt(float(zero.sum() + longer.sum()))
