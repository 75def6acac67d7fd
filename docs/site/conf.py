"""What Sphinx is told: extensions, theme, and where everything that a page loads comes from."""

import re
import sys
import tomllib
from importlib import metadata
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE))

_project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
project = _project["name"]
author = copyright = "The dplr developers"
version = release = re.search(r"version: '([^']+)'", (ROOT / "meson.build").read_text())[1]

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "numpydoc",
    "privacy_section",
    "members",
    "myst_parser",
    "sphinx_design",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
]
templates_path = [str(HERE / "templates")]
exclude_patterns = ["gallery/*.ipynb", "gallery/*.py", "gallery/*.md5"]
highlight_language = "text"  # indented blocks of the proofs are not programs
default_role = "code"  # docstrings write `name` as Markdown does

# Markdown as code hosts read it: formulas in dollars, links to headings by their names there.
myst_enable_extensions = ["dollarmath", "amsmath", "colon_fence", "attrs_block", "tasklist"]
myst_heading_anchors = 6
myst_dmath_double_inline = True

# One page per public name; `api_pages.py` lists them from `__all__`.
autosummary_generate = True
autosummary_ignore_module_all = False
autodoc_typehints = "none"  # the descriptions say what is taken, in words
toc_object_entries_show_parents = "hide"  # the column beside a class has the names of its members alone
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
numpydoc_attributes_as_param_list = True

nitpicky = True
nitpick_ignore_regex = [
    # Other projects: their inventories lie on other hosts, and the site is built without a network.
    (r"py:.*", r"(numpy|np|scipy|sklearn|pandas|polars|pyarrow|matplotlib|abc|typing|collections|os|pathlib)\b.*"),
    # Base classes of the standard library, which autodoc names.
    (r"py:class", r"(object|tuple|dict|Exception|ValueError|RuntimeError|UserWarning|TypedDict)"),
]

sphinx_gallery_conf = {
    "examples_dirs": [str(ROOT / "docs" / "gallery")],
    "gallery_dirs": ["gallery"],
    "filename_pattern": r"\.py$",
    "image_scrapers": ("pictures",),
    "within_subsection_order": "FileNameSortKey",
    "doc_module": ("dplr",),
    "reference_url": {"dplr": None},
    "min_reported_time": 1_000,
    "show_signature": False,
    "abort_on_example_error": True,
    "write_computation_times": False,
    "download_all_examples": False,
}

html_theme = "pydata_sphinx_theme"
html_title = "dplr"
html_baseurl = _project["urls"]["Documentation"]
html_static_path = [
    str(HERE / "static"),
    # MathJax from this host: whoever reads the page is known to nobody else.
    str(
        metadata.distribution("sphinx-mathjax-offline").locate_file(
            "sphinx-mathjax-offline/static/mathjax/tex-svg-full.js"
        )
    ),
]
html_extra_path = [str(ROOT / "build" / "docs" / "served")]
html_css_files = ["dplr.css"]
html_favicon = str(HERE / "static" / "logo.svg")
html_search_scorer = str(HERE / "scorer.js")
html_context = {"default_mode": "auto"}  # without it the theme logs an error on the first page
mathjax_path = "tex-svg-full.js"
mathjax3_config = {"options": {"enableMenu": False}, "svg": {"fontCache": "global"}}
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {
    "logo": {"image_light": "_static/logo.svg", "image_dark": "_static/logo.svg", "text": "dplr"},
    "navbar_start": ["navbar-logo", "version"],
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "header_links_before_dropdown": 7,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "icon_links": [{"name": "Source", "url": _project["urls"]["Source"], "icon": "fa-brands fa-github"}],
    "navbar_align": "left",
    "pygments_light_style": "tango",
    "pygments_dark_style": "github-dark",
}
html_sidebars = {"index": []}
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
linkcheck_anchors = False
