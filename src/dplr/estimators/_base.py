"""The base of the estimators: from the user's parameters and data to a fit, and back to the user's units."""

from __future__ import annotations

import contextlib
import copy
import functools
import math
import weakref
from collections.abc import Sequence
from importlib import import_module
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_is_fitted, validate_data

from dplr._kit.progress import bars, silent
from dplr._kit.validation import check_delta, check_eps, check_flag, sentence
from dplr.bounds.declared import Bounds, as_bounds, codebook_of
from dplr.estimators import _callers, _html, _refit
from dplr.estimators._callers import Callers, call_stack
from dplr.estimators._columns import flat, named, numbers_of, rows_to_predict
from dplr.estimators._fitted import FITTED, Fitted
from dplr.estimators._html import NotebookView
from dplr.estimators._transformers import check_map, declared, handed_over
from dplr.fitting.data import Data, Streamed, declared_unit, features_alone, read, refuse_stream, too_many
from dplr.fitting.one_vs_rest import published
from dplr.fitting.options import FitOptions, estimator
from dplr.fitting.planning import PublicFacts, check_promise, public_n_rows
from dplr.fitting.pretraining import check_other_rows
from dplr.fitting.run import FitInput, Release, blank, release, warn_of_noise
from dplr.ledger.budget import Budget, NullLedger
from dplr.ledger.handle import as_ledger
from dplr.ledger.keeping import Keeping
from dplr.ledger.reservation import MOST_BYTES
from dplr.mechanisms import check_mechanism
from dplr.noise import Source, source_of
from dplr.planner.preview import warn_of_silence
from dplr.privacy.statement import PrivacyStatement
from dplr.problem.losses import Loss
from dplr.problem.plan import Plan
from dplr.rows import LabelRule, Table, Target, as_table, as_target, check_indexes, check_shapes

# The most bytes that a number in a model file takes beyond those of a zero: a sign, 17 digits and an exponent.
_DIGITS = 22
# The last plans, with the facts around them, of models that a file can hold.
_FILED: list[tuple[Any, ...]] = []


def _encode(est: Any) -> bytes:
    """The bytes of a model file, whose room stands above this one: it is loaded where something is paid for."""
    data: bytes = import_module("dplr.model_file").encode_model(est)
    return data


@estimator
class PrivateLinearModel(FitOptions, NotebookView, Fitted, BaseEstimator):  # type: ignore[misc]
    """The base of the models: from public facts and rows to coefficients in the user's units.

    Attributes
    ----------
    coef_ : ndarray of shape (n_columns,)
        Coefficients in the units of the user's columns and target.
    intercept_ : float
        Intercept in the units of the target.
    coef_names_ : tuple of str
        Names of the columns, such as "age", "log1p(gain)", "work=Private", "age is missing".
    named_coef_ : dict
        Name to coefficient.
    trimmed_ : int or None
        Number of directions that `"fm"` dropped as drowned in noise. None for other mechanisms.
    features_ : RandomFourierFeatures or None
        Transformer that made the rows that were fitted, to be applied to raw rows. None where there was none.
    ranges_ : dict
        Name to the range to which a number is clipped. Empty where none were released.
    privacy_ : PrivacyStatement
        What is promised, and under which assumptions.
    released_ : mapping of str to ndarray
        Block name to noisy numbers, in the scaled problem. Empty if only the coefficients were released. With more than
        two classes a name ends in the label: ``linear['a']``.
    history_ : History, dict or None
        Path of noisy gradient descent, or label to path. None for other mechanisms. It is free to look at and to
        publish.
    n_features_in_ : int
        Number of columns that `fit` saw, as in scikit-learn.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of these columns, where X has any.
    target_name_ : str or None
        Name of y, where it is a column with a name.
    """

    def refit(
        self,
        *,
        l2: float | str | None = None,
        approximation: str | None = None,
        aim: str | None = None,
        columns: Sequence[str] | None = None,
    ) -> Self:
        """Make another model from the same release.

        It is post-processing, without further privacy loss. Only releases by `"fm"` hold more than one model.

        Parameters
        ----------
        l2 : float, "auto" or None, default=None
            Ridge of the new model. None leaves it as it was.
        approximation : {"minimax", "taylor", "stein"} or None, default=None
            Quadratic for the logistic loss, as in `FunctionalMechanism`. None leaves it as it was.
        aim : {"coefficients", "prediction"} or None, default=None
            `"coefficients"` takes the options that bias them least, `"prediction"` the usual ones. None leaves them as
            they were. What was released stays: intervals are those that the release allows.
        columns : sequence of str or None, default=None
            Names of columns, or of coefficients, that the new model is made of. The others get a coefficient of 0. None
            leaves them as they were.

        Returns
        -------
        estimator
            A new fitted estimator of this class. This one stays as it is. Both hold the same `released_`, and together
            they have spent what the statement says, once.

        Raises
        ------
        NotFittedError
            `fit` was not called.
        ValueError
            An option is outside its range, or the mechanism releases a single model.

        Privacy
        -------
        Uses only `released_` and public facts. Its statement is that of the release, and says so.

        Examples
        --------
        >>> import numpy as np, dplr
        >>> X = np.random.default_rng(0).uniform(-0.5, 0.5, (1000, 2))
        >>> est = dplr.fit(X, X[:, 0] > 0, eps=1.0, mechanism="fm")
        >>> est.refit(l2=1.0).privacy_.solution[-1]
        'another model from an earlier release: no further privacy loss'
        """
        check_is_fitted(self)
        model: Self = _refit.refit(self, l2, approximation, aim, columns)
        return model

    def _take(self, done: Release) -> Self:
        """Set the coefficients of a release, in the user's units, and all its other attributes."""
        self._set_coef(*map(np.array, zip(*map(done.prep.to_user_units, done.models), strict=True)))
        return self._adopt(done)

    def _adopt(self, done: Release) -> Self:
        """Set the attributes of a release except coefficients. Fits, refits and readers of files set them only here."""
        self.__dict__.pop("evaluation_", None)  # of the model before
        self._record = done
        self.privacy_: PrivacyStatement = done.statement
        released = done.parts[0]
        self.history_: Any = done.histories[0]
        if len(done.parts) > 1:
            classes = self.classes_.tolist()
            released = published(done.parts, classes)
            self.history_ = self.history_ and dict(zip(classes, done.histories, strict=True))
        self.released_: Any = {**done.ranges, **released} if done.ranges else released
        return self

    @property
    def _decision(self) -> tuple[Any, Any]:
        """Coefficients and intercepts whose sums predictions are made of."""
        return self.coef_, self.intercept_

    def _set_coef(self, coef: NDArray[np.float64], intercept: NDArray[np.float64]) -> None:
        """Set `coef_` and `intercept_` from arrays (models, n_features) and (models,)."""
        raise AttributeError("each model sets its coefficients in its own shape")

    def fit(self, X: Any, y: Any, *, sample_weight: Any = None, person: Any = None, **refused: Any) -> Self:
        """Spend eps on a model of y given X.

        Parameters
        ----------
        X : array-like, table, path-like or Stream
            Array of shape (n_rows, n_features), or a table of pandas, polars or Arrow. Or rows that are streamed: the
            path of a Parquet file, a list of paths, a folder, a pattern such as ``"people/*.parquet"``, a lazy table,
            or a `dplr.Stream`.
        y : array-like of shape (n_rows,), or str
            Labels or numbers; numbers also where the bounds have a threshold. Or the name of a column of X, as it must
            be where rows are streamed.
        sample_weight : array-like of shape (n_rows,), str or None, default=None
            Weights, or the name of a column of X. They are clipped to the `weight_max` of the bounds, which they
            require.
        person : array-like of shape (n_rows,), str or None, default=None
            Ids, or the name of a column of X. Rows with one id are one person's.
        **refused : object
            Nothing else is taken: the error says where a parameter belongs.

        Returns
        -------
        self
            The fitted estimator.

        Raises
        ------
        ValueError, TypeError
            A parameter or the data break a rule. No noise was drawn, and nothing was spent.
        BudgetExceeded
            The ledger cannot pay for the fit. No row was read, and nothing was spent.

        Privacy
        -------
        Every call is a release of its own, and spends eps and delta anew. The Privacy section of the class says what is
        protected, what is released and what is assumed public.
        """
        if refused:
            takes = "it takes X, y, sample_weight and person. Parameters belong to the constructor."
            raise TypeError(f"`fit` does not take {', '.join(refused)}; {takes}")
        (done,) = self._releases(X, y, sample_weight, person, [check_eps(self.eps)])
        with contextlib.suppress(TypeError):  # a list has no weak references
            FITTED[self] = weakref.ref(X)
        return self._take(done)

    def _fit_many(
        self, X: Any, y: Any, levels: Sequence[float], sample_weight: Any = None, person: Any = None
    ) -> list[Self]:
        """Copies of this estimator, one fitted for each eps, each a release of its own."""
        every, fitted = self._releases(X, y, sample_weight, person, list(map(check_eps, levels))), []
        for done, eps in zip(every, levels, strict=True):
            model = copy.copy(self)
            model.eps = eps
            fitted.append(model._take(done))
        return fitted

    def _releases(self, X: Any, y: Any, sample_weight: Any, person: Any, levels: Sequence[float]) -> list[Release]:
        """Check, plan, sum, add noise and solve, in this order; MemoryError says how many rows would fit."""
        try:
            return self._paid(X, y, sample_weight, person, levels)
        except MemoryError as error:
            raise too_many(y, error) from None

    def _paid(self, X: Any, y: Any, sample_weight: Any, person: Any, levels: Sequence[float]) -> list[Release]:
        if callers := call_stack():
            _callers.refuse(self, callers)
            if (drawn := _callers.drawn_by_a_bag(sample_weight, callers)) is not None:
                X, y, sample_weight = _safe_indexing(X, drawn), _safe_indexing(y, drawn), None
        check_delta(self.delta)
        check_mechanism(self.mechanism)
        ledger, bounds = as_ledger(self.ledger), as_bounds(self.bounds)
        check_other_rows(self.public, X)
        ready = self._ready(self._read(X, y, bounds, callers, sample_weight, person), bounds, levels, callers)
        check_promise(levels, ready.facts)
        self._name_columns(ready.facts)
        track = bars if self.progress else silent
        planned = {eps: ready.facts.planned(eps) for eps in dict.fromkeys(levels)}
        warn_of_noise(plan.outlook for plan in planned.values())
        warn_of_silence(ready.facts, planned)
        for eps, plan in planned.items():
            self._check_file(ledger, ready, eps, plan)
        with ready.explaining():
            keep = functools.partial(self._kept, ledger, ready)
            releases = release(ready, [planned[eps] for eps in levels], ledger, self._source(), track, keep)
        self._name_target(ready)
        self._weight_column, self._counted = ready.data.weight_column, not isinstance(ledger, NullLedger)
        return releases

    def _kept(self, ledger: Budget, ready: FitInput, done: Sequence[Release]) -> bytes | None:
        """The ledger's copy of one model: its file, as this estimator will be."""
        if not isinstance(ledger, Keeping) or len(done) > 1:
            return None
        return ledger.file_of(self._of(done[0], ready))

    def _check_file(self, ledger: Budget, ready: FitInput, eps: float, planned: Plan, evaluation: Any = None) -> None:
        """Refuse a model that no file can hold before anything is spent: only its numbers are not known yet.

        The answer is kept with the plan and its facts: a file of zeros takes as long as a small fit. Without a wish
        for a file, models that are too large for one, and those of a user's own class, are fitted all the same.
        """
        wished, facts = getattr(ledger, "encode", None), ready.facts
        asked = (wished, type(self), planned, facts.bounds, facts.columns, facts.classes, ready.data.name)
        if (wished is None and isinstance(ledger, NullLedger)) or asked in _FILED:
            return
        done = blank(ready, planned)
        numbers = 0 if evaluation is None else sum(map(np.size, evaluation.released_.values()))
        further = _DIGITS * (done.size + numbers)
        if wished is None and (further > MOST_BYTES or not type(self).__module__.startswith("dplr.estimators.")):
            return
        model = self._of(done, ready)
        model.eps = eps
        if evaluation is not None:
            model.evaluation_ = evaluation
        try:
            most = len((wished or _encode)(model)) + further
            if wished is not None and most > MOST_BYTES:
                rule, remedy = f"must fit into {MOST_BYTES >> 20} MiB", "Use fewer columns."
                raise ValueError(sentence("released_", rule, f"up to {most >> 20} MiB", remedy))
        except (ValueError, TypeError) as error:
            raise ValueError(f"the model could not be kept: {error} Nothing was spent.") from None
        del _FILED[:-15]
        _FILED.append(asked)

    def _of(self, done: Release, ready: FitInput) -> Self:
        """A copy of this estimator as it is after that release."""
        model = copy.copy(self)
        model._name_target(ready)
        model._weight_column = ready.data.weight_column
        return model._take(done)

    def _read(self, X: Any, y: Any, bounds: Bounds | None, callers: Callers, sample_weight: Any, person: Any) -> Data:
        """What the caller gave, with ids and weights apart from X."""
        for given in _callers.given_to(callers) if callers else ():
            check_indexes(**given)
        features = handed_over(X)[1]
        declared = declared_unit(self.person, bounds, None if features is None else features.bounds)
        bounds = bounds if features is None else features.bounds
        names, progress = None if bounds is None else bounds.names, check_flag("progress", self.progress)
        data = read(X, y, sample_weight, person, declared=declared, features=names, progress=progress)
        if callers and data.unit.person is None and (column := _callers.person_before(callers)) is not None:
            rule = f"is required behind a step whose bounds declare persons ({column!r})"
            remedy = "Route the ids to this step: set_fit_request(person=True), and person=ids in `fit`."
            raise ValueError(sentence("person", rule, None, remedy))
        return data

    def _prepared(
        self, X: Any, y: Any, bounds: Bounds | None, levels: Sequence[float], sample_weight: Any = None,
        person: Any = None,
    ) -> FitInput:  # fmt: skip
        """Rows before a fit; ids and weights are columns of X unless they are given."""
        refuse_stream(X, "for searches and baselines")
        check_other_rows(self.public, X)
        if callers := call_stack():
            _callers.refuse(self, callers)
        return self._ready(self._read(X, y, bounds, callers, sample_weight, person), bounds, levels, callers)

    def _ready(self, data: Data, bounds: Bounds | None, levels: Sequence[float], callers: Callers) -> FitInput:
        """Rows with checked shapes and types, and their public facts. No value is read, except ids of persons."""
        X, features = handed_over(data.X)
        if isinstance(self.public, tuple):
            check_map(self.public[0], features)
        bounds = declared(codebook_of(bounds), features)
        X, y = self._check_schema(X, data.y, isinstance(data, Streamed))
        d, columns = check_shapes(X, y)[1], X.columns if isinstance(X, Table) else None
        data = data.counted(X, y, self._label_rule(bounds), getattr(self, "class_weight", None), self._loss())
        n_rows = public_n_rows(data.units, self.n_rows, self.neighbouring, data.unit)
        assumed, uncovered = self._facts, self._not_covered(levels, callers)
        if callers:
            assumed = (*assumed, *_callers.assumed(callers))
        if not all(map(math.isinf, levels)):
            of_query = data.query_facts()
            assumed, uncovered = assumed + of_query[0], uncovered + of_query[1]
        said = {"assumptions": assumed, "uncovered": uncovered, "features": features, "unit": data.unit}
        facts = PublicFacts.of(self, data.labels, bounds=bounds, n_rows=n_rows, n_features=d, columns=columns, **said)
        if facts.curves is not None:
            facts = facts.at(min(levels))
        return FitInput(data, facts)

    def _name_columns(self, facts: PublicFacts) -> None:
        """Set the number and names of the columns that the bounds name, in the order of `coef_`."""
        layout = facts.layout
        if layout is not None and layout.named:
            self.n_features_in_: int = len(layout.columns)
            self.feature_names_in_: NDArray[Any] = np.array(layout.features, dtype=object)

    def _name_target(self, ready: FitInput) -> None:
        self.target_name_: str | None = ready.data.name

    def _loss(self) -> Loss:
        raise AttributeError("each model names its loss")

    def _check_schema(self, X: Any, y: Any, is_streamed: bool = False) -> tuple[Any, Target]:
        """Shapes and types only: values are checked while they are summed, so X is read once."""
        table = None if type(X) is np.ndarray else as_table(X)
        if table is not None:
            if 0 in table.shape[is_streamed:]:
                raise ValueError(sentence("X", "must have at least one row and one column", table.shape))
            named("X", validate_data, self, table.native, skip_check_array=True)
            X = table
        elif type(X) is np.ndarray and X.ndim == 2 and X.dtype.char in "df" and X.size:
            # A plain matrix of floats needs no further check, and the general check takes longer than small sums.
            self.n_features_in_ = X.shape[1]
            self.__dict__.pop("feature_names_in_", None)
        else:
            checked = named("X", validate_data, self, X, ensure_all_finite=False, dtype="numeric")
            typed = hasattr(X, "__array__") and np.asarray(X).dtype.kind != "O"
            X = checked if typed else numbers_of(X)
        if y is None:
            raise ValueError("`y` must be given: a fit requires y to be passed, but the target y is None.")
        return X, self._check_target(as_target(flat(y)))

    def _check_target(self, y: Target) -> Target:
        return y

    def _label_rule(self, bounds: Bounds | None) -> LabelRule | None:
        """The rule for the labels of a classifier; None for numbers."""
        return None

    def _not_covered(self, levels: Sequence[float], callers: Callers) -> tuple[str, ...]:
        """The facts about the callers of a fit that its statement must name; the user is warned of each."""
        is_asked = callers or "_caller_memory" in self.__dict__
        return _callers.facts(self, callers) if is_asked and not all(map(math.isinf, levels)) else ()

    def _source(self) -> Source:
        return source_of(self.rng)

    def _margins(self, X: Any) -> NDArray[np.float64]:
        matrix = self._counted_rows(X)
        if np.size(self.intercept_) > 1:
            return np.asarray(matrix @ self.coef_.T + self.intercept_, dtype=np.float64)
        return np.asarray(matrix @ np.ravel(self.coef_) + np.ravel(self.intercept_)[0], dtype=np.float64)

    def _counted_rows(self, X: Any) -> NDArray[np.float64]:
        """Rows with the columns of `coef_`, as the fit counted such rows."""
        check_is_fitted(self)
        check_map(X, self._record.features)
        prep = self._record.prep
        if prep.layout is None or not prep.layout.named:  # bounds by name ignore all that they do not name
            X = features_alone(X, self.privacy_.unit.person, self._weight_column)
        return prep.counted(rows_to_predict(self, X, prep.layout))

    def _html_repr(self) -> str:
        return super()._html_repr() + _html.privacy_note(self)

    def __sklearn_clone__(self) -> Self:
        # A copy that is not fitted, unless a client asks for it that would break the promise.
        if callers := call_stack():
            _callers.refuse(self, callers)
            _callers.warn_of_folds(self, callers)
        copied: Self = super().__sklearn_clone__()
        _callers.remember(copied, callers, self)
        return copied

    def __sklearn_tags__(self) -> Any:
        callers = call_stack()
        if "privacy_" in self.__dict__:
            _callers.warn_of_own_fit(self, callers)
        else:  # a stack asks for tags before its workers clone, where its frame is not seen
            _callers.refuse(self, callers)
            _callers.remember(self, callers)
        tags = super().__sklearn_tags__()
        tags.non_deterministic = True
        tags.input_tags.sparse = False
        return tags
