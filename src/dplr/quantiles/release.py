"""One release of the bounds and levels of a table: plan, reserve, count, choose, commit."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from numpy.typing import NDArray

from dplr._kit.keywords import suggests
from dplr._kit.validation import check_delta, check_eps, sentence
from dplr.bounds.beside import check_name, write_units
from dplr.bounds.declared import Bounds, BoundsLike, as_bounds, codebook_of
from dplr.fitting.data import Data, declared_unit, read
from dplr.fitting.options import documented
from dplr.fitting.run import accounted
from dplr.ledger.budget import Budget
from dplr.ledger.handle import LedgerLike, as_ledger
from dplr.noise import Source, source_of
from dplr.quantiles.columns import learned_kinds, numbers_of, texts_of
from dplr.quantiles.grid import Kind
from dplr.quantiles.learned import LearnedBounds, LearnedColumn
from dplr.quantiles.plan import BoundsPlan, learned_column, plan_of
from dplr.quantiles.rows import PrivateRows, table_of
from dplr.rows import Table
from dplr.rows.streams.source import as_stream

_MOST_OUTSIDE = 4  # shares that were allowed, beyond two deviations of the noise: then nothing is said
_ENOUGH = "n eps is too small"


@suggests
@documented
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
    sample_weight: str | None = None,
    neighbouring: str = "replace_one",
    n_rows: int | None = None,
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
    sample_weight : str or None, default=None
        Name of the column of weights. They require a `weight_max` of the bounds.

    Returns
    -------
    dplr.results.LearnedBounds
        What was learned of each column, and bounds for fits. A column about which nothing can be said says so.

    Raises
    ------
    ValueError, TypeError
        A parameter or the table breaks a rule, there is no `n_rows` under add_remove, or n eps is too small for so many
        columns. Nothing was spent.
    BudgetExceeded
        The ledger cannot pay. No noise was drawn, and nothing was spent.

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
    is. So no range need be known before. Bounds of dates are days since 1970-01-01, those of durations days.

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
    budget = as_ledger(ledger)
    promise: dict[str, Any] = {"eps": eps, "delta": delta, "neighbouring": neighbouring, "n_rows": n_rows}
    return planned(
        X, columns=columns, target=target, outside=outside, bounds=bounds, person=person, sample_weight=sample_weight,
        **promise,
    ).paid(budget, source_of(rng))  # fmt: skip


def planned(
    X: Any, *, eps: float, delta: float, columns: Any, target: str | None, outside: float, bounds: BoundsLike,
    person: str | None, sample_weight: str | None, **facts: Any,
) -> Release:  # fmt: skip
    """The plan of a release and its rows, of which no number was read; refused where it promises or says too little."""
    facts |= {"eps": _checked_eps(eps), "delta": check_delta(delta)}
    share, everything = _checked_share(outside), as_bounds(bounds)
    declared = codebook_of(everything)
    if declared is not None and declared.names is None:
        rule = "must name its columns beside columns that are learned"
        raise ValueError(sentence("bounds", rule, "bounds by position", "Give a mapping of names."))
    units = declared_unit(person, everything)
    if sample_weight is not None and as_stream(X) is not None:
        check_name("sample_weight", sample_weight)  # a stream has no rows for an array of weights
    data = read(X, sample_weight=sample_weight, declared=units, features=None if declared is None else declared.names)
    table = table_of(data.X)
    kinds = _kinds(table, columns, target, declared, facts["delta"])
    rows = PrivateRows(data.counted(table, None), kinds)
    plan = plan_of(rows, share, facts)
    plan = replace(plan, statement=data.stated(plan.statement))
    return Release(rows, plan, target, _plain_bounds(declared, data))


@dataclass(frozen=True, eq=False, slots=True)
class Release:
    """A release that can be priced, and paid once.

    Attributes
    ----------
    rows : private.
    plan : public.
    target : the column that models will predict; None for none.
    declared : bounds that are public, as plain values.
    """

    rows: PrivateRows
    plan: BoundsPlan
    target: str | None
    declared: dict[str, Any]

    def paid(self, budget: Budget, source: Source) -> LearnedBounds:
        """Reserve, count, choose, commit."""
        statement = replace(self.plan.statement, reproducible=source.reproducible)

        def work() -> list[LearnedColumn]:
            histograms = self.rows.counted()
            return [learned_column(histograms, name, self.plan, source) for name in self.plan.kinds]

        (*columns,) = accounted(budget, [statement], source, work)
        by_position = not isinstance(self.rows.data.X, Table)
        return LearnedBounds(tuple(columns), self.target, self.plan.share, statement, self.declared, by_position)


def _kinds(
    table: Table | NDArray[Any], columns: Any, target: str | None, declared: Bounds | None, delta: float
) -> dict[str, Kind]:
    """The kinds of the columns; refused where there is no promise for one."""
    apart = () if declared is None or declared.names is None else declared.names
    kinds = learned_kinds(table, columns, apart)
    if not numbers_of(kinds) and not texts_of(kinds):
        remedy = "Flags have the bounds 0 and 1: declare them."
        raise ValueError(sentence("columns", "must have numbers or text to learn", list(kinds), remedy))
    if target is not None and (not isinstance(target, str) or target not in kinds):
        raise ValueError(sentence("target", f"must be one of the columns, {list(kinds)[:20]}", target))
    if target is not None and declared is not None and declared.to_dict().get("target") is not None:
        raise ValueError(sentence("target", "must be None where the bounds declare it", target))
    texts = texts_of(kinds)
    if texts and delta == 0:
        remedy = "Give a delta far below 1/n, declare the levels in `bounds`, or leave these out of `columns`."
        rule = f"must be positive to learn the levels of {', '.join(texts)}"
        raise ValueError(sentence("delta", rule, delta, remedy))
    return kinds


def _plain_bounds(declared: Bounds | None, data: Data) -> dict[str, Any]:
    """The declarations, of persons and weights too, as plain values."""
    unit, values = data.unit, {"features": {}} if declared is None else declared.to_dict()
    by_column = data.ids is not None or unit.person is not None
    person, weight = unit.person if by_column else None, data.weight_column
    return values | write_units(person, unit.rows_per_person, weight, unit.weight_max if weight else None)


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
