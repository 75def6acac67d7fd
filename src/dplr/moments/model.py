"""A linear model made of released moments: coefficients, predictions and tables, without further cost."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dplr._kit.validation import check_choice, sentence
from dplr.bounds.columns import Pair
from dplr.bounds.layout import Layout
from dplr.estimators._subject import facts_of, within
from dplr.estimators._tables import Tables
from dplr.inference.reading import Reading
from dplr.moments import ABOUT
from dplr.moments.equation import determination, reading_of, target_unit, user_units
from dplr.moments.released import ReleasedMoments
from dplr.moments.ridge import ridge_of, solved
from dplr.moments.selection import Chosen, Target, chosen, entries_of, label_of, level_target, number_target
from dplr.privacy.estimand import Estimand
from dplr.privacy.statement import PrivacyStatement, alarms
from dplr.rows import as_array, as_table, predictors
from dplr.summary.columns import choose, compared_with, groups_of, parts_of_curves, positions
from dplr.summary.curves import Points, points_of
from dplr.summary.subject import Equation, Subject, notes_of

if TYPE_CHECKING:
    from dplr.moments.recipe import Recipe

VARIANCES = AUTO, LARGEST, EQUAL = ("auto", "largest", "equal")
_LARGEST = (
    "Variances of labels differ between rows, and second moments do not tell how: intervals take the largest, 1/4. "
    "They hold where the linear model is nowhere farther from the true probability than 1/2 is."
)


class MomentModel(Tables):
    """A linear model of one column on others, computed from released moments; `ReleasedMoments.regress` makes it.

    `summary`, `conf_int`, `wald_test`, `contrast` and `predict_interval` are those of the estimators.
    Their estimates are without ridge.

    Parameters
    ----------
    released : dplr.results.ReleasedMoments
        Where the model comes from.
    target : object
        The column or level that it is about, as `regress` and `probability` look it up.
    columns : object
        The columns of the model, as `regress` looks them up.
    l2 : float, "auto" or "cv"
        Ridge, as in `regress`.
    kind : {"mean", "probability"}
        What the model is of: a number, or the probability of a level.
    variances : {"auto", "largest", "equal"}, default="auto"
        Variances of the target, as in `regress`.

    Attributes
    ----------
    coef_ : ndarray of shape (n_coefs,)
        Coefficients in the user's units; of a probability, by how much it changes with a unit of a column.
    intercept_ : float
        Intercept in the user's units.
    coef_names_ : tuple of str
        Names of the entries of `coef_`.
    feature_names_in_ : tuple of str
        Columns that a table must have for predictions, in this order if it has no names.
    target_name_ : str
        The column, or the level, that the model is about.
    r2_ : float
        Share of the target's variance that the model explains, from released numbers and so with their noise; nan where
        the noise drowns the variance.
    ridge_ : float
        Ridge on the scaled moments.
    privacy_ : dplr.privacy.PrivacyStatement
        The statement of the release: the model adds nothing to it.
    reading_ : object
        The noisy equation that estimates and intervals come from.

    Privacy
    -------
    A function of released moments and public facts: no further privacy loss, however many models are computed.

    See Also
    --------
    dplr.results.ReleasedMoments.regress : Makes one for a number.
    dplr.results.ReleasedMoments.probability : Makes one for a level.
    dplr.results.Summary : The table of its coefficients.

    Examples
    --------
    >>> import dplr, numpy as np
    >>> X = np.random.default_rng(0).uniform(0, 10, (5000, 2))
    >>> released = dplr.release_moments(X, bounds=dplr.Bounds([(0, 10)] * 2), eps=float("inf"))
    >>> model = released.regress("column 1", ["column 0"])
    >>> isinstance(model, dplr.results.MomentModel), model.coef_names_
    (True, ('column 0',))
    """

    def __init__(
        self, released: ReleasedMoments, target: Target, columns: Chosen, l2: float | str, kind: Estimand,
        variances: str = VARIANCES[0],
    ) -> None:  # fmt: skip
        self._released, self._target, self._columns, self._kind = released, target, columns, kind
        self._options = l2, variances
        self.privacy_: PrivacyStatement = released.privacy_
        self.target_name_: str = target.name
        self.coef_names_: tuple[str, ...] = columns.names
        self.feature_names_in_: tuple[str, ...] = columns.layout.features
        bounded = takes_largest(released.layout, target, kind, variances)
        self.reading_: Reading = reading_of(released, columns, target, kind is Estimand.PROBABILITY, bounded)
        seed = "".join(party.digest[:6] for party in released.parties)
        self.ridge_: float = ridge_of(released, self.reading_, l2, seed)
        scaled = solved(released, self.reading_, self.ridge_)
        self._units, self._added = user_units(released, columns, target)
        coefs = self._units @ scaled + self._added
        self.coef_: NDArray[np.float64] = coefs[:-1]
        self.intercept_: float = float(coefs[-1])
        self.r2_: float = determination(self.reading_, scaled)

    @property
    def named_coef_(self) -> dict[str, float]:
        """Coefficients by the names of their columns, a dict of str to float."""
        return dict(zip(self.coef_names_, self.coef_.tolist(), strict=True))

    @property
    def released(self) -> ReleasedMoments:
        """The moments that the model comes from, a `dplr.results.ReleasedMoments`."""
        return self._released

    @property
    def recipe(self) -> Recipe:
        """The question that the model answers. Private."""
        from dplr.moments.recipe import Recipe

        target, layout = self._target, self._released.layout
        level = None if self._kind is Estimand.MEAN else label_of(layout, target)
        kind = "regress" if self._kind is Estimand.MEAN else "probability"
        return Recipe(kind, layout.features[target.feature], level, entries_of(layout, self._columns), *self._options)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a file that `dplr.load_model` reads back, for `dplr summary` and `dplr predict`; it may be published.

        Parameters
        ----------
        path : str or path-like
            The file. An earlier file of a model of moments is replaced, no other one.

        Raises
        ------
        FileExistsError
            There is a file of this name, and it is something else.
        OSError
            The file cannot be written.

        Privacy
        -------
        The file holds the released moments and the names of the model's columns, and nothing else.

        Examples
        --------
        >>> import dplr, numpy as np, pathlib, tempfile
        >>> X = np.random.default_rng(0).uniform(0, 10, (100, 2))
        >>> released = dplr.release_moments(X, bounds=dplr.Bounds([(0, 10)] * 2), eps=1.0)
        >>> path = pathlib.Path(tempfile.mkdtemp(), "model.json")
        >>> model = released.regress("column 1")
        >>> model.save(path)
        >>> dplr.load_model(path).intercept_ == model.intercept_
        True
        """
        from dplr.moments.recipe import save

        save(self, path)

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Predict the target of rows: within its declared bounds; a probability within [0, 1].

        Parameters
        ----------
        X : array-like of shape (n_rows, n_columns) or table
            Table with the columns `feature_names_in_`, or an array of these in their order where bounds have no names.

        Returns
        -------
        ndarray of shape (n_rows,)
            Predictions.

        Raises
        ------
        ValueError
            A column is missing, or a value without a policy is.

        Privacy
        -------
        A function of X and of the released model: as private as X.
        """
        matrix = self._rows(X)[:, self._columns.kept]
        return np.clip(matrix @ self.coef_ + self.intercept_, *self._ends)

    def _rows_and_target(self, X: Any) -> tuple[NDArray[np.float64], Pair | None]:
        """Rows of all columns, and the declared bounds of the target, as in `Tables`."""
        return self._rows(X), self._ends

    def _rows(self, X: Any) -> NDArray[np.float64]:
        """Rows with all columns of the layout, clipped to their bounds."""
        layout, table = self._columns.layout, None if type(X) is np.ndarray else as_table(X)
        rows: Any = as_array(X) if table is None else table
        if layout.named and table is None:
            remedy = f"Pass a data frame with the columns {list(layout.features)[:20]}."
            raise ValueError(sentence("X", "must have column names, as the bounds do", type(X).__name__, remedy))
        if not layout.named and (len(rows.shape) != 2 or rows.shape[1] != len(layout.columns)):
            raise ValueError(sentence("X", f"must have the columns {list(layout.features)[:20]}", rows.shape))
        low, high = np.array(layout.pairs, np.float64).T
        return np.clip(predictors(rows, layout), low, high)

    @property
    def _ends(self) -> Pair:
        """Least and greatest values of the target."""
        if self._kind is Estimand.PROBABILITY:
            return (0.0, 1.0)
        number = self._released.layout.columns[self._target.feature].number
        assert number is not None
        return number

    def _columns_of_table(self) -> tuple[Sequence[str], Layout]:
        return self._columns.layout.names, self._columns.layout

    def _subject(self, columns: Sequence[str] | None) -> Subject:
        """The subject of this model's tables, as in `Tables`."""
        names, layout = self._columns_of_table()
        coordinates = tuple(self._columns.kept.tolist())
        kept = coordinates if columns is None else within(names, positions(names, layout, columns), coordinates)
        shown = choose(names, layout, True, kept)
        place = {coordinate: k for k, coordinate in enumerate(coordinates)}
        keep = np.array([*(place[coordinate] for coordinate in shown.coordinates[:-1]), len(coordinates)], np.intp)
        small = self.reading_ if len(keep) == len(coordinates) + 1 else self.reading_.subset(keep)
        unit = target_unit(self._released, self._target)
        indicators = np.array(layout.indicators)[np.array(shown.coordinates[:-1], np.intp)]
        return Subject(
            equations=[Equation.of("", small, self._units[np.ix_(keep, keep)], self._added[keep], indicators, unit)],
            names=shown.names,
            references=shown.references,
            title=f"{self._title} from {ABOUT.title}",
            facts=self._facts,
            notes=tuple(notes_of(layout, shown.names, shown.references)),
            against=compared_with(layout, shown.references, shown.coordinates),
            alarms=alarms(self.privacy_),
            advice=self._advice,
            parts=parts_of_curves(layout),
            groups=groups_of(layout, shown.names),
            unit=unit,
        )

    def _along_columns(self) -> list[Points]:
        """The places of every number among the columns of this model."""
        layout, kept = self._columns.layout, self._columns.kept
        ends = np.array(layout.pairs, np.float64)

        def counted(rows: NDArray[np.float64]) -> NDArray[np.float64]:
            """Rows within the declared bounds; columns that are not of the model are 0."""
            return np.clip(rows, *ends.T) * np.isin(np.arange(layout.width), kept)

        return [points.of(kept) for points in points_of(layout, counted, ends) if points.rows.any()]

    @property
    def _title(self) -> str:
        return "Linear probability model" if self._kind is Estimand.PROBABILITY else "Linear regression"

    @cached_property
    def _facts(self) -> dict[str, str]:
        return facts_of(self.privacy_, self.target_name_, self.reading_.n_rows)

    def _obstacle(self) -> str:
        return ""

    @property
    def _advice(self) -> tuple[str, ...]:
        """The condition of the promise for sums of several parties, and the one of intervals of labels."""
        advice = self._released.conditions
        return advice if self.reading_.largest is None else (*advice, _LARGEST)

    def __repr__(self) -> str:
        return f"MomentModel({self.target_name_!r} on {len(self.coef_names_)} columns)"


def takes_largest(layout: Layout, target: Target, kind: Estimand, variances: str) -> bool:
    """Whether intervals take the largest variance: "auto" does for levels, and for a number declared (0, 1)."""
    check_choice("variances", variances, VARIANCES)
    unit = kind is Estimand.PROBABILITY or layout.columns[target.feature].number == (0.0, 1.0)
    if variances == LARGEST and not unit:
        rule = f"must not be {LARGEST!r} for a target that is neither a level nor a number between 0 and 1"
        raise ValueError(sentence("variances", rule, target.name, "Second moments do not bound its variances."))
    return unit and variances != EQUAL


def fit_number(
    released: ReleasedMoments, target: Any, columns: Sequence[Any] | None, l2: float | str, variances: str
) -> MomentModel:
    """The model of `ReleasedMoments.regress`."""
    goal = number_target(released.layout, target)
    return MomentModel(released, goal, chosen(released.layout, columns, goal), l2, Estimand.MEAN, variances)


def fit_level(
    released: ReleasedMoments, target: Any, columns: Sequence[Any] | None, level: Any, l2: float | str, variances: str
) -> MomentModel:
    """The model of `ReleasedMoments.probability`."""
    goal = level_target(released.layout, target, level)
    return MomentModel(released, goal, chosen(released.layout, columns, goal), l2, Estimand.PROBABILITY, variances)
