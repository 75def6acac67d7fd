"""The rules of a ledger's parameters, of its terms and of the statements that it takes, and their messages."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_DOWN, Context
from fractions import Fraction
from typing import Any

from dplr._kit import markup
from dplr._kit.files import checked_name
from dplr._kit.validation import check_choice, check_delta, check_eps, describe, sentence
from dplr.ledger.budget import Stated
from dplr.ledger.entries import Terms
from dplr.ledger.room import Room, counted, kind_of, rule_of
from dplr.privacy.composition import KINDS, exact, float_down
from dplr.privacy.guarantees import Neighbouring
from dplr.privacy.rules import RULES, Cost, Costs, rule_for
from dplr.privacy.statement import PrivacyStatement, delta_number, delta_words


def checked_path(path: Any) -> str:
    """The absolute path without symbolic links, so that every process names the file and its log alike."""
    text = checked_name("path", path)
    if os.path.islink(text) and not os.path.exists(text):
        raise FileNotFoundError(sentence("path", "must not be a link that points nowhere", text))
    return os.path.realpath(text)


def checked_text(parameter: str, text: Any) -> str:
    """The text, if it is not empty and can be written as UTF-8."""
    if not isinstance(text, str) or not text:
        rule = "must be None or a text" if parameter == "label" else "must be a text"
        got = text if text is None or isinstance(text, str) else type(text).__name__
        raise TypeError(sentence(parameter, rule, got))
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError(
            sentence(parameter, "must be a text that can be written as UTF-8", "a lone surrogate")
        ) from None
    return text


def checked_kind(kind: Any, delta: Any) -> float | None:
    """The delta of a release of that kind; None for all the delta that remains."""
    check_choice("kind", kind, KINDS)
    release_delta = None if delta is None else check_delta(delta)
    if kind == "gaussian" and not release_delta:
        rule, remedy = "must be given, and positive, for a Gaussian release", "Its eps depends on its delta."
        raise ValueError(sentence("delta", rule, release_delta, remedy))
    if kind == "pure" and release_delta:
        raise ValueError(sentence("delta", "must be 0, or left out, for a pure release", release_delta))
    return release_delta


def statements_of(releases: Sequence[PrivacyStatement | Stated], some: bool) -> list[PrivacyStatement]:
    """The statements of these releases or plans; with `some`, there must be at least one."""
    statements = [
        release if isinstance(release, PrivacyStatement) else getattr(release, "statement", None)
        for release in releases
    ]
    if some and not statements:
        raise TypeError(sentence("statements", "must name a plan, or the statement of one", statements))
    for statement, release in zip(statements, releases, strict=True):
        if not isinstance(statement, PrivacyStatement):
            raise TypeError(sentence("statements", "must be plans, or statements of plans", release))
    return [statement for statement in statements if statement is not None]


def checked_terms(eps: Any, delta: Any, composition: Any, neighbouring: Any, unit: Any) -> dict[str, Any]:
    """The checked terms; a term that is None is left out."""
    terms: dict[str, Any] = {}
    if eps is not None:
        terms["eps"] = check_eps(eps)
        if math.isinf(terms["eps"]):
            raise ValueError(sentence("eps", "must be finite: a ledger without a limit protects nobody", eps))
    if delta is not None:
        terms["delta"] = check_delta(delta)
    if composition is not None:
        terms["composition"] = check_choice("composition", composition, RULES)
    if neighbouring is not None:
        relations = [str(kind) for kind in Neighbouring]
        terms["neighbouring"] = str(check_choice("neighbouring", neighbouring, relations))
    if unit is not None:
        terms["unit"] = checked_text("unit", unit)
    return terms


def check_agreement(parameters: dict[str, Any], terms: Terms, path: str) -> None:
    """Refuse terms other than those of the file."""
    for name, value in parameters.items():
        written = getattr(terms, name)
        if value != written:
            remedy = f"The terms of a ledger never change. Leave {name} out to open it, or make another."
            raise ValueError(sentence(name, f"must be {written!r}, as the ledger {path} says", value, remedy))


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
    if statement.unit.person != terms.unit:
        raise ValueError(_other_unit(statement.unit.person, terms.unit))
    cost = Cost.of(statement)
    check_eps(cost.eps)  # a negative cost, in a statement made by hand, would give budget back
    check_delta(cost.delta)
    return cost


def _other_unit(unit: str | None, written: str | None) -> str:
    """The message for a release that protects another unit than the releases of the ledger."""
    words = describe(written)  # an editor may have made it of any length
    protects = "one record" if written is None else f"one person, as the column {words} tells them apart"
    remedy = "Losses of records and of persons, or of other persons, are never added as if they were alike."
    if written is None:
        remedy += f" Make a ledger with unit={unit!r}."
    else:
        remedy += f" Fit with person={words}, or --person on the command line; or use another ledger."
    return sentence("person", f"must be {words}: the ledger's releases protect {protects}", unit, remedy)


def checked_share(
    name: str, eps: Any, delta: Any, shares: Mapping[str, tuple[float, float]], terms: Terms
) -> tuple[float, float]:
    """The limits of a new share, if those of all shares add up to no more than the ledger's."""
    eps = check_eps(eps)
    if math.isinf(eps):
        raise ValueError(sentence("eps", "must be finite", eps))
    if delta is None:
        delta = min(float_down(exact(terms.delta) * exact(eps) / exact(terms.eps)), terms.delta)
    limits = eps, check_delta(delta)
    for place, total in enumerate((terms.eps, terms.delta)):
        rest = exact(total) - sum((exact(share[place]) for share in shares.values()), Fraction(0))
        if exact(limits[place]) > rest:
            rule = f"of share {name!r} must be at most {float_down(rest)}, what other shares leave of {total:g}"
            raise ValueError(
                sentence(
                    ("eps", "delta")[place],
                    rule,
                    limits[place],
                    "The limits of all shares add up to no more than that.",
                )
            )
    rule_for(terms.composition, *limits, Neighbouring(terms.neighbouring))
    return limits


def check_share_agreement(name: str, eps: Any, delta: Any, limits: tuple[float, float]) -> None:
    """Refuse limits other than those of the file."""
    for unit, value, written in (("eps", eps, limits[0]), ("delta", delta, limits[1])):
        if value is not None and value != written:
            remedy = f"The limits of a share never change. Leave {unit} out to open it, or make another."
            raise ValueError(sentence(unit, f"must be {written!r}, as share {name!r} has it", value, remedy))


def refusal(path: str, terms: Terms, room: Room, costs: list[Cost], times: int = 1) -> str:
    """The message where the budget has no room for all of these costs, each as often as `times`."""
    cost_words = f"eps = {costs[0].eps:g}, delta {delta_words(costs[0].delta)}"
    if len(costs) * times > 1:
        cost_words = f"{len(costs) * times} releases, the first with {cost_words}"
    return (
        f"`ledger` must have room for the fit; got {cost_words}, and {path}, of {pair((terms.eps, terms.delta))} by "
        f"composition={terms.composition!r}, has {obstacle(room, counted(costs, times))}. No row was read and nothing "
        f"was spent. {advice(room, terms, costs, times)}"
    )


def obstacle(room: Room, costs: Costs) -> str:
    """The shortages in words: the quantity, how much is needed and how much is left; empty where there is none."""
    share, short = room.short_of(costs)
    parts = []
    for shortage in short:
        if isinstance(shortage.needed, int):
            parts.append(f"too few {shortage.name} ({shortage.needed} are needed, {shortage.left} are left)")
            continue
        needed, rest = f"{shortage.needed:.6g}", down(shortage.left)
        if shortage.of_delta:
            needed, rest = (delta_number(float(text)) for text in (needed, rest))
        if needed == rest:
            needed, rest = repr(shortage.needed), repr(shortage.left)
        parts.append(f"too little {shortage.name} ({needed} is needed, {rest} is left)")
    return " and ".join(parts) + ("" if share is None or not parts else f" in share {share!r}")


def advice(room: Room, terms: Terms, costs: list[Cost], times: int = 1) -> str:
    """A sentence about the releases that would fit."""
    first = costs[0]
    count = room.rounds(costs, times) * len(costs) if times > 1 else room.first(costs)
    if len(costs) * times > 1 and count:
        return f"Of these releases {count} would fit."
    kind = kind_of(first)
    if terms.composition == "basic" or (terms.composition != "pld" and kind == "approx"):
        rest = room.remaining()
        if first.delta > rest[1]:
            return _about_delta(first.delta, rest, terms)
    eps, _ = room.remaining(kind, None if kind == "pure" else first.delta)
    if eps:
        at = "" if kind == "pure" else f" at delta {delta_words(first.delta)}"
        return (
            f"Use a smaller eps, or a model that was already released: {_KINDS[kind]}{at} fits up to eps = {down(eps)}."
        )
    if kind == "gaussian" and (limits := room.remaining())[0]:
        return f"A release without Gaussian noise fits up to {pair(limits)}."
    return "Nothing of this kind fits any more: use a model that was already released."


_KINDS = {"pure": "a pure release", "gaussian": "Gaussian noise", "approx": "such a release"}


def _about_delta(delta: float, rest: tuple[float, float], terms: Terms) -> str:
    if delta > terms.delta and delta >= 2.0**-44:
        fits = f" A fit without delta= takes next to none, and fits up to eps = {down(rest[0])}." if rest[1] else ""
        rule = f"The ledger's whole delta is {delta_number(terms.delta)}, and its terms never change."
        return f"{rule} Make one with a larger delta, such as delta=1e-5.{fits}"
    needs = "Objective perturbation always needs a delta of 2^-64 per model. " if delta < 2.0**-44 else ""
    if rest[1]:
        return (
            f"The ledger has no room for this delta. {needs}With a delta of its own a release fits up to {pair(rest)}."
        )
    return (
        f"The ledger has no room for this delta. {needs}Use a ledger that was made with a delta, such as delta=1e-12, "
        'or a mechanism that is pure with delta=0: "fm" or "output".'
    )


def down(value: float) -> str:
    """A number in six digits, never more than it is: what is left must not be rounded up."""
    digits = Context(prec=6, rounding=ROUND_DOWN).create_decimal(repr(float(value)))
    return f"{float(digits):.6g}"


def pair(values: tuple[float, float]) -> str:
    """(eps, delta) in words, rounded down."""
    return f"({rest_words(values)})"


def rest_words(values: tuple[float, float]) -> str:
    """The remaining eps and delta, in words and rounded down."""
    return f"eps = {down(values[0])}, delta {delta_words(float(down(values[1])))}"


@dataclass(frozen=True, slots=True)
class Price:
    """The cost of releases to a ledger; nothing was spent.

    Attributes
    ----------
    fits : bool
        Whether the ledger would take all of them now.
    eps, delta : float
        The loss of all of them together, without what the ledger took before.
    before, after : tuple of (float, float) or None
        The (eps, delta) that one further release of this kind could have now, and afterwards (None where they do not
        fit): what `Ledger.remaining` says for `kind`, at the delta of the release where it is Gaussian.
    releases : int, default=1
        Number of releases.
    kind : {"pure", "gaussian", "approx"}, default="approx"
        Kind of the releases; `"approx"` where kinds differ, and with composition `"basic"`, where all cost the same.
    obstacle : str, default=""
        What has too little room, and what would fit instead, in words; empty where they fit.

    Privacy
    -------
    A function of statements and of what the ledger took: no row is read. Entries of fits that failed may show in it, so
    it is for the data holder.

    See Also
    --------
    dplr.Ledger.price : The price of statements.
    dplr.results.Plan.cost : The price of a plan.

    Examples
    --------
    >>> import dplr, tempfile, os
    >>> ledger = dplr.Ledger(os.path.join(tempfile.mkdtemp(), "budget"), eps=1.0)
    >>> price = ledger.price(dplr.plan(n_rows=1000, n_features=2, eps=0.1, mechanism="fm"), fits=5)
    >>> price.fits, price.releases, price.eps
    (True, 5, 0.5)
    """

    fits: bool
    eps: float
    delta: float
    before: tuple[float, float]
    after: tuple[float, float] | None
    releases: int = 1
    kind: str = "approx"
    obstacle: str = ""

    def __str__(self) -> str:
        what = {"pure": " for a pure release", "gaussian": " for Gaussian noise"}.get(self.kind, "")
        many = "costs" if self.releases == 1 else f"{self.releases} releases cost"
        cost = f"{many} eps = {self.eps:g}, delta {delta_words(self.delta)}; remaining{what} before {pair(self.before)}"
        if self.after is not None:
            return f"{cost}, after {pair(self.after)}"
        return f"{cost}: {'it does' if self.releases == 1 else 'they do'} not fit. {self.obstacle}"

    def _repr_html_(self) -> str:
        """Return the price for notebooks, one that is too high as an alarm."""
        return markup.piece("", markup.paragraph(str(self)) if self.fits else markup.alarms([str(self)]))


def price_of(room: Room, terms: Terms, costs: list[Cost], times: int) -> Price:
    """The price of these costs, each of them `times` times."""
    counts = counted(costs, times)
    kinds = {kind_of(cost) for cost in costs}
    kind = kinds.pop() if len(kinds) == 1 and terms.composition != "basic" else "approx"
    delta = costs[0].delta if kind == "gaussian" else None
    before, fits = room.remaining(kind, delta), room.takes(counts)
    one = len(costs) == times == 1
    eps, lost = (costs[0].eps, costs[0].delta) if one else rule_of(terms).spent(counts)
    if fits:
        return Price(True, eps, lost, before, room.after(counts).remaining(kind, delta), len(costs) * times, kind)
    words = f"It has {obstacle(room, counts)}. {advice(room, terms, costs, times)}"
    return Price(False, eps, lost, before, None, len(costs) * times, kind, words)
