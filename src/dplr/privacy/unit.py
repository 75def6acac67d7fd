"""Whom a guarantee protects, and how much each row counts: one row, or one person with all their rows."""

from __future__ import annotations

from dataclasses import dataclass

from dplr.privacy.guarantees import Neighbouring


@dataclass(frozen=True, slots=True)
class Unit:
    """The unit of privacy, and the public rule by which rows count (unit.md).

    Every row has a weight from 0 to 1, and the weights of one unit never add up to more than 1. So a unit's share of
    any sum lies in the convex hull of zero and what one whole row may add.

    Parameters
    ----------
    person : str or None, default=None
        What a person is called, such as the column of the ids; None where every row is a unit of its own.
    rows_per_person : int, default=1
        Number k of rows per person; a row of a person with m rows counts min(1, k / m) / k.
    weight_max : float or None, default=None
        What weights are clipped to and divided by; None where rows have none.
    class_weights : tuple of (str, float), default=()
        Label, as text, and its public factor; divided by the largest.

    Privacy
    -------
    The rule is public: it says whom a guarantee protects, and holds nothing of any row.

    See Also
    --------
    dplr.privacy.Neighbouring : Which two data sets must be hard to tell apart.

    Examples
    --------
    >>> from dplr.privacy import Unit
    >>> Unit(person="patient").many
    'persons'
    """

    person: str | None = None
    rows_per_person: int = 1
    weight_max: float | None = None
    class_weights: tuple[tuple[str, float], ...] = ()

    @property
    def weighted(self) -> bool:
        """Whether a row may count less than whole."""
        return self.person is not None or self.weight_max is not None or bool(self.class_weights)

    @property
    def total_is_public(self) -> bool:
        """Whether the weights of every unit add up to 1, except for rounding: then their sum is the number of units."""
        return self.weight_max is None and not self.class_weights and self.rows_per_person == 1

    def rank(self, size: int) -> int:
        """The largest rank of what one unit adds to a Hessian of that many coefficients.

        Parameters
        ----------
        size : int
            Number of coefficients.

        Returns
        -------
        int
            1 where a unit is one row; `size` where it is a person.

        Privacy
        -------
        Reads public facts alone.
        """
        return 1 if self.person is None else size

    @property
    def one(self) -> str:
        """The unit that the guarantee protects: `"record"` or `"person"`."""
        return "record" if self.person is None else "person"

    @property
    def many(self) -> str:
        """The unit of a number of rows: `"records"` or `"persons"`."""
        return f"{self.one}s"

    @property
    def of_table(self) -> str:
        """What the proofs ask of the table as a whole, which no row alone can tell: one sentence."""
        whom = "one record is one row"
        if self.person is not None:
            whom = "all rows of one person have one id, and no two persons have the same"
        return f"{whom}; rows rest while they are read, and may come in any order"

    def relation(self, neighbouring: Neighbouring) -> str:
        """Which two data sets must be hard to tell apart, in words.

        Parameters
        ----------
        neighbouring : Neighbouring
            The relation of the guarantee.

        Returns
        -------
        str
            The relation, with the unit's name.

        Privacy
        -------
        Reads public facts alone.
        """
        if self.person is None:
            return neighbouring.sentence
        if neighbouring is Neighbouring.REPLACE_ONE:
            return "one person with all their rows replaced by another; the number of persons is public"
        return "one person with all their rows added or removed; the number of persons is private"

    @property
    def rules(self) -> tuple[str, ...]:
        """The public rules as sentences; none where every row counts whole."""
        sentences = []
        if self.person is not None:
            k, m = self.rows_per_person, "1/m" if self.rows_per_person == 1 else f"min(1, {self.rows_per_person}/m)"
            scaled = "" if k == 1 else f", divided by {k}"
            sentences.append(
                f"one person is all rows with one value of {self.person}; each of m rows counts {m}{scaled}"
            )
        if self.weight_max is not None:
            sentences.append(f"weights are clipped to [0, {self.weight_max:g}] and divided by {self.weight_max:g}")
        if self.class_weights:
            factors = ", ".join(f"{label}: {factor:g}" for label, factor in self.class_weights)
            sentences.append(f"labels have the public weights {factors}, divided by the largest")
        return tuple(sentences)


ROW = Unit()
