"""What every mechanism can do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from dplr._progress import Track, silent
from dplr.noise import Source
from dplr.problem.fit import Fit
from dplr.problem.plan import Plan
from dplr.problem.problem import Problem
from dplr.rows import Rows


class Mechanism(Protocol):
    """Plans from public facts alone, then runs on rows."""

    def plan(self, problem: Problem, eps: float, delta: float) -> Plan:
        """Fix everything public; raise ValueError for what the mechanism cannot promise."""
        ...

    def run(self, rows: Rows, plans: Sequence[Plan], source: Source, track: Track = silent) -> list[Fit]:
        """Sum, add noise, post-process: one fit for each plan of one problem, each with noise of its own."""
        ...
