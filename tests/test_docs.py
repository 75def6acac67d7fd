"""What a newcomer reads is true: snippets run, links lead somewhere, commands exist, figures have one home."""

import pathlib
import re
import subprocess
import sys
import tomllib
import urllib.parse

import pytest

import package_page
from loops import loop
from outputs import same

ROOT = pathlib.Path(__file__).parents[1]
README = ROOT / "README.md"
# Followed step by step, with its files and commands, by a test of its own.
TOLD_ELSEWHERE = {"walkthrough.md"}
# Every page of docs, but not the records below docs/develop: those tell of their own day.
GUIDES = [README, *sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "docs").glob("*/*.md"))]
PAGES = sorted([*ROOT.glob("*.md"), *(page for top in ("docs", "src", "bench") for page in (ROOT / top).rglob("*.md"))])
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^()\s]+)\)")
URLS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["urls"]
SITE, SOURCE = URLS["Documentation"], URLS["Source"] + "/"
# Files as they are, for pictures of the package page.
RAW = SOURCE.replace("github.com", "raw.githubusercontent.com") + "main/"
# Pages that the site makes from the code, and what the code host offers beside files.
MADE = ("reference/api.html", "reference/commands.html")
OFFERED = ("issues", "discussions", "security/")


def name(path):
    return path.relative_to(ROOT).as_posix()


def snippets(text, language):
    return [body for kind, body in FENCE.findall(text) if kind == language]


def programs():
    """The pages with snippets."""
    return [page for page in GUIDES if snippets(page.read_text(), "python") and page.name not in TOLD_ELSEWHERE]


@pytest.mark.parametrize("page", programs(), ids=name)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_snippets_of_a_page_run_as_one_program(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = page.read_text()
    for body in snippets(text, "toml"):  # a file that names itself in its first line
        (tmp_path / re.match(r"# ([\w.]+)\n", body)[1]).write_text(body)
    namespace = {}
    for number, body in enumerate(snippets(text, "python"), 1):
        exec(compile(body, f"{name(page)}, snippet {number}", "exec"), namespace)
    assert set(namespace) > {"__builtins__"}  # the program of the page ran to its end, and made something


def test_commands_of_the_page_on_ledgers_run(tmp_path):
    """On made-up people, with a command `dplr` that is this package's."""
    (tmp_path / "census.toml").write_text('features.age = {lower = 17, upper = 90}\ntarget.classes = ["no", "yes"]\n')
    (tmp_path / "people.csv").write_text("age,income\n" + "20,no\n50,yes\n" * 500)
    command = f'dplr() {{ "{sys.executable}" -m dplr "$@"; }}\n'
    (block,) = snippets((ROOT / "docs" / "use" / "ledger.md").read_text(), "sh")
    done = subprocess.run(["sh", "-euc", command + block], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "report.html").stat().st_size > 10_000


def test_commands_of_the_first_steps_run_on_the_data_that_they_make(tmp_path):
    page = (ROOT / "docs" / "use" / "first-steps.md").read_text()
    (bounds,) = snippets(page, "toml")
    (tmp_path / "bounds.toml").write_text(bounds)
    subprocess.run([sys.executable, "-c", snippets(page, "python")[0]], cwd=tmp_path, check=True)
    command = f'dplr() {{ "{sys.executable}" -m dplr "$@"; }}\n'
    script = command + "".join(snippets(page, "sh"))
    done = subprocess.run(["sh", "-euc", script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    made = {file.name for file in tmp_path.iterdir()}
    named = set(re.findall(r"`([\w.]+)`", page.partition("## 5.")[2]))
    assert named == {"model.json", "table.html", "report.html", "bounds.toml", "budget.db"} <= made


def test_readme_begins_with_a_snippet_of_a_dozen_lines():
    first = snippets(README.read_text(), "python")[0]
    assert len([line for line in first.splitlines() if line]) <= 12


def test_readme_begins_with_a_snippet_that_needs_no_extra():
    """What no plain installation brings cannot be imported."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = {"pandas", "polars", "pyarrow", "matplotlib", "jinja2", "click", "tqdm", "statsmodels", "dp_accounting"}
    needed = {re.match(r"[\w-]+", each).group() for each in project["dependencies"]}
    assert needed == {"numpy", "scipy", "scikit-learn", "narwhals"}
    code = f"import sys\nsys.modules.update(dict.fromkeys({extras}))\n{snippets(README.read_text(), 'python')[0]}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "Privacy statement" in done.stdout
    (output,) = snippets(README.read_text(), "text")
    assert same(done.stdout, output, one_run=True), done.stdout


def test_the_readme_is_short():
    assert len(README.read_text().split()) <= 900


def test_the_extra_all_is_what_users_use():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    (every,) = extras["all"]
    # Spark pins other packages than dplr's other tools: it is installed by itself.
    left_out = {"all", "docs", "test", "oracle", "progress", "spark"}
    assert set(re.findall(r"[a-z]+", every.partition("[")[2])) == set(extras) - left_out


def anchors(page):
    """What GitHub calls the headings: lower case, no punctuation, hyphens for blanks, a number for a repeated one."""
    outside_of_fences = FENCE.sub("", page.read_text())
    found = []
    for heading in re.findall(r"^#+ (.*)$", outside_of_fences, re.MULTILINE):
        slug = re.sub(r"[^\w\- ]", "", LINK.sub("]", heading).lower()).replace(" ", "-")
        found.append(f"{slug}-{found.count(slug)}" if slug in found else slug)
    return found


def file_of(page, target):
    """The file or folder to which a link leads, by whatever address; None for what is not in the repository."""
    if target.startswith(SITE):
        path = pathlib.PurePosixPath(target.removeprefix(SITE) or "index.html")
        is_proof, path = path.parts[0] == "proofs", path.with_suffix(".md" if path.suffix == ".html" else path.suffix)
        found = "src/dplr" / path.relative_to("proofs") if is_proof else "docs" / path
        return None if target.endswith(MADE) else ROOT / found
    if target.startswith((SOURCE, RAW)):
        path = re.fullmatch(rf"(?:{SOURCE}(?:blob|tree)/main/|{RAW})(.+)", target)
        offered = target.removeprefix(SOURCE).startswith(OFFERED)
        return ROOT / path[1] if path else None if offered else ROOT / "no such address"
    if urllib.parse.urlparse(target).scheme:
        return None
    return (page.parent / urllib.parse.unquote(target)).resolve() if target else page


def broken_links(page):
    broken = []
    for link in LINK.findall(FENCE.sub("", page.read_text())):
        target, _, anchor = link.partition("#")
        file = file_of(page, target)
        if file is None:
            continue
        if not file.exists() or not file.is_relative_to(ROOT) or (anchor and anchor not in anchors(file)):
            broken.append(link)
    return broken


@loop("page", PAGES)
def test_links_lead_somewhere(page):
    assert broken_links(page) == []


def test_links_of_every_folder_of_pages_are_looked_at():
    folders = {"use", "trust", "develop", "noisy_gd", "privacy", "_core", "bench"}
    assert folders <= {page.parent.name for page in PAGES}
    assert {"docs", "use", "trust", "develop"} <= {page.parent.name for page in GUIDES}


def test_pages_that_code_and_prose_name_exist():
    """Outside links too: `docs/use/ledger.md` in a docstring. Other projects' pages are not named."""
    code = [file for folder in ("src", "tests", "bench") for file in (ROOT / folder).rglob("*.py*")]
    for file in [page for page in [*GUIDES, *PAGES, *code] if page.suffix in {".md", ".py", ".pyx"}]:
        named = re.findall(r"(?<![\w/.])docs/[\w/.-]+\.md\b", file.read_text())
        assert [path for path in named if not (ROOT / path).exists()] == [], name(file)


def test_broken_links_are_seen(tmp_path, monkeypatch):
    monkeypatch.setitem(globals(), "ROOT", tmp_path)
    (tmp_path / "b.md").write_text("# One thing, two\n# `one` thing two\n")
    page = tmp_path / "a.md"
    page.write_text("[1](b.md) [2](c.md) [3](b.md#one-thing-two-1) [4](b.md#three) [5](#here) [6](../a.md)\n# Here\n")
    assert broken_links(page) == ["c.md", "b.md#three", "../a.md"]


def test_broken_addresses_are_seen(tmp_path):
    page = tmp_path / "a.md"
    alive = [
        f"{SITE}use/bounds.html#private-ranges",
        f"{SITE}index.html",
        SITE,
        f"{SITE}proofs/noise/noise.html",
        f"{SITE}reference/api.html",
        f"{SOURCE}blob/main/SECURITY.md",
        f"{SOURCE}tree/main/docs/develop",
        f"{SOURCE}security/advisories/new",
        f"{RAW}docs/images/report.png",
        "https://example.org/use/bounds.html",
    ]
    dead = [
        f"{SITE}use/bonds.html",
        f"{SITE}use/bounds.html#no-such-heading",
        f"{SITE}proofs/noise/noises.html",
        f"{SOURCE}blob/main/SECURE.md",
        f"{SOURCE}bolb/main/SECURITY.md",
        f"{RAW}docs/images/reports.png",
    ]
    page.write_text(" ".join(f"[x]({link})" for link in alive + dead))
    assert broken_links(page) == dead


def test_the_readme_leads_to_files_of_the_checkout():
    """An address leads nowhere as long as nobody serves it."""
    links = LINK.findall(FENCE.sub("", README.read_text()))
    assert len(links) > 20
    assert [link for link in links if urllib.parse.urlparse(link).scheme] == []


def test_the_readme_of_a_package_page_leads_to_the_same_files_by_addresses():
    text = FENCE.sub("", README.read_text())
    public = package_page.addressed(text)
    links, addresses = ([link.partition("#") for link in LINK.findall(page)] for page in (text, public))
    assert [address for address, _, _ in addresses if not address.startswith("https://")] == []
    assert [file_of(README, address) for address, _, _ in addresses] == [file_of(README, link) for link, _, _ in links]
    assert [anchor for _, _, anchor in addresses] == [anchor for _, _, anchor in links]
    pictures = re.findall(r"!\[[^\]]*\]\(([^()\s]+)\)", public)
    assert pictures
    assert [picture for picture in pictures if not picture.startswith(RAW)] == []


def test_every_guide_can_be_reached_from_the_readme():
    reached, waiting = set(), [README]
    while waiting:
        page = waiting.pop()
        reached.add(page)
        linked = [file_of(page, link.partition("#")[0]) for link in LINK.findall(page.read_text())]
        inside = [path for folder in linked if folder and folder.is_dir() for path in folder.glob("*.md")]  # listed
        waiting += [path for path in [*linked, *inside] if path in GUIDES and path not in reached]
    laid_out = ROOT / "docs" / "site"  # pages that only the site shows
    assert [name(page) for page in GUIDES if page not in reached and page.parent != laid_out] == []


def test_commands_of_make_are_targets():
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for page in [*GUIDES, ROOT / "CONTRIBUTING.md"]:
        named = set(re.findall(r"(?:`|^ {4})make ([\w-]+)", page.read_text(), re.MULTILINE))
        assert named <= targets, name(page)


def test_extras_that_are_named_exist():
    extras = set(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"])
    for page in GUIDES:
        text = page.read_text()
        groups = re.findall(r'"(?:\.|dplr)\[([\w,]+)\]"', text) + re.findall(r"\(extra `(\w+)`\)", text)
        assert {extra for group in groups for extra in group.split(",")} <= extras, name(page)


def test_ci_runs_the_two_commands_of_the_readme():
    commands = re.findall(r"^ {4}(make \w+)$", README.read_text(), re.MULTILINE)
    assert commands == ["make demo", "make test"]
    assert set(commands) <= {line.strip() for line in (ROOT / ".ci" / "run").read_text().splitlines()}


def test_benchmarks_that_are_named_exist():
    """Files, and modules that are run from the root: `python -m bench.accuracy.acs`."""
    for page in [*GUIDES, *PAGES, ROOT / "Makefile", *(ROOT / "bench").rglob("*.py")]:
        text = page.read_text()
        named = re.findall(r"`(bench/[\w/]+\.py)", text)
        assert [path for path in named if not (ROOT / path).exists()] == [], name(page)
        modules = [ROOT / module.replace(".", "/") for module in re.findall(r"-m (bench[\w.]*\w)", text)]
        found = [module.with_suffix(".py").exists() or (module / "__main__.py").exists() for module in modules]
        assert all(found), name(page)


def test_errors_in_the_readme_are_those_of_the_page_on_accuracy():
    page = (ROOT / "docs" / "trust" / "accuracy.md").read_text()
    head, _, *rows = [line.strip("| ").split(" | ") for line in re.findall(r"^\|.*$", page, re.MULTILINE)][:10]
    errors = {name: dict(zip(head, cells, strict=False)) for name, *cells in rows}
    objective, steps = errors["objective, delta = 0"], errors["ngd, delta = 1e-5"]
    (majority,) = re.findall(r"Always answering no\s+has an error of (0\.\d{4})\.", page)
    figures = re.findall(r"\b0\.\d{4}\b", FENCE.sub("", README.read_text()))
    assert figures == [objective["eps 1"], steps["eps 1"], objective["no noise"], majority]
