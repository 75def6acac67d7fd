"""The words of the page of a curve: functions of public numbers alone."""

from __future__ import annotations

import math
from typing import Any

from dplr.mechanisms import SHORTHANDS
from dplr.privacy.words import best_guess
from dplr.report._page import number
from dplr.report._words import MODELS

PROTECTED = {
    "replace_one": (
        "The promise is made to each person whose one record is among the data: whatever is published would have been "
        "nearly as likely if that record had said something else. The number of records is public."
    ),
    "add_remove": (
        "The promise is made to each person whose one record is among the data: whatever is published would have been "
        "nearly as likely if that record had not been there. The number of records is private; the one on this page "
        "is a public reference."
    ),
}
# What a mechanism adds noise to.
_OWN = (
    ("sums", "sums over all records, of which the model is made; the noise shown is that of one number among them"),
    ("objective", "what is minimised, in its own units; the noise shown is that of its gradient"),
    ("coefficients", "the coefficients of the scaled problem; the noise shown is that of one of them"),
)
OWN = dict(_OWN)


def headline(curve: Any) -> str:
    """The subject of the page."""
    return (
        f"{MODELS[curve.model]} that has not been fitted yet. This page says what a fit would promise to one person, "
        "and how good its model can be expected to be. No record was read for it: it holds public facts and a "
        "simulation."
    )


def setting_words(eps: float, delta: float, count: int) -> str:
    """A setting of the sliders."""
    return f"eps = {eps:g}, delta = {delta:g}, {count:,} records"


def promise_row(eps: float, delta: float) -> list[str]:
    """The allowance of eps and delta, in three figures."""
    factor = number(math.exp(eps)) if eps < 700 else "no bound"
    chance = math.ceil(1000 * best_guess(eps, delta)) / 10
    return [f"{eps:g}", f"{delta:g}", f"{factor} times", f"{min(chance, 100):g} %"]


def warnings_of(curve: Any) -> list[str]:
    """The warnings that a reader must know before trusting the figures."""
    warnings = [
        "The errors are those of simulated rows, not of yours. How much the columns of your data tell of the target "
        "is not known before they are read, and the error depends on that more than on anything else. Look at the "
        "share of the gain that is kept, and compare settings with each other."
    ]
    warnings.append("± holds two standard errors of the simulation. It does not cover assumptions that do not hold.")
    if any(point.excess_risk is not None for point in curve.points):
        warnings.append(
            "The proved bound is a theorem, with probability 0.95 over the noise and for any data within the bounds: "
            "what is minimised ends at most that much above its minimum. It is far above what usually happens."
        )
    least = {name: SHORTHANDS[name].least_delta for name in sorted({point.mechanism for point in curve.points})}
    for name, delta in least.items():
        if delta:
            warnings.append(f"Where delta is 0, a fit by {name} states {delta:.1g} instead, which covers its solver.")
    if any(point.simulated_rows < point.n_rows for point in curve.points):
        rows = max(point.simulated_rows for point in curve.points)
        warnings.append(f"“at most”: tables of {rows:,} rows stand for more rows, with which errors are smaller.")
    return warnings
