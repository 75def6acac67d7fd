"""A report says what was released, and nothing in it can run, load, or break out of its place."""

import base64
import copy
import dataclasses
import hashlib
import html
import html.parser
import math
import pathlib
import re
import sys
import types
import warnings

import numpy as np
import pandas as pd
import pytest
import sklearn.linear_model
from scipy.special import expit

import dplr
import dplr.plots
from dplr.plots._view import printable
from dplr.report import report_html, write_report
from made_models import HOSTILE, fitted, of_three_labels

VOID = {"meta", "br", "wbr", "hr", "img", "input", "link"}
PAGE_TAGS = {
    "html", "head", "meta", "title", "style", "body", "header", "main", "footer", "section", "h1", "h2", "h3", "p",
    "ul", "li", "dl", "dt", "dd", "div", "bdi", "strong", "figure", "figcaption", "table", "caption", "thead", "tbody",
    "tr", "th", "td", "data", "wbr", "details", "summary",
}  # fmt: skip
PICTURE_TAGS = {"svg", "g", "path", "defs", "use", "text", "tspan", "clippath", "rect"}


class Page(html.parser.HTMLParser):
    """Elements with their attributes, the text outside style sheets; fails where tags do not match."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.elements, self.texts, self.open, self.style = [], [], [], ""
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        assert len(dict(attrs)) == len(attrs)
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        assert "svg" in self.open
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_comment(self, data):
        raise AssertionError(f"a comment: {data}")

    def handle_data(self, data):
        if self.open and self.open[-1] == "style":
            self.style += data
        else:
            self.texts.append(data)

    @property
    def words(self):
        return " ".join("".join(self.texts).split())

    def all(self, tag):
        return [attributes for name, attributes in self.elements if name == tag]


def words_of(markup):
    """Text without its markup, on one line."""
    return " ".join(html.unescape(re.sub(r"<[^>]*>", "", markup)).split())


def tables_of(page):
    """Heads, and name -> cells, each with its text and the values of its numbers in every digit."""
    found = []
    for table in re.findall(r"<table.*?</table>", page, re.S):
        head, *rows = re.findall(r"<tr>(.*?)</tr>", table, re.S)
        heads = [words_of(each) for each in re.findall(r"<th.*?</th>", head, re.S)][1:]
        cells = {words_of(re.search(r"<th.*?</th>", row, re.S)[0]): re.findall(r"<td[^>]*>(.*?)</td>", row, re.S)
                 for row in rows}  # fmt: skip
        values = {name: [re.findall(r'value="(.*?)"', cell) for cell in row] for name, row in cells.items()}
        texts = {name: [words_of(cell) for cell in row] for name, row in cells.items()}
        found.append((heads, texts, {name: [float(v[0]) if v else None for v in row] for name, row in values.items()}))
    return found


def hostile_model():
    rng = np.random.default_rng(0)
    names = [*HOSTILE[:-1], "x\ny\x00"]  # pandas refuses lone surrogates
    X = pd.DataFrame(rng.uniform(0, 1, (200, len(names))), columns=names)
    labels = ("<b>no</b>\u202e", "</svg><script>")
    y = np.where(X.iloc[:, 0] > 0.5, *labels)
    bounds = dplr.Bounds(dict.fromkeys(names, (0, 1)), target=labels)
    return dplr.fit(X, y, mechanism="output", eps=2.0, bounds=bounds)


@pytest.fixture(scope="module")
def models():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dplr.PrivacyWarning)
        warnings.simplefilter("ignore", dplr.UtilityWarning)
        found = {
            "fm": fitted("fm"),
            "objective": fitted("objective", delta=1e-6),
            "output": fitted("output"),
            "none": fitted("none", eps=math.inf),
            "ngd": fitted("ngd", delta=1e-6, with_public=True),
            "score": fitted("score", delta=1e-6, rows=20_000, spread=60),
            "linear": fitted("fm", "linear", rows=20_000),
            "slopes": fitted(dplr.FunctionalMechanism(intervals="robust"), rows=20_000),
            "svm": fitted("objective", "svm"),
            "two": fitted("objective", columns=("age", "hours")),
            "add_remove": fitted("fm", neighbouring="add_remove", n_rows=4321),
            "seeded": fitted("output", rng=987654321),
        }
    models = {name: est for name, (est, _, _) in found.items()} | {"hostile": hostile_model()}
    models["no_bounds"] = dplr.fit(np.full((50, 2), 0.5), np.arange(50) % 2, eps=1.0)
    many = of_three_labels(3)
    many.privacy_ = models["fm"].privacy_
    return models | {"three_labels": many}


@pytest.fixture(scope="module")
def pages(models):
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a report is made without a warning
        return {name: report_html(est, title=f"Model of <{name}>") for name, est in models.items()}


EVERY = [
    "slopes", "fm", "objective", "output", "none", "ngd", "score", "linear", "svm", "two", "add_remove", "seeded",
    "hostile", "no_bounds", "three_labels",
]  # fmt: skip


# ---- the page ----


@pytest.mark.parametrize("name", EVERY)
def test_page_is_well_formed_and_holds_only_known_elements(pages, name):
    page = Page(pages[name])
    assert pages[name].startswith("<!DOCTYPE html>\n<html lang=")
    assert {tag for tag, _ in page.elements} <= PAGE_TAGS | PICTURE_TAGS
    assert [len(page.all(tag)) for tag in ("html", "title", "h1", "main", "style")] == [1] * 5
    assert {"name": "viewport", "content": "width=device-width, initial-scale=1"} in page.all("meta")
    assert f"Model of <{name}>" in page.words


@pytest.mark.parametrize("name", EVERY)
def test_page_can_neither_run_nor_load_anything(pages, name):
    page = Page(pages[name])
    for _, attributes in page.elements:
        assert not any(key.startswith("on") or key in ("style", "src", "srcset", "action") for key in attributes)
        for key, value in attributes.items():
            if key in ("href", "clip-path"):
                assert re.fullmatch(r"#[\w-]+|url\(#[\w-]+\)", value)
    markup = re.sub(r">[^<]*<", "><", pages[name])
    assert "://" not in markup
    assert "url(" not in page.style
    assert "@import" not in page.style


@pytest.mark.parametrize("name", EVERY)
def test_policy_allows_the_one_style_sheet_and_nothing_else(pages, name):
    page = Page(pages[name])
    digest = base64.b64encode(hashlib.sha256(page.style.encode()).digest()).decode()
    (policy,) = [meta["content"] for meta in page.all("meta") if meta.get("http-equiv") == "Content-Security-Policy"]
    parts = [part.strip() for part in policy.split(";")]
    assert parts == ["default-src 'none'", f"style-src 'sha256-{digest}'", "base-uri 'none'", "form-action 'none'"]


@pytest.mark.parametrize("name", EVERY)
def test_identifiers_are_unique_and_references_lead_somewhere(pages, name):
    elements = Page(pages[name]).elements
    own = [attributes["id"] for _, attributes in elements if "id" in attributes]
    assert len(own) == len(set(own))
    for _, attributes in elements:
        asked = [attributes[key] for key in ("href", "clip-path", "aria-labelledby") if key in attributes]
        assert {re.sub(r"^url\(#|^#|\)$", "", value) for value in asked} <= set(own)


def test_every_picture_has_words_for_who_cannot_see_it(pages):
    for name in EVERY:
        pictures = Page(pages[name]).all("svg")
        assert all(picture["role"] == "img" and len(picture["aria-label"]) > 20 for picture in pictures)


def test_nothing_is_drawn_of_the_model_without_how_far_off_it_may_be(pages):
    """The pictures of `ngd` are of its way."""
    drawn = {"slopes": 1, "score": 1, "linear": 1, "output": 1, "objective": 0, "svm": 0, "none": 0, "ngd": 2}
    assert {name: len(Page(pages[name]).all("svg")) for name in drawn} == drawn


def test_the_strongest_column_comes_first_and_not_the_one_with_the_largest_effect():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.uniform(0, 1, 20_000), rng.random(20_000) < 0.01])
    y = X @ [1.0, 1.5] + rng.normal(0, 0.3, 20_000)
    bounds = dplr.Bounds([(0, 1), (0, 1)], target=(-2, 5))
    est = dplr.fit(X, y, model="linear", aim="coefficients", eps=4.0, delta=1e-6, bounds=bounds)
    first, second, _ = tables_of(report_html(est))[0][1]
    assert (first, second) == ("column 0", "column 1")
    assert abs(est.coef_[0]) < abs(est.coef_[1])
    from matplotlib.figure import Figure

    from dplr.plots import plot_coefficients

    ax = plot_coefficients(est, Figure().subplots())
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["column 0", "column 1"]


def test_hostile_names_are_text_everywhere(pages):
    page = Page(pages["hostile"])
    for name in HOSTILE[:-1]:
        assert printable(name, 80) in page.words  # table
        assert printable(name, 28) in page.texts  # picture
    assert "“<b>no</b>" in page.words or "“</svg><script>”" in page.words
    assert "{{ 7*7 }}" in page.words
    for char in ("\u202e", "\x00", "\x1b"):
        assert char not in pages["hostile"]


def test_a_forged_statement_is_text_too(models):
    """A model file may hold any text as source and version."""
    forged = copy.copy(models["fm"])
    forged.privacy_ = dataclasses.replace(forged.privacy_, source="\u202e<b>\x1b[31m", version="\x07\u202e")
    page = report_html(forged)
    assert not {"\u202e", "\x1b", "\x07"} & set(page)
    assert "<b>" not in page


def test_descent_of_three_classes_is_reported_without_a_picture_of_its_way():
    """It has a history for each class."""
    rng = np.random.default_rng(0)
    X, y = rng.uniform(-0.5, 0.5, (300, 2)), rng.integers(0, 3, 300)
    est = dplr.fit(X, y, mechanism="ngd", eps=1.0, delta=1e-6, classes=[0, 1, 2])
    assert sorted(est.history_) == [0, 1, 2]
    assert "norm of each released gradient" not in report_html(est)
    with pytest.raises(ValueError, match="must have one history, and not one for each class"):
        dplr.plots.plot_history(est)


def test_title_is_text_too(models):
    page = Page(report_html(models["fm"], title="</title><script>alert(1)</script>\n\u202e"))
    assert len(page.all("script")) == 0
    assert "</title><script>alert(1)</script>" in page.words


# ---- what it says ----


@pytest.mark.parametrize("name", EVERY)
def test_every_line_of_the_privacy_statement_is_in_the_page(pages, models, name):
    words = Page(pages[name]).words
    statement = models[name].privacy_
    for label, text in statement.lines:
        assert " ".join(printable(text).split()) in words
        assert label in words or label == "assumed"
    assert f"{statement.eps:g}" in words or math.isinf(statement.eps)


@pytest.mark.parametrize("name", EVERY)
def test_the_exact_statement_has_the_coefficients_that_predict_in_every_digit(pages, models, name):
    est = models[name]
    *_, (_, texts, values) = tables_of(pages[name])
    np.testing.assert_array_equal(list(values.values()), np.column_stack([*est.coef_.T, est.intercept_]).T
                                  if est.coef_.ndim == 2 else [*est.coef_[:, None], [est.intercept_]])  # fmt: skip
    assert list(texts)[-1] == "(intercept)"


def across(est):
    """From where to where each column goes."""
    pairs = zip(est.coef_names_, est.bounds.layout.pairs, strict=True)
    return np.diff([est.ranges_.get(name, pair) for name, pair in pairs]).ravel()


@pytest.mark.parametrize("name", ["objective", "ngd", "svm", "two", "none"])
def test_without_intervals_the_first_table_has_coefficients_and_effects_of_which_two_digits_are_shown(
    pages, models, name
):
    est = models[name]
    heads, texts, values = tables_of(pages[name])[0]
    assert heads[1:] == ["from … to", "effect across them"]
    coef, effects = np.ravel(est.coef_), np.ravel(est.coef_) * across(est)
    order = np.argsort(-np.abs(effects), kind="stable")  # the largest effect first
    assert [*texts] == [*np.array(est.coef_names_)[order], "(intercept)"]
    np.testing.assert_array_equal([row[0] for row in values.values()], [*coef[order], *np.ravel(est.intercept_)])
    np.testing.assert_array_equal([row[2] for row in [*values.values()][:-1]], effects[order])
    digits = [len(re.sub(r"e.*|\D", "", cell).lstrip("0")) for row in texts.values() for cell in (row[0], row[2])]
    assert max(digits) <= (4 if name == "none" else 2)
    assert "There are no confidence intervals" in Page(pages[name]).words


@pytest.mark.parametrize("name", ["slopes", "linear", "score"])
def test_with_intervals_the_first_table_is_that_of_the_summary_to_two_digits_of_its_errors(pages, models, name):
    est = models[name]
    lines = {line.name: line for line in est.summary().lines}
    assert any(line.bounded for line in lines.values())
    heads, texts, values = tables_of(pages[name])[0]
    assert "its 95 % interval" in heads[0]
    for label, line in lines.items():
        if not line.bounded:
            assert texts[label][0] == "cannot say"
            continue
        assert values[label][0] == line.estimate
        number, low, high = (float(part.replace("\u2212", "-").replace(",", ""))
                             for part in re.fullmatch(r"(\S+) \[(\S+), (\S+)\]", texts[label][0]).groups())  # fmt: skip
        np.testing.assert_allclose([number, low, high], [line.estimate, line.low, line.high],
                                   atol=0.05 * (line.high - line.low))  # fmt: skip
    words = Page(pages[name]).words
    assert "no standard errors" not in words
    assert "no confidence intervals" not in words
    assert "sampling and privacy noise" in words


def test_where_noise_was_added_to_coefficients_two_deviations_stand_beside_each(pages, models):
    est = models["output"]
    heads, texts, values = tables_of(pages["output"])[0]
    assert heads[0].endswith("± two deviations of the noise")
    reach = across(est) / 2 / est._record.prep.geometry.half_width
    for name, deviation in zip(est.coef_names_, est.privacy_.released["coef"].deviation / reach, strict=True):
        number, noise = (float(part.replace("\u2212", "-")) for part in texts[name][0].split(" ± "))
        assert noise == pytest.approx(2 * deviation, rel=0.05)
        assert number == pytest.approx(values[name][0], abs=0.05 * deviation)
        assert len(re.sub(r"\D", "", str(noise)).lstrip("0")) <= 3


@pytest.mark.parametrize("mechanism", ["objective", "output", "fm"])
@pytest.mark.parametrize("reference", [None, "other"])
def test_levels_stand_against_a_reference_level_in_table_and_picture(mechanism, reference):
    rng = np.random.default_rng(3)
    X = pd.DataFrame({"age": rng.uniform(18, 99, 4000), "loan": rng.choice(["no", "yes", "other"], 4000)})
    y = np.where(X["age"] + 40 * (X["loan"] == "yes") + rng.normal(0, 20, 4000) > 70, "b", "a")
    levels = {"levels": ["no", "yes", "other"]} | ({"reference": reference} if reference else {})
    bounds = dplr.Bounds({"age": (18, 99), "loan": levels}, target=("a", "b"))
    page = report_html(dplr.LogisticRegression(eps=8.0, bounds=bounds, mechanism=mechanism).fit(X, y))
    left_out = reference or "no"
    _, texts, _ = tables_of(page)[0]
    shown = {f"loan={level}" for level in ("no", "yes", "other") if level != left_out}
    assert {name for name in texts if name.startswith("loan")} == shown
    assert all(texts[name][1] == f"instead of {left_out}" for name in shown)
    picture = re.search("<svg.*?</svg>", page, re.S)
    assert (picture is None) is (mechanism != "output")  # of which the noise is known
    if picture:
        assert f"loan={left_out}" not in picture[0]
        assert "loan=yes" in picture[0]
    assert "a reference level, which has the number 0" in Page(page).words


def test_effects_of_ranges_that_were_released_are_shown_beside_the_declared_bounds():
    rng = np.random.default_rng(3)
    X = pd.DataFrame({"income": rng.uniform(0, 50, 20_000), "age": rng.uniform(18, 99, 20_000)})
    bounds = dplr.Bounds({"income": (0, 100_000), "age": (18, 99)}, target=(0, 200))
    est = dplr.LinearRegression(eps=3.0, bounds=bounds).fit(X, X["income"] + X["age"])
    assert "income" in est.ranges_
    _, texts, values = tables_of(report_html(est))[0]
    low, high = est.ranges_["income"]
    assert texts["income"][1].endswith("(declared 0 to 100,000)")
    assert values["income"][2] == pytest.approx(values["income"][0] * (high - low))
    assert "clipped to ranges that were released first" in Page(report_html(est)).words


def test_of_many_columns_the_first_fifteen_are_shown_and_the_others_unfold(pages):
    names = [f"c{j}" for j in range(20)]
    X = pd.DataFrame(np.random.default_rng(0).uniform(0, 1, (500, 20)), columns=names)
    bounds = dplr.Bounds(dict.fromkeys(names, (0, 1)), target=("no", "yes"))
    page = report_html(dplr.fit(X, np.where(X["c0"] > 0.5, "yes", "no"), eps=3.0, mechanism="objective", bounds=bounds))
    first, rest, exact = tables_of(page)
    assert [len(table[1]) for table in (first, rest, exact)] == [15, 6, 21]
    assert {*first[1], *rest[1]} == {*exact[1]}
    sizes = [abs(row[2]) for table in (first, rest) for row in table[2].values() if row[2] is not None]
    assert sizes == sorted(sizes, reverse=True)
    assert "5 more columns, and the intercept" in Page(page).words
    assert "more columns, and the intercept" not in Page(pages["fm"]).words


@pytest.mark.parametrize("name", EVERY)
def test_the_page_says_what_the_model_says_then_what_is_promised_and_has_constants_folded_at_its_end(pages, name):
    heads = [words_of(each) for each in re.findall(r"<h2.*?</h2>", pages[name])]
    assert heads == [
        "What the model says", "What is promised to one person", "What the publisher answers for",
        "The exact statement",
    ]  # fmt: skip
    shown, folded = pages[name].split('<h2 id="exact">')
    assert shown.rstrip().endswith("<details>\n<summary>")
    for constant in ("e-20", "kappa", "theorem", "on a grid of", "sensitivity", "norm-Gamma", "mu^2"):
        assert constant not in words_of(re.sub("<style>.*?</style>", "", shown))
    assert "on a grid of" in words_of(folded) or name == "none"
    assert "details::details-content" in Page(pages[name]).style  # it is printed


def test_a_delta_that_nobody_chose_is_words_and_not_a_number_of_six_digits(pages, models):
    assert 0 < models["two"].privacy_.delta < 1e-15
    words = words_of(pages["two"].split('id="exact"')[0])
    assert "delta below 10^-19" in words
    assert f"{models['two'].privacy_.delta:g}" not in words
    assert "delta = 1e-06" in Page(pages["ngd"]).words


def test_noise_that_drowns_the_fit_is_said_before_the_first_number(pages):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"age": rng.uniform(18, 99, 80), "hours": rng.uniform(0, 80, 80)})
    bounds = dplr.Bounds({"age": (18, 99), "hours": (0, 80)}, target=("no", "yes"))
    with pytest.warns(dplr.UtilityWarning):
        est = dplr.LogisticRegression(eps=0.1, bounds=bounds).fit(X, np.where(X["age"] > 50, "yes", "no"))
    page = report_html(est)
    assert "Noise drowns this fit" in words_of(page.split('<h2 id="model">')[1].split("<svg")[0])
    assert "drowns" not in pages["two"]


def test_probabilities_are_those_that_the_model_predicts(pages, models):
    words = Page(pages["two"]).words
    est = models["two"]
    shares = [f"{100 * expit(score):.0f} %" for score in est._record.link.log_odds(np.array([-2.0, -1, 0, 1, 2]))]
    assert f"predict “yes” with the probabilities {', '.join(shares)}." in words
    assert "with the probabilities" not in Page(pages["linear"]).words + Page(pages["svm"]).words


def test_a_report_leaves_no_picture_open(models):
    from matplotlib import pyplot

    before = pyplot.get_fignums()
    report_html(models["ngd"])
    assert pyplot.get_fignums() == before


def test_large_numbers_are_written_out_and_names_may_be_broken_at_their_joints():
    from dplr.report._page import breakable, number

    assert [number(value) for value in (14863.2, -2349876.0, 9999.4, 1e7, 0.000123456, 0.0, 12345678.0)] == [
        "14,860", "\u22122,350,000", "9999", "1e+07", "0.0001235", "0", "1.235e+07",
    ]  # fmt: skip
    assert breakable("marital_status=Married-civ spouse") == ["marital_", "status=", "Married-", "civ ", "spouse"]
    assert "".join(breakable("=a__b=")) == "=a__b="


def test_a_wide_table_becomes_lists_on_a_narrow_screen(pages):
    page = Page(pages["score"])
    assert [attributes.get("class") for tag, attributes in page.elements if tag == "table"] == ["many", None]
    assert {each["data-head"] for each in page.all("td")} > {"odds ratio per unit, and its interval", "from … to"}
    assert "class" not in next(each for tag, each in Page(pages["two"]).elements if tag == "table")


def test_odds_ratios_are_shown_beside_their_intervals_alone(pages, models):
    """Clipped gradients, a cut loss, another quadratic and a large ridge give no log odds; others have no intervals."""
    estimands = {"fm": "margin", "objective": "margin", "ngd": "margin", "output": "margin", "none": "log-odds"}
    for name, estimand in (estimands | {"score": "log-odds"}).items():
        words = Page(pages[name]).words
        assert models[name].privacy_.estimand == estimand
        assert ("odds ratio per unit, and its interval" in words) is (name == "score")
        assert ("Coefficients are not log odds" in words) >= (name in ("objective", "ngd", "output"))
        assert ("no odds ratios here" in words) is (name != "score")


def test_three_labels_have_a_column_each(pages, models):
    heads, _, values = tables_of(pages["three_labels"])[0]
    est = models["three_labels"]
    order = np.argsort(-np.abs(est.coef_).max(axis=0), kind="stable")
    np.testing.assert_array_equal(list(values.values()), [*est.coef_.T[order], est.intercept_])
    assert heads == ["red", "_green", "$blue$"]
    assert "red_green$blue$" in "".join(Page(pages["three_labels"]).texts)


@pytest.mark.parametrize("name", EVERY)
def test_what_is_not_private_has_a_banner(pages, name):
    alarms = [attributes for _, attributes in Page(pages[name]).elements if attributes.get("class") == "alarm"]
    assert len(alarms) == (name in ("seeded", "none"))


def test_a_seeded_model_is_nowhere_called_private(pages):
    words = Page(pages["seeded"]).words
    assert "Not private: the noise came from a seed." in words
    assert "Nothing, since the noise is known" in words
    assert "Fitted without differential privacy (noise from a seed)" in words
    assert "noise from a seed: not private" in words  # in the picture
    assert "987654321" not in pages["seeded"]


def test_a_model_without_noise_is_nowhere_called_private(pages):
    words = Page(pages["none"]).words
    assert "No privacy." in words
    assert "Nothing: the numbers may tell everything about a record." in words
    assert "There is no promise. Neither this page nor the following may be published" in words
    assert "contains deliberate noise" not in words


@pytest.mark.parametrize("name", ["fm", "add_remove", "ngd", "two"])
def test_the_promise_is_three_sentences_in_plain_words_with_the_right_numbers(pages, models, name):
    section = re.search(r'<h2 id="promise">.*?</section>', pages[name], re.S)[0]
    sentences = [words_of(each) for each in re.findall(r"<p>.*?</p>", section, re.S)]
    assert len(sentences) == 3
    assert set(sentences[:2]) <= set(models[name].privacy_.brief)
    assert "7.39 times as likely (eps = 2)" in sentences[0]  # exp(2) = 7.389, rounded up
    assert "right at most 88.1 % of the time" in sentences[1]  # exp(2) / (1 + exp(2)) = 0.8808, rounded up
    assert ("whether one record was used" in sentences[1]) is (name == "add_remove")
    assert ("delta" in sentences[0]) is bool(models[name].privacy_.delta)


def test_the_number_of_records_is_not_in_the_page_under_add_remove(pages):
    text = re.sub(r"<svg.*?</svg>", "", pages["add_remove"], flags=re.S)
    assert not re.search(r"\b300\b", text)  # so many were fitted; 4321 is the declared reference
    assert "4321" in text
    assert "the exact number of records" in text
    assert re.search(r"\b300\b", pages["fm"])


def test_page_warns_of_what_is_not_covered(pages):
    words = Page(pages["fm"]).words
    for secret in ("warnings and errors", "scores of this model on private rows", "time and memory", "a seed"):
        assert secret in words


# ---- what it is made of ----


@pytest.mark.parametrize("name", ["fm", "objective", "ngd", "score", "linear", "svm"])
def test_page_depends_on_released_numbers_and_public_facts_alone(pages, models, name, tmp_path):
    est = models[name]
    public = ("coef_", "intercept_", "classes_", "privacy_", "history_", "coef_names_", "ranges_", "bounds", "_kind")
    bare = types.SimpleNamespace(**{key: getattr(est, key) for key in public if hasattr(est, key)})
    if hasattr(est, "predict_proba"):
        bare.predict_proba = None
    dplr.save_model(est, tmp_path / "model.json")  # which holds nothing else
    loaded = dplr.load_model(tmp_path / "model.json")
    bare.summary, bare._record = loaded.summary, loaded._record
    assert report_html(bare, title=f"Model of <{name}>") == pages[name]


def test_the_same_model_gives_the_same_file(models, tmp_path):
    path = write_report(models["two"], str(tmp_path / "model.html"), title="A")
    assert path == tmp_path / "model.html"
    assert path.read_text(encoding="utf-8") == report_html(models["two"], title="A")
    assert write_report(models["hostile"], tmp_path / "model.html").read_text(encoding="utf-8").count("</html>") == 1


def test_a_users_style_of_pictures_does_not_change_the_page(pages, models):
    import matplotlib

    with matplotlib.rc_context({"text.usetex": True, "font.size": 30, "svg.fonttype": "path"}):
        assert report_html(models["fm"], title="Model of <fm>") == pages["fm"]


def test_without_jinja2_or_matplotlib_the_error_names_the_extra(models, monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(ModuleNotFoundError, match=r'jinja2 and matplotlib.*pip install "\.\[plots\]"'):
        report_html(models["fm"])
    monkeypatch.undo()
    monkeypatch.setitem(sys.modules, "matplotlib.style", None)
    with pytest.raises(ModuleNotFoundError, match=r'jinja2 and matplotlib.*pip install "\.\[plots\]"'):
        report_html(models["fm"])


def test_only_fitted_models_with_a_statement_are_reported(models, tmp_path):
    with pytest.raises(ValueError, match="must be a fitted linear model"):
        write_report(dplr.LogisticRegression(), tmp_path / "model.html")
    plain = sklearn.linear_model.LogisticRegression().fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(ValueError, match="must have a privacy statement"):
        write_report(plain, tmp_path / "model.html")
    assert list(tmp_path.iterdir()) == []


def test_snippets_of_the_documentation_run(models, tmp_path, monkeypatch):
    text = (pathlib.Path(__file__).parents[2] / "docs" / "use" / "report.md").read_text(encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    namespace = {"est": models["fm"]}
    for snippet in re.findall(r"```python\n(.*?)```", text, re.S):
        exec(snippet, namespace)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["coefficients.svg", "model.html"]


@pytest.mark.parametrize("neighbouring", ["replace_one", "add_remove"])
def test_page_of_a_model_of_persons_promises_to_persons_and_shows_no_id(neighbouring):
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 1, (400, 2))
    ids = [f"Ingeborg-{k // 4}" for k in range(400)]
    options = {"neighbouring": neighbouring, "n_rows": 100, "bounds": dplr.Bounds([(0, 1)] * 2), "person": "case <b>"}
    est = dplr.LogisticRegression(eps=0.5, mechanism="fm", **options).fit(X, X[:, 0] > 0.5, person=ids)
    page = report_html(est)
    text = " ".join(html.unescape(re.sub(r"<[^>]*>", " ", page)).split())
    assert "What is protected is one person with all their records, however many: all that have one value of" in text
    assert "with two persons eps is 1, with k persons k times 0.5" in text
    assert "all other persons included" in text
    assert "the number of records, of the whole data and of each person, and the ids;" in text
    assert "What is protected is one record" not in text
    assert "Ingeborg" not in page
    assert "<b>" not in page
    promised = [printable(sentence) for sentence in est.privacy_.brief[:2]]
    assert ("whether one person was used" in promised[1]) is (neighbouring == "add_remove")
    assert all(sentence in text for sentence in promised)


@pytest.mark.parametrize(
    ("name", "start"),
    [
        ("score", "If the rows follow a logistic model, the true value"),
        ("slopes", "The true value"),
        ("linear", "If the target varies equally in all rows, the true value"),
    ],
)
def test_coverage_is_promised_under_the_assumption_of_the_intervals(pages, name, start):
    words = Page(pages[name]).words
    sentence = words[: words.index(" lies in each interval")].rpartition(". ")[2]
    assert sentence == start


@pytest.mark.filterwarnings("ignore::dplr.UtilityWarning")
@pytest.mark.parametrize("aim", ["prediction", "coefficients"])
def test_a_page_says_from_where_numbers_count_in_products_and_its_recipe_minds_it(aim):
    X = np.random.default_rng(0).uniform(18, 90, (900, 2))
    texts = []
    for products in ([("age", "wage")], []):
        bounds = dplr.Bounds({"age": (18, 90), "wage": (0, 100)}, products=products)
        est = dplr.fit(pd.DataFrame(X, columns=["age", "wage"]), X[:, 0] > 50, eps=2.0, bounds=bounds, aim=aim)
        texts.append(Page(report_html(est)).words)
    assert texts[0].count("In products age counts from 54, wage counts from 50: the middle of their bounds.") == 1
    recipe = "by the values (a product is that of its columns, each number less the middle of its bounds) and add"
    assert recipe in texts[0]
    assert "by the values and add the intercept" in texts[1]
    assert "In products" not in texts[1]
    assert "less the middle" not in texts[1]
