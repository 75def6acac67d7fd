"""Model files: a fitted model as JSON with a hash, written atomically and read with every rule checked.

The format is described in docs/use/model-file.md.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import stat
from collections.abc import Iterator
from typing import Any

import numpy as np

from dplr._files import write_whole
from dplr._validation import sentence
from dplr.fitting.search import CHOSEN
from dplr.model_file.readers import table
from dplr.model_file.state import estimator_of, kinds, values_of
from dplr.model_file.strict_json import MOST_BYTES, ModelFileError, canonical, digest, parse, refuse

__all__ = ["FORMAT", "VERSION", "ModelFileError", "load_model", "save_model"]

FORMAT, VERSION = "dplr model", 1

_START = re.compile(rb'\s*\{\s*"format"\s*:\s*"' + FORMAT.encode() + b'"')


def save_model(est: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted model to a file: what was released and public facts, nothing else.

    The file appears as a whole or not at all. An earlier model file of this name is replaced; any other file is not.

    Parameters
    ----------
    est : a fitted estimator of dplr.
    path : of the file.

    Raises
    ------
    TypeError
        `est` is something else.
    NotFittedError
        Call `fit` first.
    FileExistsError
        There is a file of this name, and it is not a model file.
    ModelFileError
        The estimator cannot be written so that it reads back equal: a parameter was changed since the fit, a number is
        not finite, there are more released numbers than 64 MiB hold, or a `PrivateSearch` chose it on private rows.
    OSError
        The file cannot be written.

    Privacy
    -------
    Holds coefficients, `released_`, `history_`, the statement and the public facts behind them. Never the ledger, the
    seed, the public data, or anything else that `fit` saw. Publishing the file costs nothing further.

    Examples
    --------
    >>> import numpy as np, dplr, pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "model.json")
    >>> X = np.random.default_rng(0).uniform(-0.5, 0.5, (1000, 2))
    >>> est = dplr.fit(X, X[:, 0] > 0, eps=1.0)
    >>> dplr.save_model(est, path)
    >>> dplr.load_model(path).privacy_ == est.privacy_
    True
    """
    if kinds().get(type(est).__name__) is not type(est):
        remedy = "Of a pipeline save the last step. It holds RandomFourierFeatures; describe others as public facts."
        raise TypeError(sentence("est", f"must be one of {', '.join(kinds())}", type(est).__name__, remedy))
    _ = est.coef_names_  # raises NotFittedError
    if any(fact.startswith(CHOSEN) for fact in est.privacy_.assumptions):
        rule = "must not come from a private search: the format has no place for a statement of more than one fit"
        remedy = "Use est.to_sklearn(), est.to_sql() or est.to_onnx(), and publish `privacy_` beside it."
        raise ModelFileError(sentence("est", rule, f"eps = {est.privacy_.eps:g} of a whole search", remedy))
    target = os.path.realpath(path)
    check_replaceable(target)
    data = _encode(est)
    write_whole(target, data)


def load_model(path: str | os.PathLike[str]) -> Any:
    """Read a model file: the fitted estimator that was saved.

    Parameters
    ----------
    path : of a file that `save_model` wrote.

    Returns
    -------
    A fitted estimator of the same class, with the same coefficients, statement, `released_` and `history_`, bit for
    bit. A model of the functional mechanism can be `refit`. The parameters `ledger`, `public` and `rng` are None: they
    are not in the file, so give them anew before another `fit`.

    Raises
    ------
    ModelFileError
        The file is damaged, breaks a rule of the format, or was written by a newer version; nothing was made of it.
    OSError
        There is no such file, or it cannot be read.

    Privacy
    -------
    Reads released numbers and public facts. The hash shows damage, not forgery: take a statement as seriously as where
    the file came from.

    Examples
    --------
    >>> import dplr, pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "model.json")
    >>> _ = path.write_text("{}")
    >>> dplr.load_model(path)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    dplr.model_file.ModelFileError: `...model.json`: `format` must be "dplr model"; got None. This is not a model file.
    """
    try:
        return _decode(_read(path))
    except ModelFileError as error:
        raise ModelFileError(f"`{os.fspath(path)!s}`: {error}") from None


def _encode(est: Any) -> bytes:
    """The text of the file, read back and compared before anything is written."""
    try:
        values = values_of(est)
        data = _text(values)
        if len(data) > MOST_BYTES:
            refuse("released_", f"must fit into {MOST_BYTES >> 20} MiB", f"{len(data) >> 20} MiB", "Use fewer columns.")
        _check_same(est, _decode(data))
    except (ValueError, TypeError, AttributeError) as error:
        raise ModelFileError(
            f"`est` must be as its fit left it, of finite numbers and of labels that are text or numbers; got: {error}"
        ) from None
    return data


def _text(values: dict[str, Any]) -> bytes:
    """One line a field, so that people can look at it; ends with a newline."""
    fields = [f"    {json.dumps(name)}: {json.dumps(value, allow_nan=False)}" for name, value in values.items()]
    model = "{\n" + ",\n".join(fields) + "\n  }"
    head = {"format": FORMAT, "version": VERSION, "sha256": digest(values)}
    lines = [f"  {json.dumps(name)}: {json.dumps(value)}" for name, value in head.items()]
    return ("{\n" + ",\n".join([*lines, f'  "model": {model}']) + "\n}\n").encode("ascii")


def _decode(data: bytes) -> Any:
    """Format and version first, then the hash, then every field, then whether anything was left unread."""
    values = parse(data)
    found = values.get("format") if isinstance(values, dict) else None
    if found != FORMAT:
        refuse("format", f'must be "{FORMAT}"', found, "This is not a model file.")
    version = values.get("version")
    if type(version) is not int or version < 1:
        refuse("version", "must be a positive integer", version)
    if version > VERSION:
        refuse("version", f"must be at most {VERSION}", version, "The file is of a newer dplr: upgrade.")
    fields = table(dict.fromkeys(("format", "version", "sha256", "model"), lambda _, value: value))("file", values)
    try:
        text = canonical(fields["model"])
        found = digest(fields["model"])
    except (RecursionError, ValueError):
        refuse("model", "must be a table of finite numbers and text", "brackets in brackets without end")
    if fields["sha256"] != found:
        remedy = "The file was damaged, or changed by hand: get it anew."
        refuse("sha256", f"must be that of the model, {found[:12]}...", fields["sha256"], remedy)
    est = estimator_of(fields["model"])
    if canonical(values_of(est)) != text:
        refuse("model", "must be written as dplr writes it", "another spelling of some field")
    return est


def _check_same(est: Any, read: Any) -> None:
    """What the file does not hold but follows from it must be what the fit had."""
    ours, theirs = (
        (record.mechanism, record.plan.statement, record.plan.problem.loss, record.prep.geometry, *_made_of(record))
        for record in (est._record, read._record)
    )
    arrays = [
        (getattr(est._record.prep, name), getattr(read._record.prep, name))
        for name in ("shift", "scale", "low", "high")
    ]
    if ours != theirs or not all(np.array_equal(one, other) for one, other in arrays):
        refuse("est", "must have the bounds and parameters of its fit", "others", "They were changed since.")


def _made_of(record: Any) -> tuple[Any, ...]:
    """How rows come about."""
    return record.prep.layout, record.features


def _read(path: str | os.PathLike[str]) -> bytes:
    """The bytes of the file, its size checked before."""
    with _opened(path) as descriptor:
        size = os.fstat(descriptor).st_size
        if size > MOST_BYTES:
            refuse("file", f"must have at most {MOST_BYTES >> 20} MiB", f"{size} bytes")
        with open(descriptor, "rb", closefd=False) as file:
            return file.read(size)


def check_replaceable(target: str) -> None:
    """A model file and an empty file may be replaced; nothing else, such as the data or the ledger."""
    try:
        with _opened(target) as descriptor:
            start = os.read(descriptor, 256)
    except FileNotFoundError:
        return
    except ModelFileError:
        start = b"no regular file"
    if start and not _START.match(start):
        raise FileExistsError(sentence("path", "must name a new file or a model file", target, "Choose another name."))


@contextlib.contextmanager
def _opened(path: str | os.PathLike[str]) -> Iterator[int]:
    """The descriptor of a regular file; a pipe, a device or a folder is refused without waiting."""
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    try:
        mode = os.fstat(descriptor).st_mode
        if not stat.S_ISREG(mode):
            refuse("file", "must be a regular file", stat.filemode(mode))
        yield descriptor
    finally:
        os.close(descriptor)
