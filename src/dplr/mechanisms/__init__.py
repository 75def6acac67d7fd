"""The mechanisms: one file each, a frozen spec with plan() and run(), its proof beside it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from dplr._validation import sentence
from dplr.mechanisms.functional import FunctionalMechanism
from dplr.mechanisms.noisy_gd import NoisyGradientDescent
from dplr.mechanisms.none import NoPrivacy
from dplr.mechanisms.objective import ObjectivePerturbation
from dplr.mechanisms.output import OutputPerturbation
from dplr.noise import Source
from dplr.problem import Plan, Problem
from dplr.progress import Track, silent
from dplr.result import Fit
from dplr.rows import Rows

__all__ = [
    "FunctionalMechanism", "Mechanism", "NoPrivacy", "NoisyGradientDescent", "ObjectivePerturbation",
    "OutputPerturbation", "as_mechanism",
]  # fmt: skip


class Mechanism(Protocol):
    """Plans from public facts alone, then runs on rows."""

    def plan(self, problem: Problem, eps: float, delta: float) -> Plan:
        """Fix everything public; raise ValueError for what the mechanism cannot promise."""
        ...

    def run(self, rows: Rows, plans: Sequence[Plan], source: Source, track: Track = silent) -> list[Fit]:
        """Sum, add noise, post-process: one fit for each plan of one problem, each with noise of its own."""
        ...


SHORTHANDS: dict[str, Mechanism] = {
    "fm": FunctionalMechanism(),
    "output": OutputPerturbation(),
    "objective": ObjectivePerturbation(),
    "ngd": NoisyGradientDescent(),
    "none": NoPrivacy(),
}
_SPECS = tuple(type(spec) for spec in SHORTHANDS.values())


def as_mechanism(mechanism: Any) -> Mechanism:
    """A spec from its shorthand; a spec stays as it is."""
    if isinstance(mechanism, str) and mechanism in SHORTHANDS:
        return SHORTHANDS[mechanism]
    if isinstance(mechanism, _SPECS):
        return mechanism
    names = ", ".join(repr(name) for name in SHORTHANDS)
    rule = f"must be one of {names} or a spec such as FunctionalMechanism()"
    raise ValueError(sentence("mechanism", rule, mechanism))
