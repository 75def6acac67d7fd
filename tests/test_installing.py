"""Words about installing: true of a package that is on no index, and of one that is."""

import pathlib
import re
import subprocess
import sys
import tomllib
import typing

import pytest

from dplr._kit import extras

ROOT = pathlib.Path(__file__).parents[1]
IN_CHECKOUT = pytest.mark.skipif(not (ROOT / "docs").is_dir(), reason="not in a checkout")
# How to install from an index: only what is done at a release may say it before the first one.
_FROM_INDEX = re.compile(r"""pip install\s+["'`]?dplr\b""")
_EXTRAS = re.compile(r'pip install "\.\[([a-z,]*)\]"')
_OF_RELEASES = (
    "docs/develop/releasing.md",
    "src/dplr/_kit/extras.py",
)
_HIDE = """
import sys
class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {hidden}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Hidden())
import numpy as np
import dplr
bounds = dplr.Bounds({{"a": (0, 1)}}, target=(0, 1))
try:
    {action}
except ModuleNotFoundError as error:
    print(error)
"""


def _texts():
    for folder, ending in (("src/dplr", ".py"), ("docs", ".md"), ("docs", ".py"), (".", ".md")):
        for path in sorted((ROOT / folder).rglob(f"*{ending}") if folder != "." else ROOT.glob("*.md")):
            name = path.relative_to(ROOT).as_posix()
            if not name.startswith(_OF_RELEASES):
                yield name, path.read_text(encoding="utf-8")


@IN_CHECKOUT
def test_nothing_is_installed_from_an_index_before_the_first_release():
    places = [name for name, text in _texts() if _FROM_INDEX.search(text)]
    assert places == [] or extras.PUBLISHED


@IN_CHECKOUT
def test_every_extra_of_a_message_or_page_exists():
    declared = set(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"])
    of_pages = {extra for _, text in _texts() for some in _EXTRAS.findall(text) for extra in some.split(",")}
    assert {*typing.get_args(extras.Extra), *of_pages} <= declared
    assert {"cli", "plots"} <= of_pages


def test_the_words_are_those_of_a_checkout_until_it_is_published(monkeypatch):
    assert extras.install_words("plots").startswith('pip install ".[plots]" in a checkout')
    monkeypatch.setattr(extras, "PUBLISHED", True)
    assert extras.install_words("plots") == 'pip install "dplr[plots]"'


@pytest.mark.parametrize(("hidden", "action", "message"), [
    ("pyarrow", "dplr.fit('people.parquet', 'y', bounds=bounds, eps=1)", "reading files needs pyarrow"),
    ("pandas", "dplr.fit(np.zeros((9, 1)), np.arange(9) % 2 > 0, bounds=dplr.Bounds([(0, 1)]), eps=1e9)"
     ".summary().to_frame()", "a data frame needs pandas"),
])  # fmt: skip
def test_a_bare_install_says_what_it_lacks(hidden, action, message):
    code = _HIDE.format(hidden={hidden}, action=action)
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith(f"{message}. Install it with ")
