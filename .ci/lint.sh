#!/bin/sh
# Linters, types, stubs and layering, on the source tree and the installed package.
set -eu
ruff check .
ruff format --check .
cython-lint src
mypy
python -m mypy.stubtest dplr._core --ignore-missing-stub
PYTHONPATH=src lint-imports
