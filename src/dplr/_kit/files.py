"""Files that appear whole or not at all, and what the disk has confirmed.

Every file whose loss would cost a budget or a release is synced here, by what each system offers.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
from typing import Any

from dplr._kit.validation import sentence

try:
    import fcntl
except ImportError:  # not on Windows
    fcntl = None  # type: ignore[assignment]

# What a file system answers that has no full sync: plain fsync is then the most that it offers.
_NO_FULL_SYNC = frozenset({errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOTTY, errno.ENODEV})


def checked_name(parameter: str, path: Any) -> str:
    """The path as text; refused where no file can have that name."""
    if not isinstance(path, str | os.PathLike):
        raise TypeError(sentence(parameter, "must be a path", path))
    text = os.fspath(path)
    try:
        if not isinstance(text, str) or not os.fsencode(text) or "\0" in text:
            raise ValueError
    except ValueError:  # UnicodeEncodeError is one
        raise ValueError(sentence(parameter, "must be the name of a file", text)) from None
    return text


def write_whole(target: str, data: bytes) -> None:
    """Into a file beside the target, onto the disk, then in its place: a crash leaves the old file or the new one."""
    folder = os.path.dirname(target)
    beside = os.path.join(folder, f".{os.path.basename(target)[:50]}.{secrets.token_hex(8)}.tmp")
    try:
        with open(beside, "xb") as file:
            file.write(data)
            file.flush()
            sync(file.fileno())
        os.replace(beside, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(beside)
        raise
    sync_folder(folder)


def sync(descriptor: int) -> None:
    """Return when the disk has confirmed a file. On macOS fsync ends in the cache of the drive."""
    full = getattr(fcntl, "F_FULLFSYNC", None)
    if full is not None:
        try:
            fcntl.fcntl(descriptor, full)
            return
        except OSError as error:
            if error.errno not in _NO_FULL_SYNC:
                raise
    os.fsync(descriptor)


def sync_folder(folder: str) -> None:
    """Return when the disk has confirmed the names in a folder; "" is the current one.

    Windows opens no folders, and its file system logs names itself.
    """
    if not hasattr(os, "O_DIRECTORY"):
        return
    descriptor = os.open(folder or ".", os.O_RDONLY | os.O_DIRECTORY)
    try:
        sync(descriptor)
    finally:
        os.close(descriptor)
