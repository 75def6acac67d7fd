"""Kinds of the columns of a CSV file, and its format."""

from __future__ import annotations

import codecs
from dataclasses import dataclass

from dplr._kit.validation import sentence

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


@dataclass(frozen=True, slots=True)
class Kind:
    """The kind of the fields of a CSV column.

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


@dataclass(frozen=True, slots=True)
class Format:
    """How a CSV file is written."""

    encoding: str = "utf-8"
    delimiter: str = ","
    spellings: tuple[str, ...] = ()
    decimal: str = "."

    def __post_init__(self) -> None:
        """Refuse impossible signs, and encodings in which one record may change how another is read."""
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
        """Whether it is UTF-8."""
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
