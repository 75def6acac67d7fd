"""How pictures of the gallery get onto its pages: those that a program names, in the order of its lines."""

from __future__ import annotations

from typing import Any

from sphinx_gallery.scrapers import figure_rst


def scraper(_block: Any, block_vars: dict[str, Any], gallery_conf: dict[str, Any]) -> str:
    """Save the figure of every axes that the program has named since its last block."""
    from matplotlib.axes import Axes

    saved = gallery_conf.setdefault("_dplr_saved", set())
    named = [each.figure for each in block_vars["example_globals"].values() if isinstance(each, Axes)]
    paths = []
    for figure in [each for each in dict.fromkeys(named) if id(each) not in saved]:
        saved.add(id(figure))
        paths.append(next(block_vars["image_path_iterator"]))
        figure.savefig(paths[-1], dpi=200, bbox_inches="tight")
    return str(figure_rst(paths, gallery_conf["src_dir"]))


def _get_sg_image_scraper() -> Any:
    """Where sphinx-gallery looks for the scraper of a module."""
    return scraper
