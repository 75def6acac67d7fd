"""Which defaults of noisy gradient descent are best? Steps, learning rate, clip, averaging, momentum, by simulation.

Full-batch gradient descent with heavy-ball momentum on clipped gradients and Gaussian noise, delta = 1e-5, replace-one.
Data: the ACS file, the train split of Adult (its own validation part), KDD 99, heart disease and synthetic rows. The
test split of Adult is scored by the table `adult` alone. Scores: misclassification or mean squared error, and log loss.

    hindsight  the default against the best of 3 averages x 5 horizons x 3 clips, chosen after looking at the test rows
    variants   the default with one thing changed
    warm       the default with coefficients fitted to public rows as w0
    adult      test error on Adult's official split, 20 fits

    OMP_NUM_THREADS=1 DPLR_DATA=<folder> python -m bench.studies.noisy_gd bench/results/noisy_gd_defaults.csv [tables]

The defaults are a copy made for this study, with a clip scale of 0.025 for labels and numbers alike. The package takes
0.02 for labels (decision record 10).
"""

import csv
import itertools
import math
import sys

import numpy as np
from scipy import optimize, special

from bench.data.adult import load
from bench.data.noisy_gd import FOLDER, IOTA, acs_rows, all_sets, frame, hospitals, split, targets
from dplr.privacy.gaussian import gaussian_mu

DELTA, MOMENTUM = 1e-5, 0.9
RADIUS = math.sqrt(1 + IOTA**2)
BUDGETS = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
FEW_BUDGETS = (0.05, 0.2, 1.0, 5.0)
LOSSES = {"logistic": (1.0, 0.25), "squared": (math.inf, 1.0), "svm": (1.0, 1.0)}  # lipschitz, smoothness
DEFAULT = {"clip_scale": 0.025, "least": None, "norm": 1.0, "kappa": 2.0, "clip": None}


def defaults(n, q, mu, signs, lipschitz, smoothness, row_norm, classification, warm=False, **change):
    """(steps, learning_rate, clip, averaging) from public facts; `change` is for this study alone."""
    o = {**DEFAULT, **change}
    per_clip = signs * math.sqrt(q) / (n * mu)  # norm of the noise in a mean gradient, per unit of clip
    least = o["least"] or (0.45 if classification else 0.11)
    clip = o["clip"] or row_norm * min(max(least, o["clip_scale"] / math.sqrt(per_clip)), lipschitz, 2.0)
    norm = o["norm"] * min(16.0, 2 * math.sqrt(q)) * (1 if classification else 0.2) * (1 / 3 if warm else 1)
    noise = clip * per_clip
    horizon = 1 / (noise / norm + noise**2 / (o["kappa"] * (1 / 9 if warm else 1)))
    largest = 24 / (smoothness * row_norm**2)
    steps = min(200, max(100, math.ceil(horizon / largest)))
    return steps, min(horizon / steps, largest), clip, 0.25


# ---- the algorithm, for several columns (learning rate, clip) at once ----


def residuals(loss, z, y):
    if loss == "squared":
        return z - y
    slope = special.expit(-y * z) if loss == "logistic" else np.clip(1.5 - y * z, 0, 1)
    return -y * slope


def descend(data, loss, rates, clips, mu, steps, rng, momentum=MOMENTUM, l2=0.0, decay=False, start=0.0):
    """Coefficients by the share of the last iterates that is averaged (0: the last), one column a rate and clip."""
    A, y = data[0].astype(np.float32), data[1].astype(np.float32)[:, None]
    n, q = A.shape
    rates, clips = np.asarray(rates, np.float32), np.asarray(clips, np.float32)
    limit = clips / np.linalg.norm(A, axis=1)[:, None]
    sigma = (math.sqrt(steps) * 2 / mu * clips).astype(np.float32)
    origin = np.broadcast_to(np.reshape(start, (-1, 1)), (q, len(rates))).astype(np.float32)
    w, velocity = origin.copy(), np.zeros_like(origin)
    means = {share: np.zeros((q, len(rates))) for share in (0.0, 0.25, 0.5)}
    for step in range(steps):
        r = np.clip(residuals(loss, A @ w, y), -limit, limit)
        g = (A.T @ r + rng.standard_normal(w.shape, dtype=np.float32) * sigma) / n + l2 * (w - origin)
        velocity = momentum * velocity + g
        w = w - rates * (1 - momentum) * velocity * (2 * (1 - (step + 0.5) / steps) if decay else 1)
        for share, mean in means.items():
            last = max(1, round(share * steps))
            if step >= steps - last:
                mean += w / last
    return means


def scores(data, loss, coefs):
    z, y = data[2] @ coefs, data[3][:, None]
    if loss == "squared":
        return (2 * [np.mean((z - y) ** 2, axis=0)])[:2]
    value = np.logaddexp(0, -y * z) if loss == "logistic" else np.maximum(0, 1 - y * z)
    return [np.mean(y * z <= 0, axis=0), np.mean(value, axis=0)]


# ---- tables: yield (data, loss, eps, setting, error, log loss, excess of either over the best in hindsight) ----


def plan(loss, n, q, eps, **change):
    """The defaults for this loss, and mu."""
    mu = gaussian_mu(eps, DELTA)
    return defaults(n, q, mu, 2, *LOSSES[loss], RADIUS, loss != "squared", **change), mu


def repetitions(n):
    return 24 if n <= 1000 else 12 if n <= 5000 else 4


def mean_scores(data, loss, coefs, count):
    return np.array([np.reshape(s, (-1, count)).mean(axis=1) for s in scores(data, loss, coefs)])


def hindsight():
    scales = list(itertools.product(2.0 ** np.arange(-2, 3), (0.5, 1.0, 2.0)))
    for loss in LOSSES:
        for name, data in all_sets(loss):
            (n, q), count = data[0].shape, max(3, repetitions(len(data[0])) // 2)
            for eps in FEW_BUDGETS:
                (steps, rate, clip, share), mu = plan(loss, n, q, eps)
                most = RADIUS * min(LOSSES[loss][0], 2.0)
                columns = np.repeat([(rate * r, min(clip * c, most)) for r, c in scales], count, axis=0)
                found = descend(data, loss, *columns.T, mu, steps, np.random.default_rng(1))
                table = np.nan_to_num([mean_scores(data, loss, w, count) for w in found.values()], nan=9.0)
                chosen = table[list(found).index(share), :, scales.index((1.0, 1.0))]
                best = table.min(axis=(0, 2))
                yield name, loss, eps, "default", *chosen, *(100 * (chosen / best - 1))
            print("hindsight", loss, name, file=sys.stderr, flush=True)


VARIANTS = {
    "default": {}, "clip never": {"least": 2.0}, "clip 0.5": {"clip": 0.5}, "clip x 1.4": {"clip_scale": 0.035},
    "horizon / 2": {"norm": 0.5, "kappa": 1.0}, "horizon * 2": {"norm": 2.0, "kappa": 4.0},
    "no cut where noise drowns": {"kappa": math.inf}, "last iterate": {"share": 0.0}, "average half": {"share": 0.5},
    "no momentum, stable rate": {"momentum": 0.0, "most": 1.9}, "no momentum": {"momentum": 0.0, "most": 6.0},
    "momentum 0.8": {"momentum": 0.8}, "50 steps": {"steps": 50}, "100 steps": {"steps": 100},
    "200 steps": {"steps": 200}, "decreasing steps": {"decay": True, "share": 0.0}, "l2 = 1 / horizon": {"ridge": 1.0},
    "l2 = 0.1 / horizon": {"ridge": 0.1},
}  # fmt: skip


def variants():
    for loss in LOSSES:
        found = {}
        for name, data in all_sets(loss):
            (n, q), count = data[0].shape, repetitions(len(data[0]))
            for eps, (label, change) in itertools.product((0.1, 1.0), VARIANTS.items()):
                known = {key: change[key] for key in change if key in DEFAULT}
                (steps, rate, clip, share), mu = plan(loss, n, q, eps, **known)
                horizon, steps = steps * rate, change.get("steps", steps)
                rate = min(horizon / steps, change.get("most", 24) / (LOSSES[loss][1] * RADIUS**2))
                options = {"momentum": change.get("momentum", MOMENTUM), "decay": change.get("decay", False),
                           "l2": change.get("ridge", 0) / horizon}  # fmt: skip
                w = descend(data, loss, [rate] * count, [clip] * count, mu, steps, np.random.default_rng(1), **options)
                row = mean_scores(data, loss, w[change.get("share", share)], count)[:, 0]
                found.setdefault((eps, label), []).append(np.log(np.nan_to_num(row, nan=9.0)))
            print("variants", loss, name, file=sys.stderr, flush=True)
        for (eps, label), rows in found.items():
            means, default = np.mean(rows, axis=0), np.mean(found[eps, "default"], axis=0)
            yield "mean of all", loss, eps, label, *np.exp(means), *(100 * np.expm1(means - default))


def fit(A, y):
    """Logistic regression with ridge 1, without privacy."""

    def objective(w):
        z = y * (A @ w)
        return np.logaddexp(0, -z).sum() + w @ w / 2, w - A.T @ (y * special.expit(-z))

    return optimize.minimize(objective, np.zeros(A.shape[1]), jac=True, options={"maxiter": 500}).x


def warm():
    rows = frame("acs2024_fm_370k.parquet")
    florida, new_york = (rows[rows["State"] == state] for state in (12, 36))
    pairs = [(f"Florida {m} -> New York {n}", split(acs_rows(florida), targets(florida, "svm"), m),
              split(acs_rows(new_york), targets(new_york, "svm"), n))
             for m, n in ((300, 1000), (3000, 1000), (3000, 10_000))]  # fmt: skip
    pairs += [(f"cleveland 150 -> {name} 150", split(*hospitals(["cleveland"]), 150), split(*hospitals([name]), 150))
              for name in ("hungarian", "va")]  # fmt: skip
    for name, public, data in pairs:
        public_coef, (n, q) = fit(*public[:2]), data[0].shape
        yield name, "logistic", 0.0, "public coefficients", *np.ravel(scores(data, "logistic", public_coef[:, None]))
        for eps, start, is_warm in itertools.product(BUDGETS, (0.0, public_coef), (False, True)):
            (steps, rate, clip, share), mu = plan("logistic", n, q, eps, warm=is_warm)
            w = descend(data, "logistic", [rate] * 40, [clip] * 40, mu, steps, np.random.default_rng(1), start=start)
            label = f"start {'at 0' if np.isscalar(start) else 'public'}, {'warm' if is_warm else 'cold'} defaults"
            yield name, "logistic", eps, label, *mean_scores(data, "logistic", w[share], 40)[:, 0]


def adult():
    X, y, X_test, y_test = load(FOLDER)
    A, A_test = (np.column_stack([rows, np.full(len(rows), IOTA)]) for rows in (X, X_test))
    data = A, 2.0 * y - 1, A_test, 2.0 * y_test - 1
    for loss, eps in itertools.product(("logistic", "svm"), (0.1, 0.5, 1.0, 2.0)):
        (steps, rate, clip, share), mu = plan(loss, *A.shape, eps)
        w = descend(data, loss, [rate] * 20, [clip] * 20, mu, steps, np.random.default_rng(0))[share]
        yield "adult test", loss, eps, "default", *mean_scores(data, loss, w, 20)[:, 0]


def main(path, *tables):
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["table", "data", "model", "eps", "setting", "error", "loss", "error_percent", "loss_percent"])
        for table in (hindsight, variants, warm, adult):
            for name, loss, eps, setting, *numbers in table() if not tables or table.__name__ in tables else ():
                shown = [f"{x:.4f}" for x in numbers[:2]] + [f"{x:.1f}" for x in numbers[2:]]
                writer.writerow([table.__name__, name, loss, eps, setting, *shown, *[""] * (4 - len(shown))])
                file.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
