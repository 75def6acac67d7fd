"""Files that appear whole or not at all."""

from __future__ import annotations

import contextlib
import os
import secrets


def write_whole(target: str, data: bytes) -> None:
    """Into a file beside the target, onto the disk, then in its place: a crash leaves the old file or the new one."""
    folder = os.path.dirname(target)
    beside = os.path.join(folder, f".{os.path.basename(target)[:50]}.{secrets.token_hex(8)}.tmp")
    try:
        with open(beside, "xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(beside)
        raise
    if hasattr(os, "O_DIRECTORY"):
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
