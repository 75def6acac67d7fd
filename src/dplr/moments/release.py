"""One release of the second moments of a table: plan, reserve, sum, noise, commit."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplr._kit.keywords import suggests
from dplr._kit.validation import check_choice, check_delta, check_eps, sentence
from dplr.bounds.declared import Bounds, BoundsLike, as_bounds, codebook_of
from dplr.bounds.layout import Layout
from dplr.bounds.scaling import Prep, layout_prep
from dplr.fitting.data import Data, declared_unit, read, refuse_units, too_many
from dplr.fitting.options import documented
from dplr.fitting.planning import check_loss, public_n_rows, pure_sentence, rows_sentence
from dplr.fitting.run import accounted
from dplr.ledger.budget import Budget
from dplr.ledger.handle import LedgerLike, as_ledger
from dplr.mechanisms.drawing import noisy_blocks
from dplr.mechanisms.protocol import NOISES
from dplr.moments.law import cells, plan_release, spread
from dplr.moments.released import Party, ReleasedMoments, scaled_problem, single
from dplr.noise import Source, source_of
from dplr.privacy.statement import PrivacyStatement
from dplr.problem.plan import Plan
from dplr.problem.problem import Problem
from dplr.rows import FaultyRows, Rows, Table, as_array
from dplr.rows.exact import Moments

_LONGEST_NAME = 200


@suggests
@documented
def release_moments(
    X: Any,
    *,
    bounds: BoundsLike,
    eps: float,
    delta: float = 0.0,
    columns: Sequence[str] | None = None,
    noise: str = "smaller",
    neighbouring: str = "replace_one",
    n_rows: int | None = None,
    party: str | None = None,
    ledger: LedgerLike = None,
    rng: int | None = None,
) -> ReleasedMoments:
    """Release the noisy second moments of a table: any linear regression among its columns then costs nothing further.

    Parameters
    ----------
    X : array-like of shape (n_rows, n_columns), table or stream
        Rows of an array, of a table of pandas, polars or Arrow, or of a stream: a path, a list of paths, a lazy table,
        or a `dplr.Stream`. Targets are columns like the others.
    bounds : dplr.Bounds, mapping or path
        Public bounds of the columns, with whatever is a target later among the features, in any form that `dplr.Bounds`
        has.
    eps : float
        Privacy loss of the whole release, above 0.
    delta : float, default=0.0
        What is added to what the factor exp(eps) allows, in [0, 1). A delta makes the noise grow with the number of
        columns, and not with its square.
    columns : list of str or None, default=None
        Names of the declared columns to release; None for all. Products of two of them stay. Each further column costs
        all others precision: release those that questions will be about.
    noise : {"smaller", "gaussian"}, default="smaller"
        Where a delta was asked for, `"smaller"` takes pure noise if it is smaller than Gaussian noise, as it is for
        three numbers: then the release has no delta. `"gaussian"` keeps Gaussian noise, of which many releases cost
        less together.
    party : str or None, default=None
        Name of whoever holds these rows, for files that are merged; it is published with them.

    Returns
    -------
    dplr.results.ReleasedMoments
        Public from now on: it can be saved, sent, merged with those of other parties, and fitted as often as you like.

    Raises
    ------
    ValueError, TypeError
        A parameter or the table breaks a rule. No noise was drawn, and nothing was spent.
    BudgetExceeded
        The ledger cannot pay. No row was read, and nothing was spent.

    Privacy
    -------
    eps-DP with discrete Laplace noise, or (eps, delta)-DP with discrete Gaussian noise, once for all that is computed
    from it; exact in integers (moments.md, theorems 1 and 2). Bounds and names of columns are assumed public. A second
    release of the same people costs its eps again.

    See Also
    --------
    dplr.load_model : Reads what was saved.
    dplr.fit : One model, which may also be of labels.

    References
    ----------
    Proofs: moments.md, theorems 1 and 2.

    Examples
    --------
    >>> import dplr, numpy as np, pandas as pd
    >>> rng = np.random.default_rng(0)
    >>> table = pd.DataFrame({"age": rng.uniform(18, 80, 5000), "hours": rng.uniform(0, 60, 5000)})
    >>> table["income"] = 200 * table["age"] + 500 * table["hours"] + rng.normal(0, 4000, 5000)
    >>> bounds = {"age": (18, 99), "hours": (0, 80), "income": (0, 60_000)}
    >>> released = dplr.release_moments(table, bounds=bounds, eps=1.0, delta=1e-6)
    >>> released.columns
    ('age', 'hours', 'income')
    >>> model = released.regress("income", ["age", "hours"])
    >>> other = released.regress("hours", ["age"])
    >>> model.privacy_.eps, other.privacy_ is model.privacy_
    (1.0, True)
    """
    eps, delta, budget = check_eps(eps), check_delta(delta), as_ledger(ledger)
    refuse_units(table_bounds := as_bounds(bounds), "with `release_moments`")
    release_bounds, party = declared(codebook_of(table_bounds), columns), _checked_party(party)
    facts = {"eps": eps, "delta": delta, "noise": check_choice("noise", noise, NOISES), "neighbouring": neighbouring,
             "n_rows": n_rows}  # fmt: skip
    data = read(X, declared=declared_unit(None))
    try:
        return _released(data, release_bounds, party, facts, budget, rng)
    except MemoryError as error:
        raise too_many(data.X, error) from None


def _released(
    data: Data, bounds: Bounds, party: str | None, facts: Mapping[str, Any], ledger: Budget, rng: int | None
) -> ReleasedMoments:
    """Check, plan, reserve, sum and add noise, in this order."""
    table = data.X if isinstance(data.X, Table) else None
    data = data.counted(_array(data.X) if table is None else table, None)
    n, d = data.units, data.X.shape[1]
    if 0 in (n, d):
        raise ValueError(sentence("X", "must have at least one row and one column", (n, d)))
    names = None if table is None else table.columns
    layout = bounds.for_columns(names, d)
    plan = planned(layout, names, n, **facts)
    source, prep = source_of(rng), layout_prep(layout, True, None)
    statement = replace(data.stated(plan.statement), reproducible=source.reproducible)
    rows = data.rows(prep)  # what is wrong with columns is said before anything is reserved
    work = functools.partial(_numbers, rows, prep, Plan(None, plan.problem, statement), source)
    numbers = _paid(ledger, statement, source, work)
    return single(bounds, layout, Party(party, plan.problem.n_rows, statement), numbers)


def planned(
    layout: Layout, names: Sequence[str] | None, n: int, *, eps: float, delta: float, noise: str, neighbouring: str,
    n_rows: int | None,
) -> Plan:  # fmt: skip
    """The plan of a release of a table of n rows with these columns; refused where it promises too little."""
    count = public_n_rows(n, n_rows, neighbouring)
    check_loss([eps], delta, neighbouring, count)
    problem = scaled_problem(layout, neighbouring, count)
    rows = () if count is None else (rows_sentence(count, neighbouring),)
    problem = replace(problem, assumptions=(*layout.facts(names), *rows))
    plan = plan_release(problem, eps, delta)
    pure = _pure(problem, eps) if delta > 0 and noise == NOISES[0] and not math.isinf(eps) else None
    if pure is None or spread(pure.statement) >= spread(plan.statement):
        return plan
    calibration = f"{pure.statement.calibration}; {pure_sentence(delta)}"
    return replace(pure, statement=replace(pure.statement, calibration=calibration, unused_delta=delta))


def _pure(problem: Problem, eps: float) -> Plan | None:
    """The plan without a delta; None where eps is too small for it."""
    try:
        return plan_release(problem, eps, 0.0)
    except ValueError:
        return None


def _paid(ledger: Budget, statement: PrivacyStatement, source: Source, work: Any) -> dict[str, NDArray[np.float64]]:
    """The release, accounted for; what is wrong with the rows is told without a target."""
    try:
        return accounted(ledger, [statement], source, work)
    except FaultyRows as error:
        raise ValueError(str(error).replace("`X` and `y` must", "`X` must")) from None


def _numbers(rows: Rows, prep: Prep, plan: Plan, source: Source) -> dict[str, NDArray[np.float64]]:
    """The exact sums, floored to their grids, with fresh integer noise."""
    geometry = prep.geometry
    total = rows.total(Moments(geometry.d, True))
    parts = {name: (total, where, 0) for name, where in cells(geometry, plan.problem.neighbouring).items()}
    return noisy_blocks(parts, plan, source)


def declared(bounds: Bounds | None, columns: Sequence[str] | None) -> Bounds:
    """The bounds of the columns to release."""
    if bounds is None:
        remedy = "Declare bounds=dplr.Bounds(...) of all columns, from public knowledge."
        raise ValueError(sentence("bounds", "must be declared for a release of moments", None, remedy))
    if bounds.to_dict().get("target") is not None:
        remedy = "Declare it among the features, by its name: every column can be a target later."
        raise ValueError(sentence("bounds", "must have no target of its own", bounds.to_dict()["target"], remedy))
    return bounds if columns is None else _narrowed(bounds, columns)


def _narrowed(bounds: Bounds, columns: Sequence[str]) -> Bounds:
    """The bounds of some columns, in their order, and of the products of these."""
    if bounds.names is None:
        remedy = "Declare the bounds of the columns to release, and pass an array of those."
        raise ValueError(sentence("columns", "needs bounds that name their columns", "bounds by position", remedy))
    listed = isinstance(columns, Sequence) and not isinstance(columns, (str, bytes))
    if not listed or not columns or not all(isinstance(name, str) for name in columns):
        raise TypeError(sentence("columns", "must be a list of names of declared columns", columns))
    unknown = [name for name in columns if name not in bounds.names]
    if unknown or len(set(columns)) < len(columns):
        got = unknown or list(columns)
        raise ValueError(sentence("columns", f"must name columns of the bounds once, {list(bounds.names)[:20]}", got))
    values = bounds.to_dict()
    features = {name: value for name, value in values["features"].items() if name in set(columns)}
    products = [pair for pair in values.get("products", ()) if set(pair) <= set(columns)]
    return Bounds(features, products=products, learned=values.get("learned"))


def _array(X: Any) -> NDArray[Any]:
    """Rows given as an array of numbers."""
    values = as_array(X)
    if values.ndim != 2 or values.dtype.kind not in "biuf":
        got = f"{values.dtype} of shape {values.shape}"
        raise ValueError(sentence("X", "must be a data frame, or a two-dimensional array of numbers", got))
    return values


def _checked_party(party: Any) -> str | None:
    """A name that can be written to a file, or None."""
    if party is None:
        return None
    plain = isinstance(party, str) and party.isprintable() and not set(party) & set("();")
    if not isinstance(party, str) or not plain or not 0 < len(party) <= _LONGEST_NAME:
        rule = f"must be None or a name of at most {_LONGEST_NAME} characters, without brackets and semicolons"
        raise ValueError(sentence("party", rule, party))
    return party
