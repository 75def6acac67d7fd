"""Plans of mechanisms, fixed before any row is read."""

from __future__ import annotations

import math
import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dplr._kit.validation import sentence
from dplr.privacy.statement import PrivacyStatement, Release
from dplr.problem.outlook import Outlook
from dplr.problem.problem import Problem

if TYPE_CHECKING:
    from dplr.ledger.handle import LedgerLike
    from dplr.ledger.terms import Price


@dataclass(frozen=True, slots=True)
class Minimisation:
    """How the regularised sum objective will be minimised.

    Attributes
    ----------
    ridge : Lam in sum l_i(w) + Lam ||w - w0||^2 / 2, for the weighted problem.
    tolerance : tau; the returned coefficients lie within tau / Lam of the minimum.
    passes : how many passes over the rows are surely enough; proved in `_core/loss.md`.
    tolerance_noise : norm-Gamma scale of the noise that pays for the tolerance; 0 where the sensitivity pays.
    weights : (q,) what columns are multiplied by, and coefficients divided by, before they are minimised over: a ridge
        Lam / weights^2 of the coefficients themselves. Empty for 1 each.
    """

    ridge: float
    tolerance: float
    passes: int
    tolerance_noise: float = 0.0
    weights: tuple[float, ...] = ()

    @property
    def ridges(self) -> tuple[float, ...]:
        """The smallest and the largest ridge of a coefficient; one number where they are the same."""
        ridges = {self.ridge / weight**2 for weight in self.weights or (1.0,)}
        return (min(ridges), max(ridges)) if len(ridges) > 1 else (self.ridge,)


@dataclass(frozen=True, slots=True)
class Descent:
    """How noisy gradient descent will go.

    Attributes
    ----------
    steps, learning_rate : of the mean objective of the scaled problem.
    momentum : how much of the last step's direction stays; a direction keeps its whole learning rate in the long run.
    clip : largest norm of one row's gradient.
    tail : how many of the last iterates are averaged; 1 for the last one alone.
    l2 : ridge of the mean objective.
    start : (q,) first iterate.
    rows : what a sum is divided by: a public guess of its rows' weights, of a Poisson batch as many as are expected.
    rate_units : a unit, with all of its rows, enters a sum with this probability, in units of 2^-32.
    radius : where the sum itself is clipped, its largest norm; inf for no such clip.
    standardised : whether rows are centred and rescaled first, by sums that are released; rate and clip are then those
        of the standardised problem.
    """

    steps: int
    learning_rate: float
    momentum: float
    clip: float
    tail: int
    l2: float
    start: tuple[float, ...]
    rows: float
    rate_units: int = 2**32
    radius: float = math.inf
    standardised: bool = False

    @property
    def rate(self) -> float:
        """Probability with which a unit enters a sum."""
        return self.rate_units / 2**32


@dataclass(frozen=True, slots=True)
class Plan:
    """The plan of a mechanism, fixed before any row is read: the result of `dplr.plan`.

    Attributes
    ----------
    problem : object
        The public facts, as the mechanism has them; ``print(plan)`` shows them.
    statement : dplr.PrivacyStatement
        The statement of the release to come.
    minimisation : object or None, default=None
        With `ridge` and `tolerance`, for mechanisms that minimise the regularised objective itself; None for others.
    descent : object or None, default=None
        With `steps`, `learning_rate` and `clip`, for noisy gradient descent; None for others.
    outlook : object or None, default=None
        With `ratio`, the noise in a prediction beside what columns usually explain, and `drowned`, whether the model
        will probably be no better than none; None where public facts do not tell.

    Privacy
    -------
    A function of public facts: reading, printing or publishing a plan spends nothing.

    See Also
    --------
    dplr.plan : Makes one.
    dplr.Ledger : Takes a plan where it takes a statement.

    Examples
    --------
    >>> import dplr
    >>> plan = dplr.plan(n_rows=1000, n_features=2, eps=0.8)
    >>> isinstance(plan, dplr.Plan), plan.statement.eps
    (True, 0.8)
    >>> sorted(plan.released)
    ['coef']
    """

    problem: Problem
    statement: PrivacyStatement
    minimisation: Minimisation | None = None
    descent: Descent | None = None
    outlook: Outlook | None = None

    @property
    def released(self) -> dict[str, Release]:
        """The blocks that will be released: a dict of their names to `dplr.privacy.Release`."""
        return dict(self.statement.released)

    def cost(self, ledger: LedgerLike, fits: int = 1) -> Price:
        """The cost to a ledger of releases of this plan, and whether all fit now; reads no data and spends nothing.

        Parameters
        ----------
        ledger : dplr.Ledger, str or path-like
            A ledger or the path of one.
        fits : int, default=1
            How many equal releases.

        Returns
        -------
        dplr.ledger.Price
            The cost, and what would remain.

        Raises
        ------
        ValueError, TypeError
            No ledger, or one that would never take this statement; or `fits` is not a positive integer.
        OSError
            The file cannot be read.

        Privacy
        -------
        Reads no row. What fits that failed have spent may show in it: see `dplr.ledger.Price`.

        Examples
        --------
        >>> import dplr, tempfile, os
        >>> ledger = dplr.Ledger(os.path.join(tempfile.mkdtemp(), "budget"), eps=1.0)
        >>> plan = dplr.plan(n_rows=1000, n_features=2, eps=0.2)
        >>> plan.cost(ledger, fits=5).fits, plan.cost(ledger, fits=6).fits
        (True, False)
        """
        from dplr.ledger.handle import Ledger, as_ledger

        budget = as_ledger(ledger)
        if not isinstance(budget, Ledger):
            raise TypeError(sentence("ledger", "must be a dplr.Ledger or the path of one", ledger))
        return budget.price(self.statement, fits=fits)

    def __str__(self) -> str:
        """Return the plan as readable lines."""
        l2 = "chosen by the mechanism from public facts" if self.problem.l2 is None else f"{self.problem.l2:g}"
        lines = [
            f"Plan: {self.problem.loss.label} loss, {self.problem.geometry.d} features",
            f"  scaled rows   {self.problem.geometry}",
            f"  l2            {l2}",
        ]
        if self.minimisation is not None:
            solved = self.minimisation
            certified = f"certified within {solved.tolerance / solved.ridge:.3g} of the minimum"
            ridge = " to ".join(f"{value:.6g}" for value in solved.ridges)
            lines.append(f"  minimisation  ridge {ridge} on the sum objective, {certified}")
        if self.descent is not None:
            walk = self.descent
            rows = "all rows" if walk.rate_units == 2**32 else f"Poisson batches of {walk.rows:.6g} rows expected"
            rows += ", standardised" if walk.standardised else ""
            lines.append(
                f"  descent       {walk.steps} steps of rate {walk.learning_rate:.6g} over {rows}, "
                f"momentum {walk.momentum:.6g}, clip {walk.clip:.6g}, the last {walk.tail} averaged"
            )
        if self.outlook is not None and self.outlook.drowned:
            lines += textwrap.wrap(f"  outlook       {self.outlook}", 110, subsequent_indent=" " * 16)
        return "\n".join([*lines, str(self.statement)])
