"""The plan of a release of bounds, of public facts alone but for the number of records, and what its choices say."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from dplr._kit.validation import sentence
from dplr.bounds.columns import MOST_LEVELS
from dplr.fitting.planning import check_loss, public_n_rows, rows_sentence
from dplr.noise import Source
from dplr.privacy import sensitivity
from dplr.privacy.guarantees import Neighbouring
from dplr.privacy.statement import PrivacyStatement
from dplr.quantiles.columns import numbers_of, texts_of
from dplr.quantiles.grid import Kind, narrow
from dplr.quantiles.law import UNITS, Prices, check_enough, noise_units, prices, statement_of
from dplr.quantiles.learned import LearnedColumn
from dplr.quantiles.levels import frequent_texts
from dplr.quantiles.rows import PrivateRows
from dplr.quantiles.selection import Range, chosen_range
from dplr.rows.streams.histograms import Histograms

_MOST_OUTSIDE = 4  # shares that were allowed, beyond two deviations of the noise: then nothing is said
_ENOUGH = "n eps is too small"


@dataclass(frozen=True, slots=True)
class BoundsPlan:
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
        return numbers_of(self.kinds)

    @property
    def texts(self) -> tuple[str, ...]:
        """Columns of text."""
        return texts_of(self.kinds)


def plan_of(rows: PrivateRows, share: float, facts: Mapping[str, Any]) -> BoundsPlan:
    """The plan of the release; refused where it promises too little, or could say nothing."""
    unit, relation = rows.data.unit, facts["neighbouring"]
    count = public_n_rows(rows.units, facts["n_rows"], relation, unit)
    check_loss([facts["eps"]], facts["delta"], relation, count, unit)
    if count is None:
        rule, remedy = "is required here", "Give a public guess of their number: a share of it may lie outside."
        raise ValueError(sentence("n_rows", rule, None, remedy))
    numbers, texts = numbers_of(rows.kinds), texts_of(rows.kinds)
    price = prices(facts["eps"], facts["delta"], len(numbers), len(texts))
    if numbers:
        check_enough(count, price, len(numbers) + len(texts), facts["eps"])
    named = ", ".join(f"{name} ({kind})" for name, kind in rows.kinds.items())
    assumed = (
        f"names and kinds of the columns: {named}",
        f"{share:g} of the records may lie beyond each bound",
        rows_sentence(count, relation, unit.many),
    )
    about = Neighbouring(relation)
    statement = statement_of(facts["eps"], facts["delta"], price, about, numbers, texts, unit, assumed)
    shared = unit.person is not None
    return BoundsPlan(rows.kinds, count, share, price, about.records_changed, shared, statement)


def learned_column(histograms: Histograms, name: str, plan: BoundsPlan, source: Source) -> LearnedColumn:
    """One column, with fresh noise."""
    kind = plan.kinds[name]
    if kind is Kind.FLAG:
        return LearnedColumn(name, str(kind), 0.0, 1.0)
    if kind is Kind.LEVELS:
        sums = histograms.texts[plan.texts.index(name)]
        return _of_texts(name, frequent_texts(sums, plan.prices, plan.changed, plan.shared, source), plan)
    cells = histograms.cells[plan.numbers.index(name)]
    ends = chosen_range(cells, kind, plan.records, plan.share, plan.prices, plan.changed, source)
    return _of_range(name, kind, ends, plan)


def _of_texts(name: str, counts: Mapping[str, float], plan: BoundsPlan) -> LearnedColumn:
    if len(counts) < 2:
        reason = f"fewer than two levels have enough records; {_ENOUGH}, or it has no common levels"
        return LearnedColumn(name, str(Kind.LEVELS), reason=reason)
    if len(counts) > MOST_LEVELS:
        return LearnedColumn(name, str(Kind.LEVELS), reason=f"more than {MOST_LEVELS} levels have enough records")
    shares = {text: count / plan.records for text, count in counts.items()}
    known = LearnedColumn(name, str(Kind.LEVELS), levels=tuple(counts), shares=shares)
    if not plan.statement.unit.total_is_public:
        return known
    # What the released numbers leave of the public one: nothing more is read.
    block = plan.statement.released["levels"]
    noise = math.sqrt(len(counts)) * block.deviation / plan.records
    return replace(known, outside=1 - sum(shares.values()), outside_noise=noise)


def _of_range(name: str, kind: Kind, ends: Range, plan: BoundsPlan) -> LearnedColumn:
    units = noise_units(plan.prices.outside, sensitivity.records_outside(UNITS))
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
