"""One release of the bounds and levels of a table: plan, reserve, count, choose, commit."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplr._kit.keywords import suggests
from dplr._kit.validation import check_delta, check_eps, sentence
from dplr.bounds.declared import Bounds, BoundsLike, as_bounds
from dplr.bounds.units import UnitColumns
from dplr.estimators._base import source_of
from dplr.estimators._strict import check_given
from dplr.fitting.intake import RawRows, raw_rows
from dplr.fitting.planning import check_loss, public_n_rows, rows_sentence
from dplr.fitting.run import accounted
from dplr.fitting.silence import silence
from dplr.fitting.streaming import count_persons, count_rows, refuse_queries
from dplr.fitting.units import UnitDeclaration
from dplr.ledger.budget import Budget
from dplr.ledger.handle import LedgerLike, as_ledger
from dplr.noise import Source
from dplr.privacy import count_sensitivity
from dplr.privacy.guarantees import Neighbouring
from dplr.privacy.statement import PrivacyStatement
from dplr.quantiles.columns import learned_kinds
from dplr.quantiles.grid import Kind, narrow
from dplr.quantiles.law import UNITS, Prices, check_enough, noise_units, prices, statement_of
from dplr.quantiles.learned import LearnedBounds, LearnedColumn
from dplr.quantiles.levels import frequent_texts
from dplr.quantiles.selection import Range, chosen_range
from dplr.rows import Table, as_table, row_weights
from dplr.rows.streams import one_pass
from dplr.rows.streams.histograms import HistogramPass, Histograms, added
from dplr.rows.streams.recipe import Weighing
from dplr.rows.streams.source import Stream, as_stream
from dplr.rows.streams.tally import Tally

_MOST_OUTSIDE = 4  # shares that were allowed, beyond two deviations of the noise: then nothing is said
_ENOUGH = "n eps is too small"


@suggests
def learn_bounds(
    X: Any,
    *,
    eps: float,
    delta: float = 0.0,
    columns: Mapping[str, str] | Sequence[str] | None = None,
    target: str | None = None,
    outside: float = 0.01,
    bounds: BoundsLike = None,
    person: str | None = None,
    rows_per_person: int = 1,
    sample_weight: str | None = None,
    weight_bounds: tuple[float, float] | None = None,
    neighbouring: str = "replace_one",
    n_rows: int | None = None,
    large_delta: bool = False,
    ledger: LedgerLike = None,
    rng: int | None = None,
) -> LearnedBounds:
    """Learn bounds of columns that nobody knows, and levels of text, from private rows: a release of its own.

    Parameters
    ----------
    X : table, array of shape (n_rows, n_columns) or stream
        Rows of pandas, polars or Arrow, an array of numbers, or a stream: a path, a list of paths, a lazy table, or a
        `dplr.Stream`.
    eps : float
        Privacy loss of the whole release, above 0. Each column gets an even share.
    delta : float, default=0.0
        What is added to what the factor exp(eps) allows, in [0, 1). Levels of text need one; with many columns it
        makes choices more exact.
    columns : mapping, list of str or None, default=None
        Which columns to learn: names and kinds, `"number"`, `"integer"`, `"date"`, `"duration"`, `"flag"` or
        `"levels"`; or names alone, whose types say what they hold. None takes all columns that `bounds` do not name.
    target : str or None, default=None
        Name of the column that models will predict: its bounds, or its levels, become the target of the bounds.
    outside : float, default=0.01
        Share of the records that may lie beyond each bound, from 0.0001 to 0.25.
    bounds : dplr.Bounds, mapping, path or None, default=None
        Bounds that are public. They cost nothing, and stay as they are.
    person : str or None, default=None
        Name of the column of the ids of persons, who then are protected with all their rows.
    rows_per_person : int, default=1
        How many rows of one person may count whole.
    sample_weight : str or None, default=None
        Name of the column of weights.
    weight_bounds : tuple of (0, float) or None, default=None
        What weights are clipped to; required with weights.
    neighbouring : {"replace_one", "add_remove"}, default="replace_one"
        `"replace_one"`, where the number of records is public, or `"add_remove"`.
    n_rows : int or None, default=None
        With ``neighbouring="add_remove"`` a public reference for the number of records, which is required.
    large_delta : bool, default=False
        Whether a delta of 1/n or more is meant.
    ledger : dplr.Ledger, path or None, default=None
        The budget that pays; None for none.
    rng : int or None, default=None
        None for a real release; a seed gives reproducible choices that protect nobody.

    Returns
    -------
    dplr.LearnedBounds
        What was learned of each column, and bounds for fits. A column about which nothing can be said says so.

    Raises
    ------
    ValueError, TypeError
        A parameter or the table breaks a rule, or n eps is too small for so many columns. Nothing was spent.
    BudgetExceeded
        The ledger cannot pay. No row was read, and nothing was spent.

    Privacy
    -------
    eps-DP, or (eps, delta)-DP with levels or by zCDP, under the relation asked for; exact in integers (quantiles.md,
    theorems 1 to 3). Released: for each number two bounds of a public grid and a noisy share of the records outside;
    for each text the levels whose noisy number of records is above a threshold. Assumed public: names, kinds and order
    of the columns, and the number of records. Fits with these bounds cost their own eps besides, and say so.

    See Also
    --------
    dplr.Bounds : Bounds of a codebook, which cost nothing: use them where there are any.
    dplr.check : Compares data with bounds, for the data holder alone.

    Notes
    -----
    The median of a column is chosen first, then each bound among round numbers around it, all by the exponential
    mechanism: a bound is the less likely the more records beyond it exceed the share allowed, and the farther out it
    is. The lack of data is no obstacle far out, so that no range must be known before. Bounds of dates are days since
    1970-01-01, those of durations days.

    References
    ----------
    McSherry and Talwar 2007; Cesar and Rogers 2021 for zCDP. Proofs: quantiles.md, theorems 1 to 3.

    Examples
    --------
    >>> import dplr, numpy as np, pandas as pd
    >>> rng = np.random.default_rng(0)
    >>> people = pd.DataFrame({"age": rng.integers(18, 90, 20_000), "race": rng.choice(["a", "b", "c"], 20_000)})
    >>> people["income"] = rng.lognormal(10, 1, 20_000)
    >>> learned = dplr.learn_bounds(people, target="income", eps=0.5, delta=1e-7)
    >>> [column.name for column in learned.columns]
    ['age', 'race', 'income']
    >>> learned.columns[1].levels
    ('a', 'b', 'c')
    >>> learned.bounds.target[1] > 20_000
    True
    """
    eps, delta, budget = _checked_eps(eps), check_delta(delta), as_ledger(ledger)
    share, declared = _checked_share(outside), as_bounds(bounds)
    if declared is not None and declared.names is None:
        rule = "must name its columns beside columns that are learned"
        raise ValueError(sentence("bounds", rule, "bounds by position", "Give a mapping of names."))
    facts = {"eps": eps, "delta": delta, "neighbouring": neighbouring, "n_rows": n_rows, "large_delta": large_delta}
    units = UnitDeclaration.of(person, rows_per_person, weight_bounds, declared)
    stream = as_stream(X)
    data = raw_rows(X if stream is None else stream.parts.empty, units, declared, sample_weight, None)
    with silence() if budget.strict else contextlib.nullcontext():  # ids and weights are read before the reservation
        table = _table(data.X)
        kinds = _kinds(table, columns, target, declared, delta, budget.strict)
        rows = _Rows(table, stream, data, kinds, budget.strict)
        plan, source = rows.planned(share, facts), source_of(rng)
        statement = replace(plan.statement, reproducible=source.reproducible)

        def work() -> list[LearnedColumn]:
            histograms = rows.counted()
            return [_learned(histograms, name, plan, source) for name in kinds]

        columns_learned = accounted(budget, [statement], source, work)
    return LearnedBounds(tuple(columns_learned), target, share, statement, _plain_bounds(declared, data))


@dataclass(frozen=True, slots=True)
class _Plan:
    """Public facts of a release.

    Attributes
    ----------
    kinds : of the columns.
    records : a public number of records, or of persons.
    share : of the records that may lie beyond each bound.
    prices : of a column.
    changed : records that differ between neighbours.
    shared : whether the rows of one unit may have several texts.
    statement : the promise.
    """

    kinds: dict[str, Kind]
    records: int
    share: float
    prices: Prices
    changed: int
    shared: bool
    statement: PrivacyStatement

    @property
    def numbers(self) -> tuple[str, ...]:
        """Columns whose bounds are chosen."""
        return _numbers(self.kinds)

    @property
    def texts(self) -> tuple[str, ...]:
        """Columns of text."""
        return _texts(self.kinds)


@dataclass(frozen=True, eq=False, slots=True)
class _Rows:
    """The private rows, in memory or streamed.

    Attributes
    ----------
    table : the rows; without rows where they are streamed.
    stream : None for rows in memory.
    data : ids and weights.
    kinds : of the columns.
    strict : whether no value may be the reason of an error.
    """

    table: Table | NDArray[Any]
    stream: Stream | None
    data: RawRows
    kinds: dict[str, Kind]
    strict: bool

    def planned(self, share: float, facts: Mapping[str, Any]) -> _Plan:
        """The plan of the release; refused where it promises too little, or could say nothing."""
        unit, relation = self.data.unit, facts["neighbouring"]
        if self.strict:
            if self.stream is not None:
                refuse_queries(self.stream, unit.person)
            check_given(self.data, relation, facts["n_rows"])
        count = public_n_rows(self.units, facts["n_rows"], relation, unit, self.strict)
        check_loss([facts["eps"]], facts["delta"], relation, count, facts["large_delta"], unit)
        if count is None:
            rule, remedy = "is required here", "Give a public guess of their number: a share of it may lie outside."
            raise ValueError(sentence("n_rows", rule, None, remedy))
        numbers, texts = _numbers(self.kinds), _texts(self.kinds)
        price = prices(facts["eps"], facts["delta"], len(numbers), len(texts))
        if numbers:
            check_enough(count, price, len(numbers) + len(texts), facts["eps"])
        named = ", ".join(f"{name} ({kind})" for name, kind in self.kinds.items())
        assumed = (
            f"names and kinds of the columns: {named}",
            f"{share:g} of the records may lie beyond each bound",
            rows_sentence(count, relation, unit.many),
        )
        about = Neighbouring(relation)
        statement = statement_of(facts["eps"], facts["delta"], price, about, numbers, texts, unit, assumed)
        shared = unit.person is not None
        return _Plan(self.kinds, count, share, price, about.records_changed, shared, statement)

    @property
    def units(self) -> int:
        """Number of records, or of persons."""
        if self.stream is not None:
            person = self.data.unit.person
            return count_rows(self.stream) if person is None else max(1, len(self._persons()))
        if not len(self.table):
            raise ValueError(sentence("X", "must have at least one row", 0))
        return len(self.table) if self.data.unit.person is None else self._weights().units

    def _persons(self) -> Any:
        assert self.stream is not None and self.data.unit.person is not None
        return count_persons(self.stream, self.data.unit.person, self.strict)[1]

    def _weights(self) -> Any:
        data, unit = self.data, self.data.unit
        return row_weights(
            len(self.table), data.ids, unit.rows_per_person, data.weights, unit.weight_max, None, self.strict
        )

    def counted(self) -> Histograms:
        """The exact histograms."""
        job = HistogramPass(_numbers(self.kinds), _texts(self.kinds))
        weighted = self.data.unit.weighted
        if self.stream is None:
            names = _names(self.table)
            places = [[names.index(name) for name in some] for some in (job.numbers, job.texts)]
            weights = self._weights().of_rows if weighted else None
            return added(job.zero(), self.table, places[0], places[1], weights)
        return self._streamed(job, weighted)

    def _streamed(self, job: HistogramPass, weighted: bool) -> Histograms:
        assert self.stream is not None
        unit, tally = self.data.unit, None
        if weighted:
            counts = None if unit.person is None else self._persons()
            tally = None if counts is None else Tally(max(1, len(counts)))
            weighing = Weighing(
                unit.person, self.data.weight_column, unit.rows_per_person, unit.weight_max, None, self.strict, counts,
                tally,
            )  # fmt: skip
            job = replace(job, weighing=weighing)
        columns = [name for name in (*job.numbers, *job.texts, unit.person, self.data.weight_column) if name]
        histograms = one_pass(self.stream.parts.chosen(columns), job)
        if tally is not None:
            tally.check()
        return histograms


def _learned(histograms: Histograms, name: str, plan: _Plan, source: Source) -> LearnedColumn:
    """One column, with fresh noise."""
    kind = plan.kinds[name]
    if kind is Kind.FLAG:
        return LearnedColumn(name, str(kind), 0.0, 1.0)
    if kind is Kind.LEVELS:
        sums = histograms.texts[plan.texts.index(name)]
        return _of_texts(name, frequent_texts(sums, plan.prices, plan.changed, plan.shared, source), plan)
    cells = histograms.cells[plan.numbers.index(name)]
    return _of_range(name, kind, chosen_range(cells, kind, plan.records, plan.share, plan.prices, source), plan)


def _of_texts(name: str, counts: Mapping[str, float], plan: _Plan) -> LearnedColumn:
    if len(counts) < 2:
        reason = f"fewer than two levels have enough records; {_ENOUGH}, or it has no common levels"
        return LearnedColumn(name, str(Kind.LEVELS), reason=reason)
    shares = {text: count / plan.records for text, count in counts.items()}
    return LearnedColumn(name, str(Kind.LEVELS), levels=tuple(counts), shares=shares)


def _of_range(name: str, kind: Kind, ends: Range, plan: _Plan) -> LearnedColumn:
    units = noise_units(plan.prices.outside, count_sensitivity.records_outside(UNITS))
    noise = math.sqrt(2) * units / UNITS / plan.records
    share, reason = ends.outside / plan.records, ""
    if narrow(ends.lower, ends.upper) and not (kind.whole and ends.upper > ends.lower):
        size = max(abs(ends.lower), abs(ends.upper))
        reason = f"its values seem to be one number near {size:.4g}, or lie within 2 % of it: subtract a public number"
    elif share - 2 * noise > _MOST_OUTSIDE * plan.share:
        reason = f"about {100 * share:.0f} % of the records seem to lie outside the bounds that were chosen; {_ENOUGH}"
    if reason:
        return LearnedColumn(name, str(kind), outside=share, outside_noise=noise, reason=reason)
    return LearnedColumn(name, str(kind), ends.lower, ends.upper, share, noise)


def _table(X: Any) -> Table | NDArray[Any]:
    table = as_table(X)
    if table is not None:
        return table
    rule = "must be a data frame, or a two-dimensional array of numbers"
    if not isinstance(X, np.ndarray) or isinstance(X, np.ma.MaskedArray):  # the type of a list depends on its values
        raise TypeError(sentence("X", rule, type(X).__name__))
    if X.ndim != 2 or X.dtype.kind not in "biuf":
        raise ValueError(sentence("X", rule, f"{X.dtype} of shape {X.shape}"))
    return X


def _names(table: Table | NDArray[Any]) -> list[str]:
    return list(table.columns) if isinstance(table, Table) else [f"column {place}" for place in range(table.shape[1])]


def _kinds(
    table: Table | NDArray[Any], columns: Any, target: str | None, declared: Bounds | None, delta: float, strict: bool
) -> dict[str, Kind]:
    """The kinds of the columns; refused where there is no promise for one."""
    apart = () if declared is None or declared.names is None else declared.names
    kinds = learned_kinds(table, columns, apart, strict)
    if not _numbers(kinds) and not _texts(kinds):
        remedy = "Flags have the bounds 0 and 1: declare them."
        raise ValueError(sentence("columns", "must have numbers or text to learn", list(kinds), remedy))
    if target is not None and target not in kinds:
        raise ValueError(sentence("target", f"must be one of the columns, {list(kinds)[:20]}", target))
    if target is not None and declared is not None and declared.to_dict().get("target") is not None:
        raise ValueError(sentence("target", "must be None where the bounds declare it", target))
    texts = _texts(kinds)
    if texts and delta == 0:
        remedy = "Give a delta far below 1/n, or declare the levels in `bounds`, or leave these columns out of `columns`."
        raise ValueError(sentence("delta", f"must be positive to learn the levels of {', '.join(texts)}", delta, remedy))
    return kinds


def _numbers(kinds: Mapping[str, Kind]) -> tuple[str, ...]:
    return tuple(name for name, kind in kinds.items() if kind not in (Kind.FLAG, Kind.LEVELS))


def _texts(kinds: Mapping[str, Kind]) -> tuple[str, ...]:
    return tuple(name for name, kind in kinds.items() if kind is Kind.LEVELS)


def _plain_bounds(declared: Bounds | None, data: RawRows) -> dict[str, Any]:
    """What is declared, persons and weights among it, as plain values."""
    unit, values = data.unit, {"features": {}} if declared is None else declared.to_dict()
    by_column = data.ids is not None or unit.person is not None
    units = UnitColumns(
        unit.person if by_column else None, unit.rows_per_person, data.weight_column,
        unit.weight_max if data.weight_column else None,
    )  # fmt: skip
    return values | units.to_dict()


def _checked_eps(eps: float) -> float:
    value = check_eps(eps)
    if math.isinf(value):
        remedy = "Bounds that are read off the data protect nobody: use `dplr.check` for your own eyes."
        raise ValueError(sentence("eps", "must be finite", value, remedy))
    return value


def _checked_share(outside: Any) -> float:
    if isinstance(outside, bool) or not isinstance(outside, (int, float)) or not 1e-4 <= outside <= 0.25:
        raise ValueError(sentence("outside", "must be a share from 0.0001 to 0.25", outside))
    return float(outside)
