"""What the figures of HHA23 share: two populations of each data set, descents as printed and correct."""

from __future__ import annotations

import functools
import math
import os
import pathlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure as Picture
from numpy.typing import NDArray

import dplr
from bench.papers import drawing
from bench.papers.figure import Cell, Figure, Row, first_repeats
from dplr import fit_many

Array = NDArray[np.float64]
Rows = tuple[Array, NDArray[np.bool_]]

HEART, TWIN = "heart", "synthetic twin"
DATA = (HEART, TWIN)
FILES = ("heart_disease.parquet",)
COLUMNS = {"thalach": (40, 220), "oldpeak": (-5, 10)}
LABELS = {"thalach": "largest heart rate, 1/min", "oldpeak": "ST depression, mm"}
TWIN_SIZE, FRESH = 400, 10_000

# Not reported by the paper: what we take.
STEPS, CLIP, DELTA = 100, 1.0, 1e-5
SMALL_RIDGE = 1e-6  # of the fits without privacy: none of the descents has one
FITS, REPEATS = 10, 3

PRINTED, CORRECT, OWN, EXACT = "as printed", "correct", "dplr, defaults", "not private"
_LIKE_THE_PAPER: dict[str, Any] = {
    "steps": STEPS, "clip": CLIP, "momentum": 0.0, "averaging": "last", "standardise": "off",
}  # fmt: skip
MECHANISMS: dict[str, Any] = {
    PRINTED: dplr.NoisyGradientDescent(clipping="aggregate", composition="per-step", **_LIKE_THE_PAPER),
    CORRECT: dplr.NoisyGradientDescent(**_LIKE_THE_PAPER),
    OWN: "ngd",
}
STARTS = {"without": False, "with": True}
TRUE_EPS = "true eps"


@dataclass(frozen=True)
class Populations:
    """Public and private rows, rows to score, and what is public about the two columns."""

    public: Rows
    private: Rows
    fresh: Rows | None
    bounds: dplr.Bounds


@functools.cache
def populations(data: str) -> Populations:
    """Cleveland and the Hungarian hospital; or two draws of 400 points whose classes lie a little apart."""
    if data == HEART:
        frame = pd.read_parquet(pathlib.Path(os.environ["DPLR_DATA"]) / FILES[0]).dropna(subset=list(COLUMNS))
        parts = [frame[frame["hospital"] == name] for name in ("cleveland", "hungarian")]
        public, private = ((part[list(COLUMNS)].to_numpy(float), part["disease"].to_numpy() > 0) for part in parts)
        return Populations(public, private, None, dplr.Bounds(list(COLUMNS.values())))
    rng = np.random.default_rng(0)
    fresh = _points(rng, FRESH, 0.0)
    bounds = dplr.Bounds([(-1, 1), (-1, 1)])
    return Populations(_points(rng, TWIN_SIZE, 0.1), _points(rng, TWIN_SIZE, 0.0), fresh, bounds)


def _points(rng: np.random.Generator, size: int, shift: float) -> Rows:
    """Two classes of equal size in [-1, 1]^2; `shift` moves all points, as one population differs from another."""
    y = np.arange(size) % 2 == 1
    centre = np.where(y[:, None], [0.2, 0.25], [-0.2, -0.25]) + shift
    return np.clip(rng.normal(centre, 0.3), -1, 1), y


def fits(data: str, variant: str, start: bool, levels: Sequence[float], repeats: int, seed: int) -> list[Any]:
    """Private fits of one variant, with or without pre-training."""
    people = populations(data)
    options: dict[str, Any] = {"bounds": people.bounds, "public": people.public if start else None}
    if variant == EXACT:
        return fit_many(*people.private, eps=[math.inf], mechanism="none", l2=SMALL_RIDGE, **options)
    noise: dict[str, Any] = {"mechanism": MECHANISMS[variant], "delta": DELTA, "rng": seed}
    return fit_many(*people.private, eps=levels, repeats=repeats, **noise, **options)


def accuracy(est: Any, rows: Rows) -> float:
    """Share of right labels."""
    X, y = rows
    return float(np.mean((X @ est.coef_[0] + est.intercept_[0] > 0) == y))


def accuracies(data: str, variant: str, levels: Sequence[float], repeats: int, seed: int) -> list[dict[str, Any]]:
    """Accuracy on the private rows, with and without pre-training, for every eps; on fresh rows for the twin."""
    people, rows = populations(data), []
    for start, pretrained in STARTS.items():
        found = fits(data, variant, pretrained, levels, repeats, seed)
        for place, est in enumerate(found):
            of = {"variant": variant, "pretraining": start, "place": place // repeats}
            rows.append({**of, "number": "accuracy", "value": accuracy(est, people.private)})
            if people.fresh is not None:
                rows.append({**of, "number": "accuracy on fresh rows", "value": accuracy(est, people.fresh)})
            if place % repeats == 0:
                rows.append({**of, "number": TRUE_EPS, "value": est.privacy_.eps})
    return rows


# ---- loss curves ----

LOSS_EPS, EVERY = 1.0, 5


def loss_curves(name: str, data: str, start: str) -> Figure:
    """Figures 4 to 7: mean loss on the private rows, step by step."""

    def cells() -> list[Cell]:
        return [{"repeat": repeat} for repeat in range(REPEATS)]

    def measure(cell: Cell, seed: int) -> Sequence[Row]:
        X, y = populations(data).private
        signs, rows = np.where(y, 1.0, -1.0), []
        for variant in (*MECHANISMS, EXACT):
            found = fits(data, variant, STARTS[start], [LOSS_EPS], FITS, seed)
            for est in found:
                if variant == EXACT:
                    coefs, intercepts = np.repeat(est.coef_, STEPS + 1, axis=0), np.repeat(est.intercept_, STEPS + 1)
                else:
                    coefs, intercepts = est.history_.coefs, est.history_.intercepts
                losses = np.logaddexp(0, -signs[:, None] * (X @ coefs.T + intercepts)).mean(axis=0)
                rows += [
                    {"variant": variant, "step": step, "true_eps": est.privacy_.eps, "value": float(losses[step])}
                    for step in range(0, len(losses), EVERY)
                ]
        return rows

    def table(numbers: pd.DataFrame) -> str:
        last = numbers.sort_values("step").groupby("variant", sort=False).tail(1).set_index("variant")
        lines = [
            "| | eps asked for | true eps | steps | mean loss at the start | at the end |",
            "|---|---|---|---|---|---|",
        ]
        for variant in (*MECHANISMS, EXACT):
            first = numbers[(numbers["variant"] == variant) & (numbers["step"] == 0)]["mean"].iloc[0]
            row = last.loc[variant]
            private = variant != EXACT
            asked, steps = (f"{LOSS_EPS:g}", f"{row['step']:.0f}") if private else ("none", "")
            lines.append(f"| {variant} | {asked} | {row['true_eps']:.4g} | {steps} | {first:.3f} | {row['mean']:.3f} |")
        return "\n".join(lines)

    def draw(numbers: pd.DataFrame) -> Picture:
        picture, (ax,) = drawing.panels(1, height=3.2)
        picture.set_figwidth(6.4)
        drawing.curves(ax, numbers, "step", "variant", (EXACT, *MECHANISMS), quiet=(EXACT,))
        ax.set(title=f"{data}, {start} pre-training, eps = {LOSS_EPS:g} asked for", xlabel="step",
               ylabel="mean loss on the private rows")  # fmt: skip
        return drawing.finish(picture, [ax], columns=4)

    title = f"loss curves, {data}, {start} pre-training"
    needs = FILES if data == HEART else ()
    return Figure(name, title, cells, measure, draw, table, first_repeats(1), needs)


# ---- boundaries ----

BOUNDARY_EPS, LINES = 1.0, 8


def boundaries(name: str, data: str) -> Figure:
    """Figures 10 and 11: where the label changes, for several fits of each variant."""

    def cells() -> list[Cell]:
        return [{"data": data}]

    def measure(cell: Cell, seed: int) -> Sequence[Row]:
        rows = []
        for variant in (*MECHANISMS, EXACT):
            for start, pretrained in STARTS.items():
                for number, est in enumerate(fits(data, variant, pretrained, [BOUNDARY_EPS], LINES, seed)):
                    of = {"variant": variant, "pretraining": start, "fit": number}
                    terms = (*est.coef_[0], est.intercept_[0], accuracy(est, populations(data).private))
                    names = ("first", "second", "intercept", "accuracy")
                    rows += [{**of, "term": term, "value": float(v)} for term, v in zip(names, terms, strict=True)]
                    rows.append({**of, "term": TRUE_EPS, "value": est.privacy_.eps})
        return rows

    def table(numbers: pd.DataFrame) -> str:
        lines = [
            "| | pre-training | true eps | accuracy of the fits drawn: least | mean | most |",
            "|---|---|---|---|---|---|",
        ]
        for (variant, start), part in numbers.groupby(["variant", "pretraining"], sort=False):
            found = part[part["term"] == "accuracy"]["mean"]
            true = part[part["term"] == TRUE_EPS]["mean"].iloc[0]
            sizes = " | ".join(f"{value:.3f}" for value in (found.min(), found.mean(), found.max()))
            lines.append(f"| {variant} | {start} | {true:.4g} | {sizes} |")
        return "\n".join(lines)

    def draw(numbers: pd.DataFrame) -> Picture:
        return _draw_boundaries(numbers, data)

    needs = FILES if data == HEART else ()
    return Figure(name, f"decision boundaries, {data}", cells, measure, draw, table, needs=needs)


def _draw_boundaries(numbers: pd.DataFrame, data: str) -> Picture:
    """Two panels; the private rows behind the lines, where this machine has them."""
    picture, axes = drawing.panels(2, height=3.4)
    spans = ((60, 200), (-1, 5)) if data == HEART else ((-1, 1), (-1, 1))
    for ax, start in zip(axes, STARTS, strict=True):
        if data == TWIN or os.environ.get("DPLR_DATA"):
            X, y = populations(data).private
            for label, marker in ((False, "o"), (True, "x")):
                ax.scatter(*X[y == label].T, s=9, marker=marker, color="0.72", linewidths=0.8,
                           label="label 1" if label else "label 0")  # fmt: skip
        at = np.linspace(*spans[0], 2)
        for number, variant in enumerate((*MECHANISMS, EXACT)):
            part = numbers[(numbers["variant"] == variant) & (numbers["pretraining"] == start)]
            for _, terms in part.pivot(index="fit", columns="term", values="mean").iterrows():
                height = -(terms["first"] * at + terms["intercept"]) / terms["second"]
                look = {"color": drawing.COLORS[number]} if variant != EXACT else {"color": "black", "linestyle": "--"}
                ax.plot(at, height, linewidth=1.1, alpha=0.85, label=variant, **look)
        names = tuple(LABELS.values()) if data == HEART else ("first column", "second column")
        ax.set(xlim=spans[0], ylim=spans[1], title=f"{start} pre-training", xlabel=names[0], ylabel=names[1])
    return drawing.finish(picture, axes, columns=6)
