"""The figures of the papers: measured from seeds, resumed, summarised, held against what is committed."""

import dataclasses
import importlib
import pathlib
import sys

import pandas as pd
import pytest

from bench.papers import __main__ as papers
from bench.papers import check, pages, run
from bench.papers.__main__ import FIGURES
from bench.papers.figure import Figure, figure_of, first_repeats, key_of, seed_of

ROOT = pathlib.Path(__file__).parents[1]
DOCS = ROOT / "docs" / "papers"

CELLS = [{"method": method, "repeat": repeat} for method in ("a", "b") for repeat in range(4)]


def measure(cell, seed):
    return [{"eps": eps, "value": eps * (cell["repeat"] + 1)} for eps in (1.0, 2.0)]


TOY = Figure("toy/figure1", "a toy", lambda: CELLS, measure, quick=first_repeats(2))


@pytest.fixture
def toy(monkeypatch, tmp_path):
    monkeypatch.setattr(run, "figure_of", lambda name: TOY)
    monkeypatch.setattr(run, "WORK", tmp_path / "work")
    monkeypatch.setattr(run, "QUICK", tmp_path / "quick")
    monkeypatch.setattr(run, "DOCS", tmp_path / "docs")
    return tmp_path


def runs(**options):
    (report,) = run.run(["toy/figure1"], processes=1, **{"quick": False, **options})
    return report


def test_numbers_are_averaged_over_repeats(toy):
    runs()
    numbers = pd.read_csv(toy / "docs/toy/figure1.csv")
    assert numbers.columns.tolist() == ["method", "eps", "mean", "deviation", "repeats", "median"]
    assert numbers["mean"].tolist() == [2.5, 5.0, 2.5, 5.0]
    assert numbers["deviation"].tolist() == pytest.approx([1.29099, 2.58199] * 2, rel=1e-5)
    assert numbers["median"].tolist() == [2.5, 5.0, 2.5, 5.0]
    assert numbers["repeats"].tolist() == [4] * 4


def test_a_run_that_was_cut_off_goes_on_where_it_stopped(toy):
    runs()
    path = toy / "work/toy/figure1.jsonl"
    path.write_text("\n".join(path.read_text().splitlines()[:4]) + "\n")  # the head and three cells
    report = runs()
    assert (report.measured, report.cells) == (5, 8)
    assert runs().measured == 0


def test_half_a_line_is_measured_again(toy):
    runs()
    path = toy / "work/toy/figure1.jsonl"
    path.write_text(path.read_text()[:-10])
    assert runs().measured == 1
    assert runs().measured == 0


def test_other_code_measures_all_cells_again(toy, monkeypatch):
    runs()
    monkeypatch.setattr(run, "code_of", lambda figure: "other code")
    assert runs().measured == 8


def test_a_change_of_the_package_is_other_code(monkeypatch, tmp_path):
    """Its version stays for months; what it computes may not."""
    monkeypatch.setattr(run, "PACKAGE", tmp_path)
    kernel = tmp_path / "_core" / "kernel.so"
    kernel.parent.mkdir()
    digests = []
    for content in ("one", "two", "one"):
        kernel.write_text(content)
        digests.append(run.code_of(TOY))
    assert digests[0] == digests[2] != digests[1]


def test_seeds_are_a_function_of_figure_and_cell():
    assert seed_of(TOY, {"method": "a", "repeat": 0}) == seed_of(TOY, {"repeat": 0, "method": "a"}) == 2712233656
    assert len({seed_of(TOY, cell) for cell in CELLS}) == len(CELLS)


def test_a_quick_run_measures_its_part_and_leaves_the_docs_alone(toy):
    report = runs(quick=True)
    assert report.cells == 4
    assert not (toy / "docs").exists()


def test_a_quick_run_that_agrees_is_passed_and_one_that_does_not_is_named(toy):
    runs()
    runs(quick=True)
    places = {"quick": toy / "quick", "committed": toy / "docs"}
    assert check.check(TOY, **places) == []
    path = toy / "docs/toy/figure1.csv"
    numbers = pd.read_csv(path)
    numbers.loc[0, "mean"] += 6
    numbers.drop(index=3).to_csv(path, index=False)
    far, absent = check.check(TOY, **places)
    assert far.startswith("method a, eps 1: 1.5, committed 8.5")
    assert absent == "method b, eps 2: not among the committed numbers"


def test_a_number_without_noise_must_agree_to_rounding():
    line = {"method": "a", "mean": 0.5, "deviation": 0.0, "repeats": 1}
    committed = pd.DataFrame([line])
    assert check.differences(pd.DataFrame([line | {"mean": 0.5 + 1e-8}]), committed) == []
    assert check.differences(pd.DataFrame([line | {"mean": 0.5001}]), committed) != []


def test_labels_agree_whatever_else_their_column_holds():
    numbers = {"mean": [0.5, 0.7], "deviation": 0.0, "repeats": 1}
    committed = pd.DataFrame({"eps": [1, 0.5], "by": [None, "dplr"], **numbers})
    part = committed.drop(index=1).assign(eps=1, by=float("nan"))
    assert check.differences(part, committed) == []
    assert check.differences(part.assign(eps=2), committed) == ["eps 2, by nan: not among the committed numbers"]


def test_a_figure_without_its_data_says_so(toy, monkeypatch):
    monkeypatch.delenv("DPLR_DATA", raising=False)
    needy = Figure("toy/figure1", "a toy", lambda: CELLS, measure, needs=("adult.parquet",))
    monkeypatch.setattr(run, "figure_of", lambda name: needy)
    assert runs().skipped == "DPLR_DATA names no folder with the real data"


@pytest.mark.parametrize(("needs", "status"), [((), 0), (("adult.parquet",), 1)])
def test_a_skipped_figure_is_no_success(toy, monkeypatch, capsys, needs, status):
    monkeypatch.delenv("DPLR_DATA", raising=False)
    runs()
    figure = dataclasses.replace(TOY, needs=needs)
    derived = dataclasses.replace(TOY, name="toy/derived", derived=pd.DataFrame)
    for module in (run, papers):
        monkeypatch.setattr(module, "figure_of", lambda name: derived if name == "index/overview" else figure)
    monkeypatch.setattr(check, "DOCS", toy / "docs")
    monkeypatch.setattr(check.check, "__defaults__", (toy / "quick", toy / "docs"))
    monkeypatch.setattr(sys, "argv", ["papers", "--quick", "--processes", "1", "fm12/figure2", "index/overview"])
    assert papers.main() == status
    assert ("1 of 1 figures skipped, which is no success" in capsys.readouterr().out) == bool(status)


def test_a_table_is_renewed_between_its_marks_and_nowhere_else():
    page = "before\n<!-- part -->\nold\n<!-- /part -->\nafter\n"
    assert pages.renewed(page, "part", "new") == "before\n<!-- part -->\n\nnew\n\n<!-- /part -->\nafter\n"
    with pytest.raises(ValueError, match="once"):
        pages.renewed(page, "another", "new")


def test_every_script_of_a_figure_is_run():
    scripts = {
        f"{path.parent.name}/{path.stem}"
        for path in (ROOT / "bench/papers").glob("*/*.py")
        if hasattr(importlib.import_module(f"bench.papers.{path.parent.name}.{path.stem}"), "FIGURE")
    }
    assert scripts == set(FIGURES)
    assert len(FIGURES) == len(set(FIGURES))


@pytest.mark.parametrize("name", FIGURES)
def test_every_figure_is_committed_and_its_page_shows_what_is_in_its_file(name):
    figure = figure_of(name)
    paper, part = name.split("/")
    numbers = pd.read_csv(DOCS / f"{name}.csv")
    page = pages.page_of(figure, DOCS).read_text()
    pictures = "../papers/" if figure.page else ""
    if figure.draw:
        assert (DOCS / f"{name}.png").exists()
        assert f"]({pictures}{paper}/{part}.png)" in page
    if figure.table:
        assert pages.renewed(page, part, figure.table(numbers)) == page, "make the tables again: make papers"
    if not figure.derived:
        cells = figure.cells()
        quick = [cell for cell in cells if figure.quick(cell)]
        assert len({key_of(cell) for cell in cells}) == len(cells)
        assert quick
