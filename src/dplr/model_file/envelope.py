"""The form of all files of released numbers: a format with a version, a hash, and writes that replace nothing else.

A file is JSON with a head of format, version and hash, and one table of fields, one line each.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from dplr._kit.files import checked_name
from dplr._kit.validation import sentence
from dplr.model_file.readers import table
from dplr.model_file.strict_json import MOST_BYTES, canonical, digest, parse, refuse


@dataclass(frozen=True, slots=True)
class Envelope:
    """A format of files.

    Attributes
    ----------
    format, version : what a file of it begins with.
    body : the key of its fields.
    called : what errors call it.
    """

    format: str
    version: int
    body: str
    called: str

    def text(self, values: dict[str, Any]) -> bytes:
        """The file of these fields, one line each, so that people can look at it; ends with a newline."""
        fields = [f"    {json.dumps(name)}: {json.dumps(value, allow_nan=False)}" for name, value in values.items()]
        body = "{\n" + ",\n".join(fields) + "\n  }"
        head = {"format": self.format, "version": self.version, "sha256": digest(values)}
        lines = [f"  {json.dumps(name)}: {json.dumps(value)}" for name, value in head.items()]
        return ("{\n" + ",\n".join([*lines, f"  {json.dumps(self.body)}: {body}"]) + "\n}\n").encode("ascii")

    def fields(self, data: bytes) -> tuple[Any, bytes]:
        """The table of fields and its canonical text: format and version are checked first, then the hash."""
        values = parse(data)
        kind = values.get("format") if isinstance(values, dict) else None
        if kind != self.format:
            refuse("format", f'must be "{self.format}"', kind, f"This is not a {self.called}.")
        version = values.get("version")
        if type(version) is not int or version < 1:
            refuse("version", "must be a positive integer", version)
        if version > self.version:
            refuse("version", f"must be at most {self.version}", version, "The file is of a newer dplr: upgrade.")
        keys = ("format", "version", "sha256", self.body)
        content = table(dict.fromkeys(keys, lambda _, value: value))("file", values)
        try:
            text = canonical(content[self.body])
            checksum = digest(content[self.body])
        except (RecursionError, ValueError):
            refuse(self.body, "must be a table of finite numbers and text", "brackets in brackets without end")
        if content["sha256"] != checksum:
            remedy = "The file was damaged, or changed by hand: get it anew."
            refuse("sha256", f"must be that of the {self.body}, {checksum[:12]}...", content["sha256"], remedy)
        return content[self.body], text

    def begins(self, data: bytes) -> bool:
        """Whether a file starts as one of this format."""
        return re.match(rb'\s*\{\s*"format"\s*:\s*"' + self.format.encode() + b'"', data) is not None

    def check_replaceable(self, target: str) -> None:
        """A file of this format and an empty file may be replaced; nothing else, such as the data or the ledger."""
        try:
            with _opened(target) as descriptor:
                start = os.read(descriptor, 256)
        except FileNotFoundError:
            return
        except ValueError:
            start = b"no regular file"
        if start and not self.begins(start):
            rule = f"must name a new file or a {self.called}"
            raise FileExistsError(sentence("path", rule, target, "Choose another name."))


def read_bytes(path: str | os.PathLike[str]) -> bytes:
    """The bytes of a file, its size checked before."""
    with _opened(path) as descriptor:
        size = os.fstat(descriptor).st_size
        if size > MOST_BYTES:
            refuse("file", f"must have at most {MOST_BYTES >> 20} MiB", f"{size} bytes")
        with open(descriptor, "rb", closefd=False) as file:
            return file.read(size)


@contextlib.contextmanager
def _opened(path: str | os.PathLike[str]) -> Iterator[int]:
    """The descriptor of a regular file; a pipe, a device or a folder is refused without waiting."""
    name = checked_name("path", path)
    try:
        descriptor = os.open(name, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except FileNotFoundError:
        remedy = "Check the name, and the folder that it is in."
        raise FileNotFoundError(sentence("path", "must name a file that exists", name, remedy)) from None
    try:
        mode = os.fstat(descriptor).st_mode
        if not stat.S_ISREG(mode):
            refuse("file", "must be a regular file", stat.filemode(mode))
        yield descriptor
    finally:
        os.close(descriptor)
