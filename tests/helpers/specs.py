"""Specs of mechanisms with an option changed."""

import dataclasses

from dplr.mechanisms import as_mechanism


def spec_with(mechanism, ranges):
    """The spec of a mechanism, or of its shorthand, with these ranges; as it is, where it has none to choose."""
    if mechanism in ("auto", "none"):
        return mechanism
    return dataclasses.replace(as_mechanism(mechanism), ranges=ranges)
