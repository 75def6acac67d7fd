"""Files without a name, which hold rows while a fit runs and leave a share of the disk to other programs.

Such a file is not in any folder: the system frees it when the process ends, however it ends. It is as private as the
rows, and not encrypted.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import tempfile
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

# Of the free space of a disk, this share is left to other programs.
_RESERVED_SHARE = 0.2


class Spill:
    """A file without a name; a write into the share of other programs raises OSError, as on a full disk.

    Parameters
    ----------
    folder : where it lies; OSError where there is no such folder, or no file can be made in it.
    """

    def __init__(self, folder: str) -> None:
        self._folder, self._file = folder, nameless(folder)
        self._least = _RESERVED_SHARE * shutil.disk_usage(folder).free

    @property
    def closed(self) -> bool:
        """Whether nothing can be written."""
        return self._file.closed

    def write(self, data: Any) -> int:
        """Append these bytes."""
        if shutil.disk_usage(self._folder).free - memoryview(data).nbytes < self._least:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return self._file.write(data)

    def tell(self) -> int:
        """The number of bytes that were written."""
        return self._file.tell()

    def mapped(self, kind: Any = np.uint8) -> NDArray[Any]:
        """All that was written as an array, which outlives the file; ValueError where that is nothing."""
        self._file.flush()
        return np.asarray(np.memmap(self._file, kind, "r"))

    def close(self) -> None:
        """Close the file, and ignore data that a full disk did not take."""
        with contextlib.suppress(OSError):
            self._file.close()


def has_room(folder: str, size: int) -> bool:
    """Whether a file of that size leaves others their share of the disk; OSError where there is no such folder."""
    return size <= (1 - _RESERVED_SHARE) * shutil.disk_usage(folder).free


def nameless(folder: str) -> IO[bytes]:
    """A file that is gone when it is closed, or when the process ends."""
    return tempfile.TemporaryFile(dir=folder, prefix="dplr-")


def mapped_zeros(folder: str, n: int) -> NDArray[np.float64]:
    """Zeros (n,) in a mapped file without a name; in memory where the disk has no room, or cannot say that it has."""
    with contextlib.suppress(OSError, AttributeError), nameless(folder) as file:
        os.posix_fallocate(file.fileno(), 0, 8 * max(n, 1))  # a page that the disk cannot hold would end the process
        return np.asarray(np.memmap(file, np.float64, "r+", shape=(n,)))
    return np.zeros(n)
