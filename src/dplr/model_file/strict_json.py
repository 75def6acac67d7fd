"""The text of a model file: strict JSON, and the hash over its values."""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from typing import Any, NoReturn

from dplr._kit.validation import describe

MOST_BYTES = 2**26  # 64 MiB: checked before anything is read
_MOST_DIGITS = 400  # an integer field holds at most 2^1024


class ModelFileError(ValueError):
    """A model file is damaged, breaks a rule, or is newer than this version of dplr; no model was made of it.

    Privacy
    -------
    Says what stands in the file, which holds nothing private.

    See Also
    --------
    dplr.load_model : Raises it.

    Examples
    --------
    >>> import dplr, pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "model.json")
    >>> _ = path.write_text('{"format": "dplr model", "version": 2}')
    >>> try:
    ...     dplr.load_model(path)
    ... except dplr.model_file.ModelFileError as error:
    ...     print(str(error).partition(": ")[2])
    `version` must be at most 1; got 2. The file is of a newer dplr: upgrade.
    """

    __module__ = "dplr.model_file"  # where users find it


def refuse(where: str, rule: str, got: object, remedy: str = "") -> NoReturn:
    """Raise the sentence of an error; lists and tables are named by their size only."""
    shown = describe(got)
    if isinstance(got, (list, dict)):
        kind = "a list" if isinstance(got, list) else "a table"
        shown = f"{kind} of {len(got)}"
    raise ModelFileError(f"`{where}` {rule}; got {shown}.{' ' + remedy if remedy else ''}")


def parse(data: bytes) -> Any:
    """The values of a JSON text: no key twice, no number that is not finite, nothing endless."""
    try:
        return json.loads(
            data.decode("utf-8"),
            parse_float=_float,
            parse_int=_int,
            parse_constant=_constant,
            object_pairs_hook=_table,
        )
    except ModelFileError:
        raise
    except RecursionError:
        refuse("file", "must be a model file", "brackets in brackets without end")
    except ValueError as error:  # of its encoding, of its syntax
        refuse("file", "must be complete JSON in UTF-8", str(error), "It is damaged, or not a model file.")


def canonical(value: Any) -> bytes:
    """The text that the hash is taken of: keys sorted, no spaces, ASCII, floats by the shortest exact digits."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return text.encode("ascii")


def digest(value: Any) -> str:
    """SHA-256 of the canonical text."""
    return hashlib.sha256(canonical(value)).hexdigest()


def _float(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        refuse("file", "must hold finite numbers", text)
    return value


def _int(text: str) -> int:
    if len(text) > _MOST_DIGITS:
        refuse("file", f"must hold integers of at most {_MOST_DIGITS} digits", f"{len(text)} digits")
    return int(text)


def _constant(text: str) -> NoReturn:
    refuse("file", "must hold finite numbers", text)


def _table(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    table = dict(pairs)
    if len(table) < len(pairs):
        names = Counter(name for name, _ in pairs)
        refuse("file", "must hold every key once", names.most_common(1)[0][0])
    return table
