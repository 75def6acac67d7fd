"""Two nested models of one release: whether the columns that one of them lacks are needed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dplr._kit import markup
from dplr._kit.validation import sentence
from dplr.inference.intervals import ScoreTest
from dplr.summary.statistics import words_of
from dplr.summary.subject import check_columns, joint_test


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two nested models of one release.

    Attributes
    ----------
    dropped : tuple of str
        Names of the coefficients that the larger model has and the smaller one lacks.
    test : ScoreTest
        Test that all of them are 0 in the larger model: `statistic`, `dof` and `p_value`.

    Privacy
    -------
    Post-processing of one release: no further privacy loss.

    See Also
    --------
    dplr.compare : Compare two models of one release.

    Examples
    --------
    >>> import dplr
    >>> print(dplr.Comparison(("age",), dplr.ScoreTest(4.0, 1, 0.0455, "not zero")))
    Without age: chi-square 4, 1 df, p = 0.0455.
    """

    dropped: tuple[str, ...]
    test: ScoreTest

    def __str__(self) -> str:
        """Return the comparison as a sentence."""
        test = self.test
        if math.isnan(test.p_value):
            return f"Without {', '.join(self.dropped)}: the released numbers cannot say."
        return f"Without {', '.join(self.dropped)}: {words_of(test)}."

    def _repr_html_(self) -> str:
        """Return the comparison for notebooks."""
        return markup.piece("", markup.paragraph(str(self)))


def compare(a: Any, b: Any) -> Any:
    """Compare two nested models of the same release.

    It answers whether the columns that one of them lacks are needed.

    Parameters
    ----------
    a : fitted estimator or MomentModel
        Model of a release.
    b : fitted estimator or MomentModel
        Another model of it, such as ``a.refit(columns=...)``, or ``released.regress(...)`` with fewer columns. The
        order of the two does not matter.

    Returns
    -------
    Comparison or dict
        The coefficients that the smaller model lacks, and the test that they are 0. With more than two classes, a
        dictionary of comparisons by label.

    Raises
    ------
    NotFittedError
        `fit` was not called.
    ValueError
        The models are not of one release, or not nested; or the release allows no intervals.

    Privacy
    -------
    Uses released numbers and public facts alone: no further privacy loss.

    See Also
    --------
    dplr.LinearRegression.refit : Make another model from the same release.
    dplr.LinearRegression.wald_test : Test a value of several coefficients.

    Examples
    --------
    >>> import numpy as np, dplr
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0, 10, (20_000, 2))
    >>> y = 3 * X[:, 0] + rng.normal(0, 3, 20_000)
    >>> bounds = dplr.Bounds([(0, 10), (0, 10)], target=(-20, 40))
    >>> est = dplr.LinearRegression(eps=5.0, bounds=bounds, mechanism="fm").fit(X, y)
    >>> dplr.compare(est, est.refit(columns=["column 1"])).dropped
    ('column 0',)
    """
    targets, parts = zip(*(model._origin() for model in (a, b)), strict=True)
    if not _same_release(*parts):
        remedy = "Use a.refit(columns=...), or regress(...) of the same moments."
        raise ValueError(sentence("b", "must be of the same release as `a`", type(b).__name__, remedy))
    if targets[0] != targets[1]:
        raise ValueError(
            sentence("b", "must be of the same target as `a`", targets[1], f"That of `a` is {targets[0]}.")
        )
    subjects = [model._subject(None) for model in (a, b)]
    larger, smaller = (0, 1) if len(subjects[0].names) >= len(subjects[1].names) else (1, 0)
    dropped = tuple(name for name in subjects[larger].names if name not in subjects[smaller].names)
    if not dropped or not set(subjects[smaller].names) <= set(subjects[larger].names):
        got = f"{len(subjects[0].names)} and {len(subjects[1].names)} coefficients"
        raise ValueError(sentence("b", "must have fewer or more columns than `a`, and otherwise the same", got))
    which = check_columns(subjects[larger].names, dropped)
    tests = [joint_test(equation, which, np.zeros(len(which)), None) for equation in subjects[larger].equations]
    results = [Comparison(dropped, test) for test in tests]
    return results[0] if len(results) == 1 else dict(zip(a.classes_.tolist(), results, strict=True))


def _same_release(a: Sequence[Mapping[str, Any]], b: Sequence[Mapping[str, Any]]) -> bool:
    return len(a) == len(b) and all(
        one.keys() == counterpart.keys() and all(np.array_equal(one[name], counterpart[name]) for name in one)
        for one, counterpart in zip(a, b, strict=True)
    )
