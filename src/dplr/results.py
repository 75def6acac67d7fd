"""What functions and methods return, for annotations: nobody makes these by hand."""

from dplr.fitting.checking import DataCheck
from dplr.fitting.run import History
from dplr.inference.intervals import ScoreTest
from dplr.moments.description import MomentTable
from dplr.moments.model import MomentModel
from dplr.moments.released import ReleasedMoments
from dplr.problem.plan import Plan
from dplr.quantiles.learned import LearnedBounds, LearnedColumn
from dplr.rows.tables.survey import Survey
from dplr.summary.bands import PredictionIntervals
from dplr.summary.column_statistics import ColumnStatistics
from dplr.summary.curves import ColumnCurve, Curves
from dplr.summary.table import Ratio, Summary

__all__ = [
    "ColumnCurve",
    "ColumnStatistics",
    "Curves",
    "DataCheck",
    "History",
    "LearnedBounds",
    "LearnedColumn",
    "MomentModel",
    "MomentTable",
    "Plan",
    "PredictionIntervals",
    "Ratio",
    "ReleasedMoments",
    "ScoreTest",
    "Summary",
    "Survey",
]
