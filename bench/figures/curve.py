"""The page of a curve that docs/use/choosing.md shows: income, by the bounds of the American Community Survey.

    python -m bench.figures.curve plan.html docs/images

With a folder it takes the screenshots too (Chromium), after it moved the slider of eps to 0.5.
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "tests" / "helpers"))
from PIL import Image

import dplr
from browser import browser

EXAMPLE = pathlib.Path(__file__).parents[2] / "docs" / "examples" / "acs.toml"
HEIGHT = 1350  # as far as the picture
WIDTHS = {390: "plan_narrow.png", 1280: "plan_wide.png"}


def main(path: str, folder: str | None = None) -> None:
    curve = dplr.plan_curve(bounds=EXAMPLE, model="linear", n_rows=2_000, delta=1e-6)
    curve.to_html(path, title="What do people earn?")
    if folder is None:
        return
    with browser() as open_page:
        for width, name in WIDTHS.items():
            page = open_page(path, width, HEIGHT)
            page.press("#at-eps", "ArrowLeft")
            page.value("document.activeElement.blur(), scrollTo(0, 0)")
            picture = pathlib.Path(folder, name)
            page.screenshot(picture)
            Image.open(picture).convert("RGB").quantize(64).save(picture, optimize=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
