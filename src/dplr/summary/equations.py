"""From a release to the equations of its table, without a fitted estimator."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dplr.fitting.run import Release
from dplr.inference.expansion import expanded
from dplr.inference.reading import Reading
from dplr.mechanisms.protocol import Tabled
from dplr.summary.columns import Chosen, choose, effect_unit, narrowed, null_directions, user_units
from dplr.summary.subject import Equation


def readings_of(record: Release, coefs: Sequence[NDArray[np.float64]]) -> list[Reading]:
    """The released equations that a table is made of, at the scaled coefficients of each model."""
    assert isinstance(record.mechanism, Tabled)
    return [expanded(reading) for reading in record.mechanism.readings(record.plan, record.parts, coefs)]


def equations_of(
    done: Release, readings: Sequence[Reading], names: Sequence[str], labels: Sequence[str], kept: Sequence[int] | None
) -> tuple[Chosen, list[Equation]]:
    """The coefficients of a table, and the equation of each model; `kept` are the columns that it has, None for all."""
    prep, mechanism = done.prep, done.mechanism
    assert isinstance(mechanism, Tabled)
    robust = any(reading.robust for reading in readings)  # which a smaller model would lose
    clustered = any(reading.clustered for reading in readings)
    same = mechanism.whole or clustered or (kept is None and robust)
    selection = choose(names, prep.layout, prep.geometry.intercept > 0, kept, narrowed(prep))
    keep = np.array(selection.coordinates, np.intp)
    layout, columns = prep.layout, keep[keep < prep.geometry.d]
    indicators = np.zeros(len(columns), bool) if layout is None else np.array(layout.indicators)[columns]
    equations = []
    for label, reading in zip(labels, readings, strict=True):
        units, added = user_units(prep, reading)
        if len(keep) == len(reading.vector):
            small = reading
        elif same:  # such equations lack no coefficient but those that other ones make up for
            small = reading.referenced(keep, null_directions(prep, keep))
        else:
            small = reading.subset(keep)
        unit = effect_unit(prep, reading.estimand)
        equations.append(Equation.of(label, small, units[np.ix_(keep, keep)], added[keep], indicators, unit))
    return selection, equations
