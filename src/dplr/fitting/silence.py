"""Silence for strict ledgers: warnings and floating-point errors depend on the data."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import warnings
from collections.abc import Iterator

import numpy as np

from dplr._kit.warnings import muted

_quiet = threading.RLock()
_process = os.getpid()  # whose lock it is
_quiet_fits: list[int] = []  # the threads of those that run now
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
    this = threading.get_ident()
    if _process != os.getpid():  # a signal cut the hook after a fork short
        _start_afresh()
    with _quiet:
        if not _quiet_fits:
            _quiet_until.enter_context(warnings.catch_warnings(action="ignore"))
        _quiet_fits.append(this)
    try:
        yield
    finally:
        with _quiet:
            _quiet_fits.remove(this)
            if not _quiet_fits:
                _quiet_until.close()


def _start_afresh() -> None:
    """Forget fits of other threads in a forked child, where these threads do not exist and would never end."""
    global _quiet, _process
    _quiet, _process = threading.RLock(), os.getpid()
    _quiet_fits[:] = [thread for thread in _quiet_fits if thread == threading.get_ident()]
    if not _quiet_fits:
        _quiet_until.close()


def _hold() -> None:
    _quiet.acquire()


def _let_go() -> None:
    with contextlib.suppress(RuntimeError):  # a signal cut `_hold` short
        _quiet.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_hold, after_in_parent=_let_go, after_in_child=_start_afresh)
