"""The records of a ledger: its terms, its entries, and the text of a statement."""

from __future__ import annotations

import datetime
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from dplr.privacy.rules import Guarantee
from dplr.privacy.statement import EVALUATION, PrivacyStatement

STATES = ("set aside", "reserved", "drawing", "committed", "refunded")


@dataclass(frozen=True, slots=True)
class Terms:
    """The terms of a ledger: its limits and its rules.

    Attributes
    ----------
    id : str
        Random name of the ledger, 32 hexadecimal digits.
    eps, delta : float
        The whole budget.
    composition : {"basic", "zcdp", "gdp", "pld"}
        How costs add up.
    neighbouring : {"replace_one", "add_remove"}
        The relation of all releases.
    created : str
        Time in UTC.
    unit : str or None, default=None
        Name of the unit of the protected persons, as `person` of a fit; None where records are protected.

    Privacy
    -------
    Public facts: no row is behind them, except that a time may tell when work was done.

    See Also
    --------
    dplr.Ledger : The parameters in full.

    Examples
    --------
    >>> import dplr, tempfile, os
    >>> ledger = dplr.Ledger(os.path.join(tempfile.mkdtemp(), "budget"), eps=1.0)
    >>> terms = ledger.terms()
    >>> terms.eps, terms.composition, terms.unit
    (1.0, 'basic', None)
    """

    id: str
    eps: float
    delta: float
    composition: str
    neighbouring: str
    created: str
    unit: str | None = None


@dataclass(frozen=True, slots=True)
class Entry:
    """One release in a ledger.

    Attributes
    ----------
    number : int
        Position in the ledger; times may come from clocks that disagree.
    state : {"reserved", "drawing", "committed", "refunded", "set aside"}
        `"reserved"`: spent; no noise was drawn. `"drawing"`: spent; noise may have been drawn, and nothing gives it
        back. `"refunded"`: given back, costs nothing. `"set aside"`: spent, for a fit of an `Allotment` that has not
        begun.
    eps, delta : float
        What the release states.
    guarantee : Pure, Gaussian, Poisson or Approx
        What the release costs, as a value of `dplr.privacy`.
    label : str or None
        Name of the data; None for no name.
    reserved_at, ended_at : str or None
        Time in UTC, by the clock of the machine that wrote it; `ended_at` is None until it has ended.
    statement : dict
        The privacy statement as plain values.
    share : str or None, default=None
        The share that it was spent from; None for the ledger itself.

    Privacy
    -------
    Statements are public facts. States and times depend on the data where fits failed: they are for the data holder.

    See Also
    --------
    dplr.Ledger.entries : All entries of a ledger.

    Examples
    --------
    >>> import dplr, tempfile, os
    >>> ledger = dplr.Ledger(os.path.join(tempfile.mkdtemp(), "budget"), eps=1.0)
    >>> ledger.reserve(dplr.plan(n_rows=1000, n_features=2, eps=0.4, mechanism="fm")).commit()
    >>> entry = ledger.entries()[0]
    >>> entry.number, entry.state, entry.eps
    (1, 'committed', 0.4)
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


def made_by(statement: Mapping[str, Any]) -> str:
    """The mechanism of a release, and whether an evaluation is a part of it."""
    blocks = statement.get("released")
    beside = isinstance(blocks, dict) and any(name.startswith(EVALUATION) for name in blocks)
    return f"{statement['mechanism']}{' and an evaluation' if beside else ''}"


def now() -> str:
    """The time in UTC; entries are ordered by number, never by this."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")


def day_of(time: str) -> str:
    """The day of a time, which is too coarse to tell how long a fit took."""
    return time[:10]


def guarantee_text(guarantee: Guarantee) -> str:
    """A guarantee as JSON, its floats exact."""
    return json.dumps({"kind": type(guarantee).__name__, **asdict(guarantee)}, allow_nan=False)


def statement_text(statement: PrivacyStatement) -> str:
    """A statement as JSON."""
    fields = {name: getattr(statement, name) for name in statement.__slots__}
    fields["guarantee"] = json.loads(guarantee_text(statement.guarantee))
    fields["unit"] = asdict(statement.unit) if statement.unit.weighted else None
    fields["released"] = {name: asdict(release) for name, release in statement.released.items()}
    return json.dumps(fields)
