"""Types of what users pass, for annotations of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from dplr.bounds.declared import Bounds
    from dplr.ledger.allotment import Allotment
    from dplr.ledger.handle import Ledger
    from dplr.ledger.job import Job
    from dplr.mechanisms.protocol import Mechanism

__all__ = ["BoundsLike", "FittedModel", "LedgerLike", "MechanismLike", "PublicLike"]


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


MechanismLike: TypeAlias = "Mechanism | str"
"""`"auto"`, a shorthand such as `"fm"`, or a spec such as ``dplr.FunctionalMechanism()``."""

PublicLike: TypeAlias = "FittedModel | tuple[Any, Any] | Sequence[float] | NDArray[Any] | None"
"""Public data ``(X, y)``, a fitted model, a pair ``(coef, intercept)``, or a vector of coefficients; None for none."""

BoundsLike: TypeAlias = "Bounds | Mapping[str, Any] | str | os.PathLike[str] | None"
"""A `dplr.Bounds`, a mapping of column names to bounds, the path of a bounds file, or None."""

LedgerLike: TypeAlias = "Ledger | Allotment | Job | str | os.PathLike[str] | None"
"""A `dplr.Ledger`, what was set aside in one, a job of one, or the path of one that exists; None for no ledger."""
