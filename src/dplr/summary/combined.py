"""The table of linear combinations of coefficients."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from dplr.summary.linear import Combination
from dplr.summary.subject import Subject, bound_words, lines_of, summarise
from dplr.summary.table import Summary

_HYPOTHESES = "P-values are of the value behind the equals sign of a line, and of 0 where it has none."


def contrast_table(
    subject: Subject, contrasts: Sequence[Combination], level: float, joint: bool, effect_bound: float | None
) -> Summary:
    """A table with one line for each combination of the coefficients of a table."""
    weights, values = np.array([item.weights for item in contrasts]), np.array([item.value for item in contrasts])
    combined = replace(
        subject,
        equations=[
            replace(item, contrasts=weights @ item.contrasts, added=weights @ item.added, values=values)
            for item in subject.equations
        ],
        names=tuple(item.text for item in contrasts),
        against=[""] * len(contrasts),
    )
    table = summarise(subject, level, joint, effect_bound, most=0)  # facts and notes of the model, without its lines
    lines = tuple(lines_of(combined, level, joint, effect_bound))
    return replace(
        table,
        lines=lines,
        title=f"Contrasts of {table.title[0].lower()}{table.title[1:]}",
        notes=(*table.notes[:-1], *bound_words(subject, lines, effect_bound), _HYPOTHESES, table.notes[-1]),
        omitted=0,
        clipped={},
        parts=frozenset(),
        groups=None,
        fit_statistics=(),
    )
