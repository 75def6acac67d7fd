"""Private ranges: bounds that are wider than the data, narrowed by a release of their own. Proofs: ranges.md."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dplr._kit.validation import sentence
from dplr.bounds.scaling import Prep
from dplr.mechanisms.drawing import noisy_cells
from dplr.mechanisms.protocol import AIMS, Mechanism
from dplr.noise import Source
from dplr.privacy import sensitivity
from dplr.privacy.calibration import integer_blocks
from dplr.privacy.guarantees import Approx, Neighbouring, Pure
from dplr.privacy.law import Law
from dplr.privacy.statement import Release
from dplr.problem.intervals import DEVIATIONS, NARROWEST
from dplr.problem.intervals import intervals as intervals_of_sums
from dplr.problem.plan import Plan
from dplr.problem.problem import Problem
from dplr.rows import Rows
from dplr.rows.exact import Moments, Total

Vector = NDArray[np.float64]
BLOCKS = SUMS, SQUARES, RECORDS = "range_sums", "range_squares", "range_records"
LAW = Law.DISCRETE_LAPLACE
# The largest share of eps; the noise of a mean, in half-widths, that needs no larger share; and the least
# share, for which the sampler can still draw noise.
_SHARE, _ENOUGH_NOISE, _LEAST = 0.15, 0.002, 2.0**-10
# The noise of a mean at which three deviations, made of noise alone, reach as far as the bounds.
_LARGEST_NOISE = 1 / DEVIATIONS**2


@dataclass(frozen=True, slots=True)
class Ranges:
    """The plan of a release of ranges before the models.

    Attributes
    ----------
    problem, columns : the scaled problem of the rows, and those of its columns that have ranges. A plan of models may
        see the rows in another way, and has no say here.
    eps, remainder : the eps of the ranges, and of the models; together at most the eps asked for.
    released : two blocks with a number for each column, its sum and that of its squares; under add_remove a third, the
        number of records.
    """

    problem: Problem
    columns: tuple[int, ...]
    eps: float
    remainder: float
    released: Mapping[str, Release]


def choice_for(aim: str, choice: str) -> str:
    """The choice in force for an aim: with `"auto"` a fit for its coefficients leaves the columns as declared."""
    return "off" if choice == "auto" and aim == AIMS[1] else choice


def plan_ranges(mechanism: Mechanism, problem: Problem, prep: Prep, eps: float, delta: float) -> Ranges | None:
    """The plan of the ranges of a fit; None for none. A function of public facts.

    Raises ValueError where they are asked for and cannot be had.
    """
    choice, columns, lacks = mechanism.ranges, columns_of(prep), missing(problem, prep)
    if choice == "off" or (choice == "auto" and (lacks or not _pays(mechanism, problem, len(columns), eps, delta))):
        return None
    if lacks:
        raise ValueError(sentence("ranges", f'must be "off" or "auto" {lacks[0]}', choice, lacks[1]))
    share, remainder = eps, eps
    if math.isfinite(eps):
        need = _noise(problem, len(columns), 1.0) / _ENOUGH_NOISE
        share = min(max(need, _LEAST * eps), _SHARE * eps)
        remainder = math.nextafter(eps - share, 0.0)
    return Ranges(problem, columns, share, remainder, _blocks(problem, len(columns), share))


def with_ranges(plan: Plan, ranges: Ranges, eps: float) -> Plan:
    """The plan of ranges, and of the models that are fitted in them, under one statement: theorem 2."""
    statement = plan.statement
    total = eps if statement.eps <= ranges.remainder else (statement.eps + ranges.eps) * (1 + 2.0**-50)
    cost = "without noise" if math.isinf(eps) else f"for eps = {ranges.eps:.6g}; the models have {statement.eps:.6g}"
    fact = f"numbers are clipped to ranges that are released before, {cost} (basic composition)"
    together = replace(
        statement,
        eps=total,
        guarantee=Approx(total, statement.delta) if statement.delta and math.isfinite(total) else Pure(total),
        released={**ranges.released, **statement.released},
        calibration=f"ranges of {ranges.released[SUMS].shape[0]} numbers first; then {statement.calibration}",
        assumptions=(*statement.assumptions, fact),
        source=f"{statement.source}; dplr ranges.md",
    )
    return replace(plan, statement=together, first=ranges, each=plan.model)


def moments_of(rows: Rows) -> Total:
    """Exact second moments, with sums and squares; raises for faulty rows, and warns of values outside their bounds."""
    return rows.total(Moments(rows.geometry.d, True))


def drawn(total: Total, ranges: Ranges, source: Source) -> dict[str, Vector]:
    """The released numbers: sums on their grids with noise. The intercept's column has sums times its constant."""
    geometry, columns, released = ranges.problem.geometry, np.array(ranges.columns), {}
    constant = np.array([geometry.d])
    cells = {
        SUMS: (columns, geometry.d, geometry.intercept),
        SQUARES: (columns, columns, 1.0),
        RECORDS: (constant, constant, geometry.intercept**2),
    }
    if {name: block.shape for name, block in ranges.released.items()} != block_shapes(ranges.problem, len(columns)):
        raise RuntimeError("ranges would release more numbers, or fewer, than were paid for: a fault of dplr")
    for name, block in ranges.released.items():
        first, second, factor = cells[name]
        half, exponent = math.frexp(factor)
        assert half == 0.5  # a power of two
        released[name] = noisy_cells(total, block, (first, second), source, exponent - 1)
    return released


def intervals(
    numbers: Mapping[str, Vector], blocks: Mapping[str, Release], problem: Problem, columns: Sequence[int]
) -> tuple[Vector, Vector]:
    """Middle and half-width of every column, (d,) in scaled units, from released numbers: post-processing."""
    n = problem.n_rows
    assert n is not None
    records = float(n) if RECORDS not in numbers else max(float(numbers[RECORDS][0]), 1.0)
    return intervals_of_sums(numbers[SUMS], numbers[SQUARES], blocks[SQUARES].deviation, records, problem, columns)


def clippable(choice: str, problem: Problem, prep: Prep) -> tuple[int, ...]:
    """The columns that a mechanism may clip to ranges which it can tell from its own release: `Problem.clippable`.

    Of numeric targets; a choice of "on" narrows them before.
    """
    if choice != "auto" or problem.loss.classification or missing(problem, prep):
        return ()
    return columns_of(prep)


def columns_of(prep: Prep) -> tuple[int, ...]:
    """The columns that measure something: not levels and flags, whose values are known, nor shared blocks."""
    if prep.layout is not None:
        return prep.layout.quantities
    shared = {first + k for first, size in prep.geometry.shared for k in range(size)}
    return tuple(column for column in prep.geometry.numbers if column not in shared)


def missing(problem: Problem, prep: Prep) -> tuple[str, str] | None:
    """The lack of a problem that ranges need: a rule and a remedy."""
    if problem.geometry.half_width is None:
        return "without bounds", "Declare `bounds`, which they narrow."
    if not problem.geometry.intercept:
        return "without an intercept", "Fit one: a range has a middle, which a model through zero cannot move to."
    if not columns_of(prep):
        return "where no column measures something", "Leave it at 'auto': levels and flags have no ranges."
    if not (prep.scale[list(columns_of(prep))] < np.finfo(np.float64).max * NARROWEST).all():
        return "where bounds are that close", "Express the column in smaller units."
    if problem.w0 is not None:
        return "with `public`", "Declare narrower bounds: public rows show where numbers lie."
    if problem.n_rows is None:
        return "without n_rows", "Declare a reference, which means are divided by."
    if not problem.unit.total_is_public:
        return "where rows count differently", "Declare narrower bounds: means need a public sum of the weights."
    return None


def _pays(mechanism: Mechanism, problem: Problem, count: int, eps: float, delta: float) -> bool:
    """Whether "auto" spends on ranges: with pure noise that leaves something to narrow.

    A range reaches three deviations from the mean, and the noise of the squares, v in squared half-widths, is a part of
    the variance: where 3 sqrt(v) > 1 it reaches as far as the bounds, whatever the data are. Of labels, half of the
    groups of columns must have ranges: what a range gains is for its column, and what it costs is for all of them.
    """
    groups = len(problem.geometry.groups) - 1  # without the constant
    if problem.loss.classification and 2 * count < groups:
        return False
    if delta > 0 or math.isinf(eps) or mechanism.printed or not mechanism.about.private:
        return False
    return _noise(problem, count, _SHARE * eps) <= _LARGEST_NOISE


def _noise(problem: Problem, count: int, eps: float) -> float:
    """Standard deviation of the noise of a mean, in half-widths."""
    assert problem.geometry.half_width is not None
    assert problem.n_rows is not None
    return math.sqrt(2) * joint_sensitivity(problem, count) / eps / problem.n_rows / problem.geometry.half_width


def joint_sensitivity(problem: Problem, count: int) -> float:
    """The largest change of all blocks together by one record: lemma 1."""
    assert problem.geometry.half_width is not None
    if problem.neighbouring is Neighbouring.REPLACE_ONE:
        return sensitivity.ranges_replace_one(count, problem.geometry.half_width)
    return sensitivity.ranges_add_remove(count, problem.geometry.half_width)


def weights_of(problem: Problem) -> dict[str, float]:
    """The factor of each block inside the norm in which the joint sensitivity is measured."""
    c = problem.geometry.half_width
    assert c is not None
    weights = {SUMS: 1.0, SQUARES: 1 / c}
    return weights if problem.neighbouring is Neighbouring.REPLACE_ONE else weights | {RECORDS: c}


def block_shapes(problem: Problem, count: int) -> dict[str, tuple[int, ...]]:
    """The shape of each block for that many columns."""
    return {name: (1 if name == RECORDS else count,) for name in weights_of(problem)}


def _blocks(problem: Problem, count: int, eps: float) -> dict[str, Release]:
    """All blocks, eps-DP together; exact sums where eps is infinite."""
    sizes = {name: size for name, (size,) in block_shapes(problem, count).items()}
    return integer_blocks(sizes, weights_of(problem), joint_sensitivity(problem, count), eps)[0]
