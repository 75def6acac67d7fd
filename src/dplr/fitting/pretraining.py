"""Pre-training: public data or public coefficients become the start w0. Done before anything private is read."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dplr._kit.validation import sentence
from dplr._kit.warnings import DataWarning, warn
from dplr.bounds.columns import Numeric
from dplr.bounds.layout import Layout
from dplr.bounds.scaling import Prep
from dplr.mechanisms import FunctionalMechanism, NoPrivacy
from dplr.mechanisms.perturbation.ridge import PLAIN
from dplr.noise import Source
from dplr.privacy.guarantees import Neighbouring
from dplr.problem.problem import Problem
from dplr.rows import (
    ALL,
    NUMERIC,
    ArrayRows,
    Encoder,
    LabelRule,
    Selection,
    Table,
    Target,
    as_table,
    as_target,
    check_indexes,
)
from dplr.rows.losses import LossGradient

_FORMS = "Give public data (X, y), a fitted model, or a pair (coef, intercept)."
_PAIR = "must hold coefficients and an intercept"
_MOST_WORK = 100_000  # limit of the search for memory that two arrays share: a few milliseconds
DISJOINT = "disjoint from the private data, and were not selected using it"


@dataclass(frozen=True, eq=False, slots=True)
class PublicData:
    """Public rows, columns in the order of X, and their targets."""

    X: NDArray[Any]
    y: Target
    columns: tuple[str, ...]

    def above(self, threshold: float) -> PublicData:
        """These rows with labels that say whether their target is above the threshold of the bounds."""
        return replace(self, y=Target(NUMERIC, LabelRule(threshold=threshold).of(self.y).y, self.y.type_name))

    def start(self, problem: Problem, prep: Prep, classes: Sequence[Any] | None) -> Start:
        """The exact minimiser of the problem's own loss on its own scaling, with `NoPrivacy`'s ridge."""
        rows, n = self._rows(problem, prep, classes), len(self.y)
        squared = problem.loss.slope > 0 and not problem.loss.classification  # moments are enough for it
        mechanism = FunctionalMechanism() if squared else NoPrivacy()
        alone = Problem(problem.loss, problem.geometry, Neighbouring.REPLACE_ONE, n, PLAIN / n, ())
        plan = mechanism.plan(alone, math.inf, 0.0)
        w0 = mechanism.solve(plan, [mechanism.run(rows, plan, Source())])[0]
        return tuple(w0.tolist()), (f"public data of {n} rows, where the fit starts: they are {DISJOINT}",)

    def mean_losses(
        self, problem: Problem, prep: Prep, classes: Sequence[Any] | None, coefs: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Mean loss at each of `coefs` (k, q)."""
        geometry, rows = problem.geometry, self._rows(problem, prep, classes)
        query = LossGradient(problem.loss, geometry.d, geometry.intercept > 0, with_loss=True)
        return np.array([rows.sum(query, coef).loss for coef in coefs]) / len(self.y)

    def _rows(self, problem: Problem, prep: Prep, classes: Sequence[Any] | None) -> _PublicRows:
        y, labels = None, None
        if problem.loss.classification:
            resolved = LabelRule(_two_labels(self.y.values) if classes is None else classes).of(self.y)
            y, labels, names = resolved.y, resolved.codes, resolved.classes.tolist()
            missing = [label for label, code in zip(names, labels, strict=True) if not (y == code).any()]
            if missing:
                got = f"none that is {missing[0]!r}"
                raise ValueError(sentence("public", f"must hold both labels, {names}", got))
        y = self.y.as_float() if y is None else y
        rows = _PublicRows(self.X, y, replace(prep, labels=labels, layout=None))  # encoded already
        rows.columns = self.columns
        return rows


@dataclass(frozen=True, eq=False, slots=True)
class PublicModel:
    """Coefficients in the user's units, the guarantee under which they were released, if any, and their label."""

    coef: NDArray[np.float64]
    intercept: float
    promise: str = ""
    outcome: Any = None

    def above(self, _: float) -> PublicModel:
        """Itself: it is about labels already."""
        return self

    def start(self, _: Problem, prep: Prep, classes: Sequence[Any] | None) -> Start:
        """The coefficients in the scaled problem, about the second of these labels."""
        turned = classes is not None and len(classes) == 2 and self.outcome is not None and self.outcome == classes[0]
        coef, intercept = (-self.coef, -self.intercept) if turned else (self.coef, self.intercept)
        with np.errstate(over="ignore", invalid="ignore"):
            w0 = prep.from_user_units(coef, intercept)
        if not np.isfinite(w0).all():
            got = (coef.tolist(), intercept)
            raise ValueError(sentence("public", "must be finite in the scaled problem too", got))
        shown = f"public coefficients {np.array2string(coef, threshold=20, precision=6)}, intercept {intercept:g}"
        if self.promise:
            return w0, (f"{shown}: a release of its own, under {self.promise}; on common records both add up",)
        return w0, (f"{shown}: they do not come from the private data; the data behind them are {DISJOINT}",)


Public = PublicData | PublicModel
Start = tuple[tuple[float, ...], tuple[str, ...]]  # w0 in the scaled problem, and the sentences of the statement


class FittedModel(Protocol):
    """A linear model of scikit-learn or of this package after its fit.

    Any object with these two attributes is one.

    Attributes
    ----------
    coef_ : array-like of shape (n_features,), (1, n_features) or (n_classes, n_features)
        Coefficients in the units of the features.
    intercept_ : float, or array-like of shape (n_classes,)
        Intercepts.

    Privacy
    -------
    As `public` of a fit it must come from data that are disjoint from the private ones.

    See Also
    --------
    dplr.fit : Start from such a model, with ``public=``.

    Examples
    --------
    >>> import numpy as np, dplr
    >>> from sklearn.linear_model import LinearRegression
    >>> from dplr.typing import FittedModel
    >>> def slopes(model: FittedModel) -> list[float]:
    ...     return np.ravel(model.coef_).tolist()
    >>> [round(slope, 3) for slope in slopes(LinearRegression().fit([[0.0], [1.0]], [1.0, 3.0]))]
    [2.0]
    """

    coef_: Any
    intercept_: Any


PublicLike: TypeAlias = "FittedModel | tuple[Any, Any] | None"
"""Public data ``(X, y)``, a fitted model, or a pair ``(coef, intercept)``; None for none."""


def check_other_rows(public: Any, X: Any) -> None:
    """Refuse the private rows as public ones: the same object, or arrays that share memory.

    A copy is not looked for: that would be a look at the rows before the budget is reserved.
    """
    if public is None or not _holds_data(public):
        return
    shared = public[0] is X
    if isinstance(public[0], np.ndarray) and isinstance(X, np.ndarray):
        with contextlib.suppress(np.exceptions.TooHardError):
            shared = np.shares_memory(public[0], X, max_work=_MOST_WORK)  # type: ignore[arg-type]  # stubs know 0, -1
    if shared:
        remedy = f"Public rows must be {DISJOINT}: where the fit starts, it would tell them. Give other people's rows."
        raise ValueError(sentence("public", "must not be the private rows", type(X).__name__, remedy))


def read_public(
    public: Any, n_features: int, columns: Sequence[str] | None, fit_intercept: bool, layout: Layout | None = None
) -> Public | None:
    """`public` in one of its forms; raises ValueError for any other form, and for values that are not finite.

    Coefficients are those of the model's columns, in their order; data have the columns of the table.

    Data are a pair whose first part is a frame, or a table beside more than one target: neither can be meant as
    coefficients. Any other pair is (coef, intercept).
    """
    if public is None:
        return None
    if _holds_data(public):
        return _read_data(public[0], public[1], n_features, columns, layout)
    if layout is not None:
        _check_names(public, layout)
        n_features = layout.width
    if hasattr(public, "coef_"):
        if getattr(public, "ranges_", None):
            remedy = 'It is no linear model beyond them: fit it with a spec that has ranges="off".'
            raise ValueError(sentence("public", "must have no ranges of its own", public.ranges_, remedy))
        read, labels = (public.coef_, public.intercept_), np.asarray(getattr(public, "classes_", ())).tolist()
        outcome = getattr(public, "outcome_", labels[1] if len(labels) == 2 else None)
        return replace(_read_model(read, n_features, fit_intercept), promise=_promise(public), outcome=outcome)
    if hasattr(public, "get_params"):
        remedy = "Fit it; where it is cloned, as in cross-validation, give (est.coef_, est.intercept_)."
        raise ValueError(sentence("public", "must be a linear model that is fitted", type(public).__name__, remedy))
    if not isinstance(public, (tuple, list)):  # an array of two numbers is no pair either
        raise ValueError(sentence("public", _PAIR, public, _FORMS))
    return _read_model(public, n_features, fit_intercept)


def column_names(public: Any) -> tuple[str, ...] | None:
    """Names of the columns of public data in a frame."""
    table = as_table(public[0]) if _holds_data(public) else None
    return None if table is None else table.columns


class _PublicRows(ArrayRows):
    """Rows whose faults are those of the parameter `public`."""

    columns: tuple[str, ...] = ()

    def total(self, query: Any, coef: Any = None, rows: Selection = ALL) -> Any:
        total = self.sum(query, coef, rows)
        faults = total.faults
        if faults.unknown_labels:
            got = f"{faults.unknown_labels} of {faults.rows} rows with another"
            raise ValueError(sentence("public", "must hold only the two labels of y", got, "Recode its labels."))
        *features, target = faults.outside
        parts = [f"{features[0] / faults.rows:.2%} of the rows of X, outside the unit ball"] if features[0] else []
        if self.geometry.half_width is not None:
            named = [pair for pair in zip(self.columns, features, strict=True) if pair[1]]
            parts = [f"{name} {count / faults.rows:.2%}" for name, count in named[:10]]
        parts += [f"y {target / faults.rows:.2%}"] if target else []
        if parts:
            remedy = "Check the units: they must be those of the private data."
            warn(f"`public` has values outside the bounds, clipped: {', '.join(parts)}. {remedy}", DataWarning)
        return total


def _two_labels(y: NDArray[Any]) -> list[Any]:
    """The two labels of public data, which may be taken from the data."""
    labels = list(dict.fromkeys(y.tolist()))
    if len(labels) != 2:
        raise ValueError(sentence("public", "must hold two labels", labels[:3]))
    return sorted(labels)


def _promise(model: Any) -> str:
    """The guarantee of a private model; one without privacy is like any other."""
    statement = getattr(model, "privacy_", None)
    if statement is None or math.isinf(statement.eps):
        return ""
    rest = f" (not covered: {'; '.join(statement.uncovered)})" if statement.uncovered else ""
    return f"{statement.guarantee}{rest}"


def _holds_data(public: Any) -> bool:
    if not (isinstance(public, (tuple, list)) and len(public) == 2):
        return False
    if as_table(public[0], "public") is not None:
        return True
    try:
        shape, targets = np.shape(public[0]), np.size(public[1])
    except ValueError:  # of several lengths
        return False
    return len(shape) == 2 and targets > 1


def _read_model(pair: Any, n_features: int, fit_intercept: bool) -> PublicModel:
    try:
        coef, intercept = (np.array(part, dtype=np.float64).ravel() for part in pair)
    except (TypeError, ValueError):
        raise ValueError(sentence("public", _PAIR, pair, _FORMS)) from None
    if coef.shape != (n_features,) or intercept.shape != (1,):
        got = (coef.shape, intercept.shape)
        raise ValueError(sentence("public", f"must have {n_features} coefficients and one intercept", got, _FORMS))
    if not (np.isfinite(coef).all() and np.isfinite(intercept).all()):
        raise ValueError(sentence("public", "must be finite", pair))
    if not fit_intercept and intercept[0] != 0:
        raise ValueError(sentence("public", "must have intercept 0 with fit_intercept=False", float(intercept[0])))
    return PublicModel(coef, float(intercept[0]))


def _check_names(public: Any, layout: Layout) -> None:
    """Refuse a model of this package whose coefficients are of the same columns in another order, or of other knots."""
    names = getattr(public, "coef_names_", layout.names) if hasattr(public, "coef_") else layout.names
    if layout.named and sorted(names) == sorted(layout.names) and tuple(names) != layout.names:
        rule = f"must have its coefficients in the order of the bounds, {list(layout.names)}"
        raise ValueError(sentence("public", rule, list(names), "Give (coef, intercept) in that order."))
    if layout.named and layout.hats and tuple(names) != layout.names:
        remedy = "Start with a model that has them, or with public data."
        raise ValueError(sentence("public", "must have the curves of this fit", list(names), remedy))


def _read_data(X: Any, y: Any, n_features: int, columns: Sequence[str] | None, layout: Layout | None) -> PublicData:
    check_indexes(**{"public[0]": X, "public[1]": y})
    unbounded, names = Numeric(-math.inf, math.inf), columns or [f"column {j}" for j in range(n_features)]
    declared = layout or Layout(tuple(names), (unbounded,) * n_features, False)
    matrix, y = _matrix(X, columns, declared), as_target(y)
    if y.values.ndim != 1 or len(y) != len(matrix) or len(y) < 2:
        rule = "must have at least two rows, and one target for each"
        raise ValueError(sentence("public", rule, (matrix.shape, y.values.shape), _FORMS))
    bad = ~np.isfinite(matrix).all(axis=1)
    if y.numeric:
        bad |= ~np.isfinite(y.as_float())
    if bad.any():
        got = f"{np.count_nonzero(bad)} of {len(y)} rows with NaN or infinity"
        raise ValueError(sentence("public", "must be finite", got, "Remove or impute them by public rules."))
    return PublicData(matrix, y, declared.names)


def _matrix(X: Any, columns: Sequence[str] | None, layout: Layout) -> NDArray[np.float64]:
    """The model's columns: of a table by name, of an array by position."""
    rows: Any = as_table(X)
    if rows is None:
        rows, width = np.asarray(X), len(layout.columns)
        if rows.dtype.kind not in "biuf":
            raise ValueError(sentence("public", "must have numeric columns", rows.dtype.name))
        if rows.ndim != 2 or rows.shape[1] != width:
            raise ValueError(sentence("public", f"must have the {width} columns of X", rows.shape))
        if layout.plain:
            return np.asarray(rows, np.float64)
    elif columns is None:
        raise ValueError(sentence("public", "must be an array where X has no column names", list(rows.columns)))
    else:
        missing = [name for name in layout.features if name not in rows.columns]
        extra = [name for name in rows.columns if name not in layout.features]
        if missing or (extra and not layout.named):
            rest = f"missing: {missing or 'none'}; not in X: {extra or 'none'}. Select the same columns."
            raise ValueError(f"`public` must have exactly the columns of X; {rest}")
    matrix, marks = Encoder(rows, replace(layout, named=isinstance(rows, Table)), parameter="public").block()
    unknown = dict(zip(layout.features, marks.tolist(), strict=False))
    shares = [f"{name} {count / len(matrix):.2%}" for name, count in unknown.items() if count][:10]
    if shares:
        remedy = "Check how levels are written."
        warn(f"`public` has values that are no declared level: {', '.join(shares)}. {remedy}", DataWarning)
    return matrix
