"""Model files: a fitted model as JSON with a hash, written atomically and read with every rule checked.

The format is described in docs/use/model-file.md.
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import Any

import numpy as np

from dplr._kit.files import checked_name, write_whole
from dplr._kit.validation import sentence
from dplr.model_file.envelope import Envelope, read_bytes
from dplr.model_file.state import estimator_of, kinds, values_of
from dplr.model_file.strict_json import MOST_BYTES, ModelFileError, canonical, refuse

FORMAT = "dplr model"
"""The value of the key `format` of every model file."""

VERSION = 1
"""Newest version of the format, which this package writes. It reads all versions up to this one."""

_FILE = Envelope(FORMAT, VERSION, "model", "model file")
MOMENTS = Envelope("dplr moments", 1, "moments", "file of moments")
MOMENT_MODEL = Envelope("dplr moment model", 1, "model", "file of a model of moments")
MODELS = (_FILE, MOMENT_MODEL)
# The room of moments stands above this one: it is loaded by its name, where a file asks for it.
_HOMES = {_FILE: __name__, MOMENTS: "dplr.moments.file", MOMENT_MODEL: "dplr.moments.recipe"}


def save_model(est: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted model to a file: what was released and public facts, nothing else.

    Parameters
    ----------
    est : fitted estimator of dplr
        The model. Of a pipeline take the last step.
    path : path-like
        Name of the file.

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
    Holds coefficients, `released_`, `history_`, the evaluation of a fit that held rows out, the statement and the
    public facts behind them. Never the ledger, the seed, the public data, or anything else that `fit` saw. Publishing
    the file costs nothing further.

    See Also
    --------
    dplr.load_model : Read such a file.
    dplr.model_file.encode_model : Make the bytes alone.

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
    target = os.path.realpath(checked_name("path", path))
    data = encode_model(est)
    check_replaceable(target)
    write_whole(target, data)


def encode_model(est: Any) -> bytes:
    """Make the bytes that `save_model` writes.

    They are for a ledger that keeps them, or for a store that is not a file.

    Parameters
    ----------
    est : fitted estimator of dplr
        The model. Of a pipeline take the last step.

    Returns
    -------
    bytes
        JSON in UTF-8, with a hash over its values.

    Raises
    ------
    TypeError
        `est` is something else.
    NotFittedError
        `fit` was not called.
    ModelFileError
        The estimator cannot be written so that it reads back equal, as in `save_model`.

    Privacy
    -------
    Holds what a model file holds.

    See Also
    --------
    dplr.save_model : Write them to a file.

    Examples
    --------
    >>> import numpy as np, dplr
    >>> from dplr.model_file import encode_model
    >>> X = np.random.default_rng(0).uniform(-0.5, 0.5, (1000, 2))
    >>> b'"format": "dplr model"' in encode_model(dplr.fit(X, X[:, 0] > 0, eps=1.0))
    True
    """
    if kinds().get(type(est).__name__) is not type(est):
        remedy = "Of a pipeline save the last step. It holds RandomFourierFeatures; describe others as public facts."
        raise TypeError(sentence("est", f"must be one of {', '.join(kinds())}", type(est).__name__, remedy))
    _ = est.coef_names_  # raises NotFittedError
    if est._searched:
        rule = "must not come from a private search: the format has no place for a statement of more than one fit"
        remedy = "Use est.to_sklearn() or est.to_sql(), and publish `privacy_` beside it."
        raise ModelFileError(sentence("est", rule, f"eps = {est.privacy_.eps:g} of a whole search", remedy))
    return _encode(est)


def load_model(path: str | os.PathLike[str]) -> Any:
    """Read a model file, or a file of moments: what was saved.

    Parameters
    ----------
    path : path-like
        A file that `save_model`, `MomentModel.save` or `ReleasedMoments.save` wrote.

    Returns
    -------
    fitted estimator of dplr, dplr.results.MomentModel or dplr.results.ReleasedMoments
        An estimator of the same class, with the same coefficients, statement, `released_` and `history_`, bit for bit.
        A model of the functional mechanism can be `refit`. The parameters `ledger`, `public` and `rng` are None: they
        are not in the file, so give them anew before another `fit`. Moments have the same numbers and statements.

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

    See Also
    --------
    dplr.save_model : Write such a file.

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
    return load(path, *MODELS, MOMENTS)


def load(path: str | os.PathLike[str], *formats: Envelope) -> Any:
    """What a file of one of these formats holds; the first of them refuses any other."""
    try:
        data = read_bytes(path)
        return import_module(_HOMES[next((each for each in formats if each.begins(data)), formats[0])]).decoded(data)
    except ModelFileError as error:
        raise ModelFileError(f"`{os.fspath(path)!s}`: {error}") from None


def _encode(est: Any) -> bytes:
    try:  # it is read back and compared before anything is written
        values = values_of(est)
        data = _FILE.text(values)
        if len(data) > MOST_BYTES:
            refuse("released_", f"must fit into {MOST_BYTES >> 20} MiB", f"{len(data) >> 20} MiB", "Use fewer columns.")
        _check_same(est, decoded(data))
    except (ValueError, TypeError, AttributeError) as error:
        raise ModelFileError(
            f"`est` must be as its fit left it, of finite numbers and of labels that are text or numbers; got: {error}"
        ) from None
    return data


def decoded(data: bytes) -> Any:
    """The head and the hash first, then every field, then whether anything was left unread."""
    fields, text = _FILE.fields(data)
    est = estimator_of(fields)
    if canonical(values_of(est)) != text:
        refuse("model", "must be written as dplr writes it", "another spelling of some field")
    return est


def _check_same(est: Any, read: Any) -> None:
    """Refuse an estimator whose fit had other facts than those that follow from its file."""
    pairs = [(each._record, each._record.prep) for each in (est, read)]
    ours, theirs = (
        (record.mechanism, record.plan.statement, record.plan.problem.loss, prep.geometry, prep.layout, record.features)
        for record, prep in pairs
    )
    arrays = [[getattr(prep, name) for _, prep in pairs] for name in ("shift", "scale", "low", "high")]
    if ours != theirs or not all(np.array_equal(*both) for both in arrays):
        refuse("est", "must have the bounds and parameters of its fit", "others", "They were changed since.")


def check_replaceable(target: str) -> None:
    _FILE.check_replaceable(target)
