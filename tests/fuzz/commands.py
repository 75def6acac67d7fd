"""Random argument vectors of the command line: a documented exit code, a sentence, and no budget spent by a refusal."""

import contextlib
import pathlib
import warnings

import pandas as pd
from click.testing import CliRunner
from tests.fuzz.laws import ACCEPTED, REFUSED, require

import dplr
from dplr.cli import main

BOUNDS = (
    '[features.age]\nlower = 18\nupper = 99\n[features.work]\nlevels = ["a", "b"]\n[target]\nclasses = ["no", "yes"]\n'
)
ROWS = "id,age,work,sick\n" + "".join(f"{k},{20 + k},{'ab'[k % 2]},{['no', 'yes'][k % 3 % 2]}\n" for k in range(20))
COMMANDS = [
    ["fit"],
    ["check"],
    ["plan"],
    ["predict"],
    ["summary"],
    ["evaluate"],
    ["bounds", "init"],
    ["bounds", "learn"],
    ["ledger", "init"],
    ["ledger", "show"],
    ["ledger", "share"],
    ["ledger", "give-back"],
    ["ledger", "recover"],
    ["moments"],
    ["moments", "release"],
    ["moments", "fit"],
    [],
    ["nothing"],
]
# No NUL: no system hands one to a program.
FILES = [
    "rows.csv",
    "bounds.toml",
    "model.json",
    "budget.db",
    "gone.csv",
    ".",
    "-",
    "",
    "out/x.json",
    "made.json",
    "made.csv",
    "\udc80",
    "*.csv",
]
VALUES = [
    "0.5",
    "1",
    "-1",
    "0",
    "nan",
    "inf",
    "1e-400",
    "1e400",
    "x",
    "",
    "sick",
    "age",
    "id",
    "auto",
    "fm",
    "ngd",
    "none",
    "linear",
    "logistic",
    "prediction",
    "coefficients",
    "add_remove",
    "zcdp",
    "20",
    "99999999999999999999",
    "sick ~ age",
    "age=number",
    "1e-6",
    "utf-8",
    "latin-1",
    "utf-16",
    ",",
    ";",
    ".",
    "é",
]
OPTIONS = {}


def options_of(command):
    """Names of the options of a command, read from click."""
    key = tuple(command)
    if key not in OPTIONS:
        at = main
        for word in command:
            at = getattr(at, "commands", {}).get(word)
        names = [
            name for p in getattr(at, "params", []) for name in (*p.opts, *p.secondary_opts) if name.startswith("-")
        ]
        OPTIONS[key] = [*names, "--nothing", "--help"]
    return OPTIONS[key]


LIKELY = {
    "fit": [
        "rows.csv",
        "--target",
        "sick",
        "--bounds",
        "bounds.toml",
        "--eps",
        "0.1",
        "--ledger",
        "budget.db",
        "-o",
        "made.json",
    ],
    "check": ["rows.csv", "--target", "sick", "--bounds", "bounds.toml"],
    "plan": ["--bounds", "bounds.toml", "--n-rows", "20", "--eps", "0.5"],
    "predict": ["model.json", "rows.csv", "-o", "made.csv"],
    "summary": ["model.json"],
    "evaluate": ["model.json", "rows.csv", "--target", "sick", "--eps", "0.1", "--ledger", "budget.db"],
    "init": ["made.db", "--eps", "1"],
    "show": ["budget.db"],
    "learn": ["rows.csv", "--eps", "0.1", "--column", "age=number", "--ledger", "budget.db", "-o", "made.toml"],
}
SLOW = {"--curve", "--target-error", "--intervals", "--html", "--signal", "coefficients", "--target-width"}


class Door:
    KNOWN = ()

    def __init__(self, folder):
        self.folder, self.runner = pathlib.Path(folder), CliRunner()
        (self.folder / "out").mkdir()
        (self.folder / "bounds.toml").write_text(BOUNDS)
        (self.folder / "rows.csv").write_text(ROWS)
        self.ledger = dplr.Ledger(self.folder / "budget.db", eps=1e6, delta=0.5)
        with warnings.catch_warnings(action="ignore"):
            est = dplr.fit(
                pd.read_csv(self.folder / "rows.csv"),
                "sick",
                bounds=self.folder / "bounds.toml",
                eps=1.0,
                mechanism="fm",
                rng=1,
            )
        dplr.save_model(est, self.folder / "model.json")
        self.files = {path.name: path.read_bytes() for path in self.folder.glob("*.[jtc]*")}

    def attack(self, rng):
        vector = arguments(rng)
        for path in self.folder.glob("*made*"):
            path.unlink()
        before = self.ledger.spent()
        with contextlib.chdir(self.folder), warnings.catch_warnings(action="ignore"):
            ends = self.runner.invoke(main, vector, env={"DPLR_DEBUG": None, "PYTHONWARNINGS": "ignore"}, input="a,b\n")
        require(isinstance(ends.exception, (SystemExit, type(None))), f"{ends.exception!r} from {vector}")
        require(ends.exit_code in (0, 2, 3, 4), f"exit code {ends.exit_code} from {vector}: {ends.stderr[-300:]}")
        if ends.exit_code:
            require(ends.stderr.strip(), f"refused without a word: {vector}")
            require(self.ledger.spent() == before, f"refused, and spent: {vector}")
        for name, data in self.files.items():
            path = self.folder / name
            if not path.exists() or path.read_bytes() != data:
                path.write_bytes(data)
                require("--overwrite" in vector or name in vector, f"{name} was changed by {vector}")
        return REFUSED if ends.exit_code else ACCEPTED


def arguments(rng):
    """A vector that is likely to work and then changed, or words at random."""
    command = rng.choice(COMMANDS)
    words = list(LIKELY.get(command[-1] if command else "", [])) if rng.random() < 0.8 else []
    if command == ["bounds", "init"]:
        words = ["rows.csv", "-o", "made.toml"]
    for _ in range(rng.choice([0, 1, 1, 2, 4])):
        place = rng.randrange(len(words) + 1)
        how = rng.random()
        if how < 0.5:
            words[place:place] = [rng.choice(options_of(command)), rng.choice(VALUES + FILES)][: rng.choice([1, 2, 2])]
        elif how < 0.7 and words:
            del words[min(place, len(words) - 1)]
        elif words:
            words[min(place, len(words) - 1)] = rng.choice(VALUES + FILES)
    return [word for word in [*command, *words] if word not in SLOW]
