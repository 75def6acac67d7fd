"""From equations to tables, intervals and tests."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from dplr._kit.validation import check_positive, sentence
from dplr.bounds.columns import Curve, Numeric
from dplr.bounds.layout import Layout
from dplr.bounds.products import centred
from dplr.inference.expansion import widened
from dplr.inference.intervals import (
    ASSUMED,
    UNBOUNDED,
    Intervals,
    ScoreTest,
    consistent,
    ends_alone,
    intervals,
    score_test,
    weakness,
)
from dplr.inference.noise import covariance
from dplr.inference.reading import EFFECT_BOUNDS, Reading
from dplr.inference.search import box_of, widest
from dplr.privacy.estimand import Estimand
from dplr.summary.clipped import Clipping, about, noted
from dplr.summary.columns import INTERCEPT, ITS_LINE, parts_of_curves
from dplr.summary.render import AGAINST, CANNOT_SAY, STAR
from dplr.summary.table import Line, Summary

CLIPPED = "Numbers count as clipped to their bounds; the coefficients are those of the clipped columns."
CURVES = "The line of a curve is its average slope; its knots are deviations from the line: see effects()."
PARTS = "The line and the knots of a curve say something together alone: see effects()."
MARKS = "A missing number is compared with one in the middle of its declared bounds, on the scale of its transform."
_ANY_LAW = (
    "The intervals of R-squared and the residual deviation hold for residuals of any law within the bounds of the "
    "target: tighter bounds make them shorter."
)
# Below so many deviations of the noise a direction of the released matrix says little.
_WEAK = 6.0
# From here on a direction is more than noise, so that more rows make it longer; below, no row may have a part in it.
_TELLING = 3.0
# Names of columns that a weak direction consists of, at most, and the least share of one.
_NAMED, _LEAST = 3, 0.25
_UNEQUAL = (
    "Equal variances are assumed, which labels do not have: where probabilities differ much between rows, intervals "
    "may be far too short. variances='largest' does not need it."
)
# The condition under which intervals hold, by estimand and whether they are robust. Squares of the score see most of
# what a wrong logistic model does to the error of a coefficient, and not all.
_CONDITIONS = {
    (Estimand.MEAN, False): "the target varies equally in all rows",
    (Estimand.LOG_ODDS, False): "the rows follow a logistic model",
    (Estimand.LOG_ODDS, True): "the rows nearly follow a logistic model",
}
_OF = {
    Estimand.MEAN: "the mean",
    Estimand.LOCATION: "the robust location",
    Estimand.PROBABILITY: "the probability",
    Estimand.LOG_ODDS: "the log odds",
    Estimand.LOG_RATE: "the logarithm of the mean",
}
# Lines are named that the curve of the loss makes wider by more than this factor.
_WIDER = 1.1
_OPEN = (
    f'Nothing is assumed of the effect of a number that noise drowns: lines that depend on it say "{CANNOT_SAY}". '
    "effect_bound= states its largest effect, from the middle of its bounds to an end."
)
_SELECTION = (
    "The intervals hold for a model that was chosen before the release was seen. Whoever tries several models should "
    "use a level that counts them all."
)


@dataclass(frozen=True, eq=False, slots=True)
class Equation:
    """One model of a table.

    Attributes
    ----------
    label : the class that it is about, with more than two classes; else empty.
    reading : the released equation, of the columns of the table alone.
    contrasts : (m, q) each coefficient in the user's units as a combination of scaled ones.
    added : (m,) what is added to `factor` times that.
    spans : of each column for which an effect bound holds without being stated, flags, levels and bins: its 1 against
        its 0, in the largest size of its coordinate, 2 where that is centred. 0 for the others.
    values : (m,) of the hypotheses that p-values are of; None for 0.
    unit : the user's units of the target, or of the probability or the log odds, in one of the reading.
    """

    label: str
    reading: Reading
    contrasts: NDArray[np.float64]
    added: NDArray[np.float64]
    spans: NDArray[np.float64]
    values: NDArray[np.float64] | None = None
    unit: float = 1.0

    @classmethod
    def of(
        cls,
        label: str,
        reading: Reading,
        contrasts: NDArray[np.float64],
        added: NDArray[np.float64],
        indicators: NDArray[np.bool_],
        unit: float,
    ) -> Equation:
        """The equation of all coefficients of a model, with what a unit of each indicator is."""
        held = np.flatnonzero(indicators)
        spans = np.zeros(len(indicators))
        spans[held] = np.abs(reading.factor * contrasts[held, held]) / (reading.sizes[held] * unit)
        return cls(label, reading, contrasts, added, spans, unit=unit)

    @property
    def indicators(self) -> NDArray[np.bool_]:
        """Of each column, whether an effect bound holds for it without being stated."""
        return self.spans > 0

    def bounds(self, effect_bound: float | None) -> tuple[float, ...]:
        """The bound of each effect in units of the reading: this one, or that of the estimand for indicators alone.

        A number without one has none, and so has the constant: it is the mean at the middle of all ranges, where there
        may be no row (intervals.md, section 3). The effect of an indicator is that of its 1 against its 0.
        """
        effects, held = np.full(len(self.reading.vector), math.inf), np.flatnonzero(self.spans)
        if effect_bound is None:
            effects[held] = EFFECT_BOUNDS[self.reading.estimand]
        else:
            effects[: len(self.spans)] = check_positive("effect_bound", effect_bound) / self.unit
        effects[held] /= self.spans[held]
        return tuple(effects.tolist())

    def longest(self) -> NDArray[np.float64]:
        """The widths (m,) that bounds of effects which need not be stated leave to each coefficient, or infinite."""
        box, _, free = widest(self.reading, self.bounds(None))
        parts, reach = np.abs(self.contrasts), np.zeros(self.contrasts.shape)
        np.multiply(parts, np.where(free, np.inf, box), out=reach, where=parts > 0)  # 0 of what has no bound is 0
        return np.asarray(2 * abs(self.reading.factor) * reach.sum(axis=1))

    def only(self, places: NDArray[np.intp]) -> Equation:
        """The equation with these contrasts alone."""
        values = None if self.values is None else self.values[places]
        return replace(self, contrasts=self.contrasts[places], added=self.added[places], values=values)

    @property
    def goals(self) -> NDArray[np.float64]:
        """(m,) the values of the contrasts under the hypotheses."""
        return -self.added if self.values is None else self.values - self.added


@dataclass(frozen=True, eq=False, slots=True)
class Subject:
    """The subject of a table.

    Attributes
    ----------
    equations : one for each model.
    names : (m,) of the coefficients.
    references : column -> the level that the others are compared with.
    title : what was fitted, and how.
    facts : name -> value.
    notes : what was assumed.
    against : (m,) the reference level that a level is compared with; empty for other columns.
    alarms : what voids the promise.
    advice : what a reader must know before using the numbers.
    clipped : name -> the range to which the fit clipped a column, and its declared bounds.
    full : columns with a column for each level, of which there are products.
    parts : names of the coefficients that say something together alone.
    groups : column of the table -> names of its coefficients, where these are several.
    unit : the user's units of the target in one of the equation; nan where residuals have no common deviation.
    weighted : whether rows count differently.
    boxed : whether each column has bounds of its own.
    whole : whether a model of fewer columns needs a release of its own.
    counted : the units whose number the facts have; empty where it is a sum of weights.
    otherwise : what does not need the condition of the intervals, as the end of a sentence.
    """

    equations: Sequence[Equation]
    names: tuple[str, ...]
    references: Mapping[str, str]
    title: str
    facts: Mapping[str, str]
    notes: tuple[str, ...]
    against: Sequence[str]
    alarms: tuple[str, ...] = ()
    advice: tuple[str, ...] = ()
    clipped: Mapping[str, Clipping] = field(default_factory=dict)
    full: tuple[str, ...] = ()
    parts: frozenset[str] = frozenset()
    groups: Mapping[str, Sequence[str]] = field(default_factory=dict)
    unit: float = math.nan
    weighted: bool = False
    boxed: bool = True
    whole: bool = False
    counted: str = "rows"
    otherwise: str = ""


def headed(title: str, labels: Collection[str]) -> str:
    """The title of a table, which says what the models of several classes compare."""
    return f"{title}, {AGAINST}" if any(labels) else title


def notes_of(layout: Layout | None, names: Collection[str], references: Mapping[str, str]) -> list[str]:
    """The notes of a table about its columns: these names, compared with these references."""
    if layout is None:
        return []
    marks = {f"{f} is missing" for f, c in zip(layout.features, layout.columns, strict=False) if isinstance(c, Numeric)}
    notes = centred(layout.products, layout.features), curves_note(layout, names, references), straight_note(layout)
    return [CLIPPED, *filter(None, notes), *([MARKS] if marks & set(names) else [])]


def straight_note(layout: Layout) -> str:
    """The numbers beside curves that do not bend, in words; empty where there are none."""
    if not layout.straight:
        return ""
    flags = any(isinstance(column, Numeric) and column.flag for column in layout.columns)
    rates = " A flag has the whole numbers 0 and 1 as bounds, a rate 0.0 and 1.0." if flags else ""
    return f"Straight, without a curve: {', '.join(layout.straight)}.{rates}"


def curves_note(layout: Layout, names: Collection[str], references: Mapping[str, str]) -> str:
    """The meaning of the lines and knots among these names in words; empty where there are none."""
    parts = parts_of_curves(layout) & set(names)
    lines = zip(layout.features, layout.columns, layout.firsts, strict=False)
    bends = [references.get(f) for f, c, j in lines if isinstance(c, Curve) and c.line and layout.names[j] in parts]
    if bends and set(bends) == {ITS_LINE}:
        return CURVES
    return PARTS if parts else ""


def summarise(
    subject: Subject, level: float, joint: bool, effect_bound: float | None, most: int | None = None
) -> Summary:
    """The regression table; with `most` the strongest lines of it alone, and no tests below, as each takes time."""
    from dplr.summary.statistics import drowned_words, fit_statistics, term_tests

    lines = lines_of(subject, level, joint, effect_bound, most)
    statistics = fit_statistics(subject, level, effect_bound)
    advice = [*subject.advice, *(words for equation in subject.equations for words in _warnings(subject, equation))]
    reading = subject.equations[0].reading
    percent = f"{100 * level:g} %"
    level_words = f"{percent} joint" if joint else percent
    facts = dict(subject.facts) | {"level": level_words, "coefficients": reading.estimand.words}
    advice += [_UNEQUAL] if reading.estimand is Estimand.PROBABILITY and not reading.robust else []
    condition = _CONDITIONS.get((reading.estimand, reading.robust), "")
    advice += [f"The intervals hold if {condition}{subject.otherwise}."] if condition else []
    return Summary(
        lines=tuple(lines),
        title=headed(about(subject.title, subject.clipped), [equation.label for equation in subject.equations]),
        facts=facts,
        references=dict(subject.references),
        notes=(
            *noted(subject.notes, subject.clipped),
            *([_ANY_LAW] if statistics else []),
            _covers(reading, joint),
            *(words for equation in subject.equations for words in _bent(equation, subject.names, lines)),
            *bound_words(subject, lines, effect_bound),
            *drowned_words(subject, statistics, effect_bound),
            _SELECTION,
        ),
        estimand=reading.estimand,
        alarms=subject.alarms,
        advice=tuple(advice),
        omitted=len(subject.names) * len(subject.equations) - len(lines),
        clipped=subject.clipped,
        condition=condition,
        parts=subject.parts & set(subject.names),
        groups=subject.groups,
        fit_statistics=statistics,
        tests=() if most is not None else term_tests(subject, _level_of(subject, level, joint), effect_bound, lines),
    )


def lines_of(
    subject: Subject, level: float, joint: bool, effect_bound: float | None, most: int | None = None
) -> list[Line]:
    """The lines of all models, or some `most` strong ones; jointly they count all, whether or not asked for."""
    count_all, model_level = len(subject.names) * len(subject.equations), _level_of(subject, level, joint)
    lines: list[Line] = []
    for equation in subject.equations:
        places = np.arange(len(subject.names)) if most is None else _strong(subject, equation, most - len(lines))
        if len(places):
            some = equation.only(places)
            estimates, p_values = intervals_of(some, model_level, False, equation.bounds(effect_bound))
            if joint:
                p_values = np.minimum(1.0, p_values * count_all)
            lines += _lines(subject, some, places.tolist(), estimates, p_values)
    return lines


@np.errstate(over="ignore", invalid="ignore", divide="ignore")
def _strong(subject: Subject, equation: Equation, count: int) -> NDArray[np.intp]:
    """Places of so many coefficients that are likely the strongest: by one solution, without a search.

    Those of one column stay together, and the intercept comes last.
    """
    reading, every = equation.reading, np.arange(len(subject.names))
    if count >= len(every):
        return every
    inverse = np.linalg.pinv(reading.matrix) if np.all(np.isfinite(reading.matrix)) else np.eye(len(reading.vector))
    phi, ways = inverse @ reading.vector, equation.contrasts @ inverse
    spread = covariance(reading.cells, reading.tied, phi) + reading.vector_noise + reading.sampling
    found = np.abs(equation.contrasts @ (reading.center + phi)) / np.sqrt(np.einsum("ij,jk,ik->i", ways, spread, ways))
    strength = dict(zip(subject.names, np.nan_to_num(found).tolist(), strict=True)) | {INTERCEPT: -1.0}
    for members in subject.groups.values():
        strength |= dict.fromkeys(members, max(strength[name] for name in members))
    order = np.argsort([-strength[name] for name in subject.names], kind="stable")
    return np.sort(order[: max(count, 0)])


def _level_of(subject: Subject, level: float, joint: bool) -> float:
    """The level of each line: joint ones of all models hold together."""
    return 1 - (1 - level) / (len(subject.names) * len(subject.equations)) if joint else level


def _model_level(subject: Subject, level: float, joint: bool) -> float:
    """The level of each model: joint intervals of several hold together."""
    return 1 - (1 - level) / len(subject.equations) if joint else level


def all_ends(subject: Subject, level: float, joint: bool, effect_bound: float | None) -> list[NDArray[np.float64]]:
    """(m, 2) ends of each model in the user's units; infinite where the released numbers cannot say."""
    model_level = _model_level(subject, level, joint)
    return [ends_of(equation, model_level, joint, effect_bound) for equation in subject.equations]


def intervals_of(
    equation: Equation, level: float, joint: bool, bounds: tuple[float, ...]
) -> tuple[Intervals, NDArray[np.float64]]:
    """Intervals of every contrast of a model, before anything is added to them, and p-values of its hypothesis."""
    estimates = intervals(equation.reading, equation.contrasts, level, joint, bounds)
    return consistent(equation.reading, equation.contrasts, equation.goals, estimates, bounds)


def ends_of(equation: Equation, level: float, joint: bool, effect_bound: float | None) -> NDArray[np.float64]:
    """(m, 2) ends in the user's units; infinite where the released numbers cannot say."""
    bounds = equation.bounds(effect_bound)
    alone = ends_alone(equation.reading, equation.contrasts, level, joint, bounds)
    estimates, _ = consistent(equation.reading, equation.contrasts, equation.goals, alone, bounds)
    return np.column_stack([estimates.low, estimates.high]) + equation.added[:, None]


def joint_test(
    equation: Equation, which: Sequence[int], values: NDArray[np.float64], effect_bound: float | None,
    known: NDArray[np.str_], level: float,
) -> ScoreTest:  # fmt: skip
    """Test that these coefficients have these values in the user's units, all at once.

    `known` and `level` are those of the lines of the table, as in `score_test`.
    """
    rows = list(which)
    bounds = equation.bounds(effect_bound)
    return score_test(equation.reading, equation.contrasts[rows], values - equation.added[rows], bounds, known, level)


def _lines(
    subject: Subject, equation: Equation, places: list[int], estimates: Intervals, p_values: NDArray[np.float64]
) -> list[Line]:
    lines = []
    for k, place in enumerate(places):
        bounded = estimates.verdict[k] != UNBOUNDED
        added = float(equation.added[k])
        firm = bounded and not math.isnan(estimates.std_error[k])
        narrow = not math.isnan(estimates.bounded_to[k])  # there is a level in place of a standard error
        std_error = float(estimates.std_error[k]) if firm else math.nan
        line = Line(
            name=subject.names[place],
            label=equation.label,
            estimate=float(estimates.estimate[k]) + added,
            std_error=std_error,
            low=float(estimates.low[k]) + added,
            high=float(estimates.high[k]) + added,
            noise_share=float(estimates.noise_share[k]),
            p_value=float(p_values[k]),
            verdict=str(estimates.verdict[k]),
            noise=std_error * math.sqrt(float(estimates.noise_share[k])) if firm else math.nan,
            reference=subject.against[place],
            bounded_to=float(estimates.bounded_to[k]) if narrow else math.nan,
        )
        lines.append(line)
    return lines


def _warnings(subject: Subject, equation: Equation) -> list[str]:
    """Where the noise drowns a direction: which columns it consists of, and what to do."""
    weakest, direction = weakness(equation.reading)
    if not weakest < _WEAK:
        return []
    parts = np.abs(direction)
    largest = [j for j in np.argsort(-parts).tolist() if parts[j] >= _LEAST * parts.max()][:_NAMED]
    names = ", ".join(subject.names[j] for j in largest)
    fewer = "fit a model without such columns" if subject.whole else "leave such columns out (columns=)"
    remedy = f"{fewer}, tighten their bounds, spend more eps, or have more {subject.counted or 'rows'}"
    if weakest > _TELLING and equation.reading.n_rows:
        total, needed = equation.reading.n_rows, equation.reading.n_rows * _WEAK / weakest
        here = "where this one has" if subject.counted else "as the sum of their weights, which is here"
        remedy += f": some {needed:,.0f} {here} {total:,.0f}"
    if subject.full:  # a direction that is zero in every row: rows do not help
        remedy = f"declare reference= for {', '.join(subject.full)}: products with all levels cannot be told apart"
    alone = len(largest) == 1 and (subject.against[largest[0]] or names.endswith(" is missing"))
    which = f"{names} alone, which hardly occurs beside this noise" if alone else f"a combination of {names}"
    length = f"is {weakest:.2g} deviations of the noise long; 6 are ample"
    if not weakest >= 1:  # below 0 as likely as not, where there is nothing but noise
        length = "is lost in the noise"
    return [f"{_of(equation)}The weakest direction, {which}, {length}. To learn more, {remedy}."]


def _bent(equation: Equation, names: Sequence[str], lines: Sequence[Line]) -> list[str]:
    """Which lines are wider because the loss bends between the released point and the coefficients, and by how much."""
    if equation.reading.remainder is None:
        return []
    mine = [line for line in lines if line.label == equation.label and line.bounded]
    told = {line.name for line in mine if line.verdict not in ASSUMED or not math.isnan(line.std_error)}
    factors = dict(zip(names, widened(equation.reading, equation.contrasts).tolist(), strict=True))
    wide = sorted((name for name in told if factors[name] > _WIDER), key=lambda name: (-factors[name], name))
    if not wide:
        return []
    most = 100 * (factors[wide[0]] - 1)
    return [
        f"{_of(equation)}{_some(wide)}: wider, by up to {most:.0f} %, for what is not known of the curve of the loss "
        "between the released point and the coefficients. A larger eps or more rows lessen it."
    ]


def _of(equation: Equation) -> str:
    """Which class a note is about."""
    return f"{equation.label}: " if equation.label else ""


def _covers(reading: Reading, joint: bool) -> str:
    variances = "variances may differ between rows" if reading.robust else "equal variances are assumed"
    variances = "rows of one person may depend on each other" if reading.clustered else variances
    if reading.estimand is Estimand.LOG_ODDS:
        variances = (
            "rows may depart a little from the logistic model" if reading.robust else "the logistic model is assumed"
        )
    every = (
        "All intervals hold together with that probability, and p-values are times the number of lines (Bonferroni). "
        if joint
        else ""
    )
    return (
        f"Intervals by inversion of the score count sampling and privacy noise ({variances}). {every}Where the table "
        f'says "{CANNOT_SAY}", the released numbers do not bound the coefficient.'
    )


def bound_words(subject: Subject, lines: Sequence[Line], effect_bound: float | None) -> list[str]:
    """The effect that a column is taken to have at most where noise drowns it and lines depend on that.

    And that nothing is taken of a number, where lines are silent and noise drowns one.
    """
    equation, words = subject.equations[0], []
    if any(line.verdict in ASSUMED for line in lines):
        bound = EFFECT_BOUNDS[equation.reading.estimand] * equation.unit if effect_bound is None else effect_bound
        how, where = "as flags, levels or bins, ", "effect_bound= takes another one"
        if effect_bound is not None:
            how, where = "", "of a flag or from the middle of a range to its end"
        named = _some([name for name, held in _drowned(subject, effect_bound).items() if held])
        named = f" ({named})" if named else ""
        effect = f"any effect up to {bound:,.10g} on {_OF[equation.reading.estimand]}"
        words.append(f"{STAR}columns that noise drowns{named} count {how}with {effect}: {where}.")
    if any(line.verdict == UNBOUNDED for line in lines) and not all(_drowned(subject, effect_bound).values()):
        words.append(_OPEN)
    return words


def _drowned(subject: Subject, effect_bound: float | None) -> dict[str, bool]:
    """The columns that noise drowns in some model, and whether a bound of their effect is assumed."""
    found: dict[str, bool] = {}
    for equation in subject.equations:
        bounds = equation.bounds(effect_bound)
        held = np.isfinite(bounds)[: len(equation.indicators)]
        drowned = box_of(equation.reading, bounds).drowned[: len(held)]
        found |= {subject.names[k]: bool(held[k]) for k in np.flatnonzero(drowned).tolist()}
    return found


def _some(names: Sequence[str]) -> str:
    """The first names, and how many more there are."""
    return ", ".join(names[:_NAMED]) + (f" and {len(names) - _NAMED} more" if names[_NAMED:] else "")


def check_columns(names: Sequence[str], entries: Sequence[str]) -> list[int]:
    """Positions of the coefficients of a table by name."""
    missing = [name for name in entries if name not in names]
    if missing or not entries:
        raise ValueError(sentence("columns", f"must be names among {', '.join(names)}", ", ".join(missing)))
    return [list(names).index(name) for name in entries]
