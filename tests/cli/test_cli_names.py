"""Names of files that are not UTF-8, which Linux allows: a fit is paid for once, and its command ends well."""

import sys

import pytest
from click.testing import CliRunner

import dplr
from dplr.cli import main

BOUNDS = '[features.age]\nlower = 18\nupper = 99\n[target]\nclasses = ["no", "yes"]\n'


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere names are text")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("command", [
    ["fit", "rows.csv", "--target", "sick", "--bounds", "bounds.toml", "--eps", "20"],
    ["moments", "release", "rows.csv", "--bounds", "features.toml", "--eps", "20"],
    ["bounds", "learn", "rows.csv", "--column", "age=number", "--eps", "20"],
])  # fmt: skip
def test_what_was_paid_for_is_written_and_said_whatever_the_bytes_of_its_name(tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows.csv").write_text("age,sick\n" + "".join(f"{20 + k},{['no', 'yes'][k % 2]}\n" for k in range(40)))
    (tmp_path / "bounds.toml").write_text(BOUNDS)
    (tmp_path / "features.toml").write_text(BOUNDS.partition("[target]")[0])
    ledger = dplr.Ledger("budget.db", eps=100.0)
    done = CliRunner().invoke(main, [*command, "--ledger", "budget.db", "-o", "made\udc80"])
    assert done.exit_code == 0, done.stderr
    assert "Wrote made\N{REPLACEMENT CHARACTER}." in done.stdout
    assert (tmp_path / "made\udc80").stat().st_size > 100
    assert ledger.spent()[0] == 20
