"""A guarantee in plain words: functions of a statement's kinds and numbers."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from dplr.privacy.guarantees import Neighbouring

if TYPE_CHECKING:
    from dplr.privacy.statement import PrivacyStatement

# How a statement says that the intercept of counts is another than the released one.
MOVED = "the intercept is moved by what the ridge adds to the sum of fitted counts"
_TINY = 1e-15  # a delta that is smaller is room for rounding, and not one that anybody chose
_LARGEST_EXPONENT = 700.0
_CERTAIN = 99.95  # percent
_LARGEST_FACTOR_EPS = 10.0  # a factor of 22,027; from here on its digits say nothing to anybody


def delta_number(delta: float) -> str:
    """The value of delta: a number or, for one too small to tell from others, the power of ten just above it."""
    if 0 < delta < _TINY:
        return f"below 10^{math.floor(math.log10(delta)) + 1}"
    return f"{delta:g}"


def delta_words(delta: float) -> str:
    """The value of delta after its name: `= 1e-06`, or `below 10^-19`."""
    number = delta_number(delta)
    return number if number.startswith("below") else f"= {number}"


def best_guess(eps: float, delta: float) -> float:
    """Highest probability of guessing which of two neighbouring data sets was used, if both were equally likely before.

    An (eps, delta) guarantee bounds both error rates by 1 - delta <= a + exp(eps) b and the same with a and b
    exchanged, so (a + b) / 2 >= (1 - delta) / (1 + exp(eps)).
    """
    return 1 - (1 - delta) / (1 + math.exp(eps)) if eps < _LARGEST_EXPONENT else 1.0


def brief(statement: PrivacyStatement) -> tuple[str, ...]:
    """Whom a statement protects and how well, what was released, and what the publisher answers for."""
    if math.isinf(statement.eps):
        return ("No privacy: nothing was added to hide anybody (eps = inf). Treat the numbers like the data.",)
    numbers = sum(math.prod(block.shape) for block in statement.released.values())
    exact = statement.neighbouring is Neighbouring.REPLACE_ONE
    public = f"bounds, options and the number of {statement.unit.many}" if exact else "bounds and options"
    void = alarms(statement)
    covered = "" if void else " Whatever is computed from them, the model too, is covered."
    promise = (bound(statement), guess(statement))
    sentences = [
        *(void or promise),
        *([f"But for that, this would hold: {' '.join(promise)}"] if void else ()),
        f"Released: {numbers:,} noisy numbers.{covered} The losses of all releases from these data add up.",
        f"The publisher answers for all that was taken as public, such as {public}. The full statement lists all "
        f"{len(statement.assumptions)} facts.",
    ]
    if statement.arithmetic != "integer":
        sentences.append("Proved for real numbers; computed in floating point, and rounded to a public grid.")
    return tuple(sentences)


def alarms(statement: PrivacyStatement) -> tuple[str, ...]:
    """A sentence for each fact that voids the promise; none where nothing does."""
    sentences = [f"NOT COVERED: {fact}." for fact in statement.uncovered]
    if statement.reproducible:
        sentences.append("Not private: the noise came from a seed, and whoever knows the seed can take it away.")
    return tuple(sentences)


def bound(statement: PrivacyStatement) -> str:
    """The guarantee as a factor."""
    person = statement.unit.person
    whom = "One record" if person is None else f"One person with all their rows (column {person})"
    if statement.neighbouring is Neighbouring.REPLACE_ONE:
        change = f"had {'any one record' if person is None else 'the rows of any one person'} said anything else"
    else:
        whom += f", and whether {'it is' if person is None else 'they are'} there,"
        change = f"had any one {statement.unit.one} been missing, or one more been there"
    delta_clause = f", plus delta {delta_words(statement.delta)}" if statement.delta else ""
    empty = ": so large a factor protects nobody" if statement.eps >= _LARGEST_FACTOR_EPS else ""
    return (
        f"{whom} is protected: {change}, no outcome would be more than {_factor(statement.eps)} times as likely "
        f"(eps = {statement.eps:g}){delta_clause}{empty}."
    )


def _factor(eps: float) -> str:
    """The number e^eps with three digits or all of its whole ones, rounded up; in words where it means nothing."""
    if eps >= _LARGEST_FACTOR_EPS:
        return "e^eps"
    factor = math.exp(eps) * (1 + 1e-12)  # at least as large as the real number, in spite of rounding
    places = max(0, 2 - math.floor(math.log10(factor)))
    return f"{math.ceil(factor * 10**places) / 10**places:.7g}"


def guess(statement: PrivacyStatement) -> str:
    """The guarantee as the success rate of the best attack, rounded up."""
    chance = math.ceil(1000 * best_guess(statement.eps, statement.delta)) / 10
    several = statement.unit.person is not None
    if statement.neighbouring is Neighbouring.REPLACE_ONE:
        question = f"which of two possible {'sets of rows of one person' if several else 'records'} was used"
    else:
        question = f"whether one {statement.unit.one} was used"
    if chance >= _CERTAIN:
        return f"Whoever must guess {question} may be right nearly always: a bound this loose promises little."
    return f"Whoever must guess {question}, at even odds, is right at most {chance:g} % of the time."
