"""What one driver writes down of its fit, in a journal made for the first record. See resuming.md, section 5."""

from __future__ import annotations

import contextlib
import glob
import os

from dplr._validation import sentence
from dplr._warnings import warn
from dplr.ledger.journal import Journal, name_of

_FACTS = "facts"


class Recording:
    """The journal of one driver.

    What cannot be written is not needed: the fit goes on, its journal is removed, and it cannot be resumed from there.

    Parameters
    ----------
    ledger, token, fingerprint : of the reservation.
    journal : of an earlier driver, whose process is gone; None for none.
    """

    def __init__(self, ledger: str, token: str, fingerprint: str, journal: Journal | None = None) -> None:
        self._names, self._journal = (ledger, token, fingerprint), journal
        self._facts, self._ended = "", False

    def bind(self, facts: str) -> None:
        """Raise where the journal is about other facts; see `Recorder`."""
        self._facts = facts
        found = self.get(_FACTS)
        if found is not None and found.decode() != facts:
            remedy = "Resume with the parameters and bounds of the first run."
            raise ValueError(
                sentence("journal", "must be of the fit that is resumed", name_of(*self._names[:2]), remedy)
            )

    def get(self, key: str) -> bytes | None:
        """What was recorded under that key, also where nothing more is."""
        return None if self._journal is None else self._journal.get(key)

    def record(self, key: str, payload: bytes) -> None:
        """Write it down for good, or remove the journal and say so."""
        if self._ended:
            return
        try:
            if self._journal is None:
                self._journal = Journal.create(*self._names)
            if self._facts and self._journal.get(_FACTS) is None:
                self._journal.record(_FACTS, self._facts.encode())
            self._journal.record(key, payload)
        except (OSError, ValueError) as error:
            self.end()
            said = f"The journal of the fit cannot be written ({error}). The fit goes on; if it is killed, "
            warn(said + "it cannot go on from where it was.", UserWarning)

    def end(self) -> None:
        """Remove the journal, if this driver has one."""
        self._ended = True
        if self._journal is not None:
            self._journal.remove()

    def close(self) -> None:
        """Let another process go on with it."""
        self._ended = True
        if self._journal is not None:
            self._journal.close()


def reopened(ledger: str, token: str, fingerprint: str) -> Journal | None:
    """The journal of an earlier driver; None for none. Raises while that driver lives, and for a damaged one."""
    try:
        return Journal.reopen(ledger, token, fingerprint)
    except FileNotFoundError:
        return None


def remove_journal(ledger: str, token: str) -> None:
    """Remove the journal of a reservation that has ended, if there is one; what cannot be removed stays for a sweep."""
    with contextlib.suppress(OSError):
        os.unlink(name_of(ledger, token))


def journals_of(ledger: str) -> list[str]:
    """The names of all journals beside a ledger."""
    return glob.glob(f"{glob.escape(ledger)}.fit-*")
