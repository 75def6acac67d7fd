"""The records of one driver about its fit, in a journal made for the first of them. See resuming.md, section 5."""

from __future__ import annotations

import contextlib
import glob
import os

from dplr._kit.recorder import sum_of_draw
from dplr._kit.validation import sentence
from dplr._kit.warnings import warn
from dplr.ledger.journal import Journal, name_of
from dplr.ledger.transactions import EntryState

_HOLDER = "holder"
_SPENT = "A second draw would be a choice among two: the cost stays spent."


class ForkedFit(RuntimeError):
    """A forked child would go on with a fit of its parent."""


class Recording:
    """The journal of one driver.

    If a record cannot be written, the fit goes on, its journal is removed, and it cannot be resumed from its records.

    Parameters
    ----------
    ledger, token, code : path of the ledger, name of the reservation, code of the fingerprint.
    holder : the name of this driver in the ledger.
    journal : of an earlier driver, whose process is gone; None for none.
    begun : whether an earlier driver drew noise that is in the journal.
    """

    def __init__(
        self,
        ledger: str,
        token: str,
        code: str,
        holder: str,
        journal: Journal | None = None,
        begun: bool = False,
    ) -> None:
        self._names, self._holder, self._journal = (ledger, token, code), holder, journal
        self._begun, self._ended, self._process = begun, False, os.getpid()

    @property
    def begun(self) -> bool:
        """Whether noise of this fit is recorded, or is about to be."""
        return self._begun

    def begin(self) -> None:
        """Record the name of this driver, before the ledger notes that it draws: `check_proof` compares the two."""
        if not self._begun:
            self.record(f"{_HOLDER} {self._holder}", b"")
            self._begun = True

    def get(self, key: str) -> bytes | None:
        """The payload that was recorded under a key, also after `end` and `close`; None for none."""
        return None if self._journal is None else self._journal.get(key)

    def record(self, key: str, payload: bytes) -> None:
        """Append a record; where that fails, remove the journal and warn. RuntimeError in a forked child."""
        self._check_process()
        if self._ended:
            return
        try:
            if self._journal is None:
                self._journal = Journal.create(*self._names)
            self._journal.record(key, payload)
        except (OSError, ValueError) as error:
            self.end()
            message = f"The journal of the fit cannot be written ({error}). The fit goes on; if it is killed, "
            warn(message + "it cannot go on from where it was.", UserWarning)

    def end(self) -> None:
        """Remove the journal, if this driver has one. RuntimeError in a forked child, whose draw nobody would see."""
        self._check_process()
        self._ended = True
        if self._journal is not None:
            self._journal.remove()

    def _check_process(self) -> None:
        if self._process != os.getpid():
            rule = "must be written and removed by the process that began the fit"
            remedy = "Begin a fit of its own in a process that was forked while a fit ran."
            raise ForkedFit(sentence("journal", rule, "a process forked from it", remedy))

    def close(self) -> None:
        """Close the journal, so that another process may go on with it."""
        self._ended = True
        if self._journal is not None:
            self._journal.close()


def reopened(ledger: str, token: str, code: str) -> Journal | None:
    """The journal of an earlier driver; None for none. Raises while that driver lives, and for a damaged one."""
    try:
        return Journal.reopen(ledger, token, code)
    except FileNotFoundError:
        return None


def check_proof(journal: Journal | None, holder: str | None) -> None:
    """Raise ValueError unless the journal holds all noise that the fit drew, so that none is drawn a second time.

    That is so if the driver whom the ledger knows as the holder drew nothing that is not recorded there, and each sum
    for which noise was about to be drawn is there.
    """
    rule = "must hold all noise that the fit drew, or nobody goes on with it"
    if journal is None:
        raise ValueError(sentence("journal", rule, "no journal", _SPENT))
    keys = set(journal.keys())
    if f"{_HOLDER} {holder}" not in keys:
        raise ValueError(sentence("journal", rule, "that of a driver which did not draw", _SPENT))
    for key in sorted(keys):
        if (sum_ := sum_of_draw(key)) is not None and sum_ not in keys:
            raise ValueError(sentence("journal", rule, f"`{key}` without its sum", _SPENT))


def hand_over(journal: Journal | None, before: str | None, holder: str) -> None:
    """Write a new driver into the journal of a fit that drew; ValueError where that would draw noise again."""
    check_proof(journal, before)
    assert journal is not None
    journal.record(f"{_HOLDER} {holder}", b"")


def remove_unproved(ledger: str, token: str, entry: EntryState) -> None:
    """Remove the journal of a fit that drew, if its process is gone and nobody may go on with it."""
    with contextlib.suppress(OSError, ValueError), Journal.reopen(ledger, token, entry.code or "") as journal:
        try:
            check_proof(journal, entry.holder)
        except ValueError:
            journal.remove()


def remove_journal(ledger: str, token: str) -> None:
    """Remove the journal of a reservation that has ended, if there is one; what cannot be removed stays for a sweep."""
    with contextlib.suppress(OSError):
        os.unlink(name_of(ledger, token))


def has_journal(ledger: str, token: str) -> bool:
    """Whether a reservation has a journal."""
    return os.path.lexists(name_of(ledger, token))


def prefixes_of(ledger: str) -> list[str]:
    """The first characters of the tokens of all reservations that have a journal beside a ledger."""
    begins = name_of(ledger, "")
    return [path[len(begins) :] for path in glob.glob(f"{glob.escape(begins)}*")]
