"""Sums as bytes, as a worker sends them to the driver: a line of JSON, then raw little-endian arrays.

Nothing is unpickled: whoever can answer for a worker can send wrong numbers, and nothing else.
"""

from __future__ import annotations

import io
import json
import math
import sys
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplr.rows.exact import Faults, Total
from dplr.rows.losses import LossGradient, RealTotal

AnyTotal = Total | RealTotal
_LONGEST_HEADER = 2**20
# The answer of parts without rows.
NOTHING = b'{"totals": []}\n'


class WorkerFault(ValueError):
    """A part could not be summed where it lies. Its text names the part and a kind of fault, and quotes no value."""


class _CutOff(ValueError):
    """An answer ends before its last array."""


def dump(totals: Sequence[AnyTotal]) -> bytes:
    header = json.dumps({"totals": [_header(total) for total in totals]}).encode()
    arrays = [array for total in totals for array in _arrays(total)]
    return header + b"\n" + b"".join(np.ascontiguousarray(a, a.dtype.newbyteorder("<")).tobytes() for a in arrays)


def dump_fault(kind: str, part: str) -> bytes:
    """The answer of a worker that could not sum its part."""
    return json.dumps({"fault": kind, "part": part}).encode() + b"\n"


def load(data: bytes) -> list[AnyTotal]:
    """The totals that `dump` wrote; raises WorkerFault for a fault, and ValueError for what is not an answer."""
    if not isinstance(data, bytes):
        raise ValueError(f"a worker's answer must be bytes; got {type(data).__name__}.")
    line, newline, _ = data[:_LONGEST_HEADER].partition(b"\n")
    if not newline:
        raise ValueError("a worker's answer has no header; is another version of dplr installed there?")
    body = io.BytesIO(data[len(line) + 1 :])
    try:
        header = json.loads(line)
        fault = header.get("fault")
        totals = [] if fault is not None else [_total(entry, body) for entry in header["totals"]]
    except (LookupError, TypeError, AttributeError, OverflowError, RecursionError, ValueError) as error:
        reason = "it is cut off" if isinstance(error, _CutOff) else "its header cannot be read"
        raise ValueError(f"a worker's answer was not written by this version of dplr: {reason}.") from None
    if fault is not None:
        raise WorkerFault(f"{_shown(header.get('part'))} could not be summed: {_shown(fault)}.")
    if body.read(1):
        raise ValueError("a worker's answer is longer than it says.")
    return totals


def check(total: AnyTotal, query: Any) -> None:
    """Refuse a total that is not of the query, or that holds an infinity or a NaN."""
    if isinstance(total, RealTotal):
        size = query.d + query.intercept
        is_asked = isinstance(query, LossGradient) and total.hi.shape == (size + 1,)
        is_asked = is_asked and total.has_loss == query.with_loss and (total.upper is not None) == query.with_hessian
        is_asked = is_asked and all(bool(np.isfinite(array).all()) for array in _arrays(total))
    else:
        is_asked = total.hi.shape == query.shape and total.exponent == getattr(query, "exponent", None)
    counts = (*total.faults[:3], *total.faults.outside, *total.faults.marks)
    if not is_asked or min(counts) < 0 or len(total.faults.outside) != query.d + 1:
        raise ValueError(
            "a worker answered another question than was asked: is another version of dplr installed there?"
        )


def _shown(text: Any) -> str:
    """Text of a worker for an error, with characters escaped that are not printable and could steer a terminal."""
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in str(text)[:200])


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


def _total(header: dict[str, Any], body: io.BytesIO) -> AnyTotal:
    def array(shape: tuple[int, ...], kind: str) -> NDArray[Any]:
        size = math.prod(shape) * 8
        if min(shape, default=0) < 0:
            raise ValueError
        part = body.read(min(size, sys.maxsize))
        if len(part) < size:
            raise _CutOff
        return np.frombuffer(part, kind).reshape(shape).astype(kind[1:])  # in the byte order of this machine

    shape = tuple(int(size) for size in header["shape"])
    rows, non_finite, unknown, outside, marks = header["faults"]
    faults = Faults(int(rows), int(non_finite), int(unknown), tuple(map(int, outside)), tuple(map(int, marks)))
    if header["kind"] == "exact":
        return Total(array(shape, "<i8"), array(shape, "<i8"), int(header["exponent"]), faults)
    if header["kind"] != "float":
        raise ValueError
    hi, lo, size = array(shape, "<f8"), array(shape, "<f8"), shape[0] - 1
    upper = array((size, size), "<f8") if header["hessian"] else None
    return RealTotal(hi, lo, upper, bool(header["has_loss"]), faults)
