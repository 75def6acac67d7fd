"""What a bare environment must do with an installed wheel: `python smoke.py README.md`. Prints facts as JSON.

It imports nothing of this repository: a wheel is tried as its users find it.
"""

import contextlib
import importlib.metadata
import io
import json
import pathlib
import platform
import re
import subprocess
import sys
import sysconfig
import tempfile
import types
from typing import Any

IMPORTS = {"import_ms": "import dplr", "first_fit_ms": "import dplr; dplr.fit([[0.0], [1.0]] * 50, [0, 1] * 50, {})"}
# What a wheel is compiled for, by the processor; its path of the least CPU, "portable", is in all.
BUILT = {"x86_64": {"baseline", "avx2", "avx512"}, "aarch64": {"baseline", "neon"}}
FIT = "eps=1, bounds=dplr.Bounds([(0, 1)])"


def main(readme: str) -> None:
    facts = {name: cpu_ms(code.format(FIT)) - cpu_ms("pass") for name, code in IMPORTS.items()}
    released = first_snippet(pathlib.Path(readme).read_text(encoding="utf-8"))
    import dplr
    from dplr._core import built_paths, cpu_paths

    assert pathlib.Path(dplr.__file__).is_relative_to(sysconfig.get_path("platlib")), dplr.__file__
    can_be_read_again(dplr, released)
    machine = {"amd64": "x86_64", "arm64": "aarch64"}.get(platform.machine().lower(), platform.machine())
    assert BUILT.get(machine, set()) <= set(built_paths()), (machine, built_paths())
    paths = cpu_paths()
    flags = cpu_flags()
    for name, needs in {"avx2": {"avx2", "fma"}, "avx512": {"avx512f", "avx512vl", "avx512dq"}}.items():
        assert flags is None or (name in paths) == (needs <= flags), (name, paths)
    free = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))
    assert free == (not getattr(sys, "_is_gil_enabled", lambda: True)()), "a kernel turned the interpreter's lock on"
    versions = {name: importlib.metadata.version(name) for name in ("numpy", "scipy", "scikit-learn")}
    print(json.dumps({**facts, "cpu_paths": " ".join(paths), **versions}))


def cpu_ms(code: str) -> float:
    """Least CPU time of three processes, in milliseconds: the machine may be busy."""
    return min(_cpu_ms(code) for _ in range(3))


def _cpu_ms(code: str) -> float:
    code += "; import time; print(time.process_time())"
    return 1000 * float(subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, check=True).stdout)


def first_snippet(readme: str) -> Any:
    """Run the first Python of the README; the estimator that it fits."""
    code = re.findall(r"```python\n(.*?)```", readme, re.DOTALL)[0]
    names: dict[str, Any] = {}
    with contextlib.redirect_stdout(io.StringIO()) as shown:
        exec(code, names)
    assert "Privacy statement" in shown.getvalue()
    return names["est"]


def can_be_read_again(dplr: types.ModuleType, released: Any) -> None:
    """A model file keeps every number."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "model.json"
        dplr.save_model(released, path)
        assert (dplr.load_model(path).coef_ == released.coef_).all()


def cpu_flags() -> set[str] | None:
    """Instruction sets, as the kernel names them; None where it does not."""
    info = pathlib.Path("/proc/cpuinfo")
    found = re.search(r"^flags\s*:(.*)$", info.read_text(), re.MULTILINE) if info.exists() else None
    return set(found[1].split()) if found else None


if __name__ == "__main__":
    main(*sys.argv[1:])
