"""What may be said of a ledger and entered in it: its parameters, its terms, and which statements it takes."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from typing import Any

from dplr._validation import check_choice, check_delta, check_eps, check_flag, sentence
from dplr.ledger.entries import Terms
from dplr.ledger.rules import RULES, Cost, Rule, rule_for
from dplr.privacy.guarantees import Neighbouring
from dplr.privacy.statement import PrivacyStatement


def checked_path(path: Any) -> str:
    """The absolute path without symbolic links, so that every process names the file and its log alike."""
    if not isinstance(path, str | os.PathLike):
        raise TypeError(sentence("path", "must be a path", path))
    text = os.fspath(path)
    if not isinstance(text, str) or not text or "\0" in text:
        raise ValueError(sentence("path", "must be the name of a file", text))
    if os.path.islink(text) and not os.path.exists(text):
        raise FileNotFoundError(sentence("path", "must not be a link that points nowhere", text))
    return os.path.realpath(text)


def checked_label(label: Any) -> str | None:
    """A text that can be written, or None."""
    if label is not None and (not isinstance(label, str) or not label):
        raise TypeError(sentence("label", "must be None or a text", label))
    try:
        (label or "").encode()
    except UnicodeEncodeError:
        raise ValueError(sentence("label", "must be a text that can be written as UTF-8", label)) from None
    return label


def checked_terms(eps: Any, delta: Any, composition: Any, neighbouring: Any, strict: Any) -> dict[str, Any]:
    """The terms that were given."""
    asked: dict[str, Any] = {}
    if eps is not None:
        asked["eps"] = check_eps(eps)
        if math.isinf(asked["eps"]):
            raise ValueError(sentence("eps", "must be finite: a ledger without a limit protects nobody", eps))
    if delta is not None:
        asked["delta"] = check_delta(delta)
    if composition is not None:
        asked["composition"] = check_choice("composition", composition, RULES)
    if neighbouring is not None:
        relations = [str(kind) for kind in Neighbouring]
        asked["neighbouring"] = str(check_choice("neighbouring", neighbouring, relations))
    if strict is not None:
        asked["strict"] = check_flag("strict", strict)
    return asked


def check_agreement(asked: dict[str, Any], terms: Terms, path: str) -> None:
    """Refuse terms other than those of the file."""
    for name, value in asked.items():
        written = getattr(terms, name)
        if value != written:
            remedy = f"The terms of a ledger never change. Leave {name} out to open it, or make another."
            raise ValueError(sentence(name, f"must be {written!r}, as the ledger {path} says", value, remedy))


def rule_of(terms: Terms) -> Rule:
    """The rule of composition that the terms name."""
    return rule_for(terms.composition, terms.eps, terms.delta, Neighbouring(terms.neighbouring))


def cost_of(statement: PrivacyStatement, terms: Terms) -> Cost:
    """The price of a statement, if a ledger may take it at all."""
    if math.isinf(statement.eps) or statement.mechanism == "none":
        remedy = "Fits without privacy have no ledger: leave `ledger` out."
        raise ValueError(sentence("eps", "must be finite to be entered in a ledger", statement.eps, remedy))
    if statement.reproducible:
        remedy = "Its noise can be computed again, so it protects nobody. Use rng=None, or leave `ledger` out."
        raise ValueError(sentence("rng", "must be None with a ledger", "a seeded fit", remedy))
    if statement.neighbouring != terms.neighbouring:
        rule = f"must be {terms.neighbouring!r}, the relation of the ledger"
        remedy = "A budget has one relation: use another ledger."
        raise ValueError(sentence("neighbouring", rule, str(statement.neighbouring), remedy))
    cost = Cost.of(statement)
    check_eps(cost.eps)  # a negative cost, in a statement made by hand, would give budget back
    check_delta(cost.delta)
    return cost


def refusal(path: str, terms: Terms, left: tuple[float, float], statements: tuple[PrivacyStatement, ...]) -> str:
    """What to say where the budget has no room."""
    asked = f"eps = {statements[0].eps:g}, delta = {statements[0].delta:g}"
    if len(statements) > 1:
        asked = f"{len(statements)} releases, the first with {asked}"
    return (
        f"`ledger` must have room for the fit; got {asked}, and {path} has {pair(left)} left of "
        f"{pair((terms.eps, terms.delta))} by composition={terms.composition!r}. No row was read and nothing was "
        f"spent. {remedy(terms, left, sum(statement.delta for statement in statements))}"
    )


def remedy(terms: Terms, left: tuple[float, float], delta: float) -> str:
    """What to do about a release of that delta that does not fit."""
    if terms.composition != "basic" or delta <= left[1]:
        return "Use a smaller eps, or a model that was already released."
    needs = "Objective perturbation always needs a delta of 2^-64 per model. " if delta < 2.0**-44 else ""
    return (
        f"The ledger has no room for this delta. {needs}Use a ledger that was made with a delta, such as delta=1e-12, "
        'or a mechanism that is pure with delta=0: "fm" or "output".'
    )


def pair(values: tuple[float, float]) -> str:
    """(eps, delta) in words."""
    return f"(eps = {values[0]:.6g}, delta = {values[1]:.6g})"


@dataclass(frozen=True, slots=True)
class Price:
    """What a release would cost a ledger; nothing was spent.

    Attributes
    ----------
    fits : whether the ledger would take it now.
    eps, delta : the statement's own loss.
    before, after : what `Ledger.remaining` says now, and would say afterwards (None where it does not fit).
    """

    fits: bool
    eps: float
    delta: float
    before: tuple[float, float]
    after: tuple[float, float] | None

    def __str__(self) -> str:
        """Return the price in words."""
        cost = f"costs eps = {self.eps:g}, delta = {self.delta:g}; remaining before {pair(self.before)}"
        return f"{cost}, after {pair(self.after)}" if self.after is not None else f"{cost}: it does not fit"
