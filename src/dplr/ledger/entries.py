"""What a ledger writes down: its terms, its entries, and how a statement is written."""

from __future__ import annotations

import datetime
import json
from dataclasses import asdict, dataclass
from typing import Any

from dplr.ledger.rules import Guarantee
from dplr.privacy.guarantees import Approx, Gaussian, Poisson, Pure
from dplr.privacy.statement import PrivacyStatement

_GUARANTEES = {kind.__name__: kind for kind in (Pure, Gaussian, Poisson, Approx)}


@dataclass(frozen=True, slots=True)
class Terms:
    """What a ledger was made with; `unit` names the persons that its releases protect, and is None for records."""

    id: str
    eps: float
    delta: float
    composition: str
    neighbouring: str
    strict: bool
    created: str
    unit: str | None = None


@dataclass(frozen=True, slots=True)
class Entry:
    """One release in a ledger.

    Attributes
    ----------
    number : position in the ledger; times may come from clocks that disagree.
    state : `"reserved"` (spent; no noise was drawn), `"drawing"` (spent; noise may have been drawn, and nothing gives
        it back), `"committed"`, `"refunded"` (given back, costs nothing), or `"set aside"` (spent, for a fit of an
        `Allotment` that has not begun). A strict ledger commits when it reserves.
    eps, delta, guarantee : what it costs.
    label : what the data were called, or None.
    reserved_at, ended_at : UTC, by the clock of the machine that wrote it. A strict ledger has the day, and None.
    statement : the privacy statement, as a dict.
    share : the share that it was spent from, or None.
    """

    number: int
    state: str
    eps: float
    delta: float
    guarantee: Guarantee
    label: str | None
    reserved_at: str
    ended_at: str | None
    statement: dict[str, Any]
    share: str | None = None


def now() -> str:
    """The time in UTC; entries are ordered by number, never by this."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")


def day_of(time: str) -> str:
    """The day of a time, which is too coarse to time a fit."""
    return time[:10]


def guarantee_text(guarantee: Guarantee) -> str:
    """A guarantee as JSON, its floats exact."""
    return json.dumps({"kind": type(guarantee).__name__, **asdict(guarantee)}, allow_nan=False)


def guarantee_of(text: str) -> Guarantee:
    """The guarantee that a text holds."""
    fields = json.loads(text)
    kind: Any = _GUARANTEES[fields.pop("kind")]
    guarantee: Guarantee = kind(**fields)
    return guarantee


def statement_text(statement: PrivacyStatement) -> str:
    """A statement as JSON."""
    fields = {name: getattr(statement, name) for name in statement.__slots__}
    fields["guarantee"] = json.loads(guarantee_text(statement.guarantee))
    fields["unit"] = asdict(statement.unit) if statement.unit.weighted else None
    fields["released"] = {name: asdict(release) for name, release in statement.released.items()}
    return json.dumps(fields)
