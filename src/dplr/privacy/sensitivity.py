"""Every sensitivity: one function per theorem, floats only. The proofs are beside the mechanisms.

The first functions are those of second moments (functional.md). Each bounds, over neighbouring data sets, the change of
the released vector (in L1 unless it says L2)

    ( linear * sum y (x, iota),  quadratic * upper triangle of sum (x, iota)(x, iota)' ),    |y| <= 1,

where x lies in the stated domain and iota is the constant appended for the intercept (0 for none). Under add_remove the
triangle holds the constant cell iota^2 (it counts the rows); under replace_one that cell is public and left out.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

# A smooth function of one angle is maximised on a grid. Between points it exceeds the grid by at most spacing^2 / 8 of
# its second derivative, which is at most 1.5 times the maximum: 1.2e-7 of it, covered by the margin.
_ANGLES = 4_001
_ANGLE_MARGIN = 1 + 1e-6
# Ratios of two targets at which the change of moments with sum y^2 is computed.
_RATIOS = tuple(step / 64 for step in range(65))


@functools.cache
def _angles() -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """cos(phi/2), sin(phi/2) and sin(phi) on the grid of angles in [0, pi]."""
    phi = np.linspace(0.0, math.pi, _ANGLES)
    return np.cos(phi / 2), np.sin(phi / 2), np.sin(phi)


def ball_add_remove(d: int, radius: float, linear: float, quadratic: float, iota: float = 0.0) -> float:
    """Exact: all |x_j| = radius / sqrt(d).

    sum_j |x_j| <= sqrt(d) R, and sum_{j<=l} |x_j x_l| = (||x||_1^2 + ||x||^2) / 2 <= (d + 1) R^2 / 2.
    """
    l1 = math.sqrt(d) * radius
    return linear * (l1 + iota) + quadratic * ((l1 * l1 + radius * radius) / 2 + iota * l1 + iota * iota)


def ball_replace_one(d: int, radius: float, linear: float, quadratic: float, iota: float = 0.0) -> float:
    """Upper bound, within 5 % of the largest change known at the weights in use, by Cauchy-Schwarz.

    With phi the angle between x and x', P = 2 R cos(phi/2), Q = 2 R sin(phi/2) the norms of x + x' and x - x':
    sum_{j<=l} |x_j x_l - x'_j x'_l| <= R^2 sin(phi) min(sqrt(d (d + 3) / 2), d / sqrt 2 + 1), the linear part changes
    by sqrt(d) P + 2 iota when the labels differ and sqrt(d) Q when not, the cells x_j iota by iota sqrt(d) Q. Unit
    norms are the worst.
    """
    if d == 1:
        return box_replace_one(1, radius, linear, quadratic, iota)
    cos_half, sin_half, sin = _angles()
    toward, away = 2 * radius * cos_half, 2 * radius * sin_half
    root = math.sqrt(d)
    triangle = min(math.sqrt(d * (d + 3) / 2), d / math.sqrt(2) + 1)
    squares = quadratic * (radius**2 * sin * triangle + iota * root * away)
    flipped = linear * (root * toward + 2 * iota) + squares
    same = linear * root * away + squares
    return float(max(flipped.max(), same.max())) * _ANGLE_MARGIN


def box_add_remove(d: int, half_width: float, linear: float, quadratic: float, iota: float = 0.0) -> float:
    """Exact, for |x_j| <= half_width: all |x_j| = half_width (a corner, and a point of [0, half_width]^d too)."""
    l1 = d * half_width
    triangle = d * (d + 1) / 2 * half_width**2
    return linear * (l1 + iota) + quadratic * (triangle + iota * l1 + iota * iota)


def box_replace_one(d: int, half_width: float, linear: float, quadratic: float, iota: float = 0.0) -> float:
    """Exact, for x in [-half_width, half_width]^d; without intercept exact for [0, half_width]^d too.

    With u_j = |x_j + x'_j|, v_j = |x_j - x'_j|, U and V their sums: |u_j| + |v_j| <= 2 c and
    sum_{j<=l} |x_j x_l - x'_j x'_l| <= (U V + sum_j u_j v_j) / 2, with equality when no sign differs. At fixed U the
    maximum has v_j = 2 c - u_j and all u_j equal, so one number u in [0, 2 c] remains, in which the bound is a concave
    parabola.
    """
    c = half_width
    squares = quadratic * d * (d + 1) / 2
    cross = quadratic * iota * d

    def largest(constant: float, per_u: float) -> float:
        """Maximum over u of constant + per_u * u + squares * u (2 c - u)."""
        u = min(max(c + per_u / (2 * squares), 0.0), 2 * c)
        return constant + per_u * u + squares * u * (2 * c - u)

    flipped = largest(2 * linear * iota + 2 * c * cross, d * linear - cross)
    same = largest(2 * c * (d * linear + cross), -d * linear - cross)
    return max(flipped, same)


def groups_add_remove(
    numeric: int,
    blocks: int,
    half_width: float,
    linear: float,
    quadratic: float,
    iota: float = 0.0,
    marked: int = 0,
    shared: int = 0,
) -> float:
    """Exact, for `numeric` columns in [-half_width, half_width] and `blocks` one-hot blocks: every group counts as one.

    With an intercept the diagonal cells of one-hot columns are not released: they are the intercept's cells, rescaled.
    `marked` further numbers have a mark beside them, which is half_width where the number is 0, or else 0 (lemma 10).
    Of each of `shared` blocks of numbers at most one is not 0 (lemma 11); blocks of shares of knots count among them
    (lemma 17).
    """
    every = box_add_remove(numeric + marked + shared + blocks, half_width, linear, quadratic, iota)
    return every - quadratic * blocks * half_width**2 if iota else every


def groups_replace_one(
    numeric: int,
    blocks: int,
    half_width: float,
    linear: float,
    quadratic: float,
    iota: float = 0.0,
    marked: int = 0,
    shared: int = 0,
) -> float:
    """Exact, for rows as in `groups_add_remove` if every block has at least two columns (lemma 7).

    Marked numbers, which need an intercept, change from half_width to missing: each is one more block that changes its
    level, and its diagonal cell changes too (lemma 10). So is each of `shared` blocks of two or more numbers, of which
    at most one is not 0: two diagonal cells change (lemma 11). All blocks change their level. `near` numeric columns
    have |x_j + x'_j| = c + a and |x_j - x'_j| = c - a, the others c - b and c + b: a concave quadratic in (a, b) for
    each `near`, largest where a = c or b = c.
    """
    c, near, blocks = half_width, np.arange(numeric + 1), blocks + marked + shared
    far = numeric - near
    beside = c * blocks  # what one unit of max(|x_j + x'_j|, |x_j - x'_j|) costs in the cells beside the blocks

    def largest(plus: float, minus: float) -> float:
        """Maximum over near, a, b of plus * U + minus * V + quadratic * the numeric columns' other cells."""
        tilt = (plus - minus) / quadratic
        best_a = np.clip((tilt + beside + c * far) / (near + 1), 0.0, c)
        best_b = np.clip((beside - tilt + c * near) / (far + 1), 0.0, c)
        a, b = np.array([best_a, np.full(numeric + 1, c)]), np.array([np.full(numeric + 1, c), best_b])
        sums, differences = c * numeric + near * a - far * b, c * numeric - near * a + far * b
        products = near * (c * c - a * a) + far * (c * c - b * b)
        cells = (sums * differences + products) / 2 + beside * (c * numeric + near * a + far * b)
        return float((plus * sums + minus * differences + quadratic * cells).max())

    cross = quadratic * iota
    level_cells = c * c * (blocks * (blocks - 1 if iota else blocks + 1) + marked + (2 * shared if iota else 0))
    changed_levels = 2 * c * blocks * (linear + cross) + quadratic * level_cells
    flipped = 2 * linear * iota + largest(linear, cross)
    same = largest(0.0, linear + cross)
    return changed_levels + max(flipped, same)


def l2_add_remove(radius: float, linear: float, quadratic: float, iota: float = 0.0) -> float:
    """Exact L2 sensitivity, off-diagonal cells counted with weight sqrt 2 (the Frobenius norm of the whole matrix).

    With r^2 = R^2 + iota^2 a row (x, iota) adds linear^2 r^2 + quadratic^2 r^4 at most: a ball, and a corner of a cube.
    """
    squared = radius**2 + iota**2
    return math.sqrt(linear**2 * squared + quadratic**2 * squared**2)


def l2_replace_one(radius: float, linear: float, quadratic: float, iota: float = 0.0) -> float:
    """L2 sensitivity with off-diagonal weight sqrt 2; exact while quadratic r <= linear / sqrt 2, else an upper bound.

    With r^2 = R^2 + iota^2 and rho the cosine of the angle between the rows (x, iota), the squared change is at most
    2 linear^2 r^2 (1 + rho) + 2 quadratic^2 r^4 (1 - rho^2): concave in rho, largest at rho = 1 (a flipped label, so
    the quadratic block costs nothing) or at rho = linear^2 / (2 quadratic^2 r^2), whichever is smaller.
    """
    squared = radius**2 + iota**2
    signal, cost = linear**2 * squared, quadratic**2 * squared**2
    rho = min(1.0, signal / (2 * cost)) if cost else 1.0
    return math.sqrt(2 * signal * (1 + rho) + 2 * cost * (1 - rho * rho))


def square_replace_one(moments: Callable[[float], float], reach: float, square: float) -> float:
    """L1 sensitivity of (moments, square * sum y^2); exact in cubes and groups (functional.md, lemma 13).

    `moments` is that of (linear * sum y (x, iota), the quadratic block) as a function of linear, and `reach` the
    largest ||(x, iota)||_1. Targets 1 and -ratio or ratio cost at most moments(ratio) + (1 - ratio) reach +
    square (1 - ratio^2). The first two terms are convex in the ratio, so between two points of the grid the sum exceeds
    the larger of its ends by at most square spacing^2 / 4.
    """
    largest = max(moments(ratio) + (1 - ratio) * reach + square * (1 - ratio * ratio) for ratio in _RATIOS)
    return largest + square * _RATIOS[1] ** 2 / 4


def free_square(moments: Callable[[float], float], reach: float) -> float:
    """The largest `square` for which no ratio in `square_replace_one` costs more than moments(1); 0 for none."""
    at_one = moments(1.0)
    gains = ((at_one - moments(ratio) - (1 - ratio) * reach) / (1 - ratio * ratio) for ratio in _RATIOS[:-1])
    return max(0.0, min(gains))


def free_square_l2(radius: float, linear: float, quadratic: float, iota: float = 0.0) -> float:
    """The weight of sum y^2 at which `l2_replace_one` stays what it is (functional.md, lemma 14)."""
    least = linear / (math.sqrt(2) * math.hypot(radius, iota))
    return linear**2 / (2 * max(quadratic, least))


def square_add_remove(moments: float, square: float) -> float:
    """Exact L1 sensitivity of (moments, square * sum y^2): the record with the largest moments has |y| = 1."""
    return moments + square


def square_l2_add_remove(moments: float, square: float) -> float:
    """Exact L2 sensitivity of (moments, square * sum y^2): the record with the largest moments has |y| = 1."""
    return math.hypot(moments, square)


def meat_add_remove(row_norm: float) -> float:
    """L2 sensitivity of sum a a', |a| <= row_norm, off-diagonal cells with weight sqrt 2; exact (functional.md)."""
    return row_norm**2


def meat_replace_one(row_norm: float) -> float:
    """L2 sensitivity of that sum where a record is replaced: two rows at right angles (functional.md, lemma 15)."""
    return math.sqrt(2) * row_norm**2


def clusters_change(longest: float, row_norm: float, half_widths: Sequence[float], records: int) -> float:
    """L1 sensitivity of the upper triangle of sum s s', s in the convex hull of rows and of rows with the other sign.

    `longest` is the largest L1 norm of a row, `row_norm` its largest L2 norm, and `half_widths` are the largest sizes
    of its coordinates, empty where they are not known. A unit adds at most (longest^2 + row_norm^2) / 2, and one that
    replaces another moves the sums by at most twice that, or by that of the cube that holds all rows (functional.md,
    lemma 18).
    """
    one = (longest**2 + row_norm**2) / 2
    if records == 1:
        return one
    cube = (sum(half_widths) ** 2 + sum(width**2 for width in half_widths)) / 2 if half_widths else math.inf
    return min(2 * one, cube)


# ((1 + sqrt 5) / 2)^(5/2), rounded down: up to this weight, times the norm, a Hessian is free (score.md, lemma 1).
FREE_HESSIAN = 3.330190676


def score_add_remove(radius: float, quadratic: float, iota: float = 0.0) -> float:
    """Exact L2 sensitivity of (sum p y v, quadratic * sum p (1 - p) vv') at any point, off-diagonal weight sqrt 2.

    With v = (x, iota), r^2 = R^2 + iota^2 and any p in [0, 1] a record adds r p sqrt(1 + kappa^2 (1 - p)^2) at most,
    kappa = quadratic r. That is r, and the Hessian is free, for kappa <= `FREE_HESSIAN` (score.md, lemma 1).
    """
    row_norm = math.hypot(radius, iota)
    return row_norm * math.sqrt(_largest_score(quadratic * row_norm))


def score_replace_one(radius: float, quadratic: float, iota: float = 0.0) -> float:
    """L2 sensitivity under replace_one: at most 2 r if kappa <= sqrt 2 `FREE_HESSIAN`, exactly so with two coordinates.

    The squared change is at most 2 r^2 (p^2 + p'^2) + quadratic^2 r^4 (h^2 + h'^2), h = p (1 - p): twice the squared
    sum of two records that add, with a Hessian of weight quadratic / sqrt 2 (score.md, lemma 1).
    """
    row_norm = math.hypot(radius, iota)
    return 2 * row_norm * math.sqrt(_largest_score(quadratic * row_norm / math.sqrt(2)))


def _largest_score(kappa: float) -> float:
    """Maximum of p^2 (1 + kappa^2 (1 - p)^2) over p in [0, 1]: at p = 1, or where the derivative vanishes."""
    if kappa * kappa <= 8:
        return 1.0
    p = (3 - math.sqrt(1 - 8 / kappa**2)) / 4
    return max(1.0, p * p * (1 + (kappa * (1 - p)) ** 2))


def first_score_add_remove(radius: float, quadratic: float, iota: float = 0.0) -> float:
    """L2 sensitivity of both at zero, where p = 1/2 for every record: lemma 4 with factors 1/2 and 1/4."""
    return l2_add_remove(radius, 0.5, quadratic / 4, iota)


def first_score_replace_one(radius: float, quadratic: float, iota: float = 0.0) -> float:
    """L2 sensitivity of both at zero under replace_one: r for kappa <= sqrt 2 (score.md, lemma 2)."""
    return l2_replace_one(radius, 0.5, quadratic / 4, iota)


def hessian_change(added: float, replaced: float, longest: float, size: int, records: int) -> float:
    """L1 sensitivity of the cells of sum h v v', 0 <= h <= 1/4, of truncated rows (objective.md, lemma 9)."""
    return squares_change(added, replaced, longest, size, records, 0.25)


def squares_change(added: float, replaced: float, longest: float, size: int, records: int, most: float) -> float:
    """L1 sensitivity of the cells of sum h v v', 0 <= h <= most, of rows root(h) v truncated to the grid.

    `added` and `replaced` are those of sum v v' under both relations, `longest` the largest ||v||_1, `size` the numbers
    of v. A truncated row moves its cells by at most 2^-20 (size + 1) longest (objective.md, lemma 9; functional.md,
    lemma 16).
    """
    exact = most * added if records == 1 else most * max(added, replaced)
    return exact + records * 2.0**-20 * (size + 1) * longest


def columns_replace_one(numeric: int, block_sizes: Sequence[int], half_width: float) -> float:
    """Exact L2 sensitivity of (sum x, sum x^2 / c of the numeric columns), for rows as in `groups_add_remove`.

    A number moves by t c and its square by at most t (2 - t) c^2, 0 <= t <= 2: t^2 (1 + (2 - t)^2) c^2 together, which
    grows with t to 4 c^2 (noisy_gd.md, lemma 1), and with a mark no more. A block moves by c^2 for the level that is
    left and c^2 for the new one; a block of one column has no other level.
    """
    return half_width * math.sqrt(4 * numeric + sum(min(size, 2) for size in block_sizes))


def columns_add_remove(numeric: int, blocks: int, half_width: float) -> float:
    """Exact L2 sensitivity of (sum x, sum x^2 / c of the numeric columns, c times the number of records).

    For rows as in `groups_add_remove`. A number adds x^2 + x^4 / c^2 <= 2 c^2, a block, or the mark in place of a
    number, at most c^2, and the record itself c^2 (noisy_gd.md, lemma 1).
    """
    return half_width * math.sqrt(2 * numeric + blocks + 1)


def ranges_replace_one(numbers: int, half_width: float) -> float:
    """Exact L1 sensitivity of (sum x, sum x^2 / c) of columns with |x| <= c, all of which one record may change.

    A number moves by t <= 2c and its square by at most t (2c - t): t + t (2c - t) / c is largest at t = 3c/2, 9c/4
    (ranges.md, lemma 1).
    """
    return 2.25 * half_width * numbers


def ranges_add_remove(numbers: int, half_width: float) -> float:
    """Exact L1 sensitivity of (sum x, sum x^2 / c, c times the number of records) of columns with |x| <= c.

    A record adds at most c and c to the sums of each column, and c to the last.
    """
    return 2 * half_width * numbers + half_width


def score_sum(largest: int) -> int:
    """Exact, under both relations, for a sum of scores in {0, ..., largest}, one per record (tuning.md, lemma 1)."""
    return largest


def paper_replace_one(n_coordinates: int, *, logistic: bool) -> float:
    """FM12 as printed, for its own polynomial: d^2/4 + 3d (section 5.2), 2(1 + 2d + d^2) (section 4.2).

    Valid for |x_j| <= 1 in n_coordinates coordinates (the intercept counts as one), and 2 to 30 times too large in the
    unit ball for d up to 20, more beyond.
    """
    d = n_coordinates
    return d * d / 4 + 3 * d if logistic else 2.0 * (1 + 2 * d + d * d)


def gradient(records: int, lipschitz: float, row_norm: float) -> float:
    """L2 sensitivity of the gradient of sum l_i at any point (output.md, lemma 1; objective.md, section 1).

    Neighbours differ in `records` records, and the gradient of each loss has norm at most L R~.
    """
    return records * lipschitz * row_norm


def gradient_gauge(records: int, lipschitz: float) -> float:
    """The gradient's sensitivity in the gauge of a body of rows: each has gauge at most 1 (objective.md, section 3)."""
    return records * lipschitz


def minimiser(records: int, lipschitz: float, row_norm: float, ridge: float, tolerance: float) -> float:
    """L2 sensitivity of the minimiser of sum l_i(w) + Lam ||w - w0||^2 / 2 (output.md, theorem 1).

    Each of the two returned points lies within tolerance / Lam of its minimum.
    """
    return (gradient(records, lipschitz, row_norm) + 2 * tolerance) / ridge


def clipped_sum(records: int, clip: float, radius: float, size: int, exponent: int) -> float:
    """L2 sensitivity of a sum of clipped gradients that is itself clipped to `radius`; inf means no such clip.

    Clipping the sum is a projection, and rounds by less than 2^-40 of its radius. Two points of a ball may be a
    diameter apart, under both relations: one record can carry a sum across (noisy_gd.md, theorem 1 and section 6). A
    projected sum is not a multiple of the sums' spacing 2^exponent, so flooring its `size` numbers costs where the
    release grid is that spacing too.
    """
    if math.isinf(radius):
        return records * clip
    floored = math.sqrt(size) * math.ldexp(1.0, exponent)
    return min(records * clip, 2 * radius) + radius * 2.0**-40 + floored


def cell_counts(records_changed: int) -> int:
    """Exact L1 sensitivity of the counts of a table: every record lies in one cell (baselines/histogram.md, lemma 1).

    2 under replace_one, where a record moves from one cell to another, and 1 under add_remove.
    """
    return records_changed


# Scores and Hessians of numbers, of a Huber loss and of rates (score.md, lemmas 4 and 5).


def huber_score_add_remove(row_norm: float, quadratic: float, largest: float) -> float:
    """Exact L2 sensitivity of (sum u v, quadratic * sum h v v'), |u| = C t and h = 1 - t for t in [0, 1], C `largest`.

    Free up to the weight C / r: the squared norm is convex in t (score.md, lemma 4).
    """
    return row_norm * max(largest, quadratic * row_norm)


def huber_score_replace_one(row_norm: float, quadratic: float, largest: float) -> float:
    """L2 sensitivity of that pair under replace_one: free up to the weight sqrt 2 C / r (score.md, lemma 4)."""
    bent = quadratic * row_norm
    return row_norm * math.sqrt(max(4 * largest**2, largest**2 + bent**2, 2 * bent**2))


def rate_score_add_remove(row_norm: float, quadratic: float, least: float, most: float) -> float:
    """Exact L2 sensitivity of (sum u v, quadratic * sum h v v'), u = h - y, 0 <= h <= most and least <= y <= most.

    The squared norm is convex in (h, y), so it is largest at a corner (score.md, lemma 5).
    """
    bent = quadratic * row_norm * most
    return row_norm * math.sqrt(max(most**2, (most - least) ** 2 + bent**2))


def rate_score_replace_one(row_norm: float, quadratic: float, least: float, most: float) -> float:
    """L2 sensitivity of that pair under replace_one (score.md, lemma 5)."""
    bent, rise = (quadratic * row_norm * most) ** 2, most - least
    return row_norm * math.sqrt(max(4 * most**2, (most + rise) ** 2 + bent, 4 * rise**2 + 2 * bent))


# Counts of records: in cells, outside a range, by text (quantiles.md).


def range_of_excess(record: int) -> int:
    """How far changes of max(records beyond an end - t, 0) differ between ends: one record (quantiles.md, lemma 2)."""
    return record


def range_of_distance(record: int, records_changed: int) -> int:
    """How far changes of the distance of a middle from the median differ (quantiles.md, lemma 3)."""
    return record * records_changed


def records_outside(record: int) -> int:
    """How much the number of records outside a range changes, rounded down to whole units (quantiles.md, lemma 4)."""
    return record + 1


def records_by_text(record: int, records_changed: int) -> int:
    """L1 sensitivity of the numbers of records by text (quantiles.md, lemma 5)."""
    return record * records_changed


# Evaluations: cells of outcomes, and sums of errors (evaluation.md, lemmas 1 and 2).


def outcomes_add_remove(shares: float) -> float:
    """Exact L1 sensitivity of (counts of cells, sums of k numbers), each of at most a share of 1; `shares` in all.

    A record adds 1 to one cell, and at most its shares to the sums (evaluation.md, lemma 1).
    """
    return 1.0 + shares


def outcomes_replace_one(shares: float) -> float:
    """Exact L1 sensitivity of those under replace_one, for sums of either sign: twice what one record adds."""
    return 2.0 * (1.0 + shares)


def errors_add_remove(weights: Mapping[str, float], rounding: float) -> float:
    """Upper bound of the weighted L1 norm of what one record adds to the sums of errors (evaluation.md, lemma 2).

    `weights` are those of `cells`, of `square`, `absolute`, `error` and `fourth` of an error in [-1, 1], of
    `target_square` and `target` of a target in [-1/2, 1/2], and of `count`, where it is released. Every number is off
    by at most three times `rounding`.
    """
    errors = weights["square"] + weights["absolute"] + weights["error"] + weights["fourth"]
    targets = weights["target_square"] / 4 + weights["target"] / 2
    return errors + targets + weights["cells"] + weights.get("count", 0.0) + 3 * rounding * sum(weights.values())


def differences_add_remove(weights: Mapping[str, float], rounding: float) -> float:
    """Upper bound of the weighted L1 norm of what one record adds to sums of differences (evaluation.md, lemma 2).

    `weights` are those of `cells`, of `difference` d in [-1, 1] and its `square`, and of the targets and the count.
    """
    differences = weights["difference"] + weights["square"]
    targets = weights["target_square"] / 4 + weights["target"] / 2
    return differences + targets + weights["cells"] + weights.get("count", 0.0) + 3 * rounding * sum(weights.values())


def differences_replace_one(weights: Mapping[str, float], rounding: float) -> float:
    """Upper bound of the change of sums of differences under replace_one (evaluation.md, lemma 2).

    Of differences the worst are 1 and -1 where `square` weighs at most half as much as `difference`.
    """
    if 2 * weights["square"] > weights["difference"]:
        raise ValueError("the weight of `square` must be at most half that of `difference`")
    targets, rounded = _targets(weights), 6 * rounding * sum(weights.values())
    return 2 * weights["difference"] + targets + 2 * weights["cells"] + weights.get("count", 0.0) + rounded


def _targets(weights: Mapping[str, float]) -> float:
    """The largest change of target_square y^2 + target y, in L1, for two targets in [-1/2, 1/2]."""
    bent, linear = weights["target_square"], weights["target"]
    turn = min(linear / (2 * bent), 0.5)
    return bent * (0.25 - turn * turn) + linear * (0.5 + turn)


def errors_replace_one(weights: Mapping[str, float], rounding: float) -> float:
    """Upper bound of the change of the sums of errors under replace_one (evaluation.md, lemma 2).

    Of errors e and f the worst are 1 and 0 if `error` weighs at most as much as `absolute`; of targets 1/2 and -t with
    t = target / (2 target_square). A record moves two cells, and the count where records may weigh less than 1.
    """
    if weights["error"] > weights["absolute"]:
        raise ValueError("the weight of `error` must be at most that of `absolute`")
    errors = weights["square"] + weights["absolute"] + weights["error"] + weights["fourth"]
    targets, rounded = _targets(weights), 6 * rounding * sum(weights.values())
    return errors + targets + 2 * weights["cells"] + weights.get("count", 0.0) + rounded
