"""The words of a report: functions of the privacy statement and of the model's shape alone."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from dplr.bounds.products import centred
from dplr.mechanisms import SHORTHANDS
from dplr.plots._effects import Effects
from dplr.plots._view import Model, printable
from dplr.privacy.estimand import Estimand
from dplr.privacy.guarantees import Neighbouring, Pure
from dplr.privacy.statement import PrivacyStatement, bound, delta_words, guess
from dplr.summary.columns import ITS_LINE

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
    messages = []
    if math.isinf(statement.eps):
        messages.append(
            Alarm("No privacy.", "This model was fitted without noise (eps = inf). Treat it like the data.")
        )
    if statement.reproducible:
        messages.append(
            Alarm(
                "Not private: the noise came from a seed.",
                "Whoever knows or guesses the seed can take the noise away again. This is a test or a simulation; "
                "do not publish it as a private release.",
            )
        )
    if statement.uncovered:
        facts = "; ".join(map(printable, statement.uncovered))
        messages.append(
            Alarm("Not everything is covered.", f"The promise on this page does not hold for this: {facts}.")
        )
    return messages


def headline(model: Model, statement: PrivacyStatement) -> str:
    """The model, its level of privacy, and the content of the page, in two sentences."""
    if math.isinf(statement.eps):
        level = "without privacy"
    else:
        delta = f", delta {delta_words(statement.delta)}" if statement.delta else ""
        whose = "one record" if statement.unit.person is None else "one person with all their records"
        level = f"with eps = {statement.eps:g}{delta} for {whose}"
    return (
        f"{MODELS[model.kind]}, fitted {level} by {SHORTHANDS[statement.mechanism].summary}. This page holds what was "
        "released and what was public before; nothing else of the data is in it."
    )


def drowned(est: Any, statement: PrivacyStatement) -> str:
    """That noise probably drowns the model, by public facts; empty where it does not, or nobody can tell."""
    record = getattr(est, "_record", None)
    outlook = None if record is None else record.plan.outlook_at(statement.eps)
    return str(outlook) if outlook is not None and outlook.drowned else ""


def promise(statement: PrivacyStatement) -> list[str]:
    """The guarantee for a reader who is one of the persons in the data, in three sentences."""
    if math.isinf(statement.eps):
        return [f"Nothing: the numbers may tell everything about a {statement.unit.one}."]
    sentences = [printable(bound(statement)), guess(statement), _holds(statement)]
    if statement.reproducible:
        sentences.insert(0, "Nothing, since the noise is known to whoever knows the seed. With secret noise:")
    return sentences


def _holds(statement: PrivacyStatement) -> str:
    return (
        f"This holds whatever else a reader knows, all other {statement.unit.many} included, as long as the publisher "
        "is right in what follows; the losses of all releases from these data add up."
    )


def fine_print(statement: PrivacyStatement) -> list[str]:
    """Whom the guarantee protects and what it leaves open, for a reader who wants to know more."""
    if math.isinf(statement.eps):
        return []
    paragraphs = [_protected(statement)]
    if statement.delta:
        paragraphs.append(
            f"delta {delta_words(statement.delta)} is the room that the bound leaves for rare events. It should be "
            "much smaller than one divided by the number of persons."
        )
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
        f"For several persons together the protection is weaker: {_group(statement)}."
    )


def _group(statement: PrivacyStatement) -> str:
    many = statement.unit.many
    if isinstance(statement.guarantee, Pure):
        return f"with two {many} eps is {2 * statement.eps:g}, with k {many} k times {statement.eps:g}"
    return f"with k {many} eps is k times as large, and delta grows faster than that"


def released(statement: PrivacyStatement) -> str:
    """The introduction to the list of released blocks."""
    if math.isinf(statement.eps):
        return "These numbers, without noise, and the model on this page."
    return (
        "These noisy numbers, and what is computed from them: the model on this page. To compute more from "
        "them costs nothing further."
    )


# What follows the caption of a picture with bars of each kind.
BARS = {
    "intervals": "Grey bars: 95 % intervals, which count sampling and privacy noise.",
    "noise": "Grey bars: two standard deviations of the noise to either side; sampling error comes on top.",
    "": "",
}
_CHANGES = {
    Estimand.MEAN: "change of the mean",
    Estimand.PROBABILITY: "change of the probability",
    Estimand.LOG_ODDS: "change of the log odds",
    Estimand.LOG_RATE: "change of the logarithm of the mean",
    Estimand.LOCATION: "change of the prediction",
    Estimand.MARGIN: "change of the score",
}
_UNSURE = {"intervals": ", with its 95 % interval", "noise": ", ± two deviations of the noise", "": ""}
NO_ODDS = "There are no odds ratios here, as there are no intervals to show them with."
NO_LOG_ODDS = (
    "Coefficients are not log odds, and there are no odds ratios here: up to "
    "noise, their signs and order are close to those of a logistic regression; their sizes are not."
)


_NO_ODDS = {
    Estimand.LOG_ODDS: NO_ODDS,
    Estimand.PROBABILITY: "These are slopes of the probability, and not log odds: there are no odds ratios here.",
}


def change_words(model: Model, effects: Effects) -> str:
    """The head of the column of changes."""
    return f"{_CHANGES[_estimand(model, effects)]} per unit{_UNSURE[effects.kind]}"


def _estimand(model: Model, effects: Effects) -> Estimand:
    return effects.estimand or (Estimand.MARGIN if model.labels else Estimand.MEAN)


def meaning(model: Model, effects: Effects) -> list[str]:
    """Two paragraphs before the table: the meaning of its numbers, and how far off they may be."""
    label = f"“{printable(model.labels[0], 60)}”" if model.labels else ""
    if len(effects.values) > 1:
        sentences = [
            "There is one column of numbers for each label, which stands against all others: each is the "
            f"{_CHANGES[_estimand(model, effects)]} per unit. The label with the largest sum is predicted."
        ]
    elif not model.labels:
        sentences = [_of_regression(effects)]
    elif effects.estimand is Estimand.LOG_ODDS:
        sentences = [f"One unit more of a column, the others unchanged, adds its number to the log odds of {label}."]
    elif effects.estimand is Estimand.PROBABILITY:
        sentences = [
            f"One unit more of a column, the others unchanged, changes the probability of {label} by its number."
        ]
    else:
        values = f"values{_less(model)}"
        sentences = [f"The sum of coefficients times {values}, plus the intercept, is a score: above 0 means {label}."]
    if set(effects.against) - {"", ITS_LINE}:
        sentences.append("Levels are compared with a reference level, which has the number 0.")
    return [" ".join(sentences), _uncertainty(model, effects)]


def _of_regression(effects: Effects) -> str:
    if effects.estimand is Estimand.LOG_RATE:
        return "One unit more of a column, the others unchanged, multiplies the predicted count by exp of its number."
    return "One unit more of a column, the others unchanged, changes the prediction by its number."


def _uncertainty(model: Model, effects: Effects) -> str:
    """How far off the numbers may be, or that nobody knows."""
    if effects.kind == "intervals":
        return (
            f"{_condition(effects)} true value lies in each interval with a probability of 95 %, counting sampling and "
            "privacy noise. An interval that contains 0 leaves open whether the column matters at all."
        )
    if model.statement is None or math.isinf(model.statement.eps):
        return effects.lacking
    if effects.kind == "noise":
        return "A number within its ± of 0 may be nothing but noise, its sign too; sampling error comes on top."
    return (
        "Every number contains deliberate noise, and the release does not tell how much: small ones may "
        f"be nothing but noise, their signs and order too. {effects.lacking}"
    )


def _condition(effects: Effects) -> str:
    """The start of the sentence on coverage: the assumption that the intervals need, if any."""
    condition = effects.table.condition if effects.table is not None else ""
    return f"If {condition}, the" if condition else "The"


def reading(model: Model, effects: Effects, scale: list[tuple[str, str]]) -> list[str]:
    """How to read the table, below it."""
    hints = []
    log_odds = effects.kind == "intervals" and effects.estimand is Estimand.LOG_ODDS
    if log_odds and len(effects.values) == 1:
        hints.append(
            "The odds ratio is what multiplies the odds: above 1 makes the label likelier, below 1 less likely."
        )
    elif model.kind == "logistic" and not log_odds:
        hints.append(_NO_ODDS.get(effects.estimand or Estimand.MARGIN, NO_LOG_ODDS))
    if scale:
        one = printable(model.labels[0], 60)
        scores, shares = (", ".join(column) for column in zip(*scale, strict=True))
        which = (
            "the coefficients" if effects.table is None else "the coefficients that predict (see the exact statement)"
        )
        hints.append(
            f"Probabilities: multiply {which} by the values{_less(model)} and add the intercept. Sums of {scores} "
            f"predict “{one}” with the probabilities {shares}."
        )
    if effects.table is None and (centre := _centred(model)):  # a table has it among its notes
        hints.append(printable(centre))
    if effects.curves:
        hints.append(effects.curves)
    if model.reach is not None and len(effects.values) == 1:
        hints.append("Columns have different units. To compare them, look at the effect across their bounds.")
    if model.reach is not None and not model.released:
        hints.append("A value beyond its bounds counts as the bound, in the fit and in predictions.")
    if model.released:
        hints.append(
            "Some numbers were clipped to ranges that were released first, within the declared bounds: the table is "
            "about the clipped columns, in predictions too, and what is said of one unit more holds within the ranges. "
            f"{_ranges(model)}"
        )
    if model.target is not None:
        low, high = model.target
        hints.append(f"Predictions are clipped to the declared bounds of the target, {low:g} to {high:g}.")
    if effects.kind == "intervals":
        hints.append("The estimates have no ridge. Predictions are made with one: see the exact statement.")
    else:
        hints.append("A ridge pulls the coefficients towards zero or towards a public start.")
    hints.append("These are not causal effects. The intercept belongs to a record with zeros in all columns, which may "
                 "lie outside the bounds.")  # fmt: skip
    return hints


def _centred(model: Model) -> str:
    """From where numbers count in products; empty where none does."""
    layout = None if model.prep is None else model.prep.layout
    return "" if layout is None else centred(layout.products, layout.features)


def _less(model: Model) -> str:
    return " (a product is that of its columns, each number less the middle of its bounds)" if _centred(model) else ""


def _ranges(model: Model) -> str:
    """The range of each column that has one, inside its declared bounds."""
    declared = {} if model.ranges is None else dict(zip(model.names, model.ranges.tolist(), strict=True))
    clauses = []
    for name, (low, high) in model.released.items():
        ends = declared.get(name)
        bounds = f" of {ends[0]:g} to {ends[1]:g}" if ends else ""
        clauses.append(f"{printable(name)} {low:.4g} to {high:.4g}{bounds}")
    return f"Ranges: {'; '.join(clauses)}."


def secrets(statement: PrivacyStatement) -> list[str]:
    """Facts that a data holder has seen and that are not covered."""
    kept = [
        "warnings and errors of the fit: they depend on the data, such as the share of values outside the bounds;",
        "scores of this model on private rows, cross-validation included, and choices made by looking at them;",
        "coefficients of a non-private fit, and differences from it;",
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
        delta = f", delta {delta_words(statement.delta)}" if statement.delta else ""
        of = "" if statement.unit.person is None else " of persons"
        level = f"under differential privacy with eps = {statement.eps:g}{delta} ({statement.neighbouring}{of})"
        if statement.uncovered:
            level += f" (not covered: {'; '.join(map(printable, statement.uncovered))})"
    source, version = printable(statement.source), printable(statement.version)
    return f"Fitted {level}, mechanism {statement.mechanism} ({source}), with dplr {version}."
