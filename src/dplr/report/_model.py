"""The model as a reader is shown it: a table, pictures, and a scale of probabilities, from released numbers alone."""

from __future__ import annotations

import functools
import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from dplr import plots
from dplr.bounds.columns import Curve
from dplr.plots._coefficients import draw_coefficients, height_of
from dplr.plots._curves import draw_column, strongest
from dplr.plots._effects import Effects
from dplr.plots._history import HISTORY_HEIGHT
from dplr.plots._view import Model, printable
from dplr.privacy.estimand import Estimand
from dplr.report._page import figures, number
from dplr.report._svg import inline_svg
from dplr.report._words import BARS, change_words
from dplr.summary.render import CANNOT_SAY, decimals, rounded
from dplr.summary.table import Ratio

_LONGEST = 80  # characters of a name in a table
_PICTURED_CURVES, _CURVE_HEIGHT = 6, 2.4  # columns with a picture of their own, and inches of one
_BANDS = 100  # columns of a model whose intervals are computed for pictures: seconds
_PICTURED = 15  # columns in the picture of the coefficients; the table has all of them
_KEPT = "\u00a0"  # a space at which no line ends
_SCORES = (-2.0, -1.0, 0.0, 1.0, 2.0)


class Cell(NamedTuple):
    """A number as it is shown, and in every digit; or text alone."""

    text: str
    value: float | None = None


class Table(NamedTuple):
    """Heads of the columns of numbers, and rows with a name and a cell for each."""

    heads: list[str]
    rows: list[tuple[str, list[Cell]]]


def effects_table(model: Model, effects: Effects) -> Table:
    """One row for each column, the largest effect beside how far off it may be first, then the intercept."""
    columns = _changes(model, effects)
    if len(effects.values) == 1:
        if effects.table is not None and effects.estimand is Estimand.LOG_ODDS:
            ratios = {ratio.name: Cell(_ratio_text(ratio)) for ratio in effects.table.odds_ratios()}
            cells = [ratios.get(name, Cell("")) for name in effects.names]
            columns.append(("odds ratio per unit, and its interval", [*cells, Cell("")]))
        columns += _across(model, effects)
    names = [printable(name, _LONGEST) for name in effects.names]
    cells_of = [[cells[j] for _, cells in columns] for j in range(len(names) + 1)]
    order = effects.order(model.widths("unit" if model.reach is None else "range"))
    rows = [*((names[j], cells_of[j]) for j in order), ("(intercept)", cells_of[-1])]
    return Table([head for head, _ in columns], rows)


def released_table(model: Model) -> Table:
    """The coefficients that predict, as they were released."""
    heads = [printable(label) for label in model.labels] if len(model.coef) > 1 else ["coefficient"]
    names = [*(printable(name, _LONGEST) for name in model.names), "(intercept)"]
    values = [*model.coef.T.tolist(), model.intercept.tolist()]
    rows = [[_plain(model, value) for value in row] for row in values]
    return Table(heads, list(zip(names, rows, strict=True)))


def _changes(model: Model, effects: Effects) -> list[tuple[str, list[Cell]]]:
    """The changes per unit with their uncertainty, a column for each model; the intercept's is the last cell."""
    columns = []
    for k, values in enumerate(effects.values):
        ends = [None] * len(values) if effects.reach is None else list(effects.reach[k])
        cells = [_cell(model, effects, value, end) for value, end in zip(values, ends, strict=True)]
        last = None if effects.intercept_reach is None else effects.intercept_reach[k]
        cells.append(_cell(model, effects, effects.intercept[k], last))
        head = change_words(model, effects) if len(effects.values) == 1 else printable(model.labels[k])
        columns.append((head, cells))
    return columns


def _across(model: Model, effects: Effects) -> list[tuple[str, list[Cell]]]:
    """The steps along each column, and the changes by them."""
    if model.reach is None:
        return []
    places = list(effects.places)
    widths = model.widths("range")[places]
    (values,) = effects.values
    ends = None if effects.reach is None else effects.reach[0] * widths[:, None]
    cells = [_cell(model, effects, value, None if ends is None else ends[j]) for j, value in enumerate(values * widths)]
    steps = [Cell(_step(model, effects, j)) for j in range(len(places))]
    return [("from … to", [*steps, Cell("")]), ("effect across them", [*cells, Cell("")])]


def _step(model: Model, effects: Effects, j: int) -> str:
    """From where to where a column goes: a level instead of the reference, or the bounds and the range within."""
    if effects.against[j]:
        return f"instead of {printable(effects.against[j], _LONGEST)}"
    assert model.ranges is not None
    place = effects.places[j]
    low, high = model.ranges[place]
    text = f"{number(low)} to {number(high)}".replace(" ", _KEPT)
    narrow = model.released.get(model.names[place])
    if narrow is None:
        return text
    within = f"{number(narrow[0])} to {number(narrow[1])}".replace(" ", _KEPT)
    return f"{within} (declared {text})"


def _cell(model: Model, effects: Effects, value: float, ends: NDArray[np.float64] | None) -> Cell:
    """A number with the digits that its uncertainty leaves, and the uncertainty."""
    if not math.isfinite(value) or (ends is not None and not np.isfinite(ends).all()):
        return Cell(CANNOT_SAY)
    if ends is None:
        return _plain(model, value)
    low, high = (float(end) for end in ends)
    places = decimals((high - low) / 4)
    if effects.table is None:
        text = f"{rounded(value, places)} ±{_KEPT}{rounded((high - low) / 2, places)}"
    else:
        text = f"{rounded(value, places)} {_interval(low, high, places)}"
    return Cell(text.replace("-", "\u2212"), float(value))


def _plain(model: Model, value: float) -> Cell:
    """A number alone: two digits where its noise is not known, more where it has none."""
    noisy = model.statement is not None and math.isfinite(model.statement.eps)
    return Cell(figures(value) if noisy else number(value), float(value))


def _ratio_text(ratio: Ratio) -> str:
    """An odds ratio with its interval, to two digits of the interval."""
    if not math.isfinite(ratio.high):
        return CANNOT_SAY
    places = decimals((ratio.high - ratio.low) / 4)
    return f"{rounded(ratio.estimate, places)} {_interval(ratio.low, ratio.high, places)}"


def _interval(low: float, high: float, places: int) -> str:
    return f"[{rounded(low, places)},{_KEPT}{rounded(high, places)}]"


def scale_of(est: Any, model: Model) -> list[tuple[str, str]]:
    """Scores of two labels, each with its predicted probability; empty where there are none."""
    if len(model.coef) > 1 or not model.labels or not hasattr(est, "predict_proba"):
        return []
    record = getattr(est, "_record", None)
    scores = np.array(_SCORES)
    shares = expit(scores if record is None else record.link.log_odds(scores))
    return [(number(score), f"{100 * share:.0f} %") for score, share in zip(_SCORES, shares, strict=True)]


def pictures(est: Any, model: Model, effects: Effects) -> list[tuple[str, str]]:
    """SVG and caption of every picture of what the model says: of nothing without how far off it may be."""
    per = "unit" if model.ranges is None else "range"
    step = "of one unit more of each column" if per == "unit" else "of each column from its lower to its upper bound"
    caption = f"The effect {step}, the others unchanged. {BARS[effects.kind]}".strip()
    draw = functools.partial(draw_coefficients, model=model, effects=effects, per=per, most=_PICTURED)
    drawn = []
    if effects.reach is not None and np.isfinite(effects.reach).all(axis=2).any():
        drawn.append((inline_svg(draw, "coefficients", caption, height_of(effects, _PICTURED)), caption))
    return drawn + _pictures_of_curves(est, model)


def _pictures_of_curves(est: Any, model: Model) -> list[tuple[str, str]]:
    """SVG and caption of the strongest curves that have bands."""
    layout = None if model.prep is None else model.prep.layout
    names = (
        []
        if layout is None
        else [n for n, c in zip(layout.features, layout.columns, strict=True) if isinstance(c, Curve)]
    )
    if not names or len(model.names) > _BANDS:
        return []
    curves, drawn = est.effects(level=0.95), []
    of_column = {name: [curve for curve in curves if curve.column == name] for name in names}
    said = [name for name in strongest(curves) if any(curve.strength >= 0 for curve in of_column.get(name, []))]
    for place, name in enumerate(said[:_PICTURED_CURVES]):
        shown = printable(name, _LONGEST)
        what = f"{curves.estimand[:1].lower()}{curves.estimand[1:]}"
        caption = f"{shown}: {what} less its mean over the bounds. {curves.bands}"
        draw = functools.partial(draw_column, curves=of_column[name])
        drawn.append((inline_svg(draw, f"curve{place}", caption, _CURVE_HEIGHT), caption))
    return drawn


def pictures_of_the_way(est: Any, model: Model) -> list[tuple[str, str]]:
    """SVG and caption of how a descent went."""
    if model.history is None:
        return []
    caption = "Noisy gradient descent: the norm of each released gradient beside that of its noise."
    draw = functools.partial(plots.plot_history, est)
    drawn = [(inline_svg(draw, "gradients", caption, HISTORY_HEIGHT), caption)]
    if model.history.public_loss is not None:
        caption = "The loss on the public data that the fit started from; private rows are not part of it."
        draw = functools.partial(plots.plot_history, est, what="public_loss")
        drawn.append((inline_svg(draw, "loss", caption, HISTORY_HEIGHT), caption))
    return drawn
