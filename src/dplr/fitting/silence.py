"""No warning of a strict fit is shown: warnings may depend on the rows."""

from __future__ import annotations

import contextlib
import sys
import threading
import warnings
from collections.abc import Iterator

_quiet = threading.Lock()
_quiet_fits = [0]  # that run now
_quiet_until = contextlib.ExitStack()


def silence() -> contextlib.AbstractContextManager[object]:
    """No warning of a strict fit is shown, in this thread or in those of the pool."""
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
