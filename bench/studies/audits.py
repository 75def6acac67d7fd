"""`dplr.audit` on ten configurations of Adult's public bounds: exact losses, bounds from fits, broken copies caught.

    python -m bench.studies.audits bench/results/audits.csv [runs]

Reads no data. Times are of the machine at hand, for the order of magnitude.
"""

import csv
import pathlib
import sys
import time

import dplr
from dplr.mechanisms import FunctionalMechanism, NoisyGradientDescent

PAIRS, RUNS = 200, 400
FIELDS = ("configuration", "eps", "exact", "bound", "pairs", "runs", "broken", "caught", "unseen", "seconds")
ROOT = pathlib.Path(__file__).parents[2]
ADULT = ROOT / "docs/examples/adult.toml"
SMALL = {"age": (17, 90), "hours": (1, 99), "sex": {"levels": ["Female", "Male"], "binary": True}}
LABELS, NUMBERS = dplr.Bounds(SMALL, target=(0, 1)), dplr.Bounds(SMALL, target=(0, 100))
CONFIGURATIONS = {
    "auto (objective), Adult": {"bounds": dplr.Bounds.from_toml(ADULT)},
    "fm": {"bounds": LABELS, "mechanism": "fm"},
    "fm, persons of 3 rows": {
        "bounds": dplr.Bounds(SMALL, target=(0, 1), rows_per_person=3), "mechanism": "fm", "person": "id",
    },
    "fm, linear, robust intervals": {
        "bounds": NUMBERS, "mechanism": FunctionalMechanism(intervals="robust"), "model": "linear",
    },
    "objective, weights": {"bounds": dplr.Bounds(SMALL, target=(0, 1), weight_max=5), "mechanism": "objective"},
    "objective, Hessian, delta 1e-6": {
        "bounds": LABELS, "mechanism": "objective", "aim": "coefficients", "delta": 1e-6,
    },
    "output": {"bounds": LABELS, "mechanism": "output"},
    "ngd, delta 1e-6": {"bounds": LABELS, "mechanism": "ngd", "delta": 1e-6},
    "ngd, batches, delta 1e-6": {
        "bounds": LABELS, "mechanism": NoisyGradientDescent(steps=20, batch=30), "delta": 1e-6,
    },
    "score, persons, delta 1e-6": {"bounds": LABELS, "mechanism": "score", "delta": 1e-6, "person": "id"},
}  # fmt: skip


def row(name, runs):
    """The audit of one configuration."""
    start = time.perf_counter()
    audit = dplr.audit(eps=1.0, pairs=PAIRS, runs=runs, broken=True, **CONFIGURATIONS[name])
    print(audit, flush=True)
    exact = "" if audit.exact is None else f"{audit.exact:.4f}"
    unseen = "; ".join(twin.fault for twin in audit.twins if not twin.caught)
    numbers = (len(audit.twins), sum(twin.caught for twin in audit.twins), unseen)
    return (name, 1, exact, f"{audit.bound:.3f}", audit.pairs, runs, *numbers, round(time.perf_counter() - start))


def main(path, runs=RUNS):
    """Write one row for each configuration."""
    with open(path, "w", newline="", encoding="utf-8") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(FIELDS)
        for name in CONFIGURATIONS:
            table.writerow(row(name, int(runs)))
            file.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
