"""Run the cases with the package that is found, and print what each gave as JSON: ``python record.py 0/2 NAME``."""

import hashlib
import json
import re
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np
from cases import cases

FORMS = ("to_text", "to_html", "to_latex", "to_csv", "to_json", "to_dict", "to_frame", "_repr_html_", "brief")


def bits(value):
    """The shape, the type and a hash of numbers, so that they are equal only in every bit."""
    numbers = np.ascontiguousarray(value)
    return f"{numbers.dtype} {numbers.shape} {hashlib.sha256(numbers.tobytes()).hexdigest()[:24]} {numbers.ravel()[:3]}"


def plain(text):
    """A text without what differs from run to run: folders, times, processes, and hashes of files."""
    text = text.replace(tempfile.gettempdir(), "<folder>")
    text = re.sub(r"<folder>/[\w./-]*/", "<folder>/", text)
    text = re.sub(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(\+00:00|Z| UTC)?", "<time>", text)
    text = re.sub(r"\bprocess \d+|\bpid \d+", "<process>", text)
    return re.sub(r'("sha256": )"\w{64}"', r'\1"<hash>"', text)


def shown(value, aspect):
    """Aspects of a result: every form in which it is printed."""
    made = {f"{aspect}.str": str(value)}
    for name in FORMS:
        form = getattr(value, name, None)
        if callable(form):
            try:
                made[f"{aspect}.{name.strip('_')}"] = str(form())
            except (ValueError, TypeError, AttributeError) as error:
                made[f"{aspect}.{name.strip('_')}"] = f"{type(error).__name__}: {error}"
    return made


def aspects(result):
    """What a case returned, by aspect, as text."""
    made = {}
    for aspect, value in result.items():
        if isinstance(value, np.ndarray):
            made[aspect] = bits(value) if value.dtype != object else repr(value.tolist())
        elif isinstance(value, (str, int, float, type(None))):
            made[aspect] = str(value)
        else:
            made |= shown(value, aspect)
    return {aspect: plain(text) for aspect, text in made.items()}


def record(case):
    """One case: its aspects and the warnings, or the sentence of the refusal."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            made = aspects(case())
        except Exception as error:  # any kind of refusal is a result
            made = {"refused": plain(f"{type(error).__name__}: {error}")}
    said = sorted(plain(f"{each.category.__name__}: {each.message}") for each in caught)
    return made | {"warnings": "\n".join(dict.fromkeys(said))}


def main():
    """The cases of one share whose names contain a text."""
    share, of = map(int, sys.argv[1].split("/"))
    asked = sys.argv[2] if len(sys.argv) > 2 else ""
    with tempfile.TemporaryDirectory() as folder:
        tempfile.tempdir = folder
        chosen = [each for each in enumerate(cases(Path(folder))) if each[0] % of == share and asked in each[1][0]]
        made = {name: record(case) for _, (name, case) in chosen}
        tempfile.tempdir = None
    json.dump(made, sys.stdout)


if __name__ == "__main__":
    main()
