"""The view of a model in a notebook: scikit-learn's diagram, which links to our pages, and its privacy beneath it."""

from __future__ import annotations

import math
import warnings
from typing import Any

from dplr._kit import markup

DOCUMENTATION = "https://dplr.readthedocs.io/en/stable/"
SCORES = (
    "Scores, plots and choices made on private rows are not covered by this statement: cross-validation spends eps in "
    "every fold, and its scores are not private."
)
# Shown for fits in this process only: of a model from a file it is not known whether a ledger counted it.
UNCOUNTED = "No ledger counted this fit: add up what all releases of these rows cost, or give the next fit a ledger."


class NotebookView:
    """The notebook view and documentation link of public estimators; must come before the bases of scikit-learn."""

    _doc_link_module = "dplr"
    _doc_link_template = DOCUMENTATION + "reference/api/dplr.{estimator_name}.html"

    def _html_repr(self) -> str:
        """scikit-learn's diagram, whose parser of docstrings does not know the section Privacy."""
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Unknown section Privacy")
            return str(super()._html_repr())  # type: ignore[misc]


class TransformerView(NotebookView):
    _doc_link_template = DOCUMENTATION + "reference/api/dplr.preprocessing.{estimator_name}.html"


def privacy_note(estimator: Any) -> str:
    """The statement of a fitted estimator, or what a fit would spend. Names of columns and labels are escaped."""
    scores = markup.paragraph(SCORES)
    if hasattr(estimator, "privacy_"):
        counted = getattr(estimator, "_counted", None) is not False or math.isinf(estimator.privacy_.eps)
        statement: str = estimator.privacy_._repr_html_()
        return statement + markup.piece("", markup.alarms([] if counted else [UNCOUNTED]), scores)
    delta = getattr(estimator, "delta", 0.0)  # a model that is always pure has none
    declared = getattr(estimator.bounds, "columns", estimator.bounds is not None)
    cost = (
        f"Not fitted. Each call of fit would spend eps = {estimator.eps!r}, delta = {delta!r} "
        f"({estimator.neighbouring}); "
        + ("its bounds are declared." if declared else "it needs public bounds of the columns.")
    )
    return markup.piece("", markup.paragraph(cost), scores)
