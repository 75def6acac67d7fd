"""The functional mechanism."""

from dplr.mechanisms.functional.spec import FunctionalMechanism, class_block, one_class

__all__ = ["FunctionalMechanism", "class_block", "one_class"]
