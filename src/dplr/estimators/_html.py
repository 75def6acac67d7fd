"""The view of a model in a notebook: scikit-learn's diagram, which links to our pages, and its privacy beneath it."""

from __future__ import annotations

import html
import math
import warnings
from typing import Any

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


def privacy_note(estimator: Any) -> str:
    """The statement of a fitted estimator, or what a fit would spend. Names of columns and labels are escaped."""
    if hasattr(estimator, "privacy_"):
        text = str(estimator.privacy_)
        if getattr(estimator, "_counted", None) is False and math.isfinite(estimator.privacy_.eps):
            text += f"\n{UNCOUNTED}"
    else:
        delta = getattr(estimator, "delta", 0.0)  # a model that is always pure has none
        text = (
            f"Not fitted. Each call of fit would spend eps = {estimator.eps!r}, delta = {delta!r} "
            f"({estimator.neighbouring}); "
            + ("its bounds are declared." if estimator.bounds is not None else "it needs public bounds of the columns.")
        )
    return (
        f'<div class="dplr-privacy"><pre style="white-space: pre-wrap">{html.escape(text)}</pre>'
        f"<p>{html.escape(SCORES)}</p></div>"
    )
