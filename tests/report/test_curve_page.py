"""The page of a curve loads nothing, holds everything without its script, and its sliders point to what they say."""

import base64
import hashlib
import html.parser
import itertools
import json
import re

import pytest

import dplr
from browser import FOUND, browser
from dplr.report import curve_html, write_curve
from made_models import HOSTILE

VOID = {"meta", "wbr", "input"}
SETTINGS = list(itertools.product((0.1, 1.0, 3.0), (0.0, 1e-6), (500, 2000)))


class Page(html.parser.HTMLParser):
    """Elements with their attributes and text; fails where tags do not match."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.elements, self.open = [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        assert len(dict(attrs)) == len(attrs)
        self.elements.append([tag, dict(attrs), ""])
        if tag not in VOID:
            self.open.append(self.elements[-1])

    def handle_startendtag(self, tag, attrs):
        self.elements.append([tag, dict(attrs), ""])

    def handle_endtag(self, tag):
        assert self.open.pop()[0] == tag

    def handle_comment(self, data):
        raise AssertionError(f"a comment: {data}")

    def handle_data(self, data):
        for element in self.open:
            element[2] += data

    def all(self, tag):
        return [(attributes, text) for name, attributes, text in self.elements if name == tag]


def curve_of(names=("age", "hours"), labels=("no", "yes")):
    bounds = dplr.Bounds(dict.fromkeys(names, (0, 90)), target=labels)
    levels, deltas, counts = (sorted(set(values)) for values in zip(*SETTINGS, strict=True))
    assume = dplr.Assumptions(tables=2, fits=2)
    return dplr.plan_curve(bounds=bounds, eps=levels, delta=deltas, n_rows=counts, assume=assume)


@pytest.fixture(scope="module")
def curve():
    return curve_of()


@pytest.fixture(scope="module")
def text(curve):
    return curve_html(curve, title="Who earns more?")


def test_the_page_has_a_row_for_every_point_and_a_promise_for_every_setting(curve, text):
    page = Page(text)
    rows = [each for each, _ in page.all("tr") if "data-n_rows" in each]
    assert len(rows) == len(curve.points)
    assert sum(each.get("class") == "auto" for each in rows) == len(SETTINGS)
    promises = [words for each, words in page.all("tr") if "data-eps" in each and "data-n_rows" not in each]
    assert len(promises) == 6
    assert any("20.09 times" in words and "95.3 %" in words for words in promises)
    assert len(page.all("figure")) == 4


def test_without_its_script_nothing_is_hidden_except_the_sliders(text):
    hidden = [(tag, each.get("id")) for tag, each, _ in Page(text).elements if "hidden" in each]
    assert hidden == [("form", "sliders")]
    table = text.partition('id="coefficients"')[2].partition("</table>")[0]
    assert re.findall(r"<td[^>]*></td>", table) == []


def test_nothing_is_loaded_and_only_the_one_script_and_style_may_run(text):
    page = Page(text)
    ((policy, _),) = [each for each in page.all("meta") if "http-equiv" in each[0]]
    (style,) = page.all("style")
    scripts = {each.get("type"): words for each, words in page.all("script")}
    assert set(scripts) == {None, "application/json"}
    digests = [base64.b64encode(hashlib.sha256(each.encode()).digest()).decode() for each in (scripts[None], style[1])]
    assert policy["content"] == (
        f"default-src 'none'; script-src 'sha256-{digests[0]}'; style-src 'sha256-{digests[1]}'; base-uri 'none'; "
        "form-action 'none'"
    )
    assert "url(" not in style[1]
    for tag, attributes, _ in page.elements:
        assert tag not in {"link", "img", "iframe", "base", "object", "embed", "a"}
        assert not any(name.startswith("on") or name in {"src", "style"} for name in attributes)
        assert attributes.get("href", "#").startswith("#")
    for loads in ("fetch(", "XMLHttpRequest", "import(", "eval(", "innerHTML", "http:", "https:", "document.write"):
        assert loads not in scripts[None].replace("http://www.w3.org/2000/svg", "")


def test_sliders_have_labels_and_say_their_values(text):
    page = Page(text)
    inputs = {each["id"]: each for each, _ in page.all("input")}
    labels = {each["for"]: words for each, words in page.all("label")}
    assert set(inputs) == set(labels) == {"at-eps", "at-delta", "at-n_rows"}
    assert all(each["type"] == "range" and each["aria-valuetext"] for each in inputs.values())
    assert inputs["at-n_rows"]["data-stops"] == "500;2,000"
    assert inputs["at-eps"]["value"] == "1"


def test_hostile_names_stay_text():
    names = [name for name in HOSTILE if "\ud800" not in name] + ["</script><script>alert(2)</script>"]
    hostile = curve_html(curve_of(names, ("<b>no</b>", "</svg><script>")), title="</title><script>alert(3)</script>")
    page = Page(hostile)
    assert len(page.all("script")) == 2
    assert page.all("img") == []
    assert page.all("b") == []
    (data,) = [words for each, words in page.all("script") if each.get("type")]
    assert set("<>&") & set(data) == set()
    assert len(next(iter(json.loads(data).values()))) == len(names)
    shown = [words for _, words in page.all("bdi")]
    assert "<script>alert(1)</script>" in shown
    assert "</title><script>alert(3)</script>" in shown


def test_the_block_of_data_can_end_no_element():
    from dplr.report.curve import _as_json

    text = _as_json({"</script><!--": ["&lt;", 1]})
    assert set("<>&") & set(text) == set()
    assert json.loads(text) == {"</script><!--": ["&lt;", 1]}


def test_figures_on_the_page_are_those_of_the_curve(curve, text):
    page = Page(text)
    rows = [words for each, words in page.all("tr") if "data-n_rows" in each]
    for point, words in zip(curve.points, rows, strict=True):
        assert words.startswith(point.mechanism)
        assert f"{point.error:.4g} ± {float(f'{2 * point.standard_error:.2g}'):.4g}" in words


def test_the_page_says_that_objective_perturbation_has_a_delta_of_its_own(text):
    assert "a fit by objective states 5e-20 instead" in " ".join(words for _, words in Page(text).all("li"))


def test_a_page_is_written_whole_and_a_curve_can_write_it(curve, text, tmp_path):
    path = write_curve(curve, tmp_path / "a.html", title="Who earns more?")
    assert path.read_text(encoding="utf-8") == text
    assert curve.to_html(tmp_path / "b.html", title="Who earns more?").read_text(encoding="utf-8") == text


@pytest.mark.skipif(FOUND is None, reason="there is no Chromium")
@pytest.mark.parametrize("width", [390, 1280])
def test_sliders_move_what_a_browser_shows(curve, text, tmp_path, width):
    path = tmp_path / "page.html"
    path.write_text(text, encoding="utf-8")
    visible = "[...document.querySelectorAll('{}')].filter((each) => each.offsetParent).map((each) => each.innerText)"
    with browser() as open_page:
        page = open_page(path, width)
        assert page.value("document.documentElement.scrollWidth") <= width
        assert page.value("performance.getEntriesByType('resource').length") == 0

        def check(eps, delta, count):
            wanted = [p for p in curve.points if (p.eps, p.delta, p.n_rows) == (eps, delta, count)]
            rows = page.value(visible.format("#points tbody tr"))
            assert len(rows) == len(wanted)
            for row, point in zip(rows, wanted, strict=True):
                assert f"{point.error:.4g} ± " in row
            (caption,) = page.value(visible.format("figcaption"))
            assert f"for {count:,} records and delta = {delta:g}." in caption
            (promise,) = page.value(visible.format("#promises tbody tr"))
            assert promise.split()[0] == f"{eps:g}"
            said = f"At eps = {eps:g}, delta = {delta:g}, {count:,} records"
            assert page.value("document.getElementById('live').textContent").startswith(said)
            assert page.value("document.getElementById('at-eps').getAttribute('aria-valuetext')") == f"{eps:g}"
            (auto,) = [point for point in wanted if point.auto]
            cells = page.value(visible.format(f"#coefficients tbody td[data-mechanism={auto.mechanism}]"))
            shown = [[float(number) for number in cell.split(" / ")] for cell in cells]
            pairs = zip(auto.coef_noise, auto.coef_distance, strict=True)
            assert shown == [[pytest.approx(value, rel=1e-3) for value in pair] for pair in pairs]

        check(1.0, 1e-6, 2000)
        page.press("#at-eps", "ArrowRight")
        check(3.0, 1e-6, 2000)
        page.press("#at-eps", "ArrowRight")  # there is no further stop
        check(3.0, 1e-6, 2000)
        page.press("#at-delta", "Home")
        check(3.0, 0.0, 2000)
        page.drag("#at-n_rows", 0.02)
        check(3.0, 0.0, 500)
        page.press("#at-eps", "Home")
        check(0.1, 0.0, 500)
        at = page.value("document.querySelector('figure:not([hidden]) .cursor').getAttribute('x1')")
        ends = page.value("document.querySelector('figure:not([hidden]) svg').getAttribute('viewBox')").split()
        assert 0 < float(at) < float(ends[2]) / 3
