"""The real data of the studies: tables made of files as their sources publish them have the rows of the figures.

The sources' own files are not here: they are written again from the tables. Of Adult that gives every byte of the
published files, which the digests of the UCI repository show.
"""

import gzip
import hashlib
import importlib
import io
import urllib.request
import zipfile

import numpy as np
import pandas as pd
import pytest

from bench.data.prepare import __main__ as prepare
from bench.data.prepare import adult, census, connections, heart

realdata = pytest.mark.realdata
SETS = ("adult", "heart", "connections", "census")


def archive(path, files):
    with zipfile.ZipFile(path, "w") as packed:
        for name, text in files.items():
            packed.writestr(name, text)


@pytest.fixture
def adult_files(data_folder):
    frame = pd.read_parquet(data_folder / "adult.parquet")
    texts = {}
    for ending, split, stop in (("data", "train", ""), ("test", "test", ".")):
        rows = frame[frame["split"] == split].drop(columns="split").astype(object)
        rows["income_gt_50k"] = rows["income_gt_50k"].map({0: f"<=50K{stop}", 1: f">50K{stop}"})
        lines = [", ".join("?" if pd.isna(value) else str(value) for value in row) for row in rows.to_numpy()]
        head = "|1x3 Cross validator\n" if split == "test" else ""
        texts[f"adult.{ending}"] = head + "\n".join(lines) + "\n\n"
    return texts


@realdata
def test_adult_is_that_of_the_published_files(adult_files, tmp_path):
    digests = {name: hashlib.md5(text.encode()).hexdigest() for name, text in adult_files.items()}
    assert digests == {
        "adult.data": "5d7c39d7b8804f071cdd1f2a7c460872",
        "adult.test": "35238206dfdf7f1fe215bbb874adecdc",
    }
    archive(tmp_path / "adult.zip", adult_files)
    (line,) = prepare.prepare("adult", tmp_path, tmp_path / "tables")
    assert line.split() == ["adult.parquet", "48,842", "rows,", "those", "of", "the", "committed", "figures"]
    assert adult.COLUMNS[:-1] == [*pd.read_parquet(tmp_path / "tables/adult.parquet")][:14]


@realdata
def test_another_row_is_no_table(adult_files, tmp_path):
    adult_files["adult.data"] = adult_files["adult.data"].replace("39, State-gov", "40, State-gov", 1)
    archive(tmp_path / "adult.zip", adult_files)
    with pytest.raises(prepare.OtherRows, match=r"`adult.parquet` must have the rows .*; got 48,842 rows"):
        prepare.prepare("adult", tmp_path, tmp_path / "tables")
    assert not (tmp_path / "tables").exists()


@realdata
def test_hearts_are_those_of_four_hospitals(data_folder, tmp_path):
    frame = pd.read_parquet(data_folder / "heart_disease.parquet")
    texts = {}
    for hospital, rows in frame.groupby("hospital", sort=False):
        lines = [",".join("?" if pd.isna(value) else f"{value:g}" for value in row) for row in
                 rows[heart.COLUMNS].to_numpy()]  # fmt: skip
        texts[f"processed.{hospital}.data"] = "\n".join(lines) + "\n"
    # As the files have them: -9 for what is missing, and a cholesterol of 0 in Switzerland.
    texts["processed.hungarian.data"] = texts["processed.hungarian.data"].replace("?", "-9", 5)
    swiss = texts["processed.switzerland.data"].splitlines()
    swiss = [",".join("0" if j == 4 else value for j, value in enumerate(line.split(","))) for line in swiss]
    texts["processed.switzerland.data"] = "\n".join(swiss)
    archive(tmp_path / "heart.zip", texts)
    (line,) = prepare.prepare("heart", tmp_path, tmp_path)
    assert "920 rows" in line


@realdata
def test_connections_are_the_drawn_rows(data_folder, tmp_path):
    """Rows that were not drawn do not matter: they are copies of one."""
    sample = pd.read_parquet(data_folder / "kddcup99_70k.parquet")
    order = np.random.default_rng(connections.SEED).permutation(494_021)[: connections.ROWS]
    rows = (
        sample[connections.COLUMNS].assign(label=sample["label"] + ".").to_csv(index=False, header=False).splitlines()
    )
    lines = [rows[0]] * 494_021
    for place, row in zip(order, rows, strict=True):
        lines[place] = row
    text = "\n".join(lines)
    archive(tmp_path / "kddcup99.zip", {"kddcup.data_10_percent.gz": gzip.compress(text.encode(), 1)})
    (line,) = prepare.prepare("connections", tmp_path, tmp_path)
    assert "70,000 rows" in line


@realdata
def test_the_census_is_in_the_order_of_states_and_the_draw_is_known(data_folder):
    """Sorted by the draw, states stand in one piece each, by their number: 48 changes between 49 areas."""
    states = pd.read_parquet(data_folder / "acs2024_fm_370k.parquet")["State"].to_numpy()
    order = np.random.default_rng(census.SEED).permutation(2_089_423)[: len(states)]
    ordered = states[np.argsort(order)]
    assert (np.diff(ordered) > 0).sum() == len(census.STATES) - 1
    assert (np.diff(ordered) >= 0).all()


PERSONS = """RT,SERIALNO,STATE,AGEP,SEX,MAR,SCHL,DIS,NATIVITY,WKHP,PINCP,RAC1P,COW,HICOV
P,2024HU01,1,50,1,1,21,2,1,40,70000,1,1,1
P,2024HU01,1,48,2,1,24,1,2,,-200,6,,2
P,2024HU01,1,17,2,5,12,2,1,,,1,,1
P,2024GQ02,1,30,1,5,16,2,1,20,9000,2,1,1
P,2024HU03,1,80,2,2,16,1,1,,20000,1,,1
"""
HOMES = """RT,SERIALNO,STATE,TYPEHUGQ,NP,MV,TEN,NPF,BDSP
H,2024HU01,1,1,3,4,1,3,3
H,2024GQ02,1,3,1,,,,
H,2024HU03,1,1,1,7,3,,1
H,2024HU04,1,1,0,,,,2
"""


def test_adults_of_the_census_have_their_household_and_nobody_in_a_hostel(tmp_path, monkeypatch):
    monkeypatch.setattr(census, "STATES", ["al"])
    archive(tmp_path / "csv_pal.zip", {"psam_p01.csv": PERSONS, "ACS2024_PUMS_README.pdf": ""})
    archive(tmp_path / "csv_hal.zip", {"psam_h01.csv": HOMES})
    table = census.read(tmp_path)["acs2024_fm_20k.parquet"].sort_values("Age", ignore_index=True)
    expected = pd.DataFrame(
        {
            "Age": [48, 50, 80], "Male": [0, 1, 0], "IsSingle": 0, "IsMarried": [1, 1, 0], "Education": [24, 21, 16],
            "Disability": [1, 0, 1], "Native": [0, 1, 1], "WorkHours": [0, 40, 0], "YearsResiding": [7.0, 7.0, 35.0],
            "OwnsDwelling": [1, 1, 0], "FamilySize": [3, 3, 1], "NumChildren": [1, 1, 0], "NumBedrooms": [3, 3, 1],
            "AnnualIncome": [-200, 70000, 20000], "State": 1, "Race": [6, 1, 1], "ClassOfWorker": [0, 1, 0],
            "HealthInsured": [0, 1, 1],
        }
    )  # fmt: skip
    pd.testing.assert_frame_equal(table, expected, check_dtype=False)


def test_every_table_of_the_figures_has_a_source():
    assert tuple(prepare.SETS) == SETS
    for name in SETS:
        assert callable(importlib.import_module(f"bench.data.prepare.{name}").read)
        assert all(address.startswith("https://") for address in prepare.addresses(name).values())
    assert len(prepare.addresses("census")) == 98
    assert prepare.addresses("census")["csv_pwy.zip"].endswith("/csv_pwy.zip")


def test_archives_are_fetched_once_and_a_broken_one_is_not_kept(tmp_path, monkeypatch):
    asked = []

    def answer(address, timeout):
        asked.append(address)
        if address == "https://broken":
            raise TimeoutError("the read operation timed out")
        return io.BytesIO(b"bytes")

    monkeypatch.setattr(urllib.request, "urlopen", answer)
    for _ in range(2):
        prepare.fetch({"a.zip": "https://a"}, tmp_path)
    assert asked == ["https://a"]
    with pytest.raises(TimeoutError):
        prepare.fetch({"b.zip": "https://broken"}, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["a.zip"]


def test_what_cannot_be_made_is_named_and_is_no_success(tmp_path, monkeypatch, capsys):
    def answer(address, timeout):
        raise OSError("no route to the host")

    monkeypatch.setattr(urllib.request, "urlopen", answer)
    folders = [str(tmp_path / "tables"), "--sources", str(tmp_path / "archives")]
    assert prepare.main([*folders, "--only", "adult", "heart"]) == 1
    assert capsys.readouterr().err.splitlines() == ["adult: no route to the host", "heart: no route to the host"]
