"""A ledger in words, for the command line and for notebooks; and the part of it that may be published."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from dplr._kit import markup
from dplr.ledger import transactions
from dplr.ledger.entries import Entry, Terms, day_of, made_by
from dplr.ledger.room import room_of
from dplr.ledger.terms import rest_words
from dplr.privacy.statement import delta_number, delta_words

if TYPE_CHECKING:
    from dplr.ledger.account import Account

_LAST = 10  # entries in a notebook
_UNREADABLE = (OSError, ValueError, RuntimeError, ImportError)  # of a file that is gone, locked or damaged, and of pld
_SLOW = "the accountant takes seconds: `spent()`, `remaining()`"
_NOTE = "Releases by the day, and no fit that failed. `entries()` has all of them, for the data holder alone."


def public_part(terms: Terms, entries: Sequence[Entry]) -> tuple[Terms, list[Entry]]:
    """Terms and entries without a trace of fits that failed: entries that count, by the day and numbered anew."""
    spent = [entry for entry in entries if entry.state != "refunded"]
    return replace(terms, created=day_of(terms.created)), [
        replace(entry, number=number, state="spent", reserved_at=day_of(entry.reserved_at), ended_at=None)
        for number, entry in enumerate(spent, 1)
    ]


def loss_words(eps: float, delta: float) -> str:
    """Eps and delta in words."""
    return f"eps = {eps:g}, delta {delta_words(delta)}"


def terms_words(terms: Terms) -> str:
    """The terms in words."""
    words = f"{loss_words(terms.eps, terms.delta)}, {terms.composition} composition, {terms.neighbouring}"
    return words + ("" if terms.unit is None else f" of persons ({terms.unit})")


def as_html(ledger: Account) -> str:
    """Spent, remaining and the last releases, as may be published; the reason where the file cannot be read."""
    opened = ledger._opened
    title = f"Ledger {ledger.path}" + ("" if opened.share is None else f", share {opened.share}")
    try:
        with opened.reading() as (connection, terms):
            room, shares = room_of(opened, connection, terms), transactions.shares(connection)
            every = transactions.entries(connection)
        _, entries = public_part(terms, [entry for entry in every if opened.share in (None, entry.share)])
        amounts = [("spent and remaining", _SLOW)]
        if terms.composition != "pld":
            amounts = [("spent", loss_words(*room.spent())), ("remaining", rest_words(room.remaining()))]
    except _UNREADABLE as error:
        return markup.piece(title, markup.alarms([f"It cannot be read: {error}"]))
    facts = [("budget", terms_words(terms)), *amounts, *_handle(ledger, shares)]
    earlier = len(entries) - _LAST
    notes = [*([f"({earlier:,} earlier releases: `entries()`)"] if earlier > 0 else []), _NOTE]
    return markup.piece(title, markup.facts(facts), _table(entries[-_LAST:]), *map(markup.paragraph, notes))


def _table(entries: Sequence[Entry]) -> markup.Html:
    """A line for each release; names of data and of shares where there are any."""
    columns = {
        "": [str(entry.number) for entry in entries],
        "day": [entry.reserved_at for entry in entries],
        "mechanism": [made_by(entry.statement) for entry in entries],
        "data": [entry.label or "" for entry in entries],
        "share": [entry.share or "" for entry in entries],
        "eps": [f"{entry.eps:g}" for entry in entries],
        "delta": [delta_number(entry.delta) for entry in entries],
    }
    columns = {name: cells for name, cells in columns.items() if any(cells)}
    rows = list(zip(*columns.values(), strict=True))
    return markup.excerpt(list(columns), rows, "releases", words=len(columns) - 3)


def _handle(ledger: Account, shares: Mapping[str, tuple[float, float]]) -> Iterator[tuple[str, str]]:
    """The name of the data in new entries, and the limits of shares: of this one alone, if it is one."""
    if ledger.label is not None:
        yield "label", ledger.label
    for name, limits in shares.items():
        if ledger._opened.share in (None, name):
            yield "shares", f"{name}: at most {loss_words(*limits)}"
