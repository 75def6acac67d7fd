"""Released second moments as a frozen value: what is known of the columns, the noisy numbers, and who released them."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dplr._kit import markup
from dplr.bounds.declared import Bounds
from dplr.bounds.layout import Layout
from dplr.bounds.scaling import Prep, layout_prep
from dplr.mechanisms import equations
from dplr.mechanisms.functional import moments as functional
from dplr.moments.law import cells
from dplr.privacy.guarantees import Neighbouring
from dplr.privacy.statement import PrivacyStatement, alarms
from dplr.problem.losses import SQUARED
from dplr.problem.problem import Problem

if TYPE_CHECKING:
    from dplr.moments.description import MomentTable
    from dplr.moments.model import MomentModel

Matrix = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Party:
    """One release, alone or among those that were merged.

    Attributes
    ----------
    name : of whoever released it; None where none was given.
    n_rows : public number of rows, or a declared reference; None for neither.
    statement : of this release alone.
    digest : of what was released: two parties with one digest are the same release.
    """

    name: str | None
    n_rows: int | None
    statement: PrivacyStatement
    digest: str = ""


@dataclass(frozen=True, eq=False)
class ReleasedMoments:
    """Noisy second moments of all columns of a table, from which regressions come without further cost.

    `dplr.release_moments` makes them, and `dplr.load_model` reads them from a file.

    Attributes
    ----------
    bounds : dplr.Bounds
        Public bounds of the columns.
    layout : object
        What the bounds make of the columns: which encoded columns each has.
    neighbouring : dplr.privacy.Neighbouring
        The relation of all parties.
    released_ : mapping of str to ndarray
        Noisy numbers of each block, in scaled units. It cannot be changed.
    parties : tuple of objects
        One for each release that was merged, with `name`, `n_rows`, `statement` and `digest`.

    Privacy
    -------
    Holds noisy numbers and public facts: whatever is computed from it, and however often, costs nothing further. The
    statement is `privacy_`. Of merged releases it holds if every person is in the rows of one party only.

    See Also
    --------
    dplr.release_moments : Makes one from a table.
    dplr.load_model : Reads one from a file.

    Examples
    --------
    >>> import dplr, numpy as np
    >>> X = np.random.default_rng(0).uniform(0, 10, (5000, 3))
    >>> north = dplr.release_moments(X[:2000], bounds=dplr.Bounds([(0, 10)] * 3), eps=1.0, delta=1e-6, party="north")
    >>> south = dplr.release_moments(X[2000:], bounds=dplr.Bounds([(0, 10)] * 3), eps=1.0, delta=1e-6, party="south")
    >>> both = north + south
    >>> isinstance(both, dplr.results.ReleasedMoments), both.n_rows, both.privacy_.eps
    (True, 5000, 1.0)
    >>> round(both.noise_sd["diagonal"] / north.noise_sd["diagonal"], 2)
    1.41
    """

    bounds: Bounds
    layout: Layout
    neighbouring: Neighbouring
    released_: Mapping[str, Matrix]
    parties: tuple[Party, ...]

    def __post_init__(self) -> None:
        for numbers in self.released_.values():
            numbers.flags.writeable = False
        object.__setattr__(self, "released_", MappingProxyType(dict(self.released_)))

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the declared columns, a tuple of str: what targets and predictors are named by."""
        return self.layout.features

    @property
    def conditions(self) -> tuple[str, ...]:
        """The condition of the promise where there are several parties, as a sentence. Private."""
        count = len(self.parties)
        return (f"{count} parties: the promise holds if nobody is in the rows of two.",) if count > 1 else ()

    @property
    def n_rows(self) -> int | None:
        """Public number of rows of all parties; under add_remove a sum of references, None where one is missing."""
        counts = [party.n_rows for party in self.parties]
        return None if None in counts else sum(count for count in counts if count is not None)

    @property
    def noise_sd(self) -> dict[str, float]:
        """Block name -> standard deviation of the noise on one of its numbers, in scaled units."""
        return {name: math.sqrt(variance) for name, variance in self.variances.items()}

    @cached_property
    def privacy_(self) -> PrivacyStatement:
        """The statement of the release, or of the merged ones together."""
        from dplr.moments.merging import merged_statement

        return self.parties[0].statement if len(self.parties) == 1 else merged_statement(self.parties)

    @cached_property
    def variances(self) -> dict[str, float]:
        """Block name -> variance of the noise on one of its numbers: those of the parties add up."""
        return {
            name: sum(party.statement.released[name].deviation ** 2 for party in self.parties)
            for name in self.released_
        }

    @cached_property
    def problem(self) -> Problem:
        """Where the scaled rows lie, and how many there are. Private."""
        return scaled_problem(self.layout, self.neighbouring, self.n_rows)

    @cached_property
    def prep(self) -> Prep:
        """The way from a row of the table to a scaled row. Private."""
        return layout_prep(self.layout, True, None)

    @cached_property
    def matrix(self) -> Matrix:
        """The noisy sum of (x, iota)(x, iota)' over the scaled rows; not always positive definite."""
        size = self.problem.geometry.n_coefs
        moments, _ = functional.moment_matrix(self.problem, {**self.released_, "linear": np.zeros(size)})
        moments.flags.writeable = False
        return moments

    @cached_property
    def cell_variances(self) -> Matrix:
        """Variances of the noise on the cells of `matrix`; 0 where a cell is public, or follows from another one."""
        geometry = self.problem.geometry
        return equations.symmetric(geometry.n_coefs, cells(geometry, self.neighbouring), self.variances)

    @cached_property
    def tied(self) -> Matrix:
        """Factor of the noise of the intercept's cell in a diagonal cell that follows from it; 0 else. Private."""
        return equations.tied(self.problem.geometry)

    @property
    def diagonal_sd(self) -> float:
        """Standard deviation of the noise on a diagonal cell: the unit of automatic ridges."""
        return math.sqrt(sum(functional.diagonal_deviation(party.statement.released) ** 2 for party in self.parties))

    @property
    def count(self) -> float:
        """Number of rows: public, or as released."""
        if self.neighbouring is Neighbouring.REPLACE_ONE:
            assert self.n_rows is not None
            return float(self.n_rows)
        return float(self.matrix[-1, -1]) / self.problem.geometry.intercept**2

    def regress(
        self, target: str, columns: Sequence[Any] | None = None, *, l2: float | str = "auto",
        variances: str = "auto",
    ) -> MomentModel:  # fmt: skip
        """A linear regression of a number on other columns.

        Parameters
        ----------
        target : str
            Name of a declared number, or of a column of ordered levels, which counts as its positions.
        columns : list or None, default=None
            Names of declared columns; a pair of names, or "a*b", for a declared product. None for all columns and
            products that do not hold the target. Coefficients are in the order of the bounds.
        l2 : float, "auto" or "cv", default="auto"
            `"auto"`, a ridge of four standard deviations of the noise; a number, the ridge of the scaled problem's mean
            objective; or `"cv"`, chosen by halves of the noise. The last one does not pay: see docs/use/moments.md.
        variances : {"auto", "largest", "equal"}, default="auto"
            What intervals take for the variances of the target, which second moments do not tell: `"equal"` in all
            rows, as estimated, or `"largest"`, that of a label of which either value is as likely, 1/4, which holds
            also where they are unequal. `"auto"` is `"largest"` for a number declared (0, 1), else `"equal"`.

        Returns
        -------
        dplr.results.MomentModel
            With `coef_`, `intercept_`, `predict`, intervals, and the statement of this release.

        Raises
        ------
        ValueError, TypeError
            A column is unknown, is not of the kind, or holds the target; `l2` or `variances` breaks a rule.

        Privacy
        -------
        A function of the released numbers: no further privacy loss.

        Examples
        --------
        >>> import dplr, numpy as np
        >>> X = np.random.default_rng(0).uniform(0, 10, (5000, 3))
        >>> released = dplr.release_moments(X, bounds=dplr.Bounds([(0, 10)] * 3), eps=float("inf"))
        >>> released.regress("column 0", ["column 2"]).coef_names_
        ('column 2',)
        """
        from dplr.moments.model import fit_number

        return fit_number(self, target, columns, l2, variances)

    def probability(
        self, target: str, columns: Sequence[Any] | None = None, *, level: Any = None, l2: float | str = "auto",
        variances: str = "auto",
    ) -> MomentModel:  # fmt: skip
        """A linear model of the probability of a level: its slopes are average effects, and not log odds.

        Parameters
        ----------
        target : str
            Name of a declared column of levels, or of bins.
        columns : list or None, default=None
            Columns of the model, as in `regress`.
        level : object, default=None
            The level, or the label of the bin; None for the second one of two.
        l2 : float, "auto" or "cv", default="auto"
            Ridge, as in `regress`.
        variances : {"auto", "largest", "equal"}, default="auto"
            As in `regress`; `"auto"` is `"largest"`.

        Returns
        -------
        dplr.results.MomentModel
            Its coefficients say by how much the probability changes with a unit of a column.

        Raises
        ------
        ValueError, TypeError
            A column is unknown, is not of the kind, or holds the target; `l2` or `variances` breaks a rule.

        Privacy
        -------
        A function of the released numbers: no further privacy loss.

        Examples
        --------
        >>> import dplr, numpy as np
        >>> X = np.column_stack([np.arange(4000) % 2, np.arange(4000) % 7])
        >>> bounds = dplr.Bounds([{"levels": [0, 1], "binary": True}, (0, 6)])
        >>> released = dplr.release_moments(X, bounds=bounds, eps=float("inf"))
        >>> released.probability("column 0", ["column 1"]).target_name_
        'column 0=1'
        """
        from dplr.moments.model import fit_level

        return fit_level(self, target, columns, level, l2, variances)

    def describe(self, *, level: float = 0.95) -> MomentTable:
        """Means, standard deviations, correlations and variance inflation of the columns, with intervals.

        Parameters
        ----------
        level : float, default=0.95
            Probability of each interval, of the choice of the rows and of the noise.

        Returns
        -------
        dplr.results.MomentTable
            Of numbers clipped to their declared bounds, in their units; of the shares of levels. Products are left out.
            Where the released numbers cannot say, because noise drowns a variance or a correlation lies outside of
            [-1, 1], it says so.

        Raises
        ------
        ValueError
            The level is not above 0 and below 1.

        Privacy
        -------
        A function of the released numbers: no further privacy loss.

        Examples
        --------
        >>> import dplr, numpy as np
        >>> X = np.column_stack([np.arange(4000) % 101, np.arange(4000) % 2])
        >>> bounds = dplr.Bounds([(0, 100), {"levels": [0, 1], "binary": True}])
        >>> table = dplr.release_moments(X, bounds=bounds, eps=float("inf")).describe()
        >>> [(line.name, round(line.mean.estimate, 2)) for line in table.lines]
        [('column 0', 49.7), ('column 1=1', 0.5), ('column 1=0', 0.5)]
        """
        from dplr.moments.description import table_of

        return table_of(self, level)

    def __add__(self, other: Any) -> ReleasedMoments:
        return self.merge(other) if isinstance(other, ReleasedMoments) else NotImplemented

    def __radd__(self, other: Any) -> ReleasedMoments:
        return self if isinstance(other, int) and other == 0 else NotImplemented

    def merge(self, *others: ReleasedMoments) -> ReleasedMoments:
        """The moments of the rows of several parties together.

        Parameters
        ----------
        *others : dplr.results.ReleasedMoments
            Releases with equal bounds under the same relation. Each may have an eps, a delta and noise of its own.

        Returns
        -------
        dplr.results.ReleasedMoments
            The sum of all; its statement names the weakest promise.

        Raises
        ------
        ValueError
            Bounds or relations differ, or a release, or a party of one name, is there twice.

        Privacy
        -------
        Every person must be in the rows of one party only: then each has the promise of that party, and the merged
        statement names the weakest. Nobody but the parties can know. Persons of two parties lose the sum of both.

        Examples
        --------
        >>> import dplr, numpy as np
        >>> X = np.random.default_rng(0).uniform(0, 10, (5000, 2))
        >>> parts = [dplr.release_moments(X[k::3], bounds=dplr.Bounds([(0, 10)] * 2), eps=1.0) for k in range(3)]
        >>> parts[0].merge(*parts[1:]).n_rows, sum(parts).n_rows
        (5000, 5000)
        """
        from dplr.moments.merging import merged

        return merged([self, *others])

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a file that `dplr.load_model` reads back bit for bit; it may be published.

        Parameters
        ----------
        path : str or path-like
            The file. An earlier file of moments is replaced, no other one.

        Raises
        ------
        FileExistsError
            There is a file of this name, and it is something else.
        OSError
            The file cannot be written.

        Privacy
        -------
        The file holds the released numbers, bounds and statements, and nothing else.

        Examples
        --------
        >>> import dplr, numpy as np, pathlib, tempfile
        >>> X = np.random.default_rng(0).uniform(0, 10, (100, 2))
        >>> released = dplr.release_moments(X, bounds=dplr.Bounds([(0, 10)] * 2), eps=1.0)
        >>> path = pathlib.Path(tempfile.mkdtemp(), "m.json")
        >>> released.save(path)
        >>> dplr.load_model(path).privacy_ == released.privacy_
        True
        """
        from dplr.moments.file import save

        save(self, path)

    def __reduce__(self) -> tuple[Any, ...]:
        # Pickle through a plain dict: a read-only mapping cannot be pickled.
        fields = (self.bounds, self.layout, self.neighbouring, dict(self.released_), self.parties)
        return _made, fields

    def _repr_html_(self) -> str:
        """Return the names of the columns and the statement for notebooks, what voids it first."""
        columns = markup.paragraph(f"{len(self.columns):,} columns: {', '.join(self.columns)}.")
        conditions = map(markup.paragraph, self.conditions)
        alarm, statement = markup.alarms(alarms(self.privacy_)), markup.facts(self.privacy_.lines, self.privacy_.title)
        return markup.piece("Released moments", alarm, columns, *conditions, statement)

    def __repr__(self) -> str:
        count = len(self.parties)
        tail = "" if count == 1 else f", {count} parties"
        statement = self.privacy_
        return (
            f"ReleasedMoments({len(self.columns)} columns, eps = {statement.eps:g}, delta = {statement.delta:g}{tail})"
        )


def _made(*fields: Any) -> ReleasedMoments:
    return ReleasedMoments(*fields)


def scaled_problem(layout: Layout, neighbouring: str, n_rows: int | None) -> Problem:
    """The public facts of sums over rows with this layout; the constant is always among the columns."""
    geometry = layout_prep(layout, True, None).geometry
    return Problem(SQUARED, geometry, Neighbouring(neighbouring), n_rows, None, ())


def single(bounds: Bounds, layout: Layout, party: Party, numbers: Mapping[str, Matrix]) -> ReleasedMoments:
    """The release of one party, with its digest."""
    from dplr.moments.file import digest_of

    named = Party(party.name, party.n_rows, party.statement, digest_of(bounds, layout, party, numbers))
    return ReleasedMoments(bounds, layout, party.statement.neighbouring, numbers, (named,))
