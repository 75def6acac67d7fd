"""The options of a fit, each declared once: its type, default, rule, and entry of a docstring.

Constructors of estimators are made from the declaration, and so are the signatures, checks and docstrings of whatever
takes such options. The classes of keywords repeat the types, since type checkers read keywords nowhere else.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import partial
from typing import TYPE_CHECKING, Any, ParamSpec, Required, TypedDict, TypeVar, dataclass_transform

from dplr._kit.keywords import suggests
from dplr._kit.validation import check_choice, check_delta, check_eps, check_flag, real_number, sentence
from dplr.mechanisms import check_mechanism
from dplr.mechanisms.automatic import AUTO
from dplr.mechanisms.protocol import AIMS
from dplr.privacy.guarantees import Neighbouring

if TYPE_CHECKING:
    from dplr.bounds.declared import BoundsLike
    from dplr.fitting.pretraining import PublicLike
    from dplr.ledger.handle import LedgerLike
    from dplr.mechanisms.protocol import MechanismLike
    from dplr.problem.losses import Loss

P = ParamSpec("P")
T = TypeVar("T")
Rule = Callable[[Any], Any]
_FIRST = ("", "Parameters", "Attributes", "Returns", "Raises", "Privacy")  # sections, in their order
_SECTION = re.compile(r"^([A-Z][A-Za-z ]+)\n-{3,}\n", flags=re.M)


@dataclass(frozen=True, slots=True)
class Within:
    """The rule of a number within limits."""

    name: str
    least: float
    largest: float

    def __call__(self, value: Any) -> float:
        number = real_number(self.name, value)
        if not self.least <= number <= self.largest:
            raise ValueError(sentence(self.name, f"must be between {self.least:g} and {self.largest:g}", number))
        return number


def check_l2(l2: float | str) -> float | None:
    """A ridge, or None for 'auto'."""
    if isinstance(l2, str):
        check_choice("l2", l2, ["auto"])
        return None
    value = real_number("l2", l2, "Use 'auto' or a number.")
    if not 0 <= value < float("inf"):
        raise ValueError(sentence("l2", "must be 'auto', or at least 0 and finite", value))
    return value


def option(*, default: Any, entry: str = "", rule: Rule | None = None) -> Any:
    """An option with its entry in a docstring, the type on its first line, and the rule that a value is held to.

    Type checkers take a default by this name alone.
    """
    return field(default=default, metadata={"entry": inspect.cleandoc(entry), "rule": rule})


@dataclass_transform(kw_only_default=True, eq_default=False, field_specifiers=(option,))
def options(kind: type[T]) -> type[T]:
    """Options that a constructor stores unchanged, as scikit-learn expects; `fit` checks them."""
    return dataclass(kw_only=True, eq=False, repr=False)(kind)


@dataclass_transform(kw_only_default=True, eq_default=False, field_specifiers=(option,))
def estimator(kind: type[T]) -> type[T]:
    """The constructor of an estimator from its options and those of its bases, and its docstring with their entries."""
    made = options(kind)
    setattr(made, "__init__", suggests(made.__init__))  # noqa: B010  mypy takes no assignment to a method
    return documented(made)


@options
class FitOptions:
    eps: float = option(
        default=1.0,
        entry="""float
        Privacy loss, above 0. ``float("inf")`` fits without noise and without privacy.""",
        rule=check_eps,
    )
    delta: float = option(
        default=0.0,
        entry="""float
        The delta of (eps, delta)-differential privacy: what is added to what the factor exp(eps) allows, in [0, 1). 0
        asks for pure eps-DP; `"objective"` then states 2^-64.""",
        rule=check_delta,
    )
    mechanism: MechanismLike = option(
        default=AUTO,
        entry="""{"auto", "fm", "objective", "output", "ngd", "score", "none"} or spec
        `"auto"` takes the one that was best on the project's tables. It is a function of public facts, and the
        statement says which one it took and why. `"ngd"` and `"score"` need delta > 0. A spec sets options, such as
        ``FunctionalMechanism(calibration="paper")``.""",
        rule=check_mechanism,
    )
    bounds: BoundsLike = option(
        default=None,
        entry="""Bounds, mapping, path-like or None
        What is public of the columns: a `Bounds`, the mapping that makes one, or the path of a bounds file. With bounds
        by name, columns that they do not name are ignored. None assumes that rows lie in the unit ball, and projects
        those outside onto it, as ``Bounds(None)`` does. Predictions count rows in the same way. Bounds also say how
        many rows of a person count, `rows_per_person`, and to what weights are clipped, `weight_max`.""",
    )
    fit_intercept: bool = option(
        default=True,
        entry="""bool
        Whether the model has an intercept.""",
        rule=partial(check_flag, "fit_intercept"),
    )
    l2: float | str = option(
        default="auto",
        entry="""float or "auto"
        Ridge: factor of ||w||^2 / 2 in the mean objective of the scaled problem, at least 0. ``"auto"`` is a function
        of public facts.""",
        rule=check_l2,
    )
    neighbouring: str = option(
        default=str(Neighbouring.REPLACE_ONE),
        entry="""{"replace_one", "add_remove"}
        Whether a neighbouring data set has one record replaced, or one record more or less.""",
        rule=partial(check_choice, "neighbouring", choices=[str(kind) for kind in Neighbouring]),
    )
    n_rows: int | None = option(
        default=None,
        entry="""int or None
        Public number of rows, or of persons. Under replace_one it is what X holds. Under add_remove it is a declared
        reference, or None.""",
    )
    person: str | None = option(
        default=None,
        entry="""str or None
        Name of the column of the ids of persons in the table X. Rows with one id are one person's, and the guarantee
        protects one person with all their rows. Ids are compared as they are written. The column is not a feature, and
        predictions ignore it. Where ids are given to `fit` instead, this is what the statement calls them. None
        protects each row alone: a person with k rows has the protection of k eps.""",
    )
    public: PublicLike = option(
        default=None,
        entry="""tuple, fitted model or None
        Where the fit starts and towards which its ridge pulls. It must be disjoint from the private data, and not
        selected using it. Everything is in the units that the estimator sees. One of

        - ``(X, y)``: at least two public rows and their targets, with both labels. An array has the columns of X in
          their order; a frame has the same columns in any order. The start is the exact minimiser of the same loss
          under the same bounds, with the ridge of ``mechanism="none"``. Every `fit` computes it anew.
        - a fitted model with `coef_` and `intercept_`. `sklearn.clone` would unfit it: in cross-validation give
        - ``(coef, intercept)``.""",
    )
    curves: int | str | None = option(
        default=None,
        entry="""int, "auto" or None
        A number of knots makes each declared number that measures something a curve (`Bounds.with_curves`): piecewise
        linear between that many even knots, beside its line. `"auto"` takes 8 to 24 where they pay, a function of n,
        eps, delta and columns, and says so in the statement. None fits lines.""",
    )
    aim: str = option(
        default=AIMS[0],
        entry="""{"prediction", "coefficients"}
        `"coefficients"` makes a release that has a table of coefficients with intervals, or is refused before anything
        is spent. `mechanism="auto"` then takes the mechanism whose table is expected to be the best, and one that was
        asked for takes the options with which it has a table, where you have not set others: `"fm"` no ridge, fewer
        dropped directions, and intervals for unequal variances; `"objective"` its Hessian, and no cut. No numbers are
        clipped to private ranges. Predictions are noisier. A `UtilityWarning` names lines of the table that may say
        nothing, before anything is spent.""",
        rule=partial(check_choice, "aim", choices=AIMS),
    )
    ledger: LedgerLike = option(
        default=None,
        entry="""Ledger, path-like or None
        Budget that pays: a `Ledger`, or the path of one that exists. None counts nothing. If the budget cannot
        pay, `BudgetExceeded` is raised before any noise is drawn. Copies, folds and workers all spend from it.""",
    )
    rng: int | None = option(
        default=None,
        entry="""int or None
        None takes the operating system's entropy. An int makes the noise reproducible: such a release is not
        private.""",
    )
    progress: bool = option(
        default=False,
        entry="""bool
        Whether a bar (extra `progress`) shows the progress of a long fit.""",
        rule=partial(check_flag, "progress"),
    )


@options
class LabelOptions:
    """Of models of labels alone."""

    classes: Any = option(
        default=None,
        entry="""sequence, "from_data" or None
        Labels, from public knowledge. None suits booleans, 0 and 1, and bounds that name the labels. More than two
        labels are fitted one against the rest, each with a share of eps and delta (one_vs_rest.md). `"from_data"` reads
        two labels from the data, which no noise covers: a PrivacyWarning says so, and the statement too.""",
    )
    class_weight: Mapping[Any, float] | None = option(
        default=None,
        entry="""mapping of label to float, or None
        Public factor of every label: a row counts its label's factor over the largest one. None counts all rows alike.
        `"balanced"` is refused, because it would be taken from the private labels.""",
    )


class FitFacts(TypedDict, total=False):
    """Of `dplr.plan` and `dplr.fit` alike."""

    bounds: BoundsLike
    mechanism: MechanismLike
    fit_intercept: bool
    l2: float | str
    neighbouring: str
    public: PublicLike
    curves: int | str | None
    aim: str


class PlanKeywords(FitFacts, total=False):
    """Of `dplr.plan`, which a simulation or an audit passes on as they are."""

    n_features: int | None
    model: str | Loss
    person: str | None


class _Keywords(FitFacts, total=False):
    delta: float
    classes: Any
    n_rows: int | None
    person: Any
    sample_weight: Any
    class_weight: Mapping[Any, float] | None
    ledger: LedgerLike
    rng: int | None
    progress: bool


class FitKeywords(_Keywords, total=False):
    eps: Required[float]
    holdout: float | None


class ManyKeywords(_Keywords, total=False):
    eps: Required[Sequence[float]]
    repeats: int


_DECLARED = {each.name: each for kind in (FitOptions, LabelOptions) for each in fields(kind)}
# What a plan depends on, beside bounds, which are resolved first.
PLANNED = ("delta", *(name for name in FitFacts.__annotations__ if name != "bounds"))


def check_options(asked: Any) -> None:
    """Hold the options of a plan to their rules; a test holds the defaults to them."""
    for name in PLANNED:
        option, value = _DECLARED[name], getattr(asked, name)
        if value is not option.default and option.metadata["rule"] is not None:
            option.metadata["rule"](value)


def limits_of(kind: Any) -> dict[str, Within]:
    """The options of a model that are numbers within limits."""
    return {each.name: each.metadata["rule"] for each in fields(kind) if isinstance(each.metadata.get("rule"), Within)}


def declared(*names: str) -> list[inspect.Parameter]:
    """These options as parameters of a function; all of them where none is named."""
    made = (_DECLARED[name] for name in names or _DECLARED)
    kind = inspect.Parameter.KEYWORD_ONLY
    return [inspect.Parameter(each.name, kind, default=each.default, annotation=each.type) for each in made]


def takes(parameters: Iterable[inspect.Parameter]) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Let `**` of a function stand for these parameters: in its signature, its docstring and its refusals."""

    def taking(function: Callable[P, T]) -> Callable[P, T]:
        signature = inspect.signature(function)
        own = {name: each for name, each in signature.parameters.items() if each.kind is not each.VAR_KEYWORD}
        whole = [*own.values(), *(each for each in parameters if each.name not in own)]
        setattr(function, "__signature__", signature.replace(parameters=whole))  # noqa: B010
        return suggests(documented(function))

    return taking


def documented(thing: T, entries: Mapping[str, str] | None = None, further: Mapping[str, str] | None = None) -> T:
    """Add the entries that the docstring of a function or class leaves out: these, of options, and of its base class.

    `further` begin the section Raises, and are other sections where there are none.
    """
    text = thing.__doc__
    if text is None:  # python -OO
        return thing
    parts = _SECTION.split(inspect.cleandoc(text))
    sections = {"": parts[0], **dict(zip(parts[1::2], parts[2::2], strict=True))}
    parameters = _merged(thing, _entries(sections.get("Parameters", "")), entries or _of_bases(thing, "Parameters"))
    attributes = {**_of_bases(thing, "Attributes"), **_entries(sections.get("Attributes", ""))}
    sections |= {"Parameters": parameters, "Attributes": "\n".join(attributes.values())}
    for name, text in (further or {}).items():
        sections[name] = f"{text}\n{sections.get(name, '')}" if name == "Raises" else sections.get(name, text)
    order = {name: sections[name] for name in (*_FIRST, *sections) if name in sections}
    heads = {name: f"{name}\n{'-' * len(name)}\n" if name else "" for name in order}
    thing.__doc__ = "\n\n".join(heads[name] + body.rstrip() for name, body in order.items() if body) + "\n"
    return thing


def entry_of(name: str, default: Any) -> str:
    """The entry of a declared option with this default; `Parameter.empty` is none."""
    made = _DECLARED[name]
    kind, _, text = made.metadata["entry"].partition("\n")
    if default is not inspect.Parameter.empty:
        shown = f'"{default}"' if isinstance(default, str) else repr(default)
        kind = f"{kind}, default={shown}"
    return f"{name} : {kind}\n" + "\n".join(f"    {line}".rstrip() for line in text.splitlines())


def _merged(thing: Any, own: dict[str, str], others: Mapping[str, str]) -> str:
    """The entries of the parameters in their order, its own where it has one; then own ones of several names."""
    entries = []
    for parameter in inspect.signature(thing).parameters.values():
        name = str(parameter).split("=")[0].split(":")[0].strip()  # with its stars
        if name in own:
            entries.append(own.pop(name))
        elif name in others:
            entries.append(others[name])
        elif name in _DECLARED:
            entries.append(entry_of(name, parameter.default))
    return "\n".join([*entries, *own.values()])


def _entries(section: str) -> dict[str, str]:
    """Name -> its entry; several names of one entry are one name."""
    entries = [entry.rstrip() for entry in re.split(r"^(?=\S)", section, flags=re.M) if entry]
    return {entry.splitlines()[0].split(" : ")[0]: entry for entry in entries}


def _of_bases(thing: Any, section: str) -> dict[str, str]:
    """The entries of the nearest base class of ours with such a section."""
    for base in thing.__mro__[1:] if isinstance(thing, type) else ():
        parts = _SECTION.split(inspect.cleandoc(base.__doc__ or ""))
        if base.__module__.startswith("dplr.") and section in parts[1::2]:
            return _entries(parts[parts.index(section) + 1])
    return {}
