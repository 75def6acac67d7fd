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
    Selection,
    Target,
    above,
    as_table,
    as_target,
    check_indexes,
    resolve_labels,
)
from dplr.rows.exact import Faults
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
        return replace(self, y=Target(NUMERIC, above(self.y, threshold).y, self.y.type_name))


@dataclass(frozen=True, eq=False, slots=True)
class PublicModel:
    """Coefficients in the user's units, the guarantee under which they were released, if any, and their label."""

    coef: NDArray[np.float64]
    intercept: float
    promise: str = ""
    outcome: Any = None

    def about(self, classes: Sequence[Any] | None) -> PublicModel:
        """The coefficients for the second of these labels: a fitted model may be about the first."""
        if classes is None or len(classes) != 2 or self.outcome is None or self.outcome != classes[0]:
            return self
        return replace(self, coef=-self.coef, intercept=-self.intercept, outcome=classes[1])


Public = PublicData | PublicModel


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
        read = _read_model((public.coef_, public.intercept_), n_features, fit_intercept, _promise(public))
        labels = np.asarray(getattr(public, "classes_", ())).tolist()
        return replace(read, outcome=getattr(public, "outcome_", labels[1] if len(labels) == 2 else None))
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


def start(
    public: Public, problem: Problem, prep: Prep, classes: Sequence[Any] | None
) -> tuple[tuple[float, ...], tuple[str, ...]]:
    """w0 in the scaled problem, and the sentences of the statement about it.

    Of public data it is the exact minimiser of the problem's own loss on its own scaling, with `NoPrivacy`'s ridge.

    Parameters
    ----------
    problem, prep : of the private fit.
    classes : the two labels, the second of which the model is about; None for a numeric target, or to take them,
        sorted, from the public data.
    """
    if isinstance(public, PublicData):
        w0 = tuple(_minimiser(public, problem, prep, classes).tolist())
        return w0, (f"public data of {len(public.y)} rows, where the fit starts: they are {DISJOINT}",)
    public = public.about(classes)
    with np.errstate(over="ignore", invalid="ignore"):
        w0 = prep.from_user_units(public.coef, public.intercept)
    if not np.isfinite(w0).all():
        got = (public.coef.tolist(), public.intercept)
        raise ValueError(sentence("public", "must be finite in the scaled problem too", got))
    shown = f"public coefficients {np.array2string(public.coef, threshold=20, precision=6)}"
    shown += f", intercept {public.intercept:g}"
    if public.promise:
        return w0, (f"{shown}: a release of its own, under {public.promise}; on common records both add up",)
    return w0, (f"{shown}: they do not come from the private data; the data behind them are {DISJOINT}",)


def mean_losses(
    public: PublicData, problem: Problem, prep: Prep, classes: Sequence[Any] | None, coefs: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Mean loss on public data at each of `coefs` (k, q)."""
    geometry = problem.geometry
    query = LossGradient(problem.loss, geometry.d, geometry.intercept > 0, with_loss=True)
    rows = _rows(public, problem, prep, classes)
    return np.array([rows.sum(query, coef).loss for coef in coefs]) / len(public.y)


def _minimiser(public: PublicData, problem: Problem, prep: Prep, classes: Sequence[Any] | None) -> NDArray[np.float64]:
    rows, n = _rows(public, problem, prep, classes), len(public.y)
    squared = problem.loss.slope > 0 and not problem.loss.classification  # moments are enough for it
    mechanism = FunctionalMechanism() if squared else NoPrivacy()
    alone = Problem(problem.loss, problem.geometry, Neighbouring.REPLACE_ONE, n, PLAIN / n, ())
    plan = mechanism.plan(alone, math.inf, 0.0)
    return mechanism.solve(plan, [mechanism.run(rows, plan, Source())])[0]


def _rows(public: PublicData, problem: Problem, prep: Prep, classes: Sequence[Any] | None) -> _PublicRows:
    y, labels = public.y.as_float() if not problem.loss.classification else public.y.values, None
    if problem.loss.classification:
        resolved = resolve_labels(public.y, _two_labels(y) if classes is None else classes)
        y, labels = resolved.y, resolved.codes
        missing = [
            label for label, code in zip(resolved.classes.tolist(), labels, strict=True) if not (y == code).any()
        ]
        if missing:
            rule = f"must hold both labels, {resolved.classes.tolist()}"
            raise ValueError(sentence("public", rule, f"none that is {missing[0]!r}"))
    rows = _PublicRows(public.X, y, replace(prep, labels=labels, layout=None))  # encoded already
    rows.columns = public.columns
    return rows


class _PublicRows(ArrayRows):
    """Rows whose faults are those of the parameter `public`."""

    columns: tuple[str, ...] = ()

    def total(self, query: Any, coef: Any = None, rows: Selection = ALL) -> Any:
        """Sum the query; refuse unknown labels and say what was clipped."""
        total = self.sum(query, coef, rows)
        _check_faults(total.faults, self.geometry.half_width is not None, self.columns)
        return total


def _check_faults(faults: Faults, bounded: bool, columns: Sequence[str]) -> None:
    if faults.unknown_labels:
        got = f"{faults.unknown_labels} of {faults.rows} rows with another"
        raise ValueError(sentence("public", "must hold only the two labels of y", got, "Recode its labels."))
    *features, target = faults.outside
    parts = []
    if bounded:
        parts += [f"{name} {k / faults.rows:.2%}" for name, k in zip(columns, features, strict=True) if k][:10]
    elif features[0]:
        parts.append(f"{features[0] / faults.rows:.2%} of the rows of X, outside the unit ball")
    if target:
        parts.append(f"y {target / faults.rows:.2%}")
    if parts:
        remedy = "Check the units: they must be those of the private data."
        warn(f"`public` has values outside the bounds, clipped: {', '.join(parts)}. {remedy}", DataWarning)


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


def _read_model(pair: Any, n_features: int, fit_intercept: bool, promise: str = "") -> PublicModel:
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
    return PublicModel(coef, float(intercept[0]), promise)


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
    matrix, y = _matrix(X, n_features, columns, layout), as_target(y)
    if y.values.ndim != 1 or len(y) != len(matrix) or len(y) < 2:
        rule = "must have at least two rows, and one target for each"
        raise ValueError(sentence("public", rule, (matrix.shape, y.values.shape), _FORMS))
    bad = ~np.isfinite(matrix).all(axis=1)
    if y.numeric:
        bad |= ~np.isfinite(y.as_float())
    if bad.any():
        got = f"{np.count_nonzero(bad)} of {len(y)} rows with NaN or infinity"
        raise ValueError(sentence("public", "must be finite", got, "Remove or impute them by public rules."))
    if layout is not None:
        names: Sequence[str] = layout.names
    else:
        names = columns if columns is not None else [f"column {j}" for j in range(n_features)]
    return PublicData(matrix, y, tuple(names))


def _matrix(X: Any, n_features: int, columns: Sequence[str] | None, layout: Layout | None) -> NDArray[np.float64]:
    """The model's columns: of a table by name, of an array by position."""
    table = as_table(X)
    if table is None:
        array = np.asarray(X)
        width = len(layout.columns) if layout is not None else n_features
        if array.dtype.kind not in "biuf":
            raise ValueError(sentence("public", "must have numeric columns", array.dtype.name))
        if array.ndim != 2 or array.shape[1] != width:
            raise ValueError(sentence("public", f"must have the {width} columns of X", array.shape))
        by_position = None if layout is None or layout.plain else replace(layout, named=False)
        return np.asarray(array, np.float64) if by_position is None else _encoded(array, by_position)
    if columns is None:
        raise ValueError(sentence("public", "must be an array where X has no column names", list(table.columns)))
    features = layout.features if layout is not None else tuple(columns)
    missing = [name for name in features if name not in table.columns]
    extra = [name for name in table.columns if name not in features]
    if missing or (extra and not (layout is not None and layout.named)):
        raise ValueError(
            f"`public` must have exactly the columns of X; missing: {missing or 'none'}; not in X: {extra or 'none'}. "
            "Select the same columns."
        )
    by_name = Layout(features, (_ANY,) * len(features), True) if layout is None else replace(layout, named=True)
    return _encoded(table, by_name)


_ANY = Numeric(-math.inf, math.inf)


def _encoded(X: Any, layout: Layout) -> NDArray[np.float64]:
    matrix, marks = Encoder(X, layout, parameter="public").block()
    unknown = dict(zip(layout.features, marks.tolist(), strict=False))
    shares = [f"{name} {count / len(matrix):.2%}" for name, count in unknown.items() if count][:10]
    if shares:
        remedy = "Check how levels are written."
        warn(f"`public` has values that are no declared level: {', '.join(shares)}. {remedy}", DataWarning)
    return matrix
