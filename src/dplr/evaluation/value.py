"""A released evaluation as a frozen value: what all kinds of models have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dplr._kit import markup
from dplr._kit.extras import pandas
from dplr.evaluation.grids import CELLS
from dplr.evaluation.measures import Measure, Sums
from dplr.inference.intervals import check_level
from dplr.privacy.guarantees import Neighbouring
from dplr.privacy.law import Law
from dplr.privacy.statement import PrivacyStatement, alarms

_NEW = "new rows"
_IN_SAMPLE = "IN SAMPLE: the model was fitted to these rows, which flatters it"


@dataclass(frozen=True, eq=False)
class Evaluation(ABC):
    """Noisy counts of outcomes, released once, from which every measure of a model comes without further cost.

    `dplr.evaluate` makes one: a `LabelEvaluation`, a `ClassEvaluation` or a `NumberEvaluation`.

    Attributes
    ----------
    grid : object
        The public cells.
    released_ : mapping of str to ndarray
        Noisy numbers of each block. It cannot be changed.
    privacy_ : dplr.privacy.PrivacyStatement
        The statement of the release.
    n_rows : int or None
        Public number of records or persons, or a declared reference; None for neither.
    classes : tuple
        Labels, two of them as declared, the second one positive; more sorted; empty for numbers.
    in_sample : bool
        Whether the model was fitted to these rows: then all measures flatter it.
    level : float
        Level of the intervals.

    Privacy
    -------
    Holds noisy numbers and public facts: whatever is computed from it, and however often, costs nothing further.

    See Also
    --------
    dplr.evaluate : Makes one.

    Examples
    --------
    >>> import dplr, numpy as np
    >>> rng = np.random.default_rng(0)
    >>> score = rng.uniform(0, 1, 5000)
    >>> result = dplr.evaluate(score, None, rng.uniform(0, 1, 5000) < score, eps=1.0)
    >>> isinstance(result, dplr.evaluation.Evaluation), result.privacy_.eps
    (True, 1.0)
    """

    grid: Any
    released_: Mapping[str, NDArray[np.float64]]
    privacy_: PrivacyStatement
    n_rows: int | None
    classes: tuple[Any, ...] = ()
    in_sample: bool = False
    level: float = 0.95

    def __post_init__(self) -> None:
        for numbers in self.released_.values():
            numbers.flags.writeable = False
        object.__setattr__(self, "released_", MappingProxyType(dict(self.released_)))
        object.__setattr__(self, "level", check_level(self.level))

    def __reduce__(self) -> tuple[Any, ...]:
        # Pickle through a plain dict: a read-only mapping cannot be pickled.
        values = (getattr(self, field.name) for field in fields(self))
        return type(self), tuple(dict(value) if isinstance(value, Mapping) else value for value in values)

    def at(self, level: float) -> Self:
        """The evaluation with intervals of another level.

        Parameters
        ----------
        level : float
            At least 0.5 and below 1.

        Returns
        -------
        Evaluation
            The same release.

        Raises
        ------
        ValueError
            The level is out of its range.

        Privacy
        -------
        Costs nothing.
        """
        return replace(self, level=level)

    @cached_property
    def sums(self) -> Sums:
        """The released numbers with the variances of their noise. Private."""
        blocks = self.privacy_.released
        values = np.concatenate([self.released_[name] for name in blocks])
        variances = np.concatenate([np.full(block.shape, block.deviation**2) for block in blocks.values()])
        laplace = any(block.law is Law.DISCRETE_LAPLACE for block in blocks.values())
        return Sums(values, variances, blocks[CELLS].shape[0], self._total, laplace)

    @property
    def _total(self) -> float | None:
        """The public sum of the weights of all rows that are counted."""
        replaced = self.privacy_.neighbouring is Neighbouring.REPLACE_ONE
        public = replaced and self.privacy_.unit.total_is_public
        return float(self.n_rows) if public and self.n_rows is not None else None

    @property
    @abstractmethod
    def measures(self) -> dict[str, Measure]:
        """Name -> `Measure` of the model, a dict."""

    def to_frame(self) -> Any:
        """The measures as a table.

        Returns
        -------
        pandas.DataFrame
            One row per measure, with the columns estimate, lower, upper and noise_sd.

        Raises
        ------
        ImportError
            pandas is not installed.

        Privacy
        -------
        Costs nothing.
        """
        columns = ("estimate", "lower", "upper", "noise_sd")
        rows = {name: [getattr(one, column) for column in columns] for name, one in self.measures.items()}
        return pandas().DataFrame.from_dict(rows, orient="index", columns=list(columns))

    def _title(self, where: str) -> str:
        return f"Evaluation on {where}; {100 * self.level:g} % intervals of sampling and noise"

    def __str__(self) -> str:
        title = self._title(_IN_SAMPLE if self.in_sample else _NEW)
        cells = {name: _cells(one) for name, one in self.measures.items()}
        lines = [f"  {name:18}{estimate:>12}  {interval}".rstrip() for name, (estimate, interval) in cells.items()]
        warnings = [f"  {text}" for text in alarms(self.privacy_)]
        facts = [f"  {name:18}{markup.printable(str(fact))}" for name, fact in self._facts]
        return "\n".join([title, *warnings, *lines, *facts])

    @property
    def _facts(self) -> list[tuple[str, Any]]:
        """What measures are about, and the guarantee."""
        positive = [("positive", self.classes[1])] if "recall" in self.measures else []
        return [*positive, ("guarantee", self.privacy_.guarantee)]

    def _repr_html_(self) -> str:
        """Return the measures for notebooks, what voids the promise first."""
        rows = [(name, *_cells(one)) for name, one in self.measures.items()]
        flattery = [f"{_IN_SAMPLE}."] if self.in_sample else []
        return markup.piece(
            self._title("rows of the fit" if self.in_sample else _NEW),
            markup.alarms([*alarms(self.privacy_), *flattery]),
            markup.excerpt(("measure", "estimate", f"{100 * self.level:g} % interval"), rows, "measures"),
            markup.facts(self._facts),
        )


def _cells(one: Measure) -> tuple[str, str]:
    """Estimate and interval."""
    if not one.says:
        return "the release cannot say", ""
    return f"{one.estimate:.4g}", f"[{one.lower:.4g}, {one.upper:.4g}]"
