"""What a report says in words: functions of the privacy statement and of the model's shape alone."""

from __future__ import annotations

import math
from typing import NamedTuple

from dplr.plots._view import Model, best_guess, printable
from dplr.privacy.guarantees import Neighbouring, Pure
from dplr.privacy.statement import PrivacyStatement

MODELS = {
    "logistic": "A logistic regression",
    "svm": "A linear support vector machine",
    "linear": "A linear regression",
    "huber": "A robust linear regression",
    "poisson": "A Poisson regression of counts",
    "margin": "A linear classifier",
    "residual": "A linear regression",
}


class Alarm(NamedTuple):
    """A banner: why the page promises nothing."""

    head: str
    text: str


def alarms(statement: PrivacyStatement) -> list[Alarm]:
    """Everything that voids the promise."""
    found = []
    if math.isinf(statement.eps):
        found.append(Alarm("No privacy.", "This model was fitted without noise (eps = inf). Treat it like the data."))
    if statement.reproducible:
        found.append(
            Alarm(
                "Not private: the noise came from a seed.",
                "Whoever knows or guesses the seed can take the noise away again. This is a test or a simulation; "
                "do not publish it as a private release.",
            )
        )
    if statement.uncovered:
        facts = "; ".join(map(printable, statement.uncovered))
        found.append(Alarm("Not everything is covered.", f"The promise on this page does not hold for this: {facts}."))
    return found


def promise(statement: PrivacyStatement) -> list[str]:
    """The guarantee for a reader who is one of the persons in the data."""
    if math.isinf(statement.eps):
        return [f"Nothing: the numbers may tell everything about a {statement.unit.one}."]
    paragraphs = [_in_words(statement), _guess(statement)]
    if statement.reproducible:
        paragraphs.insert(0, "Nothing, since the noise is known to whoever knows the seed. With secret noise:")
    if statement.delta:
        paragraphs.append(
            f"delta = {statement.delta:g} is the room that the bound leaves for rare events. It should be much smaller "
            "than one divided by the number of persons."
        )
    paragraphs.append(f"{_protected(statement)} Other releases from the same data add up with this one.")
    if statement.arithmetic != "integer":
        paragraphs.append(
            "The promise is proved for real numbers; the noise was added in floating-point arithmetic, and the numbers "
            "were rounded to a fixed grid."
        )
    return paragraphs


def _protected(statement: PrivacyStatement) -> str:
    if statement.unit.person is None:
        return (
            "What is protected is one record. If a person has several records in the data, the protection of that "
            f"person is weaker: {_group(statement)}."
        )
    column = printable(statement.unit.person)
    return (
        f"What is protected is one person with all their records, however many: all that have one value of “{column}”. "
        f"Of persons together the protection is weaker: {_group(statement)}."
    )


def _in_words(statement: PrivacyStatement) -> str:
    one = "record" if statement.unit.person is None else "person, with all their records,"
    if statement.neighbouring is Neighbouring.REPLACE_ONE:
        change = f"had any one {one} been replaced by any other, within the public bounds"
    else:
        change = f"had any one {one} been left out, or one been added"
    more = f", plus delta = {statement.delta:g}" if statement.delta else ""
    factor = math.exp(min(statement.eps, 700.0))
    return (
        f"The published numbers would have been nearly as likely {change}: the probability of any outcome is at most "
        f"exp(eps) = {factor:.4g} times what it would have been{more}. This holds whatever else a reader knows, all "
        f"other {statement.unit.many} included."
    )


def _guess(statement: PrivacyStatement) -> str:
    """The guarantee as the success rate of the best attack, rounded up."""
    chance = math.ceil(1000 * best_guess(statement.eps, statement.delta)) / 10
    several = statement.unit.person is not None
    if statement.neighbouring is Neighbouring.REPLACE_ONE:
        question = f"which of two possible {'sets of ' * several}records of yours was used"
    else:
        question = f"whether your record{'s were' if several else ' was'} used"
    if chance >= 99.95:
        right = "may be right nearly always: a bound this loose promises little"
    else:
        right = f"is right at most {chance:g} % of the time"
    return (
        f"Put differently: somebody who must guess {question}, thinks both as likely, and then reads these numbers, "
        f"{right}. Without them it is 50 %."
    )


def _group(statement: PrivacyStatement) -> str:
    many = statement.unit.many
    if isinstance(statement.guarantee, Pure):
        return f"with two {many} eps is {2 * statement.eps:g}, with k {many} k times {statement.eps:g}"
    return f"with k {many} eps is k times as large, and delta grows faster than that"


def released(statement: PrivacyStatement) -> str:
    """What the table of blocks is."""
    if math.isinf(statement.eps):
        return "These numbers, without noise, and the model on this page."
    return (
        "These noisy numbers, and what is computed from them: the model on this page. To compute more from "
        "them costs nothing further."
    )


NO_ODDS = (
    "There are no odds ratios here: the release does not tell how far these log odds are from those of the data. "
    'aim="coefficients" makes a release that does.'
)
NO_LOG_ODDS = (
    "Coefficients are not log odds, and there are no odds ratios here: up to "
    "noise, their signs and order are close to those of a logistic regression; their sizes are not."
)


def reading(model: Model, odds: bool) -> list[str]:
    """How to read the table, in which odds ratios are or are not, and the picture."""
    one = printable(model.labels[0], 60) if model.labels else ""
    hints = []
    if len(model.coef) > 1:
        hints.append("There is one column of numbers for each label: the label with the largest sum is predicted.")
    elif odds:
        hints.append(
            f"One unit more of a column, the others unchanged, multiplies the odds of “{one}” by its odds ratio: above "
            "1 makes it likelier, below 1 less likely. Odds ratios have no ridge, so their logarithms differ from the "
            "coefficients, which are for predictions."
        )
    elif model.labels:
        hints.append(f"The sum of coefficients times values, plus the intercept, is a score: above 0 means “{one}”.")
    elif model.kind == "poisson":
        hints.append(
            "One unit more of a column, the others unchanged, multiplies the predicted count by exp of its coefficient."
        )
    else:
        hints.append("One unit more of a column, the others unchanged, changes the prediction by its coefficient.")
    if model.kind == "logistic" and not odds:
        hints.append(NO_ODDS if model.log_odds else NO_LOG_ODDS)
    if model.ranges is not None:
        hints.append(
            "Columns have different units. To compare them, look at the effect across their bounds, "
            "which the picture shows."
        )
    if model.ranges is not None and not model.released:
        hints.append("A value beyond its bounds counts as the bound, in the fit and in predictions.")
    if model.target is not None:
        low, high = model.target
        hints.append(f"Predictions are clipped to the declared bounds of the target, {low:g} to {high:g}.")
    if model.released:
        hints.append(
            "The bounds of numbers are ranges that were released before, within those declared. A value beyond them "
            "counts as the nearest end, in predictions too: what is said of one unit more holds within them. "
            f"{_ranges(model)}"
        )
    if model.statement is not None and math.isfinite(model.statement.eps):
        hints.append(
            "Every number holds noise on purpose. Small coefficients may be nothing but noise, their signs and order "
            "too. There are no standard errors or p-values here: ordinary ones do not know of the noise."
        )
    hints.append("A ridge pulls the coefficients towards zero or towards a public start. They are not causal effects.")
    hints.append("The intercept belongs to a record with zeros in all columns, which may lie outside the bounds.")
    return hints


def _ranges(model: Model) -> str:
    """The range of each column that has one, inside its declared bounds."""
    declared = {} if model.ranges is None else dict(zip(model.names, model.ranges.tolist(), strict=True))
    said = []
    for name, (low, high) in model.released.items():
        ends = declared.get(name)
        bounds = f" of {ends[0]:g} to {ends[1]:g}" if ends else ""
        said.append(f"{printable(name)} {low:.4g} to {high:.4g}{bounds}")
    return f"Ranges: {'; '.join(said)}."


def secrets(statement: PrivacyStatement) -> list[str]:
    """What a data holder has seen that is not covered."""
    kept = [
        "warnings and errors of the fit: they depend on the data, such as the share of values outside the bounds;",
        "scores of this model on private rows, cross-validation included, and choices made by looking at them;",
        "coefficients of a non-private fit, and differences to it;",
        "the time and memory that the fit took, progress bars, and logs;",
        "a seed of the noise, where one was set;",
    ]
    if statement.neighbouring is Neighbouring.ADD_REMOVE:
        kept.append(f"the exact number of {statement.unit.many}: under add_remove it is private;")
    if statement.unit.person is not None:
        kept.append("the number of records, of the whole data and of each person, and the ids;")
    kept.append("the records, parts of them, or pictures with records as points.")
    return kept


def citation(statement: PrivacyStatement) -> str:
    """A sentence for a paper."""
    if math.isinf(statement.eps) or statement.reproducible:
        level = "without differential privacy" + (" (noise from a seed)" if statement.reproducible else "")
    else:
        delta = f", delta = {statement.delta:g}" if statement.delta else ""
        of = "" if statement.unit.person is None else " of persons"
        level = f"under differential privacy with eps = {statement.eps:g}{delta} ({statement.neighbouring}{of})"
        if statement.uncovered:
            level += f" (not covered: {'; '.join(map(printable, statement.uncovered))})"
    source, version = printable(statement.source), printable(statement.version)
    return f"Fitted {level}, mechanism {statement.mechanism} ({source}), with dplr {version}."
