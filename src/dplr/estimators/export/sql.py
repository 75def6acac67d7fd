"""Released models as SQL: expressions of CASE, arithmetic, LN, EXP and SQRT alone."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from dplr._kit.validation import check_choice, check_list, sentence
from dplr.bounds.columns import Level, Pair
from dplr.estimators.export.parts import Interval, Mark, Number, OneHot, Part, Position, Shares, Times, parts_of
from dplr.problem.link import Link

OUTPUTS = ("prediction", "margin", "probability")
# Opening quote of an identifier -> its closing quote, which is doubled inside. Single quotes in text are doubled too.
_CLOSING = {'"': '"', "`": "`", "[": "]"}
_FURTHEST = 690.0  # EXP of it and of its negative are float64 numbers; some databases raise an error beyond
_FORWARD: dict[str, Callable[[str], str]] = {
    "clip": lambda value: value,
    "log1p": lambda value: f"LN(1.0 + {value})",
    "log": lambda value: f"LN({value})",
    "sqrt": lambda value: f"SQRT({value})",
}


class Quotes:
    """Names and text as SQL writes them, so that neither can end early; `mark` begins an identifier."""

    def __init__(self, mark: str) -> None:
        self._mark = check_choice("quote", mark, _CLOSING)

    def name(self, name: str) -> str:
        """A quoted identifier."""
        if not name:
            raise ValueError(sentence("columns", "must have names for SQL", name, "Name them with `columns=`."))
        self._check(name)
        end = _CLOSING[self._mark]
        return f"{self._mark}{name.replace(end, end + end)}{end}"

    def value(self, value: Any) -> str:
        """A literal: text, number or boolean."""
        value = value.item() if isinstance(value, np.generic) else value
        if isinstance(value, bool):
            return "TRUE" if value else "FALSE"
        if isinstance(value, int):
            return str(value)
        if isinstance(value, float):
            return number(value)
        self._check(value)
        if "\\" in value:  # some databases end a literal at another quote then, and read the rest as SQL
            remedy = "Databases read it in more than one way. Rename it, or predict with dplr itself."
            raise ValueError(sentence("bounds", "must have levels and labels without a backslash", value, remedy))
        doubled = str(value).replace("'", "''")
        return f"'{doubled}'"

    def _check(self, text: str) -> None:
        """Refuse text that no quotes can hold everywhere."""
        if not isinstance(text, str) or "\0" in text:
            raise ValueError(sentence("columns", "must have names and levels that SQL can write", text))
        if self._mark == "`" and "\\" in text:
            remedy = "Databases with such quotes read it in more than one way. Rename it."
            raise ValueError(sentence("quote", 'must not be "`" where a name or level has a backslash', text, remedy))


def number(value: float) -> str:
    """Exactly this float64, in at most 17 digits, and an exponent: without one some databases take decimal numbers."""
    return np.format_float_scientific(value, trim="0")


_ZERO = number(0.0)
# The exponential of its negative is 0 in float64, without an underflow that some databases refuse.
_LARGEST_LOG = 700.0


def margins_of(fitted: Any, columns: Sequence[str], quotes: Quotes) -> list[str]:
    """An expression for the sum of each model, NULL where dplr refuses a row."""
    prep, names = fitted._record.prep, [quotes.name(name) for name in columns]
    every, intercepts = fitted._decision
    models = zip(np.atleast_2d(every).tolist(), np.atleast_1d(intercepts).tolist(), strict=True)
    if prep.layout is None:
        return [_in_ball(names, coef, intercept) for coef, intercept in models]
    parts = parts_of(prep)
    return [_sum(parts, names, coef, intercept, quotes) for coef, intercept in models]


def outputs_of(fitted: Any, output: str, margins: Sequence[str], quotes: Quotes) -> dict[Any, str]:
    """Label (None where there is one expression) -> expression over margins, which are expressions or names."""
    classes = fitted.classes_.tolist() if hasattr(fitted, "classes_") else []
    several = len(margins) > 1
    if output == "margin":
        return dict(zip(classes, margins, strict=True)) if several else {None: margins[0]}
    if output == "prediction":
        target = fitted._record.prep.target
        if not classes:
            return {None: margins[0] if target is None else _predicted(margins[0], target, fitted._record.prep.link)}
        labels = [quotes.value(label) for label in classes]
        return {None: _best(margins, labels) if several else _sign(margins[0], labels)}
    link = fitted._record.link
    if not several:
        return dict(zip(classes, [_chance(margins[0], link, "-1.0 * "), _chance(margins[0], link)], strict=True))
    chances = [_chance(margin, link) for margin in margins]
    return {label: f"{chance} / ({' + '.join(chances)})" for label, chance in zip(classes, chances, strict=True)}


def _predicted(margin: str, target: Pair, link: str) -> str:
    """Within the bounds of the target; a rate is clipped before its exponential, which some databases let overflow."""
    low, high = target
    if link == "log":
        return f"EXP({_clipped(margin, math.log(low) if low else -_LARGEST_LOG, math.log(high))})"
    return _clipped(margin, low, high)


def query_of(fitted: Any, output: str, columns: Sequence[str], quotes: Quotes, table: Any, keep: Sequence[str]) -> str:
    """A SELECT that computes every margin once."""
    expressions = margins_of(fitted, columns, quotes)
    names = {label: output if label is None else f"{output} of {label}" for label in
             outputs_of(fitted, output, expressions, quotes)}  # fmt: skip
    if output == "margin" and None in names and hasattr(fitted, "classes_"):
        names[None] = f"{output} of {fitted.classes_[1]}"
    clashes = [name for name in keep if not isinstance(name, str) or name in names.values()]
    if isinstance(keep, str) or clashes or len(set(keep)) < len(keep):
        rule = f"must be a list that names columns once, and none of {', '.join(names.values())}"
        raise ValueError(sentence("keep", rule, keep))
    inner = [f"margin {k}" for k in range(len(expressions))]
    while set(inner) & set(keep):
        inner = [name + "_" for name in inner]
    kept, margins = [quotes.name(name) for name in keep], [quotes.name(name) for name in inner]
    formulas = outputs_of(fitted, output, margins, quotes)
    source = ".".join(quotes.name(name) for name in ([table] if isinstance(table, str) else check_list("table", table)))
    below = [*kept, *(f"{formula} AS {name}" for formula, name in zip(expressions, margins, strict=True))]
    above = [*kept, *(f"{formula} AS {quotes.name(names[label])}" for label, formula in formulas.items())]
    listed = [",\n  ".join(lines) for lines in (above, below)]
    return f"SELECT\n  {listed[0]}\nFROM (SELECT\n  {listed[1]}\nFROM {source}) {quotes.name('scored')}"


def _sum(parts: Sequence[Part], names: Sequence[str], coef: Sequence[float], intercept: float, quotes: Quotes) -> str:
    return "(" + "\n  + ".join([number(intercept), *_terms(parts, names, list(map(number, coef)), quotes)]) + ")"


def _terms(parts: Sequence[Part], names: Sequence[str], coef: Sequence[str], quotes: Quotes) -> list[str]:
    """Each part times the coefficients of its columns, which are numbers or further expressions."""
    terms, first = [], 0
    for part in parts:
        terms.append(_TERMS[type(part)](part, names, coef[first : first + part.width], quotes))
        first += part.width
    return terms


def _number(part: Number, names: Sequence[str], coef: Sequence[str], _: Quotes) -> str:
    name = names[part.place]
    filler = None if part.filler is None else number(min(max(part.filler, part.lower), part.upper))
    gap = "" if filler is None else f"WHEN {name} IS NULL THEN {filler} "
    lower, upper = number(part.lower), number(part.upper)
    value = f"CASE {gap}WHEN {name} < {lower} THEN {lower} WHEN {name} > {upper} THEN {upper} ELSE {name} END"
    return f"{coef[0]} * {_less(_FORWARD[part.transform](f'({value})'), part.middle)}"


def _shares(part: Shares, names: Sequence[str], coef: Sequence[str], _: Quotes) -> str:
    """The lines between the knots in their order: each takes what is below its upper knot and in none before it."""
    name = names[part.place]
    lines = [_between(part, coef, place, name) for place in range(len(part.knots) - 1)]
    cases = [
        f"WHEN {name} < {number(knot)} THEN {line}" for knot, line in zip(part.knots, [coef[0], *lines], strict=True)
    ]
    gap = "NULL" if part.refused else _ZERO
    if part.filler is not None:
        place = min(bisect_right(part.knots, part.filler), len(part.knots) - 1) - 1
        gap = _between(part, coef, place, number(part.filler))
    return f"(CASE WHEN {name} IS NULL THEN {gap} {' '.join(cases)} ELSE {coef[-1]} END)"


def _between(part: Shares, coef: Sequence[str], place: int, value: str) -> str:
    """The curve at a value behind the knot at that place and before the next one."""
    low, high = part.places[place : place + 2]
    value = _FORWARD[part.transform](value)
    lines = f"{coef[place]} * ({number(high)} - {value}) + {coef[place + 1]} * {_less(value, low)}"
    return f"({lines}) / {number(high - low)}"


def _one_hot(part: OneHot, names: Sequence[str], coef: Sequence[str], quotes: Quotes) -> str:
    values = {level: coef[column] for level, column in part.kept.items()}
    return _by_level(part, names[part.place], values, _ZERO, quotes)


def _interval(part: Interval, names: Sequence[str], coef: Sequence[str], _: Quotes) -> str:
    """The bins in their order: each takes what is below its upper edge and in none before it."""
    name, coefs = names[part.place], dict(zip(part.kept, coef, strict=True))
    values = [coefs.get(place, _ZERO) for place in range(len(part.edges) + 1)]
    filled = _ZERO if part.filler is None else values[bisect_right(part.edges, part.filler)]
    cases = [f"WHEN {name} < {number(edge)} THEN {value}" for edge, value in zip(part.edges, values, strict=False)]
    gap = "NULL" if part.refused else filled
    return f"(CASE WHEN {name} IS NULL THEN {gap} {' '.join(cases)} ELSE {values[-1]} END)"


def _position(part: Position, names: Sequence[str], coef: Sequence[str], quotes: Quotes) -> str:
    values = {level: number(float(place)) for level, place in zip(part.levels, part.positions, strict=True)}
    position = _by_level(part, names[part.place], values, number(part.fallback), quotes)
    return f"{coef[0]} * {_less(position, part.middle)}"


def _mark(part: Mark, names: Sequence[str], coef: Sequence[str], _: Quotes) -> str:
    return f"(CASE WHEN {names[part.place]} IS NULL THEN {coef[0]} ELSE {_ZERO} END)"


def _times(part: Times, names: Sequence[str], coef: Sequence[str], quotes: Quotes) -> str:
    """The first factor, whose coefficients are sums of the second."""
    first, second = part.factors
    coefs, step = coef if part.ends is None else [number(1.0)], part.widths[1]
    sums = [_joined(_terms(second, names, coefs[k : k + step], quotes)) for k in range(0, len(coefs), step)]
    product = _joined(_terms(first, names, sums, quotes))
    return product if part.ends is None else f"{coef[0]} * {_clipped(product, *part.ends)}"


_TERMS: dict[type[Part], Callable[[Any, Sequence[str], Sequence[str], Quotes], str]] = {
    Number: _number, Shares: _shares, OneHot: _one_hot, Interval: _interval, Position: _position, Mark: _mark,
    Times: _times,
}  # fmt: skip


def _by_level(part: OneHot | Position, name: str, values: Mapping[Level, str], fallback: str, quotes: Quotes) -> str:
    """The value of each level, of another value, and of a missing one."""
    gone = "NULL" if part.refused else fallback if part.filler is None else values.get(part.filler, fallback)
    cases = [f"WHEN {name} = {quotes.value(level)} THEN {value}" for level, value in values.items()]
    return f"(CASE WHEN {name} IS NULL THEN {gone} {' '.join(cases)} ELSE {fallback} END)"


def _less(value: str, middle: float) -> str:
    return f"({value} + {number(-middle)})" if middle else value


def _joined(terms: Sequence[str]) -> str:
    return f"({' + '.join(terms)})"


def _in_ball(names: Sequence[str], coef: Sequence[float], intercept: float) -> str:
    """The row, or its projection onto the unit ball."""
    product = " + ".join(f"{number(weight)} * {name}" for name, weight in zip(names, coef, strict=True))
    square = " + ".join(f"{name} * {name}" for name in names)
    return f"({number(intercept)} + ({product}) / (CASE WHEN {square} > 1.0 THEN SQRT({square}) ELSE 1.0 END))"


def _clipped(value: str, lower: float, upper: float) -> str:
    low, high = number(lower), number(upper)
    return f"(CASE WHEN {value} < {low} THEN {low} WHEN {value} > {high} THEN {high} ELSE {value} END)"


def _chance(margin: str, link: Link, sign: str = "") -> str:
    """The chance of the label +1; with the sign "-1.0 * " of the label -1."""
    if not link.share:
        return f"(1.0 / (1.0 + EXP(-1.0 * {_clipped(f'({sign}{margin})' if sign else margin, -_FURTHEST, _FURTHEST)})))"
    minus = f"(-1.0 * {margin})"
    difference = f"({_log_slope(minus, link)} - {_log_slope(margin, link)})"
    rest = f"{number(1 - link.share)} * {_clipped(margin, -_FURTHEST, _FURTHEST)}"
    return f"(1.0 / (1.0 + EXP(-1.0 * ({sign}({rest} + {number(link.share)} * {difference})))))"


def _log_slope(margin: str, link: Link) -> str:
    """As `Link` has it, of margins that no exponential lets overflow."""
    below, above = _clipped(margin, link.turn - _FURTHEST, link.turn), _clipped(margin, link.turn, _FURTHEST)
    cut = f"LN(1.0 + {number(-link.bend)} * EXP({below} + {number(-link.turn)}))"
    return f"({cut} - LN(1.0 + EXP({above})))"


def _sign(margin: str, labels: Sequence[str]) -> str:
    """NULL, and no label, where the margin is."""
    return f"(CASE WHEN {margin} > 0.0 THEN {labels[1]} WHEN {margin} <= 0.0 THEN {labels[0]} END)"


def _best(margins: Sequence[str], labels: Sequence[str]) -> str:
    """The first label of those with the largest margin."""
    cases = [
        f"WHEN {' AND '.join(f'{margin} >= {rival}' for j, rival in enumerate(margins) if j != k)} THEN {labels[k]}"
        for k, margin in enumerate(margins)
    ]
    return f"(CASE {' '.join(cases)} END)"
