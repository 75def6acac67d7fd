"""The text of CSV files that are compressed: block by block, so that memory does not grow with what is in them."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator
from typing import Any

from dplr.rows.files.beginnings import CSV, LENGTH, codec_of, kind_of

_BLOCK = 1 << 16


class _Decompressed(io.RawIOBase):
    """Bytes of a stream of Arrow; ValueError where what is compressed is damaged or cut off."""

    def __init__(self, stream: Any, path: str, codec: str) -> None:
        self._stream, self._path, self._codec = stream, path, codec

    def readable(self) -> bool:
        """Whether it can be read."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill the buffer, or as much of it as is there."""
        try:
            data = self._stream.read(len(buffer))
        except OSError as error:
            if error.errno is not None:  # of the disk, and not of what Arrow makes of the bytes
                raise
            message = f"`{self._path}` must be a whole file of {self._codec}; it is damaged or cut off. Write it anew."
            raise ValueError(message) from None
        buffer[: len(data)] = data
        return len(data)


@contextlib.contextmanager
def text_of(file: io.BufferedReader, path: str) -> Iterator[io.BufferedReader[Any]]:
    """The text of a CSV file that stands at its beginning: the file itself, or what it has inside.

    Raises
    ------
    ValueError
        What is inside is compressed again, or another kind of file.
    """
    codec = codec_of(file.read(LENGTH))
    file.seek(0)
    if codec is None:
        yield file
        return
    import pyarrow as pa

    with pa.CompressedInputStream(pa.PythonFile(file, "r"), codec) as stream:
        text = io.BufferedReader(_Decompressed(stream, path, codec), _BLOCK)
        first = text.peek(LENGTH)
        if codec_of(first) is not None or kind_of(first) != CSV:
            kind = codec_of(first) or kind_of(first)
            raise ValueError(f"`{path}` must be CSV inside {codec}; {kind} is inside. Decompress it first.")
        yield text


def text_size(path: str, most: int) -> int:
    """Bytes of the text of a CSV file, counted until they are more than `most`: a small archive may hold a lot."""
    size = 0
    with open(path, "rb") as file, text_of(file, path) as text:
        while size <= most and (data := text.read(_BLOCK)):
            size += len(data)
    return size
