"""Assumptions of a simulation about rows that nobody has read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dplr._kit.validation import check_count, check_positive, real_number, sentence

_WIDEST = 0.5  # half of the rows at either end
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
    shares : mapping or None, default=None
        Shares by the name of a column, from a codebook or a published table: of a flag that is declared (0, 1) or of
        the second of two levels a number; of levels or bins a list in their order, or a mapping of some of them.
        The shares of merged levels add up. Without it levels but the first have the `least_share` of their bounds, if
        one is declared; else levels, and the two values of a flag, are as frequent as 1, 1/2, 1/3 and so on in their
        declared order, and bins and ordered levels are equally frequent. In narrow tables, of which intervals are
        expected, flags are 1 in 10 % of the rows, and each level but the first has 3 %.
    spread : mapping or None, default=None
        Standard deviations by the name of a number, in parts of its declared range and on the scale of its transform,
        or pairs (mean, deviation), the mean from 0 at the lower bound to 1 at the upper one. Such numbers have a beta
        law; a deviation alone stands for one that falls from the lower bound, as incomes do. Without it numbers are
        triangular, of deviation 0.2; in narrow tables they have a deviation of 0.03.
    target_spread : float or None, default=None
        Standard deviation of a numeric target in parts of its range; None for 0.2, that of a triangle. Intervals
        without privacy are in proportion to it. Counts are Poisson: it says their mean, which is else an eighth of
        their range above the lower bound.
    sample : tuple of (X, y) or None, default=None
        Public rows and their targets: simulated tables are drawn from these rows with replacement instead, and `signal`
        and `positive` are not used; shares and spreads are those of the rows. Two thirds of the rows are drawn from,
        and one third is scored.
    mean_weight : float or None, default=None
        Mean of the sample weights where bounds have a `weight_max`, such as population / sample; None for half of their
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
    dplr.plan_curve, dplr.plan_target : Take them as `assume`.

    Examples
    --------
    >>> import dplr
    >>> dplr.planner.Assumptions(signal=0.2, positive=0.1).signal
    0.2
    """

    signal: float = 0.4
    positive: float = 0.5
    shares: Mapping[str, Any] | None = None
    spread: Mapping[str, Any] | None = None
    target_spread: float | None = None
    sample: tuple[Any, Any] | None = None
    mean_weight: float | None = None
    tables: int = 4
    fits: int = 2
    rows: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("signal", "positive"):
            value = real_number(name, getattr(self, name))
            if not 0 < value < 1:
                raise ValueError(sentence(name, "must be above 0 and below 1", value, "Give a share, such as 0.3."))
        self._check_columns()
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

    def _check_columns(self) -> None:
        """Check what is assumed of columns, as far as it can be without bounds."""
        for name in ("shares", "spread"):
            value = getattr(self, name)
            if value is not None and not isinstance(value, Mapping):
                remedy = "Such as {'work': [0.6, 0.25, 0.15]}." if name == "shares" else "Such as {'gain': 0.05}."
                raise TypeError(sentence(name, "must be a mapping of names of columns", value, remedy))
            if value and self.sample is not None:
                raise ValueError(sentence(name, "must be None with a sample", value, "The sample has its own."))
        if self.target_spread is not None and not 0 < real_number("target_spread", self.target_spread) <= _WIDEST:
            rule = f"must be above 0 and at most {_WIDEST}, in parts of the target's range"
            raise ValueError(sentence("target_spread", rule, self.target_spread))


def check_assumptions(assume: Any) -> Assumptions:
    """The user's assumptions, or the defaults."""
    if assume is None:
        return Assumptions()
    if not isinstance(assume, Assumptions):
        remedy = "Such as dplr.planner.Assumptions(signal=0.2)."
        raise TypeError(sentence("assume", "must be a dplr.planner.Assumptions", assume, remedy))
    return assume
