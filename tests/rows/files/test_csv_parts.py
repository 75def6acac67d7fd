"""Parts of CSV files: the same rows and the same refusals whatever the blocks, in bounded memory."""

import csv
import io
import os
import pathlib
import pickle
import re
import struct
import subprocess
import sys
import warnings

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import plain_csv
from dplr import DataWarning
from dplr.rows.files import csv as csv_file
from dplr.rows.files.csv import csv_parts
from dplr.rows.files.kinds import AS_WRITTEN, NUMBER, Format, Kind
from dplr.rows.files.part import declared_schema

REPLACED, TEXT, LEVELS = Kind(False, replaced=True), Kind(True), Kind(True, empty=False)
KINDS = (REPLACED, NUMBER, TEXT, LEVELS, AS_WRITTEN)
FIELDS = ["1", "2.5", "", '"3"', "x", '"a,b"', '"a\nb"', '"q""q"', "True", " 4 ", "?", "é", "\ufeff5", "nan", "-inf"]
FIELDS += ["1e400", "+7", "nan(1)", "0x10", '"\r"', '"\r\n"', " ?", " 99", "99", "𝄞", '""', "\0"]
SCRAPS = ['"', '""', ",", "\n", "\r\n", "\r", "1", "x", " ", "", '"1"', "\u2028", "\x85", "\x0b"]
many = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=200)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "people.csv"


def table(path, kinds, size=1 << 21, form=None):
    (part,) = csv_parts(str(path), kinds, form or Format(), size)
    return pa.Table.from_batches(list(part.batches()), declared_schema(kinds))


def outcome(path, kinds, size=1 << 21, form=None):
    """What is read, or what is said of it, and the warnings."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            found = table(path, kinds, size, form).to_pydict()
        except ValueError as error:
            found = str(error)
    return found, [str(each.message) for each in told]


@st.composite
def files(draw):
    """A file of some columns, most of its rows well written, and kinds of some of its columns."""
    names = "abc"[: draw(st.integers(1, 3))]
    cells = st.lists(st.sampled_from(FIELDS), min_size=len(names), max_size=len(names)).map(",".join)
    scraps = st.lists(st.sampled_from(SCRAPS), max_size=5).map("".join)
    rows = draw(st.lists(cells | cells | cells | scraps, max_size=6))
    end = draw(st.sampled_from(["\n", "\r\n", "\r"]))
    text = end.join([",".join(names), *rows]) + draw(st.sampled_from([end, ""]))
    data = draw(st.sampled_from([b"", b"", b"\xef\xbb\xbf"])) + text.encode()
    if draw(st.integers(0, 9)) == 0:
        place = draw(st.integers(0, len(data)))
        data = data[:place] + b"\xff" + data[place:]
    chosen = draw(st.lists(st.sampled_from(names), min_size=1, unique=True))
    return data, {name: draw(st.sampled_from(KINDS)) for name in chosen}


REASONS = {
    "encoding": "must be Parquet, SPSS, Stata, or CSV in utf-8; it is none of them",
    "quotes": "must have quotes only around whole fields",
    "fields": "fields in every row; got",
    "numbers": "must hold numbers;",
    "column": "must have a column for",
}


def plainly(data, kinds, spellings):
    """What a plain reader finds, or why it refuses the file."""
    try:
        return plain_csv.read(data, kinds, spellings=spellings)
    except plain_csv.Refused as reason:
        return str(reason), {}


@many
@given(files(), st.sampled_from([(), ("?",), ("99", "?"), (" ?",)]), st.integers(1, 64))
def test_blocks_of_any_size_read_what_a_plain_reader_reads(tmp_path, file, spellings, size):
    data, kinds = file
    path = tmp_path / "people.csv"
    path.write_bytes(data)
    found, told = outcome(path, kinds, size, Format(spellings=spellings))
    assert (repr(found), told) == (repr(outcome(path, kinds, form=Format(spellings=spellings))[0]), told)
    expected, bad = plainly(data, kinds, spellings)
    if isinstance(expected, str):
        assert isinstance(found, str)
        assert any(each in found for each in REASONS.values())
        assert expected in ("encoding", "column") or REASONS[expected] in found
        return
    assert repr(found) == repr(expected)
    wrong = [(name, rows) for name, rows in bad.items() if rows]
    assert len(told) == len(wrong)
    for message, (name, rows) in zip(told, wrong, strict=True):
        assert f"column {name!r} of `{path}` holds numbers; {len(rows)} of " in message
        assert f"the first in row {rows[0]} below the header. They count as missing" in message


@many
@given(
    st.lists(st.tuples(st.text(), st.text()), max_size=8),
    st.sampled_from([",", ";", "\t", "|", "1", " "]),
    st.sampled_from(["\n", "\r\n", "\r"]),
    st.integers(1, 64),
)
def test_text_of_the_csv_module_comes_back_as_it_was(tmp_path, rows, delimiter, end, size):
    path = tmp_path / "people.csv"
    text = io.StringIO()
    writer = csv.writer(text, delimiter=delimiter, lineterminator=end, quoting=csv.QUOTE_ALL)
    writer.writerows([("name", "job"), *rows])
    path.write_bytes(text.getvalue().encode(errors="surrogatepass"))
    found = table(path, {"job": AS_WRITTEN, "name": AS_WRITTEN}, size, Format(delimiter=delimiter))
    assert list(zip(found["name"].to_pylist(), found["job"].to_pylist(), strict=True)) == rows


@pytest.mark.parametrize("encoding", ["latin-1", "cp037", "cp1252", "utf-8-sig"])
@pytest.mark.parametrize("size", range(1, 12))
def test_encodings_are_read_in_blocks(path, encoding, size):
    text = 'name,age\r\n"é, ü",1\r\nÄ,2\r\n'
    path.write_bytes(text.encode(encoding))
    found = table(path, {"age": NUMBER, "name": TEXT}, size, Format(encoding))
    assert found.to_pydict() == {"age": [1.0, 2.0], "name": ["é, ü", "Ä"]}


def both_ways(path, form):
    """What is read of columns a and b, with the quick way for numbers and without it."""
    found = []
    for quick in (csv_file._plain_numbers, lambda *given: None):
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(csv_file, "_plain_numbers", quick)
            read, told = outcome(path, {"a": REPLACED, "b": TEXT}, form=form)
        found.append(([bits(value) for value in read["a"]], read["b"], told))
    return found


ODD = ["nan(1)", " 7", " ? ", "?", " ", "\t4", "+7", "1e400", "0x1", "1_0", "True", "\u00a05", "\u0665", "5\x1c"]
FIELD = st.text("0123456789+-.eEinfaty() x\t", max_size=8) | st.floats().map(repr) | st.sampled_from(ODD)


@many
@given(st.lists(FIELD, min_size=1, max_size=4), st.sampled_from(["?", " ?", "\t", "7", " 7", "4 "]))
def test_numbers_are_read_alike_on_the_quick_way(tmp_path, fields, spelling):
    """Without it no bit, no gap and no warning differs, also where a missing value is spelt as a number."""
    path = tmp_path / "people.csv"
    with open(path, "w", newline="", encoding="utf-8") as file:
        csv.writer(file, quoting=csv.QUOTE_ALL).writerows([("a", "b"), *((field, field) for field in fields)])
    found = both_ways(path, Format(spellings=(spelling,)))
    assert found[0] == found[1]


COMMAS = ["1,5", "1.5", "1.234,5", "1,234,5", ",5", "5,", "1,5e3", " 1,5 ", ".", ",", "-0,25", "1.", "nan(1,5)", " . "]


@many
@given(st.lists(st.text("0123456789+-.,eE ", max_size=8) | st.sampled_from(COMMAS) | FIELD, min_size=1, max_size=4),
    st.sampled_from(["?", ".", "1,5"]))  # fmt: skip
def test_decimal_commas_are_read_alike_on_both_ways_and_by_a_plain_reader(tmp_path, fields, spelling):
    path = tmp_path / "people.csv"
    with open(path, "w", newline="", encoding="utf-8") as file:
        csv.writer(file, quoting=csv.QUOTE_ALL, delimiter=";").writerows(
            [("a", "b"), *((each, each) for each in fields)]
        )
    found = both_ways(path, Format(delimiter=";", spellings=(spelling,), decimal=","))
    assert found[0] == found[1]
    kinds = {"a": REPLACED, "b": TEXT}
    expected, bad = plain_csv.read(path.read_bytes(), kinds, ";", (spelling,), ",")
    assert found[0][:2] == ([bits(value) for value in expected["a"]], expected["b"])
    assert bool(found[0][2]) == bool(bad["a"])


def test_decimal_commas_have_nothing_between_thousands(path):
    form = Format(delimiter=";", decimal=",")
    path.write_text("a;b\n1,5;x\n-2;y\n,25;z\n")
    assert table(path, {"a": NUMBER}, form=form)["a"].to_pylist() == [1.5, -2.0, 0.25]
    for field in ("1.234,5", "1.5", "1,2,3"):
        path.write_text(f"a;b\n1,5;x\n{field};y\n")
        with pytest.raises(ValueError, match=r"1 of 2 fields are something else, the first in row 2 below the header. "
            r"A number has ',' before its decimals .see --decimal., and nothing between thousands"):  # fmt: skip
            table(path, {"a": NUMBER}, form=form)
    path.write_text("a;b\n1,5;x\n")
    with pytest.raises(ValueError, match=r"A number has '.' before its decimals"):
        table(path, {"a": NUMBER}, form=Format(delimiter=";"))


def test_a_column_without_decimal_commas_leaves_the_quick_way_alone(path, monkeypatch):
    form, asked, slowly = Format(delimiter=";", decimal=","), [], csv_file._numbers
    monkeypatch.setattr(csv_file, "_numbers", lambda fields, *given: asked.append(fields) or slowly(fields, *given))
    path.write_text("a;b\n1.5;1,5\n2;2,5\n")
    found, told = outcome(path, {"a": REPLACED, "b": NUMBER}, form=form)
    assert (found, len(told)) == ({"a": [None, 2], "b": [1.5, 2.5]}, 1)
    assert [fields.to_pylist() for fields in asked] == [["1.5", "2"]]


def test_impossible_decimal_signs_are_refused():
    with pytest.raises(ValueError, match=r"`decimal` must differ from the delimiter; got ','. .* --delimiter ';'"):
        Format(decimal=",")
    with pytest.raises(ValueError, match="`decimal` must be a full stop or a comma; got '_'"):
        Format(decimal="_")


def bits(value):
    return value if value is None else struct.pack("d", value)


@pytest.mark.parametrize("text", ["1e400", "0." + "1" * 800, "9" * 400, "4.9e-324", "-0", "2.2250738585072011e-308"])
def test_numbers_of_any_length_are_those_of_python(path, text):
    path.write_text(f"a\n{text}\n")
    assert bits(table(path, {"a": NUMBER})["a"][0].as_py()) == bits(float(text))


def test_a_damaged_row_changes_no_other_row_or_the_file_is_refused(path):
    """Each scrap in place of each row: the others are read as without it, or nothing is."""
    rows = ['"a, b",1', 'c,"2"', '"d\ne",3', "f,4"]
    scraps = ['"', '""', '"x', 'x"', 'x"y,1', '"x"y,1', '"x,1', "x,1", '"x""', '"x"",2', ',"', '"\n', '"x",1', '""",1']
    kept = refused = 0
    for size in (1, 3, 8, 1 << 20):
        for place in range(len(rows)):
            for scrap in scraps:
                path.write_text("\n".join(["name,n", *rows[:place], scrap, *rows[place + 1 :]]) + "\n")
                found, _ = outcome(path, {"name": AS_WRITTEN, "n": REPLACED}, size)
                if isinstance(found, str):
                    refused += 1
                    continue
                kept += 1
                names = ["a, b", "c", "d\ne", "f"]
                assert found["name"][:place] + found["name"][place + 1 :] == names[:place] + names[place + 1 :]
    assert kept
    assert refused


@pytest.mark.parametrize("size", [1, 3, 64, 1 << 20])
def test_a_mark_of_utf_8_is_taken_away_before_the_header_alone(path, size):
    path.write_text("\ufeffa,b\n\ufeffx,1\n\ufeffy,2\n")
    assert table(path, {"a": AS_WRITTEN}, size)["a"].to_pylist() == ["\ufeffx", "\ufeffy"]


@pytest.mark.parametrize("size", [64, 1 << 20])
def test_a_damaged_character_is_refused_in_a_column_that_nobody_wants(path, size):
    path.write_bytes(b"a,b\n" + b"1,x\n" * 10_000 + b"2,\xe9\n")
    with pytest.raises(ValueError, match="must be Parquet, SPSS, Stata, or CSV in utf-8; it is none of them"):
        table(path, {"a": NUMBER}, size)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("quote", ["", '"'])
def test_blocks_end_at_every_kind_of_line_end(path, end, quote):
    path.write_bytes("".join(f"{quote}{each}{quote}{end}" for each in ("a", *range(99))).encode())
    (part,) = csv_parts(str(path), {"a": NUMBER}, Format(), 16)
    assert max(batch.num_rows for batch in part.batches()) < 12
    assert table(path, {"a": NUMBER}, 16)["a"].to_pylist() == list(range(99))


def test_spellings_of_missing_numbers_are_compared_with_trimmed_fields(path):
    path.write_text("a,b\n 99,x\n1, ?\n")
    found = table(path, {"a": NUMBER, "b": TEXT}, form=Format(spellings=("99", " ?"))).to_pydict()
    assert found == {"a": [None, 1], "b": ["x", None]}
    for spelling, fields in ((" ?", " ?"), (" 99 ", " 99 ")):
        path.write_text(f"a,b\n{fields},x\n1, ?\n")
        found, told = outcome(path, {"a": REPLACED}, form=Format(spellings=(spelling,)))
        assert found == {"a": [99 if "9" in fields else None, 1]}
        assert len(told) == ("?" in fields)


@pytest.mark.parametrize("size", [1, 7, 14, 64, 1 << 20])
def test_a_stray_quote_is_found_at_the_line_of_its_row(path, size):
    path.write_text('a,b\r\n"1\n1",2\r\n\r3,4\n5,"6\n7,8\n', newline="")
    with pytest.raises(ValueError, match="the row in line 6 has other quotes"):
        table(path, {"a": TEXT}, size)
    path.write_text('a,b\n1,2\n3,4\r5,6\r7,"8\r9,0\n', newline="")
    with pytest.raises(ValueError, match="the row in line 5 has other quotes"):
        table(path, {"a": TEXT}, size)


def test_faults_are_counted_over_the_whole_file_and_rows_of_other_lengths_come_first(path):
    path.write_text("a,b\n1,1\nx,1\n1\n2,y\nx,1,1,1\n1,z\n")
    with pytest.raises(
        ValueError, match=r"must have 2 fields in every row; got 2 rows with another number .* with 1\."
    ):
        table(path, {"a": NUMBER}, 2)
    path.write_text("a,b\n1,1\nx,1\n1,1\n2,y\nx,1\n1,z\n")
    with pytest.raises(ValueError, match=r"column 'b' .* 2 of 6 fields are something else, the first in row 4 below"):
        table(path, {"b": NUMBER, "a": NUMBER}, 2)
    with pytest.warns(DataWarning, match=r"column 'a' .* 2 of 6 fields are something else, the first in row 2 below"):
        assert table(path, {"a": REPLACED}, 2)["a"].to_pylist() == [1, None, 1, 2, None, 1]


@pytest.mark.parametrize("size", [1 << 12, 1 << 20])
def test_a_field_of_ten_megabytes_is_read(path, size):
    long = "x, \n" * 2_500_000
    path.write_text(f'a,b\n1,"{long}"\n2,y\n')
    assert table(path, {"a": NUMBER, "b": TEXT}, size).to_pydict() == {"a": [1, 2], "b": [long, "y"]}


def test_a_quote_that_is_never_closed_does_not_take_the_file_into_memory(path, monkeypatch):
    monkeypatch.setattr(csv_file, "LONGEST", 1000)
    path.write_text('a,b\n1,1\n2,"' + "1\n" * 2000)
    with pytest.raises(
        ValueError, match=r"rows of at most .* the row in line 3 is longer\. Is a quote in it never closed"
    ):
        table(path, {"a": NUMBER}, 64)
    path.write_text('a,b\n1,1\n2,"' + "1\n" * 400)
    with pytest.raises(ValueError, match="the row in line 3 has other quotes"):
        table(path, {"a": NUMBER}, 64)


def test_a_part_can_be_read_again_and_pickled(path, tmp_path):
    path.write_text("a,b\n1,x\n2,y\n")
    (part,) = csv_parts(str(path), {"b": AS_WRITTEN, "a": NUMBER}, Format(spellings=("x",)), 3)
    once = [batch.to_pydict() for batch in part.batches()]
    assert once == [{"b": ["x"], "a": [1]}, {"b": ["y"], "a": [2]}] == [batch.to_pydict() for batch in part.batches()]
    copy = pickle.loads(pickle.dumps(part))
    assert part.rows is None
    assert [batch.to_pydict() for batch in copy.batches()] == once


def grow(path):
    with open(path, "a", encoding="utf-8") as file:
        file.write("3\n")


def rename_columns(path):
    before = os.stat(path)
    path.write_text("b\n1\n2\n")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


@pytest.mark.parametrize("change", [grow, rename_columns, os.remove, lambda path: path.write_text("a\n")])
def test_a_file_that_changes_is_refused(path, change):
    path.write_text("a\n1\n2\n")
    (part,) = csv_parts(str(path), {"a": NUMBER}, Format(), 1)
    started = part.batches()
    next(started)
    change(path)
    said = re.escape(f"`{path}` was changed while it was read, and must stay as it is")
    with pytest.raises(ValueError, match=said):
        list(part.batches())
    if change is not rename_columns:
        with pytest.raises(ValueError, match=said):
            list(started)


MEASURE = """
import sys, tracemalloc
import pyarrow as pa
from dplr.rows.files.csv import csv_parts
from dplr.rows.files.kinds import NUMBER, Format
for turn, path in enumerate(sys.argv[1:]):
    if turn == 1:
        tracemalloc.start()
    (part,) = csv_parts(path, {"a": NUMBER, "b": NUMBER}, Format(), 1 << 16)
    rows = sum(batch.num_rows for batch in part.batches())
    print(rows, pa.default_memory_pool().max_memory() + tracemalloc.get_traced_memory()[1])
"""


def test_memory_does_not_grow_with_the_file(tmp_path):
    sizes = (1 << 16, 1 << 20)
    for n in sizes:
        (tmp_path / f"{n}.csv").write_text("a,b,c\n" + "".join(f"{i},{i / 7},z\n" for i in range(n)))
    files = [str(tmp_path / f"{n}.csv") for n in sizes]
    done = subprocess.run([sys.executable, "-c", MEASURE, files[0], *files], capture_output=True, text=True, check=True)
    _, (_, few), (rows, many) = (map(int, line.split()) for line in done.stdout.splitlines())
    assert rows == sizes[1]
    assert many < 1.3 * few
    assert many < pathlib.Path(files[1]).stat().st_size / 4
