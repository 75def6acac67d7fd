"""The command line: what it writes, what it refuses with which exit code, and that it says where nothing was spent."""

import contextlib
import csv
import importlib.metadata
import json
import os
import pathlib
import pty
import subprocess
import sys
import termios
import tomllib

import click
import numpy as np
import pandas as pd
import pytest
import scipy.optimize
from click.testing import CliRunner

import dplr
from dplr.cli import _fit, main
from dplr.utility._planned import excess_risk_of
from specs import spec_with

BOUNDS = """
[features.age]
lower = 18
upper = 99
[features.code]
levels = ["01", "02", "1"]
[features.hours]
lower = 0
upper = 80
missing = "indicator"
[target]
classes = ["no", "yes"]
"""
FIT = ("fit", "people.csv", "--target", "sick", "--bounds", "bounds.toml", "--eps", "0.5", "-o", "model.json")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bounds.toml").write_text(BOUNDS)
    write_people("people.csv", people())
    return tmp_path


def people(n=400):
    rng = np.random.default_rng(0)
    age, hours = rng.integers(18, 100, n), rng.integers(0, 80, n)
    sick = np.where(age + rng.normal(0, 20, n) > 60, "yes", "no")
    hours = [str(value) if value > 5 else "" for value in hours]
    return {"id": [f"p{i}" for i in range(n)], "age": age, "code": rng.choice(["01", "02", "1"], n), "hours": hours,
            "sick": sick}  # fmt: skip


def write_people(path, columns, **options):
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, **options)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))


def command(*arguments, code=0, **options):
    result = CliRunner().invoke(main, [str(argument) for argument in arguments], **options)
    assert result.exit_code == code, (result.output, result.exception)
    assert "Traceback" not in result.stderr
    return result


def child(*arguments, before="", **options):
    """The command in a process of its own, after some lines of Python."""
    code = f"import sys\n{before}\nfrom dplr.__main__ import main\nsys.argv = ['dplr', *sys.argv[1:]]\nmain()"
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "stdin": subprocess.DEVNULL, **options}
    return subprocess.run([sys.executable, "-c", code, *map(str, arguments)], text=True, check=False, **options)


def spent(path="budget.db"):
    return dplr.Ledger(path).spent()[0]


def read(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_fit_writes_the_model_spends_from_the_ledger_and_prints_coefficients_and_the_promise(folder):
    command("ledger", "init", "budget.db", "--eps", "1")
    result = command(*FIT, "--ledger", "budget.db", "--label", "people of 2026")
    est = dplr.load_model("model.json")
    table, _, rest = result.stdout.partition("\n\n")
    assert table == str(est.summary())
    promise, said, end = rest.partition("The full statement: dplr summary model.json --statement\n")
    assert " ".join(promise.split()) == " ".join(est.privacy_.brief)
    assert said
    assert end.startswith("Wrote model.json.\nLeft in budget.db: eps = 0.5")
    assert max(map(len, result.stdout.splitlines())) <= 100
    assert est.classes_.tolist() == ["no", "yes"]
    assert est.privacy_.eps == spent() == 0.5
    assert dplr.Ledger("budget.db").entries()[0].label == "people of 2026"


def test_without_a_ledger_it_is_said_that_nothing_was_counted(folder):
    assert "No --ledger was given" in command(*FIT).stderr
    quiet = command(*FIT, "--overwrite", "--quiet")
    assert quiet.stdout == ""
    assert quiet.stderr.count("\n") == 1  # the warning of missing values, which is no chatter
    assert "not for publication" in quiet.stderr


def test_csv_and_parquet_of_the_same_rows_make_the_same_model(folder):
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = people()
    hours = pa.array([int(value) if value else None for value in columns["hours"]], pa.int32())
    columns["code"] = pa.array(columns["code"].tolist())
    table = pa.table(columns | {"hours": hours})
    pq.write_table(table, "people.parquet")
    coded = {name: table[name].dictionary_encode() for name in ("code", "sick")}  # as pandas writes categories
    pq.write_table(pa.table({name: coded.get(name, table[name]) for name in table.column_names}), "coded.parquet")
    for name in ("people.csv", "people.parquet", "coded.parquet"):
        command("fit", name, "--target", "sick", "--bounds", "bounds.toml", "--eps", "inf", "-o", f"{name}.json", "-q")
    one, *others = (dplr.load_model(f"{name}.json") for name in ("people.csv", "people.parquet", "coded.parquet"))
    assert all(np.array_equal(one.coef_, other.coef_) for other in others)
    assert one.named_coef_["code=01"] != one.named_coef_["code=1"]  # text is not read as a number


@pytest.mark.parametrize(
    ("options", "written"),
    [
        ({}, {"encoding": "utf-8-sig"}),
        ({"--encoding": "cp037"}, {"encoding": "cp037"}),
        ({"--encoding": "latin-1", "--delimiter": ";"}, {"encoding": "latin-1", "delimiter": ";"}),
        ({}, {"quoting": csv.QUOTE_ALL, "lineterminator": "\r\n"}),
        ({"--missing": "?"}, {"missing": "?"}),
    ],
)
def test_the_same_rows_in_other_dress_make_the_same_model(folder, options, written):
    columns = people()
    columns["hours"] = [value or written.get("missing", "") for value in columns["hours"]]
    columns["id"] = ['line\nbreak, "quoted"' for _ in columns["id"]]
    write_people("other.csv", columns, **{k: v for k, v in written.items() if k not in ("encoding", "missing")})
    text = pathlib.Path("other.csv").read_bytes().decode("utf-8")
    pathlib.Path("other.csv").write_bytes(text.encode(written.get("encoding", "utf-8")))
    extra = [part for pair in options.items() for part in pair]
    for name, more in (("people.csv", []), ("other.csv", extra)):
        command("fit", name, "--target", "sick", "--bounds", "bounds.toml", "--eps", "inf", "-o", f"{name}.json", *more)
    one, other = (dplr.load_model(f"{name}.csv.json") for name in ("people", "other"))
    assert np.array_equal(one.coef_, other.coef_)


def test_no_number_is_missing_where_the_bounds_say_what_that_counts_as_and_refused_elsewhere(folder):
    columns = people()
    columns["hours"][3] = "many"
    write_people("people.csv", columns)
    assert "1 of 400 fields are something else, the first in row 4" in command(*FIT).stderr
    columns["age"] = [*columns["age"][:7], "forty-two", *columns["age"][8:]]
    write_people("people.csv", columns)
    refused = command(*FIT, "--overwrite", code=3).stderr
    assert "column 'age' of `people.csv` must hold numbers; 1 of 400 fields" in refused
    assert "forty" not in refused  # a private value


def test_types_come_from_the_bounds_and_not_from_the_rows(folder):
    """A text column whose rows all look like numbers, and the empty level."""
    pathlib.Path("bounds.toml").write_text(BOUNDS.replace('["01", "02", "1"]', '["", "1", "2"]'))
    columns = people()
    columns["code"] = ["1", ""] * 200
    write_people("people.csv", columns)
    command(*FIT)
    assert dplr.load_model("model.json").coef_names_[1:4] == ("code=", "code=1", "code=2")


BROKEN = {
    "a column too few": (lambda text: text.replace("age", "alter", 1), "must have a column for age"),
    "a column twice": (lambda text: text.replace("id", "age", 1), "age is there twice"),
    "a row too short": (lambda text: text + "p1,2\n", "must have 5 fields in every row; got 1 rows"),
    "no rows": (lambda text: text.splitlines()[0] + "\n", "at least one row"),
    "nothing": (lambda text: "", "its header has nothing"),
    "no target": (lambda text: text.replace("sick", "ill", 1), "must have a column for sick"),
    "another label": (lambda text: text + "p1,50,01,3,perhaps\n", "must hold only its"),
    "missing without a policy": (lambda text: text + "p1,,01,3,no\n", "age 1"),
    "an infinite age": (lambda text: text + "p1,inf,01,3,no\n", "age 1"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_file_is_one_sentence_and_spends_nothing(folder, name):
    breaks, said = BROKEN[name]
    command("ledger", "init", "budget.db", "--eps", "1")
    path = pathlib.Path("people.csv")
    path.write_text(breaks(path.read_text()))
    result = command(*FIT, "--ledger", "budget.db", code=3)
    assert said in result.stderr
    assert result.stderr.splitlines()[-1].startswith("Error: ")
    assert (spent(), os.path.exists("model.json")) == (0, False)


@pytest.mark.parametrize("stray", ['"', '"01', '01"', '0"1'])
@pytest.mark.parametrize("row", [0, 200, 399])
def test_a_stray_quote_in_one_row_is_refused_and_does_not_swallow_the_rows_below(folder, stray, row):
    """What it opens would end with the file or in a later row, and other people's rows would be part of its text."""
    columns = {name: values for name, values in people().items() if name != "code"}
    rows = [",".join(map(str, values)) for values in zip(*columns.values(), strict=True)]
    codes = ["01"] * row + [stray] + ["01"] * (399 - row)
    for last in ("", ",Ann", ',"Ann"', ',", Ann"', ',","', ',""""'):  # nothing, or a name, well written
        names = ["" if last == "" else ",Ann"] * 399 + [last]
        lines = [",".join(columns) + ",code" + (",name" if last else "")]
        lines += [f"{start},{code}{name}" for start, code, name in zip(rows, codes, names, strict=True)]
        pathlib.Path("people.csv").write_text("\n".join(lines) + "\n")
        assert f"the row in line {row + 2} has other quotes" in command(*FIT, code=3).stderr
    assert not os.path.exists("model.json")


def test_text_of_another_encoding_and_files_of_another_kind_are_refused(folder):
    path = pathlib.Path("people.csv")
    good = path.read_bytes()
    for copies in (1, 30):  # what is read at once, and more
        path.write_bytes(good + good.partition(b"\n")[2] * copies + "p1,50,01,3,né\n".encode("latin-1"))
        assert "Is it in another --encoding?" in command(*FIT, code=3).stderr
    path.write_bytes(b"PAR1" + good)
    assert "must be a whole Parquet file" in command(*FIT, code=3).stderr
    path.write_bytes(b"\x00\xff" * 500)
    command(*FIT, code=3)


@pytest.mark.parametrize(
    "text", ["[features", "features = 3", BOUNDS.replace("18", '"18"'), "[" * 5000, BOUNDS + "[more]\n", "\x00"]
)
def test_hostile_bounds_are_a_sentence(folder, text):
    pathlib.Path("bounds.toml").write_text(text)
    assert command(*FIT, code=3).stderr.startswith("Error: `bounds.toml`")


WRONG = {
    "eps of zero": (["--eps", "0"], "must be positive; 0.1 to 1 is usual"),
    "eps of nothing": (["--eps", "nan"], "must be positive"),
    "no such mechanism": (["--mechanism", "magic"], "magic"),
    "delta where it must be positive": (["--mechanism", "ngd"], "`delta` must be positive"),
    "a ridge below zero": (["--l2", "-1"], "neither 'auto'"),
    "another number of rows": (["--n-rows", "3"], "must be left out, or 400"),
    "a number as the target of classes": (["--model", "linear"], "must have lower and upper as target"),
    "a target that is a feature": (["--target", "age"], "must not be among the features"),
    "a label and no ledger": (["--label", "x"], "give --ledger too"),
    "an unknown encoding": (["--encoding", "klingon"], "klingon"),
    "an encoding of no text": (["--encoding", "rot13"], "rot13"),
    "an encoding that keeps a state": (["--encoding", "iso2022_jp"], "Convert the file to UTF-8 first"),
    "a long delimiter": (["--delimiter", "||"], "must be one character"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_command_is_told_apart_from_a_wrong_file(folder, name):
    options, said = WRONG[name]
    assert said in command(*FIT, *options, code=2).stderr


def test_a_classifier_needs_declared_labels(folder):
    pathlib.Path("bounds.toml").write_text(BOUNDS.partition("[target]")[0])
    assert "must declare the target" in command(*FIT, code=2).stderr


def test_bounds_by_position_are_refused(folder):
    pathlib.Path("bounds.toml").write_text("[[features]]\nlower = 0\nupper = 1\n[target]\nclasses = [0, 1]\n")
    assert "must name the columns" in command(*FIT, code=2).stderr


def test_what_exceeds_the_budget_has_an_exit_code_of_its_own(folder):
    command("ledger", "init", "budget.db", "--eps", "0.4")
    said = command(*FIT, "--ledger", "budget.db", code=4).stderr
    assert "budget.db has no room for it. Nothing was spent. It has too little eps (0.5 is needed, 0.4 is left)" in said
    assert "fits up to eps = 0.4." in said
    options = ("--bounds", "bounds.toml", "--n-rows", "400", "--eps", "0.5", "--ledger", "budget.db")
    assert "it does not fit" in command("plan", *options, code=4).stdout
    assert spent() == 0


def test_an_output_that_cannot_be_written_is_refused_before_anything_is_spent(folder):
    command("ledger", "init", "budget.db", "--eps", "1")
    inputs = ("people.csv", "bounds.toml", "budget.db", "budget.db-journal")
    for output in ("nowhere/model.json", ".", *inputs, "/dev/null", "/proc/model"):
        for overwrite in ([], ["--overwrite"]):
            command(*FIT[:-1], output, "--ledger", "budget.db", *overwrite, code=2)
    pathlib.Path("notes.txt").write_text("mine")
    command(*FIT[:-1], "notes.txt", "--ledger", "budget.db", "--overwrite", code=2)
    assert spent() == 0
    assert pathlib.Path("notes.txt").read_text() == "mine"
    assert "400" not in command("ledger", "show", "budget.db").stdout


def test_an_earlier_model_is_replaced_only_when_asked(folder):
    command(*FIT)
    before = pathlib.Path("model.json").read_text()
    assert "--overwrite" in command(*FIT, code=2).stderr
    assert pathlib.Path("model.json").read_text() == before
    command(*FIT, "--overwrite")
    assert pathlib.Path("model.json").read_text() != before


def test_a_model_that_cannot_be_written_after_its_release_is_saved_elsewhere_or_printed(folder, monkeypatch):
    real = dplr.save_model

    def refuse(fails):
        def save(est, path):
            if fails(path):
                raise OSError(28, "No space left on device")
            real(est, path)

        monkeypatch.setattr(dplr, "save_model", save)

    refuse(lambda path: path == "model.json")
    said = command(*FIT, code=3).stderr
    assert not os.path.exists("model.json")
    elsewhere = said.partition("The model is in ")[2].strip().rstrip(".")
    assert dplr.load_model(elsewhere).privacy_.eps == 0.5
    refuse(lambda path: True)
    result = command(*FIT, code=3)
    assert "The model is on standard output" in result.stderr
    assert len(json.loads(result.stdout)["coef"][0]) == 6

    def late(est, path):
        real(est, path)
        if path == "model.json":
            raise OSError(22, "Invalid argument")  # the folder could not be forced to the disk

    monkeypatch.setattr(dplr, "save_model", late)
    command(*FIT, code=3)
    assert dplr.load_model("model.json").privacy_.eps == 0.5


def test_a_model_is_printed_where_no_folder_for_it_is_left(folder, monkeypatch):
    def fail(*_, **__):
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(dplr, "save_model", fail)
    monkeypatch.setattr("tempfile.mkdtemp", fail)
    result = command(*FIT, code=3)
    assert "The model is on standard output" in result.stderr
    assert len(json.loads(result.stdout)["coef"][0]) == 6
    assert sorted(os.listdir()) == ["bounds.toml", "people.csv"]


def test_of_two_fits_with_one_output_neither_loses_its_model(folder, monkeypatch):
    """Each saw that the name was free when it began."""
    command(*FIT[:-1], "other.json")
    fitted = _fit._fitted

    def overtaken(*arguments):
        est = fitted(*arguments)
        os.rename("other.json", "model.json")
        return est

    monkeypatch.setattr(_fit, "_fitted", overtaken)
    other = pathlib.Path("other.json").read_bytes()
    said = command(*FIT, code=3).stderr
    assert pathlib.Path("model.json").read_bytes() == other
    elsewhere = said.partition("The model is in ")[2].strip().rstrip(".")
    assert pathlib.Path(elsewhere).read_bytes() != other
    assert dplr.load_model(elsewhere).privacy_.eps == 0.5


def test_a_fit_without_standard_error_is_a_fit(folder):
    assert child(*FIT, before="sys.stderr = None").returncode == 0
    assert dplr.load_model("model.json").privacy_.eps == 0.5


def test_long_names_of_an_output_are_refused_before_anything_is_spent_or_written(folder):
    command("ledger", "init", "budget.db", "--eps", "1")
    command(*FIT[:-1], "m" * 300, "--ledger", "budget.db", code=2)
    assert spent() == 0
    name = "\N{SNOWMAN WITHOUT SNOW}" * 80 + ".json"  # 245 bytes
    command(*FIT[:-1], name, "--ledger", "budget.db")
    assert dplr.load_model(name).privacy_.eps == spent()


def test_predictions_are_those_of_the_model_and_hold_no_input_unless_asked(folder):
    command(*FIT)
    command("predict", "model.json", "people.csv", "-o", "out.csv")
    est = dplr.load_model("model.json")
    import pandas as pd

    frame = pd.read_csv("people.csv", dtype={"code": str})
    found = read("out.csv")
    assert list(found[0]) == ["prediction"]
    assert [row["prediction"] for row in found] == est.predict(frame).tolist()
    assert "exists" in command("predict", "model.json", "people.csv", "-o", "out.csv", code=2).stderr
    result = command("predict", "model.json", "people.csv", "--proba", "--keep", "id", "--keep", "code", "-o", "-")
    rows = list(csv.DictReader(result.stdout.splitlines()))
    assert [(row["id"], row["code"]) for row in rows] == list(zip(frame["id"], frame["code"], strict=True))
    probabilities = [[float(row[f"probability of {label}"]) for label in ("no", "yes")] for row in rows]
    assert np.array_equal(probabilities, est.predict_proba(frame))
    assert result.stderr.count("\n") == 0


def test_predictions_are_parquet_where_the_name_says_so_and_other_names_are_refused(folder):
    from pyarrow import parquet

    command(*FIT)
    assert dplr.load_model("model.json").target_name_ == "sick"
    command("predict", "model.json", "people.csv", "--proba", "--keep", "code", "-o", "out.csv")
    command("predict", "model.json", "people.csv", "--proba", "--keep", "code", "-o", "out.Parquet")
    found, table = read("out.csv"), parquet.read_table("out.Parquet")
    assert table.column_names == list(found[0]) == ["code", "prediction", "probability of no", "probability of yes"]
    assert [str(kind) for kind in table.schema.types] == ["string", "string", "double", "double"]
    assert [{name: str(value) for name, value in row.items()} for row in table.to_pylist()] == found
    for name in ("out", "out.txt", "out.parquet.gz", "out.xlsx", ".csv"):
        said = command("predict", "model.json", "people.csv", "-o", name, code=2).stderr
        assert "`--output` must end in .csv or .parquet" in said
        assert not pathlib.Path(name).exists()


def test_columns_of_a_parquet_file_keep_their_types_in_the_output(folder):
    import pyarrow as pa
    from pyarrow import csv as arrow
    from pyarrow import parquet

    command(*FIT)
    kinds = {"code": pa.string(), "hours": pa.float64()}
    table = arrow.read_csv("people.csv", convert_options=arrow.ConvertOptions(column_types=kinds))
    parquet.write_table(table, "people.parquet")
    command("predict", "model.json", "people.parquet", "--keep", "age", "-o", "out.parquet")
    kept = parquet.read_table("out.parquet")
    assert kept["age"].equals(table["age"])
    assert kept["prediction"].to_pylist() == dplr.load_model("model.json").predict(table).tolist()


def test_predict_refuses_what_the_model_does_not_know(folder):
    command(*FIT)
    pathlib.Path("few.csv").write_text("age\n50\n")
    assert "must have a column for code, hours" in command("predict", "model.json", "few.csv", "-o", "-", code=3).stderr
    assert "--keep" in command("predict", "model.json", "people.csv", "--keep", "prediction", "-o", "-", code=2).stderr
    assert (
        "must have a column for name"
        in command("predict", "model.json", "people.csv", "--keep", "name", "-o", "-", code=3).stderr
    )
    pathlib.Path("model.json").write_text("{")
    assert "model.json" in command("predict", "model.json", "people.csv", "-o", "-", code=3).stderr
    assert "model.json" in command("report", "model.json", "-o", "report.html", code=3).stderr


def test_check_says_what_a_fit_would_refuse_and_spends_nothing(folder):
    done = command("check", "people.csv", "--target", "sick", "--bounds", "bounds.toml")
    assert "A fit would take these data." in done.stdout
    (folder / "other.toml").write_text(BOUNDS.replace("18", "1800").replace("99", "9900").replace('"no"', '"No"'))
    done = command("check", "people.csv", "--target", "sick", "--bounds", "other.toml", code=3)
    assert "age: 400 of 400 values (100.00%) lie outside [1800, 9900]" in done.stdout
    assert "'no' looks like 'No'" in done.stdout
    assert "a fit would refuse these data" in done.stderr
    command("check", "people.csv", "--bounds", "other.toml")


def test_bounds_init_writes_every_name_and_no_value_and_reads_no_row(folder):
    (folder / "names.csv").write_text('id,age,"work, paid",sick\n"a row that is broken\n')
    command("bounds", "init", "names.csv", "--target", "sick", "-o", "new.toml")
    found = tomllib.loads((folder / "new.toml").read_text())
    assert found == {"features": {"id": {}, "age": {}, "work, paid": {}}, "target": {}}
    done = command("plan", "--bounds", "new.toml", "--n-rows", "10", "--eps", "1", code=3)
    assert "`lower` is required" in done.stderr
    command("bounds", "init", "names.csv", "--target", "salary", "-o", "newer.toml", code=2)
    command("bounds", "init", "names.csv", "-o", "new.toml", code=2)


def test_bounds_init_takes_types_from_a_parquet_file(folder):
    pd.DataFrame({"age": [1.5], "work": ["x"], "born": pd.to_datetime(["2020-01-01"])}).to_parquet("people.parquet")
    command("bounds", "init", "people.parquet", "-o", "new.toml")
    tables = (folder / "new.toml").read_text().split("[features.")[1:]
    holds = {table.split("]")[0]: ("lower" in table, "levels" in table) for table in tables}
    assert holds == {"age": (True, False), "work": (False, True), "born": (True, True)}


def test_a_delta_of_one_in_n_is_refused(folder):
    done = command(*FIT, "--delta", "0.01", code=2)
    assert "`delta` must be below 1/n = 0.0025" in done.stderr


def test_names_in_files_of_others_cannot_steer_the_terminal(folder):
    escape = "\x1b]0;title\x07\u202e"
    columns = people()
    write_people("people.csv", {f"{escape}{name}": values for name, values in columns.items()})
    found = [command(*FIT, code=3).stderr]
    bounds = '[features."\\u001b[31m\\u202e"]\nlower = 0\nupper = 1\n[target]\nclasses = ["no", "yes"]\n'
    pathlib.Path("bounds.toml").write_text(bounds)
    write_people("people.csv", {"\x1b[31m\u202e": [0.5, "x"], "sick": ["no", "yes"]})
    found += [command(*FIT, code=3).stderr]
    pathlib.Path("bounds.toml").write_text(bounds.replace("upper = 1", 'upper = 1\nmissing = "indicator"'))
    command("ledger", "init", "budget.db", "--eps", "1")
    result = command(*FIT, "--ledger", "budget.db", "--label", escape)
    found += [result.stderr, result.stdout, command("ledger", "show", "budget.db").stdout]
    write_people("people.csv", {"a": [0.5, 0.5], "sick": ["no", "yes"]})
    found += [command("predict", "model.json", "people.csv", "-o", "-", code=3).stderr]
    assert sum("\N{REPLACEMENT CHARACTER}" in text for text in found) == 5  # one is shown as a literal
    for text in found:
        assert not {"\x1b", "\x07", "\u202e"} & set(text)


def test_one_column_with_a_missing_value_keeps_its_rows(folder):
    """A blank line is the row of a missing value where there is one column."""
    bounds = '[features.x]\nlower = 0\nupper = 1\nmissing = "indicator"\n[target]\nclasses = [0, 1]\n'
    pathlib.Path("bounds.toml").write_text(bounds)
    pathlib.Path("rows.csv").write_text("x,y\n0,0\n1,1\n,0\n1,1\n")
    command("fit", "rows.csv", "--target", "y", "--bounds", "bounds.toml", "--eps", "inf", "-o", "model.json")
    pathlib.Path("new.csv").write_text("x\n1\n\n0\n")
    command("predict", "model.json", "new.csv", "-o", "out.csv")
    assert len(read("out.csv")) == 3


@pytest.mark.parametrize(
    ("model", "target", "labels"),
    [
        ("linear", "lower = 0\nupper = 100", [20, 40, 60]),
        ("logistic", "threshold = 30", [20, 40, 60]),
        ("logistic", "classes = [20, 40, 60]", [20, 40, 60]),
        ("svm", "classes = [true, false]", ["True", "false"]),
        ("logistic", 'classes = ["01", "1"]', ["01", "1"]),
    ],
)
def test_every_kind_of_target_survives_the_way_from_text_to_predictions(folder, model, target, labels):
    columns = people()
    columns["sick"] = np.resize(labels, 400)
    write_people("people.csv", columns)
    pathlib.Path("bounds.toml").write_text(BOUNDS.partition("[target]")[0] + f"[target]\n{target}\n")
    mechanism = "output" if model == "svm" else "fm"
    command(*FIT, "--model", model, "--mechanism", mechanism)
    command("predict", "model.json", "people.csv", "-o", "out.csv")
    est, found = dplr.load_model("model.json"), {row["prediction"] for row in read("out.csv")}
    if model == "linear":
        assert all(np.isfinite(float(value)) for value in found)
        assert "lower" not in command("plan", *PLAN, "--model", "linear").stdout
    else:
        assert found <= {str(label) for label in est.classes_.tolist()}


PLAN = ("--bounds", "bounds.toml", "--n-rows", "400", "--eps", "0.5")


def test_public_rows_of_a_file_are_the_start(folder):
    write_people("public.csv", people(50))
    command(*FIT, "--public", "public.csv", "--mechanism", "output")
    fact = "public data of 50 rows"
    assert any(fact in each for each in dplr.load_model("model.json").privacy_.assumptions)
    plan = ("plan", *PLAN, "--mechanism", "output", "--public", "public.csv")
    assert fact in command(*plan, "--target", "sick").stdout
    assert "`--target` is required" in command(*plan, code=2).stderr


def test_add_remove_takes_a_declared_number_of_records(folder):
    options = ("--neighbouring", "add_remove", "--n-rows", "500", "--statement")
    result = command(*FIT, *options)
    assert "a declared reference, n_rows = 500" in result.stdout
    assert "The full statement:" not in result.stdout
    assert "= 400" not in result.stdout


def test_plan_states_what_the_fit_will_state_and_reads_no_data(folder):
    os.remove("people.csv")
    planned = command("plan", *PLAN)
    write_people("people.csv", people())
    statement = command(*FIT, "--statement").stdout.partition("\n\n")[2].partition("Wrote")[0]
    lines = [line for line in statement.splitlines() if "the labels" not in line]
    assert "\n".join(lines) in planned.stdout
    assert "Expected utility: with probability 0.95" in planned.stdout
    covered = command("plan", *PLAN, "--mechanism", "fm").stdout
    assert "Expected utility: no theorem covers this fit" in covered
    assert "--n-rows" in command("plan", *PLAN[:2], *PLAN[4:], code=2).stderr


@pytest.mark.parametrize(("mechanism", "least"), [("objective", 0.02), ("output", 0.02)])
def test_expected_utility_bounds_the_excess_of_what_is_released(folder, mechanism, least):
    """J of each released model minus its minimum, by hand: two coefficients, 200 fits, 5 % may exceed it."""
    rng = np.random.default_rng(1)
    X = rng.uniform(-1, 1, (500, 1))
    y, bounds = rng.random(500) < 1 / (1 + np.exp(-3 * X[:, 0])), dplr.Bounds({"x": (-1, 1)}, target=(False, True))
    spec = dplr.ObjectivePerturbation(cut=None) if mechanism == "objective" else mechanism
    options = {"bounds": bounds, "mechanism": spec_with(spec, "off")}
    plan = dplr.plan(n_rows=500, eps=0.5, **options)
    l2, bound = plan.settings.ridge / 500, excess_risk_of(plan)
    weights = np.array(plan.settings.weights or (1.0, 1.0))
    rows = np.column_stack([X, np.full(500, 0.5)]) * np.where(y, 1, -1)[:, None]

    def objective(w):
        return np.logaddexp(0, -rows @ w).mean() + l2 / 2 * (w / weights) @ (w / weights)

    minimum = scipy.optimize.minimize(objective, np.zeros(2), tol=1e-12).fun
    import pandas as pd

    fits = dplr.fit_many(pd.DataFrame({"x": X[:, 0]}), y, eps=[0.5], repeats=200, **options)
    excess = [objective(np.append(est.coef_[0], est.intercept_ * 2)) - minimum for est in fits]
    assert np.mean(np.array(excess) <= bound) > 0.8
    assert np.quantile(excess, 0.95) > least * bound  # the bound is about this


def test_expected_utility_is_printed_with_its_lemma(folder):
    for mechanism, lemma in (("objective", "Lemma 4"), ("output", "Lemma 3")):
        printed = command("plan", *PLAN, "--mechanism", mechanism).stdout
        plan = dplr.plan(n_rows=400, bounds=dplr.Bounds.from_toml("bounds.toml"), eps=0.5, mechanism=mechanism)
        assert f"ends at most {excess_risk_of(plan):.3g} above its minimum (CM08, {lemma}" in printed


def test_a_ledger_is_made_once_and_shown_for_people_and_programs(folder):
    made = command("ledger", "init", "budget.db", "--eps", "3", "--delta", "1e-6", "--composition", "zcdp").stdout
    assert "eps = 3, delta = 1e-06, zcdp composition, replace_one" in made
    assert "exists" in command("ledger", "init", "budget.db", "--eps", "9", code=2).stderr
    command(*FIT, "--mechanism", "fm", "--ledger", "budget.db", "--label", "a label")
    assert "committed  fm         eps = 0.5, delta = 0  a label" in command("ledger", "show", "budget.db").stdout
    found = json.loads(command("ledger", "show", "budget.db", "--json").stdout)
    assert found["terms"]["eps"] == 3
    assert found["entries"][0]["statement"]["eps"] == 0.5
    pathlib.Path("budget.db").write_bytes(b"no ledger")
    for arguments in (("ledger", "show", "budget.db"), (*FIT, "--ledger", "budget.db", "--overwrite")):
        command(*arguments, code=3)


def test_the_public_form_of_a_ledger_is_the_same_whether_fits_failed_or_not(folder, monkeypatch):
    statement = dplr.plan(n_rows=100, n_features=2, eps=0.25, mechanism="fm").statement
    shown = {}
    for name, endings in {"calm": ["commit"] * 3, "stormy": ["refund", "commit", "", "refund", "commit"]}.items():
        (folder / name).mkdir()
        monkeypatch.chdir(folder / name)
        ledger = dplr.Ledger("budget.db", eps=1.0, label="people")
        for end in endings:
            getattr(ledger.reserve(statement), end, lambda: None)()
        shown[name] = [command("ledger", "show", "budget.db", "--public", *more).stdout for more in ([], ["--json"])]
    calm, stormy = ([text, json.loads(code)] for text, code in shown.values())
    assert calm[1]["terms"].pop("id") != stormy[1]["terms"].pop("id")
    assert calm == stormy
    text, found = calm
    assert found["publishable"] is True
    assert [entry["number"] for entry in found["entries"]] == [1, 2, 3]
    assert {entry["state"] for entry in found["entries"]} == {"spent"}
    assert {len(entry["reserved_at"]) for entry in found["entries"]} | {len(found["terms"]["created"])} == {10}
    assert {entry["ended_at"] for entry in found["entries"]} == {None}
    assert "  3  " in text
    assert "data holder" not in text


def test_a_ledger_is_shown_for_the_data_holder_unless_in_the_public_form(folder):
    dplr.Ledger("budget.db", eps=1.0)
    for more in ([], ["--public"]):
        publishable = bool(more)
        said = command("ledger", "show", "budget.db", *more).stdout
        assert ("For the data holder" not in said) is publishable
        assert json.loads(command("ledger", "show", "budget.db", "--json", *more).stdout)["publishable"] is publishable


def test_a_delta_too_small_to_read_is_a_power_of_ten_wherever_a_person_reads_it(folder):
    command("ledger", "init", "budget.db", "--eps", "2")
    command(*FIT, "--ledger", "budget.db")
    shown = command("ledger", "show", "budget.db").stdout
    assert shown.count("delta below 10^-19") == 2  # what is spent, and the entry
    assert json.loads(command("ledger", "show", "budget.db", "--json").stdout)["spent"]["delta"] == 2.0**-64
    command("ledger", "init", "pure.db", "--eps", "2", "--delta", "0")
    said = " ".join(command(*FIT, "--ledger", "pure.db", "--overwrite", code=4).stderr.split())
    assert "delta below 10^-19, and pure.db has no room for it" in said
    assert "too little delta (below 10^-19 is needed, 0 is left)" in said
    assert "e-20" not in shown + said


def test_a_share_is_made_once_spent_from_and_shown(folder):
    command("ledger", "init", "budget.db", "--eps", "2")
    made = command("ledger", "share", "budget.db", "alice", "--eps", "0.6").stdout
    assert made == "Made share alice of budget.db: eps = 0.6, delta = 3e-13.\n"
    assert (
        "exists: a share is made once" in command("ledger", "share", "budget.db", "alice", "--eps", "9", code=2).stderr
    )
    assert "at most 1.4" in command("ledger", "share", "budget.db", "bob", "--eps", "1.5", code=2).stderr
    fit = (*FIT, "--mechanism", "fm", "--ledger", "budget.db", "--share", "alice", "--overwrite")
    assert "Left in share alice of budget.db: eps = 0.1, delta = 3e-13." in command(*fit).stdout
    assert "in share 'alice'" in command(*fit, code=4).stderr
    shown = command("ledger", "show", "budget.db").stdout
    assert (
        "share      alice: limits (eps = 0.6, delta = 3e-13), spent (eps = 0.5, delta = 0), remaining (eps = 0.1"
        in shown
    )
    assert "eps = 0.5, delta = 0  (share alice)" in shown
    found = json.loads(command("ledger", "show", "budget.db", "--json").stdout)
    assert found["shares"]["alice"]["remaining"] == {"eps": 0.1, "delta": 3e-13}
    assert found["entries"][0]["share"] == "alice"
    plan = ("plan", "--bounds", "bounds.toml", "--n-rows", "400", "--eps", "0.05", "--mechanism", "fm")
    assert (
        "Ledger budget.db, share alice: costs eps" in command(*plan, "--ledger", "budget.db", "--share", "alice").stdout
    )
    for arguments in ((*FIT, "--share", "alice", "--overwrite"), (*plan, "--share", "alice"), (*plan, "--fits", "2")):
        assert "give --ledger too" in command(*arguments, code=2).stderr
    assert "must be one that exists" in command(*plan, "--ledger", "budget.db", "--share", "carol", code=2).stderr
    assert spent() == 0.5


def test_a_plan_says_what_a_whole_search_would_cost(folder):
    command("ledger", "init", "budget.db", "--eps", "1")
    plan = ("plan", "--bounds", "bounds.toml", "--n-rows", "400", "--eps", "0.1", "--mechanism", "fm", "--ledger",
            "budget.db", "--fits")  # fmt: skip
    assert "10 releases cost eps = 1, delta = 0; remaining before" in command(*plan, "10").stdout
    result = command(*plan, "11", code=4)
    assert (
        "they do not fit. It has too little eps (1.1 is needed, 1 is left). Of these releases 10 would fit."
        in result.stdout
    )
    assert "not enough left for these fits" in result.stderr
    command(*plan, "0", code=2)


def test_what_is_left_is_said_of_which_releases_where_the_composition_tells_them_apart(folder):
    for composition, said in (("basic", False), ("zcdp", True)):
        path = f"{composition}.db"
        command("ledger", "init", path, "--eps", "1", "--delta", "1e-6", "--composition", composition)
        shown = command("ledger", "show", path).stdout
        assert ("for a release that states (eps, delta) alone" in shown) is said


def test_a_report_is_written_and_never_replaced_unasked(folder):
    command(*FIT)
    command("report", "model.json", "-o", "report.html", "--title", "Sick <people>")
    page = pathlib.Path("report.html").read_text(encoding="utf-8")
    assert "Sick &lt;people&gt;" in page
    assert "exists" in command("report", "model.json", "-o", "report.html", code=2).stderr
    command("report", "model.json", "-o", "report.html", "--overwrite")
    assert "input" in command("report", "model.json", "-o", "model.json", "--overwrite", code=2).stderr


def test_help_imports_nothing_heavy():
    heavy = ("numpy", "scipy", "sklearn", "pyarrow", "matplotlib")
    check = f"import atexit\natexit.register(lambda: print([name for name in {heavy} if name in sys.modules]))"
    for arguments in (
        ["--help"],
        ["fit", "--help"],
        ["--version"],
        ["ledger", "init", "--help"],
        ["moments", "fit", "--help"],
    ):
        result = child(*arguments, before=check)
        assert (result.returncode, result.stdout.splitlines()[-1]) == (0, "[]"), result


def test_every_option_and_exit_code_is_explained():
    text = command("--help").stdout
    assert all(f"\n    {code} " in text for code in (0, 1, 2, 3, 4, 130))
    for name, each in main.commands.items():
        for one in [each, *getattr(each, "commands", {}).values()]:
            assert len(one.help) > 40, name
            assert all(option.help for option in one.params if isinstance(option, click.Option)), name


def test_the_script_and_the_module_are_the_same_command():
    (script,) = importlib.metadata.entry_points(group="console_scripts", name="dplr")
    assert script.value == "dplr.__main__:main"
    result = subprocess.run([sys.executable, "-m", "dplr", "--version"], capture_output=True, text=True, check=True)
    assert result.stdout == f"dplr {importlib.metadata.version('dplr')}\n"


def test_without_click_it_is_said_how_to_get_it():
    result = child("--help", before="sys.modules['click'] = None")
    assert result.returncode == 1
    assert result.stderr.startswith('Error: the command line needs click. Install it with pip install ".[cli]" in a ')
    assert result.stderr.count("\n") == 1


def test_a_fault_of_dplr_itself_is_a_sentence_and_a_traceback_with_dplr_debug(folder, monkeypatch):
    monkeypatch.setattr(_fit, "_read_bounds", lambda path: 1 / 0)
    assert "please report it" in command(*FIT, code=1).stderr
    monkeypatch.setenv("DPLR_DEBUG", "1")
    assert isinstance(CliRunner().invoke(main, FIT).exception, ZeroDivisionError)


INTERRUPT = """
import os, signal
signal.signal(signal.SIGINT, signal.default_int_handler)  # what runs in the background may have it ignored
import {module} as module
real = module.{name}
def interrupted(*arguments, **options):
    value = real(*arguments, **options)
    os.kill(os.getpid(), signal.SIGINT)
    return value
module.{name} = interrupted
"""


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("place", "cost", "said"),
    [
        ({"module": "dplr.mechanisms.functional.spec", "name": "solve_quadratic"}, 0.5, "stays spent: entry 1"),
        ({"module": "dplr.mechanisms.functional.spec", "name": "Moments"}, 0.0, "nothing was spent"),
        ({"module": "dplr.cli._fit", "name": "read_rows"}, 0.0, "nothing was spent"),
    ],
)
def test_ctrl_c_says_truly_whether_the_reservation_stays_spent(folder, place, cost, said):
    command("ledger", "init", "budget.db", "--eps", "1")
    result = child(*FIT, "--mechanism", "fm", "--ledger", "budget.db", before=INTERRUPT.format(**place))
    assert result.returncode == 130
    assert said in result.stderr
    assert "Traceback" not in result.stderr
    assert (spent(), os.path.exists("model.json")) == (cost, False)


def test_ctrl_c_while_the_model_is_written_does_not_lose_it(folder):
    interrupt = INTERRUPT.format(module="dplr", name="save_model")
    result = child(*FIT, before=interrupt)
    assert (result.returncode, dplr.load_model("model.json").privacy_.eps) == (0, 0.5)


def test_a_fit_that_fails_after_its_noise_says_that_the_budget_stays_spent(folder, monkeypatch):
    def fail(*_):
        raise RuntimeError("no luck.")

    command("ledger", "init", "budget.db", "--eps", "1")
    monkeypatch.setattr("dplr.mechanisms.functional.spec.solve_quadratic", fail)
    said = command(*FIT, "--mechanism", "fm", "--ledger", "budget.db", code=3).stderr
    assert "Error: no luck. Noise may have been drawn, so its cost stays spent: entry 1" in said
    assert spent() == 0.5


def everything(terminal):
    """What was written to a pseudo-terminal whose other end is closed."""
    parts = []
    with contextlib.suppress(OSError):  # how Linux says the end
        while part := os.read(terminal, 65536):
            parts.append(part)
    return b"".join(parts).decode()


def test_bars_are_for_terminals_and_a_pipe_stays_silent(folder, monkeypatch):
    options = (*FIT, "--mechanism", "ngd", "--delta", "1e-6", "--overwrite", "-q")
    monkeypatch.setattr("dplr._kit.progress._SECONDS", 0)
    assert "descent" not in command(*options).stderr
    assert "descent" in command(*options, "--progress").stderr
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (24, 80))
    try:
        done = child(*options, before="import dplr._kit.progress\ndplr._kit.progress._SECONDS = 0", stderr=theirs)
        os.close(theirs)
        assert done.returncode == 0
        assert "descent" in everything(ours)
    finally:
        os.close(ours)


def test_a_warning_of_the_plan_and_the_fit_is_said_once(folder):
    loose = [*FIT[: FIT.index("0.5")], "20", "-o", "model.json"]
    assert command(*loose).stderr.count("promises little") == 1
