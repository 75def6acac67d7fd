"""Kinds of files, by their first bytes and never by their names."""

from __future__ import annotations

CSV, PARQUET, SPSS, STATA = "CSV", "Parquet", "SPSS", "Stata"
_MAGIC = ((b"PAR1", PARQUET), (b"$FL2", SPSS), (b"$FL3", SPSS), (b"<stata_dta>", STATA))
_RELEASES = (105, 108, 110, 111, 113, 114, 115)  # of Stata, before its files had a name in them
_CODECS = ((b"\x1f\x8b", "gzip"), (b"\x28\xb5\x2f\xfd", "zstd"))
LENGTH = 11  # bytes that tell


def file_kind(path: str) -> str:
    """The kind of a file; OSError where it cannot be read."""
    return kind_of(_beginning(path))


def kind_of(first: bytes) -> str:
    """The kind of a file that begins so. Whatever is not one of the others must be CSV."""
    for magic, kind in _MAGIC:
        if first.startswith(magic):
            return kind
    # The release, the order of bytes, then one and zero: no text begins so.
    old = len(first) >= 4 and first[0] in _RELEASES and first[1] in (1, 2) and first[2:4] == b"\x01\x00"
    return STATA if old else CSV


def file_codec(path: str) -> str | None:
    """The codec by which a file is compressed; None for a file that is not."""
    return codec_of(_beginning(path))


def codec_of(first: bytes) -> str | None:
    """The codec of a file that begins so."""
    return next((codec for magic, codec in _CODECS if first.startswith(magic)), None)


def _beginning(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read(LENGTH)
