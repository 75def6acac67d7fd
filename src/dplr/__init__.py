"""Differentially private linear regression, logistic regression and linear support vector machines."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from dplr._kit.warnings import DataWarning, PrivacyWarning, UtilityWarning

if TYPE_CHECKING:
    from dplr._kit.versions import show_versions
    from dplr.auditor import audit
    from dplr.bounds.declared import Bounds
    from dplr.estimators import (
        BoundsEncoder,
        HuberRegressor,
        HuberSVC,
        LinearRegression,
        LogisticRegression,
        MarginClassifier,
        PoissonRegressor,
        PrivateSearch,
        RandomFourierFeatures,
        ResidualRegressor,
        UnitBall,
        fit,
        fit_many,
    )
    from dplr.evaluation import evaluate
    from dplr.fitting.checking import DataCheck, check
    from dplr.formulas.formula import Formula
    from dplr.inference.intervals import ScoreTest
    from dplr.ledger.budget import BudgetExceeded
    from dplr.ledger.handle import Ledger
    from dplr.mechanisms import (
        FunctionalMechanism,
        NoisyGradientDescent,
        NoPrivacy,
        ObjectivePerturbation,
        OutputPerturbation,
        ScoreRelease,
    )
    from dplr.model_file.file import load_model, save_model
    from dplr.model_file.strict_json import ModelFileError
    from dplr.moments.description import MomentTable
    from dplr.moments.file import load_moments
    from dplr.moments.model import MomentModel
    from dplr.moments.release import release_moments
    from dplr.moments.released import ReleasedMoments
    from dplr.planner import Assumptions, plan, plan_curve, plan_target
    from dplr.privacy.statement import PrivacyStatement
    from dplr.problem.fit import History
    from dplr.problem.losses import Loss
    from dplr.problem.own_losses import margin_loss, residual_loss, smoothed_hinge
    from dplr.problem.plan import Plan
    from dplr.quantiles.learned import LearnedBounds, LearnedColumn
    from dplr.quantiles.release import learn_bounds
    from dplr.rows.streams.source import Stream
    from dplr.rows.tables.survey import Survey
    from dplr.summary.bands import PredictionIntervals
    from dplr.summary.column_statistics import ColumnStatistics
    from dplr.summary.curves import ColumnCurve, Curves
    from dplr.summary.table import Ratio, Summary

    __version__: str

__all__ = [
    "Assumptions",
    "Bounds",
    "BoundsEncoder",
    "BudgetExceeded",
    "ColumnCurve",
    "ColumnStatistics",
    "Curves",
    "DataCheck",
    "DataWarning",
    "Formula",
    "FunctionalMechanism",
    "History",
    "HuberRegressor",
    "HuberSVC",
    "LearnedBounds",
    "LearnedColumn",
    "Ledger",
    "LinearRegression",
    "LogisticRegression",
    "Loss",
    "MarginClassifier",
    "ModelFileError",
    "MomentModel",
    "MomentTable",
    "NoPrivacy",
    "NoisyGradientDescent",
    "ObjectivePerturbation",
    "OutputPerturbation",
    "Plan",
    "PoissonRegressor",
    "PredictionIntervals",
    "PrivacyStatement",
    "PrivacyWarning",
    "PrivateSearch",
    "RandomFourierFeatures",
    "Ratio",
    "ReleasedMoments",
    "ResidualRegressor",
    "ScoreRelease",
    "ScoreTest",
    "Stream",
    "Summary",
    "Survey",
    "UnitBall",
    "UtilityWarning",
    "audit",
    "check",
    "evaluate",
    "fit",
    "fit_many",
    "learn_bounds",
    "load_model",
    "load_moments",
    "margin_loss",
    "plan",
    "plan_curve",
    "plan_target",
    "release_moments",
    "residual_loss",
    "save_model",
    "show_versions",
    "smoothed_hinge",
]

# scikit-learn takes most of a second to import: every name is loaded on first use.
_HOMES = {
    "Assumptions": "dplr.planner",
    "Bounds": "dplr.bounds",
    "BoundsEncoder": "dplr.estimators",
    "BudgetExceeded": "dplr.ledger",
    "ColumnCurve": "dplr.summary.curves",
    "ColumnStatistics": "dplr.summary.column_statistics",
    "Curves": "dplr.summary.curves",
    "DataCheck": "dplr.fitting.checking",
    "Formula": "dplr.formulas.formula",
    "FunctionalMechanism": "dplr.mechanisms",
    "History": "dplr.problem.fit",
    "HuberRegressor": "dplr.estimators",
    "HuberSVC": "dplr.estimators",
    "LearnedBounds": "dplr.quantiles.learned",
    "LearnedColumn": "dplr.quantiles.learned",
    "Ledger": "dplr.ledger",
    "LinearRegression": "dplr.estimators",
    "LogisticRegression": "dplr.estimators",
    "Loss": "dplr.problem.losses",
    "MarginClassifier": "dplr.estimators",
    "ModelFileError": "dplr.model_file",
    "MomentModel": "dplr.moments.model",
    "MomentTable": "dplr.moments.description",
    "NoPrivacy": "dplr.mechanisms",
    "NoisyGradientDescent": "dplr.mechanisms",
    "ObjectivePerturbation": "dplr.mechanisms",
    "Ratio": "dplr.summary.table",
    "OutputPerturbation": "dplr.mechanisms",
    "Plan": "dplr.problem.plan",
    "PoissonRegressor": "dplr.estimators",
    "PredictionIntervals": "dplr.summary.bands",
    "PrivacyStatement": "dplr.privacy",
    "PrivateSearch": "dplr.estimators",
    "RandomFourierFeatures": "dplr.estimators",
    "ReleasedMoments": "dplr.moments.released",
    "ResidualRegressor": "dplr.estimators",
    "Stream": "dplr.rows.streams.source",
    "Summary": "dplr.summary.table",
    "ScoreRelease": "dplr.mechanisms",
    "ScoreTest": "dplr.inference.intervals",
    "Survey": "dplr.rows.tables.survey",
    "UnitBall": "dplr.estimators",
    "audit": "dplr.auditor",
    "check": "dplr.fitting.checking",
    "evaluate": "dplr.evaluation",
    "fit": "dplr.estimators",
    "fit_many": "dplr.estimators",
    "learn_bounds": "dplr.quantiles.release",
    "load_model": "dplr.model_file",
    "load_moments": "dplr.moments.file",
    "margin_loss": "dplr.problem.own_losses",
    "plan": "dplr.planner",
    "plan_curve": "dplr.planner",
    "plan_target": "dplr.planner",
    "release_moments": "dplr.moments.release",
    "residual_loss": "dplr.problem.own_losses",
    "save_model": "dplr.model_file",
    "show_versions": "dplr._kit.versions",
    "smoothed_hinge": "dplr.problem.own_losses",
}


if not TYPE_CHECKING:  # a type checker would take any name for one of them

    def __getattr__(name: str) -> Any:
        if name == "__version__":
            return importlib.import_module("importlib.metadata").version("dplr")
        if name not in _HOMES:
            raise AttributeError(f"module 'dplr' has no attribute {name!r}")
        value = getattr(importlib.import_module(_HOMES[name]), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
