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
from dplr.cli._jobs import left_behind
from dplr.cli._options import opened

if TYPE_CHECKING:
    from dplr.ledger.handle import Ledger
    from dplr.ledger.job import Job
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
    from dplr.privacy.words import delta_words

    if ledger is not None and not (price := ledger.price(statement)).fits:
        raise Refused(
            f"the fit costs eps = {price.eps:g}, delta {delta_words(price.delta)}, and {path} has no room for it. "
            f"Nothing was spent. {price.obstacle}",
            BUDGET,
        )


def paid(job: Job | None, work: Callable[[], T]) -> T:
    """The release; whoever interrupts it, or meets a fault, is told what it leaves in the ledger."""
    from dplr.ledger.budget import ReservationLost

    try:
        with blamed(FILE):
            return work()
    except KeyboardInterrupt:
        message = left_behind(job) or "Nothing was released, and nothing was spent."
        raise Refused(f"interrupted. {message}", INTERRUPTED) from None
    except Refused as refused:
        if isinstance(refused.__context__, ReservationLost):
            raise  # what the entry says is of whoever ended it
        raise Refused(f"{refused.message} {left_behind(job)}".rstrip(), refused.exit_code) from None


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
