"""Plans of mechanisms, fixed before any row is read."""

from __future__ import annotations

import math
import textwrap
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from dplr._kit import markup
from dplr._kit.validation import sentence
from dplr.privacy.statement import PrivacyStatement, Release, alarms
from dplr.problem.outlook import Outlook, outlook_of
from dplr.problem.problem import Problem

if TYPE_CHECKING:
    from dplr.ledger.handle import LedgerLike
    from dplr.ledger.terms import Price


class Settings(ABC):
    """The settings of the algorithm of one mechanism, such as a ridge or a number of steps. Public."""

    __slots__ = ()

    @property
    def samples_rows(self) -> bool:
        """Whether a pass reads a random batch of the rows, which must then be in memory."""
        return False

    @property
    @abstractmethod
    def line(self) -> tuple[str, str]:
        """A label and a text."""


@dataclass(frozen=True)
class Plan:
    """The plan of a mechanism, fixed before any row is read: the result of `dplr.plan`.

    Attributes
    ----------
    mechanism : object
        The mechanism, with its options.
    problem : object
        The public facts, as the mechanism has them; ``print(plan)`` shows them.
    statement : dplr.privacy.PrivacyStatement
        The statement of the release to come.
    settings : object or None, default=None
        The settings of the algorithm: `ridge` and `tolerance` of mechanisms that minimise the regularised objective
        itself; `steps`, `learning_rate` and `clip` of noisy gradient descent; None for other mechanisms.
    classes : tuple, default=()
        The labels with a model each, of more than two; () for one model.
    first : object or None, default=None
        The private ranges that are released before the models; None for none.
    each : Plan or None, default=None
        The plan of every model, where this one is about more: about several models, or about ranges too.

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
    >>> isinstance(plan, dplr.results.Plan), plan.statement.eps
    (True, 0.8)
    >>> sorted(plan.released)
    ['coef']
    """

    mechanism: Any  # its room stands above this one
    problem: Problem
    statement: PrivacyStatement
    settings: Any = None  # a Settings value of the mechanism, which knows its type
    classes: tuple[Any, ...] = ()
    first: Any = None  # a value of fitting.ranges
    each: Plan | None = None

    @property
    def model(self) -> Plan:
        """The plan of every model, which its mechanism runs; this one where it is about one model alone."""
        return self.each or self

    @cached_property
    def outlook(self) -> Outlook | None:
        """The expected effect of noise: `ratio`, the noise in a prediction beside what columns usually explain, and
        `drowned`, whether the model will probably be no better than none; None where public facts do not tell.
        """
        return self.outlook_at(self.statement.eps)

    def outlook_at(self, eps: float) -> Outlook | None:
        """The outlook of a release at this cost, of which the models may have a share. Private."""
        known = math.isfinite(eps) and self.mechanism is not None
        return outlook_of(self.problem, self.mechanism.gradient_noise(self.model), eps) if known else None

    def stating(self, **facts: Any) -> Plan:
        """The plan with these facts in its statements. Private."""
        for name, fact in facts.items():
            if getattr(self.statement, name) != fact:
                each = None if self.each is None else self.each.stating(**facts)
                return replace(self, statement=replace(self.statement, **facts), each=each)
        return self  # as nearly always: copies take a tenth of the time of a small fit

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

    @property
    def _title(self) -> str:
        return f"Plan: {self.problem.loss.label} loss, {self.problem.geometry.d} features"

    @property
    def _lines(self) -> list[tuple[str, str]]:
        l2 = "chosen by the mechanism from public facts" if self.problem.l2 is None else f"{self.problem.l2:g}"
        lines = [("scaled rows", str(self.problem.geometry)), ("l2", l2)]
        return lines if self.settings is None else [*lines, self.settings.line]

    @property
    def _doubts(self) -> list[str]:
        return [str(self.outlook)] if self.outlook is not None and self.outlook.drowned else []

    def __str__(self) -> str:
        lines = [self._title, *(f"  {name:14}{text}" for name, text in self._lines)]
        for doubt in self._doubts:
            lines += textwrap.wrap(f"  outlook       {doubt}", 110, subsequent_indent=" " * 16)
        return "\n".join([*lines, str(self.statement)])

    def _repr_html_(self) -> str:
        doubts, statement = markup.alarms([*self._doubts, *alarms(self.statement)]), self.statement
        parts = markup.facts(self._lines), markup.facts(statement.lines, statement.title)
        return markup.piece(self._title, doubts, *parts)
