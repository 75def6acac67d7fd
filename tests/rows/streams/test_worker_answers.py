"""Answers of workers: what was summed comes back in every bit, and what is not an answer to the question is refused."""

import contextlib
import json

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.extra import numpy as arrays

from dplr.problem.losses import LOGISTIC
from dplr.rows.exact import ClippedGradient, Faults, Moments, Total
from dplr.rows.files.part import missing_file
from dplr.rows.losses import FineGradient, LossGradient, LossGradientHessian, RealTotal
from dplr.rows.streams.answers import WorkerFault, dump, dump_fault, load
from dplr.rows.streams.far import sum_part
from dplr.rows.streams.passes import CountPass, SumPass
from streamed_rows import MemoryPart, people

D = 2
LOSS = LOGISTIC
QUERIES = {
    "moments": Moments(D, True),
    "gradient": LossGradient(LOSS, D, True),
    "loss": LossGradient(LOSS, D, True, with_loss=True),
    "hessian": LossGradientHessian(LOSS, D, True),
    "fine": FineGradient(LOSS, D, True),
}
int64 = st.integers(-(2**63), 2**63 - 1)
counts = st.integers(0, 2**40)


def faults(draw):
    return Faults(draw(counts), draw(counts), draw(counts), tuple(draw(counts) for _ in range(D + 1)), (draw(counts),))


@st.composite
def exact_totals(draw, query=QUERIES["moments"]):
    hi, lo = (draw(arrays.arrays(np.int64, query.shape, elements=int64)) for _ in range(2))
    return Total(hi, lo, query.exponent, faults(draw))


@st.composite
def float_totals(draw, query):
    numbers = st.floats(allow_nan=False, allow_infinity=False)
    q = query.d + query.intercept
    hi, lo = (draw(arrays.arrays(np.float64, q + 1, elements=numbers)) for _ in range(2))
    upper = draw(arrays.arrays(np.float64, (q, q), elements=numbers)) if query.with_hessian else None
    return RealTotal(hi, lo, upper, query.with_loss, faults(draw))


def of(name):
    return exact_totals() if name == "moments" else float_totals(QUERIES[name])


def job_of(*names):
    return SumPass(None, [(QUERIES[name], None) for name in names])


def same(first, second):
    parts = ("hi", "lo", "exponent", "upper", "has_loss", "faults")
    values = [(getattr(first, part, None), getattr(second, part, None)) for part in parts]
    return type(first) is type(second) and all(
        one.tobytes() == other.tobytes() if isinstance(one, np.ndarray) else one == other for one, other in values
    )


@settings(max_examples=50)
@given(st.data(), st.lists(st.sampled_from([*QUERIES]), max_size=4))
def test_totals_come_back_in_every_bit(data, names):
    job = job_of(*names)
    totals = [data.draw(of(name)) for name in names]
    found = job.load(job.dump(totals))
    assert all(same(one, other) for one, other in zip(totals, found, strict=True))


@settings(max_examples=20)
@given(st.data(), st.sampled_from([*QUERIES]), st.sampled_from([*QUERIES]))
def test_an_answer_to_another_question_is_refused(data, asked, answered):
    data_of = dump([data.draw(of(answered))])
    if asked == answered or {asked, answered} == {"gradient", "fine"}:  # of one shape and kind
        job_of(asked).load(data_of)
    else:
        with pytest.raises(ValueError, match="answered another question"):
            job_of(asked).load(data_of)


@pytest.mark.parametrize("name", ["gradient", "loss", "hessian"])
@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("array", ["hi", "lo", "upper"])
def test_numbers_that_are_not_finite_are_refused(name, number, array):
    q = D + 1
    upper = np.zeros((q, q)) if name == "hessian" else None
    total = RealTotal(np.zeros(q + 1), np.zeros(q + 1), upper, name == "loss", Faults(1, 0, 0, (0,) * (D + 1)))
    job_of(name).load(dump([total]))
    if getattr(total, array) is not None:
        getattr(total, array).flat[1] = number
        with pytest.raises(ValueError, match="answered another question"):
            job_of(name).load(dump([total]))


@pytest.mark.parametrize("points", [1, 3])
def test_clipped_gradients_must_have_the_shape_of_their_points(points):
    query = ClippedGradient(LOSS, D, True, 1.0)
    job = SumPass(None, [(query, np.zeros(D + 1))])
    limbs = np.zeros((points, D + 1), np.int64)
    with pytest.raises(ValueError, match="answered another question"):
        job.load(dump([Total(limbs, limbs, query.exponent, Faults(1, 0, 0, (0,) * (D + 1)))]))


def whole():
    limbs = np.zeros(QUERIES["moments"].shape, np.int64)
    return Total(limbs, limbs, -40, Faults(1, 0, 0, (0,) * (D + 1)))


@pytest.mark.parametrize("change", [
    {"shape": [2, 8]}, {"shape": [-4, -4]}, {"shape": [2**40, 2**40]}, {"shape": []}, {"shape": "16"},
    {"exponent": -39}, {"exponent": None}, {"exponent": "x"}, {"kind": "float"}, {"kind": 3},
    {"kind": "float", "shape": [], "hessian": False, "has_loss": True}, {"kind": "xact", "hessian": False},
    {"faults": [1, 0, 0, [0] * 9, []]}, {"faults": [-1, 0, 0, [0] * 3, []]}, {"faults": []}, {"faults": 7},
    {"faults": [1, 0, 0, [0, 0, -1], []]}, {"faults": [1e999, 0, 0, [0] * 3, []]},
])  # fmt: skip
def test_a_header_that_was_changed_is_refused(change):
    line, _, body = dump([whole()]).partition(b"\n")
    header = json.loads(line)
    header["totals"][0].update(change)
    with pytest.raises(ValueError, match="answer"):
        job_of("moments").load(json.dumps(header).encode() + b"\n" + body)


@settings(max_examples=200)
@given(st.binary(max_size=60), st.integers(0, 400), st.integers(0, 400))
def test_bytes_that_are_not_an_answer_are_refused(noise, start, end):
    data = dump([whole()])
    changed = data[:start] + noise + data[end:]
    with contextlib.suppress(ValueError):  # else only numbers were changed, or nothing
        (total,) = job_of("moments").load(changed)
        assert total.hi.shape == (D + 2, D + 2)


@pytest.mark.parametrize(
    "answer", [None, 7, "text", [b"x"], bytearray(b"{}\n"), b"", b"{}", b"[]\n", b"{}\n", b"\xff\n"]
)
def test_what_is_not_an_answer_is_refused(answer):
    for job in (job_of("moments"), CountPass()):
        with pytest.raises(ValueError, match="answer"):
            job.load(answer)


@pytest.mark.parametrize("answer", [b"-1", b"1.5", b"9" * 19, b" 7", b"0x1"])
def test_a_count_must_be_a_number_of_rows(answer):
    with pytest.raises(ValueError, match="answer"):
        CountPass().load(answer)


def test_an_answer_that_is_too_deep_is_refused():
    with pytest.raises(ValueError, match="answer"):
        load(b"[" * 100_000 + b"]" * 100_000 + b"\n")


def test_text_of_a_worker_cannot_steer_a_terminal():
    with pytest.raises(WorkerFault) as caught:
        load(dump_fault("it is gone\x1b[2J\r", "people\x9b.parquet\nError: send money \u202e"))
    said = r"people\x9b.parquet\nError: send money \u202e could not be summed: it is gone\x1b[2J\r."
    assert str(caught.value) == said
    assert said.isprintable()


class Broken(MemoryPart):
    def batches(self):
        raise self.error


@pytest.mark.parametrize(("error", "said"), [
    (ValueError("could not convert 'Jane'"), "its rows cannot be read as declared (ValueError)"),
    (MemoryError("Jane"), "the worker ran out of memory"),
    (FileNotFoundError(2, "Jane", "Jane"), "it cannot be read (FileNotFoundError: No such file or directory)"),
    (OSError("Jane"), "it cannot be read (OSError: no reason given)"),
    (missing_file("Jane"), "it changed while it was read"),
])  # fmt: skip
def test_a_fault_on_a_worker_quotes_no_value(error, said):
    part = Broken(people(3), name="people.parquet, row group 3")
    object.__setattr__(part, "error", error)
    for job in (job_of("moments"), CountPass()):
        answer = sum_part(job, MemoryPart(people(0)), part)
        with pytest.raises(WorkerFault) as caught:
            job.load(answer)
        assert "people.parquet, row group 3" in str(caught.value)
        assert said in str(caught.value)
        assert b"Jane" not in answer
