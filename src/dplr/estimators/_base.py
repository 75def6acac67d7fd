"""What the estimators share: from the user's parameters and data to a fit, and back to the user's units."""

from __future__ import annotations

import copy
import functools
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.utils import column_or_1d
from sklearn.utils.validation import check_is_fitted, validate_data

from dplr import _fit
from dplr._validation import check_choice, check_count, check_delta, check_eps, check_flag, sentence
from dplr.bounds import Bounds, Prep
from dplr.estimators._columns import coef_names, rows_to_predict
from dplr.estimators._history import read_history
from dplr.estimators._strict import check_types
from dplr.ledger import as_ledger
from dplr.losses import Loss
from dplr.mechanisms import FunctionalMechanism, as_mechanism
from dplr.noise import Source
from dplr.planning import check_bounds, check_l2, l2_sentence, prepare
from dplr.pretraining import read_public
from dplr.privacy import Neighbouring, PrivacyWarning
from dplr.problem import Plan
from dplr.progress import bars, silent
from dplr.result import Fit, History
from dplr.rows import Labels, Table, as_rows, as_table, as_target, check_shapes


class _Released(NamedTuple):
    """One fit, with what is needed to say more of it later."""

    fit: Fit
    mechanism: Any
    plan: Plan
    prep: Prep
    history: History | None


SAME_RELEASE = "another model from an earlier release: no further privacy loss"


class PrivateLinearModel(BaseEstimator):  # type: ignore[misc]
    """What the models share: from public facts and rows to coefficients in the user's units."""

    def __init__(
        self,
        *,
        eps: float = 1.0,
        delta: float = 0.0,
        mechanism: Any = "fm",
        bounds: Bounds | None = None,
        fit_intercept: bool = True,
        l2: float | str = "auto",
        neighbouring: str = "replace_one",
        n_rows: int | None = None,
        public: Any = None,
        ledger: Any = None,
        rng: int | None = None,
        progress: bool = False,
    ) -> None:
        self.eps = eps
        self.delta = delta
        self.mechanism = mechanism
        self.bounds = bounds
        self.fit_intercept = fit_intercept
        self.l2 = l2
        self.neighbouring = neighbouring
        self.n_rows = n_rows
        self.public = public
        self.ledger = ledger
        self.rng = rng
        self.progress = progress

    def refit(self, *, l2: float | str | None = None, approximation: str | None = None) -> Self:
        """Another model from the same release: post-processing, no further privacy loss.

        Parameters
        ----------
        l2 : ridge of the new model, or `"auto"`; None leaves it as it was.
        approximation : of the logistic loss, as in `FunctionalMechanism`; None leaves it as it was.

        Returns
        -------
        A new fitted estimator. This one stays as it is; both hold the same `released_`, and together they have spent
        once what the statement says.

        Raises
        ------
        ValueError
            An option is outside its range.

        Privacy
        -------
        Uses only `released_` and public facts. Its statement is that of the release, and says so.

        Examples
        --------
        >>> import numpy as np, dplr
        >>> X = np.random.default_rng(0).uniform(-0.5, 0.5, (1000, 2))
        >>> est = dplr.fit(X, X[:, 0] > 0, eps=1.0)
        >>> est.refit(l2=1.0).privacy_.assumptions[-1]
        'another model from an earlier release: no further privacy loss'
        """
        check_is_fitted(self)
        mechanism, plan, prep = self._release
        if not isinstance(mechanism, FunctionalMechanism):
            remedy = "Only the functional mechanism releases numbers that hold more than one model."
            raise ValueError(
                sentence("mechanism", 'must be "fm" to refit without data', plan.statement.mechanism, remedy)
            )
        if approximation is not None:
            mechanism = replace(mechanism, approximation=approximation)
        if l2 is not None:
            plan = replace(plan, problem=replace(plan.problem, l2=check_l2(l2)))
            mechanism.check(plan.problem)
        facts = tuple(
            fact for fact in plan.statement.assumptions if not fact.startswith("l2 = ") and fact != SAME_RELEASE
        )
        facts = (*facts, l2_sentence(plan.problem.l2), SAME_RELEASE)
        plan = replace(plan, statement=replace(plan.statement, assumptions=facts))
        statement = plan.statement
        other: Self = clone(self).set_params(  # the parameters of the release, whatever was set since
            mechanism=mechanism,
            eps=statement.eps,
            delta=statement.delta,
            neighbouring=str(statement.neighbouring),
            l2="auto" if plan.problem.l2 is None else plan.problem.l2,
            public=self.public,
        )
        for name in ("n_features_in_", "feature_names_in_", "classes_"):
            if hasattr(self, name):
                setattr(other, name, getattr(self, name))
        fit = Fit(mechanism.solve(plan, self.released_), plan.statement, self.released_)
        return other._take(fit, mechanism, plan, prep)

    def _take(self, fit: Fit, mechanism: Any, plan: Plan, prep: Prep, history: History | None = None) -> Self:
        """Set the attributes that a release gives."""
        self._release = (mechanism, plan, prep)
        self.privacy_ = fit.statement
        self.released_ = fit.released
        self.history_ = history
        self._set_coef(*prep.to_user_units(fit.coef))
        return self

    def _set_coef(self, coef: NDArray[np.float64], intercept: float) -> None:
        raise AttributeError("each model sets its coefficients in its own shape")

    def _fit_model(self, X: Any, y: Any, refused: dict[str, Any]) -> Self:
        """Fit this estimator itself."""
        if refused:
            reason = (
                ": a weight multiplies what one record may change, and the sensitivity with it. Fit without weights."
                if "sample_weight" in refused
                else "; it takes X and y. Parameters belong to the constructor."
            )
            raise TypeError(f"`fit` does not take {', '.join(refused)}{reason}")
        (release,) = self._releases(X, y, [check_eps(self.eps)])
        return self._take(*release)

    def _fit_many(self, X: Any, y: Any, levels: Sequence[float]) -> list[Self]:
        """Copies of this estimator, one fitted for each eps, each a release of its own."""
        fitted = []
        for release, eps in zip(self._releases(X, y, [check_eps(eps) for eps in levels]), levels, strict=True):
            other = copy.copy(self)
            other.eps = eps
            fitted.append(other._take(*release))
        return fitted

    def _releases(self, X: Any, y: Any, levels: Sequence[float]) -> Iterator[_Released]:
        """Check, plan, sum, add noise and solve, in this order."""
        delta = check_delta(self.delta)
        mechanism = as_mechanism(self.mechanism)
        ledger = as_ledger(self.ledger)
        if ledger.strict:
            check_types(X, y)
            self._check_declared()
        X, y = self._check_schema(X, y)
        n, d = check_shapes(X, y)
        columns = X.columns if isinstance(X, Table) else None
        check_bounds(self.bounds)
        layout = None if self.bounds is None else self.bounds.for_columns(columns, d)
        if layout is not None and layout.named:  # the columns of X that are seen, in the order of `coef_`
            self.n_features_in_, self.feature_names_in_ = len(layout.columns), np.array(layout.features, dtype=object)
        public = read_public(self.public, d, columns, self.fit_intercept, layout)
        labels = self._labels(y)
        problem, prep = prepare(
            n_rows=self._public_n_rows(n),
            n_features=d,
            columns=columns,
            bounds=self.bounds,
            layout=layout,
            loss=self._loss(),
            fit_intercept=self.fit_intercept,
            l2=self.l2,
            neighbouring=self.neighbouring,
            label_codes=labels.codes if labels else None,
            public=public,
            classes=labels.classes.tolist() if labels else None,
            assumptions=(labels.assumption,) if labels else (),
        )
        rows = as_rows(X, labels.y if labels else y, prep)
        track = bars if check_flag("progress", self.progress) else silent
        fits = _fit.run_many(rows, problem, mechanism, levels, delta, ledger, self._source(), track)
        if labels:
            self.classes_ = labels.classes
        history = functools.partial(read_history, public=public, problem=problem, prep=prep, labels=labels)
        return (_Released(fit, mechanism, Plan(problem, fit.statement), prep, history(fit)) for fit in fits)

    def _loss(self) -> Loss:
        raise AttributeError("each model names its loss")

    def _check_schema(self, X: Any, y: Any) -> tuple[Any, Any]:
        """Shapes and types only: values are checked while they are summed, so X is read once."""
        table = None if type(X) is np.ndarray else as_table(X)
        if table is not None:
            if 0 in table.shape:
                raise ValueError(sentence("X", "must have at least one row and one column", table.shape))
            validate_data(self, X, skip_check_array=True)
            X = table
        elif type(X) is np.ndarray and X.ndim == 2 and X.dtype.char in "df" and X.size:
            # Nothing is left to check in a plain matrix of floats, and the general check takes longer than small sums.
            self.n_features_in_ = X.shape[1]
            self.__dict__.pop("feature_names_in_", None)
        else:
            X = validate_data(self, X, ensure_all_finite=False, dtype="numeric")
        if y is None:
            raise ValueError("requires y to be passed, but the target y is None.")
        if not (type(y) is np.ndarray and y.ndim == 1):
            y = column_or_1d(as_target(y), warn=True)
        return X, self._check_target(y)

    def _check_target(self, y: NDArray[Any]) -> NDArray[Any]:
        return y

    def _labels(self, y: NDArray[Any]) -> Labels | None:
        return None

    def _check_declared(self) -> None:
        """For a strict ledger: nothing that the statement needs may have to be read from the data."""

    def _public_n_rows(self, n: int) -> int | None:
        """len(X) is public under replace_one only; under add_remove nothing but a declared reference is used."""
        check_choice("neighbouring", self.neighbouring, [str(kind) for kind in Neighbouring])
        declared = None if self.n_rows is None else check_count("n_rows", self.n_rows)
        if self.neighbouring == Neighbouring.ADD_REMOVE:
            return declared
        if declared not in (None, n):
            raise ValueError(sentence("n_rows", f"must be len(X) = {n} under replace_one", declared, "Leave it out."))
        return n

    def _source(self) -> Source:
        if self.rng is None:
            return Source()
        if isinstance(self.rng, bool) or not isinstance(self.rng, (int, np.integer)):
            remedy = "Generator objects are refused: copies of an estimator would share their noise."
            raise TypeError(sentence("rng", "must be None or an int", self.rng, remedy))
        warnings.warn(
            "rng is set: the noise can be reproduced, so this fit protects nobody. Use rng=None for a real release.",
            PrivacyWarning,
            stacklevel=5,
        )
        return Source(int(self.rng))

    def _margins(self, X: Any) -> NDArray[np.float64]:
        check_is_fitted(self)
        matrix = rows_to_predict(self, X, self._release[2].layout)
        return np.asarray(matrix @ np.ravel(self.coef_) + np.ravel(self.intercept_)[0], dtype=np.float64)

    @property
    def coef_names_(self) -> tuple[str, ...]:
        """Names of the entries of `coef_`, such as "age", "log1p(gain)", "work=Private", "age is missing"."""
        check_is_fitted(self)
        return coef_names(self, self._release[2].layout)

    @property
    def named_coef_(self) -> dict[str, Any]:
        """Name -> coefficient, a number; for several classes (n_classes,) numbers."""
        names, coef = self.coef_names_, np.atleast_2d(self.coef_)
        return dict(zip(names, coef[0].tolist() if len(coef) == 1 else coef.T, strict=True))

    def _html_repr(self) -> str:
        """scikit-learn's parser of docstrings warns of the section Privacy, which it does not know."""
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Unknown section Privacy")
            return str(super()._html_repr())

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.non_deterministic = True
        tags.input_tags.sparse = False
        return tags
