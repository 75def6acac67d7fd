"""Fixtures and the options of a test run: real data, oracles, entropy spies."""

import importlib.util
import os
import pathlib
import sys
import zlib

import pytest

import dplr.noise
from dplr.ledger.budget import NullLedger
from dplr.privacy import sensitivity

# Not on every Python: a library below it has no wheels for the newest ones.
LACKS_ACCOUNTING = importlib.util.find_spec("dp_accounting") is None
_skipped_real_data = 0


@pytest.hookimpl(tryfirst=True)  # before the marker `thorough` is deselected
def pytest_collection_modifyitems(items):
    """Leave most cases of large grids to `make thorough`, and skip tests whose data folder is absent."""
    for item in items:
        grid = item.get_closest_marker("grid")
        if grid and zlib.crc32(item.name.encode()) % grid.args[0]:  # a stride would meet one loss or one shape alone
            item.add_marker("thorough")
        if item.get_closest_marker("realdata") and not os.environ.get("DPLR_DATA"):
            item.add_marker(pytest.mark.skip(reason="DPLR_DATA does not name the data folder"))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    """Without dp-accounting a test that dplr tells to install it is skipped; where oracles are required it fails."""
    try:
        return (yield)
    except ModuleNotFoundError as error:
        if error.name == "dp_accounting" and LACKS_ACCOUNTING and not os.environ.get("DPLR_REQUIRE_ORACLE"):
            pytest.skip("the extra `accounting` is not installed")
        raise


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
