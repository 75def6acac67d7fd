"""Evaluations of models on private rows, in one release each: measures, and their intervals of sampling and noise.

`dplr.evaluate` makes them. Proofs and statistics: evaluation.md.
"""

from __future__ import annotations

from dplr.evaluation.classes import ClassEvaluation
from dplr.evaluation.labels import CostThreshold, LabelEvaluation
from dplr.evaluation.measures import Measure
from dplr.evaluation.numbers import NumberEvaluation
from dplr.evaluation.pair import PairEvaluation
from dplr.evaluation.release import evaluate
from dplr.evaluation.value import Evaluation

__all__ = [
    "ClassEvaluation",
    "CostThreshold",
    "Evaluation",
    "LabelEvaluation",
    "Measure",
    "NumberEvaluation",
    "PairEvaluation",
    "evaluate",
]
