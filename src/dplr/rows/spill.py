"""Files without a name, which hold rows while a fit runs and leave a share of the disk to other programs.

Such a file is not in any folder: the system frees it when the process ends, however it ends. It is as private as the
rows, and not encrypted.
"""

from __future__ import annotations

import contextlib
import errno
import math
import os
import shutil
import tempfile
import threading
from collections.abc import Sequence
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

# Of the free space of a disk, this share is left to other programs.
_RESERVED_SHARE = 0.2


class Spill:
    """A file without a name; a write into the share of other programs raises OSError, as on a full disk."""

    def __init__(self, folder: str) -> None:
        self._folder, self._file = folder, nameless(folder)
        self._least = _RESERVED_SHARE * shutil.disk_usage(folder).free

    @property
    def closed(self) -> bool:
        return self._file.closed

    def write(self, data: Any) -> int:
        if shutil.disk_usage(self._folder).free - memoryview(data).nbytes < self._least:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return self._file.write(data)

    def mapped(self, kind: Any = np.uint8) -> NDArray[Any]:
        """All that was written as an array, which outlives the file; ValueError where that is nothing."""
        self._file.flush()
        return np.asarray(np.memmap(self._file, kind, "r"))

    def close(self) -> None:
        """Close the file, and ignore data that a full disk did not take."""
        with contextlib.suppress(OSError):
            self._file.close()


class SpilledRows:
    """Arrays of rows, each in a file of its own; several threads may add to them.

    `kinds` and `shapes` are those of a row. OSError where there is no such folder, or no room for that many rows; and
    later, where the disk is full after all.
    """

    def __init__(self, folder: str, kinds: Sequence[str], shapes: Sequence[tuple[int, ...]], rows: int) -> None:
        row_bytes = sum(np.dtype(kind).itemsize * math.prod(shape) for kind, shape in zip(kinds, shapes, strict=True))
        if rows * row_bytes > (1 - _RESERVED_SHARE) * shutil.disk_usage(folder).free:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self._kinds, self._shapes, self._rows, self._lock = kinds, shapes, 0, threading.Lock()
        self._files = [Spill(folder) for _ in kinds]

    def add(self, arrays: Sequence[NDArray[Any]]) -> slice:
        """Append some rows; returns their place."""
        written = [np.ascontiguousarray(array, kind).data for array, kind in zip(arrays, self._kinds, strict=True)]
        with self._lock:
            for file, data in zip(self._files, written, strict=True):
                file.write(data)
            self._rows += len(arrays[0])
            return slice(self._rows - len(arrays[0]), self._rows)

    def arrays(self) -> list[NDArray[Any]]:
        """All rows, mapped; the arrays outlive the files. ValueError where there is no row."""
        maps = zip(self._files, self._kinds, self._shapes, strict=True)
        return [file.mapped(kind).reshape(self._rows, *shape) for file, kind, shape in maps]

    def close(self) -> None:
        for file in self._files:
            file.close()


def nameless(folder: str) -> IO[bytes]:
    """A file that is gone when it is closed, or when the process ends."""
    return tempfile.TemporaryFile(dir=folder, prefix="dplr-")


def mapped_zeros(folder: str, n: int) -> NDArray[np.float64]:
    """Zeros (n,) in a mapped file without a name; in memory where the disk has no room, or cannot say that it has."""
    with contextlib.suppress(OSError, AttributeError), nameless(folder) as file:
        os.posix_fallocate(file.fileno(), 0, 8 * max(n, 1))  # a page that the disk cannot hold would end the process
        return np.asarray(np.memmap(file, np.float64, "r+", shape=(n,)))
    return np.zeros(n)
