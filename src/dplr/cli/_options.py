"""Options that several commands have, and what they mean in words."""

from __future__ import annotations

import contextlib
import functools
import sys
import textwrap
import warnings
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

import click

from dplr.cli._faults import FILE, USAGE, Refused, blamed, visible
from dplr.cli._tables import format_of
from dplr.mechanisms import SHORTHANDS
from dplr.mechanisms.automatic import AUTO
from dplr.mechanisms.protocol import AIMS
from dplr.problem.losses import LOSSES

if TYPE_CHECKING:
    from dplr.ledger.handle import Ledger
    from dplr.privacy.statement import PrivacyStatement

Function = TypeVar("Function", bound=Callable[..., Any])

_HINTS = "; ".join(about.hint for about in SHORTHANDS.values() if about.hint)
RELATIONS = ("replace_one", "add_remove")
EXISTING = click.Path(exists=True, dir_okay=False, readable=True)
TABLE = click.Path(exists=True, dir_okay=False, readable=True, allow_dash=True)  # - is standard input


class Ridge(click.ParamType[float | str]):
    """A number, or auto."""

    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float | str:
        """Read it."""
        if value == "auto":
            return "auto"
        with contextlib.suppress(ValueError):
            if 0 <= float(value) < float("inf"):
                return float(value)
        self.fail(f"{value!r} is neither 'auto' nor a number of at least 0.", param, ctx)


class Knots(click.ParamType[int | str]):
    """A number of knots, or auto."""

    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int | str:
        """Read it."""
        from dplr.fitting.curves import check_curves

        with contextlib.suppress(ValueError):
            curves = check_curves(value if value == "auto" else int(value))
            if curves is not None:
                return curves
        self.fail(f"{value!r} is neither 'auto' nor a number of knots from 3 to 256.", param, ctx)


class Eps(click.ParamType[float]):
    """A privacy loss."""

    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Read it."""
        with contextlib.suppress(ValueError):
            if float(value) > 0:
                return float(value)
        self.fail(f"it must be positive; 0.1 to 1 is usual, and less protects more. Got {value!r}.", param, ctx)


mechanism_option = click.option(
    "--mechanism", type=click.Choice((AUTO, *SHORTHANDS)), default=AUTO, show_default=True,
    help=f"How privacy is made; `dplr plan` says which auto takes, and with how much noise. {_HINTS}.",
)  # fmt: skip
aim_option = click.option(
    "--aim", type=click.Choice(AIMS), default=AIMS[0], show_default=True,
    help="What the model is for: the smallest error, or a table of coefficients with intervals.",
)  # fmt: skip
delta_option = click.option(
    "--delta", type=click.FloatRange(min=0, max=1, max_open=True), default=0.0, show_default=True,
    help="What may go wrong beyond eps; far below 1 / (number of records), and 0 where the mechanism can.",
)  # fmt: skip


public_option = click.option(
    "--public", type=EXISTING,
    help="Rows of other people, with the same columns, that are public already: the fit starts there.",
)  # fmt: skip


def privacy_options(function: Function) -> Function:
    """The options of the promise and of the mechanism."""
    for option in (
        click.option("--curves", type=Knots(), default=None,
            help="Curves of this many knots beside each number that measures something; auto: some where they pay. A "
            "line without."),
        click.option("--no-intercept", is_flag=True, help="Force the model through zero."),
        click.option("--l2", type=Ridge(), default="auto", show_default=True,
            help="Ridge of the scaled problem's mean objective; auto is a function of public facts."),
        click.option("--neighbouring", type=click.Choice(RELATIONS), default="replace_one", show_default=True,
            help="What is protected: what a record says (the number of records is public), or also that it is there."),
        click.option("--model", type=click.Choice(tuple(LOSSES)), default="logistic", show_default=True,
            help="Classes: logistic or svm. A number: linear."),
        mechanism_option,
        aim_option,
        delta_option,
    ):  # fmt: skip
        function = option(function)
    return function


def parameters_of(options: dict[str, Any]) -> dict[str, Any]:
    """The options of `eps_option` and `privacy_options`, taken out of others, as parameters of `dplr.plan`."""
    from dplr.fitting.options import FitFacts

    names = {"eps", "delta", "model", *FitFacts.__annotations__} - {"bounds", "fit_intercept"}
    parameters = {name: options.pop(name) for name in names}
    return parameters | {"fit_intercept": not options.pop("no_intercept")}


def eps_option(required: bool) -> Callable[[Function], Function]:
    """The privacy loss."""
    text = "Privacy loss: smaller protects more, larger is more accurate. 0.1 to 1 is usual; inf is not private."
    return click.option("--eps", type=Eps(), required=required, help=text)


def format_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """How a file is written: the command gets it as `form`."""

    @functools.wraps(function)
    def command(
        *, encoding: str, delimiter: str, decimal: str, spellings: tuple[str, ...], **options: Any
    ) -> Any:  # fmt: skip
        with blamed(USAGE):
            form = format_of(encoding, delimiter, spellings, decimal)
        return function(form=form, **options)

    for option in (
        click.option("--missing", "spellings", multiple=True, metavar="TEXT",
            help="Text that means a missing value, such as '?'; may be repeated. An empty field always does. Parquet "
            "files have missing values of their own."),
        click.option("--delimiter", default=",", show_default=True, help="CSV: what is between two fields."),
        click.option("--decimal", default=".", show_default=True,
            help="CSV: what is before the decimals of a number, a full stop or a comma. Nothing may be between "
            "thousands."),
        click.option("--encoding", default="utf-8", show_default=True,
            help="CSV: encoding of the text. UTF-8, or one with one byte per character, such as latin-1: in others one "
            "record could change how the next one is read. Of SPSS and Stata only where the file does not say it."),
    ):  # fmt: skip
        command = option(command)
    return command


bounds_option = click.option(
    "--bounds", type=EXISTING, required=True, help="TOML file: what is public about the columns."
)
share_option = click.option(
    "--share", metavar="NAME", help="With --ledger: the share that pays, within its limits; see `dplr ledger share`."
)
output_option = click.option("-o", "--output", required=True, metavar="FILE", help="File to write.")
overwrite_option = click.option("--overwrite", is_flag=True, help="Replace the output if it exists.")


def opened(path: str | None, share: str | None) -> Ledger | None:
    """The ledger of the options, or a share of it; None without one."""
    if path is None:
        if share is not None:
            raise Refused("`--share` is of a ledger: give --ledger too.", USAGE)
        return None
    import dplr

    with blamed(FILE):
        ledger = dplr.Ledger(path)
    with blamed(USAGE):
        return ledger if share is None else ledger.share(share)


def left_in(ledger: Ledger) -> str:
    """The remaining eps and delta of a ledger, in words and rounded down."""
    from dplr.ledger.terms import rest_words

    return rest_words(ledger.remaining())


statement_option = click.option(
    "--statement", is_flag=True, help="Print the full privacy statement, and not its short form."
)


def promise(statement: PrivacyStatement, full: bool) -> None:
    """Print a statement, in plain words or in full."""
    if full:
        click.echo(visible(str(statement)))
        return
    for sentence in statement.brief:
        click.echo(textwrap.fill(visible(sentence), 100, subsequent_indent="  "))


def note(message: str, quiet: bool = False) -> None:
    """Say something on standard error."""
    if not quiet:
        click.echo(visible(message), err=True)


@contextlib.contextmanager
def told() -> Iterator[None]:
    """Show warnings of dplr to the data holder at once, as sentences, each once: a plan and its fit say the same."""
    before: set[str] = set()

    def show(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
        if issubclass(category, UserWarning) and str(message) not in before:
            before.add(str(message))
            note(f"Warning (not for publication): {message}")

    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = show
        yield


def bars_wanted(progress: bool | None) -> bool:
    """Asked for, or a terminal that can show them."""
    from importlib import util

    if progress is not None:
        return progress
    return sys.stderr is not None and sys.stderr.isatty() and util.find_spec("tqdm") is not None
