"""A report says what was released, and nothing in it can run, load, or break out of its place."""

import base64
import copy
import dataclasses
import hashlib
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

import dplr
import dplr.plots
from dplr.plots._view import printable
from dplr.report import report_html, write_report
from made_models import HOSTILE, fitted, of_three_labels

VOID = {"meta", "br", "wbr", "hr", "img", "input", "link"}
PAGE_TAGS = {
    "html", "head", "meta", "title", "style", "body", "header", "main", "footer", "section", "h1", "h2", "h3", "p",
    "ul", "li", "dl", "dt", "dd", "div", "bdi", "strong", "figure", "figcaption", "table", "caption", "thead", "tbody",
    "tr", "th", "td", "data", "wbr",
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


def hostile_model():
    rng = np.random.default_rng(0)
    names = [*HOSTILE[:-1], "x\ny\x00"]  # pandas refuses lone surrogates
    X = pd.DataFrame(rng.uniform(0, 1, (200, len(names))), columns=names)
    labels = ("<b>no</b>\u202e", "</svg><script>")
    y = np.where(X.iloc[:, 0] > 0.5, *labels)
    bounds = dplr.Bounds(dict.fromkeys(names, (0, 1)), target=labels)
    return dplr.fit(X, y, mechanism="objective", eps=2.0, bounds=bounds)


@pytest.fixture(scope="module")
def models():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dplr.PrivacyWarning)
        found = {
            "fm": fitted("fm"),
            "objective": fitted("objective", delta=1e-6),
            "output": fitted("output"),
            "none": fitted("none", eps=math.inf),
            "ngd": fitted("ngd", delta=1e-6, with_public=True),
            "score": fitted("score", delta=1e-6),
            "linear": fitted("fm", "linear"),
            "svm": fitted("objective", "svm"),
            "two": fitted("objective", columns=("age", "hours")),
            "add_remove": fitted("fm", neighbouring="add_remove", n_rows=4321),
            "seeded": fitted("fm", rng=987654321),
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
    "fm", "objective", "output", "none", "ngd", "score", "linear", "svm", "two", "add_remove", "seeded", "hostile",
    "no_bounds", "three_labels",
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
        assert pictures
        assert all(picture["role"] == "img" and len(picture["aria-label"]) > 20 for picture in pictures)
    assert [len(Page(pages[name]).all("svg")) for name in ("fm", "two", "ngd")] == [1, 2, 3]


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


def deviations(est):
    """Of the noise of each coefficient in the user's units: a scaled column is (x - middle) / reach."""
    reach = np.diff(est.bounds.layout.pairs).ravel() / 2 / est._record.prep.geometry.half_width
    return est.privacy_.released["coef"].deviation / reach


@pytest.mark.parametrize("name", sorted(set(EVERY) - {"three_labels"}))
def test_numbers_are_those_of_the_estimator_in_every_digit(pages, models, name):
    est = models[name]
    coef, intercept = np.ravel(est.coef_), np.ravel(est.intercept_)
    columns = [coef]
    with_bounds = getattr(est, "bounds", None) is not None
    effects = coef
    if with_bounds:  # a narrower range may have been released
        ends = [
            est.ranges_.get(name, pair) for name, pair in zip(est.coef_names_, est.bounds.layout.pairs, strict=True)
        ]
        effects = coef * [high - low for low, high in ends]
    columns += [effects] * with_bounds
    order = np.argsort(-np.abs(effects), kind="stable")  # the largest effect first
    *shown, last = [float(item["value"]) for item in Page(pages[name]).all("data")]
    table = np.reshape(shown, (len(coef), -1))
    np.testing.assert_array_equal(table[:, : len(columns)], np.column_stack(columns)[order])
    assert last == intercept
    assert table.shape[1] == len(columns) + (name == "output")
    if name == "output":
        np.testing.assert_allclose(table[:, -1], deviations(est)[order], rtol=1e-14)


def test_large_numbers_are_written_out_and_names_may_be_broken_at_their_joints():
    from dplr.report._page import breakable, number

    assert [number(value) for value in (14863.2, -2349876.0, 9999.4, 1e7, 0.000123456, 0.0, 12345678.0)] == [
        "14,860", "\u22122,350,000", "9999", "1e+07", "0.0001235", "0", "1.235e+07",
    ]  # fmt: skip
    assert breakable("marital_status=Married-civ spouse") == ["marital_", "status=", "Married-", "civ ", "spouse"]
    assert "".join(breakable("=a__b=")) == "=a__b="


def test_a_wide_table_becomes_lists_on_a_narrow_screen(pages):
    page = Page(pages["output"])
    assert [attributes.get("class") for tag, attributes in page.elements if tag == "table"] == ["many"]
    assert {each["data-head"] for each in page.all("td")} == {
        "coefficient", "bounds", "effect across them", "deviation of the noise",
    }  # fmt: skip
    assert "class" not in next(each for tag, each in Page(pages["fm"]).elements if tag == "table")


def test_odds_ratios_are_shown_beside_their_intervals_alone(pages, models):
    """Clipped gradients, a cut loss, another quadratic and a large ridge give no log odds; others have no intervals."""
    estimands = {"fm": "margin", "objective": "margin", "ngd": "margin", "output": "margin", "none": "log-odds"}
    for name, estimand in (estimands | {"score": "log-odds"}).items():
        words = Page(pages[name]).words
        assert models[name].privacy_.estimand == estimand
        assert ("odds ratio per unit, and its interval" in words) is (name == "score")
        assert ("Coefficients are not log odds" in words) is (estimand == "margin")
        assert ("no odds ratios here" in words) is (name != "score")


def test_three_labels_have_a_column_each(pages, models):
    shown = [float(item["value"]) for item in Page(pages["three_labels"]).all("data")]
    est = models["three_labels"]
    order = np.argsort(-np.abs(est.coef_).max(axis=0), kind="stable")
    np.testing.assert_array_equal(shown, [*est.coef_.T[order].ravel(), *est.intercept_])
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
    assert "holds noise on purpose" not in words


def test_the_promise_in_plain_words_has_the_right_numbers(pages):
    words = Page(pages["fm"]).words
    assert "at most exp(eps) = 7.389 times what it would have been." in words
    assert "which of two possible records of yours was used" in words
    assert "right at most 88.1 % of the time" in words  # exp(2) / (1 + exp(2)) = 0.8808, rounded up
    assert "whether your record was used" in Page(pages["add_remove"]).words
    assert "plus delta = 1e-06" in Page(pages["ngd"]).words


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
    public = ("coef_", "intercept_", "classes_", "privacy_", "history_", "coef_names_", "ranges_", "bounds")
    bare = types.SimpleNamespace(**{key: getattr(est, key) for key in public if hasattr(est, key)})
    if hasattr(est, "predict_proba"):
        bare.predict_proba = None
    dplr.save_model(est, tmp_path / "model.json")  # which holds nothing else
    bare.summary = dplr.load_model(tmp_path / "model.json").summary
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
    with pytest.raises(ModuleNotFoundError, match=r'jinja2 and matplotlib.*pip install "dplr\[plots\]"'):
        report_html(models["fm"])
    monkeypatch.undo()
    monkeypatch.setitem(sys.modules, "matplotlib.style", None)
    with pytest.raises(ModuleNotFoundError, match=r'jinja2 and matplotlib.*pip install "dplr\[plots\]"'):
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
    question = "whether your records were used" if neighbouring == "add_remove" else "two possible sets of records"
    assert question in text
