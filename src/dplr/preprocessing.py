"""Transformers of scikit-learn that learn nothing from rows: steps before a private model."""

from dplr.estimators import BoundsEncoder, RandomFourierFeatures, UnitBall

__all__ = ["BoundsEncoder", "RandomFourierFeatures", "UnitBall"]
