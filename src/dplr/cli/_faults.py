"""From exceptions to one sentence on standard error and an exit code."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import Any

import click

BUG, USAGE, FILE, BUDGET, INTERRUPTED = 1, 2, 3, 4, 130


def visible(text: str) -> str:
    """Text whose characters are all seen: names come from files of others, and could steer a terminal."""
    return "".join(char if char.isprintable() or char == "\n" else "\N{REPLACEMENT CHARACTER}" for char in text)


class Refused(click.ClickException):
    """A message for the user, with the exit code."""

    def __init__(self, message: str, exit_code: int) -> None:
        super().__init__(visible(message))
        vars(self)["exit_code"] = exit_code  # to the type checker a class variable


class Commands(click.Group):
    """A group whose commands never end in a traceback, unless DPLR_DEBUG asks for it."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise Refused("interrupted.", INTERRUPTED) from None
        except (click.ClickException, click.exceptions.Exit, click.Abort, BrokenPipeError):
            raise
        except OSError as error:  # a file, a disk or a lock, wherever it was met
            _refuse(error, FILE)
        except Exception as error:
            if debugging():
                raise
            kind = type(error).__name__
            raise Refused(f"{kind}: {error} This is a fault of dplr: please report it.", BUG) from None


@contextlib.contextmanager
def blamed(exit_code: int) -> Iterator[None]:
    """Turn what is raised inside into a sentence, with this exit code or that of an exceeded budget."""
    from dplr.ledger.budget import BudgetExceeded

    try:
        yield
    except BudgetExceeded as error:
        _refuse(error, BUDGET)
    except click.ClickException:
        raise
    except MemoryError as error:  # before Arrow's other errors: its own of memory is both
        _refuse(MemoryError(_in_words(error)), FILE)
    except (ValueError, TypeError, FileExistsError, RuntimeError, ModuleNotFoundError, sqlite_fault()) as error:
        _refuse(error, exit_code)
    except OSError as error:
        _refuse(error, FILE)


def _in_words(error: MemoryError) -> str:
    """The sentence of whoever knew how many rows there were; else one without them."""
    text = str(error)
    return text if text.startswith("`") else "memory ran out. Give the command more, or fewer columns."


def sqlite_fault() -> type[Exception]:
    """The type of the errors that a damaged ledger raises."""
    import sqlite3

    return sqlite3.Error


def debugging() -> bool:
    """Whether tracebacks are wanted."""
    return os.environ.get("DPLR_DEBUG", "") not in ("", "0")


def _refuse(error: Exception, exit_code: int) -> None:
    if debugging():
        raise error
    text = str(error)
    if isinstance(error, OSError) and error.strerror and error.filename is not None:
        text = f"`{error.filename}`: {error.strerror}."
    raise Refused(text, exit_code) from None
