"""What is shipped: every file, lazily loaded, with docs that run and proofs beside the code."""

import ast
import doctest
import importlib
import inspect
import os
import pathlib
import pkgutil
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile

import pytest

import dplr

ROOT = pathlib.Path(__file__).parents[1]
SOURCE = ROOT / "src" / "dplr"
INSTALLED = pathlib.Path(dplr.__file__).parent
# Sources of the kernels, which nothing reads at run time.
COMPILED_FROM = (".pyx", ".pxd", ".c", ".h")


def shipped():
    """Every file of src/dplr that a wheel must hold: all but what kernels are compiled from."""
    kept = {path.relative_to(SOURCE).as_posix() for path in SOURCE.rglob("*") if path.is_file()}
    return {name for name in kept if not name.endswith((".pyc", "meson.build", ".so", *COMPILED_FROM))}


def run(code, *flags):
    return subprocess.run([sys.executable, *flags, "-c", code], capture_output=True, text=True, check=True)


def test_installed_package_has_every_file_of_the_source():
    present = {path.relative_to(INSTALLED).as_posix() for path in INSTALLED.rglob("*")}
    assert shipped() <= present


@pytest.fixture(scope="session")
def source_distribution(tmp_path_factory):
    folder = tmp_path_factory.mktemp("packaging")
    copy = folder / "source"
    ignored = shutil.ignore_patterns(".git", ".venv*", "build", "dist", "__pycache__", ".mypy_cache", ".hypothesis")
    shutil.copytree(ROOT, copy, ignore=ignored)
    for command in (["init", "-q"], ["add", "-A"]):  # the source distribution is made from a repository
        subprocess.run(["git", *command], cwd=copy, check=True)
    identity = ["-c", "user.name=test", "-c", "user.email=test@example.org"]
    subprocess.run(["git", *identity, "commit", "-q", "-m", "copy"], cwd=copy, check=True)
    return build(copy, "--sdist")


def build(source, *options):
    """Make one distribution of a source folder or file in the folder beside it."""
    out = source.parent / "dist"
    command = [sys.executable, "-m", "build", "--no-isolation", "-x", "--outdir", str(out), *options, str(source)]
    path = f"{pathlib.Path(sys.executable).parent}:/usr/bin:/bin"
    done = subprocess.run(command, capture_output=True, text=True, env={"PATH": path}, check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return max(out.iterdir(), key=lambda file: file.stat().st_mtime_ns)


def test_source_distribution_has_every_file_of_the_repository(source_distribution):
    with tarfile.open(source_distribution) as archive:
        packed = {name.partition("/")[2] for name in archive.getnames()}
    copy = source_distribution.parent.parent / "source"
    tracked = subprocess.run(["git", "ls-files"], cwd=copy, capture_output=True, text=True, check=True).stdout
    assert set(tracked.splitlines()) <= packed


def test_wheel_is_the_package_and_its_kernels_and_nothing_else(request):
    """The wheel that DPLR_WHEEL names (`make test` just built it), or one built here from the source distribution."""
    given = os.environ.get("DPLR_WHEEL")
    wheel = pathlib.Path(given) if given else unpacked_and_built(request.getfixturevalue("source_distribution"))
    names = {name for name in zipfile.ZipFile(wheel).namelist() if not name.endswith("/")}
    inside = {name.removeprefix("dplr/") for name in names if name.startswith("dplr/")}
    kernels = {name for name in inside - shipped() if re.fullmatch(r"_core/\w+\.[\w.-]*(so|pyd)", name)}
    assert {name.partition(".")[0] for name in kernels} == {f"_core/{name}" for name in compiled()}
    assert inside - kernels == shipped()
    assert {name.partition("/")[0].rpartition(".")[2] for name in names} == {"dplr", "dist-info"}
    assert {"py.typed", "_core/_noise.pyi"} <= inside


def compiled():
    """Names of the kernels: one for each .pyx, and what they share."""
    return {path.stem for path in (SOURCE / "_core").glob("*.pyx")} | {"_cyutility"}


def unpacked_and_built(archive):
    with tarfile.open(archive) as packed:
        packed.extractall(archive.parent, filter="data")
    return build(archive.parent / archive.name.removesuffix(".tar.gz"), "--wheel")


def test_importing_dplr_loads_neither_scikit_learn_nor_scipy():
    code = (
        "import dplr, sys; print(sorted({name.split('.')[0] for name in sys.modules} & {'sklearn', 'scipy', 'pandas'}))"
    )
    assert run(code).stdout.strip() == "[]"


def test_a_first_fit_loads_of_scikit_learn_the_base_alone():
    code = (
        "import numpy as np, dplr, sys; X = np.linspace(0, 1, 99)[:, None]; "
        "dplr.fit(X, X[:, 0] > 0.5, bounds=dplr.Bounds([(0, 1)]), eps=1e3); "
        "rooms = 'compose ensemble linear_model metrics model_selection neighbors pipeline preprocessing svm'.split(); "
        "print([room for room in rooms if 'sklearn.' + room in sys.modules])"
    )
    assert run(code, "-W", "ignore").stdout.strip() == "[]"


def test_importing_dplr_costs_less_than_importing_numpy():
    """A ratio: cumulative import times of one process, the quickest of five."""

    def ratio():
        report = run("import numpy, dplr", "-X", "importtime").stderr
        times = {
            line.split("|")[2].strip(): int(line.split("|")[1])
            for line in report.splitlines()
            if "|" in line and "[" not in line
        }
        return times["dplr"] / times["numpy"]

    assert min(ratio() for _ in range(5)) < 1


def test_every_public_name_exists_and_is_documented():
    for name in dplr.__all__:
        assert inspect.getdoc(getattr(dplr, name))
    assert set(dplr.__all__) <= set(dir(dplr))
    with pytest.raises(AttributeError, match="no attribute 'frobnicate'"):
        _ = dplr.frobnicate


def modules_by_room():
    """All modules of the package, by the first name below `dplr`."""
    rooms = {}
    for module in pkgutil.walk_packages(dplr.__path__, "dplr."):
        rooms.setdefault(module.name.split(".")[1], []).append(module.name)
    return rooms


@pytest.mark.parametrize("modules", modules_by_room().values(), ids=modules_by_room())
def test_docstring_examples_run(modules):
    for module in modules:
        result = doctest.testmod(importlib.import_module(module), optionflags=doctest.NORMALIZE_WHITESPACE)
        assert result.failed == 0, module


def test_every_mechanism_has_its_proof_beside_it():
    folders = [path for path in (SOURCE / "mechanisms").glob("[a-z]*") if path.is_dir()]
    assert len(folders) == 4
    for folder in folders:
        assert any("Theorem" in proof.read_text() for proof in folder.glob("*.md"))


@pytest.mark.parametrize("module", ["privacy.sensitivity", "mechanisms.perturbation.noise"])
def test_proofs_name_every_function_that_a_guarantee_rests_on(module):
    home = importlib.import_module(f"dplr.{module}")
    proofs = "".join(path.read_text() for path in SOURCE.rglob("*.md"))
    names = [
        name
        for name, value in vars(home).items()
        if getattr(value, "__module__", "") == home.__name__ and not name.startswith("_")
    ]
    assert len(names) >= 4
    assert [name for name in names if not re.search(rf"`(\w+\.)?{name}`", proofs)] == []


def lines_of(node):
    return 0 if node is None else node.end_lineno - node.lineno + 1


def test_files_have_at_most_800_lines_and_functions_60_without_their_docstring():
    long = []
    for path in SOURCE.rglob("*.py"):
        text = path.read_text()
        long += [path.name] if text.count("\n") > 800 else []
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef):
                words = node.body[0] if ast.get_docstring(node) else None
                long += [f"{path.name}: {node.name}"] if lines_of(node) - lines_of(words) > 60 else []
    assert long == []


def test_demo_prints_an_answer_that_one_would_publish_with_its_intervals_probabilities_and_promise(capsys):
    pytest.importorskip("statsmodels", reason="the extra `demo` is not installed")
    from dplr import demo

    demo.main()
    text = capsys.readouterr().out
    lines = text.splitlines()
    assert len(lines) <= 45
    assert max(map(len, lines)) <= 100
    order = ["log odds", "rate_marriage", "promised", "One record is protected", "Are its probabilities right", "AUC"]
    places = [text.index(piece) for piece in order]
    assert places == sorted(places)
    for name in demo.BOUNDS:
        (line,) = (line for line in lines if line.startswith(f"  {name} "))
        assert re.fullmatch(r"\s+\w+(\s+-?[\d.]+\s+\[.*?\]){2}\s+-?[\d.]+", line) or "cannot say" in line
    (group,) = (line.split() for line in lines if line.startswith("  all "))
    predicted, share = (float(part.rstrip("%")) for part in group[2:])
    assert abs(predicted / share - 1) < 0.25
    for constant in ("theorem", "gauge", "kappa", "tau", "grid of"):
        assert constant not in text
