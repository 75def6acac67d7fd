"""What public facts say of files: the kind of a file by its first bytes, what a column holds, how a CSV is written.

No value decides the type of another one, and no name that of a file.
"""

from __future__ import annotations

import codecs
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dplr._kit.validation import sentence

if TYPE_CHECKING:
    from dplr.bounds.declared import Bounds

CSV, PARQUET, SPSS, STATA = "CSV", "Parquet", "SPSS", "Stata"
BEGINNING = 11  # bytes that tell
_MAGIC = {b"PAR1": PARQUET, b"$FL2": SPSS, b"$FL3": SPSS, b"<stata_dta>": STATA}
_RELEASES = (105, 108, 110, 111, 113, 114, 115)  # of Stata, before its files had a name in them
_CODECS = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}

# Encodings in which every byte is a character by itself. In others a record that ends in the middle of a character, or
# in an escape that is still open, may change how the next one is read.
_PAGES = (
    *(37, 273, 424, 437, 500, 720, 737, 775, 850, 852, 855, 856, 857, 858, 860, 861, 862, 863, 864, 865, 866, 869),
    *(874, 875, 1006, 1026, 1125, 1140, *range(1250, 1259)),
)
_MAC = ("arabic", "croatian", "cyrillic", "farsi", "greek", "iceland", "latin2", "roman", "romanian", "turkish")
_SINGLE_BYTE = {
    *("ascii", "hp-roman8", "koi8-r", "koi8-t", "koi8-u", "kz1048", "palmos", "ptcp154", "tis-620"),
    *(f"cp{page:03}" for page in _PAGES),
    *(f"iso8859-{part}" for part in range(1, 17) if part != 12),
    *(f"mac-{script}" for script in _MAC),
}
_UTF_8 = ("utf-8", "utf-8-sig")  # a damaged character is an error; the byte order mark is before the header


def beginning_of(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read(BEGINNING)


def file_kind(path: str) -> str:
    return kind_of(beginning_of(path))


def kind_of(first: bytes) -> str:
    """The kind of a file that begins so. Whatever is not one of the others must be CSV."""
    for magic, kind in _MAGIC.items():
        if first.startswith(magic):
            return kind
    # The release, the order of bytes, then one and zero: no text begins so.
    old = len(first) >= 4 and first[0] in _RELEASES and first[1] in (1, 2) and first[2:4] == b"\x01\x00"
    return STATA if old else CSV


def codec_of(first: bytes) -> str | None:
    """The codec by which a file that begins so is compressed; None for none."""
    return next((codec for magic, codec in _CODECS.items() if first.startswith(magic)), None)


@dataclass(frozen=True, slots=True)
class Kind:
    """What the fields of a column are.

    Attributes
    ----------
    text : whether they stay as they are written; else they are numbers.
    empty : whether an empty field is missing.
    replaced : whether the bounds say what a missing value counts as.
    copied : whether they are text that never counts as missing, whatever the spellings of missing values.
    """

    text: bool
    empty: bool = True
    replaced: bool = False
    copied: bool = False


DECIMALS = (".", ",")
NUMBER, AS_WRITTEN = Kind(text=False), Kind(text=True, empty=False, copied=True)


def feature_kinds(bounds: Bounds) -> dict[str, Kind]:
    """The kind of each declared column."""
    from dplr.bounds.columns import Levels

    if bounds.names is None:
        remedy = "Write a table [features.NAME] for each: in files names find the columns."
        raise ValueError(sentence("bounds", "must name the columns", "columns by position", remedy))
    kinds = {}
    for name, column in zip(bounds.names, bounds.columns, strict=True):
        levels = column.values if isinstance(column, Levels) else ()
        text = bool(levels) and isinstance(levels[0], str)
        kinds[name] = Kind(text, "" not in levels, column.missing is not None)
    return kinds


def target_kind(bounds: Bounds, classifier: bool) -> Kind:
    """The kind of the target; a classifier's must be declared."""
    if not classifier:
        bounds.target_pair()  # raises for a target of labels
        return NUMBER
    classes = bounds.target_classes()
    if classes is None:
        remedy = "Add a table [target] with classes or a threshold: labels are never read from the private rows."
        raise ValueError(sentence("bounds", "must declare the target of a classifier", None, remedy))
    return Kind(isinstance(classes[0], str), "" not in classes)


@dataclass(frozen=True, slots=True)
class Format:
    """How a CSV file is written; ValueError for encodings in which one record may change how another is read."""

    encoding: str = "utf-8"
    delimiter: str = ","
    spellings: tuple[str, ...] = ()
    decimal: str = "."

    def __post_init__(self) -> None:
        if _codec(self.encoding) not in (*_UTF_8, *_SINGLE_BYTE):
            rule = "must be UTF-8, or one in which every byte is a character by itself, such as latin-1"
            remedy = "Convert the file to UTF-8 first, such as with iconv."
            raise ValueError(sentence("encoding", rule, self.encoding, remedy))
        if len(self.delimiter) != 1 or not self.delimiter.isascii() or self.delimiter in '"\r\n':
            raise ValueError(sentence("delimiter", "must be one character", self.delimiter))
        if self.decimal not in DECIMALS:
            raise ValueError(sentence("decimal", "must be a full stop or a comma", self.decimal))
        if self.decimal == self.delimiter:
            remedy = "Files with decimal commas mostly have semicolons: --delimiter ';'."
            raise ValueError(sentence("decimal", "must differ from the delimiter", self.decimal, remedy))

    @property
    def unicode(self) -> bool:
        return _codec(self.encoding) in _UTF_8

    def refusal(self, path: str) -> ValueError:
        """The error for a file in another encoding."""
        rule = f"must be Parquet, SPSS, Stata, or CSV in {self.encoding}; it is none of them"
        return ValueError(f"`{path}` {rule}. Is it in another --encoding?")


def _codec(name: str) -> str:
    """Python's name of an encoding; empty for one that Python does not know."""
    try:
        return codecs.lookup(name).name
    except (LookupError, ValueError):  # a name with a zero byte
        return ""
