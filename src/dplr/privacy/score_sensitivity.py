"""Sensitivities of scores and Hessians of numbers: of a Huber loss, and of rates. Proofs: score.md, lemmas 4 and 5."""

from __future__ import annotations

import math


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
