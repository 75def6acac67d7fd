"""Files as statistical offices have them: one model of the same rows, whatever they are written in."""

import contextlib
import csv
import glob
import gzip
import io
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import tomllib

import numpy as np
import pandas as pd
import pyarrow as pa
import pyreadstat
import pytest
from click.testing import CliRunner
from pyarrow import parquet

import dplr
from dplr.cli import _fit, _rows, main

BOUNDS = """
[features.age]
lower = 18
upper = 99
[features.hours]
lower = 0
upper = 80
missing = "indicator"
[features.sex]
levels = ["female", "male"]
missing = "indicator"
[target]
classes = ["no", "yes"]
"""
CODES = {"female": 1, "male": 2}
SICK = {"no": 0, "yes": 1}
OPTIONS = ("--target", "sick", "--bounds", "bounds.toml", "--eps", "1")
FORMATS = {
    "people.csv": (), "people.csv.gz": (), "people.csv.zst": (), "commas.csv": ("--delimiter", ";", "--decimal", ","),
    "commas.csv.gz": ("--delimiter", ";", "--decimal", ","), "people.parquet": (), "people.sav": (), "people.zsav": (),
    "people.dta": (), "old.dta": (),
}  # fmt: skip


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    os.mkdir("temporary")
    (tmp_path / "bounds.toml").write_text(BOUNDS)
    write(people())
    return tmp_path


def people(n=3000):
    rng = np.random.default_rng(0)
    age = np.round(rng.uniform(18, 99, n), 2)
    hours = np.where(rng.random(n) < 0.1, np.nan, np.round(rng.uniform(0, 80, n), 1))
    sex = np.where(rng.random(n) < 0.05, None, rng.choice(["female", "male"], n))
    return pd.DataFrame({"age": age, "hours": hours, "sex": sex, "sick": np.where(age + 20 * rng.normal(size=n) > 60,
        "yes", "no")})  # fmt: skip


def write(table):
    """The rows in every format; labels stand for codes in files of SPSS and Stata."""
    table.to_csv("people.csv", index=False)
    table.to_csv("commas.csv", index=False, sep=";", decimal=",")
    for name in ("people.csv", "commas.csv"):
        pathlib.Path(f"{name}.gz").write_bytes(gzip.compress(pathlib.Path(name).read_bytes()))
    data = pa.Codec("zstd").compress(pathlib.Path("people.csv").read_bytes(), asbytes=True)
    pathlib.Path("people.csv.zst").write_bytes(data)
    parquet.write_table(pa.Table.from_pandas(table), "people.parquet")
    coded = table.assign(sex=table["sex"].map({**CODES, None: 9}), sick=table["sick"].map(SICK).astype(float))
    labels = {"sex": {1: "female", 2: "male", 9: "refused"}, "sick": {0: "no", 1: "yes"}}
    for name in ("people.sav", "people.zsav"):
        pyreadstat.write_sav(
            coded, name, variable_value_labels=labels, missing_ranges={"sex": [9]}, compress=name.endswith("zsav")
        )
    coded["sex"] = coded["sex"].astype(object).where(coded["sex"] != 9, "r")
    labels["sex"] = {1: "female", 2: "male", "r": "refused"}
    for name, version in (("people.dta", 15), ("old.dta", 10)):
        pyreadstat.write_dta(
            coded, name, variable_value_labels=labels, missing_user_values={"sex": ["r"]}, version=version
        )


def command(*arguments, code=0, **options):
    result = CliRunner().invoke(main, [str(argument) for argument in arguments], **options)
    assert result.exit_code == code, (result.output, result.exception)
    assert "Traceback" not in result.stderr
    return result


@pytest.fixture
def seeded(monkeypatch):
    """Fits of one seed, whose noise is that of every file."""
    fitted = _fit._fitted
    monkeypatch.setattr(_fit, "_fitted", lambda X, y, parameters, job: fitted(X, y, {**parameters, "rng": 7}, job))


def fit(data, *options, **more):
    with contextlib.suppress(FileNotFoundError):
        os.remove("model.json")
    command("fit", data, *OPTIONS, *options, "-o", "model.json", **more)
    est = dplr.load_model("model.json")
    return [est.coef_.tobytes(), est.intercept_.tobytes()]


@pytest.mark.parametrize("streamed", [False, True])
def test_the_same_rows_make_the_same_model_in_every_bit(folder, seeded, monkeypatch, streamed):
    if streamed:
        monkeypatch.setattr(_rows, "_SMALL", 0)
    found = {name: fit(name, *options) for name, options in FORMATS.items()}
    for name, options in FORMATS.items():
        found[f"- of {name}"] = fit("-", *options, input=pathlib.Path(name).read_bytes())
    assert len(found) == 20
    assert all(each == found["people.csv"] for each in found.values()), found
    assert found["people.csv"] != fit("people.csv", "--no-intercept")
    assert os.listdir("temporary") == []


def test_every_command_reads_every_file(folder):
    fit("people.csv")
    no_target = BOUNDS.partition("[target]")[0] + '[features.sick]\nlevels = ["no", "yes"]\n'
    pathlib.Path("all.toml").write_text(no_target)
    said, predicted = set(), set()
    for name, options in FORMATS.items():
        data = pathlib.Path(name).read_bytes()
        for source, more in ((name, {}), ("-", {"input": data})):
            said.add(command("check", source, *OPTIONS[:4], *options, **more).stdout)
            predicted.add(command("predict", "model.json", source, *options, "-o", "-", **more).stdout)
            command("moments", "release", source, "--bounds", "all.toml", "--eps", "1", *options, "-o", "m.json",
                "--overwrite", **more)  # fmt: skip
            command("bounds", "init", source, *options, "--target", "sick", "-o", "new.toml", "--overwrite", **more)
            assert set(tomllib.loads(pathlib.Path("new.toml").read_text())["features"]) == {"age", "hours", "sex"}
    assert len(said) == len(predicted) == 1
    assert os.listdir("temporary") == []


def test_value_labels_are_offered_as_levels_in_comments_alone(folder):
    confirm = "# The list below has the value labels of the file. Confirm that they are public, as in a codebook."
    for name in ("people.sav", "people.dta", "old.dta"):
        command("bounds", "init", name, "--target", "sick", "-o", "new.toml", "--overwrite")
        text = pathlib.Path("new.toml").read_text()
        assert f'# or, for text or codes:\n{confirm}\n# levels = ["female", "male"]\n' in text
        assert f'{confirm}\n# classes = ["no", "yes"]\n' in text
        assert "refused" not in text.partition("[features")[2]
        assert tomllib.loads(text) == {"features": {"age": {}, "hours": {}, "sex": {}}, "target": {}}
        command("check", name, "--target", "sick", "--bounds", "new.toml", code=3)


def test_a_copy_of_standard_input_is_gone_after_every_end(folder, monkeypatch):
    text = pathlib.Path("people.csv").read_bytes()
    seen = []
    read = _rows.read_table

    def looked_at(path, *rest):
        seen.append((oct(os.stat(path).st_mode & 0o777), oct(os.stat(os.path.dirname(path)).st_mode & 0o777)))
        return read(path, *rest)

    monkeypatch.setattr(_rows, "read_table", looked_at)
    for named in (True, False):
        monkeypatch.setattr(_rows, "_OPEN_FILES", "/proc/self/fd" if named else "/nowhere")
        fit("-", input=text)
        assert os.listdir("temporary") == []
        result = command("fit", "-", *OPTIONS, "-o", "other.json", input=text.replace(b"age", b"ages"), code=3)
        assert "standard-input` must have a column for age; its header has ages, hours" in result.stderr
        assert os.listdir("temporary") == []
    assert {each[1] for each in seen} == {"0o700"}
    assert seen[0][0] == "0o600"
    monkeypatch.setattr(_rows, "read_table", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    result = command("fit", "-", *OPTIONS, "-o", "other.json", input=text, code=130)
    assert "interrupted. Nothing was released" in result.stderr
    assert os.listdir("temporary") == []


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGKILL])
def test_an_ended_process_leaves_no_rows(folder, end):
    code = "import sys\nfrom dplr.__main__ import main\nsys.argv = ['dplr', *sys.argv[1:]]\nmain()"
    environment = {**os.environ, "TMPDIR": str(folder / "temporary")}
    process = subprocess.Popen([sys.executable, "-c", code, "fit", "-", *OPTIONS, "-o", "model.json"], env=environment,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))  # fmt: skip  # a shell's background ignores it
    process.stdin.write(pathlib.Path("people.csv").read_bytes())
    process.stdin.flush()
    until = time.monotonic() + 60
    while not glob.glob("temporary/*/standard-input") and time.monotonic() < until:
        time.sleep(0.02)
    assert glob.glob("temporary/*/standard-input")
    process.send_signal(end)
    process.wait(60)
    process.stdin.close()
    assert not [path for path in glob.glob("temporary/**", recursive=True) if os.path.isfile(path)]
    assert end is signal.SIGKILL or os.listdir("temporary") == []


def test_the_ledger_pays_for_standard_input_as_for_a_file(folder):
    command("ledger", "init", "budget.db", "--eps", "2")
    fit("-", "--ledger", "budget.db", input=pathlib.Path("people.csv").read_bytes())
    assert dplr.Ledger("budget.db").spent()[0] == 1
    command("fit", "-", *OPTIONS, "--ledger", "budget.db", "-o", "o.json", code=3, input=b"")
    assert dplr.Ledger("budget.db").spent()[0] == 1


def test_outputs_are_looked_at_before_standard_input_is_read(folder):
    pathlib.Path("taken.json").write_text("{}")
    for arguments in (("fit", "-", *OPTIONS), ("predict", "bounds.toml", "-")):
        result = command(*arguments, "-o", "taken.json" if "fit" in arguments else "taken.txt", code=2,
            input=io.BytesIO())  # fmt: skip
        assert "`taken.json` exists" in result.stderr or "must end in .csv or .parquet" in result.stderr
    fit("-", input=pathlib.Path("people.csv").read_bytes())
    command("fit", "-", *OPTIONS, "-o", "model.json", "--overwrite", input=pathlib.Path("people.csv").read_bytes())


def test_errors_name_the_file_the_rule_and_the_remedy(folder, monkeypatch):
    said = command("fit", "people.csv", *OPTIONS, "-o", "o.json", "--decimal", ",", code=2).stderr
    assert "`decimal` must differ from the delimiter; got ','." in said
    said = command("fit", "commas.csv", *OPTIONS, "-o", "o.json", "--delimiter", ";", code=3).stderr
    assert "column 'age' of `commas.csv` must hold numbers;" in said
    assert "A number has '.' before its decimals (see --decimal), and nothing between thousands." in said
    pathlib.Path("cut.gz").write_bytes(pathlib.Path("people.csv.gz").read_bytes()[:-200])
    said = command("fit", "cut.gz", *OPTIONS, "-o", "o.json", code=3).stderr
    assert "`cut.gz` must be a whole file of gzip; it is damaged or cut off. Write it anew." in said
    monkeypatch.setitem(sys.modules, "pyreadstat", None)
    said = command("fit", "people.sav", *OPTIONS, "-o", "o.json", code=3).stderr
    assert 'reading `people.sav` needs pyreadstat. Install it with pip install ".[offices]"' in said
    assert not os.path.exists("o.json")


def test_a_large_text_in_a_small_archive_is_streamed(folder, seeded, monkeypatch):
    model = fit("people.csv")
    monkeypatch.setattr(_rows, "_SMALL", os.path.getsize("people.csv.gz"))
    monkeypatch.setattr(_rows, "read_table", None)
    assert fit("people.csv.gz") == model
    monkeypatch.setattr(_rows, "_SMALL", os.path.getsize("people.zsav"))
    assert fit("people.zsav") == model


def test_ids_and_weights_of_labelled_files(folder):
    table = people(500).assign(sick=lambda t: t["sick"].map(SICK).astype(float), sex=1.0)
    table["id"], table["w"] = np.arange(500) // 2 + 1e6, 1.0 + np.arange(500) % 3
    labels = {"sex": {1: "female", 2: "male"}, "sick": {0: "no", 1: "yes"}}
    pyreadstat.write_sav(table, "ids.sav", variable_value_labels=labels)
    written = table.assign(sick=table["sick"].map({0: "no", 1: "yes"}), sex="female", id=table["id"].astype(int))
    written.to_csv("ids.csv", index=False, quoting=csv.QUOTE_MINIMAL)
    units = ("--person", "id", "--weight", "w")
    text = (folder / "bounds.toml").read_text()
    (folder / "bounds.toml").write_text("rows_per_person = 2\nweight = { max = 3 }\n" + text)
    found = [command("check", f"ids.{ending}", *OPTIONS[:4], *units).stdout for ending in ("csv", "sav")]
    assert found[0] == found[1]
    command("fit", "ids.sav", *OPTIONS, *units, "-o", "model.json")
