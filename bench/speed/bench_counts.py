"""What a fit costs in numbers that no noisy machine can change: reads of a row, kernel calls, draws, memory."""

import tracemalloc

import pytest

import dplr
from bench.speed.bench_fit import survey
from dplr.noise import Source
from dplr.rows.exact import Moments


@pytest.fixture
def counted(monkeypatch):
    """Rows of each kernel call, and numbers drawn."""
    calls, drawn = [], []
    add_block, laplace, gaussian = Moments.add_block, Source.laplace, Source.gaussian

    def counting_block(query, block, *rest):
        calls.append(len(block.X))
        return add_block(query, block, *rest)

    def counting(draw):
        def counted_draw(source, scale, size):
            drawn.append(size)
            return draw(source, scale, size)

        return counted_draw

    monkeypatch.setenv("DPLR_NUM_THREADS", "1")
    monkeypatch.setattr(Moments, "add_block", counting_block)
    monkeypatch.setattr(Source, "laplace", counting(laplace))
    monkeypatch.setattr(Source, "gaussian", counting(gaussian))
    return calls, drawn


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_a_fit_reads_every_row_once_in_one_kernel_call_and_draws_one_number_a_coefficient(counted, delta):
    calls, drawn = counted
    n, d = 50_000, 13
    dplr.fit(*survey(n, d), mechanism="fm", eps=0.8, delta=delta)
    assert calls == [n]
    q = d + 1
    assert sum(drawn) == q + q * (q + 1) // 2 - 1  # the number of rows is public: its cell is not released


def test_a_fit_takes_memory_for_the_moments_and_none_for_the_rows():
    X, y = survey(200_000, 13)
    dplr.fit(X, y, mechanism="fm", eps=0.8)  # imports and caches
    tracemalloc.start()
    dplr.fit(X, y, mechanism="fm", eps=0.8)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2**18
