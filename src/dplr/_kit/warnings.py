"""The kinds of warnings, all for the data holder alone, and the way to the user's line."""

from __future__ import annotations

import contextlib
import contextvars
import sys
import warnings
from collections.abc import Iterator
from types import FrameType

# Frames of these stand between the user and a fit.
_BETWEEN = ("dplr", "sklearn", "joblib", "functools", "contextlib")
_muted = contextvars.ContextVar[tuple[type[Warning], ...]]("_muted", default=())


class PrivacyWarning(UserWarning):
    """The promise is weaker than it looks: it covers less, or hardly anything, or the noise can be drawn again.

    Privacy
    -------
    It is for the data holder, and not part of a release.

    Examples
    --------
    >>> import warnings, numpy as np, dplr
    >>> X = np.random.default_rng(0).uniform(-0.5, 0.5, (1000, 2))
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     _ = dplr.fit(X, X[:, 0] > 0, eps=1.0, rng=0)  # a seed protects nobody
    >>> any(issubclass(each.category, dplr.PrivacyWarning) for each in caught)
    True
    """


class DataWarning(UserWarning):
    """A fact about the rows, such as how many values were clipped or are unknown.

    Fits give it, and whatever else is asked about rows: predictions, scores, evaluations and transformers. It is not
    private: never publish it.

    Privacy
    -------
    It shows shares of private rows, without noise, to the data holder alone.

    Examples
    --------
    >>> import warnings, numpy as np, dplr
    >>> X = np.random.default_rng(0).uniform(0, 2, (1000, 2))
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     _ = dplr.fit(X, X[:, 0] > 1, bounds=dplr.Bounds([(0, 1), (0, 2)]), eps=1.0)
    >>> any(issubclass(each.category, dplr.DataWarning) for each in caught)
    True
    """

    def __init__(self, fact: str, note: str = "") -> None:
        super().__init__(f"{fact} ({note})" if note else fact)
        self.fact = fact


class UtilityWarning(UserWarning):
    """The noise is too large for the rows: the model will probably be no better than none, or lines say nothing.

    It is given before eps is spent. Of a fit with ``aim="coefficients"`` it names the lines of the table that may be
    silent, and one change that would make lines speak, by a simulation.

    Privacy
    -------
    A function of public facts, unlike `DataWarning`.

    See Also
    --------
    dplr.plan : Says it before there are data: `Plan.outlook`.

    Examples
    --------
    >>> import warnings, numpy as np, dplr
    >>> X = np.random.default_rng(0).uniform(-0.5, 0.5, (20, 2))
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     _ = dplr.fit(X, X[:, 0] > 0, eps=0.1)
    >>> any(issubclass(each.category, dplr.UtilityWarning) for each in caught)
    True
    """


@contextlib.contextmanager
def muted(category: type[Warning]) -> Iterator[None]:
    """Do not give our warnings of this kind, in this context.

    Filters may belong to the whole process: threads that put them back in another order leave them wrong.
    """
    before = _muted.set((*_muted.get(), category))
    try:
        yield
    finally:
        _muted.reset(before)


def warn(message: str | Warning, category: type[Warning]) -> None:
    """Warn at the line of the user's that led here.

    A filter ``warnings.filterwarnings("ignore", category=dplr.DataWarning)`` silences one kind.
    """
    if issubclass(category, _muted.get()):
        return
    frame: FrameType | None = sys._getframe(1)
    level = 2
    while frame is not None and str(frame.f_globals.get("__name__")).partition(".")[0] in _BETWEEN:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
