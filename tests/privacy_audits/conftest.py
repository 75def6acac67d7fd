"""Copies of the package that are broken on purpose, and audits that take many whole fits, are for `make thorough`."""

import pathlib

import pytest


def pytest_collection_modifyitems(items):
    for item in items:
        if item.path.is_relative_to(pathlib.Path(__file__).parent) and "broken" in item.originalname:
            item.add_marker(pytest.mark.thorough)
