"""Compare the package with the one of an earlier commit: fits, refusals, printed forms, files, commands.

``python tests/compared COMMIT`` builds the wheel of the commit once, in build/reference, runs every case of `cases.py`
with both, and prints what differs. A difference that is meant is an entry of `meant.toml`; any other ends with 1.
``--only NAME`` takes the cases whose name contains NAME, ``--package FOLDER`` a folder with the package in place of the
installed one, ``--show N`` prints N differences whole.
"""

import argparse
import collections
import concurrent.futures
import difflib
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
MEANT = tomllib.loads((HERE / "meant.toml").read_text(encoding="utf-8")).get("change", [])
WORKERS = 2


def reference(commit):
    """The folder with the package of a commit: built on the first call."""
    name = subprocess.run(["git", "rev-parse", commit], cwd=ROOT, capture_output=True, text=True, check=True)
    folder = ROOT / "build" / "reference" / name.stdout.strip()[:12]
    if not folder.is_dir():
        with tempfile.TemporaryDirectory() as place:
            source = pathlib.Path(place) / "source"
            subprocess.run(["git", "clone", "-q", "--shared", str(ROOT), str(source)], check=True)
            subprocess.run(["git", "checkout", "-q", name.stdout.strip()], cwd=source, check=True)
            made = pathlib.Path(place) / "made"
            subprocess.run(
                [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", str(made), str(source)],
                check=True,
            )
            folder.parent.mkdir(parents=True, exist_ok=True)
            shutil.copytree(made, folder)
    return folder


def records(package, share, only):
    """What the cases of one share gave with a package: name of the case -> aspect -> text."""
    path = [str(package)] if package else []
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(path), "OMP_NUM_THREADS": "1", "COLUMNS": "120"}
    command = [sys.executable, str(HERE / "record.py"), f"{share}/{WORKERS}", only]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    return json.loads(done.stdout)


def all_records(package, only, kept=None):
    """What all cases gave with a package; those of a reference are kept beside it for the next call."""
    if kept is not None and kept.is_file():
        return json.loads(kept.read_text(encoding="utf-8"))
    with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
        parts = pool.map(lambda share: records(package, share, only), range(WORKERS))
    made = {name: aspects for part in parts for name, aspects in part.items()}
    if kept is not None:
        kept.write_text(json.dumps(made), encoding="utf-8")
    return made


def renewed(name, aspect, text, new):
    """A text of the reference with every change that is meant, and the reasons of those that it met."""
    reasons = set()
    for change in MEANT:
        if re.fullmatch(change.get("case", ".*"), name) and re.fullmatch(change.get("aspect", ".*"), aspect):
            changed = _changed(change, text, new)
            if changed != text:
                text = changed
                reasons.add(change["reason"])
    return text, reasons


def _changed(change, text, new):
    """The text with one change: a pattern, what may have come between, or whatever is new."""
    if "before" in change:
        return re.sub(change["before"], change["after"], text, flags=re.DOTALL)
    if "inserted" not in change:
        return new
    matches = [[match[0].strip() for match in re.finditer(change["inserted"], each)] for each in (text, new)]
    rests = [re.sub(change["inserted"], "", each).strip() for each in (text, new)]
    return new if rests[0] == rests[1] and set(matches[0]) <= set(matches[1]) else text


def compared(name, before, after, counts, reasons):
    """The differences of one case that nothing explains: (aspect, text before, text after)."""
    for aspect in sorted(before.keys() | after.keys()):
        old, new, kind = before.get(aspect, ""), after.get(aspect, ""), re.split(r"[ .]", aspect)[0]
        if old == new:
            counts[kind, "equal"] += 1
            continue
        text, met = renewed(name, aspect, old, new)
        reasons.update(met)
        counts[kind, "meant" if text == new else "differ"] += 1
        if text != new:
            yield aspect, text, new


def main():
    """Run all cases with both packages, print the counts and what differs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("commit", help="the commit whose package is the reference")
    parser.add_argument("--only", default="", help="cases whose name contains this")
    parser.add_argument("--package", type=pathlib.Path, help="a folder with the package in place of the installed one")
    parser.add_argument("--show", type=int, default=10, help="how many differences are printed whole")
    asked = parser.parse_args()
    folder = reference(asked.commit)
    program = hashlib.sha256(b"".join((HERE / name).read_bytes() for name in ("cases.py", "record.py", "calls.py")))
    kept = folder.with_name(f"{folder.name}-{program.hexdigest()[:12]}.json")
    if asked.only and kept.is_file():
        before = {name: each for name, each in all_records(folder, "", kept).items() if asked.only in name}
    else:
        before = all_records(folder, asked.only, None if asked.only else kept)
    after = all_records(asked.package and asked.package.resolve(), asked.only)
    counts, reasons, shown = collections.Counter(), collections.Counter(), []
    for name in before.keys() | after.keys():
        shown += [(name, *each) for each in compared(name, before.get(name, {}), after.get(name, {}), counts, reasons)]
    for name, aspect, old, new in sorted(shown)[: asked.show]:
        print(f"--- {name}: {aspect}")
        lines = difflib.unified_diff(old.splitlines(), new.splitlines(), "before", "after", lineterm="", n=1)
        print(*(line[:400] for line in list(lines)[2:40]), sep="\n")
    print(f"{len(before)} cases of the reference, {len(after)} of the package")
    for part in sorted({part for part, _ in counts}):
        numbers = ", ".join(f"{counts[part, kind]} {kind}" for kind in ("equal", "meant", "differ"))
        print(f"  {part:14} {numbers}")
    for reason, count in reasons.most_common():
        print(f"  meant, {count} times: {reason}")
    unused = [change["reason"] for change in MEANT if not asked.only and change["reason"] not in reasons]
    for reason in unused:
        print(f"  never met: {reason}")
    print(f"{len(shown)} differences that nothing explains")
    sys.exit(bool(shown or unused))


if __name__ == "__main__":
    main()
