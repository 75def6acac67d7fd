"""The mechanisms: one folder each, a frozen spec with plan() and run(), its proof beside it."""

from __future__ import annotations

from typing import Any

from dplr._validation import sentence
from dplr.mechanisms.functional.spec import FunctionalMechanism
from dplr.mechanisms.noisy_gd.spec import NoisyGradientDescent
from dplr.mechanisms.perturbation.none import NoPrivacy
from dplr.mechanisms.perturbation.objective import ObjectivePerturbation
from dplr.mechanisms.perturbation.output import OutputPerturbation
from dplr.mechanisms.protocol import Mechanism

__all__ = [
    "FunctionalMechanism", "Mechanism", "NoPrivacy", "NoisyGradientDescent", "ObjectivePerturbation",
    "OutputPerturbation", "as_mechanism",
]  # fmt: skip


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
