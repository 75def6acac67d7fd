"""What a notebook shows of privacy beneath scikit-learn's diagram."""

from __future__ import annotations

import html
from typing import Any

SCORES = (
    "Scores, plots and choices made on private rows are not covered by this statement: cross-validation spends eps in "
    "every fold, and its scores are not private."
)


def privacy_note(estimator: Any) -> str:
    """The statement of a fitted estimator, or what a fit would spend. Names of columns and labels are escaped."""
    if hasattr(estimator, "privacy_"):
        said = str(estimator.privacy_)
    else:
        delta = getattr(estimator, "delta", 0.0)  # a model that is always pure has none
        said = (
            f"Not fitted. Each call of fit would spend eps = {estimator.eps!r}, delta = {delta!r} "
            f"({estimator.neighbouring}); "
            + ("its bounds are declared." if estimator.bounds is not None else "it needs public bounds of the columns.")
        )
    return (
        f'<div class="dplr-privacy"><pre style="white-space: pre-wrap">{html.escape(said)}</pre>'
        f"<p>{html.escape(SCORES)}</p></div>"
    )
