"""Every figure and table of the four papers on one page: published, ours, and why they differ."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pandas as pd

from bench.papers.figure import Figure
from bench.papers.pages import markdown
from bench.papers.run import DOCS, MEASURED


@dataclass(frozen=True)
class Line:
    """A figure or table of a paper.

    Attributes
    ----------
    item : what the paper calls it, and what it shows.
    figure : where it is measured; empty for what is only drawn in the paper.
    published : its numbers, or its finding where curves were not digitised.
    ours : the same from the committed numbers.
    why : the reason for the difference.
    """

    item: str
    figure: str
    published: str
    ours: Callable[[pd.DataFrame], str]
    why: str


def _mean(numbers: pd.DataFrame, **labels: object) -> float:
    """The one mean with these labels."""
    for label, value in labels.items():
        numbers = numbers[numbers[label] == value]
    (found,) = numbers["mean"]
    return float(found)


def _cm08(numbers: pd.DataFrame) -> str:
    names = ("sensitivity method", "new method", "standard logistic regression")
    parts = []
    for data in ("uniform", "unseparable"):
        found = [
            _mean(numbers, data=data, trained_on="four folds", method=name, number="error").__format__(".3f")
            for name in names
        ]
        parts.append(" / ".join(found) + f" ({data})")
    return ", ".join(parts)


def _ahead(numbers: pd.DataFrame, better: str, worse: str, **kept: object) -> str:
    """At how many points one method has the smaller error."""
    for label, value in kept.items():
        numbers = numbers[numbers[label] == value]
    keys = [name for name in numbers if name not in ("method", "published", *MEASURED)]
    wide = numbers.pivot(index=keys, columns="method", values="mean").dropna(subset=[better, worse])
    return f"{better} better than {worse} at {int((wide[better] < wide[worse]).sum())} of {len(wide)} points"


def _fm12(numbers: pd.DataFrame) -> str:
    rivals = ("FM printed", "DPME", "Filter-Priority")
    return "; ".join(_ahead(numbers, "FM tight", rival) for rival in rivals)


def _times(numbers: pd.DataFrame) -> str:
    """Medians over all points."""
    names = ("FM tight", "FM printed", "DPME", "Filter-Priority")
    middle = numbers.groupby(["model", "method"])["mean"].median()
    parts = [
        f"{model}: " + ", ".join(f"{name} {middle[model, name]:.2g}" for name in names)
        for model in ("linear", "logistic")
    ]
    return "time of NoPrivacy = 1; " + "; ".join(parts)


def _figure2(numbers: pd.DataFrame) -> str:
    found = [_mean(numbers, method="without noise", quantity=name) for name in ("w^2", "w", "minimiser")]
    return f"{found[0]:.2f} w^2 - {-found[1]:.2f} w, minimum at {found[2]:.4f}"


def _gains(numbers: pd.DataFrame) -> str:
    parts = []
    for variant in ("as printed", "correct"):
        gains = []
        for eps in (0.1, 0.5, 150.0):
            part = numbers[numbers["data"] == "synthetic twin"]
            both = [
                _mean(part, eps=eps, variant=variant, pretraining=start, number="accuracy")
                for start in ("without", "with")
            ]
            gains.append(f"{both[1] - both[0]:+.2f}")
        parts.append(f"{variant} {' / '.join(gains)}")
    return "; ".join(parts)


def _as_pages(numbers: pd.DataFrame) -> str:
    return "in kind: see the page"


def _nothing(numbers: pd.DataFrame) -> str:
    return ""


_NEW, _OLD = "new method", "sensitivity method"
_FINDING = "curves; the new method is better"
_FM = "curves; FM is close to NoPrivacy and ahead of DPME and Filter-Priority"
_TIME = "curves; FM is far faster than all others, which iterate over the rows"
_KIND = "curves; steps, clip, rate and delta are not reported"
_CMS = "curves; objective perturbation is better than output perturbation"
_OUTPUT, _OBJECTIVE = "output perturbation, printed", "objective perturbation, printed"
LINES = (
    Line("CM08 Figure 1: errors on two spheres", "cm08/figure1",
         "0.296 / 0.143 / 0.000 (uniform), 0.326 / 0.190 / 0.053 (unseparable)", _cm08,
         "not known; about a fifth of the printed training points, or of eps, gives the published errors"),
    Line("CM08 Figures 2a, 2b: learning curves", "cm08/figure2ab", _FINDING,
         lambda numbers: _ahead(numbers, _NEW, _OLD, number="error"), "no difference in kind"),
    Line("CM08 Figures 2c, 2d: error against eps", "cm08/figure2cd", _FINDING + " but for very small eps",
         lambda numbers: _ahead(numbers, _NEW, _OLD, number="error"), "as Figure 1"),
    Line("CMS11: Adult and KDD Cup 99 against eps", "cms11/tradeoff", _CMS,
         lambda numbers: _ahead(numbers, _OBJECTIVE, _OUTPUT),
         "eps' of Algorithm 2 near 0; regulariser and columns are not the paper's"),
    Line("CMS11: learning curves", "cms11/learning", _CMS,
         lambda numbers: _ahead(numbers, _OBJECTIVE, _OUTPUT), "as above"),
    Line("CMS11: private tuning", "cms11/tuning", "a tuned regulariser costs some error", _as_pages,
         "each candidate has a sixth of the rows"),
    Line("FM12 Figure 1: what the two regressions are", "", "a drawing", _nothing, "nothing is measured"),
    Line("FM12 Figure 2: an objective and a noisy one", "fm12/figure2",
         "2.06 w^2 - 2.34 w, minimum at 117/206 = 0.5680",
         _figure2, "none"),
    Line("FM12 Figure 3: a logistic objective and its expansion", "fm12/figure3", "a drawing",
         _as_pages, "tuples of our own"),
    Line("FM12 Figure 4: accuracy against dimensionality", "fm12/figure4", _FM, _fm12,
         "the printed noise is 10 to 30 times too large"),
    Line("FM12 Figure 5: accuracy against sampling rate", "fm12/figure5", _FM, _fm12, "as Figure 4"),
    Line("FM12 Figure 6: accuracy against eps", "fm12/figure6", _FM, _fm12, "as Figure 4"),
    Line("FM12 Figure 7: time against dimensionality", "fm12/figure7", _TIME, _times, "other code; rows in memory"),
    Line("FM12 Figure 8: time against sampling rate", "fm12/figure8", _TIME, _times, "as Figure 7"),
    Line("FM12 Figure 9: time against eps", "fm12/figure9", _TIME, _times, "as Figure 7"),
    Line("FM12 Tables: notation, parameters", "", "no results", _nothing, "nothing is measured"),
    Line("HHA23 Figures 1 to 3: the scheme", "", "drawings", _nothing, "nothing is measured"),
    Line("HHA23 Table 1: gain of pre-training, points", "hha23/table1", "+1.25 / +7.25 / +11.50 at eps 0.1, 0.5, 150",
         _gains,
         "as printed, noise hardly depends on eps; the paper's data and parameters are not known"),
    *(Line(f"HHA23 Figure {number}: loss curves", f"hha23/figure{number}", _KIND, _as_pages, "in kind")
      for number in range(4, 8)),
    Line("HHA23 Figure 8: accuracy against eps", "hha23/figure8", _KIND, _as_pages, "in kind"),
    Line("HHA23 Figure 9: accuracy against sigma", "hha23/figure9", _KIND, _as_pages, "in kind"),
    Line("HHA23 Figure 10: decision boundaries, heart", "hha23/figure10", _KIND, _as_pages, "in kind"),
    Line("HHA23 Figure 11: decision boundaries, twin", "hha23/figure11", _KIND, _as_pages, "in kind"),
)  # fmt: skip


def derived() -> pd.DataFrame:
    """A row for each line."""
    rows = []
    for line in LINES:
        ours = line.ours(pd.read_csv(DOCS / f"{line.figure}.csv")) if line.figure else "not made"
        rows.append(
            {"item": line.item, "figure": line.figure, "published": line.published, "ours": ours, "why": line.why}
        )
    return pd.DataFrame(rows)


def table(numbers: pd.DataFrame) -> str:
    """The same as Markdown, with links to pages and commands."""
    rows = []
    for row in numbers.fillna("").to_dict("records"):
        name = row["figure"]
        paper = name.split("/")[0]
        link = f"[{row['item']}]({paper}.md)" if name else row["item"]
        command = f"`make papers ONLY={name}`" if name else ""
        rows.append({"figure or table": link, "command": command, "published": row["published"], "ours": row["ours"],
                     "why they differ": row["why"]})  # fmt: skip
    return markdown(pd.DataFrame(rows))


FIGURE = Figure("index/overview", "every figure and table of the four papers", derived=derived, table=table)
