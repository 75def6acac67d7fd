"""Types as pyright sees them: 99 % of the public names are typed, and a user's script and the README have no error.

It looks at the installed package. What scikit-learn has no types for is unknown.
"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile

LEAST = 0.99
ROOT = pathlib.Path(__file__).parents[1]
FENCE = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def pyright(*arguments, folder):
    """The answer of pyright, called where no file of this project lies."""
    command = [sys.executable, "-m", "pyright", "--pythonpath", sys.executable, "--outputjson", *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if not done.stdout.startswith("{"):
        sys.exit(done.stdout + done.stderr)
    return json.loads(done.stdout)


def main():
    """Print what is wrong; returns the exit status."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        types = pyright("--verifytypes", "dplr", "--ignoreexternal", folder=folder)["typeCompleteness"]
        (folder / "script.py").write_text((ROOT / "tests" / "typing" / "user_script.py").read_text())
        (folder / "readme.py").write_text("\n".join(FENCE.findall((ROOT / "README.md").read_text())))
        uses = pyright("script.py", "readme.py", folder=folder)
    wrong = [fault for fault in uses["generalDiagnostics"] if fault["severity"] == "error"]
    for fault in wrong:
        line = fault["range"]["start"]["line"] + 1
        print(f"{pathlib.Path(fault['file']).name}:{line}: {fault['message']}")
    complete = types["completenessScore"]
    if complete < LEAST:
        for symbol in types["symbols"]:
            if symbol["isExported"] and not symbol["isTypeKnown"]:
                print(symbol["name"], *(fault["message"] for fault in symbol["diagnostics"]), sep=": ")
    print(f"pyright: {complete:.1%} of the public names are typed; {len(wrong)} errors in a script and the README")
    return int(complete < LEAST or bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
