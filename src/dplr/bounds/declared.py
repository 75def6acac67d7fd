"""Public knowledge about columns: numbers with bounds, levels, the target; from Python or from a file."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, Self, TypeAlias

from numpy.typing import NDArray

from dplr._kit import markup
from dplr._kit.files import checked_name
from dplr._kit.validation import capital, check_count, is_listed, sentence
from dplr.bounds.beside import LEARNED, UNIT_DEFAULTS, Provenance, check_units, read_units, write_units
from dplr.bounds.columns import (
    Column,
    Curve,
    Levels,
    Numeric,
    Pair,
    check_keys,
    read_column,
    read_pair,
    require,
    write_column,
)
from dplr.bounds.layout import Layout
from dplr.bounds.products import Product, read_products, write_products
from dplr.bounds.toml import KEYS, check_file, read_file, read_target, write_file, write_target

BoundsLike: TypeAlias = "Bounds | Mapping[str, Any] | str | os.PathLike[str] | None"
"""A `dplr.Bounds`, a mapping of column names to bounds, the path of a bounds file, or None."""

MAX_FEATURES = 4096  # keeps a row's squared norm exact in float64 with room to spare


class Bounds:
    """Public bounds or levels of the columns, from a codebook, never from the data.

    Parameters
    ----------
    features : mapping of str to bounds, sequence of bounds, or None
        Column name to what is known of it, for data frames: the columns named are the features, and others are ignored.
        Or a list in the order of the columns. None is the unit ball: a fit projects rows outside onto it. What is known
        is one of

        - ``(lower, upper)``: a number. The whole numbers ``(0, 1)``, or ``(False, True)``, are a flag, which is never
          bent or narrowed; a rate has ``(0.0, 1.0)``;
        - ``{"lower": 0, "upper": 99999, "transform": "log1p"}``: a number, here on the scale of log(1 + x). There are
          "log" and "sqrt" too, and the default, "clip", leaves it as it is;
        - ``{"lower": 18, "upper": 99, "knots": 8}``: a curve, piecewise linear between 8 even knots, both bounds among
          them; or between the bounds and knots such as ``[30, 45, 60]``. One column for the number, its line, and one
          per knot. ``"line": False`` leaves the line out;
        - ``{"lower": 0, "upper": 99, "bins": [18, 30, 45]}``: one column per interval between these edges. Values
          outside count in the first or the last;
        - ``{"levels": ["Private", "Local-gov", ...]}``: one column per level. Any other value is zero in all of them;
        - ``{"levels": ["a", "b", "c"], "merge": {"rare": ["b", "c"]}}``: "b" and "c" are one level of the model,
          "rare". A `least_share` beside levels says that none of those listed is rarer; plans assume it;
        - ``{"levels": ["Female", "Male"], "binary": True}``: one column, 0 or 1;
        - ``{"levels": ["low", "middle", "high"], "ordinal": True}``: one column, 0, 1 or 2. Another value counts as the
          middle.

        Mappings may say what a missing value counts as (it is refused otherwise): ``"missing": 40``, a number within
        the bounds; ``"missing": "Private"``, one of the levels; or ``"missing": "indicator"``, a column of its own.
        Levels and bins may have a ``"reference"``, a level or a number in one of the bins: it has no column, and
        coefficients are differences from it. An undeclared value then counts like the reference.
    target : mapping, sequence or None, default=None
        ``{"lower": 0, "upper": 200000}`` of y, for linear regression; ``{"classes": ["no", "yes"]}`` or ``{"threshold":
        50000}`` (above it is True) for classifiers. A pair is bounds for the first and labels for the others. Three or
        more values are labels. Without a target labels are False and True, or 0 and 1.
    products : sequence of pairs, or "all", default=()
        Pairs of columns, by name or by position as in `features`, whose product is a further column. A pair of one
        column with itself is its square. Numbers count less the middle of their bounds; levels and bins give a column
        each. An example is ``[("age", "hours"), ("age", "age"), ("age", "work")]``. ``"all"`` is every square and every
        product: polynomials of degree 2.
    person : str or None, default=None
        Name of the column of the ids of persons. Rows with one id are one person's, and a fit protects a person with
        all their rows. None protects each row alone.
    rows_per_person : int, default=1
        How many rows of one person may count whole, k. Each row of a person with m rows counts min(1, k / m) / k. With
        1, everybody counts alike, and the number of rows is hidden at no cost. With more, persons with more rows count
        more, for more noise.
    weight : str or None, default=None
        Name of the column of weights. Neither it nor `person` is a feature.
    weight_max : float or None, default=None
        Number W to which weights are clipped, and by which they are divided. Weights require it, and it must come from
        public knowledge. The noise is that of rows of weight W, so W far above the mean weight costs accuracy. About
        twice the population over the sample is usual. `rows_per_person` and `weight_max` may stand without `person` and
        `weight`, for ids and weights that are given to `fit` as arrays.
    learned : mapping or None, default=None
        How bounds were learned, as `learn_bounds` writes it.

    Raises
    ------
    ValueError, TypeError
        A bound is not finite, or a lower bound is not below its upper bound; levels are fewer than two, or not all
        different; a key is unknown; a product is of columns that are not declared, or of levels with themselves.

    Privacy
    -------
    All of it is assumed public and appears in every statement. Values outside the bounds are clipped to the
    nearest bound; a value that is not a declared level counts as no level. Levels are merged row by row before
    anything else is done, so that merging takes nothing from the guarantee. Bounds, levels, merged levels or shares
    taken from the data void it.

    See Also
    --------
    dplr.check : Compare data with their bounds.
    dplr.preprocessing.BoundsEncoder : See the columns that bounds make.

    Notes
    -----
    The footnote-1 scaling of FM12, but centred where the model has an intercept: with g the number of numbers and of
    one-hot blocks, a number x becomes ``(x - middle) / (half the range * sqrt(g))``, and the column of a row's level
    1 / sqrt(g): rows lie in the unit ball.

    Examples
    --------
    >>> import dplr
    >>> dplr.Bounds({"age": (18, 99), "smoker": (0, 1)}, target=("no", "yes"))
    Bounds({'age': (18.0, 99.0), 'smoker': (0, 1)}, target=('no', 'yes'))
    >>> bounds = dplr.Bounds({"age": (18, 99), "work": {"levels": ["none", "some", "full"], "missing": "indicator"}})
    >>> bounds.coef_names
    ('age', 'work=none', 'work=some', 'work=full', 'work is missing')
    >>> smoker = {"levels": ["never", "before", "now"], "reference": "never"}
    >>> dplr.Bounds({"age": (18, 99), "smoker": smoker}, products=[("age", "age"), ("age", "smoker")]).coef_names
    ('age', 'smoker=before', 'smoker=now', 'age^2', 'age*smoker=before', 'age*smoker=now')
    >>> race = {"levels": ["White", "Black", "Aleut", "Eskimo"], "merge": {"other": ["Aleut", "Eskimo"]}}
    >>> dplr.Bounds({"race": race}).coef_names
    ('race=White', 'race=Black', 'race=other')
    >>> dplr.Bounds({"age": (18, 99)}, person="patient", weight="w", weight_max=200).person
    'patient'
    >>> dplr.Bounds([(99, 18)])
    Traceback (most recent call last):
        ...
    ValueError: `bounds` must have lower < upper for column 0; got (99.0, 18.0). The lower bound comes \
    first: (18, 99).
    """

    names: tuple[str, ...] | None
    person: str | None
    rows_per_person: int
    weight: str | None
    weight_max: float | None

    def __init__(
        self,
        features: Mapping[str, Any] | Sequence[Any] | NDArray[Any] | None,
        target: Any = None,
        products: Sequence[Any] | str = (),
        *,
        person: str | None = None,
        rows_per_person: int = 1,
        weight: str | None = None,
        weight_max: float | None = None,
        learned: Mapping[str, Any] | None = None,
    ) -> None:
        given: Any = () if features is None else features
        self.names = tuple(map(str, given)) if isinstance(given, Mapping) else None
        rule = "must be a mapping of names to pairs, or a list of pairs"
        require(self.names is not None or is_listed(given), "bounds", rule, features, "", TypeError)
        distinct = self.names is None or len(set(self.names)) == len(self.names)
        require(distinct, "bounds", "must name every column once", list(given))
        plain = features is not None or (target is None and learned is None and not products)
        require(plain, "bounds", "must have columns beside a target or products", features)
        values = list(given if self.names is None else given.values())
        require(len(values) > 0 or features is None, "bounds", "must have at least one column", features)
        labelled = zip(self.names or range(len(values)), values, strict=True)
        self.columns: tuple[Column, ...] = tuple(read_column(f"column {label!r}", value) for label, value in labelled)
        self._target = None if target is None else read_target(target)
        self.products: tuple[Product, ...] = read_products(products, self.names, self.columns)
        self.person, self.rows_per_person, self.weight, self.weight_max = check_units(
            person, rows_per_person, weight, weight_max, self.names
        )
        self._provenance = None if learned is None else Provenance.from_dict(learned)
        self._renamed: dict[tuple[str, ...], Layout] = {}
        layout = self.layout
        rule = f"must have at most {MAX_FEATURES} columns, one per level"
        require(layout.width <= MAX_FEATURES, "bounds", rule, layout.width)
        layout.check_names()

    @classmethod
    def from_toml(cls, path: str | os.PathLike[str]) -> Self:
        """Read a bounds file: a table ``[features.NAME]`` for each column, and ``[target]``.

        Parameters
        ----------
        path : path-like
            A TOML file. Its keys are those of the mappings that `Bounds` takes.

        Returns
        -------
        Bounds
            What the file declares.

        Raises
        ------
        ValueError, TypeError
            The file is not TOML, or breaks a rule. The error names file, table and key.
        OSError
            The file cannot be read.

        Privacy
        -------
        The file is assumed public: it goes into every statement.

        Examples
        --------
        >>> import dplr, pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp(), "bounds.toml")
        >>> bounds = dplr.Bounds({"age": (18, 99)}, target={"threshold": 50000})
        >>> _ = path.write_text(bounds.to_toml())
        >>> dplr.Bounds.from_toml(path) == bounds
        True
        """
        values = read_file(path)
        try:
            check_file(values)
            return cls.from_dict(values)
        except (ValueError, TypeError) as error:
            raise type(error)(f"`{path}`: {error}") from None

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Read the values that `to_dict` wrote.

        Parameters
        ----------
        values : mapping
            Features, target, products, person and weight, under the keys of a bounds file.

        Returns
        -------
        Bounds
            What the values declare.

        Raises
        ------
        ValueError, TypeError
            A key is unknown or missing, or a value breaks a rule.
        """
        check_keys(values, KEYS)
        require("features" in values, "features", "is required", list(values))
        products, learned = values.get("products", ()), values.get(LEARNED)
        return cls(values["features"], values.get("target"), products, **read_units(values), learned=learned)

    def to_dict(self) -> dict[str, Any]:
        """Write plain values that `from_dict` reads back exactly.

        Returns
        -------
        dict
            Numbers, text, lists and dictionaries alone.
        """
        features: Any = [write_column(column) for column in self.columns] or None
        return (
            {"features": features if self.names is None else dict(zip(self.names, features, strict=True))}
            | ({"products": write_products(self.products, self.names)} if self.products else {})
            | write_units(self.person, self.rows_per_person, self.weight, self.weight_max)
            | ({} if self._target is None else {"target": write_target(*self._target)})
            | ({} if self._provenance is None else {LEARNED: self._provenance.to_dict()})
        )

    def to_toml(self, path: str | os.PathLike[str] | None = None) -> str:
        """Write the text of a file that `from_toml` reads back exactly.

        Parameters
        ----------
        path : path-like or None, default=None
            File to which the text is written too. None writes none.

        Returns
        -------
        str
            The text, in TOML.

        Raises
        ------
        FileExistsError
            The file exists: it may hold comments on where bounds come from.
        OSError
            The file cannot be written.
        ValueError
            There are no columns.

        Privacy
        -------
        Bounds are assumed public. The file may be published.
        """
        require(len(self.columns) > 0, "bounds", "must have columns in a file", self)
        text = write_file(self.to_dict())
        if path is not None:
            with open(checked_name("path", path), "x", encoding="utf-8", newline="\n") as file:
                file.write(text)
        return text

    def with_curves(self, knots: int = 8) -> Bounds:
        """Make bounds in which every number that measures something is a curve.

        Parameters
        ----------
        knots : int, default=8
            Number of even knots of each curve, both bounds among them.

        Returns
        -------
        Bounds
            Bounds of the same columns. Flags, numbers with a square among the products, levels, bins, and curves stay
            as they are; these bounds themselves where all do.

        Raises
        ------
        ValueError
            There are fewer than three knots, or too many columns.

        Privacy
        -------
        A function of bounds, which are assumed public.

        Examples
        --------
        >>> import dplr
        >>> dplr.Bounds({"age": (18, 99), "smoker": (0, 1)}).with_curves(3).coef_names
        ('age (line)', 'age at 18', 'age at 58.5', 'age at 99', 'smoker')
        """
        knots = check_count("knots", knots)
        squares = {product.places[0] for product in self.products if product.square}
        curves = {
            place: Curve(column.lower, column.upper, column.transform, column.missing, knots)
            for place, column in enumerate(self.columns)
            if type(column) is Numeric and column.quantity and place not in squares
        }
        return with_columns(self, curves) if curves else self

    @property
    def target(self) -> tuple[Any, ...] | None:
        """Labels or bounds of y; None for a threshold, or where nothing is declared."""
        return None if self._target is None or self._target[0] == "threshold" else self._target[1]

    @property
    def coef_names(self) -> tuple[str, ...]:
        """Names of the columns of a model, such as "age", "work=Private", "age^2": its `coef_names_`."""
        return self.layout.names

    @cached_property
    def layout(self) -> Layout:
        """The columns of the model. Private."""
        features = self.names or tuple(f"column {j}" for j in range(len(self.columns)))
        return Layout(features, self.columns, self.names is not None, self.products, self._provenance)

    @property
    def threshold(self) -> float | None:
        """Number above which the target counts as True; None where none is declared."""
        kind, values = self._target or ("", ())
        return values[0] if kind == "threshold" else None

    @property
    def _units(self) -> dict[str, Any]:
        """What is declared of ids and weights."""
        return {name: value for name in UNIT_DEFAULTS if (value := getattr(self, name)) != UNIT_DEFAULTS[name]}

    @property
    def _values(self) -> tuple[Any, ...]:
        return self.names, self.columns, self._target, self.products, tuple(self._units.items()), self._provenance

    def __eq__(self, other: object) -> bool:
        return self._values == other._values if isinstance(other, Bounds) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._values)

    def __repr__(self) -> str:
        values = [_shown(column) for column in self.columns]
        features: Any = tuple(values) or None if self.names is None else dict(zip(self.names, values, strict=True))
        arguments: dict[str, Any] = {}
        if self._target is not None:
            kind, target = self._target
            arguments["target"] = target if kind == "pair" else write_target(kind, target)
        if self.products:
            arguments["products"] = write_products(self.products, self.names)
        arguments |= self._units
        if self._provenance is not None:
            arguments[LEARNED] = self._provenance.to_dict()
        return f"Bounds({', '.join([repr(features), *(f'{name}={value!r}' for name, value in arguments.items())])})"

    def _repr_html_(self) -> str:
        """Show a line for each column, and below it the target and whatever else is declared."""
        names = self.layout.features
        rows = [(name, _in_words(c), _missing(c)) for name, c in zip(names, self.columns, strict=True)]
        others = [] if self._target is None else [("target", _target_in_words(*self._target))]
        others += [("products", f"{one} times {two}") for one, two in write_products(self.products, names)]
        others += [(name, str(value)) for name, value in self._units.items()]
        learned = [] if self._provenance is None else [f"{capital(self._provenance.fact)}."]
        return markup.piece(
            f"Bounds: {len(rows):,} columns" if rows else "Bounds: the unit ball",
            markup.excerpt(("", "declared", "a missing value"), rows, "columns", words=2),
            markup.facts(others),
            *map(markup.paragraph, (*learned, "All of it is assumed public.")),
        )

    def for_columns(self, columns: Sequence[str] | None, d: int) -> Layout:
        """The layout for a table of d columns; raises ValueError where they do not fit together. Private."""
        if self.names is None:
            fits = len(self.columns) == d
            require(fits, "bounds", f"must have one pair for each of the {d} columns of X", len(self.columns))
            return self.layout if columns is None else self._named(tuple(columns))
        if columns is None:
            raise ValueError(
                f"`bounds` names columns ({', '.join(self.names[:3])}, …), and X has no column names. Pass a data "
                "frame, or give the bounds by position, as a list of pairs."
            )
        there = set(columns)
        if missing := [name for name in self.names if name not in there]:
            raise ValueError(
                f"`X` must have every column that the bounds name; missing: {missing}. Correct the name, or drop it "
                f"from the bounds. X has {list(columns)[:20]}."
            )
        return self.layout

    def _named(self, columns: tuple[str, ...]) -> Layout:
        """The layout with the names that a table gives to bounds by position, found once for the last such table."""
        if columns not in self._renamed:
            layout = replace(self.layout, features=columns)
            layout.check_names()
            self._renamed = {columns: layout}
        return self._renamed[columns]

    def target_pair(self) -> Pair | None:
        """Bounds of a numeric target, or None when not declared. Private."""
        kind, values = self._target or ("", ())
        if kind in ("classes", "threshold"):
            rule = 'must have lower and upper as target with model="linear"'
            raise ValueError(sentence("bounds", rule, write_target(kind, values)))
        return read_pair("the target", values) if kind else None

    def target_classes(self) -> tuple[Any, ...] | None:
        """Declared labels of a classifier's target, those of a threshold included; None when not declared. Private."""
        kind, values = self._target or ("", ())
        if kind == "range":
            rule = "must have classes or a threshold as target of a classifier"
            remedy = 'For a number as the target use model="linear", or LinearRegression.'
            raise ValueError(sentence("bounds", rule, write_target(kind, values), remedy))
        return (False, True) if kind == "threshold" else values or None


def _shown(column: Column) -> Any:
    """The shortest value that describes the column."""
    if isinstance(column, Numeric) and column.plain:
        return (0, 1) if column.flag else (column.lower, column.upper)
    return write_column(column)


def _in_words(column: Column) -> str:
    """Bounds, bins or levels in words, the first ones of many levels."""
    if not isinstance(column, Levels) or column.kind != "one_hot" or len(column.levels) <= markup.MOST:
        return str(column)
    first = replace(column, levels=column.levels[: markup.MOST], spellings=column.spellings[: markup.MOST])
    return f"{first}, and {len(column.levels) - markup.MOST:,} more"


def _missing(column: Column) -> str:
    if column.missing is None:
        return "is refused"
    return "has a column of its own" if column.marked else f"counts as {column.missing}"


def _target_in_words(kind: str, values: tuple[Any, ...]) -> str:
    match kind:
        case "pair":
            return f"{values[0]}, {values[1]} (bounds of a number, or two labels)"
        case "classes":
            return f"one of {', '.join(map(str, values))}"
        case "range":
            return f"in [{values[0]:g}, {values[1]:g}]"
        case _:
            return f"whether it is above {values[0]:g}"


def as_bounds(bounds: Any) -> Bounds | None:
    """Bounds in any of their forms: themselves, the path of a TOML file, or a mapping; None stays None.

    A mapping with "features" and no other keys than those of a bounds file is what `Bounds.to_dict` gives; any other
    has a key for each column.
    """
    if bounds is None or isinstance(bounds, Bounds):
        return bounds
    if isinstance(bounds, str | os.PathLike):
        return Bounds.from_toml(bounds)
    rule = "must be None, a dplr.Bounds, a mapping of columns, or the path of a bounds file"
    require(isinstance(bounds, Mapping), "bounds", rule, bounds, "", TypeError)
    is_document = "features" in bounds and set(bounds) <= set(KEYS)
    return Bounds.from_dict(bounds) if is_document else Bounds(bounds)


def codebook_of(bounds: Bounds | None) -> Bounds | None:
    """The bounds where they have columns; None for the unit ball."""
    return bounds if bounds is not None and bounds.columns else None


def with_numbers(bounds: Bounds | None, rows_per_person: int, weight_max: float | None) -> Bounds | None:
    """The bounds, or the unit ball, with these numbers for ids and weights that are given beside the rows."""
    if rows_per_person == 1 and weight_max is None:
        return bounds
    declared = {"features": None} if bounds is None else bounds.to_dict()
    return Bounds.from_dict(declared | write_units(None, rows_per_person, None, weight_max))


def with_columns(bounds: Bounds, columns: Mapping[int, Column]) -> Bounds:
    """The bounds with these columns at their places."""
    written = [write_column(columns.get(place, column)) for place, column in enumerate(bounds.columns)]
    features = written if bounds.names is None else dict(zip(bounds.names, written, strict=True))
    return Bounds.from_dict(bounds.to_dict() | {"features": features})


UNKNOWN = -1.0  # stands for a value that is not a declared level, where levels are numbers


def coded_bounds(bounds: Bounds | None, classes: int, target: Pair | None) -> Bounds | None:
    """The bounds by position, with levels and labels as their places, so that made-up rows are numbers."""
    if bounds is None:
        return None
    columns = [write_column(_coded(column)) for column in bounds.columns]
    declared: Any = list(range(classes)) if classes else target
    return Bounds(columns, target=declared, products=write_products(bounds.products, None))


def _coded(column: Column) -> Column:
    if not isinstance(column, Levels):
        return column
    places: dict[Any, int] = {level: place for place, level in enumerate(column.levels)}
    missing = column.missing if column.missing is None or column.marked else places[column.missing]
    reference = None if column.reference is None else places[column.reference]
    return Levels(tuple(places.values()), column.kind, missing, reference)
