"""Files and queries that cannot be read: an error of our own form, which quotes no value of a row."""

import datetime
import decimal
import gzip
import io

import pytest
from click.testing import CliRunner

import dplr
from dplr.cli import main
from dplr.rows.files.part import Unreadable

pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")
SECRET = "7777777"
ROWS = "0.1,0\n0.9,1\n" * 100
TEXT = f"x,y\n{ROWS}"
# What another library calls things, and never we.
FOREIGN = ("Arrow", "Invalid:", "thrift", "magic", "Error(", "Row #", "Traceback", "dtype", "polars.")


def columns(x, names=("x", "y")):
    out = io.BytesIO()
    arrays = [x, *[x] * (len(names) - 2), pa.array([0.0, 1.0] * (len(x) // 2))]
    parquet.write_table(pa.table(arrays, names=list(names)), out)
    return out.getvalue()


def damaged(data, start, size=40):
    return data[:start] + b"\xff" * size + data[start + size :]


WHOLE = columns(pa.array([0.1, 0.9] * 500))
ZSTD = pa.compress(TEXT.encode(), "zstd", asbytes=True)
GZIP = gzip.compress(TEXT.encode())
FILES = {
    "ragged.csv": f"{TEXT}{SECRET},1,3\n".encode(),
    "bytes.csv": f"{TEXT}{SECRET},".encode() + b"\xff\xfe\n",
    "twice.csv": b"x,x,y\n1,2,0\n",
    "empty.csv": b"",
    "no-header.csv": ROWS.encode(),
    "no-rows.csv": b"x,y\n",
    "late-text.csv": f"{TEXT}{ROWS * 3000}{SECRET}abc,1\n".encode(),
    "zero-byte.csv": f"{TEXT}0.\0{SECRET},1\n".encode(),
    "quote.csv": f'{TEXT}0.1"{SECRET}",1\n'.encode(),
    "open-quote.csv": f'{TEXT}"{SECRET},1\n'.encode(),
    "cut.csv.gz": GZIP[:-20],
    "damaged.csv.gz": damaged(GZIP, 30, 4),
    "junk.csv.gz": b"\x1f\x8b" + b"junk" * 20,
    "cut.csv.zst": ZSTD[:-5],
    "cut.parquet": WHOLE[:-30],
    "pages.parquet": damaged(WHOLE, 200),
    "footer.parquet": damaged(WHOLE, len(WHOLE) - 60),
    "marks.parquet": b"PAR1",
    "marks-twice.parquet": b"PAR1PAR1",
    "twice.parquet": columns(pa.array([0.5] * 10), ("x", "x", "y")),
    "digits.parquet": columns(pa.array([decimal.Decimal("7" * 70)] * 10, pa.decimal256(76, 0))),
    "times.parquet": columns(pa.array([datetime.datetime(2020, 1, 1)] * 10)),
    "lists.parquet": columns(pa.array([[1.0]] * 10)),
    "records.parquet": columns(pa.array([{"a": 1}] * 10)),
    "nulls.parquet": columns(pa.array([None] * 10)),
    "text.parquet": columns(pa.array([SECRET] * 10)),
    "spss.sav": b"$FL2@(#) IBM SPSS" + bytes(400),
    "stata.dta": b"<stata_dta><header><release>118</release>junk</stata_dta>",
}
ONLY_HEADERS = ("twice.csv", "bytes.csv", "cut.csv.gz", "junk.csv.gz", "cut.parquet", "marks.parquet", "footer.parquet")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bounds.toml").write_text("[features.x]\nlower = 0\nupper = 1\n[target]\nclasses = [0, 1]\n")
    return tmp_path


def check_told(text, name=None):
    assert name is None or f"`{name}`" in text or "`X` must" in text or "`--target`" in text
    assert " must " in text
    assert SECRET not in text
    for word in FOREIGN:
        assert word not in text
    assert text.isprintable()


@pytest.mark.parametrize("name", FILES)
def test_a_fit_on_the_command_line_says_it_in_our_words_and_spends_nothing(folder, name):
    (folder / name).write_bytes(FILES[name])
    ledger = dplr.Ledger(folder / "budget.db", eps=1.0)
    options = ["--target", "y", "--bounds", "bounds.toml", "--eps", "1", "--ledger", "budget.db", "-o", "model.json"]
    done = CliRunner().invoke(main, ["fit", name, *options])
    assert done.exit_code in (2, 3), done.output
    check_told(done.stderr.strip().splitlines()[-1], name)
    assert ledger.remaining()[0] == 1.0


@pytest.mark.parametrize(
    "name", ["ragged.csv", "late-text.csv", "pages.parquet", "cut.csv.gz", "bytes.csv", "spss.sav"]
)
def test_a_check_says_it_in_our_words(folder, name):
    (folder / name).write_bytes(FILES[name])
    done = CliRunner().invoke(main, ["check", name, "--target", "y", "--bounds", "bounds.toml"])
    assert done.exit_code == 3, done.output
    check_told(done.stderr.strip().splitlines()[-1], name)


@pytest.mark.parametrize("name", ONLY_HEADERS)
def test_a_header_that_cannot_be_read_is_told_in_our_words(folder, name):
    (folder / name).write_bytes(FILES[name])
    done = CliRunner().invoke(main, ["bounds", "init", name, "--target", "y", "-o", "new.toml"])
    assert done.exit_code == 3, done.output
    check_told(done.stderr.strip().splitlines()[-1], name)


def fit(rows):
    bounds = dplr.Bounds({"x": (0, 1)})
    return dplr.LogisticRegression(eps=1.0, mechanism="fm", bounds=bounds, classes=[0, 1]).fit(rows, "y")


@pytest.mark.parametrize("name", [name for name in FILES if name.endswith("parquet")])
def test_a_stream_of_files_says_it_in_our_words(folder, name):
    (folder / name).write_bytes(FILES[name])
    with pytest.raises(ValueError, match=" must ") as raised:
        fit(dplr.Stream([name]))
    assert type(raised.value).__module__.split(".")[0] in ("builtins", "dplr")
    check_told(str(raised.value), name)


def dataset(name):
    from pyarrow import dataset as datasets

    form = datasets.CsvFileFormat(read_options=pa.csv.ReadOptions(block_size=1 << 12)) if "csv" in name else "parquet"
    return datasets.dataset(name, format=form)


def query_of_polars(name):
    polars = pytest.importorskip("polars")
    return polars.scan_csv(name) if name.endswith("csv") else polars.scan_parquet(name)


def query_of_duckdb(name):
    duckdb = pytest.importorskip("duckdb")
    x = f"CAST(CASE WHEN i < 5000 THEN '0.5' ELSE '{SECRET}abc' END AS DOUBLE)"
    return duckdb.sql(f"SELECT {x} AS x, i % 2 AS y FROM range(9999) t(i)")


@pytest.mark.parametrize(
    ("query", "name"),
    [
        (dataset, "late-text.csv"),
        (dataset, "pages.parquet"),
        (query_of_polars, "late-text.csv"),
        (query_of_polars, "pages.parquet"),
        (query_of_polars, "cut.parquet"),
        (query_of_duckdb, "no-rows.csv"),
    ],
)
def test_a_query_that_fails_while_it_is_read_says_it_in_our_words(folder, query, name):
    (folder / name).write_bytes(FILES[name])
    rows = query(name)
    with pytest.raises(ValueError, match="must be rows that can be read in every pass") as raised:
        fit(dplr.Stream(rows))
    assert type(raised.value) is Unreadable
    assert SECRET not in str(raised.value)
    assert raised.value.__cause__ is not None
