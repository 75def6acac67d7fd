"""What every door keeps whatever comes in: a documented refusal in a sentence, with nothing drawn, or what it says."""

import collections
import contextlib
import random
import re

import dplr.noise

ACCEPTED, REFUSED = "accepted", "refused"
# Exactly these and those of dplr itself: a subclass such as UnicodeError or ArrowInvalid is a fault that got out.
KINDS = (ValueError, TypeError, OSError, RuntimeError, FileNotFoundError, PermissionError, IsADirectoryError,
         NotADirectoryError, TimeoutError)  # fmt: skip
LONGEST = 4000  # characters of a message


class Finding(AssertionError):
    """A door broke its law."""


class Bytes(random.Random):
    """A random generator that reads the bytes of a coverage-guided fuzzer; zeros when they end."""

    def __new__(cls, data):
        return super().__new__(cls)

    def __init__(self, data):
        self._data, self._place = data, 0
        super().__init__(0)

    def getrandbits(self, k):
        size = (k + 7) // 8
        piece = self._data[self._place : self._place + size]
        self._place += size
        return int.from_bytes(piece.ljust(size, b"\0"), "little") >> (8 * size - k)

    def random(self):
        return self.getrandbits(53) / 2**53


def check_refusal(error):
    """An error must be of a documented kind, and a sentence that names a parameter."""
    kind, text = type(error), str(error)
    if kind not in KINDS and not kind.__module__.startswith("dplr."):
        raise Finding(f"{kind.__module__}.{kind.__name__}: {text[:300]}") from error
    if not re.search(r"`[^`]+`|column ['\"]", text) or len(text) > LONGEST:
        raise Finding(f"not a sentence that names a parameter: {kind.__name__}: {text[:300]}") from error


def attempt(call):
    """(outcome, value): what the call returned, or a proper refusal; Finding for any other error."""
    try:
        return ACCEPTED, call()
    except Finding:
        raise
    except Exception as error:
        check_refusal(error)
        return REFUSED, None


@contextlib.contextmanager
def nothing_drawn_when_refused():
    """Count the draws of all sources inside: a list that holds one entry per draw."""
    draws, real = [], dplr.noise.Source._tell

    def counted(self):
        draws.append(1)
        return real(self)

    dplr.noise.Source._tell = counted
    try:
        yield draws
    finally:
        dplr.noise.Source._tell = real


def require(truth, complaint):
    if not truth:
        raise Finding(complaint)


class Campaign:
    """Cases of one door, and what became of them: `findings` holds (number of the case, complaint), one per kind."""

    def __init__(self, door):
        self.door, self.counts, self.findings, self._kinds = door, collections.Counter(), [], set()

    def attack(self, rng, number):
        """One case; the complaint of a new finding, or None."""
        try:
            outcome = self.door.attack(rng)
        except Exception as error:
            complaint = str(error) if isinstance(error, Finding) else f"{type(error).__name__}: {error}"
            known = any(re.search(pattern, complaint) for pattern in self.door.KNOWN)
            self.counts["known" if known else "finding"] += 1
            kind = re.sub(r"[\d.]+|'[^']*'|`[^`]*`|; got .*", "", complaint)[:80]
            if known or kind in self._kinds:
                return None
            self._kinds.add(kind)
            self.findings.append((number, complaint))
            return complaint
        self.counts[outcome] += 1
        return None
