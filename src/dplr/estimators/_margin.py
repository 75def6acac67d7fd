"""Differentially private classifier with a loss of one's own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from sklearn.svm import LinearSVC

from dplr._keywords import suggests
from dplr._validation import sentence
from dplr.estimators._classifier import PrivateClassifier
from dplr.mechanisms.automatic import AUTO
from dplr.problem.losses import Loss
from dplr.typing import BoundsLike, LedgerLike, MechanismLike, PublicLike


class MarginClassifier(PrivateClassifier):
    """Differentially private classifier with a loss of one's own.

    Parameters
    ----------
    loss : of `margin_loss`, or `smoothed_hinge`.
    mechanism : `"auto"`, `"objective"`, `"output"`, `"ngd"` (needs delta > 0), `"none"`, or a spec. The functional
        mechanism has no expansion of such losses.
    eps, delta, bounds, classes, class_weight, fit_intercept, l2, neighbouring, n_rows, person, rows_per_person,
        weight_bounds, public, ranges, large_delta, aim, ledger, rng, progress : as in `LogisticRegression`.

    Attributes
    ----------
    coef_, intercept_, classes_, privacy_, released_, history_, n_features_in_, feature_names_in_ : as in
        `LogisticRegression`.

    Privacy
    -------
    Protects one record, or one person, as `LogisticRegression` does. The loss is public: one that was chosen by a look
    at the private data is not covered. Source: Chaudhuri and Monteleoni 2008, Theorem 3; proofs: knots.md, and the
    mechanisms' own.

    Examples
    --------
    >>> import numpy as np, dplr
    >>> X = np.random.default_rng(0).uniform(0, 10, (5000, 2))
    >>> bounds = dplr.Bounds([(0, 10), (0, 10)])
    >>> est = dplr.MarginClassifier(loss=dplr.smoothed_hinge(0.5), eps=1.0, bounds=bounds)
    >>> est.fit(X, X[:, 0] > X[:, 1]).score(X, X[:, 0] > X[:, 1]) > 0.9
    True
    """

    _plain = LinearSVC
    _kind: ClassVar[str] = "margin"

    @suggests
    def __init__(
        self,
        *,
        eps: float = 1.0,
        delta: float = 0.0,
        mechanism: MechanismLike = AUTO,
        loss: Loss | None = None,
        bounds: BoundsLike = None,
        classes: Any = None,
        class_weight: Mapping[Any, float] | None = None,
        fit_intercept: bool = True,
        l2: float | str = "auto",
        neighbouring: str = "replace_one",
        n_rows: int | None = None,
        person: str | None = None,
        rows_per_person: int = 1,
        weight_bounds: tuple[float, float] | None = None,
        public: PublicLike = None,
        ranges: str = "auto",
        large_delta: bool = False,
        aim: str = "prediction",
        ledger: LedgerLike = None,
        rng: int | None = None,
        progress: bool = False,
    ) -> None:
        super().__init__(
            eps=eps,
            delta=delta,
            mechanism=mechanism,
            bounds=bounds,
            classes=classes,
            class_weight=class_weight,
            fit_intercept=fit_intercept,
            l2=l2,
            neighbouring=neighbouring,
            n_rows=n_rows,
            person=person,
            rows_per_person=rows_per_person,
            weight_bounds=weight_bounds,
            public=public,
            ranges=ranges,
            large_delta=large_delta,
            aim=aim,
            ledger=ledger,
            rng=rng,
            progress=progress,
        )
        self.loss = loss

    def _loss(self) -> Loss:
        loss = self.loss
        if not isinstance(loss, Loss) or loss.knots is None or loss.knots.form != "margin":
            remedy = "Make one with dplr.margin_loss."
            raise TypeError(sentence("loss", "must be a loss of the margin", loss, remedy))
        return loss
