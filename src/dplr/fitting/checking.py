"""A dry run: faults that a fit would refuse, and doubts, before anything is spent. For the data holder only."""

from __future__ import annotations

import ast
import contextlib
import difflib
import unicodedata
import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from dplr._kit import markup
from dplr._kit.keywords import suggests
from dplr._kit.validation import describe, sentence
from dplr._kit.warnings import DataWarning
from dplr.bounds.columns import Column, Levels, Numeric, Pair
from dplr.bounds.declared import Bounds, BoundsLike, as_bounds, codebook_of
from dplr.fitting.data import Data, declared_unit, read, refuse_stream
from dplr.fitting.planning import PublicFacts
from dplr.privacy.unit import Unit
from dplr.problem.losses import Loss, check_counts, from_zero, known_loss
from dplr.rows import (
    LabelRule,
    RowWeights,
    Survey,
    Table,
    Target,
    as_array,
    as_target,
    look_alikes,
    of_numbers,
    other_values,
    row_weights,
    survey,
)
from dplr.rows import numbers as as_numbers

_SHOWN = 5  # the most values of a column that a message lists
_FEW_VALUES = 100  # whole numbers in a range of at most this width often reach both of their bounds
_NARROW = 0.05  # if nearly all values lie within this share of the bounds, units are wrong or bounds too wide
_OUTSIDE = 0.01  # if more than this share of values is outside the bounds, units may be wrong
_HOLDER = "For the data holder only: it is not private, and nothing was spent."
_REMEDY = (
    "Correct units and spelling. Where bounds are wrong take others from public knowledge, never from what is shown "
    "here."
)
_RARE = 0.001  # noise hides a label of fewer than this share of the records


@dataclass(frozen=True)
class DataCheck:
    """The result of `dplr.check`.

    Nothing protects it: never publish it, and never change bounds by it.

    Attributes
    ----------
    rows : int
        Number of records.
    refused : tuple of str
        What a fit would refuse, one sentence each. Empty where it would not.
    doubts : tuple of str
        What looks wrong, one sentence each.
    columns : dict
        Name of each declared column to its `Survey`, and "y" to that of a numeric target.
    units : tuple of str
        What persons and weights there are, one sentence each. No id is in it.
    noise : str
        Below which eps noise drowns a fit with all defaults; empty where public facts do not tell.

    Privacy
    -------
    Counts, extremes and values of single records, without noise: for the data holder only.

    See Also
    --------
    dplr.check : Make one.

    Examples
    --------
    >>> import numpy as np, dplr
    >>> dplr.check(np.array([[20.0], [30.0]]), bounds=dplr.Bounds([(18, 99)])).passed
    True
    """

    rows: int
    refused: tuple[str, ...]
    doubts: tuple[str, ...]
    columns: dict[str, Survey]
    units: tuple[str, ...] = ()
    noise: str = ""

    @property
    def passed(self) -> bool:
        """Whether a fit would take the data."""
        return not self.refused

    def __str__(self) -> str:
        title, facts, findings = self._shown
        lines = [f"{title} {_HOLDER}", *(f"  {fact}" for fact in facts)]
        for heading, sentences in findings:
            lines += [heading, *(f"  - {finding}" for finding in sentences)]
        return "\n".join([*lines, *([_REMEDY] if self.doubts else [])])

    def _repr_html_(self) -> str:
        """Return all findings for notebooks."""
        title, facts, findings = self._shown
        lists = (markup.sentences(sentences, heading) for heading, sentences in findings)
        remedy = [_REMEDY] if self.doubts else []
        return markup.piece(
            title, markup.alarms([_HOLDER]), *map(markup.paragraph, facts), *lists, *map(markup.paragraph, remedy)
        )

    @property
    def _shown(self) -> tuple[str, list[str], list[tuple[str, tuple[str, ...]]]]:
        """A title; persons, weights and noise, a sentence each; and two headings, with the sentences below each."""
        refusal = "A fit would refuse:" if self.refused else "A fit would take these data."
        doubt = "Look at:" if self.doubts else "Nothing looks wrong."
        facts = [*self.units, *([self.noise] if self.noise else [])]
        return f"Check of {self.rows} records.", facts, [(refusal, self.refused), (doubt, self.doubts)]


class _Found(NamedTuple):
    """Sentences: facts of the units, what a fit would refuse, and doubts."""

    facts: list[str]
    refused: list[str]
    doubts: list[str]


@suggests
def check(
    X: Any,
    y: Any = None,
    *,
    bounds: BoundsLike = None,
    model: str | Loss = "logistic",
    classes: Any = None,
    person: Any = None,
    sample_weight: Any = None,
) -> DataCheck:
    """Compare data with what is declared of them: a dry run that spends nothing.

    Parameters
    ----------
    X : array-like of shape (n_rows, n_features), or table
        Array, or table of pandas, polars or Arrow.
    y : array-like of shape (n_rows,) or None, default=None
        Labels or numbers. None leaves the target out.
    bounds : Bounds, mapping, path-like or None, default=None
        What is declared of the columns and of y, and to what a fit would clip the weights, as in `fit`.
    model : str or Loss, default="logistic"
        What y is: a name or a loss, as in `fit`.
    classes : sequence or None, default=None
        Labels, as in `fit`.
    person : array-like of shape (n_rows,), str or None, default=None
        Ids, or the name of a column of X. The bounds may name it.
    sample_weight : array-like of shape (n_rows,), str or None, default=None
        Weights, or the name of a column of X. The bounds may name it.

    Returns
    -------
    DataCheck
        ``print(check)`` shows it:

        - columns that are missing or of another type, and missing values without a policy;
        - labels and levels that were not declared, with those that are only spelt otherwise;
        - shares outside the bounds, and bounds that nearly nobody reaches (wrong units) or that are the extremes of the
          data (so they may come from them);
        - how many persons there are and with how many rows, and ids that are missing or look alike;
        - weights that are not numbers or lie above their cap.

    Raises
    ------
    ValueError, TypeError
        A parameter breaks a rule. What is wrong with the data is found, not raised.

    Privacy
    -------
    Not private: it shows counts, extremes and values of single records. It is for the data holder, draws no noise,
    spends nothing and releases nothing. Bounds that are changed by what it shows come from the data, and void the
    guarantee; units and spelling may be corrected.

    See Also
    --------
    dplr.Bounds : Declare what is public.
    dplr.fit : Fit a model.

    Examples
    --------
    >>> import numpy as np, dplr
    >>> X = np.array([[0.35, 1.0], [0.42, 2.0], [0.61, np.nan]])
    >>> print(dplr.check(X, [0, 1, 1], bounds=dplr.Bounds([(18, 99), (0, 80)])))
    Check of 3 records. For the data holder only: it is not private, and nothing was spent.
      Noise drowns a fit with all defaults at any eps up to 10; a useful model takes about 170 records at eps = 1.
    A fit would refuse:
      - column 1: 1 of 3 values (33.33%) are missing, and the bounds do not say what a missing value counts as
    Look at:
      - column 0: 3 of 3 values (100.00%) lie outside [18, 99], from 0.35 to 0.61. Are the units right?
      - column 1: 99% of the values lie within 1.2% of [0, 80]. Are the units right, or the bounds too wide?
    Correct units and spelling. Where bounds are wrong take others from public knowledge, never from what is shown here.
    """
    refuse_stream(X, "for a check")
    everything = as_bounds(bounds)
    codebook, loss = codebook_of(everything), known_loss(model)
    named, ids = (person, None) if isinstance(person, str) else (None, person)
    features = None if codebook is None else codebook.names
    data = read(X, y, sample_weight, ids, declared=declared_unit(named, everything), features=features)
    rows, y = data.X if isinstance(data.X, Table) else as_array(data.X), data.y
    if rows.ndim != 2:
        raise ValueError(sentence("X", "must be two-dimensional", rows.shape))
    found = _Found([], [], [])
    surveys = _surveys(rows, codebook, found)
    counts = {name: survey for name, (_, survey) in surveys.items()}
    units = _units(data, len(rows), found)
    for name, (column, of_column) in surveys.items():
        _refuse(name, column, of_column, found)
        _doubt(name, column, of_column, found)
    if y is not None:
        target = as_target(y)
        if len(target) != len(rows):
            found.refused.append(f"y has {len(target)} values, and X {len(rows)} rows")
        if loss.classification:
            _labels(target, codebook, classes, found)
        else:
            counts |= _numbers(target, codebook, found)
        found.refused.extend(_counts(loss, codebook))
    if codebook is None and not found.refused:
        _unit_ball(rows, found)
    noise = _noise(codebook, loss, rows.shape[1], units, data.unit)
    return DataCheck(len(rows), tuple(found.refused), tuple(found.doubts), counts, tuple(found.facts), noise)


def _noise(bounds: Bounds | None, loss: Loss, width: int, count: int, unit: Unit) -> str:
    """A sentence about the least useful eps; empty where it is not known, or the bounds have no plan."""
    try:
        classes = bounds.target_classes() if bounds is not None and loss.classification else None
        facts = PublicFacts(
            loss=loss, bounds=bounds, n_rows=count,
            n_features=len(bounds.columns) if bounds else width, columns=None if bounds is None else bounds.names,
            classes=classes, unit=unit,
        )  # fmt: skip
        outlook = facts.planned(1.0).outlook
    except (ValueError, TypeError):
        return ""
    return "" if outlook is None else outlook.least


def _counts(loss: Loss, bounds: Bounds | None) -> list[str]:
    """Reasons for which a fit would refuse the declared range of counts."""
    if loss.link != "log":
        return []
    if bounds is None:
        return ["the bounds must declare the range of the counts: Bounds(..., target=(0, 50))"]
    try:
        check_counts(*from_zero(*(bounds.target_pair() or (0.0, 1.0))))
    except ValueError as error:
        return [str(error)]
    return []


def _surveys(rows: Any, bounds: Bounds | None, found: _Found) -> dict[str, tuple[Column | None, Survey]]:
    """Declaration and counts of each column that a fit would read; none where it would refuse all of them."""
    if bounds is None:
        return {f"column {j}": (None, survey(_column(rows, j), None)) for j in range(rows.shape[1])}
    names = getattr(rows, "columns", None)
    features: tuple[str, ...] = bounds.names or ()
    try:
        features = bounds.for_columns(names, rows.shape[1]).features
    except ValueError as error:
        found.refused.append(str(error))
        if bounds.names is None or names is None:
            return {}
    places = list(names) if bounds.names is not None and names is not None else list(features)
    every = [(name, column) for name, column in zip(features, bounds.columns, strict=True) if name in places]
    return {name: (column, survey(_column(rows, places.index(name)), column)) for name, column in every}


def _column(rows: Any, place: int) -> Any:
    return rows.column(place) if isinstance(rows, Table) else rows[:, place]


def _units(data: Data, n: int, found: _Found) -> int:
    """Findings on ids and on weights, which do not depend on each other: counts, never an id. The number of units."""
    unit, units = data.unit, n
    counted = None if data.ids is None else _counted(found, n, unit, data.ids)
    if counted is not None and counted.persons is not None:
        rows, units = np.bincount(counted.persons), counted.units
        found.facts.append(f"{units} persons, with {np.median(rows):g} rows at the median and {rows.max()} at most")
        alike = look_alikes(data.ids)
        if alike["any"]:
            known = [kind for kind, count in alike.items() if count and kind != "any"]
            kinds = " or ".join(known) or "how they are written"
            likeness = f"{alike['any']} ids differ from another one in nothing but {kinds}, and count as other persons"
            found.doubts.append(f"person: {likeness}. Is one person spelt in two ways?")
    if data.sample_weight is not None and _counted(found, n, unit, None, data.sample_weight) is not None:
        mean, cap = float(as_target(data.sample_weight).as_float().mean()), unit.weight_max or 0.0
        found.facts.append(f"weights of {mean:g} in the mean, {mean / cap:.0%} of the cap {cap:g}")
    return units


def _counted(found: _Found, *asked: Any) -> RowWeights | None:
    """The weights of rows; errors and warnings of a fit become findings."""
    with warnings.catch_warnings(record=True, action="always", category=DataWarning) as records:
        try:
            return row_weights(*asked)
        except (ValueError, TypeError) as error:
            found.refused.append(str(error))
            return None
        finally:
            found.doubts.extend(record.message.fact for record in records if isinstance(record.message, DataWarning))


def _refuse(name: str, column: Column | None, survey: Survey, found: _Found) -> None:
    """Reasons for which a fit would refuse a column."""
    if survey.fault:
        found.refused.append(f"{name}: it cannot be read as declared: {survey.fault}")
    if survey.missing and (column is None or column.missing is None):
        policy = "and the bounds do not say what a missing value counts as"
        found.refused.append(f"{name}: {_share(survey.missing, survey.rows)} are missing, {policy}")
    if survey.infinite:
        found.refused.append(f"{name}: {_share(survey.infinite, survey.rows)} are infinite")


def _doubt(name: str, column: Column | None, survey: Survey, found: _Found) -> None:
    """Signs that a column is not as declared."""
    doubts = found.doubts
    if isinstance(column, Levels):
        reference = "no level" if column.reference is None else f"the reference, {describe(column.reference)}"
        if survey.unknown:
            unknown = _unknown(survey.unknown, column.values, survey.rows)
            doubts.append(f"{name}: {unknown}; they count as {reference}")
        if survey.unused and survey.unknown:
            doubts.append(f"{name}: no value is {', '.join(map(describe, survey.unused[:_SHOWN]))}")
    elif column is not None and survey.ends is not None and survey.inner is not None:
        doubts += _about_bounds(name, (column.lower, column.upper), survey)
        if isinstance(column, Numeric) and column.flag and not survey.whole:
            doubts.append(f"{name}: declared as a flag, by the whole numbers 0 and 1, but some value lies between them")
    if survey.ends is not None and survey.ends[0] == survey.ends[1]:
        doubts.append(f"{name}: every value is {survey.ends[0]:g}, so nothing can be learnt from it")


def _about_bounds(name: str, bounds: Pair, survey: Survey) -> list[str]:
    """Whether the bounds fit the values of a number."""
    (low, high), doubts = bounds, []
    assert survey.ends is not None
    assert survey.inner is not None
    outside = survey.below + survey.above
    if outside:
        ends = f"from {survey.ends[0]:g} to {survey.ends[1]:g}"
        units = " Are the units right?" if outside > _OUTSIDE * survey.rows else ""
        doubts.append(f"{name}: {_share(outside, survey.rows)} lie outside [{low:g}, {high:g}], {ends}.{units}")
    elif survey.ends == bounds and not (survey.whole and high - low <= _FEW_VALUES):
        doubts.append(
            f"{name}: the bounds are the extremes of the data. If they come from the data, the guarantee is void"
        )
    used = (min(survey.inner[1], high) - max(survey.inner[0], low)) / (high - low)
    if outside <= _OUTSIDE * survey.rows and used < _NARROW and survey.ends[0] < survey.ends[1]:
        within = f"99% of the values lie within {used:.1%} of [{low:g}, {high:g}]"
        doubts.append(f"{name}: {within}. Are the units right, or the bounds too wide?")
    return doubts


def _labels(y: Target, bounds: Bounds | None, classes: Any, found: _Found) -> None:
    """Findings on the target of a classifier."""
    try:
        if bounds is not None and bounds.threshold is not None:
            labels = LabelRule(threshold=bounds.threshold).of(y)
        else:
            labels = LabelRule(bounds.target_classes() if classes is None and bounds is not None else classes).of(y)
    except (ValueError, TypeError) as error:
        found.refused.append(str(error))
        return
    names = labels.classes.tolist()
    if strays := other_values(y, labels):
        many = len(strays) > _SHOWN and y.holds_numbers
        remedy = ' For a number as the target use model="linear".' if many else ""
        found.refused.append(f"y: {_unknown(strays, names, len(y))}.{remedy}")
        return
    for name, code in zip(names, labels.class_codes, strict=True):
        count = int((labels.y == code).sum())
        if count < max(1.0, _RARE * len(y)):
            found.doubts.append(f"y: {_share(count, len(y))} are {describe(name)}: noise will hide them")


def _numbers(y: Target, bounds: Bounds | None, found: _Found) -> dict[str, Survey]:
    """Findings on a numeric target."""
    try:
        pair = None if bounds is None else bounds.target_pair()
    except (ValueError, TypeError) as error:
        found.refused.append(str(error))
        return {}
    if bounds is not None and pair is None:
        found.refused.append("y: the bounds do not declare its range, which a regression needs")
        return {}
    counts = of_numbers(y.as_float(), pair or (-1.0, 1.0))
    _refuse("y", None, counts, found)
    if counts.ends:
        found.doubts.extend(_about_bounds("y", pair or (-1.0, 1.0), counts))
    return {"y": counts}


def _unit_ball(rows: Any, found: _Found) -> None:
    """How many rows lie outside the unit ball."""
    values = [as_numbers(_column(rows, j)) for j in range(rows.shape[1])]
    count = int((np.sum(np.square(values), axis=0) > 1).sum())
    if count:
        remedy = "Declare bounds from public knowledge, or scale by public constants"
        found.doubts.append(f"X: {_share(count, len(rows), 'rows')} lie outside the unit ball. {remedy}")


def _unknown(counts: Counter[str], levels: Sequence[Any], rows: int) -> str:
    """Values that were not declared, and which declared ones some of them look like."""
    listed = ", ".join(f"{value} ({count})" for value, count in counts.most_common(_SHOWN))
    message = f"{_share(counts.total(), rows)} are not declared: {listed}{', …' if len(counts) > _SHOWN else ''}"
    plain = {_plain(str(level)): level for level in levels}
    for value, _ in counts.most_common(_SHOWN):
        text = _read(value)
        bare = _plain(text)
        near = [bare] if bare in plain else difflib.get_close_matches(bare, plain, n=1, cutoff=0.75)
        if near and isinstance(level := plain[near[0]], str):
            message += f"; {value} looks like {describe(level)}"
            if _one_form(text) == _one_form(level):  # they look the same on a screen
                message += f" (with other characters: {text!a} and {level!a})"
    return message


def _read(value: str) -> str:
    """The text that was described, or its description without quotes."""
    with contextlib.suppress(ValueError, SyntaxError):
        if isinstance(text := ast.literal_eval(value), str):
            return text
    return value.strip("'\"")


def _one_form(text: str) -> str:
    """Text in one form of Unicode: letters with their accents, spaces of one kind."""
    return unicodedata.normalize("NFKC", text)


def _plain(text: str) -> str:
    """What is left of a text without its case and the width of its spaces."""
    return " ".join(_one_form(text).casefold().split())


def _share(count: int, rows: int, what: str = "values") -> str:
    return f"{count} of {rows} {what} ({count / max(rows, 1):.2%})"
