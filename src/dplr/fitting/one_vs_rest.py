"""One model for each class against the rest, and one statement of their cost together. Proofs: one_vs_rest.md."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, TypeVar

from numpy.typing import NDArray

from dplr._kit.validation import sentence
from dplr.mechanisms.protocol import Mechanism, class_block
from dplr.privacy import composition
from dplr.privacy.accounting import poisson_eps
from dplr.privacy.calibration import MOST_GAUSSIAN_NUMBERS, continuous_target
from dplr.privacy.gaussian import gaussian_eps, gaussian_mu
from dplr.privacy.guarantees import Approx, Gaussian, Poisson, Pure
from dplr.privacy.profiles import profile_eps
from dplr.privacy.statement import Release
from dplr.problem.plan import Plan
from dplr.problem.problem import Problem

T = TypeVar("T")

_ROUNDING = 2.0**-40
_STEP_BACK = 2.0**-10
_MOST_CHANGES = 6  # the most changes of the share of a class, towards the largest that the accountant or profiles allow
_PRINTED = "Calibrations as printed do not compose to the eps asked for: use the default ones."


class _Share(NamedTuple):
    """The plan of one class, the guarantee and delta of all classes together, and words on their composition."""

    plan: Plan
    guarantee: Pure | Gaussian | Poisson | Approx
    delta: float
    composed: str


def plan_models(mechanism: Mechanism, problem: Problem, eps: float, delta: float, classes: Sequence[Any] = ()) -> Plan:
    """One model alone, or one for each of more than two classes against the rest: eps and delta together.

    Raises ValueError for what the mechanism cannot promise, with more classes for shares of eps and delta.
    """
    if is_several(classes):
        return _plan_classes(mechanism, problem, eps, delta, tuple(classes))
    return mechanism.plan(problem, eps, delta)


def published(parts: Sequence[Mapping[str, T]], classes: Sequence[Any]) -> Mapping[str, T]:
    """The joint release of the fits of all classes: one release that they share, or one for each class."""
    return parts[0] if all(part is parts[0] for part in parts) else by_class(parts, classes)


def by_class(parts: Sequence[Mapping[str, T]], classes: Sequence[Any]) -> dict[str, T]:
    """One mapping from one for each class: the block `linear` of the class 'a' is `linear['a']`."""
    return {
        class_block(name, label): block
        for label, released in zip(classes, parts, strict=True)
        for name, block in released.items()
    }


def is_several(classes: Sequence[Any] | NDArray[Any] | None) -> bool:
    """Whether there is a model for each class against the rest, and not one alone: of two classes, or of numbers."""
    return classes is not None and len(classes) > 2


def _plan_classes(mechanism: Mechanism, problem: Problem, eps: float, delta: float, classes: tuple[Any, ...]) -> Plan:
    k = len(classes)
    if problem.w0 is not None:
        remedy = "Public coefficients belong to one model: fit one class against the rest at a time."
        raise ValueError(sentence("public", "must be None with more than two classes", f"{k} classes", remedy))
    if mechanism.joint:
        plan = mechanism.plan(problem, eps, delta, classes)
        fact = f"{k} models, each of one class against the rest, from one release of the sums of all classes"
        statement = replace(plan.statement, assumptions=(*plan.statement.assumptions, fact))
        return replace(plan, statement=statement, each=plan)
    share = _share(mechanism, problem, eps, delta, k)
    one = share.plan.statement
    named = f"eps = {one.eps:.6g}" + (f", delta = {one.delta:.6g}" if one.delta else "")
    fact = f"{k} models, each of one class against the rest, every one at {named}: {share.composed}"
    statement = replace(
        one,
        eps=eps,
        delta=share.delta,
        guarantee=share.guarantee,
        released=by_class([one.released] * k, classes),
        calibration=f"{one.calibration}; of each of {k} models",
        assumptions=(*one.assumptions, fact),
        source=f"{one.source}; dplr one_vs_rest.md",
    )
    return replace(share.plan, statement=statement, classes=classes, each=share.plan)


def _share(mechanism: Mechanism, problem: Problem, eps: float, delta: float, k: int) -> _Share:
    """Equal shares: by basic composition or zCDP, whichever leaves more, and exactly where the noise is Gaussian."""
    kind = "approx" if delta > 0 else "pure"
    shares = composition.equal_shares(k, eps, delta, kind)
    plan = mechanism.plan(problem, *shares)
    guarantee = plan.statement.guarantee
    if plan.statement.eps > shares[0] * (1 + _ROUNDING):
        rule = f"must keep to its share of eps, {shares[0]:.6g}, with more than two classes"
        raise ValueError(sentence("mechanism", rule, plan.statement.eps, _PRINTED))
    if math.isinf(eps):
        return _Share(plan, Pure(eps), delta, "no noise, nothing to compose")
    if isinstance(guarantee, Gaussian):
        return _gaussian_share(mechanism, plan, eps, delta, k)
    if isinstance(guarantee, Poisson):
        return _poisson_share(mechanism, plan, eps, delta, k)
    total, lost = composition.basic([plan.statement] * k)
    if delta > 0 and lost > delta:
        rule = f"must be 0 or at least {lost:.3g}, what {k} classes need with this mechanism"
        raise ValueError(sentence("delta", rule, delta, "delta=0 states what they need."))
    adds_up, shared = total <= eps * (1 + _ROUNDING), plan.statement.delta == shares[1]
    # Objective perturbation has 2^-64 of its own without a delta, and with persons in place of a share of it. Where
    # that adds up, no other delta is used; zCDP takes the rest for its way back.
    stated = k * plan.statement.delta if adds_up and not shared else delta  # exactly: a power of two
    composed = "eps and delta add up" if adds_up else "composed as zCDP"
    share = _Share(plan, Approx(eps, stated) if stated else Pure(eps), stated, composed)
    return _profile_share(mechanism, problem, share, eps, delta, k) if delta > 0 and shared else share


def _gaussian_share(mechanism: Mechanism, plan: Plan, eps: float, delta: float, k: int) -> _Share:
    """Squares of mu add up, so each class gets mu / sqrt(k) of the mu that (eps, delta) allows (theorem 2)."""
    each_delta = delta / k
    share, shrink = gaussian_eps(_largest_mu(plan.statement.released, eps, delta, k) / math.sqrt(k), each_delta), 0.0
    while True:
        share, shrink = share * (1 - shrink), 2 * shrink or _ROUNDING
        plan = mechanism.plan(plan.problem, share, each_delta)
        assert isinstance(plan.statement.guarantee, Gaussian)
        mu = math.sqrt(k) * plan.statement.guarantee.mu * (1 + _ROUNDING)
        if mu <= _largest_mu(plan.statement.released, eps, delta, k):
            return _Share(plan, Gaussian(mu), delta, "squares of mu add up (Gaussian composition)")


def _poisson_share(mechanism: Mechanism, plan: Plan, eps: float, delta: float, k: int) -> _Share:
    """The accountant sees the steps of all classes, from a plan that basic composition or zCDP allows (theorem 3)."""
    best, room = plan, _room(plan, eps, delta, k)
    for _ in range(_MOST_CHANGES):
        if 1 <= room <= 1 + 4 * _STEP_BACK:
            break
        plan = mechanism.plan(
            plan.problem, min(plan.statement.eps * room * (1 - _STEP_BACK), eps), plan.statement.delta
        )
        room = _room(plan, eps, delta, k)
        best = plan if room >= 1 and plan.statement.eps > best.statement.eps else best
    return _Share(best, _all_steps(best, k), delta, "steps of all models, composed by the accountant")


def _profile_share(mechanism: Mechanism, problem: Problem, share: _Share, eps: float, delta: float, k: int) -> _Share:
    """Raise the share from that of Gaussian composition to the largest that privacy profiles confirm (theorem 4).

    Shares that compose without profiles stay where no larger one is confirmed.
    """
    model_delta = share.plan.statement.delta
    size = gaussian_eps(gaussian_mu(eps, delta) / math.sqrt(k), model_delta)
    for _ in range(_MOST_CHANGES):
        if size <= share.plan.statement.eps:
            break
        plan = mechanism.plan(problem, size, model_delta)
        parts = mechanism.profiles(plan)
        if not parts:
            break
        room = eps / max(profile_eps(parts, k, delta, size), 2.0**-40 * eps)
        if room >= 1:
            share = share._replace(plan=plan, composed="composed as privacy profiles")
        if 1 <= room <= 1 + 4 * _STEP_BACK:
            break
        size = min(size * room * (1 - _STEP_BACK), eps)
    return share


def _all_steps(plan: Plan, k: int) -> Poisson:
    guarantee = plan.statement.guarantee
    assert isinstance(guarantee, Poisson)
    return replace(guarantee, steps=k * guarantee.steps)


def _room(plan: Plan, eps: float, delta: float, k: int) -> float:
    """The ratio of eps, less the charge for discrete noise, to the accountant's eps of the steps of all k models."""
    numbers = k * sum(math.prod(block.shape) for block in plan.statement.released.values())
    net_eps, continuous = continuous_target(eps, delta, numbers)
    return net_eps / max(poisson_eps(_all_steps(plan, k), continuous, plan.problem.neighbouring), 2.0**-40 * net_eps)


def _largest_mu(released: Mapping[str, Release], eps: float, delta: float, k: int) -> float:
    """mu that all classes together may have, for discrete noise on all of their numbers."""
    sizes = [math.prod(block.shape) for block in released.values() if block.law.discrete]
    if not sizes:
        return gaussian_mu(eps, delta)
    numbers = k * sum(sizes)
    if numbers > MOST_GAUSSIAN_NUMBERS:
        rule = f"must be fewer where they release {numbers} numbers together"
        raise ValueError(sentence("classes", rule, f"{k} classes", "Use fewer steps or fewer features."))
    return gaussian_mu(*continuous_target(eps, delta, numbers))
