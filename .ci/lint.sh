#!/bin/sh
# Linters, types, stubs, layering and metadata, on the source tree and the installed package.
set -eu
ruff check .
ruff format --check .
cython-lint src
mypy
python -m mypy.stubtest dplr._core --ignore-missing-stub
python .ci/completeness.py
python tests/size
PYTHONPATH=src lint-imports
validate-pyproject pyproject.toml
check-jsonschema --builtin-schema vendor.citation-file-format CITATION.cff
check-jsonschema --builtin-schema vendor.github-issue-config .github/ISSUE_TEMPLATE/config.yml
check-jsonschema --builtin-schema vendor.github-issue-forms .github/ISSUE_TEMPLATE/[!c]*.yml
check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
check-jsonschema --builtin-schema vendor.dependabot .github/dependabot.yml
