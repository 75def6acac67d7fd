"""A fit of the same rows has the same bits, whoever reads them: a small part is run, the whole is in a result."""

import pytest

from bench.scale import bits

ROWS = 4000
CLUSTERS = ["Dask, files, 1 worker", "Dask, files, 3 workers", "Dask DataFrame, 1 worker", "Dask DataFrame, 3 workers",
            "Spark, files", "Spark DataFrame"]  # fmt: skip
NEEDS = {"polars frame": "polars", "polars `LazyFrame`": "polars", "DuckDB relation": "duckdb"}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return bits.Files(bits.people(ROWS), tmp_path_factory.mktemp("people"))


@pytest.fixture(scope="module")
def references(files):
    return {mechanism: bits.fitted(bits.LOCAL[bits.REFERENCE](files), mechanism) for mechanism in bits.FITS}


@pytest.mark.thorough
@pytest.mark.parametrize("way", [*bits.LOCAL])
def test_a_way_to_read_rows_has_the_bits_of_an_array(way, files, references):
    if way in NEEDS:
        pytest.importorskip(NEEDS[way])
    for mechanism, reference in references.items():
        line = bits.line(way, mechanism, bits.fitted(bits.LOCAL[way](files), mechanism), reference)
        assert line["equal"] == "yes" or (mechanism == "objective" and 0 < line["steps"] <= 2)
        assert line["sums"] or mechanism == "objective"  # which takes sums where ranges are released first


def test_another_row_has_other_bits(files, references, tmp_path):
    fewer = bits.Files(bits.people(ROWS + 1).slice(1), tmp_path)
    for mechanism, reference in references.items():
        line = bits.line("fewer", mechanism, bits.fitted(bits.LOCAL["7 files"](fewer), mechanism), reference)
        assert line["equal"] == "no"


def test_the_result_has_every_way_and_its_exact_sums_are_equal():
    lines = bits.read()
    assert {(line["way"], line["mechanism"]) for line in lines} == {
        (way, mechanism) for way in [*bits.LOCAL, *CLUSTERS] for mechanism in bits.FITS
    }
    assert len({(line["mechanism"], line["coefficients"], line["sums"]) for line in lines if line["sums"]}) == 2
    assert all(line["equal"] == "yes" for line in lines if line["sums"])
    assert all(int(line["steps"]) <= 2 for line in lines)


def test_the_guide_has_the_table_of_the_result():
    assert bits.page(bits.read()) in bits.PAGE.read_text()
