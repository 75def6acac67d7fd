"""Encodings of CSV files: none that is taken lets one record change how another is read."""

import codecs
import encodings
import itertools
import pkgutil

import pytest

from dplr.rows.files.kinds import AS_WRITTEN, Format
from dplr.rows.files.whole import read_table

KNOWN = sorted({module.name for module in pkgutil.iter_modules(encodings.__path__)} - {"aliases", "mbcs", "oem"})


def refusal(name):
    """What is said of an encoding; empty where it is taken."""
    try:
        Format(name)
    except ValueError as error:
        return str(error)
    return ""


def accepted(name):
    return not refusal(name)


def alone(byte, name):
    """What a byte means, or None for nothing."""
    try:
        return bytes([byte]).decode(name)
    except UnicodeDecodeError:
        return None


@pytest.mark.parametrize("name", [name for name in KNOWN if accepted(name) and not name.startswith("utf")])
def test_in_every_other_encoding_that_is_taken_each_byte_is_read_by_itself(name):
    """After every byte the next one means what it means alone; so it does after any bytes, as nothing is kept."""
    meanings = [alone(byte, name) for byte in range(256)]
    assert {len(text) for text in meanings if text is not None} == {1}
    decoder = codecs.getincrementaldecoder(name)()
    start = decoder.getstate()
    for first, second in itertools.product((byte for byte in range(256) if meanings[byte] is not None), repeat=2):
        assert bytes([first, second]).decode(name) == meanings[first] + meanings[second]
    for byte in range(256):
        if meanings[byte] is not None:
            assert decoder.decode(bytes([byte])) == meanings[byte]
            assert decoder.getstate() == start


@pytest.mark.parametrize("name", [name for name in KNOWN if accepted(name)])
def test_one_record_never_changes_how_another_is_read(tmp_path, name):
    """A record with an open escape, half a character, or half a unit; the file is read alike elsewhere, or refused."""
    head, tail, taken = "name\n".encode(name), "\nBo\nQQQQ\n".encode(name), []
    for record in (b"\x1b$B", b"\x0e", b"~{", b"+AGE", b"\\", b"\xff\xfe", b"\x81", b"\xe3\x81", b"x"):
        path = tmp_path / "people.csv"
        path.write_bytes(head + record + tail)
        try:
            names = read_table(path, {"name": AS_WRITTEN}, Format(name))["name"].to_pylist()
        except ValueError:
            continue
        taken.append(record)
        assert names[1:] == ["Bo", "QQQQ"], record
    assert b"x" in taken


STATEFUL = ("iso2022_jp", "iso2022_kr", "hz", "utf-7", "punycode", "idna", "unicode_escape")
OF_MORE_BYTES = ("utf-16", "utf-32-le", "gbk", "shift_jis", "johab", "euc_jp")
NONE = ("rot13", "zip", "base64", "undefined", "charmap", "klingon", "", "a\0b")


@pytest.mark.parametrize("name", [*STATEFUL, *OF_MORE_BYTES, *NONE])
def test_encodings_with_a_state_or_of_more_bytes_and_what_is_no_encoding_are_refused(name):
    said = refusal(name)
    assert said.startswith("`encoding` must be UTF-8, or one in which every byte is a character by itself")
    assert said.endswith("Convert the file to UTF-8 first, such as with iconv.")


@pytest.mark.parametrize(
    "name", ["utf-8", "UTF8", "utf-8-sig", "ascii", "latin-1", "cp1252", "windows-1251", "koi8_r", "IBM037"]
)
def test_usual_encodings_are_taken_under_every_name(name):
    assert accepted(name)
