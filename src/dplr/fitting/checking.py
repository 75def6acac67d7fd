"""A dry run: faults that a fit would refuse, and doubts, before anything is spent. For the data holder only."""

from __future__ import annotations

import ast
import contextlib
import difflib
import math
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dplr._kit import markup
from dplr._kit.keywords import suggests
from dplr._kit.validation import describe, sentence
from dplr.bounds.columns import Column, Levels, Numeric, Pair
from dplr.bounds.declared import Bounds, BoundsLike, as_bounds, codebook_of
from dplr.fitting.checking_units import unit_findings
from dplr.fitting.intake import raw_rows
from dplr.fitting.planning import PublicFacts
from dplr.fitting.streaming import refuse_stream
from dplr.fitting.units import UnitDeclaration
from dplr.privacy.unit import Unit
from dplr.problem.losses import Loss, check_counts, from_zero, known_loss
from dplr.rows import (
    Survey,
    Table,
    Target,
    above,
    as_array,
    as_table,
    as_target,
    of_numbers,
    other_values,
    resolve_labels,
    survey,
)
from dplr.rows import numbers as as_numbers

_SHOWN = 5  # the most values of a column that a message lists
_FEW_VALUES = 100  # whole numbers in a range of at most this width often reach both of their bounds
_NARROW = 0.05  # if nearly all values lie within this share of the bounds, units are wrong or bounds too wide
_OUTSIDE = 0.01  # if more than this share of values is outside the bounds, units may be wrong
_ALL = (-math.inf, math.inf)
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
        """Return all findings as text."""
        lines = [f"{self._title} {_HOLDER}", *(f"  {finding}" for finding in self._facts)]
        for heading, findings in self._findings:
            lines += [heading, *(f"  - {finding}" for finding in findings)]
        return "\n".join([*lines, *([_REMEDY] if self.doubts else [])])

    def _repr_html_(self) -> str:
        """Return all findings for notebooks."""
        return markup.piece(
            self._title,
            markup.alarms([_HOLDER]),
            *map(markup.paragraph, self._facts),
            *(markup.sentences(findings, heading) for heading, findings in self._findings),
            *([markup.paragraph(_REMEDY)] if self.doubts else []),
        )

    @property
    def _title(self) -> str:
        return f"Check of {self.rows} records."

    @property
    def _facts(self) -> list[str]:
        """Persons, weights and noise, a sentence each."""
        return [*self.units, *([self.noise] if self.noise else [])]

    @property
    def _findings(self) -> list[tuple[str, tuple[str, ...]]]:
        """Two headings, and the sentences below each."""
        refusal = "A fit would refuse:" if self.refused else "A fit would take these data."
        return [(refusal, self.refused), ("Look at:" if self.doubts else "Nothing looks wrong.", self.doubts)]


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
    codebook = codebook_of(everything)
    loss = known_loss(model)
    declared = UnitDeclaration.of(person if isinstance(person, str) else None, everything)
    data = raw_rows(X, declared, codebook, sample_weight, None if isinstance(person, str) else person, y=y)
    X = data.X
    table = as_table(X)
    rows: Any = as_array(X) if table is None else table
    if rows.ndim != 2:
        raise ValueError(sentence("X", "must be two-dimensional", rows.shape))
    surveys, refused = _surveys(rows, codebook)
    counts = {name: findings for name, (_, findings) in surveys.items()}
    units, refused_units, doubts, count = unit_findings(data, len(rows))
    refused += refused_units
    for name, (column, findings) in surveys.items():
        refused += _refused(name, column, findings)
        doubts += _doubts(name, column, findings)
    if y is not None:
        target = as_target(y)
        if len(target) != len(rows):
            refused.append(f"y has {len(target)} values, and X {len(rows)} rows")
        faults, looked_at, found_y = (_labels if loss.classification else _numbers)(target, codebook, classes)
        refused, doubts = refused + faults + _counts(loss, codebook), doubts + looked_at
        counts |= {} if found_y is None else {"y": found_y}
    if codebook is None and not refused:
        doubts += _unit_ball(rows)
    noise = _noise(codebook, loss, rows.shape[1], count, data.unit)
    return DataCheck(len(rows), tuple(refused), tuple(doubts), counts, tuple(units), noise)


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


def _surveys(rows: Any, bounds: Bounds | None) -> tuple[dict[str, tuple[Column | None, Survey]], list[str]]:
    """Declaration and counts of each column that a fit would read, and reasons to refuse all of them."""
    if bounds is None:
        return {f"column {j}": (None, survey(_column(rows, j), None)) for j in range(rows.shape[1])}, []
    names, refused = getattr(rows, "columns", None), []
    features: tuple[str, ...] = bounds.names or ()
    try:
        features = bounds.for_columns(names, rows.shape[1]).features
    except ValueError as error:
        refused = [str(error)]
        if bounds.names is None or names is None:
            return {}, refused
    places = list(names) if bounds.names is not None and names is not None else list(features)
    every = [(name, column) for name, column in zip(features, bounds.columns, strict=True) if name in places]
    return {name: (column, survey(_column(rows, places.index(name)), column)) for name, column in every}, refused


def _column(rows: Any, place: int) -> Any:
    return rows.column(place, slice(None)) if isinstance(rows, Table) else rows[:, place]


def _refused(name: str, column: Column | None, findings: Survey) -> list[str]:
    """Reasons for which a fit would refuse a column."""
    faults = []
    if findings.fault:
        faults.append(f"{name}: it cannot be read as declared: {findings.fault}")
    if findings.missing and (column is None or column.missing is None):
        policy = "and the bounds do not say what a missing value counts as"
        faults.append(f"{name}: {_share(findings.missing, findings.rows)} are missing, {policy}")
    if findings.infinite:
        faults.append(f"{name}: {_share(findings.infinite, findings.rows)} are infinite")
    return faults


def _doubts(name: str, column: Column | None, findings: Survey) -> list[str]:
    """Signs that a column is not as declared."""
    doubts = []
    if isinstance(column, Levels):
        if findings.unknown:
            doubts.append(
                f"{name}: {_unknown(findings.unknown, column.values, findings.rows)}; they count as {_instead(column)}"
            )
        if findings.unused and findings.unknown:
            doubts.append(f"{name}: no value is {', '.join(map(describe, findings.unused[:_SHOWN]))}")
    elif column is not None and findings.ends is not None and findings.inner is not None:
        doubts += _about_bounds(name, (column.lower, column.upper), findings)
        if isinstance(column, Numeric) and column.flag and not findings.whole:
            doubts.append(f"{name}: declared as a flag, by the whole numbers 0 and 1, but some value lies between them")
    if findings.ends is not None and findings.ends[0] == findings.ends[1]:
        doubts.append(f"{name}: every value is {findings.ends[0]:g}, so nothing can be learnt from it")
    return doubts


def _instead(column: Levels) -> str:
    """Words for what an undeclared value counts as."""
    return "no level" if column.reference is None else f"the reference, {describe(column.reference)}"


def _about_bounds(name: str, bounds: Pair, findings: Survey) -> list[str]:
    """Whether the bounds fit the values of a number."""
    (low, high), doubts = bounds, []
    assert findings.ends is not None
    assert findings.inner is not None
    outside = findings.below + findings.above
    if outside:
        ends = f"from {findings.ends[0]:g} to {findings.ends[1]:g}"
        units = " Are the units right?" if outside > _OUTSIDE * findings.rows else ""
        doubts.append(f"{name}: {_share(outside, findings.rows)} lie outside [{low:g}, {high:g}], {ends}.{units}")
    elif findings.ends == bounds and not (findings.whole and high - low <= _FEW_VALUES):
        doubts.append(
            f"{name}: the bounds are the extremes of the data. If they come from the data, the guarantee is void"
        )
    used = (min(findings.inner[1], high) - max(findings.inner[0], low)) / (high - low)
    if outside <= _OUTSIDE * findings.rows and used < _NARROW and findings.ends[0] < findings.ends[1]:
        within = f"99% of the values lie within {used:.1%} of [{low:g}, {high:g}]"
        doubts.append(f"{name}: {within}. Are the units right, or the bounds too wide?")
    return doubts


def _labels(y: Target, bounds: Bounds | None, classes: Any) -> tuple[list[str], list[str], None]:
    """Faults and doubts of the target of a classifier."""
    try:
        if bounds is not None and bounds.threshold is not None:
            labels = above(y, bounds.threshold)
        else:
            declared = bounds.target_classes() if classes is None and bounds is not None else classes
            labels = resolve_labels(y, declared)
    except (ValueError, TypeError) as error:
        return [str(error)], [], None
    faults: list[str] = []
    doubts: list[str] = []
    names = labels.classes.tolist()
    strays = other_values(y, labels)
    if strays:
        numbers = (
            "" if len(strays) <= _SHOWN or not y.holds_numbers else ' For a number as the target use model="linear".'
        )
        faults.append(f"y: {_unknown(strays, names, len(y))}.{numbers}")
    if strays:
        return faults, doubts, None
    for name, code in zip(names, labels.class_codes, strict=True):
        count = int((labels.y == code).sum())
        if count < max(1.0, _RARE * len(y)):
            doubts.append(f"y: {_share(count, len(y))} are {describe(name)}: noise will hide them")
    return faults, doubts, None


def _numbers(y: Target, bounds: Bounds | None, _: Any) -> tuple[list[str], list[str], Survey | None]:
    """Faults and doubts of a numeric target."""
    try:
        pair = None if bounds is None else bounds.target_pair()
    except (ValueError, TypeError) as error:
        return [str(error)], [], None
    if bounds is not None and pair is None:
        return ["y: the bounds do not declare its range, which a regression needs"], [], None
    counts = of_numbers(y.as_float(), pair or (-1.0, 1.0))
    return _refused("y", None, counts), _about_bounds("y", pair or (-1.0, 1.0), counts) if counts.ends else [], counts


def _unit_ball(rows: Any) -> list[str]:
    """How many rows lie outside the unit ball."""
    values = [of_column for j in range(rows.shape[1]) for of_column in [as_numbers(_column(rows, j))]]
    count = int((np.sum(np.square(values), axis=0) > 1).sum())
    remedy = "Declare bounds from public knowledge, or scale by public constants"
    return [f"X: {_share(count, len(rows), 'rows')} lie outside the unit ball. {remedy}"] if count else []


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
