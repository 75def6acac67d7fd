"""Files of SPSS and Stata: codes or labels by the bounds, missing values as declared, and each value by itself."""

import datetime
import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pyreadstat
import pytest

from dplr.rows.files.kinds import AS_WRITTEN, NUMBER, Format, Kind
from dplr.rows.files.labelled import Variable, dictionary_of, labelled_parts, text_of_value
from dplr.rows.files.part import FileChanged
from dplr.rows.files.sources import files_of, parts_of
from dplr.rows.files.whole import Declared, column_types

NUMERIC = Variable(False, False, {})
TEXT, LEVELS = Kind(True), Kind(True, empty=False)
SEX = {1: "male", 2: "female", 9: "no answer"}


def frame(n=8):
    days = [datetime.date(1990, 1, 1 + i % 28) for i in range(n)]
    return pd.DataFrame({
        "age": [20.0, 30, np.nan, 99, 50, 60.5, 70, 80][:n] + [40.0] * (n - 8),
        "sex": [1, 2, 1, 2, 9, 1, 3, 1][:n] + [1] * (n - 8),
        "name": ["a", "", "c", " x", "e", "f", "g", "h"][:n] + ["z"] * (n - 8),
        "born": days,
        "seen": [datetime.datetime(day.year, day.month, day.day, 3, 4, 5) for day in days],
    })  # fmt: skip


def write_sav(path, n=8, **options):
    ranges = {"sex": [9], "age": [{"lo": 90, "hi": 100}]}
    pyreadstat.write_sav(frame(n), str(path), variable_value_labels={"sex": SEX}, missing_ranges=ranges, **options)


def write_dta(path, n=8, **options):
    table = frame(n).astype({"sex": object})
    table.loc[table["sex"] == 9, "sex"] = "c"  # .c in Stata
    table.loc[table["age"] == 99, "age"] = np.nan
    labels = {"sex": {1: "male", 2: "female", "c": "no answer"}}
    missing = {"sex": ["c"]}
    pyreadstat.write_dta(table, str(path), variable_value_labels=labels, missing_user_values=missing, **options)


WRITERS = [(".sav", write_sav), (".dta", write_dta)]
WRITERS += [(".zsav", lambda path, n=8: write_sav(path, n, compress=True))]
WRITERS += [(f".{version}.dta", lambda path, n=8, version=version: write_dta(path, n, version=version))
    for version in (10, 13)]  # fmt: skip


@pytest.fixture(params=WRITERS, ids=[ending for ending, _ in WRITERS])
def path(request, tmp_path):
    ending, write = request.param
    write(tmp_path / f"people{ending}")
    return tmp_path / f"people{ending}"


def table(path, kinds, form=None, **options):
    (part,) = labelled_parts(str(path), kinds, form or Format(), **options)
    return pa.Table.from_batches(list(part.batches())).to_pydict()


def test_columns_are_codes_or_labels_as_the_bounds_say(path):
    found = table(path, {"sex": NUMBER, "age": NUMBER})
    assert found == {"sex": [1, 2, 1, 2, None, 1, 3, 1], "age": [20, 30, None, None, 50, 60.5, 70, 80]}
    found = table(path, {"sex": TEXT, "name": TEXT, "age": TEXT})
    assert found["sex"] == ["male", "female", "male", "female", None, "male", "3", "male"]
    assert found["name"] == ["a", None, "c", " x", "e", "f", "g", "h"]
    assert found["age"] == ["20", "30", None, None, "50", "60.5", "70", "80"]
    assert table(path, {"name": LEVELS})["name"][1] == ""
    found = table(path, {"born": TEXT, "seen": TEXT})
    assert (found["born"][1], found["seen"][1]) == ("1990-01-02", "1990-01-02T03:04:05")


def test_spellings_of_missing_values_hold_for_labels_texts_and_codes(path):
    form = Format(spellings=("female", "c", "80", "60.50"))
    found = table(path, {"sex": TEXT, "name": TEXT, "age": NUMBER}, form)
    assert found["sex"] == ["male", None, "male", None, None, "male", "3", "male"]
    assert found["name"][2:4] == [None, " x"]
    assert found["age"] == [20, 30, None, None, 50, 60.5, 70, None]
    assert table(path, {"name": AS_WRITTEN}, form)["name"][:3] == ["a", "", "c"]


FORMATS = {
    ".sav": ["DATE11", "ADATE10", "JDATE5", "DATETIME23.2", "YMDHMS19", "TIME11.2", "DTIME10", "MTIME8", "F8.2"],
    ".dta": ["%td", "%d", "%tdD_m_Y", "%tc", "%tC", "%tcHH:MM:SS", "%tcHH:MM", "%tw", "%8.0g"],
}


def as_text(value):
    return value.isoformat() if hasattr(value, "isoformat") else text_of_value(value, NUMERIC)


@pytest.mark.parametrize("ending", FORMATS)
def test_dates_are_those_of_the_library_and_one_that_python_cannot_hold_is_one_number(tmp_path, ending):
    reader, writer = (getattr(pyreadstat, f"{act}_{ending[1:]}") for act in ("read", "write"))
    path, names = tmp_path / f"dates{ending}", [f"v{j}" for j in range(len(FORMATS[ending]))]
    values = np.random.default_rng(0).uniform(0, 1.4e10 if ending == ".sav" else 1e5, 40)
    values[:4] = [0, 1, 86_400.25, -5]
    formats = dict(zip(names, FORMATS[ending], strict=True))
    writer(pd.DataFrame(dict.fromkeys(names, values)), str(path), variable_format=formats)
    theirs = reader(str(path), output_format="dict")[0]
    expected = {name: [as_text(value) for value in theirs[name]] for name in names}
    assert table(path, dict.fromkeys(names, TEXT)) == expected
    values[7] = 6.3e16  # beyond the year 9999: the library fails for the whole file
    writer(pd.DataFrame(dict.fromkeys(names, values)), str(path), variable_format=formats)
    with pytest.raises(Exception, match=r"magnitude|range|large"):
        reader(str(path))
    for texts in expected.values():
        texts[7] = "63000000000000000"
    assert table(path, dict.fromkeys(names, TEXT)) == expected


@pytest.mark.parametrize("batch_rows", [1, 3, 8, 100])
def test_rows_do_not_depend_on_the_batches(path, batch_rows):
    """Nor on the other rows: each is read as it would be alone."""
    kinds = {"sex": TEXT, "age": NUMBER, "born": TEXT}
    assert table(path, kinds, batch_rows=batch_rows) == table(path, kinds)


@pytest.mark.parametrize(("column", "word"), [("name", "text"), ("born", "dates"), ("seen", "dates")])
def test_text_and_dates_are_no_numbers(path, column, word):
    said = f"column '{column}' of `.*` must hold numbers; its dictionary says {word}. Declare its levels in the bounds"
    with pytest.raises(ValueError, match=said):
        labelled_parts(str(path), {column: NUMBER}, Format())


def test_the_dictionary_is_read_without_a_row(path, monkeypatch):
    asked = []
    for name in ("read_sav", "read_dta"):
        read = getattr(pyreadstat, name)
        monkeypatch.setattr(pyreadstat, name, lambda *a, read=read, **k: asked.append(k) or read(*a, **k))
    found = column_types(str(path), Format())
    assert all(options["metadataonly"] for options in asked)
    assert found == {
        "age": Declared("number"), "sex": Declared("unknown", ("male", "female")), "name": Declared("text"),
        "born": Declared("text"), "seen": Declared("text"),
    }  # fmt: skip
    dictionary = dictionary_of(str(path), Format())
    assert (dictionary.rows, dictionary.size) == (8, 8 * 8 * 5)


def test_missing_columns_and_missing_libraries_are_named(path, monkeypatch):
    with pytest.raises(ValueError, match=r"must have a column for agee; its header has age, sex, .* Did you mean age"):
        labelled_parts(str(path), {"agee": NUMBER}, Format())
    monkeypatch.setitem(sys.modules, "pyreadstat", None)
    with pytest.raises(ModuleNotFoundError, match=r'needs pyreadstat. Install it with pip install "\.\[offices\]"'):
        labelled_parts(str(path), {"age": NUMBER}, Format())


def test_a_file_that_is_cut_off_is_refused(path):
    data = path.read_bytes()
    kind = "SPSS" if "sav" in path.name else "Stata"
    for size in (len(data) // 2, *([] if ".10." in path.name else [len(data) - 9]), 30):
        path.write_bytes(data[:size])
        with pytest.raises(ValueError, match=f"must be a whole file of {kind}; "):
            table(path, {"age": NUMBER})


def test_a_file_that_changes_is_refused(path):
    (part,) = labelled_parts(str(path), {"age": NUMBER}, Format(), 3)
    started = part.batches()
    next(started)
    os.utime(path, ns=(0, 1))
    for again in (started, part.batches()):
        with pytest.raises(FileChanged, match="was changed while it was read"):
            list(again)
    os.remove(path)
    with pytest.raises(FileChanged, match="it is gone"):
        list(part.batches())


def test_columns_of_a_part_can_be_chosen(path):
    (part,) = labelled_parts(str(path), {"age": NUMBER, "sex": TEXT}, Format())
    assert next(part.chosen(["sex"]).batches()).to_pydict()["sex"][:2] == ["male", "female"]


def test_files_of_one_kind_are_parts_of_one_table(tmp_path):
    write_sav(tmp_path / "a.sav")
    write_sav(tmp_path / "b.sav")
    files, kinds = files_of(str(tmp_path)), {"sex": TEXT, "age": NUMBER}
    parts, schema = parts_of(files, list(kinds), kinds)
    assert [part.rows for part in parts] == [8, 8]
    assert schema == pa.schema([("sex", pa.string()), ("age", pa.float64())])
    write_dta(tmp_path / "c.dta")
    with pytest.raises(ValueError, match=r"must be of one kind; `.*a.sav` is SPSS, and `.*c.dta` is not"):
        files_of(str(tmp_path))


def test_letters_are_those_that_were_written(tmp_path):
    data, path = pd.DataFrame({"name": ["é", "ß"]}), tmp_path / "people"
    pyreadstat.write_sav(data, str(path))
    assert table(path, {"name": TEXT}) == {"name": ["é", "ß"]}
    for version in (114, 117, 118):  # the first two know one byte per letter
        data.to_stata(path, version=version, write_index=False)
        assert table(path, {"name": TEXT}) == {"name": ["é", "ß"]}
    data = pd.DataFrame({"name": ["я"]})
    pyreadstat.write_dta(data, str(path), version=10)
    path.write_bytes(path.read_bytes().replace("я".encode(), "я".encode("cp1251") + b"\0"))
    assert table(path, {"name": TEXT}, Format("cp1251")) == {"name": ["я"]}


def test_text_with_labels_is_read_as_labels(tmp_path):
    path = tmp_path / "people.sav"
    data = pd.DataFrame({"job": ["m", "f", "x"]})
    pyreadstat.write_sav(data, str(path), variable_value_labels={"job": {"m": "Maler", "f": "Fischer"}})
    assert table(path, {"job": TEXT}) == {"job": ["Maler", "Fischer", "x"]}


@pytest.mark.parametrize(
    ("value", "text"),
    [(1.0, "1"), (1, "1"), (1.5, "1.5"), (-0.0, "0"), (1e15, "1000000000000000"), (float("inf"), "inf"), (None, None)],
)
def test_numbers_as_text_have_no_point_where_they_are_whole(value, text):
    assert text_of_value(value, Variable(False, False, {})) == text


def test_a_fault_of_the_reader_quotes_no_value(tmp_path, monkeypatch):
    path = tmp_path / "people.sav"
    write_sav(path)
    (part,) = labelled_parts(str(path), {"age": NUMBER}, Format())

    def overflow(*_, **__):
        raise OverflowError("date value 12345 out of range")

    monkeypatch.setattr(pyreadstat, "read_sav", overflow)
    with pytest.raises(ValueError, match=r"must be a whole file of SPSS. Write it anew, or as CSV") as told:
        list(part.batches())
    assert "12345" not in str(told.value)


MEASURE = """
import sys, resource
from dplr.rows.files.kinds import NUMBER, Format, Kind
from dplr.rows.files.labelled import labelled_parts
for path in sys.argv[1:]:
    (part,) = labelled_parts(path, {"age": NUMBER, "sex": Kind(True), "name": Kind(True)}, Format())
    rows = sum(batch.num_rows for batch in part.batches())
    print(rows, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


@pytest.mark.parametrize("write", [write_sav, write_dta])
def test_memory_does_not_grow_with_the_file(tmp_path, write):
    sizes = (1 << 16, 1 << 18)
    for n in sizes:
        write(tmp_path / str(n), n)
    files = [str(tmp_path / str(n)) for n in sizes]
    done = subprocess.run([sys.executable, "-c", MEASURE, *files], capture_output=True, text=True, check=True)
    (_, few), (rows, many) = (map(int, line.split()) for line in done.stdout.splitlines())
    assert rows == sizes[1]
    assert many < 1.15 * few
