"""How many steps a fit takes through the package: a gate that is lowered with each step that goes.

It was raised once, by 49 steps of a fit with a ledger: every value of its file is read strictly, and every step says
what is spent if it fails.
"""

import pathlib
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import dplr

ROOT = str(pathlib.Path(dplr.__file__).parent)
# Mechanism, with a ledger or without -> most calls of functions, modules, and depth of the stack, all of dplr's own.
GATES = {
    ("fm", False): (520, 65, 24),
    ("fm", True): (667, 76, 28),
    ("objective", False): (750, 72, 26),
    ("objective", True): (900, 83, 26),
}


class Steps:
    """Counts the calls of functions of the package."""

    def __init__(self):
        self.calls, self.modules, self.depth, self.deepest = 0, set(), 0, 0

    def __call__(self, frame, event, _):
        file = frame.f_code.co_filename
        if not file.startswith(ROOT):
            return
        if event == "call":
            self.calls += 1
            self.modules.add(file)
            self.depth += 1
            self.deepest = max(self.deepest, self.depth)
        elif event == "return":
            self.depth -= 1


def steps_of(function):
    steps, before = Steps(), sys.getprofile()
    sys.setprofile(steps)
    try:
        function()
    finally:
        sys.setprofile(before)
    return steps


@pytest.mark.parametrize(("mechanism", "counted"), GATES)
def test_a_fit_takes_no_more_steps_than_it_did(mechanism, counted, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (5000, 5))
    y = X @ np.arange(1, 6) + rng.normal(size=5000) > 0
    ledger = dplr.Ledger(tmp_path / "budget.db", eps=1e6) if counted else None
    options = {"mechanism": mechanism, "eps": 0.8, "bounds": dplr.Bounds([(-1.0, 1.0)] * 5)}

    def fit():
        return dplr.fit(X, y, ledger=ledger, **options)

    fit()  # imports, and what is kept from one fit to the next
    with ThreadPoolExecutor(1) as thread:  # a stack of its own: a fit looks at who called it, frame by frame
        steps = thread.submit(steps_of, fit).result()
    most_calls, most_modules, most_depth = GATES[mechanism, counted]
    assert steps.calls <= most_calls
    assert len(steps.modules) <= most_modules
    assert steps.deepest <= most_depth
