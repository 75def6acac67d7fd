"""Records of a fit while it runs, so that another process goes on with it: ledger/resuming.md, section 5."""

from __future__ import annotations

import dataclasses
import enum
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dplr._kit.validation import sentence


class Recorder(Protocol):
    """Records (key, payload) of one fit. Where it can write no more, the fit goes on, and cannot be resumed."""

    def get(self, key: str) -> bytes | None:
        """The record under that key, of this process or one before; None where there is none."""
        ...

    def record(self, key: str, payload: bytes) -> None:
        """Write it down for good before this returns; each key once."""
        ...

    @property
    def begun(self) -> bool:
        """Whether noise of this fit is recorded, or is about to be."""
        ...

    def begin(self) -> None:
        """Say, before the first noise that is recorded, which driver draws it; once."""
        ...

    def end(self) -> None:
        """Remove all that was recorded, for good before this returns, and record nothing more."""
        ...

    def close(self) -> None:
        """Leave what is recorded to whoever goes on with the fit."""
        ...


_DRAW, _SUM = "draw ", "sum "


def draw_key(number: int) -> str:
    """The key of the record that the noise with this number is about to be drawn."""
    return f"{_DRAW}{number}"


def sum_key(number: int) -> str:
    """The key of the record of a sum with the noise of this number."""
    return f"{_SUM}{number}"


def sum_of_draw(key: str) -> str | None:
    """The key of the sum whose noise this key announces; None for keys of other records."""
    return _SUM + key.removeprefix(_DRAW) if key.startswith(_DRAW) else None


def numbers_as_bytes(about: str, values: NDArray[Any]) -> bytes:
    """Whole numbers of any size, and what they are about."""
    kind = "object" if values.dtype == object else "int64"
    record = {"about": about, "kind": kind, "shape": values.shape, "values": [int(number) for number in values.ravel()]}
    return json.dumps(record).encode()


def numbers_of(data: bytes, about: str) -> NDArray[Any]:
    """The whole numbers, bit for bit; ValueError where they are about something else."""
    record = json.loads(data)
    if record["about"] != about:
        remedy = "Resume with the parameters of the first run."
        raise ValueError(sentence("journal", "must be of the fit that is resumed", "noise about other sums", remedy))
    return np.array(record["values"], object if record["kind"] == "object" else np.int64).reshape(record["shape"])


def digest(*values: Any) -> str:
    """A hash of public facts that is the same in every process; TypeError for a kind of value that is not known."""
    hasher = hashlib.sha256()
    for token in _tokens(values):
        hasher.update(len(token).to_bytes(8, "little") + token)
    return hasher.hexdigest()


def _tokens(value: Any) -> Iterator[bytes]:
    """The value in pieces whose order and lengths tell it from all others."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, (bool, int, float, str, bytes)):
        yield f"{type(value).__name__} {value!r}".encode()
    elif isinstance(value, enum.Enum):
        yield f"{type(value).__name__}.{value.name}".encode()
    elif isinstance(value, np.ndarray) and value.dtype != object:
        yield f"array {value.dtype.str} {value.shape}".encode()
        yield value.tobytes()
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = dataclasses.fields(value)
        yield f"{type(value).__qualname__} {len(fields)}".encode()
        for field in fields:
            yield field.name.encode()
            yield from _tokens(getattr(value, field.name))
    elif isinstance(value, Mapping):
        yield f"mapping {len(value)}".encode()
        for pair in value.items():
            yield from _tokens(pair)
    elif isinstance(value, (Sequence, np.ndarray)):
        yield f"sequence {len(value)}".encode()
        for item in value:
            yield from _tokens(item)
    else:
        raise TypeError(f"no facts are known of a {type(value).__name__}")
