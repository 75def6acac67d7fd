"""Evaluations of a fitted model, and which table it was fitted to in this process."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

from sklearn.utils.validation import check_is_fitted

from dplr._kit.validation import check_flag, sentence

if TYPE_CHECKING:
    from dplr.evaluation.value import Evaluation

# The table of each fit in this process, as long as both live: nothing of what the table holds.
FITTED: weakref.WeakKeyDictionary[Any, weakref.ref[Any]] = weakref.WeakKeyDictionary()


class Evaluated:
    """The evaluation of a fitted model."""

    evaluation_: Evaluation | None  # where `fit` held rows out; None where something ended it

    def evaluate(self, X: Any, y: Any, *, eps: float, in_sample: bool = False, **options: Any) -> Evaluation:
        """Release how good this model is on private rows, once: every measure of it then costs nothing further.

        Parameters
        ----------
        X : array-like, table, path-like or Stream
            Private rows that the model was not fitted to, with the columns that `fit` saw.
        y : array-like or str
            Their outcomes, or the name of a column of X.
        eps : float
            Privacy loss of the release, above 0.
        in_sample : bool, default=False
            Whether the model was fitted to these rows. The release says so.
        **options : object
            Those of `dplr.evaluate`: ledger, thresholds, person, sample_weight, neighbouring and the others.

        Returns
        -------
        LabelEvaluation, ClassEvaluation or NumberEvaluation
            The release.

        Raises
        ------
        NotFittedError
            `fit` was not called.
        ValueError, TypeError
            A parameter or the rows break a rule, or X is the very table that `fit` saw in this process. No noise was
            drawn, and nothing was spent.
        BudgetExceeded
            The ledger cannot pay. No noise was drawn, and nothing was spent.

        Privacy
        -------
        A release of its own, eps-DP, which adds to what the fit spent where people are in both tables.
        """
        from dplr.evaluation.release import evaluate

        check_is_fitted(self)
        fitted = FITTED.get(self)
        if not check_flag("in_sample", in_sample) and X is not None and fitted is not None and fitted() is X:
            remedy = "Keep rows apart that no fit sees; or say in_sample=True, which flatters the model."
            rule = "must hold rows that the model was not fitted to"
            raise ValueError(sentence("X", rule, "the table that `fit` saw", remedy))
        return evaluate(self, X, y, eps=eps, in_sample=in_sample, **options)
