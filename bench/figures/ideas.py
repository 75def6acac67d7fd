"""The ideas of noisy sums, intervals and tuning, as pictures for docs/explanation. See `idea_pictures.py`."""

import numpy as np
from matplotlib.figure import Figure

from bench.figures.colors import INK, NOISY, TRUTH
from dplr.privacy.sensitivity import box_replace_one

FITS = 12
SLOPE = 0.5


def functional():
    """Loss of a slope from exact sums and from noisy ones at eps = 1: few rows, and ten times more."""
    figure = Figure(figsize=(8, 3.3), layout="constrained")
    rng = np.random.default_rng(1)
    scale = box_replace_one(1, 1.0, 1.0, 1.0)
    slopes = np.linspace(-0.5, 1.5, 201)
    for ax, rows in zip(figure.subplots(1, 2, sharey=True), (60, 600), strict=True):
        x = rng.uniform(-1, 1, rows)
        vector, square = x @ np.clip(SLOPE * x + rng.uniform(-0.3, 0.3, rows), -1, 1), x @ x
        for first, second in rng.laplace(0, scale, (FITS, 2)):
            noisy = (square + second) * slopes**2 / 2 - (vector + first) * slopes
            ax.plot(slopes, noisy / rows, color=NOISY, lw=1, alpha=0.7, label="with noise")
            ax.plot(slopes[noisy.argmin()], noisy.min() / rows, "o", color=NOISY, ms=5)
        exact = (square * slopes**2 / 2 - vector * slopes) / rows
        ax.plot(slopes, exact, color=TRUTH, lw=2.5, label="exact")
        ax.plot(slopes[exact.argmin()], exact.min(), "o", color=TRUTH, ms=9)
        ax.set(xlabel="slope w", title=f"{rows} rows, eps = 1", ylim=(-0.13, 0.2), yticks=[])
    figure.axes[0].set_ylabel("loss per row, less a constant")
    lines = figure.axes[0].get_legend_handles_labels()[0]
    figure.axes[0].legend([lines[-1], lines[0]], ["exact", f"{FITS} noisy releases"], frameon=False, loc="upper left")
    return figure


def intervals():
    """The statistic of one coefficient, of sums that stand out of their noise, and of sums that do not."""
    figure = Figure(figsize=(8, 3.3), layout="constrained")
    values = np.linspace(-6, 8, 1401)
    for ax, deviations in zip(figure.subplots(1, 2, sharey=True), (8.0, 1.5), strict=True):
        statistic = (deviations * (values - 1)) ** 2 / (2 + values**2)
        held = statistic <= 1.96**2
        ax.plot(values, statistic, color=NOISY, lw=2)
        ax.axhline(1.96**2, color=INK, lw=1, ls="--")
        ax.fill_between(values, 0, 1.96**2, where=held, color=TRUTH, alpha=0.35, lw=0)
        says = "the interval" if not held[0] else "the data cannot say"
        ax.annotate(
            says, (1, 1.5), (4.4, 7.5), color=TRUTH, ha="center", arrowprops={"arrowstyle": "->", "color": TRUTH}
        )
        ax.set(
            xlabel="value of the coefficient", title=f"moment = {deviations:g} deviations of its noise", ylim=(0, 14)
        )
    figure.axes[0].set_ylabel("distance from the release")
    figure.axes[0].text(-5.8, 4.2, "95 % quantile")
    return figure


def tuning():
    """What is left of n eps for one fit, when several candidates are compared."""
    figure = Figure(figsize=(7, 3.6), layout="constrained")
    ax = figure.subplots()
    candidates = np.arange(2, 11)
    ax.plot(candidates, 1 / candidates, "s-", color=INK, label="every candidate pays: 1/m")
    ax.plot(candidates, 1 / (candidates + 1), "o-", color=NOISY, label="partition: 1/(m + 1) of the rows")
    ax.plot(candidates, np.ones(len(candidates)), color=TRUTH, lw=2.5, label="one fit with the default")
    ax.set(xlabel="candidates m", ylabel="share of n eps for one fit", ylim=(0, 1.05))
    ax.legend(frameon=False, loc="center right", bbox_to_anchor=(1, 0.72))
    return figure


PICTURES = {"functional": functional, "intervals": intervals, "tuning": tuning}
