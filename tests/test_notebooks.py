"""HTML forms of results in notebooks: the facts of the text forms, escaped, quiet, and never at a loss."""

import dataclasses
import enum
import html.parser
import inspect
import re
import sqlite3
import subprocess
import sys
from collections import Counter

import pytest

import dplr
from dplr._kit import markup
from public_api import objects
from shown_results import AGE, HOSTILE, RESULTS, ledger, linear, people, result

# Results are made with a seed, which is one of the things that they must say.
pytestmark = pytest.mark.filterwarnings("ignore::dplr.PrivacyWarning", "ignore::dplr.DataWarning")
EVERY = pytest.mark.parametrize("name", sorted(RESULTS))
# Their text is a word or two, which says no less where a notebook shows the constructor.
WORDS = {"Approx", "Gaussian", "Poisson", "Pure"}
VOID = {"br", "img", "hr", "meta", "link", "input"}


class Reader(html.parser.HTMLParser):
    """The text of a page, its elements and attributes; it fails where an element is not closed in its turn."""

    def __init__(self, page):
        super().__init__()
        self.open, self.tags, self.attributes, self.texts = [], Counter(), [], []
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags[tag] += 1
        self.attributes += attrs
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "style" not in self.open:
            self.texts.append(data)

    @property
    def words(self):
        return Counter(" ".join(self.texts).split())


@EVERY
def test_it_is_what_its_name_says(name):
    assert type(result(name)).__name__ == name.partition(" of ")[0]


# Words of the text alone: labels of what stands above all else here.
TEXT_ALONE = {"Plan": {"outlook"}, "ReleasedMoments": {"delta"}}


@EVERY
def test_no_word_and_no_number_of_the_text_is_left_out(name):
    """Signs that separate words aside."""
    shown = result(name)
    text = shown.to_text() if hasattr(shown, "to_text") else str(shown)
    split = str.split
    if type(shown).__str__ is object.__str__:  # a constructor call, whose keywords and signs are no words
        split, text = re.compile(r"[\w.]*\w").findall, text.replace(".0,", ",").replace(".0)", ")")
        text = re.sub(
            r"\b(Bounds|features|products|levels|reference|missing|indicator|ReleasedMoments)\b|\w+=", "", text
        )
    words, seen = (
        {word.strip(":,;.()") for word in split(each)} for each in (text, " ".join(Reader(shown._repr_html_()).texts))
    )
    rules = {word for word in words if not word.strip("-")}
    assert words - seen - rules - TEXT_ALONE.get(name, set()) == set()
    assert len(words) > 3


@EVERY
def test_it_is_html_without_scripts_addresses_and_ids(name):
    page = result(name)._repr_html_()
    read = Reader(page)
    assert not {"script", "link", "img", "iframe", "form", "input", "a", "object"} & set(read.tags)
    names = {attribute for attribute, _ in read.attributes}
    assert names <= {"class", "scope"}
    assert not re.search(r"https?:|//|url\(|@import|javascript:", page.replace(HOSTILE, "").replace("</", ""))
    assert read.tags["style"] == 1
    assert read.tags["th"] == sum(attribute == "scope" for attribute, _ in read.attributes)
    assert read.tags["div"] >= read.tags["table"] + 1  # a table wider than the page scrolls in its own box
    assert page.count("dplr-wide") - page.count(".dplr-wide") == read.tags["table"]


HOSTILE_RESULTS = sorted(set(RESULTS) - {"ClassEvaluation", "LabelEvaluation", "Measure", "NumberEvaluation",
                                         "PairEvaluation", "Price"})  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE_RESULTS)
def test_names_of_others_are_text(name):
    page = result(name)._repr_html_()
    assert "<script" not in page
    assert HOSTILE in " ".join(Reader(page).texts)
    assert "&lt;script&gt;alert(&#x27;&amp;&#x27;)&lt;/script&gt;" in page


def test_labels_and_paths_are_text():
    read = Reader(result("ClassEvaluation")._repr_html_())
    assert not {"b", "i", "u"} & set(read.tags)
    assert "recall of <b>" in read.texts
    assert "<b> & budget.ledger" in "".join(Reader(ledger()._repr_html_()).texts)


def test_characters_that_steer_what_shows_them_are_replaced():
    assert markup.escaped("a\x1b[2J\u202eb\n") == "a\N{REPLACEMENT CHARACTER}[2J\N{REPLACEMENT CHARACTER}b" + (
        "\N{REPLACEMENT CHARACTER}"
    )


def public_classes():
    """Classes of results: those whose text dplr writes, and those that the examples have."""
    for dotted, thing in objects():
        if inspect.isclass(thing) and not issubclass(thing, enum.Enum | Exception):
            written = getattr(thing.__str__, "__module__", "").startswith("dplr")
            if written and thing.__name__ not in WORDS:
                yield dotted, thing


def test_every_result_with_a_text_of_its_own_has_an_html_form_and_an_example():
    classes = dict(public_classes())
    assert len(classes) >= 20
    assert [dotted for dotted, thing in classes.items() if not hasattr(thing, "_repr_html_")] == []
    made = {name.rpartition(".")[2] for name, thing in classes.items() if not inspect.isabstract(thing)}
    assert made - set(RESULTS) == set()


def test_a_result_without_an_html_form_is_seen(monkeypatch):
    monkeypatch.delattr(dplr.results.Plan, "_repr_html_")
    with pytest.raises(AssertionError, match=r"dplr\.results\.Plan"):
        test_every_result_with_a_text_of_its_own_has_an_html_form_and_an_example()


def test_what_voids_a_promise_stands_above_all_else():
    """A seed, a fact that is not covered, rows of the fit, a drowned plan, data of their holder."""
    statement = dataclasses.replace(linear().privacy_, uncovered=(f"it learned from {HOSTILE}",))
    seed = "the noise came from a seed"
    for shown, words in (
        (statement, "NOT COVERED: it learned from"), (statement, seed), (result("LabelEvaluation"), "IN SAMPLE"),
        (result("NumberEvaluation"), seed), (result("LearnedBounds"), seed), (result("MomentTable"), seed),
        (result("ReleasedMoments"), seed), (result("Plan"), "Noise drowns this fit"), (result("Summary"), seed),
        (result("DataCheck"), "For the data holder only"), (result("Curve of intervals"), "May say nothing"),
        (result("Curve of intervals at two points"), "May say nothing"),
        (result("Price"), "they do not fit"),
    ):  # fmt: skip
        page = shown._repr_html_()
        before, _, rest = page.partition('<p class="dplr-alarm">')
        assert words in rest.split("<table")[0], type(shown).__name__
        assert "<table" not in before


def test_an_audit_that_proved_a_promise_wrong_says_so_first():
    wrong = dataclasses.replace(result("Audit"), findings=("a pair of neighbours loses 2, exactly",))
    page = wrong._repr_html_()
    assert "WRONG: eps = 1 does not hold" in page.split("<table")[0]
    assert "never right" not in page
    assert "dplr-alarm" not in result("Audit")._repr_html_().split("</style>")[1]


def test_marks_are_explained_below_the_table():
    page = result("Summary")._repr_html_()
    assert "]*</td>" in page
    assert page.count("<li>*: ") == 1


def test_long_tables_say_how_much_more_there_is():
    table = result("Summary")
    long = dataclasses.replace(table, lines=table.lines * 20, omitted=7)
    page = long._repr_html_()
    assert page.count("<tr>") == markup.MOST + 1
    surplus = len(long.lines) - markup.MOST + 7
    assert f"({surplus} more coefficients: `to_text()`)" in page
    assert re.search(r"\d+ more coefficients and notes: `to_text\(\)`", str(long).replace("\n", " "))
    assert long.to_html().count("<tr>") == len(long.lines) + 1
    levels = {"levels": [f"level {place}" for place in range(100)]}
    page = dplr.Bounds({"city": levels, "age": (0, 9)})._repr_html_()
    assert "level 29, and 70 more" in page
    assert "level 30" not in page


def test_to_html_has_no_style_and_the_same_table():
    for table in (result("Summary"), result("MomentTable")):
        whole = table.to_html()
        assert "style" not in whole
        rows = re.findall(r"<tr>.*?</tr>", whole)
        assert rows == re.findall(r"<tr>.*?</tr>", table._repr_html_())
        assert len(rows) > 3


def test_a_ledger_shows_what_may_be_published():
    """No fit that failed, no time of day; what `dplr ledger show --public` has."""
    texts = Reader(ledger()._repr_html_()).texts
    assert "12" in texts
    assert "13" not in texts
    assert not any("refunded" in text or re.search(r"\d\d:\d\d", text) for text in texts)
    assert "eps = 3, delta = 0" in texts
    assert "eps = 6, delta = 1e-05" in texts
    assert "(2 earlier releases: `entries()`)" in texts


def test_a_share_shows_its_own_releases():
    share = ledger().share("<i>ann</i>")
    texts = Reader(share._repr_html_()).texts
    assert "eps = 2, delta = 2.22222e-06" in texts
    assert not any("earlier releases" in text for text in texts)


def test_a_look_at_a_ledger_writes_nothing(tmp_path):
    opened = dplr.Ledger(tmp_path / "budget", eps=1.0)
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    opened._repr_html_()
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_ledger_that_is_gone_broken_or_another_says_so(tmp_path):
    path = tmp_path / "budget <b>"
    opened = dplr.Ledger(path, eps=1.0)
    path.unlink()
    assert "It cannot be read: " in opened._repr_html_()
    dplr.Ledger(path, eps=1.0)
    assert "It cannot be read: " in opened._repr_html_()
    path.write_bytes(b"no ledger " * 500)
    page = opened._repr_html_()
    assert "It cannot be read: " in page
    assert "budget &lt;b&gt;" in page
    assert Reader(page).tags["table"] == 0


def test_a_locked_ledger_is_shown_while_others_write(tmp_path):
    opened = dplr.Ledger(tmp_path / "budget", eps=1.0)
    writer = sqlite3.connect(tmp_path / "budget", isolation_level=None)
    writer.execute("BEGIN IMMEDIATE")
    try:
        assert "remaining" in opened._repr_html_()
    finally:
        writer.close()


def test_an_accountant_is_not_asked_for_seconds(tmp_path):
    pytest.importorskip("dp_accounting")
    opened = dplr.Ledger(tmp_path / "budget", eps=1.0, delta=1e-6, composition="pld")
    page = opened._repr_html_()
    assert "the accountant takes seconds" in page
    assert "budget" in page


def test_a_model_shows_its_statement():
    page = linear()._repr_html_()
    assert linear().privacy_._repr_html_() in page
    assert "No ledger counted this fit" in page


PICTURES = {
    "plot_coefficients": lambda plots: plots.plot_coefficients(linear()),
    "plot_curve": lambda plots: plots.plot_curve(result("Curve")),
    "plot_curves": lambda plots: plots.plot_curves(dplr.fit(people(), "pay", model="linear", mechanism="fm", eps=5.0,
        bounds=dplr.Bounds({AGE: {"lower": 18, "upper": 99, "knots": 3}}, target=(0, 200)))),
    "plot_evaluation": lambda plots: plots.plot_evaluation(result("LabelEvaluation")),
    "Curve.plot": lambda plots: result("Curve").plot(),
}  # fmt: skip


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_is_one_figure_of_pyplots_which_shows_it_once(name):
    """pyplot shows its figures at the end of a cell; a figure as a result would be shown again."""
    pytest.importorskip("matplotlib").use("Agg")
    import matplotlib.pyplot as plt
    import numpy as np

    from dplr import plots

    plt.close("all")
    drawn = PICTURES[name](plots)
    assert len(plt.get_fignums()) == 1
    axes = np.ravel(drawn)
    assert {type(ax).__name__ for ax in axes} == {"Axes"}
    assert all(ax.figure is plt.gcf() for ax in axes)
    assert not hasattr(drawn, "_repr_png_")
    assert not hasattr(drawn, "_repr_html_")
    plt.close("all")


def test_a_form_loads_no_library():
    """Neither pandas nor matplotlib for a plan."""
    program = (
        "import sys, dplr; dplr.plan(n_rows=100, n_features=2, eps=1.0, mechanism='fm')._repr_html_();"
        "print(sorted({'pandas', 'matplotlib', 'sklearn', 'jinja2', 'IPython'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
