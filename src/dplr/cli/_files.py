"""Output files: checked before anything is spent, written as a whole or not at all."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from dplr.cli._faults import FILE, USAGE, Refused, blamed
from dplr.cli._rows import INPUT

_JOURNAL = "-journal"  # of SQLite


def check_output(path: str, overwrite: bool, inputs: tuple[str | None, ...] = ()) -> None:
    """Refuse an output that cannot be written, or that would replace what is still needed."""
    target = Path(os.path.realpath(path))
    needed = [source for source in inputs if source not in (None, INPUT)]
    if str(target) in [os.path.realpath(source) + _JOURNAL for source in needed]:
        raise Refused(f"`{path}` would be deleted: a ledger keeps notes of its own under this name.", USAGE)
    try:
        if target.exists():
            if any(target.samefile(source) for source in needed):
                raise Refused(f"`{path}` is an input of this command, and must not be its output too.", USAGE)
            if not target.is_file():
                raise Refused(f"`{path}` is not a regular file, so it cannot be the output.", USAGE)
            if not overwrite:
                raise Refused(f"`{path}` exists. Give another name, or --overwrite.", USAGE)
        with tempfile.TemporaryFile(dir=target.parent) as probe:
            probe.write(b"x")
    except OSError as error:
        raise Refused(f"`{path}` cannot be written: {error.strerror}. Nothing was done.", USAGE) from None


def check_model_output(path: str, overwrite: bool, inputs: tuple[str | None, ...], moments: bool = False) -> None:
    """Refuse to replace a file that is not a model, or not one of moments, too."""
    if moments:
        from dplr.moments.file import check_replaceable
    else:
        from dplr.model_file.file import check_replaceable

    check_output(path, overwrite, inputs)
    with blamed(USAGE):
        check_replaceable(os.path.realpath(path))


@contextlib.contextmanager
def claimed(path: str, overwrite: bool) -> Iterator[None]:
    """Take the name by an empty file, unless it may be replaced: of two commands that found it free one gets it."""
    target = os.path.realpath(path)
    if not overwrite:
        os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
    try:
        yield
    except BaseException:
        with contextlib.suppress(OSError):
            if not overwrite and os.path.getsize(target) == 0:
                os.unlink(target)
        raise


def write(path: str, data: bytes) -> None:
    """The file appears whole under its name, or there is an error and the name is as it was."""
    from dplr._kit.files import write_whole

    with blamed(FILE):
        write_whole(os.path.realpath(path), data)
