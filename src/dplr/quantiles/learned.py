"""Learned bounds as a value: what was learned of each column, its cost, and the bounds that a fit takes."""

from __future__ import annotations

import datetime
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from dplr._kit import markup
from dplr._kit.files import checked_name
from dplr._kit.validation import sentence
from dplr._kit.warnings import UtilityWarning, warn
from dplr.bounds.beside import LEARNED, Provenance
from dplr.bounds.declared import Bounds
from dplr.bounds.toml import key_of
from dplr.privacy.statement import PrivacyStatement, alarms
from dplr.quantiles.grid import EPOCH, Kind


@dataclass(frozen=True, slots=True)
class LearnedColumn:
    """The bounds or the levels of one column.

    Attributes
    ----------
    name : str
        Name of the column.
    kind : str
        `"number"`, `"integer"`, `"date"`, `"duration"`, `"flag"` or `"levels"`. Dates are days since 1970-01-01, and
        durations are days.
    lower, upper : float or None
        Bounds; None for levels.
    outside : float or None
        Noisy share of the records outside the bounds, or with none of the levels, which may be below 0. None for flags,
        and for levels where weights of a sample or several rows of a person count.
    outside_noise : float
        Standard deviation of the noise of `outside`.
    levels : tuple of str
        Levels that enough records have, by name; empty for numbers.
    shares : mapping of str to float
        Noisy share of the records of each level.
    reason : str
        Why nothing can be said about the column; empty where something can.

    Privacy
    -------
    Part of one release, which its statement describes. It may be published.

    See Also
    --------
    dplr.learn_bounds : Learns the columns of a table.

    Examples
    --------
    >>> import dplr, numpy as np, pandas as pd
    >>> ages = pd.DataFrame({"age": np.random.default_rng(0).integers(18, 90, 20_000)})
    >>> column = dplr.learn_bounds(ages, eps=1.0).columns[0]
    >>> column.name, column.kind, column.lower < 30 < 70 < column.upper
    ('age', 'integer', True)
    """

    name: str
    kind: str
    lower: float | None = None
    upper: float | None = None
    outside: float | None = None
    outside_noise: float = 0.0
    levels: tuple[str, ...] = ()
    shares: Mapping[str, float] = field(default_factory=dict)
    reason: str = ""

    @property
    def declaration(self) -> dict[str, Any]:
        """The column as bounds declare it; empty where nothing can be said."""
        if self.reason:
            return {}
        if self.kind == Kind.LEVELS:
            return {"levels": list(self.levels)}
        if self.kind in (Kind.FLAG, Kind.INTEGER) and (self.lower, self.upper) == (0, 1):
            return {"lower": 0, "upper": 1}  # whole numbers, as the type of the column says: a flag
        return {"lower": self.lower, "upper": self.upper}

    @property
    def _words(self) -> str:
        """Its bounds or levels."""
        if self.reason:
            return f"cannot say: {self.reason}"
        text = self.kind == Kind.LEVELS
        ends = f"levels {', '.join(self.levels)}" if text else f"{self._shown(self.lower)} to {self._shown(self.upper)}"
        if self.outside is None:
            return ends if text else f"{ends}, a flag"
        where = "with another level or none" if text else "outside"
        share = f"{100 * max(self.outside, 0):.1f} % of the records {where}"
        return f"{ends} ({share}, +- {100 * self.outside_noise:.1f} % by noise)"

    def __str__(self) -> str:
        return f"{self.name}: {self._words}"

    def _repr_html_(self) -> str:
        return markup.piece("", markup.paragraph(str(self)))

    def _shown(self, end: float | None) -> str:
        if self.kind == Kind.DATE and end is not None:
            return str(EPOCH + datetime.timedelta(days=end))
        return f"{end:.12g}" + (" days" if self.kind == Kind.DURATION else "")


@dataclass(frozen=True, slots=True)
class LearnedBounds:
    """Bounds and levels of the columns of a table, learned by one private release.

    Attributes
    ----------
    columns : tuple of LearnedColumn
        What was learned, in the order of the table.
    target : str or None
        Name of the column that a model predicts; None for none.
    share : float
        Share of the records that may lie beyond each bound, as asked for.
    privacy_ : dplr.privacy.PrivacyStatement
        The promise of the release. Fits with these bounds cost their own eps besides.

    Privacy
    -------
    Public from now on: it may be printed, saved and published.

    See Also
    --------
    dplr.learn_bounds : Makes one.
    dplr.Bounds : Bounds that a codebook has cost nothing.

    Examples
    --------
    >>> import dplr, numpy as np, pandas as pd
    >>> rng = np.random.default_rng(0)
    >>> people = pd.DataFrame({"age": rng.integers(18, 90, 20_000)})
    >>> people["income"] = 300 * people["age"] + rng.normal(0, 3000, 20_000)
    >>> learned = dplr.learn_bounds(people, target="income", eps=0.5)
    >>> est = dplr.fit(people, "income", model="linear", bounds=learned.bounds, eps=0.5)
    >>> learned.privacy_.eps, est.privacy_.eps
    (0.5, 0.5)
    """

    columns: tuple[LearnedColumn, ...]
    target: str | None
    share: float
    privacy_: PrivacyStatement
    _declared: Mapping[str, Any]
    _by_position: bool = False

    @property
    def bounds(self) -> Bounds:
        """The bounds for a fit, as a dplr.Bounds, of the columns about which something can be said.

        A `UtilityWarning` names the others, if there are any.

        Raises
        ------
        ValueError
            Nothing can be said about any feature.
        """
        bounds = self._bounds()
        if silent := "; ".join(str(column) for column in self.columns if column.reason):
            remedy = "Declare these columns from public knowledge, or fit without them"
            warn(f"the bounds leave out what noise says nothing about ({silent}). {remedy}.", UtilityWarning)
        return bounds

    def _bounds(self) -> Bounds:
        values = dict(self._declared)
        spoken = [column for column in self.columns if not column.reason]
        learned = {column.name: column.declaration for column in spoken if column.name != self.target}
        if not (learned or values["features"]):
            raise ValueError(sentence("columns", "must have bounds of one feature at least", "none", "Use more eps."))
        values["features"] = list(learned.values()) if self._by_position else {**values["features"], **learned}
        if self._provenance is not None:
            values[LEARNED] = self._provenance.to_dict()
        for column in spoken:
            if column.name == self.target and column.kind != Kind.FLAG:
                levels = {"classes": list(column.levels)}
                values["target"] = levels if column.kind == Kind.LEVELS else column.declaration
        return Bounds.from_dict(values)

    @property
    def _provenance(self) -> Provenance | None:
        names = tuple(column.name for column in self.columns if not column.reason and column.kind != Kind.FLAG)
        if not names:
            return None
        promise = self.privacy_
        relation, unit = str(promise.neighbouring), promise.unit.one
        return Provenance(names, promise.eps, promise.delta, relation, unit, self.share)

    def to_toml(self, path: str | os.PathLike[str] | None = None) -> str:
        """Write a bounds file, with what was learned of each column as comments.

        Parameters
        ----------
        path : path-like or None, default=None
            File to which the text is written too. None writes none.

        Returns
        -------
        str
            The text, which `Bounds.from_toml` reads. Columns about which nothing can be said are comments alone.

        Raises
        ------
        ValueError
            Nothing can be said about any feature.
        FileExistsError
            The file exists.
        OSError
            The file cannot be written.

        Privacy
        -------
        The file may be published.
        """
        promise = self.privacy_
        lines = [
            "# Learned from private records: these bounds are a release, and no public knowledge.",
            f"# It cost eps = {promise.eps:g}, delta = {promise.delta:g}; fits cost their own besides.",
            *(f"# {_in_a_line(str(column))}" for column in self.columns),
        ]
        silent = [column for column in self.columns if column.reason]
        empty = [f"# {_in_a_line(f'[features.{key_of(column.name)}]')}  # cannot say" for column in silent]
        text = "\n".join([*lines, "", self._bounds().to_toml(), *empty]).rstrip() + "\n"
        if path is not None:
            with open(checked_name("path", path), "x", encoding="utf-8", newline="\n") as file:
                file.write(text)
        return text

    @property
    def _title(self) -> str:
        head = f"Bounds learned at eps = {self.privacy_.eps:g}, delta = {self.privacy_.delta:g}"
        return f"{head}; {100 * self.share:g} % of the records may lie beyond each bound"

    def __str__(self) -> str:
        return "\n".join([self._title, *(f"  {column}" for column in self.columns)])

    def _repr_html_(self) -> str:
        """Return a line for each column for notebooks, what voids the promise first."""
        lines = markup.facts((column.name, column._words) for column in self.columns)
        return markup.piece(self._title, markup.alarms(alarms(self.privacy_)), lines)


def _in_a_line(text: str) -> str:
    """A text for a comment: names and levels may hold ends of lines, which would end it."""
    return "".join(sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in text)
