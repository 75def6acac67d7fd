"""Support vector machine with the Huber hinge loss."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from sklearn.svm import LinearSVC

from dplr._keywords import suggests
from dplr._validation import real_number, sentence
from dplr.estimators._classifier import PrivateClassifier
from dplr.mechanisms.automatic import AUTO
from dplr.problem.losses import Loss, huber_svm
from dplr.typing import BoundsLike, LedgerLike, MechanismLike, PublicLike


class HuberSVC(PrivateClassifier):
    """Differentially private linear support vector machine, with a hinge whose corner is rounded (CMS11).

    Parameters
    ----------
    width : half-width h of the rounded corner on the scale of margins, in [0.01, 10]: the hinge is quadratic for
        |1 - y z| <= width. A wider corner has less curvature, which costs less of eps.
    mechanism : `"auto"`, `"objective"`, `"output"`, `"ngd"` (needs delta > 0), `"none"`, or a spec. The functional
        mechanism has no expansion of this loss.
    eps, delta, bounds, classes, class_weight, fit_intercept, l2, neighbouring, n_rows, person, rows_per_person,
        weight_bounds, public, ranges, large_delta, aim, ledger, rng, progress : as in `LogisticRegression`.

    Attributes
    ----------
    coef_, intercept_, classes_, privacy_, released_, history_, n_features_in_, feature_names_in_ : as in
        `LogisticRegression`.

    Privacy
    -------
    Protects one record, or one person, as `LogisticRegression` does. Source: Chaudhuri, Monteleoni and Sarwate 2011;
    proofs: objective.md, output.md and noisy_gd.md, beside the mechanisms.

    Examples
    --------
    >>> import numpy as np, dplr
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0, 10, (5000, 2))
    >>> est = dplr.HuberSVC(eps=1.0, bounds=dplr.Bounds([(0, 10), (0, 10)])).fit(X, X[:, 0] > X[:, 1])
    >>> est.score(X, X[:, 0] > X[:, 1]) > 0.9
    True
    """

    _plain = LinearSVC
    _kind: ClassVar[str] = "svm"
    _options: ClassVar[dict[str, tuple[float, float]]] = {"width": (0.01, 10.0)}

    @suggests
    def __init__(
        self,
        *,
        eps: float = 1.0,
        delta: float = 0.0,
        mechanism: MechanismLike = AUTO,
        width: float = 0.5,
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
        self.width = width

    def _loss(self) -> Loss:
        width, (least, largest) = real_number("width", self.width), self._options["width"]
        if not least <= width <= largest:
            raise ValueError(sentence("width", f"must be between {least:g} and {largest:g}", width))
        return huber_svm(width)
