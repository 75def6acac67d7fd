"""Sensitivities of evaluations: cells of outcomes, and sums of errors. Proofs: evaluation.md, lemmas 1 and 2."""

from __future__ import annotations

from collections.abc import Mapping


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
