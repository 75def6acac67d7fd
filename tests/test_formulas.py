"""Formulas in Markdown can be read on a code host and by the documentation's renderer: delimiters, braces, commands."""

import pathlib
import re

import pytest

from loops import loop

ROOT = pathlib.Path(__file__).parents[1]
PAGES = sorted(page for top in ("docs", "src") for page in (ROOT / top).rglob("*.md"))
CODE = re.compile(r"^( *)```.*?^\1```$|``.+?``|`[^`\n]+`", re.MULTILINE | re.DOTALL)
DISPLAY = re.compile(r"^ *\$\$\n(.*?)\n *\$\$$", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"(?<![\w$])\$(?! )([^$\n]+?)(?<! )\$(?!\w)")
# Commands that MathJax and KaTeX both know, and that no page may misspell.
COMMANDS = (
    "alpha beta gamma delta varepsilon epsilon zeta eta theta iota kappa lambda mu nu "
    "xi pi rho sigma tau phi varphi chi psi omega ell Gamma Delta Theta "
    "Lambda Sigma Phi Psi Omega arccos cos cosh det dim exp inf lim ln log "
    "max min sin sinh sup tan tanh approx ast cap cdot cdots circ cup "
    "dots enspace equiv forall ge gg gt in infty int lang langle lbrace lceil leftarrow "
    "ldots le left lfloor ll lt lVert lvert mapsto mid mp nabla ne notin "
    "otimes partial perp pm prec preceq prime prod propto qquad quad rang rangle rbrace "
    "rceil rfloor right rVert rvert setminus sim simeq sqrt subset subseteq succ succeq sum "
    "thinspace times to top Vert begin end big Big bigg bigl bigr Bigl Bigr "
    "biggl biggr bar binom dfrac frac hat mathbb mathbf mathcal mathrm mathit operatorname overline "
    "tfrac text tilde underbrace widehat widetilde "
)


def faults_of_formula(formula):
    """What one of the two renderers would show wrongly, or not at all."""
    bare = re.sub(r"\\[\\{}]", "", formula)
    ends = [re.findall(rf"\\{word}\{{(\w+\*?)\}}", formula) for word in ("begin", "end")]
    depths = [bare[:place].count("{") - bare[:place].count("}") for place in range(len(bare) + 1)]
    return [
        fault
        for fault, found in {
            "braces": depths[-1] != 0 or min(depths) < 0,
            "left and right": len(re.findall(r"\\left\b", formula)) != len(re.findall(r"\\right\b", formula)),
            "begin and end": sorted(ends[0]) != sorted(ends[1]),
            "unknown command": not set(re.findall(r"\\([a-zA-Z]+)", formula)) <= set(COMMANDS.split()),
            "an escape that Markdown takes away": re.search(r"(?<!\\)\\[^a-zA-Z\\\s]", formula),
            "a sign that Markdown takes for its own": re.search(r"[|*]|<\S", formula),
        }.items()
        if found
    ]


def faults_of_page(text):
    """Formulas with faults, each with what is wrong, and dollars that belong to no formula."""
    rest = CODE.sub("", text)
    displayed = DISPLAY.findall(rest)
    rest = DISPLAY.sub("", rest)
    inline = INLINE.findall(rest)
    found = [(formula, fault) for formula in [*displayed, *inline] for fault in faults_of_formula(formula)]
    found += [(formula, "a line break in the text") for formula in inline if "\\\\" in formula]
    found += [(formula, "an empty line") for formula in displayed if re.search(r"^\s*$", formula, re.MULTILINE)]
    alone = [line for line in INLINE.sub("", rest).splitlines() if re.search(r"(?<!\\)\$", line)]
    return found + [(line, "a dollar alone") for line in alone]


@loop("page", PAGES)
def test_formulas_of_a_page_can_be_read_by_both_renderers(page):
    assert faults_of_page(page.read_text()) == []


def test_pages_with_formulas_are_looked_at():
    with_formulas = {page.stem for page in PAGES if DISPLAY.search(page.read_text())}
    assert {"functional", "intervals", "layout", "loss", "tuning"} <= with_formulas


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("$a_{b$", "braces"),
        ("$}{$", "braces"),
        (r"$\left( a$", "left and right"),
        ("$$\n\\begin{aligned}\na\n$$", "begin and end"),
        (r"$\espilon$", "unknown command"),
        (r"$\{ a \}$", "an escape that Markdown takes away"),
        (r"$a\,b$", "an escape that Markdown takes away"),
        ("$|a|$", "a sign that Markdown takes for its own"),
        ("$a * b$", "a sign that Markdown takes for its own"),
        ("$a <b$", "a sign that Markdown takes for its own"),
        (r"$a \\ b$", "a line break in the text"),
        ("$$\na\n\nb\n$$", "an empty line"),
        ("it costs $5", "a dollar alone"),
        ("a $x + y", "a dollar alone"),
        ("text $x$y", "a dollar alone"),
        ("$$ a\n$$", "a dollar alone"),
    ],
)
def test_faults_of_formulas_are_seen(text, fault):
    assert fault in [each for _, each in faults_of_page(text)]


@pytest.mark.parametrize(
    "text",
    [
        r"$x_j$ and $\tilde R = \sqrt{2}$, so $(\varepsilon, \delta)$-DP.",
        "$$\n\\begin{aligned}\na &= b \\\\\n&= c\n\\end{aligned}\n$$",
        "`$HOME` and ``$1``, \\$5",
        "```sh\necho $1\n```",
        "1. A list:\n\n   $$\n   a\n   $$\n",
    ],
)
def test_sound_pages_have_no_fault(text):
    assert faults_of_page(text) == []
