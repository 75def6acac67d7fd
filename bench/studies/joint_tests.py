"""Size and power of tests of several coefficients of which noise drowns one: how often they speak, and reject at 5 %.

Rows are drawn anew in every fit. The tested coefficients are those of a number and of a flag that is 1 in a thousandth
of the rows ("flag"); beside another such flag of a known effect on a tenth of the scale ("two flags"); of the flag at
a value that is not 0 ("value"); of the levels of a block, one of them that rare ("levels"); of all columns ("all").

    python -m bench.studies.joint_tests bench/results/joint_tests.csv [fits under the hypothesis] [with an effect]

    python -m bench.studies.joint_tests --squares bench/results/drowned_squares.csv [fits]

has intervals of R^2 and of the residual deviation of such tables, the drowned flag with an effect of `side`: how often
there is one, how often these hold the truth, and their ends (medians).

Both go on where they stopped. `speaks`: there is a p-value. `rejects`: it is at most 5 %, of all fits. `every_line`:
all tested lines have an interval, without which there was no test before lemma 9 of intervals.md. `rejects_so`: such a
test rejected. `fewest`: the statistic rejects with as many degrees of freedom as there are coefficients.
"""

import csv
import pathlib
import sys
import warnings
from typing import Any

import numpy as np
import pandas as pd
from scipy import special

import dplr

RARE, LEVEL = 0.001, 0.05
DESIGNS = "flag", "two flags", "value", "levels", "all"
CELLS = [
    *(("flag", model, n, 1e-6) for model in ("linear", "logistic") for n in (5_000, 50_000)),
    *((design, model, 20_000, 1e-6) for design in DESIGNS[1:] for model in ("linear", "logistic")),
    ("flag", "linear", 20_000, 0.0),
]
FIELDS = (
    "design", "model", "n", "eps", "delta", "effect", "fits", "speaks", "rejects", "every_line", "rejects_so", "fewest",
)  # fmt: skip
SQUARES = [
    *(("value", n, side) for n in (5_000, 20_000, 50_000) for side in (0.0, 9.0)), ("two flags", 50_000, 3.0),
    ("levels", 20_000, 0.0),
]  # fmt: skip
OF_SQUARES = (
    "design", "n", "side", "fits", "truth", "said", "held", "low", "high", "deviation_said", "deviation_held",
    "deviation_low", "deviation_high",
)  # fmt: skip
NOISE = 2.0
# Of the number, in units of the target or log odds from 0 to 10, and of the level b, by the rows.
EFFECTS = {"linear": (1.2, 0.8), "logistic": (1.2, 0.8)}
SIDE, SHIFT = {"linear": 3.0, "logistic": 1.5}, {"linear": 0.0, "logistic": 2.5}


def rows(design: str, model: str, n: int, effect: bool, rng: np.random.Generator) -> tuple[pd.DataFrame, Any]:
    """Columns of a table, and its target."""
    X = pd.DataFrame(
        {"hours": rng.uniform(0, 10, n), "age": rng.uniform(0, 10, n), "own": rng.random(n) < 0.4,
         "rare": rng.random(n) < RARE}
    )  # fmt: skip
    mean = 0.0 if design == "all" else 0.4 * X.age + X.own - SHIFT[model]
    if design == "two flags":
        X["other"] = (rng.random(n) < RARE) | (X.rare & (rng.random(n) < 0.5))
        mean = mean + SIDE[model] * X.other
    if design == "value":
        mean = mean + SIDE[model] * X.rare
    if design == "levels":
        X = X.drop(columns="rare").assign(work=rng.choice(list("abcd"), n, p=[0.6, 0.3, 0.1 - RARE, RARE]))
    if effect:
        number, level = EFFECTS[model]
        mean = mean + (level * (X.work == "b") if design == "levels" else number * X.hours / 10)
    if model == "linear":
        return X, np.asarray(mean + rng.normal(0, NOISE, n))
    return X, np.asarray(rng.random(n) < special.expit(mean))


def fitted(design: str, model: str, n: int, delta: float, effect: bool, rng: np.random.Generator) -> Any:
    """A fit of such rows."""
    X, y = rows(design, model, n, effect, rng)
    columns = {name: (0, 10) if X[name].dtype == float else {"levels": sorted(set("abcd") if name == "work" else
               (False, True))} for name in X}  # fmt: skip
    bounds = dplr.Bounds(columns, target=(-5, 15) if model == "linear" else (False, True))
    mechanism = {"aim": "coefficients"} if model == "linear" else {"mechanism": "score"}
    return dplr.fit(X, y, model=model, eps=1.0, delta=delta, bounds=bounds, rng=int(rng.integers(2**31)), **mechanism)


def tested(est: Any, design: str, model: str, lines: list[str]) -> tuple[Any, list[str]]:
    """The test of a design, and the names of its lines among those of a table."""
    if design == "levels":
        return est.wald_test("work"), [name for name in lines if name.startswith("work")]
    if design == "all":
        return est.wald_test(lines), lines
    names = [next(line for line in lines if line.startswith(name)) for name in ("hours", "rare")]
    return est.wald_test(names, [0.0, SIDE[model] if design == "value" else 0.0]), names


def cell(design: str, model: str, n: int, delta: float, effect: bool, fits: int) -> dict[str, Any]:
    """Shares of the fits of one design."""
    rng = np.random.default_rng(np.frombuffer(f"{design}{model}{n}{delta}{effect}".encode(), np.uint8))
    found = np.zeros((fits, 5), bool)
    for k in range(fits):
        est = fitted(design, model, n, delta, effect, rng)
        ends = est.conf_int()
        test, names = tested(est, design, model, [name for name in ends if name != "(intercept)"])
        every = all(np.isfinite(ends[name]).all() for name in names)
        tail = float(special.chdtrc(test.dof, test.statistic))
        found[k] = test.p_value <= 1, test.p_value <= LEVEL, every, every and test.p_value <= LEVEL, tail <= LEVEL
    shares = dict(zip(FIELDS[7:], (f"{share:.3f}" for share in found.mean(axis=0)), strict=True))
    return {
        "design": design,
        "model": model,
        "n": n,
        "eps": 1.0,
        "delta": delta,
        "effect": effect,
        "fits": fits,
    } | shares


def of_squares(design: str, n: int, side: float, fits: int) -> dict[str, Any]:
    """Shares and medians of the intervals of R^2 and of the residual deviation."""
    rng = np.random.default_rng(np.frombuffer(f"{design}{n}{side}".encode(), np.uint8))
    SIDE["linear"] = side
    _, y = rows(design, "linear", 10**6, True, np.random.default_rng(0))
    explained = 1 - NOISE**2 / float(np.var(y))
    ends = np.full((fits, 2, 2), np.nan)
    for k in range(fits):
        found = {each.name: each for each in fitted(design, "linear", n, 1e-6, True, rng).summary().fit_statistics}
        ends[k] = [(found[name].low, found[name].high) for name in ("R-squared", "residual std. deviation")]
    said = np.isfinite(ends[..., 0])
    held = said & (ends[..., 0] <= [explained, NOISE]) & (ends[..., 1] >= [explained, NOISE])
    shares = [said.mean(axis=0), held.sum(axis=0) / np.maximum(said.sum(axis=0), 1)]
    values = explained, *np.stack([*shares, *np.nanmedian(ends, axis=0).T], axis=1).ravel()
    return dict(zip(OF_SQUARES, (design, n, side, fits, *(f"{value:.3f}" for value in values)), strict=True))


def squares(path: pathlib.Path, fits: int) -> None:
    """The table of R^2 and the residual deviation."""
    keys = set()
    if path.exists():
        with path.open(newline="") as file:
            keys = {tuple(row[name] for name in OF_SQUARES[:3]) for row in csv.DictReader(file)}
    else:
        path.write_text(",".join(OF_SQUARES) + "\n")
    for design, n, side in SQUARES:
        if (design, str(n), str(side)) not in keys:
            with path.open("a", newline="") as file:
                csv.DictWriter(file, OF_SQUARES).writerow(of_squares(design, n, side, fits))


def main() -> None:
    warnings.simplefilter("ignore")
    if sys.argv[1] == "--squares":
        squares(pathlib.Path(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 200)
        return
    path = pathlib.Path(sys.argv[1])
    counts = [int(text) for text in sys.argv[2:]] or [400, 100]
    keys = set()
    if path.exists():
        with path.open(newline="") as file:
            keys = {tuple(row[name] for name in FIELDS[:6]) for row in csv.DictReader(file)}
    else:
        path.write_text(",".join(FIELDS) + "\n")
    for effect, fits in zip((False, True), counts, strict=True):
        for design, model, n, delta in CELLS:
            if (design, model, str(n), "1.0", str(delta), str(effect)) not in keys:
                with path.open("a", newline="") as file:
                    csv.DictWriter(file, FIELDS).writerow(cell(design, model, n, delta, effect, fits))


if __name__ == "__main__":
    main()
