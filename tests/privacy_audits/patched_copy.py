"""Run an audit script on a copy of the installed package in which one line is broken."""

import json
import pathlib
import shutil
import subprocess
import sys

import dplr


def measure_on_a_patched_copy(script, names, runs, file, line, broken, folder):
    """What the script measures of each case on the copy; its arguments are the number of runs and the cases."""
    shutil.copytree(pathlib.Path(dplr.__file__).parent, folder / "dplr")
    source = (folder / "dplr" / file).read_text()
    assert source.count(line) == 1
    (folder / "dplr" / file).write_text(source.replace(line, broken))
    path = pathlib.Path(__file__).with_name(script)
    folders = [str(path.parent), str(path.parents[1] / "helpers")]
    code = (
        f"import dplr, runpy, sys; assert dplr.__file__.startswith({str(folder)!r}); "
        f"sys.path[:0] = {folders!r}; "
        f"sys.argv[1:] = {[str(runs), *names]!r}; runpy.run_path({str(path)!r}, run_name='__main__')"
    )
    environment = {"PYTHONPATH": str(folder), "PATH": ""}
    command = [sys.executable, "-c", code]
    output = subprocess.run(command, env=environment, capture_output=True, text=True, cwd=folder, check=False)
    assert output.returncode == 0, output.stderr
    return json.loads(output.stdout)
