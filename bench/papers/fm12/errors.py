"""What is wrong in FM12 as printed, each with a number that shows it. Nothing here is typed but what is printed."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

import dplr
from bench.papers.figure import Cell, Figure, Row
from bench.papers.fm12.methods import AS_PRINTED, bounds
from bench.papers.pages import markdown
from dplr.mechanisms import as_mechanism

COLUMNS = 13  # of the 14 dimensions, without the target
Numbers = Mapping[str, float]


def largest_change(d: int, linear: float, quadratic: float, rng: np.random.Generator) -> float:
    """The largest L1 change of the released coefficients over random neighbours in the unit ball, improved greedily.

    A record gives linear y x and the upper triangle of quadratic x x', for y = -1 or 1.
    """
    upper = np.triu_indices(d)

    def rows(points: NDArray[np.float64]) -> NDArray[np.float64]:
        return points / np.maximum(1, np.linalg.norm(points, axis=-1, keepdims=True))

    def change(points: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
        x, other = rows(points).transpose(1, 0, 2)
        moved = (x[:, :, None] * x[:, None] - other[:, :, None] * other[:, None])[:, upper[0], upper[1]]
        steps = linear * np.abs(y[:, :1] * x - y[:, 1:] * other).sum(1)
        return np.asarray(steps + quadratic * np.abs(moved).sum(1))

    points, y = rng.normal(size=(32, 2, d)), rng.choice([-1.0, 1.0], size=(32, 2))
    best, width = change(points, y), 1.0
    for _ in range(2500):
        tried, labels = points + rng.normal(0, width, points.shape), np.where(rng.random(y.shape) < 0.05, -y, y)
        found = change(tried, labels)
        better = found > best
        points[better], y[better], best = tried[better], labels[better], np.maximum(best, found)
        width = max(0.01, width * 0.999)
    return float(best.max())


def sensitivity(model: str, rng: np.random.Generator) -> Numbers:
    """FM12's constant beside the largest change that a search finds, and the noise of both calibrations."""
    logistic = model == "logistic"
    d = COLUMNS
    printed_delta = d * d / 4 + 3 * d if logistic else 2.0 * (1 + 2 * d + d * d)
    # FM12's coefficients: (1/2 - y) x and x x'/8 for the logistic loss, -2 y x and x x' for the squared one.
    found = largest_change(d, 0.5 if logistic else 2.0, 0.125 if logistic else 1.0, rng)
    plans = [
        dplr.plan(
            n_rows=370_000, n_features=d, eps=0.8, model=model, fit_intercept=False,
            mechanism=replace(as_mechanism(spec), ranges="off"), bounds=bounds(d, model),
        ).statement
        for spec in (AS_PRINTED, "fm")
    ]  # fmt: skip
    printed, tight = ({name: block.deviation for name, block in plan.released.items()} for plan in plans)
    return {
        "printed": printed_delta,
        "largest that a search finds": found,
        "loss that it finds at eps = 0.8": 0.8 * found / printed_delta,
        "noise of a sum y x, printed over tight": printed["linear"] / tight["linear"],
        "noise of a sum x x', printed over tight": printed["diagonal"] / tight["diagonal"],
    }


def share_used(rng: np.random.Generator) -> Numbers:
    """The privacy loss at eps = 1 of noise scaled to twice the largest contribution of a record, logistic."""
    d = COLUMNS
    contribution = 0.5 * math.sqrt(d) + 0.125 * (d + 1) / 2
    return {"loss at eps = 1": largest_change(d, 0.5, 0.125, rng) / (2 * contribution)}


def log_loss(z: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.logaddexp(0.0, z)


def truncation_error(z: NDArray[np.float64]) -> NDArray[np.float64]:
    """The logistic loss less its expansion at 0."""
    return np.asarray(log_loss(z) - (math.log(2) + z / 2 + z * z / 8))


def average_error(rng: np.random.Generator) -> Numbers:
    e = math.e
    error = truncation_error(np.linspace(-1, 1, 20_001))
    return {
        "printed expression": (e**2 - e) / (6 * (1 + e) ** 3) - (e - e**2) / (6 * (1 + e) ** 3),
        "least error": float(error.min()),
        "greatest": float(error.max()),
    }


def third_derivative(rng: np.random.Generator) -> Numbers:
    z = np.linspace(-6, 6, 120_001)
    p = 1 / (1 + np.exp(-z))
    third = np.abs(p * (1 - p) * (1 - 2 * p))
    return {
        "its size at z = 1": float(np.interp(1, z, third)),
        "at its largest": float(third.max()),
        "where z is": float(abs(z[third.argmax()])),
        "error of the expansion at z = 4": float(abs(truncation_error(np.array([4.0]))[0])),
    }


def rerun(rng: np.random.Generator) -> Numbers:
    """One cell x^2 summed to Delta or to 0, noise of scale Delta/eps, drawn until the sum is positive; eps = 1."""
    z = np.linspace(1e-9, 5, 50_001)
    given = [stats.laplace.logpdf(z, loc) - stats.laplace.logsf(0, loc) for loc in (1.0, 0.0)]
    misses = [float(stats.laplace.cdf(0, loc)) for loc in (1.0, 0.0)]
    runs = np.array([1, 10, 50])
    told = [(runs - 1) * math.log(miss) + math.log1p(-miss) for miss in misses]
    spec = dplr.FunctionalMechanism(unbounded="rerun")
    once, twice = (
        dplr.plan(n_rows=1000, n_features=1, eps=1.0, mechanism=each).statement.released["linear"].deviation
        for each in ("fm", spec)
    )
    return {
        "loss of the accepted run": float(np.abs(given[0] - given[1]).max()),
        "bound of Lemma 5": 2.0,
        "noise that dplr adds for a rerun, over one run": twice / once,
        "loss of who learns that there were 50 runs": float(np.abs(told[1] - told[0])[-1]),
    }


def definite(rng: np.random.Generator) -> Numbers:
    """The matrix of two equal columns, and coefficients of noise that is trimmed at 0 and at four deviations."""
    twin = np.repeat(rng.uniform(0, 0.7, (1000, 1)), 2, axis=1)
    d = COLUMNS
    X = rng.uniform(0, 1 / math.sqrt(d), (20_000, d))
    y = np.clip(X.sum(1) - X.mean() * d, -1, 1)
    found = []
    for floor in (0.0, 4.0):
        spec = dplr.FunctionalMechanism(calibration="paper", floor_deviations=floor, ranges="off")
        fits = dplr.fit_many(
            X, y, eps=[0.8], repeats=500, model="linear", mechanism=spec, bounds=bounds(d, "linear"),
            fit_intercept=False, rng=int(rng.integers(2**31)),
        )  # fmt: skip
        found.append(max(float(np.linalg.norm(est.coef_)) for est in fits))
    return {
        "least eigenvalue of two equal columns": max(0.0, float(np.linalg.eigvalsh(twin.T @ twin)[0])),
        "longest of 500 coefficient vectors, trimmed at 0": found[0],
        "trimmed at 4 deviations": found[1],
    }


def expansion(rng: np.random.Generator) -> Numbers:
    """The squared loss of 100 records at one point, and its expansion with either sign of the quadratic term."""
    X, y, w = rng.uniform(0, 0.5, (100, 4)), rng.uniform(-1, 1, 100), np.ones(4)
    constant, linear, quadratic = y @ y, -2 * (y @ X) @ w, w @ (X.T @ X) @ w
    return {
        "the loss": float(np.sum((y - X @ w) ** 2)),
        "with the printed minus": float(constant + linear - quadratic),
        "with a plus": float(constant + linear + quadratic),
    }


def exponents(rng: np.random.Generator) -> Numbers:
    """The integral of the density over [-z, z] with and without the minus sign in the exponent."""
    z = np.linspace(-50, 50, 1_000_001)
    return {
        "without the minus, over [-50, 50]": float(np.trapezoid(0.5 * np.exp(np.abs(z)), z)),
        "with it": float(np.trapezoid(0.5 * np.exp(-np.abs(z)), z)),
    }


def constant_term(rng: np.random.Generator) -> Numbers:
    """One column, squared loss: the largest change of y x and x^2, and of y^2 too."""
    grid = np.linspace(-1, 1, 21)
    x, y, other, label = np.meshgrid(grid, grid, grid, grid, indexing="ij")
    moved = 2 * np.abs(x * y - other * label) + np.abs(x * x - other * other)
    return {
        "coefficients from j = 1 on": float(moved.max()),
        "from j = 0 on": float((moved + np.abs(y * y - label * label)).max()),
    }


def private_extremes(rng: np.random.Generator) -> Numbers:
    """The loss of one sum of 1,000 numbers scaled by their own extremes, when one of them goes from 1 to 100; eps = 1.

    The sum of numbers in [0, 1] moves by at most 1, which is the scale of the noise.
    """
    mine = rng.uniform(0, 1, 1000)
    mine[:2] = 0.0, 1.0
    theirs = mine.copy()
    theirs[1] = 100.0
    own = [(each - each.min()) / (each.max() - each.min()) for each in (mine, theirs)]
    public = [np.clip(each, 0, 1) for each in (mine, theirs)]
    return {
        "loss with the data's extremes": float(abs(own[0].sum() - own[1].sum())),
        "with public bounds": float(abs(public[0].sum() - public[1].sum())),
    }


def limit(rng: np.random.Generator) -> Numbers:
    """How widely noise of scale 1 scatters w1 - w2 for 1,000 and 100,000 records: the distance of the quartiles."""
    found = {}
    for said, matrix in (("two equal columns", np.ones((2, 2))), ("two others", np.array([[1.0, 0.5], [0.5, 1.0]]))):
        for n in (1_000, 100_000):
            noise = rng.laplace(size=(2000, 3))
            square = n * matrix + np.stack([noise[:, 0], noise[:, 1], noise[:, 1], noise[:, 2]], 1).reshape(-1, 2, 2)
            right = n * matrix @ [0.5, 0.5] + rng.laplace(size=(2000, 2))
            w = np.linalg.solve(square, right[:, :, None])[:, :, 0]
            low, high = np.quantile(w[:, 0] - w[:, 1], (0.25, 0.75))
            found[f"{said}, n = {n:,}"] = float(high - low)
    return found


def convex(rng: np.random.Generator) -> Numbers:
    """Second differences of log(1 + e^z) - y z, for both labels."""
    z = np.linspace(-10, 10, 2001)
    return {f"least second derivative, y = {y}": float(np.diff(log_loss(z) - y * z, 2).min() / 1e-4) for y in (0, 1)}


# Where, what is printed, what is true, and the numbers that show it.
ERRORS: dict[str, tuple[str, str, str, Callable[[np.random.Generator], Numbers]]] = {
    "Delta, logistic": (
        "section 5.2", "Delta = d^2/4 + 3d, 81.25 for d = 13",
        "entries of a row of norm 1 add up to sqrt d at most, not d, and y - 1/2 is 1/2: private, with too much noise",
        lambda rng: sensitivity("logistic", rng),
    ),
    "Delta, linear": (
        "section 4.2", "Delta = 2 (1 + 2d + d^2), 392 for d = 13", "the same",
        lambda rng: sensitivity("linear", rng),
    ),
    "Average error": (
        "the average error of the expansion", "an expression, and its value 0.015",
        "the expression is twice that; the error has one sign on [-1, 1], so that 0.015 holds by luck",
        average_error,
    ),
    "Third derivative": (
        "Lemmas 3 and 4", "the third derivative of log(1 + exp z) is largest at z = 1",
        "it is largest farther out; Lemma 4 holds for margins up to 1, but Lemma 3 takes all coefficients",
        third_derivative,
    ),
    "Positive definite": (
        "section 6", "the matrix M is positive definite, and noise is trimmed at eigenvalue 0",
        "M is positive semidefinite, and eigenvalues near 0 remain",
        definite,
    ),
    "Rerun": (
        "Lemma 5", "2 eps for reruns, by a proof with A* in place of A",
        "the result is right, and more than eps is needed; whoever learns the number of runs learns any amount",
        rerun,
    ),
    "Sign": (
        "the expansion of f_D", "a minus before the quadratic term", "a plus", expansion,
    ),
    "Exponents": (
        "Theorem 1", "densities without the minus in the exponent", "with it", exponents,
    ),
    "Twice a maximum": (
        "Theorem 1, last line but one", "2 max of a difference of two records' coefficients",
        "2 max of one record's coefficients, which the loss does not even reach",
        share_used,
    ),
    "From j = 1": (
        "Lemma 1 and Algorithm 1", "Delta adds up coefficients from j = 1, noise is added from j = 0",
        "no minimiser needs the constant, so that it need not be released; with one column it would cost nothing more",
        constant_term,
    ),
    "Extremes": (
        "footnote 1", "alpha_j and beta_j are an attribute's least and greatest value",
        "they must be public: with those of the data one record moves all others",
        private_extremes,
    ),
    "Limit": (
        "Theorem 2", "the minimiser tends to the true one as n grows; limit and argmin are exchanged without proof",
        "only where the true one is unique",
        limit,
    ),
    "Convex": (
        "on earlier work", "log(1 + exp z) - y z is not convex, and its y must be a probability",
        "it is convex, and y is a label",
        convex,
    ),
}  # fmt: skip


def measure(cell: Cell, seed: int) -> Sequence[Row]:
    numbers = ERRORS[cell["error"]][3](np.random.default_rng(seed))
    return [{"number": name, "value": value} for name, value in numbers.items()]


def table(numbers: pd.DataFrame) -> str:
    """What is printed, what is true, and the number."""
    lines = []
    for name, (where, printed, true, _) in ERRORS.items():
        part = numbers[numbers["error"] == name]
        shown = "; ".join(f"{row.number}: {row.mean:.4g}" for row in part.itertuples())
        lines.append({"where": where, "printed": printed, "true": true, "the number that shows it": shown})
    return markdown(pd.DataFrame(lines))


FIGURE = Figure(
    name="fm12/errors",
    title="what is wrong in FM12 as printed",
    cells=lambda: [{"error": name} for name in ERRORS],
    measure=measure,
    table=table,
)
