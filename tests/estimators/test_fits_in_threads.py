"""Fits in many threads at once, on Python with its lock and without: each is as if it were alone."""

import sys
import sysconfig
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import dplr
from dplr.ledger import BudgetExceeded, Ledger

THREADS = 8
BOUNDS = dplr.Bounds([(-1, 1), (-1, 1), (-1, 1)])
pytestmark = pytest.mark.filterwarnings("ignore:rng is set:dplr.PrivacyWarning")


def rows(n=3000):
    rng = np.random.default_rng(5)
    X = rng.uniform(-1, 1, (n, 3))
    return X, (X @ [1.0, -1.0, 0.5] + rng.normal(0, 0.3, n) > 0).astype(int)


def in_threads(work):
    """Results of work(0), work(1), ..., which all begin together."""
    together = threading.Barrier(THREADS)

    def begin(number):
        together.wait()
        return work(number)

    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(begin, range(THREADS)))


@pytest.mark.parametrize("mechanism", ["fm", "objective", "output", "ngd", "score"])
def test_fits_of_the_same_rows_have_the_bits_of_each_alone(mechanism):
    X, y = rows()

    def fitted(seed):
        est = dplr.fit(X, y, eps=1.0, delta=1e-6, bounds=BOUNDS, mechanism=mechanism, rng=seed, n_rows=len(y))
        return np.append(est.coef_, est.intercept_)

    alone = [fitted(seed) for seed in range(THREADS)]
    assert len({tuple(coef) for coef in alone}) == THREADS
    assert_array_equal(in_threads(fitted), alone)


def test_fits_that_share_a_ledger_never_spend_more_than_it_has(tmp_path):
    X, y = rows(400)
    ledger = Ledger(tmp_path / "ledger", eps=1.0)

    def spent(_):
        try:
            dplr.fit(X, y, eps=0.25, bounds=BOUNDS, mechanism="fm", ledger=ledger)
        except BudgetExceeded:
            return 0
        return 1

    assert sum(in_threads(spent)) == 4
    assert ledger.spent()[0] == 1.0


def test_threads_predict_with_one_estimator():
    X, y = rows()
    est = dplr.fit(X, y, eps=1.0, bounds=BOUNDS, mechanism="fm")
    expected = est.predict_proba(X)
    for found in in_threads(lambda _: est.predict_proba(X)):
        assert_array_equal(found, expected)


def test_kernels_leave_the_lock_of_the_interpreter_as_it_was():
    """A module that does not say that it needs no lock turns it on again, for the whole process."""
    if not sysconfig.get_config_var("Py_GIL_DISABLED"):
        pytest.skip("this Python has its lock")
    assert "dplr._core._noise" in sys.modules
    assert not sys._is_gil_enabled()
