"""Silence for strict ledgers: warnings and floating-point errors depend on the data."""

from __future__ import annotations

import contextlib
import sys
import threading
import warnings
from collections.abc import Iterator

import numpy as np

from dplr._warnings import muted

_quiet = threading.Lock()
_quiet_fits = [0]  # that run now
_quiet_until = contextlib.ExitStack()


@contextlib.contextmanager
def silence() -> Iterator[None]:
    """No warning of a strict fit is shown, in this thread or in those of the pool, and arithmetic never raises."""
    with _no_warnings(), muted(Warning), np.errstate(all="ignore"):
        yield


def _no_warnings() -> contextlib.AbstractContextManager[object]:
    if getattr(sys.flags, "context_aware_warnings", False):  # then filters belong to a context, which the pool copies
        return warnings.catch_warnings(action="ignore")
    return _silence_of_the_process()


@contextlib.contextmanager
def _silence_of_the_process() -> Iterator[None]:
    """No warning is shown while any strict fit runs: filters belong to the process, and threads end in any order."""
    with _quiet:
        if _quiet_fits[0] == 0:
            _quiet_until.enter_context(warnings.catch_warnings(action="ignore"))
        _quiet_fits[0] += 1
    try:
        yield
    finally:
        with _quiet:
            _quiet_fits[0] -= 1
            if _quiet_fits[0] == 0:
                _quiet_until.close()
