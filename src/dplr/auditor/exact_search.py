"""A search for the pair of neighbouring data sets that tells most about which of the two was used."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dplr._kit.validation import check_choice, check_count, check_list, real_number, sentence
from dplr.auditor.density import Array, Body, MarginLoss, log_density_ratio
from dplr.privacy.guarantees import Neighbouring

# This share of the pairs is drawn at random; the rest are children of the worst ones so far.
_RANDOM_SHARE = 0.3
_PARENTS, _CHILDREN = 100, 1_000
# Logarithms of norms: from far inside the ball of rows to far beyond where every margin saturates.
_LOG_NORMS = (-3.0, 8.0)
# Logarithms (base 10) of how far children fall.
_STEPS = (-4.0, 0.0)


@dataclass(frozen=True, slots=True, eq=False)
class WorstPair:
    """The result of `search`: two neighbouring data sets and the release that tells most.

    Attributes
    ----------
    log_ratio : float
        Size of the log density ratio; the mechanism's eps is at least this.
    X, y : ndarray of shape (n, d) and (n,)
        Rows of one data set, with the intercept's constant appended, and their targets.
    X2, y2 : ndarray of shape (n2, d) and (n2,)
        Those of its neighbour; n2 is n under replace_one, and may differ by one under add_remove.
    coef, w0 : ndarray of shape (d,)
        The released coefficients and the public ones.
    pairs : int
        Number of pairs looked at.

    Privacy
    -------
    The data sets are made up by the search.

    See Also
    --------
    dplr.auditor.search : Finds it.

    Examples
    --------
    >>> import numpy as np
    >>> from dplr.auditor import search
    >>> class Squared:
    ...     def residual(self, margin, y):
    ...         return margin - y
    ...
    ...     def weight(self, margin, y):
    ...         return np.ones_like(margin)
    >>> found = search(1, loss=Squared(), ridge=2.0, scale=2.0, pairs=1000)
    >>> found.pairs >= 1000, found.coef.shape
    (True, (1,))
    """

    log_ratio: float
    X: Array
    y: Array
    X2: Array
    y2: Array
    coef: Array
    w0: Array
    pairs: int


@dataclass(frozen=True, slots=True)
class _Space:
    """All pairs of a kind as points: real numbers, of which any values are legal, and labels."""

    d: int
    n_rows: int
    radius: float
    iota: float
    public_start: bool
    relation: Neighbouring
    body: Body | None = None

    @property
    def reals(self) -> int:
        """Rows of both data sets; direction and log norm of coef and of its distance from w0."""
        return (self.n_rows + 1) * self.d + 2 * (self.d + (self.iota > 0) + 1)

    def draw(self, rng: np.random.Generator, size: int) -> tuple[Array, Array]:
        """Points at random, of all norms."""
        points = rng.normal(scale=1.5, size=(size, self.reals))
        points[:, -2:] = rng.uniform(*_LOG_NORMS, size=(size, 2))
        return points, rng.choice([-1.0, 1.0], size=(size, self.n_rows + 1))

    def decode(self, points: Array, labels: Array) -> tuple[Array, Array, Array, Array, Array, Array]:
        """X, y, X2, y2, coef, w0 of each point: rows are projected onto the ball, the constant is appended."""
        n, d = self.n_rows, self.d
        q = d + (self.iota > 0)
        rows, coef, pull, norms = np.split(points, [(n + 1) * d, (n + 1) * d + q, (n + 1) * d + 2 * q], axis=1)
        rows = rows.reshape(-1, n + 1, d)
        rows = self._bounded(rows)
        if self.iota:
            rows = np.concatenate([rows, np.full((len(rows), n + 1, 1), self.iota)], axis=2)
        coef = _unit(coef) * np.exp(norms[:, :1])
        w0 = coef + _unit(pull) * np.exp(norms[:, 1:]) if self.public_start else np.zeros_like(coef)
        indices = np.arange(n - 1)  # both data sets start with the same rows
        if self.relation is Neighbouring.REPLACE_ONE:
            indices = np.append(indices, n)
        return rows[:, :n], labels[:, :n], rows[:, indices], labels[:, indices], coef, w0

    def _bounded(self, rows: Array) -> Array:
        """Rows in the ball; or in the body: numbers clipped, and of a block the largest column alone, or none."""
        if self.body is None:
            projected: Array = rows * (self.radius / np.maximum(np.linalg.norm(rows, axis=2, keepdims=True), 1))
            return projected
        rows, first = np.clip(rows, -1, 1), 0
        for width, size in self.body:
            group = rows[:, :, first : first + size]
            if size > 1:
                group = (np.arange(size) == group.argmax(axis=2)[..., None]) & (group > -1)
            rows[:, :, first : first + size] = group * width
            first += size
        return rows


def search(
    d: int,
    *,
    loss: MarginLoss,
    ridge: ArrayLike,
    scale: float,
    mechanism: str = "objective",
    neighbouring: str = "replace_one",
    n_rows: int = 1,
    radius: float = 1.0,
    iota: float = 0.0,
    public_start: bool = True,
    body: Body | None = None,
    pairs: int = 100_000,
    rng: int = 0,
) -> WorstPair:
    """Search neighbouring data sets, releases and public coefficients for the largest log density ratio.

    The noise is of the law "gamma", or "gauge" with a `body` (a Gaussian's log ratio has no bound).
    A third of the pairs is random, with rows on and inside the sphere and coefficients of norms from e^-3 to e^8; the
    others are random changes of the 100 worst ones so far. What it finds is a lower bound of eps, with the pair as its
    proof.

    Parameters
    ----------
    d : int
        Columns of X, without the intercept.
    loss : object with methods residual and weight
        First and second derivative of the loss, as in `log_density_ratio`.
    ridge : float or array-like of shape (d,)
        Lam > 0 of the sum form, which is l2 * n_rows.
    scale : float
        Scale of the noise, as in `log_density_ratio`.
    mechanism : {"objective", "output"}, default="objective"
        What the noise is added to.
    neighbouring : {"replace_one", "add_remove"}, default="replace_one"
        Which two data sets are neighbours.
    n_rows : int, default=1
        Rows of the (larger) data set. With public coefficients free, one row reaches the supremum of every number of
        rows; more rows only make it rarer.
    radius : float, default=1.0
        Radius of the ball of rows, above 0.
    iota : float, default=0.0
        Constant appended for the intercept, 0 for none.
    public_start : bool, default=True
        Whether the search chooses w0 too; False for w0 = 0.
    body : sequence of (float, int) or None, default=None
        Half-width and columns of each group of columns, without the constant: rows lie in this body instead of the
        ball, and the noise has its gauge. A group of several columns is a one-hot block.
    pairs : int, default=100000
        Number of pairs to look at.
    rng : int, default=0
        Seed.

    Returns
    -------
    dplr.auditor.WorstPair
        The pair with the largest log density ratio.

    Raises
    ------
    ValueError, TypeError
        A parameter is outside its range.

    Privacy
    -------
    Uses no data.

    See Also
    --------
    dplr.auditor.log_density_ratio : The ratio of one pair.

    Examples
    --------
    CM08, Algorithm 2, as printed at eps = 1 (scale 2 R / eps): private at n * lambda = 2, and not at 0.1.

    >>> from scipy.special import expit
    >>> from dplr.auditor import search
    >>> class Logistic:
    ...     def residual(self, margin, y):
    ...         return -y * expit(-y * margin)
    ...
    ...     def weight(self, margin, y):
    ...         return expit(margin) * expit(-margin)
    >>> for ridge in (2.0, 0.1):
    ...     found = search(2, loss=Logistic(), ridge=ridge, scale=2.0, pairs=20_000)
    ...     print(ridge, found.log_ratio <= 1)
    2.0 True
    0.1 False
    """
    relation = Neighbouring(check_choice("neighbouring", neighbouring, [str(kind) for kind in Neighbouring]))
    pairs, n_rows = check_count("pairs", pairs), check_count("n_rows", n_rows)
    if not real_number("radius", radius) > 0:
        raise ValueError(sentence("radius", "must be positive", radius))
    if not real_number("iota", iota) >= 0:
        raise ValueError(sentence("iota", "must be at least 0", iota))
    space = _Space(check_count("d", d), n_rows, radius, iota, public_start, relation, body)
    if body is not None and not all(isinstance(part, tuple) and len(part) == 2 for part in check_list("body", body)):
        raise TypeError(sentence("body", "must be a list of pairs (half-width, columns)", body))
    groups = None if body is None else [*body, *([(iota, 1)] if iota else [])]
    noise: dict[str, Any] = {"scale": scale, "law": "gamma" if body is None else "gauge", "body": groups}
    generator = np.random.default_rng(check_count("rng", rng, minimum=0))
    if not (hasattr(loss, "residual") and hasattr(loss, "weight")):
        raise TypeError(sentence("loss", "must have residual(z, y) and weight(z, y)", loss))

    def ratios(points: Array, labels: Array) -> Array:
        *data, w0 = space.decode(points, labels)
        signed = log_density_ratio(*data, loss=loss, ridge=ridge, mechanism=mechanism, w0=w0, **noise)
        return np.abs(signed)

    points, labels = space.draw(generator, _PARENTS)
    worst = ratios(points, labels)
    count = _PARENTS
    while count < pairs:
        if count < _RANDOM_SHARE * pairs:
            new_points, new_labels = space.draw(generator, _CHILDREN)
        else:
            parents = generator.integers(_PARENTS, size=_CHILDREN)
            step = 10 ** generator.uniform(*_STEPS, size=(_CHILDREN, 1))
            new_points = points[parents] + step * generator.normal(size=(_CHILDREN, space.reals))
            new_labels = labels[parents]
        candidates = np.concatenate([worst, ratios(new_points, new_labels)])
        kept = np.argsort(-candidates)[:_PARENTS]
        worst = candidates[kept]
        points, labels = np.concatenate([points, new_points])[kept], np.concatenate([labels, new_labels])[kept]
        count += _CHILDREN
    X, y, X2, y2, coef, w0 = (part[0] for part in space.decode(points[:1], labels[:1]))
    return WorstPair(float(worst[0]), X, y, X2, y2, coef, w0, count)


def _unit(vectors: Array) -> Array:
    """Rows scaled to norm 1."""
    norm: Array = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / norm
