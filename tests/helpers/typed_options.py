"""What is typed for every option of every command, and where it is seen: the table of `tests/test_cli_options.py`."""

from typing import NamedTuple

ROWS = 300  # of the files


class Line(NamedTuple):
    """What is typed after the base of a command, what stands beside it, and where it is seen."""

    typed: str
    seen: tuple
    beside: str = ""


def passes(entry, name, value=None):
    """As this argument of a function: the value, or what a function of it says is right."""
    return ("passes", entry, name, value)


def shows(text):
    """A text on the screen, or in the file that is written, which is not there without it."""
    return ("shows", text)


def hides(text):
    """A text that is there only without it."""
    return ("hides", text)


def one_column(bounds):
    return len(bounds.columns) == 1


def one_more(X):
    return len(X) == ROWS + 1


def five(rows):
    return rows is not None and len(rows[1]) == 5


def all_no(y):
    return "yes" not in y.to_pylist()


def decimal_comma(form):
    return form.decimal == ","


def question_mark(form):
    return form.spellings == ("?",)


WORKS = ("works",)  # the command is refused without it


def form(table):
    """How files are written: of each there is a file that cannot be read otherwise."""
    return {
        "encoding": Line("--encoding latin-1", WORKS, table.format("latin.csv")),
        "decimal": Line("--decimal ,", WORKS, table.format("decimal.csv") + " --delimiter ;"),
        "delimiter": Line("--delimiter ;", WORKS, table.format("semicolons.csv")),
        "spellings": Line("--missing ?", passes("read_table", "form", question_mark)),
    }


def pays():
    """A ledger, its share, and a label: they are seen in the ledger afterwards."""
    return {
        "ledger_path": Line("--ledger budget.db", shows("Left in budget.db")),
        "share": Line("--share alice", passes("share", "name", "alice"), "--ledger budget.db"),
        "label": Line("--label wave7", passes("labelled", "label", "wave7"), "--ledger budget.db"),
    }  # fmt: skip


def person(entry):
    """Persons, as a parameter of a function."""
    return {"person": Line("--person id", passes(entry, "person", "id"))}


def unit(entry):
    """Persons and weights, as parameters of a function."""
    weight = Line("--weight w", passes(entry, "sample_weight", "w"), "--bounds capped.toml")
    return person(entry) | {"weight": weight}


def promise(entry):
    """The options of a fit, as parameters of a function."""
    return {
        "bounds": Line("--bounds narrow.toml", passes(entry, "bounds", one_column)),
        "eps": Line("--eps 0.7", passes(entry, "eps", 0.7)),
        "delta": Line("--delta 1e-6", passes(entry, "delta", 1e-6)),
        "aim": Line(
            "--aim coefficients", passes(entry, "aim", "coefficients"), "--mechanism score --delta 1e-6 --eps 50"
        ),
        "mechanism": Line("--mechanism output", passes(entry, "mechanism", "output")),
        "model": Line("--model svm", passes(entry, "model", "svm")),
        "neighbouring": Line("--neighbouring add_remove", passes(entry, "neighbouring", "add_remove")),
        "l2": Line("--l2 0.25", passes(entry, "l2", 0.25)),
        "no_intercept": Line("--no-intercept", passes(entry, "fit_intercept", False)),
        "curves": Line("--curves 5", passes(entry, "curves", 5)),
        "public": Line(
            "--public public.csv",
            passes(entry, "public", five),
            "--target sick",
        ),
    }


def without(lines, name):
    """The lines of all other options."""
    return {option: line for option, line in lines.items() if option != name}


def simulation(typed, name, value, entry="plan_curve", beside="--curve"):
    return Line(typed, passes(entry, "assume", lambda assume: getattr(assume, name) == value), beside)


# Little work, where a command must come to its end.
SHORT_CURVE = "--curve --tables 2 --mechanism fm"
SHORT_AUDIT = "--pairs 20 --runs 20 --mechanism fm"
OVERWRITE = Line("--overwrite", WORKS, "-o taken{ending}")
QUIET = Line("-q", hides("Wrote"))
TABLE = {
    "level": Line("--level 0.8", passes("summary", "level", 0.8)),
    "joint": Line("--joint", passes("summary", "joint", True)),
    "effect_bound": Line("--effect-bound 3", passes("summary", "effect_bound", 3.0)),
}
COMMANDS = {
    "fit": ("fit {data} --target sick --bounds bounds.toml --eps 0.4 -o out.json", promise("fit") | unit("fit")
            | form("DATA={}") | pays() | {
        "data": Line("DATA=more.csv", passes("fit", "X", one_more)),
        "target": Line("--target other", passes("fit", "y", all_no), "--bounds bounds.toml"),
        "formula": Line("--formula sick~age", passes("fit", "bounds", one_column), "NO=--target"),
        "n_rows": Line("--n-rows 77", passes("fit", "n_rows", 77), "--neighbouring add_remove"),
        "output": Line("-o other.json", shows("other.json")),
        "overwrite": OVERWRITE,
        "keep": Line("--keep .", passes("read_rows", "keep", ".")),
        "progress": Line("--progress", passes("fit", "progress", True)),
        "statement": Line("--statement", shows("Privacy statement (")),
        "quiet": QUIET,
    }),
    "predict": ("predict {model} {data} -o out.csv", form("DATA={}") | {
        "model": Line("MODEL=linear.json", hides("yes")),
        "data": Line("DATA=more.csv", shows(f"{ROWS + 1} predictions")),
        "proba": Line("--proba", shows("probability of yes")),
        "keep": Line("--keep id", shows("p17")),
        "output": Line("-o other.csv", shows("other.csv")),
        "overwrite": OVERWRITE,
        "quiet": QUIET,
    }),
    "evaluate": ("evaluate {model} {data} --eps 0.4", form("DATA={}") | pays() | {
        "model": Line("MODEL=narrow.json", passes("evaluate", "model", lambda est: est.n_features_in_ == 1)),
        "data": Line("DATA=more.csv", passes("evaluate", "X", one_more)),
        "eps": Line("--eps 0.7", passes("evaluate", "eps", 0.7)),
        "target": Line("--target other", passes("evaluate", "y", "other")),
        "thresholds": Line("--threshold 0.3", passes("evaluate", "thresholds", (0.3,))),
        "person": Line("--person id", passes("evaluate", "person", "id")),
        "in_sample": Line("--in-sample", passes("evaluate", "in_sample", True)),
        "neighbouring": Line("--neighbouring add_remove", passes("evaluate", "neighbouring", "add_remove")),
        "n_rows": Line("--n-rows 77", passes("evaluate", "n_rows", 77), "--neighbouring add_remove"),
        "level": Line("--level 0.8", passes("evaluate", "level", 0.8)),
        "output": Line("-o out.csv", shows("measure,estimate")),
        "overwrite": OVERWRITE,
        "quiet": Line("-q", hides("Privacy statement")),
    }),
    "summary": ("summary {model}", TABLE | {
        "model": Line("MODEL=narrow.json", hides("hours")),
        "columns": Line("--column age", passes("summary", "columns", ["age"])),
        "full": Line("--full", passes("summary", "most", None)),
        "statement": Line("--statement", shows("arithmetic")),
        "output": Line("-o out.tex", shows("tabular")),
        "overwrite": OVERWRITE,
        "quiet": Line("-q", hides("Wrote"), "-o out.tex"),
    }),
    "audit": ("audit --bounds bounds.toml --eps 0.4",
              without(promise("audit"), "public") | person("audit") | {
        "n_rows": Line("--n-rows 77", passes("audit", "n_rows", 77)),
        "pairs": Line("--pairs 33", passes("audit", "pairs", 33)),
        "runs": Line("--runs 222", passes("audit", "runs", 222)),
        "confidence": Line("--confidence 0.9", passes("audit", "confidence", 0.9)),
        "seed": Line("--seed 5", passes("audit", "seed", 5)),
        "broken": Line("--broken", passes("audit", "broken", True)),
    }),
    "plan": ("plan --bounds bounds.toml --n-rows 400 --eps 0.4", promise("plan") | person("plan")
             | form("--target sick --public {}") | {
        "spellings": Line("--missing ?", passes("read_table", "form", question_mark),
                          "--target sick --public public.csv"),
        "n_rows": Line("--n-rows 77", passes("plan", "n_rows", 77)),
        "target": Line("--target sick", WORKS, "--public public.csv"),
        "curve": Line("--curve", passes("plan_curve", "n_rows", 400)),
        "several_rows": Line("--several-rows 100,200", passes("plan_curve", "n_rows", [100, 200]), "--intervals"),
        "several_eps": Line("--several-eps 1,2", passes("plan_curve", "eps", [1.0, 2.0]), "--intervals"),
        "intervals": Line("--intervals", passes("plan_curve", "intervals", True)),
        "target_error": Line("--target-error 0.3", passes("plan_target", "error", 0.3)),
        "target_width": Line("--target-width 0.2", passes("plan_target", "width", 0.2)),
        "csv_path": Line("--csv out.csv", shows("Wrote out.csv"), SHORT_CURVE),
        "signal": simulation("--signal 0.3", "signal", 0.3),
        "positive": simulation("--positive 0.3", "positive", 0.3),
        "sample": Line("--sample public.csv", passes("plan_curve", "assume", lambda assume: five(assume.sample)),
                       "--curve --target sick"),
        "shares": simulation("--shares place=0.3,0.7", "shares", {"place": [0.3, 0.7]}),
        "spread": simulation("--spread age=0.3", "spread", {"age": 0.3}),
        "target_spread": Line("--target-spread 0.3", passes("plan_curve", "assume", lambda a: a.target_spread == 0.3),
                              "--curve --model linear --bounds number.toml"),
        "tables": simulation("--tables 3", "tables", 3),
        "seed": simulation("--seed 9", "seed", 9),
        "overwrite": Line("--overwrite", WORKS, f"{SHORT_CURVE} --csv taken.csv"),
        "ledger_path": Line("--ledger budget.db", shows("Ledger budget.db")),
        "share": Line("--share alice", passes("share", "name", "alice"), "--ledger budget.db"),
        "fits": Line("--fits 3", passes("cost", "fits", 3), "--ledger budget.db"),
    }),
    "check": ("check {data} --bounds bounds.toml --target sick", form("DATA={}") | {
        "data": Line("DATA=more.csv", passes("check", "X", one_more)),
        "target": Line("--target other", passes("check", "y", all_no)),
        "bounds": Line("--bounds narrow.toml", passes("check", "bounds", one_column)),
        "model": Line("--model svm", passes("check", "model", "svm")),
        "eps": Line("--eps 0.4", passes("expected_table", "parameters", lambda p: p["eps"] == 0.4)),
        "delta": Line("--delta 1e-6", passes("expected_table", "parameters", lambda p: p["delta"] == 1e-6), "--eps 1"),
        "mechanism": Line("--mechanism fm", passes("expected_table", "parameters", lambda p: p["mechanism"] == "fm"),
                          "--eps 1"),
        "aim": Line("--aim coefficients", passes("expected_table", "parameters", lambda p: p["aim"] == "coefficients"),
                    "--eps 1"),
        "person": Line("--person id", passes("check", "person", "id")),
        "weight": Line("--weight w", passes("check", "sample_weight", "w"), "--bounds capped.toml"),
    }),
    "bounds init": ("bounds init {data} -o out.toml", {
        "data": Line("DATA=semicolons.csv", WORKS, "--delimiter ; --target sick"),
        "target": Line("--target sick", shows("[target]")),
        "output": Line("-o other.toml", shows("other.toml")),
        "overwrite": OVERWRITE,
        "encoding": Line("--encoding latin-1", WORKS, "DATA=latin_names.csv"),
        "decimal": Line("--decimal ,", passes("column_types", "form", decimal_comma), "--delimiter ;"),
        "delimiter": Line("--delimiter ;", shows("features.age"), "DATA=semicolons.csv"),
        "spellings": Line("--missing ?", passes("column_types", "form", question_mark)),
    }),
    "bounds learn": ("bounds learn {data} --column age=integer --eps 40 -o out.toml", unit("learn") | {
        "rows_per_person": Line("--rows-per-person 3", passes("learn", "bounds", lambda b: b.rows_per_person == 3),
                                "--person id"),
        "weight": Line("--weight w", passes("learn", "sample_weight", "w"), "--weight-max 4"),
        "weight_max": Line("--weight-max 4", passes("learn", "bounds", lambda bounds: bounds.weight_max == 4.0),
                           "--weight w"),
        "data": Line("DATA=nowhere.csv", shows("nowhere.csv")),
        "eps": Line("--eps 30", passes("learn", "eps", 30.0)),
        "delta": Line("--delta 1e-6", passes("learn", "delta", 1e-6)),
        "columns": Line("--column hours=number", passes("learn", "columns", {"age": "integer", "hours": "number"})),
        "target": Line("--target age", passes("learn", "target", "age")),
        "outside": Line("--outside 0.1", passes("learn", "outside", 0.1)),
        "bounds": Line("--bounds hours.toml", passes("learn", "bounds", lambda bounds: bool(bounds.columns))),
        "neighbouring": Line("--neighbouring add_remove", passes("learn", "neighbouring", "add_remove")),
        "n_rows": Line("--n-rows 77", passes("learn", "n_rows", 77), "--neighbouring add_remove"),
        "ledger_path": Line("--ledger large.db", shows("Left in large.db")),
        "share": Line("--share alice", passes("share", "name", "alice"), "--ledger large.db"),
        "label": Line("--label wave7", passes("labelled", "label", "wave7"), "--ledger large.db"),
        "output": Line("-o other.toml", shows("other.toml")),
        "overwrite": OVERWRITE,
        "encoding": Line("--encoding latin-1", WORKS, "DATA=latin_names.csv"),
        "decimal": Line("--decimal ,", passes("column_types", "form", decimal_comma), "--delimiter ;"),
        "delimiter": Line("--delimiter ;", WORKS, "DATA=semicolons.csv"),
        "spellings": Line("--missing ?", passes("column_types", "form", question_mark)),
        "quiet": QUIET,
    }),
    "ledger init": ("ledger init {path} --eps 1", {
        "path": Line("PATH=other.db", shows("other.db")),
        "eps": Line("--eps 0.7", passes("Ledger", "eps", 0.7)),
        "delta": Line("--delta 1e-6", passes("Ledger", "delta", 1e-6)),
        "composition": Line("--composition zcdp", passes("Ledger", "composition", "zcdp"), "--delta 1e-6"),
        "neighbouring": Line("--neighbouring add_remove", passes("Ledger", "neighbouring", "add_remove")),
        "unit": Line("--unit id", passes("Ledger", "unit", "id")),
    }),
    "ledger share": ("ledger share {path} {name} --eps 0.1", {
        "path": Line("PATH=large.db", shows("of large.db")),
        "name": Line("NAME=carla", shows("carla")),
        "eps": Line("--eps 0.2", passes("share", "eps", 0.2)),
        "delta": Line("--delta 1e-7", passes("share", "delta", 1e-7)),
    }),
    "ledger show": ("ledger show {path}", {
        "path": Line("PATH=large.db", shows("large.db")),
        "as_json": Line("--json", shows('"publishable"')),
        "public": Line("--public", hides("For the data holder")),
    }),
    "ledger give-back": ("ledger give-back {path} {number}", {
        "path": Line("PATH=large.db", shows("large.db")),
        "number": Line("NUMBER=2", passes("give_back", "name", 2)),
    }),
    "ledger recover": ("ledger recover {path} {number} -o out.json", {
        "path": Line("PATH=budget.db", shows("entry")),
        "number": Line("NUMBER=2", passes("recover", "name", 2)),
        "output": Line("-o other.json", shows("other.json")),
        "overwrite": OVERWRITE,
    }),
    "report": ("report {model} -o out.html", {
        "model": Line("MODEL=narrow.json", hides("hours")),
        "output": Line("-o other.html", shows("other.html")),
        "overwrite": OVERWRITE,
        "title": Line("--title Heading", shows("<title>Heading")),
        "quiet": QUIET,
    }),
    "moments release": ("moments release {data} --bounds columns.toml --eps 0.4 -o out.moments", form("DATA={}")
                        | pays() | {
        "data": Line("DATA=more.csv", passes("release_moments", "X", one_more)),
        "bounds": Line("--bounds hours.toml", passes("release_moments", "bounds", one_column)),
        "eps": Line("--eps 0.7", passes("release_moments", "eps", 0.7)),
        "delta": Line("--delta 1e-6", passes("release_moments", "delta", 1e-6)),
        "noise": Line("--noise gaussian", passes("release_moments", "noise", "gaussian"), "--delta 1e-6"),
        "columns": Line("--column age", passes("release_moments", "bounds", one_column)),
        "neighbouring": Line("--neighbouring add_remove", passes("release_moments", "neighbouring", "add_remove")),
        "n_rows": Line("--n-rows 77", passes("release_moments", "n_rows", 77), "--neighbouring add_remove"),
        "party": Line("--party north", passes("release_moments", "party", "north")),
        "output": Line("-o other.json", shows("other.json")),
        "overwrite": OVERWRITE,
        "quiet": QUIET,
    }),
    "moments merge": ("moments merge {files} -o out.moments", {
        "files": Line("FILES=nowhere.json", shows("nowhere.json")),
        "output": Line("-o other.json", shows("other.json")),
        "overwrite": OVERWRITE,
        "quiet": QUIET,
    }),
    "moments fit": ("moments fit {file} --target age", TABLE | {
        "file": Line("FILE=nowhere.json", shows("nowhere.json")),
        "target": Line("--target hours", passes("regress", "target", "hours")),
        "of_level": Line("--probability-of Bonn", passes("probability", "level", "Bonn"), "--target place"),
        "columns": Line("--column hours", passes("regress", "columns", ["hours"])),
        "l2": Line("--l2 0.25", passes("regress", "l2", 0.25)),
        "variances": Line("--variances largest", passes("regress", "variances", "largest")),
        "model_file": Line("--save out.json", shows("Wrote out.json")),
        "full": Line("--full", passes("to_text", "self")),
        "output": Line("-o out.tex", shows("tabular")),
        "overwrite": OVERWRITE,
        "quiet": Line("-q", hides("Wrote"), "-o out.tex"),
    }),
    "moments describe": ("moments describe {file}", {
        "file": Line("FILE=nowhere.json", shows("nowhere.json")),
        "full": Line("--full", passes("to_text", "self")),
        "level": Line("--level 0.8", passes("describe", "level", 0.8)),
        "output": Line("-o out.tex", shows("tabular")),
        "overwrite": OVERWRITE,
        "quiet": Line("-q", hides("Wrote"), "-o out.tex"),
    }),
    "demo": ("demo", {}),
}  # fmt: skip
# The words that stand for arguments of commands, and for those of some.
DEFAULTS = {
    "data": "people.csv", "model": "model.json", "path": "budget.db", "file": "m.json", "files": "m.json m2.json",
    "name": "bob", "number": "1",
}  # fmt: skip
AT = {"ledger init": {"path": "out.db"}, "ledger recover": {"path": "kept.db"}}
