"""A table of the released coefficients alone: contrasts, the noise of each if it is known, and why no intervals."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dplr.bounds.scaling import Prep
from dplr.privacy.estimand import Estimand
from dplr.summary.clipped import about, clippings, noted
from dplr.summary.columns import INTERCEPT, compared_with
from dplr.summary.contrasts import Contrasts, contrasts, deviations
from dplr.summary.subject import headed, notes_of
from dplr.summary.table import NO_INTERVAL, Line, Summary


@dataclass(frozen=True, eq=False, slots=True)
class Coefficients:
    """The released coefficients of a model, or of one model for each class.

    Attributes
    ----------
    names : of the columns.
    coef : (models, columns) in the user's units.
    intercept : (models,)
    labels : the class that each model is about; empty text for one model alone.
    prep : the way back from scaled coefficients, and what is declared of the columns.
    deviation : of the noise on each scaled coefficient; 0 without noise. None where it is not known.
    moved : whether the intercept is made of the released one, and has more noise.
    """

    names: Sequence[str]
    coef: NDArray[np.float64]
    intercept: NDArray[np.float64]
    labels: Sequence[str]
    prep: Prep
    deviation: float | None
    moved: bool


def released_table(
    coefficients: Coefficients,
    estimand: Estimand,
    title: str,
    facts: Mapping[str, str],
    obstacle: str,
    alarms: tuple[str, ...],
    advice: tuple[str, ...],
    notes: tuple[str, ...],
) -> Summary:
    """The table; `obstacle` is why there are no intervals."""
    model_contrasts = contrasts(coefficients.names, coefficients.coef, coefficients.intercept, coefficients.prep)
    lines = tuple(_lines(coefficients, model_contrasts))
    clipped = clippings(coefficients.names, coefficients.prep)
    notes = (*notes_of(coefficients.prep.layout, model_contrasts.names, model_contrasts.references), *notes)
    return Summary(
        lines=lines,
        title=headed(about(title, clipped), coefficients.labels),
        facts=dict(facts) | {"coefficients": estimand.words},
        references=dict(model_contrasts.references),
        notes=noted(notes, clipped),
        estimand=estimand,
        obstacle=obstacle,
        alarms=alarms,
        advice=(*advice, _advice(coefficients, obstacle)),
        clipped=clipped,
    )


def _lines(coefficients: Coefficients, model_contrasts: Contrasts) -> Iterator[Line]:
    """The columns of each model, then its intercept where it has one."""
    layout = coefficients.prep.layout
    against = (
        [""] * len(model_contrasts.names)
        if layout is None
        else compared_with(layout, model_contrasts.references, model_contrasts.positions)
    )
    noise, intercept_noise = np.full(len(model_contrasts.names), math.nan), math.nan
    if coefficients.deviation is not None:
        noise, intercept_noise = deviations(coefficients.names, coefficients.deviation, coefficients.prep)
    intercept_noise = math.nan if coefficients.moved else intercept_noise
    for label, coef, intercept in zip(
        coefficients.labels, model_contrasts.coef.tolist(), model_contrasts.intercept.tolist(), strict=True
    ):
        rows = list(zip(model_contrasts.names, coef, noise.tolist(), against, strict=True))
        rows += [(INTERCEPT, intercept, intercept_noise, "")] if coefficients.prep.geometry.intercept else []
        for name, value, deviation, level in rows:
            yield Line(
                name=name,
                label=label,
                estimate=value,
                std_error=math.nan,
                low=math.nan,
                high=math.nan,
                noise_share=math.nan,
                p_value=math.nan,
                verdict=NO_INTERVAL,
                noise=deviation,
                reference=level,
            )


def _advice(coefficients: Coefficients, obstacle: str) -> str:
    """Why there are no intervals, and what the digits are."""
    if coefficients.deviation is None:
        digits = "How much noise is in each number is not known: two digits are shown, and even these may be noise."
    elif coefficients.deviation:
        digits = "The noise is the standard deviation of what was added to each number; sampling error comes on top."
    else:
        digits = ""
    return f"No intervals: {obstacle}. {digits}".rstrip()
