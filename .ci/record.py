"""Run a make target and append what became of it to ``bench/results/runs.csv``: ``python .ci/record.py thorough``.

``python .ci/record.py NAME -- COMMAND ...`` runs another command under that name, and passes its exit status on.
Counts come from pytest's junit file, which the environment variable PYTEST_ADDOPTS asks for; a target without pytest
(``soak``, ``faults``) has none of them. In a workflow the line stands in the job's summary too.
"""

import datetime
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ET

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "helpers"))

from run_log import append, commit  # noqa: E402

RESULTS = ROOT / "bench" / "results" / "runs.csv"
FIELDS = ["date", "commit", "command", "seconds", "status", "passed", "failed", "skipped"]
WITHOUT_PYTEST = {"soak", "faults", "mutate", "bits", "planted"}


class NoTests(ValueError):
    """A junit file that says nothing of tests."""


def counts(path):
    """Passed, failed and skipped tests of a junit file; NoTests where none ran: no empty run is green."""
    try:
        root = ET.parse(path).getroot()
    except (OSError, ET.ParseError) as error:
        raise NoTests(f"`{path}` must be a junit file; {error}") from None
    suites = [root] if root.tag == "testsuite" else root.findall("testsuite")
    total, failed, skipped = (
        sum(int(suite.get(name, 0)) for suite in suites for name in names)
        for names in (("tests",), ("failures", "errors"), ("skipped",))
    )
    if total - skipped < 1:
        raise NoTests(f"`{path}` must hold tests that ran; got {total} tests, {skipped} of them skipped")
    return total - failed - skipped, failed, skipped


def run(name, command):
    """The line of one run."""
    with tempfile.TemporaryDirectory() as folder:
        report = pathlib.Path(folder, "junit.xml")
        options = f"{os.environ.get('PYTEST_ADDOPTS', '')} --junitxml={report}".strip()
        begun = time.monotonic()
        status = subprocess.run(command, cwd=ROOT, env=os.environ | {"PYTEST_ADDOPTS": options}, check=False).returncode
        seconds = round(time.monotonic() - begun)
        if name in WITHOUT_PYTEST:
            tests = ("", "", "")
        else:
            try:
                tests = counts(report)
            except NoTests as error:
                print(error, file=sys.stderr)
                status, tests = status or 1, (0, 0, 0)
    row = [datetime.date.today().isoformat(), commit(), name, seconds, status, *tests]
    return dict(zip(FIELDS, row, strict=True))


def summarise(line, path):
    """The same as a table of Markdown, for people who look at the job."""
    with open(path, "a", encoding="utf-8") as file:
        file.write(
            f"| {' | '.join(FIELDS)} |\n|{'---|' * len(FIELDS)}\n| {' | '.join(str(line[f]) for f in FIELDS)} |\n\n"
        )


def main(arguments):
    """Exit status of the command."""
    if not arguments:
        print(__doc__)
        return 2
    name, *rest = arguments
    command = rest[1:] if rest[:1] == ["--"] else ["make", name, *rest]
    line = run(name, command)
    append(line, RESULTS)
    print(*(f"{field}={line[field]}" for field in FIELDS))
    if summary := os.environ.get("GITHUB_STEP_SUMMARY"):
        summarise(line, summary)
    return line["status"]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
