"""Released models as SQL: expressions of CASE, arithmetic, LN, EXP and SQRT alone."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from dplr._kit.validation import check_choice, check_list, sentence
from dplr.bounds.columns import Level
from dplr.estimators.export.parts import KINDS, Part, Times, parts_of
from dplr.problem.link import Link

OUTPUTS = ("prediction", "margin", "probability")
# Opening quote of an identifier -> its closing quote, which is doubled inside. Single quotes in text are doubled too.
_CLOSING = {'"': '"', "`": "`", "[": "]"}
_FURTHEST = 690.0  # EXP of it and of its negative are float64 numbers; some databases raise an error beyond
# The exponential of its negative is 0 in float64, without an underflow that some databases refuse.
_LARGEST_LOG = 700.0
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
        if isinstance(value, (int, float)):
            return str(value) if isinstance(value, int) else number(value)
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


def written(
    fitted: Any, output: str, table: Any, keep: Sequence[str], columns: Sequence[str] | None, quote: str
) -> str | dict[Any, str]:
    """The work of `PrivateLinearModel.to_sql`."""
    outputs = OUTPUTS[: 1 + hasattr(fitted, "classes_") + hasattr(fitted, "predict_proba")]
    check_choice("output", output, outputs)
    quotes, inputs = Quotes(quote), _names(fitted, columns)
    keep = keep if isinstance(keep, str) else check_list("keep", keep)
    if table is not None:
        return _query(fitted, output, inputs, quotes, table, keep)
    if keep:
        raise ValueError(sentence("keep", "must be empty without a table", keep, "Give `table` too."))
    expressions = _outputs(fitted, output, _margins(fitted, inputs, quotes), quotes)
    return expressions.get(None, expressions)  # None is the one expression where there are no labels


def _names(fitted: Any, columns: Sequence[str] | None) -> list[str]:
    """Names of the columns of a table, one per feature."""
    d, names = fitted.n_features_in_, getattr(fitted, "feature_names_in_", None) if columns is None else columns
    listed = [] if names is None or isinstance(names, str) else [str(name) for name in check_list("columns", names)]
    if len(set(listed)) < len(listed) or len(listed) != d:
        remedy = "The model was fitted on an array without names." if columns is None else ""
        raise ValueError(sentence("columns", f"must be {d} different names", columns, remedy))
    return listed


def _query(fitted: Any, output: str, columns: Sequence[str], quotes: Quotes, table: Any, keep: Sequence[str]) -> str:
    """A SELECT that computes every margin once."""
    expressions = _margins(fitted, columns, quotes)
    labels = list(_outputs(fitted, output, expressions, quotes))
    if output == "margin" and labels == [None]:
        labels = [fitted.classes_[1]]
    names = [output if label is None else f"{output} of {label}" for label in labels]
    clashes = [name for name in keep if not isinstance(name, str) or name in names]
    if isinstance(keep, str) or clashes or len(set(keep)) < len(keep):
        rule = f"must be a list that names columns once, and none of {', '.join(names)}"
        raise ValueError(sentence("keep", rule, keep))
    inner = [f"margin {k}" for k in range(len(expressions))]
    while set(inner) & set(keep):
        inner = [name + "_" for name in inner]
    kept, margins = [quotes.name(name) for name in keep], [quotes.name(name) for name in inner]
    formulas = _outputs(fitted, output, margins, quotes).values()
    source = ".".join(quotes.name(name) for name in ([table] if isinstance(table, str) else check_list("table", table)))
    above = [*kept, *(f"{formula} AS {quotes.name(name)}" for formula, name in zip(formulas, names, strict=True))]
    below = [*kept, *(f"{formula} AS {name}" for formula, name in zip(expressions, margins, strict=True))]
    listed = [",\n  ".join(lines) for lines in (above, below)]
    return f"SELECT\n  {listed[0]}\nFROM (SELECT\n  {listed[1]}\nFROM {source}) {quotes.name('scored')}"


def _margins(fitted: Any, columns: Sequence[str], quotes: Quotes) -> list[str]:
    """An expression for the sum of each model, NULL where dplr refuses a row."""
    prep, names = fitted._record.prep, [quotes.name(name) for name in columns]
    every, intercepts = fitted._decision
    models = zip(np.atleast_2d(every).tolist(), np.atleast_1d(intercepts).tolist(), strict=True)
    if prep.layout is None:
        return [_in_ball(names, coef, intercept) for coef, intercept in models]
    parts = parts_of(prep)
    sums = ([number(intercept), *_terms(parts, names, list(map(number, coef)), quotes)] for coef, intercept in models)
    return ["(" + "\n  + ".join(terms) + ")" for terms in sums]


def _outputs(fitted: Any, output: str, margins: Sequence[str], quotes: Quotes) -> dict[Any, str]:
    """Label (None where there is one expression) -> expression over margins, which are expressions or names."""
    classes, several = fitted.classes_.tolist() if hasattr(fitted, "classes_") else [], len(margins) > 1
    prep, link = fitted._record.prep, fitted._record.link
    if output == "margin":
        return dict(zip(classes, margins, strict=True)) if several else {None: margins[0]}
    if output == "probability":
        if not several:
            return dict(zip(classes, [_chance(margins[0], link, "-1.0 * "), _chance(margins[0], link)], strict=True))
        chances = [_chance(margin, link) for margin in margins]
        return {label: f"{chance} / ({' + '.join(chances)})" for label, chance in zip(classes, chances, strict=True)}
    if classes:
        return {None: _best(margins, [quotes.value(label) for label in classes])}
    if prep.target is None:
        return {None: margins[0]}
    low, high = prep.target
    if prep.link == "identity":
        return {None: _clipped(margins[0], low, high)}
    # A rate is clipped before its exponential, which some databases let overflow.
    return {None: f"EXP({_clipped(margins[0], math.log(low) if low else -_LARGEST_LOG, math.log(high))})"}


def _terms(parts: Sequence[Part | Times], names: Sequence[str], coef: Sequence[str], quotes: Quotes) -> list[str]:
    """Each part times the coefficients of its columns, which are numbers or further expressions."""
    terms, first = [], 0
    for part in parts:
        terms.append(_TERMS[part.kind](part, names, coef[first : first + part.width], quotes))
        first += part.width
    return terms


def _number(part: Part, names: Sequence[str], coef: Sequence[str], _: Quotes) -> str:
    lower, upper = part.ends
    filler = "" if part.filler is None else number(min(max(part.filler, lower), upper))
    value = _FORWARD[part.column.transform](_clipped(names[part.place], lower, upper, filler))
    return f"{coef[0]} * {_less(value, part.middle)}"


def _shares(part: Part, names: Sequence[str], coef: Sequence[str], _: Quotes) -> str:
    """The lines between the knots in their order: each takes what is below its upper knot and in none before it."""
    name, knots = names[part.place], part.column.knot_values
    lines = [coef[0], *(_between(part, coef, place, name) for place in range(len(knots) - 1))]
    gone = "NULL" if part.refused else _ZERO
    if part.filler is not None:
        place = min(bisect_right(knots, part.filler), len(knots) - 1) - 1
        gone = _between(part, coef, place, number(part.filler))
    return _case(name, _below(knots, lines), coef[-1], gone)


def _between(part: Part, coef: Sequence[str], place: int, value: str) -> str:
    """The curve at a value behind the knot at that place and before the next one."""
    low, high = part.column.places[place : place + 2]
    value = _FORWARD[part.column.transform](value)
    lines = f"{coef[place]} * ({number(high)} - {value}) + {coef[place + 1]} * {_less(value, low)}"
    return f"({lines}) / {number(high - low)}"


def _bins(part: Part, names: Sequence[str], coef: Sequence[str], _: Quotes) -> str:
    """The bins in their order: each takes what is below its upper edge and in none before it."""
    edges = part.column.edges
    values = [_ZERO if place < 0 else coef[place] for place in part.column.places]
    filled = _ZERO if part.filler is None else values[bisect_right(edges, part.filler)]
    return _case(names[part.place], _below(edges, values), values[-1], "NULL" if part.refused else filled)


def _levels(part: Part, names: Sequence[str], coef: Sequence[str], quotes: Quotes) -> str:
    return _by_level(part, names, {level: coef[place] for level, place in part.kept.items()}, _ZERO, quotes)


def _position(part: Part, names: Sequence[str], coef: Sequence[str], quotes: Quotes) -> str:
    column = part.column
    positions = {level: number(float(place)) for level, place in zip(column.values, column.positions, strict=True)}
    position = _by_level(part, names, positions, number((len(column.levels) - 1) / 2), quotes)
    return f"{coef[0]} * {_less(position, part.middle)}"


def _mark(part: Part, names: Sequence[str], coef: Sequence[str], _: Quotes) -> str:
    return _case(names[part.place], [("IS NULL", coef[0])], _ZERO)


def _times(part: Times, names: Sequence[str], coef: Sequence[str], quotes: Quotes) -> str:
    """The first factor, whose coefficients are sums of the second."""
    first, second = part.factors
    coefs, step = coef if part.ends is None else [number(1.0)], part.widths[1]
    sums = [_joined(_terms(second, names, coefs[k : k + step], quotes)) for k in range(0, len(coefs), step)]
    product = _joined(_terms(first, names, sums, quotes))
    return product if part.ends is None else f"{coef[0]} * {_clipped(product, *part.ends)}"


_TERMS: dict[str, Callable[[Any, Sequence[str], Sequence[str], Quotes], str]] = dict(
    zip(KINDS, (_number, _shares, _levels, _bins, _position, _mark, _times), strict=True)
)


def _by_level(part: Part, names: Sequence[str], values: Mapping[Level, str], fallback: str, quotes: Quotes) -> str:
    """The value of each level, of another value, and of a missing one."""
    gone = "NULL" if part.refused else fallback if part.filler is None else values.get(part.filler, fallback)
    return _case(
        names[part.place], [(f"= {quotes.value(level)}", value) for level, value in values.items()], fallback, gone
    )


def _case(value: str, cases: Iterable[tuple[str, str]], rest: str = "", gone: str = "") -> str:
    """What a value is by the first test that it passes; `rest` where it passes none, and `gone` where it is missing."""
    tests = [*([("IS NULL", gone)] if gone else []), *cases]
    listed = " ".join(f"WHEN {value} {test} THEN {result}" for test, result in tests)
    return f"(CASE {listed}{f' ELSE {rest}' if rest else ''} END)"


def _below(edges: Sequence[float], values: Sequence[str]) -> Iterator[tuple[str, str]]:
    return ((f"< {number(edge)}", value) for edge, value in zip(edges, values, strict=False))


def _clipped(value: str, lower: float, upper: float, gone: str = "") -> str:
    low, high = number(lower), number(upper)
    return _case(value, [(f"< {low}", low), (f"> {high}", high)], value, gone)


def _less(value: str, middle: float) -> str:
    return f"({value} + {number(-middle)})" if middle else value


def _joined(terms: Sequence[str]) -> str:
    return f"({' + '.join(terms)})"


def _in_ball(names: Sequence[str], coef: Sequence[float], intercept: float) -> str:
    """The row, or its projection onto the unit ball."""
    product = " + ".join(f"{number(weight)} * {name}" for name, weight in zip(names, coef, strict=True))
    square = " + ".join(f"{name} * {name}" for name in names)
    return f"({number(intercept)} + ({product}) / (CASE WHEN {square} > 1.0 THEN SQRT({square}) ELSE 1.0 END))"


def _chance(margin: str, link: Link, sign: str = "") -> str:
    if not link.share:
        return f"(1.0 / (1.0 + EXP(-1.0 * {_clipped(f'({sign}{margin})' if sign else margin, -_FURTHEST, _FURTHEST)})))"
    difference = f"({_log_slope(f'(-1.0 * {margin})', link)} - {_log_slope(margin, link)})"
    rest = f"{number(1 - link.share)} * {_clipped(margin, -_FURTHEST, _FURTHEST)}"
    return f"(1.0 / (1.0 + EXP(-1.0 * ({sign}({rest} + {number(link.share)} * {difference})))))"


def _log_slope(margin: str, link: Link) -> str:
    """As `Link` has it, of margins that no exponential lets overflow."""
    below, above = _clipped(margin, link.turn - _FURTHEST, link.turn), _clipped(margin, link.turn, _FURTHEST)
    cut = f"LN(1.0 + {number(-link.bend)} * EXP({below} + {number(-link.turn)}))"
    return f"({cut} - LN(1.0 + EXP({above})))"


def _best(margins: Sequence[str], labels: Sequence[str]) -> str:
    """The first label of those with the largest margin; none where a margin is NULL."""
    if len(margins) == 1:
        return _case(margins[0], [("> 0.0", labels[1]), ("<= 0.0", labels[0])])
    cases = [
        f"WHEN {' AND '.join(f'{margin} >= {rival}' for j, rival in enumerate(margins) if j != k)} THEN {labels[k]}"
        for k, margin in enumerate(margins)
    ]
    return f"(CASE {' '.join(cases)} END)"
