"""Where a wheel is tried: an interpreter of this machine, or of another root folder, with nothing else in its PATH."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

_TOLD = """import json, platform, sys, sysconfig
free = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))
name = platform.python_implementation() + " " + platform.python_version() + ("t" if free else "")
here = platform.system(), platform.machine(), *platform.libc_ver()
print(json.dumps({"interpreter": name, "platform": " ".join(here)}))"""


@dataclass(frozen=True)
class Place:
    """A folder to work in, and the interpreter that works there.

    `named` is a command such as python3.12, or ROOT:/usr/bin/python3.15 for the interpreter of another root folder, as
    debootstrap makes one. Paths of `run` are seen from inside.
    """

    named: str
    folder: Path

    @property
    def root(self) -> str:
        """The folder that is / inside."""
        return self.named.partition(":")[0] if ":" in self.named else ""

    @property
    def python(self) -> str:
        return self.named.rpartition(":")[2]

    @property
    def inside(self) -> str:
        """The working folder, as its processes see it."""
        return "/" + str(self.folder.relative_to(self.root or "/"))

    @property
    def own_python(self) -> str:
        """The interpreter of the environment that is tried."""
        return f"{self.inside}/env/bin/python"

    def run(self, *command: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        """Standard output and errors as text. No compiler is found: PATH holds the environment alone."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        environment = kept | {"PATH": f"{self.inside}/env/bin", "HOME": self.inside}
        prefix = ["/usr/sbin/chroot", self.root] if self.root else []
        full = [*prefix, "/usr/bin/env", "-C", self.inside, *command]
        done = subprocess.run(full, env=environment, capture_output=True, text=True, check=False)
        if check and done.returncode:
            raise SystemExit(f"{' '.join(command)} in {self.named}:\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
        return done

    def facts(self) -> dict[str, object]:
        """Make the environment; the interpreter and its platform."""
        python = self.python if self.root else started_by(self.python)
        told: dict[str, object] = json.loads(self.run(python, "-c", _TOLD).stdout)
        self.run(python, "-m", "venv", f"{self.inside}/env")
        return told


def started_by(command: str) -> str:
    """The interpreter that a command starts: it may be a script, which a bare PATH has no shell for."""
    asked = subprocess.run(
        [command, "-c", "import sys; print(sys.executable)"], capture_output=True, text=True, check=True
    )
    return asked.stdout.strip()


def place(named: str) -> Place:
    """A new folder for that interpreter; whoever asks removes it."""
    root = named.partition(":")[0] if ":" in named else ""
    return Place(named, Path(tempfile.mkdtemp(prefix="dplr-wheel-", dir=f"{root}/tmp")))
