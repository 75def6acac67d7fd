"""Fixtures and the options of a test run: tiers, real data, oracles, entropy spies.

A case that `make test` runs takes at most a second of CPU time, in multiples of a fixed computation. One that takes
longer is run again, as the first of a process pays for imports, and is an error if it takes longer then too. What
needs more is marked `thorough`, or is listed in `slow.txt`.
"""

import functools
import importlib.util
import os
import pathlib
import statistics
import sys
import time
import zlib

import pytest
from _pytest.runner import runtestprotocol

import dplr.noise
from dplr.ledger.budget import NullLedger
from dplr.privacy import sensitivity

# Not on every Python: a library below it has no wheels for the newest ones.
LACKS_ACCOUNTING = importlib.util.find_spec("dp_accounting") is None
_skipped_real_data = 0
SLOW = frozenset(pathlib.Path(__file__).with_name("slow.txt").read_text(encoding="utf-8").splitlines())
# So many runs of the fixed computation take a second on the machine on which the tiers were made.
SECOND = 200
_GONE = pytest.StashKey[list[str]]()
_TOOK = pytest.StashKey[float]()


def pytest_runtest_setup(item):
    """A name of `slow.txt` that no test of a file has is an error of a test of the file."""
    if gone := item.stash.get(_GONE, None):
        pytest.fail("no test has these names of tests/slow.txt: " + ", ".join(sorted(gone)))


def _fixed():
    """CPU seconds of some runs of the fixed computation."""
    took = []
    for _ in range(5):
        start = time.process_time()
        sum(hash(str(number)) & 1 for number in range(50_000))
        took.append(time.process_time() - start)
    return took


@functools.cache
def _unit():
    return min(_fixed())


def _cpu_time():
    """CPU seconds of this process and of those that it waited for."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item, nextitem):
    """Report a case of the default tier that takes more than a second of CPU time twice."""
    limit = SECOND * _unit()
    result = yield
    if item.stash.get(_TOOK, 0.0) > limit and not item.get_closest_marker("thorough"):
        item._initrequest()
        before = _fixed()  # what shares the core slows both down
        runtestprotocol(item, log=False, nextitem=nextitem)
        seconds = item.stash[_TOOK] / statistics.median(before + _fixed()) / SECOND
        if seconds > 1:
            said = f"takes {seconds:.1f} s: make it quicker, or a line of tests/slow.txt"
            report = pytest.TestReport(item.nodeid, item.location, {}, "failed", said, "teardown")
            item.ihook.pytest_runtest_logreport(report=report)
    return result


@pytest.hookimpl(tryfirst=True)  # before the marker `thorough` is deselected
def pytest_collection_modifyitems(config, items):
    """Leave most cases of large grids and slow ones to `make thorough`, and skip tests whose data folder is absent."""
    files = {item.nodeid.split("::")[0]: item for item in items}
    for name in SLOW - {item.nodeid for item in items}:
        last = files.get(name.split("::")[0])
        if last and not any("::" in argument for argument in config.args):
            last.stash.setdefault(_GONE, []).append(name)
    for item in items:
        if item.nodeid in SLOW:
            item.add_marker("thorough")
        grid = item.get_closest_marker("grid")
        if grid and zlib.crc32(item.name.encode()) % grid.args[0]:  # a stride would meet one loss or one shape alone
            item.add_marker("thorough")
        if item.get_closest_marker("realdata") and not os.environ.get("DPLR_DATA"):
            item.add_marker(pytest.mark.skip(reason="DPLR_DATA does not name the data folder"))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    """Without dp-accounting a test that dplr tells to install it is skipped; where oracles are required it fails."""
    start = _cpu_time()  # fixtures of a module, such as a cluster, are not the test's
    try:
        return (yield)
    except ModuleNotFoundError as error:
        if error.name == "dp_accounting" and LACKS_ACCOUNTING and not os.environ.get("DPLR_REQUIRE_ORACLE"):
            pytest.skip("the extra `accounting` is not installed")
        raise
    finally:
        item.stash[_TOOK] = _cpu_time() - start


def pytest_runtest_logreport(report):
    global _skipped_real_data
    if report.skipped and "DPLR_DATA" in str(report.longrepr):
        _skipped_real_data += 1


def pytest_terminal_summary(terminalreporter):
    if _skipped_real_data:
        terminalreporter.write_line(f"{_skipped_real_data} real-data tests skipped: DPLR_DATA is not set")


@pytest.fixture
def oracle():
    """Import a heavy reference library, or skip; with DPLR_REQUIRE_ORACLE=1 its absence is a failure."""

    def load(name):
        if os.environ.get("DPLR_REQUIRE_ORACLE"):
            return __import__(name, fromlist=["_"])
        return pytest.importorskip(name, reason="the extra `oracle` is not installed")

    return load


@pytest.fixture(scope="session")
def data_folder():
    return pathlib.Path(os.environ["DPLR_DATA"])


@pytest.fixture
def entropy(monkeypatch):
    """A spy on the operating system's entropy: entropy.bytes is how many were asked for."""

    class Spy:
        bytes = 0

    real = dplr.noise._operating_system

    def counted(size):
        Spy.bytes += size
        return real(size)

    monkeypatch.setattr(dplr.noise, "_operating_system", counted)
    return Spy


@pytest.fixture
def reserved(monkeypatch):
    """The statements that this process reserved for without a ledger, in order."""
    made = []
    real = NullLedger.reserve
    monkeypatch.setattr(NullLedger, "reserve", lambda self, *told: made.extend(told) or real(self, *told))
    return made


def _forget_constants():
    """Clear every cache of the package: a constant of a patched proof outlives its patch otherwise."""
    modules = [module for name, module in sys.modules.items() if name.split(".")[0] == "dplr"]
    for cached in (each for module in modules for each in vars(module).values() if hasattr(each, "cache_clear")):
        cached.cache_clear()


@pytest.fixture
def halved_sensitivity():
    """The sensitivity of a box under replace_one, half as large as it is."""
    real = sensitivity.box_replace_one
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sensitivity, "box_replace_one", lambda *args, **options: real(*args, **options) / 2)
        _forget_constants()
        yield
    _forget_constants()
