"""``dplr ledger init``, ``share``, ``show``, ``give-back`` and ``recover``."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import click

from dplr.cli._faults import FILE, USAGE, Commands, Refused, blamed, visible
from dplr.cli._files import check_model_output, claimed, write
from dplr.cli._options import EXISTING, RELATIONS, Eps, left_in, note, output_option, overwrite_option
from dplr.cli._paying import uninterrupted

if TYPE_CHECKING:
    from dplr.ledger.entries import Entry
    from dplr.ledger.handle import Ledger

_KIND = ", for a release that states (eps, delta) alone; `dplr plan --ledger` prices others"
_STATES = {
    "reserved": "Reserved: a fit that is running, or whose process was killed before it drew noise. It counts as "
    "spent; `dplr ledger give-back` gives it back.",
    "drawing": "Drawing: a fit that is running, or that ended after it began to draw noise. It stays spent.",
    "set aside": "Set aside: for a fit that has not begun. It counts as spent until it is given back.",
}
_LEAST_DELTA = 1e-9  # nobody asks a fit for less
_FOR_THE_HOLDER = "  For the data holder: states and times tell which fits failed. What may be published: --public."


@click.group(cls=Commands, short_help="A budget in a file, from which fits spend, and what killed fits left.")
def ledger() -> None:
    """A budget in a file: every fit that names it spends from it, and one that is too dear is refused.

    One ledger for the records of one group of people. It holds privacy statements and no data. Spent is spent: a fit
    that was interrupted after it began to draw noise stays in it. One whose process was killed before is given back by
    its number.
    """


@ledger.command()
@click.argument("path", type=click.Path(dir_okay=False))
@click.option("--eps", type=Eps(), required=True, help="The whole budget, for ever.")
@click.option("--delta", type=click.FloatRange(min=0, max=1, max_open=True), default=None,
    help="The whole delta, from which fits with --delta (ngd, score) are paid; far below 1 / (number of records). "
    "Without it 1e-12 (basic): room for fits without a delta alone. 0 admits pure fits alone.")  # fmt: skip
@click.option("--composition", type=click.Choice(("basic", "zcdp", "gdp", "pld")), default="basic", show_default=True,
    help="How costs add up. basic: eps and delta add. zcdp: less, for many fits and delta > 0. gdp: less yet, for "
    "Gaussian noise. pld: least, where all fits were fixed in advance (extra `accounting`).")  # fmt: skip
@click.option("--neighbouring", type=click.Choice(RELATIONS), default="replace_one", show_default=True,
    help="The relation of all its fits.")  # fmt: skip
@click.option("--unit", metavar="COLUMN", help="What is protected is one person with all their rows, whose id is in "
    "this column; without it one record. Fits about anything else are refused.")  # fmt: skip
def init(path: str, eps: float, delta: float | None, composition: str, neighbouring: str, unit: str | None) -> None:
    """Make a ledger. Its terms never change.

    \b
    dplr ledger init budget.db --eps 3 --delta 1e-5
    dplr ledger init budget.db --eps 3 --delta 1e-5 --composition zcdp
    dplr ledger init visits.db --eps 3 --delta 1e-5 --unit patient
    """
    import dplr
    from dplr.ledger.printing import terms_words

    if os.path.lexists(path):
        raise Refused(f"`{path}` exists: a ledger is made once. See it with `dplr ledger show {path}`.", USAGE)
    with blamed(USAGE):
        budget = dplr.Ledger(path, eps=eps, delta=delta, composition=composition, neighbouring=neighbouring, unit=unit)
    click.echo(visible(f"Made {path}: {terms_words(budget.terms())}."))
    if delta is None and budget.terms().delta < _LEAST_DELTA:
        note("It can never pay for a fit with a --delta, such as ngd or score: make one with --delta for those.")


@ledger.command()
@click.argument("path", type=EXISTING)
@click.argument("name")
@click.option("--eps", type=Eps(), required=True, help="The most that the fits of this share may spend together.")
@click.option("--delta", type=click.FloatRange(min=0, max=1, max_open=True), default=None,
    help="The most delta; without it as large a part of the ledger's delta as eps is of its eps.")  # fmt: skip
def share(path: str, name: str, eps: float, delta: float | None) -> None:
    """Make NAME a share of the ledger PATH: a limit for one analyst. It never changes.

    \b
    dplr ledger share budget.db alice --eps 0.5
    dplr fit people.csv ... --ledger budget.db --share alice

    Fits that name a share spend from it and from the whole ledger. The limits of all shares add up to no more than the
    ledger's. A share promises no room: fits that name no share, or another one, may use it up.
    """
    import dplr
    from dplr.ledger.printing import loss_words

    with blamed(FILE):
        opened = dplr.Ledger(path)
        shares = opened.shares()
    if name in shares:
        raise Refused(visible(f"`{name}` exists: a share is made once. See it with `dplr ledger show {path}`."), USAGE)
    with blamed(USAGE):
        limits = opened.share(name, eps, delta).shares()[name]
    click.echo(visible(f"Made share {name} of {path}: {loss_words(*limits)}."))


@ledger.command()
@click.argument("path", type=EXISTING)
@click.option("--json", "as_json", is_flag=True, help="For programs: one JSON object, with every statement.")
@click.option("--public", is_flag=True, help="What may be published: releases by the day, nothing about failed fits.")
def show(path: str, as_json: bool, public: bool) -> None:
    """Show what was spent, what is left, and every fit, for the data holder.

    Which fits failed, and when they ended, depends on the rows. --public shows neither, and may be published: each
    entry is a release, or counts as one, and is described by public facts alone. A fit that others know was tried, and
    that is not listed, has failed. Publish what this command prints, never the file: its times
    are not rounded.
    """
    import dplr
    from dplr.ledger.printing import loss_words, public_part, terms_words

    with blamed(FILE):
        opened = dplr.Ledger(path)
        terms, spent, rest, entries = opened.terms(), opened.spent(), opened.remaining(), opened.entries()
        shares = {name: _share(opened.share(name), *limits) for name, limits in opened.shares().items()}
    if public:
        terms, entries = public_part(terms, entries)
    if as_json:
        content = {
            "path": path, "publishable": public, "terms": _fields(terms),
            "spent": {"eps": spent[0], "delta": spent[1]}, "remaining": {"eps": rest[0], "delta": rest[1]},
            "shares": shares, "entries": [_fields(entry) for entry in entries],
        }  # fmt: skip
        click.echo(json.dumps(content, indent=2))
        return
    click.echo(visible(f"Ledger {path}: {terms_words(terms)}"))
    if not public:
        click.echo(_FOR_THE_HOLDER)
    click.echo(f"  spent      {loss_words(*spent)}")
    click.echo(f"  remaining  {left_in(opened)}{_KIND if terms.composition != 'basic' else ''}")
    for name, share in shares.items():
        click.echo(visible(f"  share      {name}: {_of_share(share)}"))
    for entry in entries:
        click.echo(visible(_line(entry)))
    for state, words in _STATES.items():
        if any(entry.state == state for entry in entries):
            click.echo(f"  {words}")
    if not public and (kept := opened.kept()):
        numbers = ", ".join(map(str, kept))
        click.echo(f"  Kept: the model of entry {numbers}, which was not delivered. `dplr ledger recover` writes it.")


@ledger.command("give-back")
@click.argument("path", type=EXISTING)
@click.argument("number", type=click.IntRange(min=1))
def give_back(path: str, number: int) -> None:
    """Give entry NUMBER of the ledger PATH back: a fit that drew no noise, because its process was killed.

    \b
    dplr ledger show budget.db
    dplr ledger give-back budget.db 7

    Only what is `reserved` or `set aside` can be given back. What was reserved in one step comes back together. A fit
    that still runs fails before it draws noise, and delivers nothing. What is `drawing` stays spent for ever: its noise
    may have been drawn.
    """
    import dplr

    with blamed(FILE):
        opened = dplr.Ledger(path)
    with blamed(USAGE):
        numbers = opened.give_back(number)
    noun = "Entry" if len(numbers) == 1 else "Entries"
    click.echo(visible(f"{noun} {', '.join(map(str, numbers))} of {path} given back. Left: {left_in(opened)}."))


@ledger.command()
@click.argument("path", type=EXISTING)
@click.argument("number", type=click.IntRange(min=1))
@output_option
@overwrite_option
def recover(path: str, number: int, output: str, overwrite: bool) -> None:
    """Write the model of entry NUMBER of the ledger PATH, which was paid for and whose file was never written.

    \b
    dplr ledger show budget.db
    dplr ledger recover budget.db 7 -o model.json

    It is the same release again, so it costs nothing. Once the file is written, the ledger keeps it no longer.
    """
    import dplr

    check_model_output(output, overwrite, (path,))
    with blamed(FILE):
        opened = dplr.Ledger(path)
    with blamed(USAGE):
        body = opened.recover(number)
    with uninterrupted(), claimed(output, overwrite):
        write(output, body)
        with blamed(FILE):
            opened.delivered(number)
    click.echo(visible(f"Wrote {output}."))


def _share(share: Ledger, eps: float, delta: float) -> dict[str, dict[str, float]]:
    """Its limits, what is spent of it, and what remains."""
    amounts = {"limits": (eps, delta), "spent": share.spent(), "remaining": share.remaining()}
    return {name: {"eps": pair[0], "delta": pair[1]} for name, pair in amounts.items()}


def _of_share(amounts: dict[str, dict[str, float]]) -> str:
    from dplr.ledger.printing import loss_words
    from dplr.ledger.terms import pair

    limits, spent, rest = (f"({loss_words(**amount)})" for amount in amounts.values())
    rest = pair((amounts["remaining"]["eps"], amounts["remaining"]["delta"]))
    return f"limits {limits}, spent {spent}, remaining {rest}"


def _line(entry: Entry) -> str:
    from dplr.ledger.entries import made_by
    from dplr.ledger.printing import loss_words

    day = entry.reserved_at[:16].replace("T", " ")
    label = "" if entry.label is None else f"  {entry.label}"
    label += "" if entry.share is None else f"  (share {entry.share})"
    how, cost = made_by(entry.statement), loss_words(entry.eps, entry.delta)
    return f"  {entry.number:>3}  {day}  {entry.state:9}  {how:9}  {cost}{label}"


def _fields(value: Any) -> dict[str, Any]:
    """A frozen value as plain ones; the guarantee as its words."""
    plain = (str, int, float, dict, type(None))
    fields = {name: getattr(value, name) for name in value.__slots__}
    return {name: field if isinstance(field, plain) else str(field) for name, field in fields.items()}
