"""How many times faster than opacus on torch's CPU is a private step on a Poisson batch? (make bench-opacus)

Both sides take the same rows, expected batch, clip, noise multiplier and learning rate, on one thread, in turn; opacus
has an environment of its own. A step of opacus draws its batch, sums clipped gradients, adds noise and goes down; the
column `bare` is the same on a batch that is there already. Ours through the public API is a whole fit over its number
of steps: exact batches and noise, and the check of every row. The noise that all steps need is found once for a plan
(`calibration_s`) and kept: no step pays for it. The kernel alone is the exact sum over a batch that is there already.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

import dplr
from bench.speed.bench_fit import survey
from dplr.bounds.scaling import ball_prep
from dplr.noise import Source
from dplr.problem.losses import LOGISTIC
from dplr.rows import ArrayRows
from dplr.rows.exact import ClippedGradient, on_coef_grid

BATCH, CLIP, RATE, EPS, DELTA = 256, 0.3, 0.5, 1.0, 1e-5
OUR_STEPS, THEIR_STEPS, BATCHES = 2000, 300, 500
# Rows, features, floor of the kernel alone, floor of the public API.
CASES = [(17_500, 10, 200, 25), (48_842, 105, 46, 25)]


def peer(python):
    worker = Path(__file__).with_name("opacus_worker.py")
    one_thread = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    return subprocess.Popen(
        [python, worker],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        bufsize=1,
        env=os.environ | one_thread,
    )


def seconds_there(process, folder, multiplier):
    """Seconds of opacus' step, and of its step without drawing the batch."""
    process.stdin.write(f"{folder} {BATCH} {CLIP} {multiplier} {RATE} {THEIR_STEPS}\n")
    process.stdin.flush()
    return tuple(map(float, process.stdout.readline().split()))


def fitting(X, y):
    """Our fit through the public API, and the noise multiplier that it has."""
    spec = dplr.NoisyGradientDescent(steps=OUR_STEPS, batch=BATCH, clip=CLIP, learning_rate=RATE)
    options = {"eps": EPS, "delta": DELTA, "mechanism": spec}
    plan = dplr.plan(n_rows=len(X), n_features=X.shape[1], **options)
    return lambda: dplr.fit(X, y, **options), plan.statement.guarantee.noise_multiplier


def summing(X, y):
    """Our exact sums over many batches, drawn before: the kernel's call and nothing around it."""
    n, d = X.shape
    query, source = ClippedGradient(LOGISTIC, d, True, CLIP), Source()
    known = ArrayRows(X, y, ball_prep(d, True, (0.0, 1.0)), threads=1).clipped_rows
    known.keep(chosen=True)  # as a fit does after some hundred steps
    units = max(1, round(BATCH / n * 2**32))
    batches = [source.bernoulli_indices(n, units) for _ in range(BATCHES)]
    coef = on_coef_grid(np.random.default_rng(1).normal(size=d + 1))
    out = query.partial()

    def sums():
        for batch in batches:
            query.add_rows(known, coef, out, 0, len(batch), batch)

    return sums


def seconds_here(function, calls):
    """Seconds a call of the second of two turns: the first wakes the core, which slept while the other side worked."""
    for _ in range(2):
        start = time.perf_counter()
        function()
        seconds = time.perf_counter() - start
    return seconds / calls


def compare(process, n, d, samples):
    """Medians: kernel, step through the API, opacus' step, the same on a drawn batch; and seconds of calibration."""
    X, y = survey(n, d)
    start = time.perf_counter()
    fit, multiplier = fitting(X, y)
    calibration = time.perf_counter() - start
    sums = summing(X, y)
    with tempfile.TemporaryDirectory() as folder:
        np.save(f"{folder}/X.npy", X)
        np.save(f"{folder}/y.npy", y)
        times = [
            (seconds_here(sums, BATCHES), seconds_here(fit, OUR_STEPS), *seconds_there(process, folder, multiplier))
            for _ in range(samples + 1)
        ]
    return [1e6 * statistics.median(side) for side in zip(*times[1:], strict=True)], calibration


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("python", help="interpreter of the environment with opacus 1.6.0 and torch 2.13.0")
    parser.add_argument("--samples", type=int, default=9)
    arguments = parser.parse_args()
    os.environ["DPLR_NUM_THREADS"] = "1"
    process, missed = peer(arguments.python), 0
    print("n,d,kernel_us,api_us,opacus_us,bare_us,calibration_s,kernel_times_faster,floor,api_times_faster,floor")
    for n, d, kernel_floor, api_floor in CASES:
        with threadpool_limits(1):
            (kernel, api, step, bare), calibration = compare(process, n, d, arguments.samples)
        missed += (step / kernel < kernel_floor) + (step / api < api_floor)
        print(
            f"{n},{d},{kernel:.2f},{api:.1f},{step:.0f},{bare:.0f},{calibration:.1f},"
            f"{step / kernel:.0f},{kernel_floor:g},{step / api:.1f},{api_floor:g}",
            flush=True,
        )
    process.stdin.close()
    process.wait()
    sys.exit(f"{missed} floors missed" if missed else 0)


if __name__ == "__main__":
    main()
