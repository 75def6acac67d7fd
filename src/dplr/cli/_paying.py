"""The common steps of commands that pay: the ledger, its price, the cost of an interruption, and safe writing."""

from __future__ import annotations

import os
import signal
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, TypeVar

from dplr.cli._faults import BUDGET, FILE, INTERRUPTED, USAGE, Refused, blamed
from dplr.cli._files import claimed
from dplr.cli._options import opened

if TYPE_CHECKING:
    from dplr.ledger.budget import NullLedger
    from dplr.ledger.handle import Ledger
    from dplr.ledger.keeping import Keeping
    from dplr.privacy.statement import PrivacyStatement

T = TypeVar("T")


def payer(path: str | None, label: str | None, share: str | None) -> Ledger | None:
    """The ledger that pays; None without one."""
    ledger = opened(path, share)
    if ledger is None:
        if label is not None:
            raise Refused("`--label` is of an entry in a ledger: give --ledger too.", USAGE)
        return None
    with blamed(USAGE):
        return ledger.labelled(label)


def check_price(ledger: Ledger | None, path: str | None, statement: PrivacyStatement) -> None:
    """Refuse what the ledger cannot pay, before anything is read."""
    from dplr.privacy.statement import delta_words

    if ledger is not None and not (price := ledger.price(statement)).fits:
        raise Refused(
            f"the fit costs eps = {price.eps:g}, delta {delta_words(price.delta)}, and {path} has no room for it. "
            f"Nothing was spent. {price.obstacle}",
            BUDGET,
        )


def keeping(ledger: Ledger | None, target: str = "") -> Keeping | None:
    """The ledger, which keeps a model until its file is written; None without one."""
    return None if ledger is None else ledger.keeping(lambda est: _file_of(est, target))


def uncounted(target: str) -> NullLedger:
    """A stand-in where no ledger is given, so that a model that its file cannot hold is refused all the same."""
    from dplr.ledger.budget import NullLedger

    return NullLedger(lambda est: _file_of(est, target))


def _file_of(est: Any, target: str) -> bytes:
    from dplr.model_file import encode_model

    est.target_name_ = target
    return encode_model(est)


def paid(held: Keeping | None, work: Callable[[], T]) -> T:
    """The release; whoever interrupts it, or meets a fault, is told what it leaves in the ledger."""
    from dplr.ledger.budget import ReservationLost

    try:
        with blamed(FILE):
            return work()
    except KeyboardInterrupt:
        message = left_behind(held) or "Nothing was released, and nothing was spent."
        raise Refused(f"interrupted. {message}", INTERRUPTED) from None
    except Refused as refused:
        if isinstance(refused.__context__, ReservationLost):
            raise  # what the entry says is of whoever ended it
        raise Refused(f"{refused.message} {left_behind(held)}".rstrip(), refused.exit_code) from None


def left_behind(held: Keeping | None) -> str:
    """The trace in the ledger of a fit that did not end, and what to do, in words; empty where there is none."""
    if held is None or not held.tokens:
        return ""
    try:
        return _left_by(held, held.tokens[-1])
    except (OSError, RuntimeError, ValueError):
        return "What it left in the ledger could not be read. `dplr ledger show` tells it, once it can be."


def _left_by(held: Keeping, token: str) -> str:
    """The last entry of a reservation in words, and what to do."""
    from dplr.privacy.statement import delta_words

    last = held.ledger.entries_of(token)[-1]
    entry = f"entry {last.number} of the ledger, eps = {last.eps:g}, delta {delta_words(last.delta)}"
    if last.state == "refunded":
        return ""
    if last.number in held.ledger.kept():
        return f"Its model is paid for and kept: {entry}. `dplr ledger recover` writes it."
    if last.state == "reserved":
        return f"It drew no noise, and its cost is reserved: {entry}. `dplr ledger give-back` gives it back."
    return f"Noise may have been drawn, so its cost stays spent: {entry}. Nothing can give it back."


@contextmanager
def unspent() -> Iterator[None]:
    """Whoever presses Ctrl-C before anything is reserved is told so."""
    try:
        yield
    except KeyboardInterrupt:
        raise Refused("interrupted. Nothing was released, and nothing was spent.", INTERRUPTED) from None


@contextmanager
def uninterrupted() -> Iterator[None]:
    """A block that Ctrl-C does not end, in which a release is written."""
    old = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, old)


def saved(save: Callable[[str], Any], output: str, overwrite: bool, what: str, show: Callable[[], None]) -> None:
    """To the output; if that fails, elsewhere, and at last to standard output: it is paid for."""
    try:
        with claimed(output, overwrite):
            save(output)
    except (OSError, ValueError) as error:
        with suppress(OSError, ValueError):
            spare = os.path.join(tempfile.mkdtemp(prefix="dplr-"), f"{what}.json")
            save(spare)
            raise Refused(f"`{output}` could not be written ({error}). The {what} is in {spare}.", FILE) from None
        show()
        raise Refused(f"`{output}` could not be written ({error}). The {what} is on standard output.", FILE) from None
