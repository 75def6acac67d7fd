"""The ideas of perturbation, noisy descent and scores in pictures for docs/explanation, the same in every run.

    python -m bench.figures.mechanisms docs/images            # all pictures
    python -m bench.figures.mechanisms docs/images output     # one of them

The rows are made up. Colors and background are those of `ideas.py`.
"""

import pathlib
import sys

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Circle
from scipy.special import expit

from bench.figures.ideas import INK, NOISY, SECOND, STYLE, TRUTH

ROWS = 400
RIDGE = 8.0
EPS = 1.0
SLOPES = np.array([2.2, -1.6])


def made_up(seed=7):
    """Rows in the unit ball, long in one direction, and labels of a logistic model."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(ROWS, 2)) * [0.5, 0.22]
    X /= np.maximum(1, np.linalg.norm(X, axis=1))[:, None]
    return X, np.where(rng.random(ROWS) < expit(X @ SLOPES), 1.0, -1.0)


def objective(X, y, w, linear=(0.0, 0.0)):
    """The sum of the logistic losses, the ridge and a linear term, at one point or many."""
    w = np.asarray(w, float)
    loss = np.logaddexp(0, -(w @ X.T) * y).sum(-1)
    return loss + RIDGE / 2 * (w**2).sum(-1) + w @ np.asarray(linear)


def score_and_hessian(X, y, w):
    """Minus the gradient of the losses, and their Hessian."""
    p = expit(-y * (X @ w))
    return (p * y) @ X, (X * (p * (1 - p))[:, None]).T @ X


def minimiser(X, y, linear=(0.0, 0.0)):
    """Newton's method on the objective: the ridge makes it safe here."""
    w = np.zeros(2)
    for _ in range(40):
        U, H = score_and_hessian(X, y, w)
        w = w + np.linalg.solve(H + RIDGE * np.eye(2), U - RIDGE * w - linear)
    return w


def norm_gamma(rng, scale, size):
    """Noise of density proportional to exp(-norm / scale), in the plane."""
    angle = rng.uniform(0, 2 * np.pi, size)
    return rng.gamma(2, scale, size)[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1)


def panels():
    """A figure and its two panels."""
    figure = Figure(figsize=(8, 3.9), layout="constrained")
    return figure, figure.subplots(1, 2)


def contours(ax, X, y, centre, reach):
    """Level curves of the objective around a point, in a square."""
    grid = np.linspace(-reach, reach, 161)
    at = np.stack(np.meshgrid(grid + centre[0], grid + centre[1]), axis=-1)
    values = objective(X, y, at.reshape(-1, 2)).reshape(at.shape[:2])
    low = values.min()
    levels = low + (values.max() - low) * np.linspace(0.02, 1, 9) ** 2
    ax.contour(at[..., 0], at[..., 1], values, levels=levels, colors=INK, linewidths=0.6)
    ax.set(xlim=(centre[0] - reach, centre[0] + reach), ylim=(centre[1] - reach, centre[1] + reach))
    ax.set_aspect("equal")
    ax.set_xlabel("first coefficient")
    ax.set_ylabel("second coefficient")


def dot(ax, point, color=TRUTH):
    """A point that matters."""
    ax.plot(*point, "o", color=color, markersize=7, zorder=5)


def output():
    """Minimisers of neighbours within one radius, and releases scattered around."""
    X, y = made_up()
    best, rng = minimiser(X, y), np.random.default_rng(1)
    radius = 2 / RIDGE
    figure, (left, right) = panels()
    contours(left, X, y, best, 1.25 * radius)
    angles = np.linspace(0, 2 * np.pi, 60, endpoint=False)
    others = [replaced(X, y, r, np.array([np.cos(a), np.sin(a)])) for a in angles for r in (0, 100, 200, 300)]
    left.plot(*np.array([minimiser(*other) for other in others]).T, ".", color=NOISY, markersize=3)
    left.add_patch(Circle(best, radius, fill=False, color=SECOND, linestyle="--", linewidth=1.4))
    dot(left, best)
    left.set_title("dots: the minimum, had one record been another;\ndashed: how far it can move on any rows")
    contours(right, X, y, best, 1.9)
    right.plot(*(best + norm_gamma(rng, radius / EPS, 300)).T, ".", color=NOISY, markersize=3)
    dot(right, best)
    right.set_title("300 releases at eps = 1")
    return figure


def replaced(X, y, record, row):
    """A neighbour: another row, labelled against the model."""
    X, y = X.copy(), y.copy()
    X[record] = row
    y[record] = -1.0 if row @ SLOPES > 0 else 1.0
    return X, y


def tilted():
    """Objectives along a line with linear terms, and where their minima lie in the plane."""
    X, y = made_up()
    best, rng = minimiser(X, y), np.random.default_rng(1)
    figure, (left, right) = panels()
    line = np.linspace(best[0] - 1.6, best[0] + 1.6, 200)
    for tilt, color in ((-14.0, NOISY), (0.0, TRUTH), (14.0, SECOND)):
        points = np.stack([line, np.full_like(line, best[1])], axis=1)
        values = objective(X, y, points) + tilt * (line - best[0])
        lowest = values.argmin()
        left.plot(line, values, color=color, linewidth=1.4)
        dot(left, (line[lowest], values[lowest]), color)
        name = {-14.0: "a linear term", 0.0: "without", 14.0: "another"}[tilt]
        left.annotate(name, (line[-1], values[-1]), xytext=(3, 0), textcoords="offset points", fontsize=8, color=color,
                      va="center")  # fmt: skip
    left.set_title("a random tilt moves the minimum")
    left.set_xlabel("first coefficient")
    left.set_ylabel("objective")
    left.set_xlim(line[0], line[-1] + 0.9)
    contours(right, X, y, best, 1.9)
    noise = norm_gamma(rng, 2 / EPS, 300)
    right.plot(*np.array([minimiser(X, y, b) for b in noise]).T, ".", color=NOISY, markersize=3)
    right.add_patch(Circle(best, 4 / RIDGE / EPS, fill=False, color=SECOND, linestyle="--", linewidth=1.4))
    dot(right, best)
    right.set_title("300 releases at eps = 1 (dashed:\nmean length of output's noise)")
    return figure


def descent():
    """Gradients of rows that are clipped, and a path of noisy steps."""
    X, y = made_up()
    best, rng, clip = minimiser(X, y), np.random.default_rng(3), 0.35
    figure, (left, right) = panels()
    rows = X[:24] * -(y * expit(0.0))[:24, None] * 1.4
    for gradient in rows:
        size = np.linalg.norm(gradient)
        kept = gradient * min(1, clip / size)
        left.plot(*np.stack([kept, gradient], axis=1), color=INK, linewidth=1, linestyle=":")
        left.annotate("", kept, (0, 0), arrowprops={"arrowstyle": "-|>", "color": NOISY, "linewidth": 1})
    left.add_patch(Circle((0, 0), clip, fill=False, color=SECOND, linestyle="--", linewidth=1.4))
    left.set(xlim=(-0.75, 0.55), ylim=(-0.65, 0.65), aspect="equal")
    left.set_title("gradients of rows, cut at the clip")
    left.set_xlabel("first coordinate")
    left.set_ylabel("second coordinate")
    centre = best / 2
    contours(right, X, y, centre, 1.7)
    for deviation, color, width in ((22.0, NOISY, 0.9), (0.0, TRUTH, 2.0)):
        w, path = np.zeros(2), []
        for _ in range(60):
            U, _H = score_and_hessian(X, y, w)
            w = w + 0.006 * (U - RIDGE * w + deviation * rng.normal(size=2))
            path.append(w)
        right.plot(*np.array([np.zeros(2), *path]).T, color=color, linewidth=width)
        if deviation:
            mean = np.mean(path[-15:], axis=0)
    dot(right, best)
    dot(right, mean, SECOND)
    right.set_title("60 noisy steps (green: without noise); orange:\nthe average of the last quarter")
    return figure


def tangents():
    """A score in one dimension with noisy values and slopes, and the interval that the last of them leaves."""
    rng = np.random.default_rng(5)
    x = rng.uniform(-1, 1, ROWS)
    y = np.where(rng.random(ROWS) < expit(2.6 * x), 1.0, -1.0)
    line = np.linspace(-0.4, 5.2, 300)
    margins = np.outer(line, x * y)
    values = (expit(-margins) * (x * y)).sum(1)
    figure, (left, right) = panels()
    noise, point, released = 4.0, 0.0, []
    for number in range(3):
        p = expit(-y * x * point)
        U = (p * y * x).sum() + noise * rng.normal()
        H = (p * (1 - p) * x**2).sum() + noise / 2 * rng.normal()
        released.append((point, U, H))
        left.plot([point, point + U / H], [U, 0], color=NOISY, linewidth=1.2)
        dot(left, (point, U), NOISY)
        left.annotate(f"{number + 1}", (point, U), xytext=(7, 4), textcoords="offset points", fontsize=8, color=NOISY)
        point += U / H
    for ax in (left, right):
        ax.axhline(0, color=INK, linewidth=0.8)
        ax.plot(line, values, color=TRUTH, linewidth=2)
        ax.set_xlabel("coefficient")
        ax.set_ylabel("score")
    left.set_ylim(-14, values.max() * 1.1)
    left.set_title("three rounds: a noisy score, a noisy slope,\nand where the line crosses zero")
    at, U, H = released[-1]
    sd = np.hypot(noise, np.sqrt(H))
    near = np.linspace(at - 2.2, at + 2.4, 100)
    middle = U - H * (near - at)
    right.fill_between(near, middle - 1.96 * sd, middle + 1.96 * sd, color=NOISY, alpha=0.2, linewidth=0)
    right.plot(near, middle, color=NOISY, linewidth=1.2)
    inside = near[np.abs(middle) <= 1.96 * sd]
    right.plot([inside[0], inside[-1]], [0, 0], color=SECOND, linewidth=4, solid_capstyle="butt", zorder=4)
    right.set(xlim=(near[0], near[-1]), ylim=(-45, 45))
    right.set_title("the interval: where the band of the last\nround holds zero")
    return figure


PICTURES = {"output": output, "objective": tilted, "noisy_gd": descent, "score": tangents}


def main(folder: str, *names: str) -> None:
    """Draw the pictures of these names, or all."""
    for name in names or PICTURES:
        with mpl.rc_context(STYLE | {"font.size": 10, "axes.titlesize": 10}):
            file = pathlib.Path(folder, f"idea_{name}.svg")
            PICTURES[name]().savefig(file, transparent=True, metadata={"Date": None, "Creator": None})


if __name__ == "__main__":
    main(*sys.argv[1:])
