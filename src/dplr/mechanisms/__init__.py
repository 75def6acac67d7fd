"""The mechanisms: one folder each, with a frozen spec with plan() and run(), and its proof. Private.

A new one is a folder, an import for type checkers here, and its place in `descriptions`. Nothing registers itself.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from dplr._kit.validation import sentence
from dplr.mechanisms.automatic import AUTO
from dplr.mechanisms.descriptions import SHORTHANDS as SHORTHANDS
from dplr.mechanisms.protocol import Mechanism, MechanismLike

if TYPE_CHECKING:
    from dplr.mechanisms.functional.spec import FunctionalMechanism as FunctionalMechanism
    from dplr.mechanisms.noisy_gd.spec import NoisyGradientDescent as NoisyGradientDescent
    from dplr.mechanisms.perturbation.none import NoPrivacy as NoPrivacy
    from dplr.mechanisms.perturbation.objective import ObjectivePerturbation as ObjectivePerturbation
    from dplr.mechanisms.perturbation.output import OutputPerturbation as OutputPerturbation
    from dplr.mechanisms.score.spec import ScoreRelease as ScoreRelease

__all__ = [
    "FunctionalMechanism",
    "NoPrivacy",
    "NoisyGradientDescent",
    "ObjectivePerturbation",
    "OutputPerturbation",
    "ScoreRelease",
]


def as_mechanism(mechanism: MechanismLike) -> Mechanism:
    """A spec from its shorthand; a spec stays as it is. What `"auto"` stands for depends on a fit: see `automatic`."""
    if isinstance(mechanism, str) and mechanism in SHORTHANDS:
        return _default_spec(SHORTHANDS[mechanism].kind)
    if isinstance(mechanism, Mechanism) and SHORTHANDS.get(mechanism.about.name) == mechanism.about:
        return mechanism
    names = ", ".join(repr(name) for name in (AUTO, *SHORTHANDS))
    rule = f"must be one of {names} or a spec such as FunctionalMechanism()"
    raise ValueError(sentence("mechanism", rule, mechanism))


@lru_cache
def _default_spec(kind: Any) -> Mechanism:
    """The spec with its default options, cached because a fit needs it three times."""
    spec: Mechanism = kind()
    return spec


def check_mechanism(mechanism: MechanismLike) -> None:
    """Raise ValueError unless it is a shorthand, a spec, or `"auto"`."""
    if not (isinstance(mechanism, str) and mechanism == AUTO):
        as_mechanism(mechanism)


def __getattr__(name: str) -> Any:
    """The class of a spec, imported on first use: the specs load numpy and scipy."""
    for about in SHORTHANDS.values():
        if about.spec == name:
            return about.kind
    raise AttributeError(f"module 'dplr.mechanisms' has no attribute {name!r}")
