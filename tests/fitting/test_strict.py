"""What a strict ledger must not show: neither its file nor a warning says how a fit ended, and no text decides it."""

import contextvars
import itertools
import os
import subprocess
import sys
import threading
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import dplr
from dplr.fitting import silence
from dplr.ledger import handle as ledger
from dplr.ledger import transactions
from dplr.ledger.handle import Ledger
from dplr.rows import threads as _pool
from dplr.solvers.certificate import NotCertified

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


def data(n=400):
    X = np.random.default_rng(0).uniform(-0.5, 0.5, (n, 2))
    return X, (X[:, 0] > 0).astype(int)


# The file


def spoiled():
    X, y = data()
    X[3, 1] = np.nan
    return X, y


def unknown_label():
    X, y = data()
    y[5] = 7
    return X, y


def after_noise(error):
    def draw(self, scale, size):
        dplr.noise.Source.gaussian(self, 1, 1)
        raise error

    return draw


def dying(*_):
    os._exit(3)


# What the rows are, and what drawing noise does instead.
ENDINGS = {
    "a release": (data, None),
    "a value fault": (spoiled, None),
    "a label that was not declared": (unknown_label, None),
    "a tolerance that was missed": (data, after_noise(NotCertified())),
    "no memory after noise": (data, after_noise(MemoryError())),
    "an interrupt after noise": (data, after_noise(KeyboardInterrupt())),
    "a crash": (data, dying),
}


def fit_in_a_child(path, rows, draw):
    """One fit in a process of its own, however it ends."""
    pid = os.fork()
    if pid == 0:
        try:
            if draw is not None:
                dplr.noise.Source.laplace = draw
            dplr.fit(*rows(), eps=0.4, classes=(0, 1), ledger=path)
        finally:
            os._exit(0)
    os.waitpid(pid, 0)


def file_after(path, name, monkeypatch):
    """The bytes of a strict ledger after a fit that ended so, and another one; only names and clocks are given."""
    names, moments = itertools.count(), itertools.count()

    def clock():
        return f"2026-11-20T20:24:{next(moments):02}.{os.getpid() % 1000:03}+00:00"

    monkeypatch.setattr("secrets.token_hex", lambda size: f"{next(names):0{2 * size}}")
    monkeypatch.setattr("secrets.token_bytes", bytes)  # the key of fingerprints, which no fit of it changes
    for module in (ledger, transactions):
        monkeypatch.setattr(module, "now", clock)
    Ledger(path, eps=1.0, strict=True)
    fit_in_a_child(path, *ENDINGS[name])
    fit_in_a_child(path, data, None)
    assert len(Ledger(path).entries()) == 2
    return path.read_bytes()


@pytest.mark.parametrize("name", ENDINGS)
def test_the_file_of_a_strict_ledger_is_the_same_however_a_fit_ends(tmp_path, monkeypatch, name):
    files = [file_after(tmp_path / str(k), ending, monkeypatch) for k, ending in enumerate(["a release", name])]
    assert files[0] == files[1]


def test_a_strict_ledger_holds_one_state_and_days_alone(tmp_path):
    strict = Ledger(tmp_path / "budget", eps=1.0, strict=True)
    held = strict.reserve(dplr.plan(n_rows=100, n_features=2, eps=0.4, mechanism="fm").statement)
    (before,) = strict.entries()
    assert (before.state, len(before.reserved_at), before.ended_at) == ("committed", 10, None)
    assert len(strict.terms().created) == 10
    held.commit()
    assert strict.entries() == [before]


def test_a_strict_reservation_ends_once_and_needs_its_entries(tmp_path):
    statement = dplr.plan(n_rows=100, n_features=2, eps=0.1, mechanism="fm").statement
    path = tmp_path / "budget"
    strict = Ledger(path, eps=1.0, strict=True)
    empty = path.read_bytes()
    held = strict.reserve(statement)
    held.commit()
    held.refund()
    with pytest.raises(RuntimeError, match="ends once"):
        held.commit()
    given_up = strict.reserve(statement)
    given_up.refund()
    with pytest.raises(RuntimeError, match="ends once"):
        given_up.commit()
    assert strict.spent() == (0.2, 0.0)
    lost = strict.reserve(statement)
    path.write_bytes(empty)  # an older copy that somebody put back
    with pytest.raises(RuntimeError, match="0 of 1 entries are there"):
        lost.commit()


# Text


def arrow_text(values):
    """A column of Arrow text that may hold bytes that are not UTF-8: Arrow does not look."""
    parts = [None if value is None else value if isinstance(value, bytes) else value.encode() for value in values]
    buffers = pa.array(parts, pa.binary()).buffers()
    return pa.StringArray.from_buffers(len(parts), buffers[1], buffers[2], buffers[0])


TEXTS = {  # the first two of 40 texts, the others being levels
    "levels alone": ("red", "blue"),
    "one that is no level": ("red", "Ann Smith"),
    "an empty one": ("", "red"),
    "numbers as text": ("1", "nan"),
    "one behind a NUL": ("red\0", "red\0blue"),
    "a long one": ("x" * 10_000, "red"),
    "a missing one": (None, "red"),
    "none that is missing or a level": ("a", "b"),
    "bytes that are no text": (b"\xff\xfe", "red"),
}
FRAMES = {
    "arrow": lambda values: pa.table({"colour": arrow_text(values), "size": np.linspace(0, 1, len(values))}),
    "polars": lambda values: pytest.importorskip("polars").from_arrow(FRAMES["arrow"](values)),
    "pandas, arrow": lambda values: pd.DataFrame(
        {"colour": pd.arrays.ArrowExtensionArray(pa.chunked_array([arrow_text(values)])),
         "size": np.linspace(0, 1, len(values))}
    ),
    "pandas, objects of text": lambda values: pd.DataFrame(
        {"colour": pd.array([value.decode("utf8", "surrogateescape") if isinstance(value, bytes) else value
                             for value in values], dtype="string[python]"),
         "size": np.linspace(0, 1, len(values))}
    ),
}  # fmt: skip
COLOURS = {"levels": ["red", "blue"], "missing": "indicator"}


def text_and_number(frame, texts):
    return FRAMES[frame]([*TEXTS[texts], *["red", "blue"] * 19])


def strict_file_after(path, X, monkeypatch, **options):
    """The bytes of a strict ledger after a fit, its names and its clock given, and how the fit ended."""
    names = itertools.count()
    monkeypatch.setattr("secrets.token_hex", lambda size: f"{next(names):0{2 * size}}")
    monkeypatch.setattr("secrets.token_bytes", bytes)  # the key of fingerprints, which no fit of it changes
    for module in (ledger, transactions):
        monkeypatch.setattr(module, "now", lambda: "2026-11-20T20:24:00.000+00:00")
    strict = Ledger(path, eps=1.0, strict=True)
    try:
        dplr.fit(X, np.arange(40) % 2, eps=0.4, mechanism="fm", ledger=strict, **options)
        ended = "released"
    except Exception as error:
        ended = repr(error)
    return path.read_bytes(), ended


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize("missing", ["indicator", "blue"])
def test_no_text_decides_how_a_strict_fit_ends_or_what_its_ledger_holds(tmp_path, monkeypatch, frame, missing):
    bounds = dplr.Bounds({"colour": {**COLOURS, "missing": missing}, "size": (0, 1)}, target=(0, 1))
    seen = {
        strict_file_after(tmp_path / str(k), text_and_number(frame, texts), monkeypatch, bounds=bounds)
        for k, texts in enumerate(TEXTS)
    }
    assert {ended for _, ended in seen} == {"released"}
    assert len(seen) == 1


@pytest.mark.parametrize("frame", FRAMES)
def test_a_strict_ledger_takes_text_only_where_each_value_counts_as_something(tmp_path, frame):
    strict = Ledger(tmp_path / "budget", eps=1.0, strict=True)
    X, y = text_and_number(frame, "levels alone"), np.arange(40) % 2
    refused = {
        "must say what a missing value of 'colour' counts as": {"colour": {"levels": COLOURS["levels"]}},
        "must be an array or a frame of numbers, or of text with declared levels": {"colour": (0, 1)},
    }
    for message, column in refused.items():
        with pytest.raises((ValueError, TypeError), match=message):
            dplr.fit(X, y, eps=0.1, bounds=dplr.Bounds({**column, "size": (0, 1)}, target=(0, 1)), ledger=strict)
    with pytest.raises(TypeError, match="or of text with declared levels"):
        dplr.fit(X, y, eps=0.1, classes=(0, 1), ledger=strict)
    assert strict.entries() == []
    for bounds in (dplr.Bounds([COLOURS, (0, 1)]), dplr.Bounds({"size": (0, 1)})):  # by position; and text is not read
        dplr.fit(X, y, eps=0.1, bounds=bounds, classes=(0, 1), mechanism="fm", ledger=strict)
    assert len(strict.entries()) == 2


def test_a_strict_ledger_refuses_columns_whose_values_decide_what_they_are(tmp_path):
    strict = Ledger(tmp_path / "budget", eps=1.0, strict=True)
    y, bounds = np.arange(40) % 2, dplr.Bounds({"colour": COLOURS}, target=(0, 1))
    for dtype in (object, "category"):
        for first in ("red", 3):
            X = pd.DataFrame({"colour": pd.Series([first, *["blue"] * 39], dtype=dtype)})
            with pytest.raises(TypeError, match="`X` must be an array or a frame of numbers, or of text"):
                dplr.fit(X, y, eps=0.1, bounds=bounds, ledger=strict)
    assert strict.entries() == []
    pl = pytest.importorskip("polars")
    with pytest.raises(TypeError, match="`y` must be an array or a frame of numbers"):
        dplr.fit(np.eye(40)[:, :2], pl.Series(["a", "b"] * 20), eps=0.1, classes=("a", "b"), ledger=strict)
    assert strict.entries() == []


# Warnings


OVERLAPPING = """
import sys, threading, warnings
import numpy as np
import dplr
from dplr.rows import threads as _pool

warnings.simplefilter("always")
_pool._PRODUCTS_WORTH_A_CORE = 0  # the rows are converted in threads of the pool
X = np.random.default_rng(0).uniform(-0.5, 0.5, (20_000, 2)).astype(np.longdouble)
X[::7] *= np.longdouble("1e4000")  # beyond float64, and outside the bounds
y = np.arange(len(X)) % 2
meeting = threading.Barrier(2)
run = dplr.FunctionalMechanism.run

def together(*what):
    meeting.wait()
    try:
        return run(*what)
    finally:
        meeting.wait()

dplr.FunctionalMechanism.run = together
est = dplr.LogisticRegression(eps=0.1, classes=(0, 1), bounds=dplr.Bounds([(-1, 1)] * 2), ledger=LEDGER)

def fit():
    try:
        est.fit(X, y)
    except RuntimeError as error:
        assert "says no more" in str(error)
    except ValueError:  # with the reason
        if est.ledger is not None:
            raise

threads = [threading.Thread(target=fit) for _ in range(2)]
for each in threads:
    each.start()
for each in threads:
    each.join()
"""


def warned(flags, ledger):
    """What two fits at a time say on standard error, in a process with these options of the interpreter."""
    command = [sys.executable, *flags, "-c", OVERLAPPING.replace("LEDGER", repr(ledger))]
    environment = os.environ | {"DPLR_NUM_THREADS": "2"}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    return done.stderr


@pytest.mark.parametrize("inherit", [None, 0, 1])
def test_strict_fits_at_the_same_time_are_silent_in_all_their_threads(tmp_path, inherit):
    flags = []
    if inherit is not None:
        if sys.version_info < (3, 14):
            pytest.skip("Python 3.14 is the first with warnings of a context")
        flags = ["-X", "context_aware_warnings=1", "-X", f"thread_inherit_context={inherit}"]
    Ledger(tmp_path / "budget", eps=1.0, strict=True)
    assert "overflow encountered in cast" in warned(flags, None)
    assert warned(flags, str(tmp_path / "budget")) == ""


FORKED = """
import os, sys, threading, warnings
from dplr.fitting.silence import silence

inside, gate = threading.Event(), threading.Event()

def strict():
    with silence():
        inside.set()
        gate.wait()

beside = threading.Thread(target=strict)
beside.start()
inside.wait()
child = os.fork()
if child == 0:
    with silence():
        warnings.warn("of a strict fit")
    warnings.warn("of another fit")
    os._exit(0)
os.waitpid(child, 0)
gate.set()
beside.join()
with silence():
    child = os.fork()
    warnings.warn("of a strict fit")
warnings.warn("of the child" if child == 0 else "of the parent")
if child == 0:
    os._exit(0)
os.waitpid(child, 0)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_is_silent_during_strict_fits_of_its_own_and_no_longer():
    """A strict fit in another thread of the parent does not end in the child: it must not silence it for ever."""
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", FORKED]
    said = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stderr
    found = [line.rpartition(": ")[2] for line in said.splitlines() if "UserWarning" in line]
    assert sorted(found) == ["of another fit", "of the child", "of the parent"]


def test_every_strict_fit_is_silent_in_its_own_context_where_warnings_have_one(tmp_path, monkeypatch):
    """Python 3.14 simulated: a filter that holds for a context alone."""
    silent = contextvars.ContextVar("silent", default=False)

    class Filter:
        def __init__(self, action):
            assert action == "ignore"

        def __enter__(self):
            self.before = silent.set(True)

        def __exit__(self, *_):
            silent.reset(self.before)

    monkeypatch.setattr(silence, "sys", SimpleNamespace(flags=SimpleNamespace(context_aware_warnings=1)))
    monkeypatch.setattr(silence, "warnings", SimpleNamespace(catch_warnings=Filter))
    meeting, seen = threading.Barrier(2), []
    run = dplr.FunctionalMechanism.run

    def together(*what):
        meeting.wait()
        seen.extend([silent.get(), *_pool.run(lambda _: silent.get(), range(3))])
        meeting.wait()
        return run(*what)

    monkeypatch.setattr(dplr.FunctionalMechanism, "run", together)
    strict = Ledger(tmp_path / "budget", eps=1.0, strict=True)
    facts = {"classes": (0, 1), "eps": 0.1, "mechanism": "fm", "ledger": strict}
    fits = [threading.Thread(target=dplr.fit, args=data(), kwargs=facts)
            for _ in range(2)]  # fmt: skip
    for fit in fits:
        fit.start()
    for fit in fits:
        fit.join()
    assert seen == [True] * 8
    assert not any(_pool.run(lambda _: silent.get(), range(3)))


def test_threads_of_the_pool_work_in_the_context_of_their_caller():
    who = contextvars.ContextVar("who")

    def ask(name):
        who.set(name)
        return _pool.run(lambda _: who.get(), range(4))

    assert ask("first") == ["first"] * 4
    assert ask("second") == ["second"] * 4
    assert contextvars.Context().run(_pool.run, lambda _: who.get("nobody"), range(4)) == ["nobody"] * 4
