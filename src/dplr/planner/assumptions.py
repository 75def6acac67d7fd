"""Assumptions of a simulation about rows that nobody has read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dplr._kit.validation import check_count, check_positive, real_number, sentence

LEAST_TABLES = 2  # of one table there is no standard error


@dataclass(frozen=True, eq=False, kw_only=True)
class Assumptions:
    """Assumptions of a simulated fit about the rows, beside their public bounds.

    Parameters
    ----------
    signal : float, default=0.4
        Share of the target's variation that the columns explain, above 0 and below 1: R^2 of a numeric target, and of
        the logistic variable behind two labels.
    positive : float, default=0.5
        Share of the second label, above 0 and below 1, where there are two; more than two are about equally frequent.
    sample : tuple of (X, y) or None, default=None
        Public rows and their targets: simulated tables are drawn from these rows with replacement instead, and `signal`
        and `positive` are not used. Two thirds of the rows are drawn from, and one third is scored.
    mean_weight : float or None, default=None
        Mean of the sample weights where a plan has `weight_bounds`, such as population / sample; None for half of their
        maximum. Every simulated row has this weight, at most the maximum.
    tables : int, default=4
        How many tables are made up, at least 2. Their spread gives the standard error.
    fits : int, default=2
        How many fits each of them has, for each eps.
    rows : int or None, default=None
        The most rows of a simulated table, at least 100; None for as many as hold two million numbers. A point with
        more rows than that is simulated with this number of rows, and says so: its error is then an upper estimate.
    seed : int, default=0
        Seed of the tables and of the simulated noise. The same seed gives the same figures.

    Raises
    ------
    ValueError, TypeError
        A parameter is outside its range.

    Privacy
    -------
    All of it is public knowledge, or a guess. A signal or a sample that was taken from the private rows would tell
    something about them that no statement covers.

    See Also
    --------
    dplr.plan_curve, dplr.plan_target, dplr.plan_intervals : Take them as `assume`.

    Examples
    --------
    >>> import dplr
    >>> dplr.Assumptions(signal=0.2, positive=0.1).signal
    0.2
    """

    signal: float = 0.4
    positive: float = 0.5
    sample: tuple[Any, Any] | None = None
    mean_weight: float | None = None
    tables: int = 4
    fits: int = 2
    rows: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        """Check what can be checked without bounds."""
        for name in ("signal", "positive"):
            value = real_number(name, getattr(self, name))
            if not 0 < value < 1:
                raise ValueError(sentence(name, "must be above 0 and below 1", value, "Give a share, such as 0.3."))
        if self.mean_weight is not None:
            check_positive("mean_weight", self.mean_weight)
        check_count("tables", self.tables, LEAST_TABLES)
        check_count("fits", self.fits)
        check_count("seed", self.seed, 0)
        if self.rows is not None:
            check_count("rows", self.rows, 100)
        if self.sample is not None and not (isinstance(self.sample, tuple) and len(self.sample) == 2):
            got = type(self.sample).__name__
            raise TypeError(sentence("sample", "must be a pair (X, y) of public rows and their targets", got))


def check_assumptions(assume: Any) -> Assumptions:
    """The user's assumptions, or the defaults."""
    if assume is None:
        return Assumptions()
    if not isinstance(assume, Assumptions):
        remedy = "Such as dplr.Assumptions(signal=0.2)."
        raise TypeError(sentence("assume", "must be a dplr.Assumptions", assume, remedy))
    return assume
