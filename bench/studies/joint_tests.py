"""Size and power of tests of several coefficients of which noise drowns one: how often they speak, and reject at 5 %.

Rows are drawn anew in every fit. The tested coefficients are those of a number and of a flag that is 1 in a thousandth
of the rows ("flag"); beside another such flag of a known effect on a tenth of the scale ("two flags"); of the flag at
a value that is not 0 ("value"); of the levels of a block, one of them that rare ("levels"); of all columns ("all").

    python -m bench.studies.joint_tests bench/results/joint_tests.csv [fits under the hypothesis] [with an effect]

goes on where it stopped. `speaks`: there is a p-value. `rejects`: it is at most 5 %, of all fits. `every_line`: all
tested lines have an interval, without which there was no test before lemma 9 of intervals.md. `rejects_so`: such a
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
        return X, np.asarray(mean + rng.normal(0, 2, n))
    return X, np.asarray(rng.random(n) < special.expit(mean))


def fitted(design: str, model: str, n: int, delta: float, effect: bool, rng: np.random.Generator) -> Any:
    """A fit of such rows."""
    X, y = rows(design, model, n, effect, rng)
    columns = {name: (0, 10) if X[name].dtype == float else {"levels": sorted(set("abcd") if name == "work" else
               (False, True))} for name in X}  # fmt: skip
    bounds = dplr.Bounds(columns, target=(-5, 15) if model == "linear" else (False, True))
    mechanism = {"aim": "coefficients"} if model == "linear" else {"mechanism": "score"}
    return dplr.fit(X, y, model=model, eps=1.0, delta=delta, bounds=bounds, rng=int(rng.integers(2**31)), **mechanism)


def tested(est: Any, design: str, model: str) -> tuple[Any, list[str]]:
    """The test of a design, and the names of its lines."""
    lines = [line.name for line in est.summary().lines if line.name != "(intercept)"]
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
        test, names = tested(est, design, model)
        ends = est.conf_int()
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


def main() -> None:
    warnings.simplefilter("ignore")
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
