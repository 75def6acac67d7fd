"""Differentially private linear regression, logistic regression and linear support vector machines."""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING, Any

from dplr._kit.warnings import DataWarning, PrivacyWarning, UtilityWarning

if TYPE_CHECKING:
    from dplr import losses as losses
    from dplr import model_file as model_file
    from dplr import planner as planner
    from dplr import preprocessing as preprocessing
    from dplr import privacy as privacy
    from dplr import results as results
    from dplr.auditor import audit
    from dplr.bounds.declared import Bounds
    from dplr.bounds.formulas import Formula
    from dplr.estimators import (
        HuberRegressor,
        HuberSVC,
        LinearRegression,
        LogisticRegression,
        MarginClassifier,
        PoissonRegressor,
        PrivateSearch,
        ResidualRegressor,
        fit,
        fit_many,
    )
    from dplr.evaluation import evaluate
    from dplr.fitting.checking import check
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
    from dplr.moments.release import release_moments
    from dplr.planner import plan, plan_curve, plan_target
    from dplr.quantiles.release import learn_bounds
    from dplr.rows.streams.source import Stream

    __version__: str

__all__ = [
    "Bounds",
    "BudgetExceeded",
    "DataWarning",
    "Formula",
    "FunctionalMechanism",
    "HuberRegressor",
    "HuberSVC",
    "Ledger",
    "LinearRegression",
    "LogisticRegression",
    "MarginClassifier",
    "NoPrivacy",
    "NoisyGradientDescent",
    "ObjectivePerturbation",
    "OutputPerturbation",
    "PoissonRegressor",
    "PrivacyWarning",
    "PrivateSearch",
    "ResidualRegressor",
    "ScoreRelease",
    "Stream",
    "UtilityWarning",
    "audit",
    "check",
    "evaluate",
    "fit",
    "fit_many",
    "learn_bounds",
    "load_model",
    "plan",
    "plan_curve",
    "plan_target",
    "release_moments",
    "save_model",
]

# scikit-learn takes most of a second to import: every name is loaded on first use, from the module that is not
# `dplr.estimators` here.
_HOMES = {
    "Bounds": "bounds",
    "BudgetExceeded": "ledger",
    "Formula": "bounds.formulas",
    "FunctionalMechanism": "mechanisms",
    "Ledger": "ledger",
    "NoPrivacy": "mechanisms",
    "NoisyGradientDescent": "mechanisms",
    "ObjectivePerturbation": "mechanisms",
    "OutputPerturbation": "mechanisms",
    "ScoreRelease": "mechanisms",
    "Stream": "rows.streams.source",
    "audit": "auditor",
    "check": "fitting.checking",
    "evaluate": "evaluation",
    "learn_bounds": "quantiles.release",
    "load_model": "model_file",
    "plan": "planner",
    "plan_curve": "planner",
    "plan_target": "planner",
    "release_moments": "moments.release",
    "save_model": "model_file",
}


if not TYPE_CHECKING:  # a type checker would take any name for one of them

    def __getattr__(name: str) -> Any:
        if name == "__version__":
            return importlib.import_module("importlib.metadata").version("dplr")
        if name in __all__:
            value = getattr(importlib.import_module(f"dplr.{_HOMES.get(name, 'estimators')}"), name)
        elif not name.startswith("_") and importlib.util.find_spec(f"dplr.{name}"):
            value = importlib.import_module(f"dplr.{name}")
        else:
            raise AttributeError(f"module 'dplr' has no attribute {name!r}")
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
