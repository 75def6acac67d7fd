"""Audits take thousands of whole fits, and copies of the package that are broken on purpose."""

import pathlib

import pytest


def pytest_collection_modifyitems(items):
    for item in items:
        if item.path.is_relative_to(pathlib.Path(__file__).parent):
            item.add_marker(pytest.mark.thorough)
