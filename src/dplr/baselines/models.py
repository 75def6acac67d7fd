"""DPME and Filter-Priority: what FM12 compared the functional mechanism with."""

from __future__ import annotations

from typing import Any, ClassVar

from dplr._kit.validation import check_count, sentence
from dplr.baselines._base import TableModel
from dplr.baselines.hits import Positions
from dplr.baselines.law import TwoSided, usual_threshold
from dplr.baselines.table import Counts, priority_sample
from dplr.fitting.options import estimator
from dplr.noise import Source


@estimator
class DPME(TableModel):
    """Differentially private M-estimator: a regression of the cells of a noisy table of counts.

    Every count gets two-sided geometric noise, negative counts become 0, and the model is fitted to the middles of the
    cells, each with its noisy count as its weight.

    Parameters
    ----------
    eps : float, default=1.0
        Privacy loss, at least 2^-17, or 2^-18 under add_remove; ``float("inf")`` leaves only the loss of the bins.
    model : {"logistic", "linear"}, default="logistic"
        `"logistic"` for two labels, or `"linear"`.
    bounds : dplr.Bounds, mapping, path or None, default=None
        Bounds of all columns, from public knowledge: they say which cells there are. A number has `bins` of equal
        width, levels and bins are cells of their own. Declare levels for columns that take few values. With
        ``model="linear"`` they declare the range of the target.
    classes : sequence or None, default=None
        Two labels; as in `dplr.LogisticRegression`.
    fit_intercept : bool, default=True
        Whether the model has an intercept. FM12's figures have none.
    n_rows : int or None, default=None
        Public number of rows; len(X) under replace_one, a declared reference under add_remove, which the usual number
        of bins needs there.
    bins : int, list or None, default=None
        Bins of every number; or a list with an entry for each column of the bounds and one for y, those of levels None.
        None for Lei's ceil(1 / h), h = (sqrt(log n) / n)^(2 / (2 + D)), D the number of columns with the target.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_coefs) or (n_coefs,)
        Coefficients in the units of the user's columns, as in `dplr.LogisticRegression` and `dplr.LinearRegression`.
    intercept_ : ndarray of shape (1,) or float
        Intercept in the user's units.
    coef_names_ : tuple of str
        Names of the columns of `coef_`.
    classes_ : ndarray of shape (2,)
        The labels, with ``model="logistic"``.
    privacy_ : dplr.privacy.PrivacyStatement
        The statement of the release.
    released_ : dict of str to sequence
        ``"cells"``, positions of the cells with a positive noisy count in the table, the target's axis fastest, and
        ``"counts"``. The noisy counts of all other cells are 0.
    n_features_in_ : int
        Number of columns of the table, as in scikit-learn.
    feature_names_in_ : ndarray of str
        Names of the columns of the table, where it has any, as in scikit-learn.

    Raises
    ------
    ValueError, TypeError
        On `fit`: a parameter or the data break a rule, or more than 2^26 cells would be released.

    Privacy
    -------
    Pure eps-DP, for the computed numbers (histogram.md, theorems 1 and 3). Released are the noisy counts; the model is
    post-processing of them. Assumed public: all parameters, the bounds, the labels, and the number of rows under
    replace_one. Every call of `fit` spends eps anew.

    See Also
    --------
    dplr.fit : Better models at the same eps; this one is for comparisons.
    dplr.baselines.FilterPriority : Tables of any number of cells.

    References
    ----------
    Lei, NIPS 2011; proofs: histogram.md, theorems 1 and 3.

    Examples
    --------
    >>> import numpy as np, dplr
    >>> from dplr import baselines
    >>> X = np.random.default_rng(0).uniform(0, 10, (5000, 2))
    >>> bounds = dplr.Bounds([(0, 10), (0, 10)])
    >>> est = baselines.DPME(eps=1.0, bounds=bounds).fit(X, X[:, 0] > X[:, 1])
    >>> est.score(X, X[:, 0] > X[:, 1]) > 0.9
    True
    >>> est.privacy_.guarantee
    Pure(eps=1.0)
    """

    _mechanism: ClassVar[str] = "dpme"
    _source_of: ClassVar[str] = "Lei 2011"

    def _threshold(self, law: TwoSided, cells: int, n_rows: int | None) -> tuple[int, str]:
        return 1, "negative counts become 0"


@estimator
class FilterPriority(TableModel):
    """Filter and priority sampling of a noisy table, and a regression of its cells.

    Of all counts with two-sided geometric noise, those of at least `theta` are kept, and of these a priority sample of
    at most `size`; the model is fitted to the middles of their cells. Empty cells that pass are drawn without a list of
    all cells, so the table may have any number of them.

    Parameters
    ----------
    eps : float, default=1.0
        Privacy loss, as in `DPME`.
    model : {"logistic", "linear"}, default="logistic"
        `"logistic"` for two labels, or `"linear"`.
    bounds : dplr.Bounds, mapping, path or None, default=None
        Bounds of all columns, from public knowledge, as in `DPME`.
    classes : sequence or None, default=None
        Two labels; as in `dplr.LogisticRegression`.
    n_rows : int or None, default=None
        Public number of rows, as in `DPME`.
    bins : int, list or None, default=None
        Bins of every number, as in `DPME`.
    theta : int or None, default=None
        Least noisy count that is kept, in 1..32768. None for the least one at which at most n/10 empty cells pass on
        average: the paper recommends none.
    size : int or None, default=None
        Most cells that are kept. None for n, the public number of rows.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_coefs) or (n_coefs,)
        Coefficients in the units of the user's columns, as in `DPME`.
    intercept_ : ndarray of shape (1,) or float
        Intercept in the user's units.
    coef_names_ : tuple of str
        Names of the columns of `coef_`.
    classes_ : ndarray of shape (2,)
        The labels, with ``model="logistic"``.
    privacy_ : dplr.privacy.PrivacyStatement
        The statement of the release.
    released_ : dict of str to sequence
        ``"cells"``, positions of the sampled cells in the table, Python's integers where there are 2^62 cells or more;
        and ``"counts"``, their weights.
    n_features_in_ : int
        Number of columns of the table, as in scikit-learn.
    feature_names_in_ : ndarray of str
        Names of the columns of the table, where it has any, as in scikit-learn.

    Raises
    ------
    ValueError, TypeError
        On `fit`: a parameter or the data break a rule, as in `DPME`.

    Privacy
    -------
    Pure eps-DP, for the computed numbers (histogram.md, theorems 1, 2 and 3). The filter, the sample and the model are
    post-processing of the noisy counts. `theta` and `size` are public, and so is all that `DPME` assumes.

    See Also
    --------
    dplr.fit : Better models at the same eps; this one is for comparisons.
    dplr.baselines.DPME : All cells of smaller tables.

    References
    ----------
    Cormode, Procopiuc, Srivastava and Tran, ICDT 2012; proofs: histogram.md, theorems 1, 2 and 3.

    Examples
    --------
    >>> import numpy as np, dplr
    >>> from dplr import baselines
    >>> X = np.random.default_rng(0).uniform(0, 10, (5000, 2))
    >>> bounds = dplr.Bounds([(0, 10), (0, 10)], target=(-10, 10))
    >>> est = baselines.FilterPriority(eps=1.0, model="linear", bounds=bounds, bins=8).fit(X, X[:, 0] - X[:, 1])
    >>> est.score(X, X[:, 0] - X[:, 1]) > 0.9
    True
    """

    _mechanism: ClassVar[str] = "filter-priority"
    _source_of: ClassVar[str] = "Cormode et al. 2012"

    theta: int | None = None
    size: int | None = None

    def _threshold(self, law: TwoSided, cells: int, n_rows: int | None) -> tuple[int, str]:
        size = self._size(n_rows)
        if self.theta is not None:
            theta = check_count("theta", self.theta)
        elif n_rows is None:
            raise _no_reference("theta")
        else:
            theta = usual_threshold(law, cells, n_rows)
        rule = f"counts of at least {theta} are kept, and a priority sample of {size} of them, with weights for counts"
        return theta, rule

    def _size(self, n_rows: int | None) -> int:
        if self.size is not None:
            return check_count("size", self.size)
        if n_rows is None:
            raise _no_reference("size")
        return n_rows

    def _sampled(self, positions: Positions, counts: Counts, rows: int | None, source: Source) -> Any:
        return priority_sample(positions, counts, self._size(rows), source)


def _no_reference(name: str) -> ValueError:
    remedy = f"The usual `{name}` depends on it. Or give `{name}`."
    return ValueError(sentence("n_rows", "must be declared under add_remove", None, remedy))
