"""Sums as bytes, on their way from a worker to the driver: a line of JSON, then raw little-endian arrays.

Nothing is unpickled: whoever can answer for a worker can send wrong numbers, and nothing else.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplr.rows.queries.losses import RealTotal
from dplr.rows.queries.totals import Faults, Total

AnyTotal = Total | RealTotal
_LONGEST_HEADER = 2**20


class WorkerFault(ValueError):
    """A part could not be summed where it lies. Its text names the part and a kind of fault, and quotes no value."""


def dump(totals: Sequence[AnyTotal]) -> bytes:
    """Totals as bytes."""
    arrays = [array for total in totals for array in _arrays(total)]
    header = {"totals": [_header(total) for total in totals]}
    return json.dumps(header).encode() + b"\n" + b"".join(_bytes(array) for array in arrays)


def dump_fault(kind: str, part: str) -> bytes:
    """What a worker answers that could not sum its part."""
    return json.dumps({"fault": kind, "part": part}).encode() + b"\n"


def load(data: bytes) -> list[AnyTotal]:
    """The totals that `dump` wrote; raises WorkerFault for a fault, and ValueError for what is no answer."""
    line, newline, body = bytes(data[:_LONGEST_HEADER]).partition(b"\n")
    if not newline:
        raise ValueError("a worker's answer has no header; is another version of dplr installed there?")
    header = json.loads(line)
    if "fault" in header:
        raise WorkerFault(f"part {header['part']} could not be summed: {header['fault']}.")
    body = data[len(line) + 1 :]
    numbers = _Numbers(body)
    totals = [_total(each, numbers) for each in header["totals"]]
    numbers.check_end()
    return totals


def _header(total: AnyTotal) -> dict[str, Any]:
    common = {"shape": list(total.hi.shape), "faults": [*total.faults]}
    if isinstance(total, Total):
        return {"kind": "exact", "exponent": total.exponent, **common}
    return {"kind": "float", "hessian": total.upper is not None, "has_loss": total.has_loss, **common}


def _arrays(total: AnyTotal) -> Iterator[NDArray[Any]]:
    yield total.hi
    yield total.lo
    if isinstance(total, RealTotal) and total.upper is not None:
        yield total.upper


def _bytes(array: NDArray[Any]) -> bytes:
    return np.ascontiguousarray(array, array.dtype.newbyteorder("<")).tobytes()


def _total(header: dict[str, Any], numbers: _Numbers) -> AnyTotal:
    shape = tuple(int(size) for size in header["shape"])
    rows, non_finite, unknown, outside, marks = header["faults"]
    faults = Faults(int(rows), int(non_finite), int(unknown), tuple(map(int, outside)), tuple(map(int, marks)))
    if header["kind"] == "exact":
        hi, lo = numbers.take(shape, "<i8"), numbers.take(shape, "<i8")
        return Total(hi, lo, int(header["exponent"]), faults)
    hi, lo = numbers.take(shape, "<f8"), numbers.take(shape, "<f8")
    size = shape[0] - 1
    upper = numbers.take((size, size), "<f8") if header["hessian"] else None
    return RealTotal(hi, lo, upper, bool(header["has_loss"]), faults)


class _Numbers:
    """Arrays one after another."""

    def __init__(self, body: bytes) -> None:
        self._body, self._place = body, 0

    def take(self, shape: tuple[int, ...], kind: str) -> NDArray[Any]:
        """The next array, in the byte order of this machine."""
        size = int(np.prod(shape)) * 8
        part = self._body[self._place : self._place + size]
        if len(part) < size:
            raise ValueError("a worker's answer is cut off.")
        self._place += size
        return np.frombuffer(part, kind).reshape(shape).astype(kind[1:])

    def check_end(self) -> None:
        """Refuse what is longer than its header says."""
        if self._place != len(self._body):
            raise ValueError("a worker's answer is longer than it says.")
