"""Benchmarks speak in ratios: subject and reference interleaved in one process, one thread, compared by medians.

A sample during which the process did not have its core (CPU time below 90 % of the wall time) is discarded; where more
than 30 % are, nothing was measured: the machine gets time to calm down, and then that is a failure (in CI, where nobody
can free the machine, a skip that says so), never a pass. Work on the other core slows memory down, for the two sides
unequally and without a trace in CPU time, so a ratio above its limit is measured again, twice at most: a program that
is slower stays slower. Every round is printed.
"""

import os
import statistics
import time

import pytest
from threadpoolctl import threadpool_limits

MOST_DISCARDED = 0.3
ATTEMPTS = 6
CALM_SECONDS = 3
ROUNDS = 3


def pytest_addoption(parser):
    parser.addoption("--slack", type=float, default=1.0, help="divide every limit by this factor (CI: 0.6)")
    parser.addoption("--samples", type=int, default=25, help="interleaved samples of each side")


def sample(function):
    """Milliseconds of one call, or None where something else had the core."""
    wall, cpu = time.perf_counter(), time.process_time()
    function()
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    return 1000 * wall if cpu > 0.9 * wall else None


@pytest.fixture
def slower_than(request, benchmark, monkeypatch, quick):
    """slower_than(subject, reference, limit): median time of the subject over the reference's must not exceed limit.

    `unless` is another reference and limit: one of the two must hold. It says what the memory of a machine allows where
    the first reference computes and the subject reads.
    """
    monkeypatch.setenv("DPLR_NUM_THREADS", "1")
    samples = request.config.getoption("--samples")

    def measure(subject, reference):
        """The kept pairs of one round of samples, or None where the machine never was calm."""
        for attempt in range(2 if quick else ATTEMPTS):
            time.sleep(CALM_SECONDS if attempt else 0)
            subject()
            reference()
            pairs = [(sample(subject), sample(reference)) for _ in range(samples)]
            kept = [pair for pair in pairs if None not in pair]
            if len(kept) >= (1 - MOST_DISCARDED) * samples:
                return kept
        return None

    def compare(subject, reference, limit, unless=None):
        allowed = limit / request.config.getoption("--slack")
        with threadpool_limits(1):
            for again in range(ROUNDS):
                time.sleep(CALM_SECONDS if again else 0)
                kept = measure(subject, reference)
                if kept is None:
                    give_up = pytest.skip if quick else pytest.fail
                    give_up(f"not measured: more than {MOST_DISCARDED:.0%} of {samples} samples had to share the core")
                ours, theirs = (statistics.median(side) for side in zip(*kept, strict=True))
                discarded = samples - len(kept)
                print(
                    f"\n{request.node.name}: {ours:.2f} ms against {theirs:.2f} ms, ratio {ours / theirs:.2f} "
                    f"(limit {limit:g}, allowed here {allowed:.3g}; {discarded} of {samples} samples discarded)"
                )
                if ours / theirs <= allowed:
                    break
            if benchmark.stats is None:
                benchmark.pedantic(subject, rounds=5)
        benchmark.extra_info.update(ratio=ours / theirs, limit=limit, discarded=discarded, rounds=again + 1)
        if unless is not None and ours / theirs > allowed:
            compare(subject, *unless)
        else:
            assert ours / theirs <= allowed

    return compare


@pytest.fixture(scope="session")
def quick():
    """True in CI, where the largest cases are left out."""
    return bool(os.environ.get("CI"))
