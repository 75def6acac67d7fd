"""The cases: a name and a function that returns a dictionary of what is compared. Seeds make noise repeatable."""

import contextlib
import functools
import os
import zlib

import duckdb
import numpy as np
import pandas as pd
import polars
import pyarrow.dataset
from calls import call

import dplr

N = 600
INF = float("inf")


@functools.cache
def rows():
    """Numbers, levels, ids, weights and targets of made-up people."""
    rng = np.random.default_rng(1)
    table = pd.DataFrame(
        {
            "age": rng.uniform(15, 95, N),
            "gain": rng.exponential(3, N),
            "sex": rng.choice(["f", "m"], N),
            "work": rng.choice(["farm", "shop", "state", "other"], N, p=[0.2, 0.4, 0.3, 0.1]),
            "health": rng.choice(["poor", "fair", "good"], N),
            "flag": rng.integers(0, 2, N),
            "id": np.arange(N) // 3,
            "weight": rng.uniform(0, 3, N),
        }
    )
    score = (table["age"] - 55) / 20 + (table["work"] == "shop") - table["flag"] + rng.normal(0, 1, N)
    table["yes"] = score > 0
    table["label"] = np.where(score > 0, "yes", "no")
    table["third"] = np.digitize(score, [-0.7, 0.7])
    table["pay"] = 20 * score + rng.normal(0, 5, N)
    table["visits"] = rng.poisson(np.exp(np.clip(score / 2, -3, 2)))
    return table


COLUMNS = {
    "plain": {"age": (18, 90), "flag": (0, 1)},
    "levels": {
        "age": (18, 90),
        "sex": {"levels": ["f", "m"], "binary": True},
        "work": {"levels": ["farm", "shop", "state"], "missing": "indicator"},
        "health": {"levels": ["poor", "fair", "good"], "ordinal": True},
    },
    "bins": {
        "age": {"lower": 18, "upper": 90, "bins": [30, 50], "reference": 40},
        "gain": {"lower": 0, "upper": 50, "transform": "log1p"},
        "work": {"levels": ["farm", "shop", "state", "other"], "reference": "shop"},
    },
    "knots": {"age": {"lower": 18, "upper": 90, "knots": 4}, "flag": (0, 1)},
}
PRODUCTS = [("age", "flag")]
# Model -> the column of its target, and what the bounds declare of it.
TARGETS = {
    "logistic": ("label", ("no", "yes")),
    "linear": ("pay", (-90, 90)),
    "svm": ("label", ("no", "yes")),
    "huber": ("pay", (-90, 90)),
    "poisson": ("visits", (0, 20)),
}
SPECS = {
    "auto": "auto",
    "fm": "fm",
    "fm paper": ("FunctionalMechanism", {"calibration": "paper"}),
    "fm stein": ("FunctionalMechanism", {"approximation": "stein"}),
    "fm adassp": ("FunctionalMechanism", {"unbounded": "adassp"}),
    "fm robust": ("FunctionalMechanism", {"intervals": "robust"}),
    "fm gaussian": ("FunctionalMechanism", {"noise": "gaussian"}),
    "fm as declared": ("FunctionalMechanism", {"ranges": "off"}),
    "objective": "objective",
    "objective intervals": ("ObjectivePerturbation", {"intervals": "on"}),
    "objective paper": ("ObjectivePerturbation", {"calibration": "cms11"}),
    "output": "output",
    "output projected": ("OutputPerturbation", {"projection": 0.5}),
    "score": "score",
    "ngd": "ngd",
    "ngd clipped": ("NoisyGradientDescent", {"clip": 0.5, "steps": 5}),
    "ngd batches": ("NoisyGradientDescent", {"batch": 50, "steps": 4}),
    "none": "none",
}
SETTINGS = {
    "eps 1": {"eps": 1.0},
    "eps 4, delta": {"eps": 4.0, "delta": 1e-6},
    "add or remove": {"eps": 2.0, "neighbouring": "add_remove", "n_rows": N},
    "no intercept": {"eps": 2.0, "fit_intercept": False, "delta": 1e-6},
    "ridge": {"eps": 8.0, "l2": 0.01},
    "no noise": {"eps": INF},
    "little noise": {"eps": 300.0},
}


def _fits_together(model, kind, spec):
    """Whether a mechanism has this model and these rows."""
    models = {"fm": ("logistic", "linear"), "score": ("logistic", "huber", "poisson")}
    models["objective intervals"] = ("logistic",)
    models["none"] = ("logistic", "svm", "huber", "poisson")
    asked = spec if spec in models else spec.split(" ")[0]
    return model in models.get(asked, TARGETS) and (model, kind) != ("poisson", "ball")


def _units(model):
    """Kinds of rows and units: name -> X, y, options of a fit; `declared` are columns of the bounds."""
    target, declared = TARGETS[model]
    table, y = rows(), rows()[target]
    box = table[["age", "flag"]].to_numpy(float)
    ball = (box - [54, 0.5]) / 90
    fixed = {"declared": [(18, 90), (0, 1)], "target": declared}
    yield "array", (box, y.to_numpy(), fixed)
    yield "ball", (ball, (y == "yes" if declared == ("no", "yes") else y / 90).to_numpy(), {"target": None})
    for kind in ("levels", "bins", "knots"):
        yield kind, (table, y, {"declared": COLUMNS[kind], "target": declared})
    yield "products", (table, y, {"declared": COLUMNS["plain"], "target": declared, "products": PRODUCTS})
    yield "polars", (polars.from_pandas(table), y.to_numpy(), {"declared": COLUMNS["levels"], "target": declared})
    yield "persons", (box, y.to_numpy(), fixed | {"person": table["id"].to_numpy(), "rows_per_person": 2})
    named = {"declared": COLUMNS["plain"], "target": declared}
    yield "named persons", (table, y, named | {"person_column": "id", "rows_per_person": 3})
    yield "weights", (box, y.to_numpy(), fixed | {"sample_weight": table["weight"].to_numpy(), "weight_max": 2.0})
    yield (
        "weights of persons",
        (table, y, named | {"person_column": "id", "weight_column": "weight", "weight_max": 2.0}),
    )
    yield "curves", (table, y, named | {"curves": 4})
    yield "public", (box[100:], y.to_numpy()[100:], fixed | {"public": (box[:100], y.to_numpy()[:100])})
    if model == "logistic":
        three = fixed | {"target": None, "classes": [0, 1, 2]}
        yield "three classes", (box, table["third"].to_numpy(), three)
        yield "factors", (box, y.to_numpy(), fixed | {"class_weight": {"no": 1.0, "yes": 0.5}})
        yield "aim", (table, y, {"declared": COLUMNS["levels"], "target": declared, "aim": "coefficients"})


def _fitted(folder, X, y, options, name):
    """A fit, all that it released and predicts, its file and its table."""
    est = call(dplr.fit, X, y, rng=7, **options)
    made = {"statement": est.privacy_, "coef": np.ravel(est.coef_), "intercept": np.ravel(est.intercept_)}
    released = est.released_ if isinstance(est.released_, dict) else dict(enumerate(est.released_))
    for block, numbers in released.items():
        if isinstance(numbers, dict):
            made |= {f"released {block} {inner}": np.asarray(each) for inner, each in numbers.items()}
        else:
            made[f"released {block}"] = np.asarray(numbers)
    made["released"] = " ".join(sorted(key for key in made if key.startswith("released")))
    seen = X[:50] if not isinstance(X, pd.DataFrame) else X.head(50)
    made["predictions"] = np.asarray(est.predict(seen))
    if hasattr(est, "predict_proba"):
        with contextlib.suppress(AttributeError):
            made["probabilities"] = np.asarray(est.predict_proba(seen))
    if zlib.crc32(name.encode()) % 4 == 0:
        path = folder / f"{zlib.crc32(name.encode())}.json"
        dplr.save_model(est, path)
        made["file"] = path.read_text(encoding="utf-8")
        made["loaded"] = np.ravel(dplr.load_model(path).coef_)
    if zlib.crc32(name.encode()) % 16 == 1:
        made["summary"] = est.summary()
    return made


def fits(folder):
    """Fits of every mechanism, model, kind of rows and setting: one combination in a few, chosen by its name."""
    for model in TARGETS:
        for kind, (X, y, facts) in _units(model):
            for spec, mechanism in SPECS.items():
                for setting, options in SETTINGS.items():
                    name = f"fit {model}, {kind}, {spec}, {setting}"
                    share = zlib.crc32(name.encode()) % 9
                    if share > (4 if _fits_together(model, kind, spec) else 0) or (spec == "none") != (
                        setting == "no noise"
                    ):
                        continue
                    asked = facts | options | {"model": model, "mechanism": mechanism}
                    if spec.startswith(("ngd", "score")):
                        asked = {"delta": 1e-6} | asked
                    if kind == "persons" and "n_rows" in asked:
                        asked["n_rows"] = N // 3
                    yield name, functools.partial(_fitted, folder, X, y, asked, name)


def streams(folder):
    """Fits of rows in files and lazy tables, with persons and weights in columns."""
    table = rows()
    table.to_csv(folder / "people.csv", index=False)
    table.to_parquet(folder / "people.parquet")
    sources = {
        "lazy csv": lambda: polars.scan_csv(folder / "people.csv"),
        "arrow": lambda: pyarrow.dataset.dataset(folder / "people.parquet"),
        "duckdb": lambda: duckdb.sql(f"select * from '{folder / 'people.parquet'}'"),
        "parquet": lambda: dplr.Stream(folder / "people.parquet"),
        "lazy": lambda: polars.scan_parquet(folder / "people.parquet"),
        "kept": lambda: dplr.Stream(folder / "people.parquet", keep=folder / "kept"),
    }
    persons, weights = {"person_column": "id", "rows_per_person": 2}, {"weight_column": "weight", "weight_max": 2.0}
    units = [{}, persons, weights]
    for source, make in sources.items():
        for model, (target, declared) in TARGETS.items():
            for kind in COLUMNS:
                for spec in ("auto", "fm", "objective", "output", "score", "ngd"):
                    name = f"stream {source}, {model}, {kind}, {spec}"
                    share = zlib.crc32(name.encode()) % 9
                    if share > 2 or not _fits_together(model, kind, spec):
                        continue
                    facts = {"declared": COLUMNS[kind], "target": declared, "model": model, "mechanism": spec}
                    facts |= {"eps": 2.0, "delta": 1e-6 if spec in ("score", "ngd") else 0.0} | units[share]
                    yield name, functools.partial(_streamed, make, target, facts)


def _streamed(make, target, facts):
    est = call(dplr.fit, make(), target, rng=7, **facts)
    return {"statement": est.privacy_, "coef": np.ravel(est.coef_), "predictions": est.predict(rows().head(50))}


BOX = {"declared": [(18, 90), (0, 1)], "target": ("no", "yes")}
GOOD = {"eps": 1.0, "mechanism": "fm"} | BOX
# Options of a fit that are refused, one at a time, with each mechanism.
WRONG = {
    "eps": [0, -1, "1", None, float("nan"), True, [1.0], 1e-320],
    "delta": [-0.1, 1.0, 2, "0", None, float("nan"), 0.5, 0.01],
    "mechanism": [
        "fmm",
        3,
        None,
        ("FunctionalMechanism", {"calibration": "loose"}),
        ("NoisyGradientDescent", {"clip": 0.0}),
    ],
    "model": ["logit", 3, None],
    "classes": [[0], ["no", "no"], "all", [1, 2], ["no", "yes", "perhaps"]],
    "fit_intercept": [1, "yes", None],
    "l2": [-1.0, "none", float("inf"), None],
    "neighbouring": ["replace", None, 3],
    "n_rows": [0, -5, 10.5, 599, "600"],
    "sample_weight": [np.full(N, -1.0), np.ones(3), "weight", np.ones(N)],
    "class_weight": [{"no": -1.0, "yes": 1.0}, {"no": 1.0}, "balanced", {"no": 0.0, "yes": 0.0}],
    "person": ["id", np.arange(5), 3.5],
    "public": ["rows", (np.ones((3, 2)),), (np.ones((3, 7)), [0, 1, 1]), 3],
    "curves": [-1, 1.5, "always", 1],
    "aim": ["truth", None],
    "ledger": [3, 2.5],
    "rng": [-1, 1.5, "seed"],
    "progress": [3, "yes"],
    "holdout": [0.0, 1.0, -0.2, "half", 2],
}
BAD_ROWS = {
    "missing": lambda X, y: (np.where(np.arange(X.size).reshape(X.shape) == 5, np.nan, X), y),
    "infinite": lambda X, y: (np.where(np.arange(X.size).reshape(X.shape) == 5, INF, X), y),
    "text": lambda X, y: (X.astype(str), y),
    "one column": lambda X, y: (X[:, 0], y),
    "three columns": lambda X, y: (np.c_[X, X[:, 0]], y),
    "no rows": lambda X, y: (X[:0], y[:0]),
    "fewer labels": lambda X, y: (X, y[:-1]),
    "other labels": lambda X, y: (X, np.where(np.arange(len(y)) == 3, "perhaps", y)),
    "missing label": lambda X, y: (X, np.where(np.arange(len(y)) == 3, None, y)),
    "labels in columns": lambda X, y: (X, np.c_[y, y]),
    "a list": lambda X, y: ([["a", 1], [2, 3]], [0, 1]),
    "nothing": lambda X, y: (None, y),
    "complex": lambda X, y: (X + 1j, y),
}
BAD_BOUNDS = {
    "reversed": {"declared": [(90, 18), (0, 1)]},
    "one": {"declared": [(18, 90)]},
    "equal": {"declared": [(18, 18), (0, 1)]},
    "text": {"declared": "wide"},
    "infinite": {"declared": [(18, INF), (0, 1)]},
    "levels twice": {"declared": {"age": (18, 90), "work": {"levels": ["farm", "farm"]}}},
    "unknown key": {"declared": {"age": {"lower": 1, "upper": 2, "step": 3}}},
    "absent column": {"declared": {"height": (0, 2)}},
    "transform": {"declared": {"age": {"lower": 0, "upper": 9, "transform": "log"}}},
    "bins": {"declared": {"age": {"lower": 0, "upper": 9, "bins": [10]}}},
    "reference": {"declared": {"work": {"levels": ["farm", "shop"], "reference": "state"}}},
    "knots": {"declared": {"age": {"lower": 0, "upper": 9, "knots": [5, 4]}}},
    "product": {"products": [("age", "none")], "declared": COLUMNS["plain"]},
    "target": {"target": (5, 1)},
    "no target": {"target": None, "model": "linear"},
    "weights": {"weight_max": -1.0, "sample_weight": np.ones(N)},
    "rows": {"rows_per_person": 0, "person": np.arange(N)},
    "rows of nobody": {"rows_per_person": 2},
}


def refusals(folder):
    """Calls that are refused, by their sentence."""
    del folder
    X, y = rows()[["age", "flag"]].to_numpy(float), rows()["label"].to_numpy()

    def refused(X, y, options):
        call(dplr.fit, X, y, rng=7, **options)
        return {"fits": "yes"}

    for mechanism in ("fm", "objective", "output", "score", "ngd", "none", "auto"):
        good = GOOD | {"mechanism": mechanism}
        for option, values in WRONG.items():
            for place, value in enumerate(values):
                if option == "mechanism" and mechanism != "fm":
                    continue
                if mechanism in ("fm", "auto") or zlib.crc32(f"{mechanism} {option} {place}".encode()) % 3 == 0:
                    yield (
                        f"refused {mechanism}, {option} {place}",
                        functools.partial(refused, X, y, good | {option: value}),
                    )
        for kind, spoil in BAD_ROWS.items():
            yield f"refused {mechanism}, rows {kind}", functools.partial(lambda s, g: refused(*s(X, y), g), spoil, good)
        for kind, facts in BAD_BOUNDS.items():
            table = rows() if isinstance(facts.get("declared", BOX["declared"]), dict) else X
            yield f"refused {mechanism}, bounds {kind}", functools.partial(refused, table, y, good | facts)
        for eps in (1e-9, 1e-3):
            yield (
                f"refused {mechanism}, eps {eps}",
                functools.partial(refused, X[:5], y[:5], good | {"eps": eps, "aim": "coefficients"}),
            )


def _model(model="linear", kind="levels", **more):
    target, declared = TARGETS[model]
    facts = {"declared": COLUMNS[kind], "target": declared, "eps": 9.0, "mechanism": "fm", "model": model}
    return call(dplr.fit, rows(), target, rng=7, **(facts | more))


def _bounds(kind="levels", target=None, **more):
    return dplr.Bounds(COLUMNS[kind], target=target, **more)


def results(folder):
    """Every printed form of every result."""
    from dplr import planner

    table = rows()
    kinds = {"linear": "fm", "logistic": "score", "poisson": "score"}
    for model, mechanism in kinds.items():
        for kind in COLUMNS:
            yield (
                f"summary {model}, {kind}",
                lambda model=model, kind=kind, mechanism=mechanism: {
                    "summary": _model(model, kind, mechanism=mechanism, delta=1e-6).summary()
                },
            )
        yield (
            f"half {model}",
            lambda model=model, mechanism=mechanism: {
                "level": _model(model, mechanism=mechanism, delta=1e-6).summary(level=0.5)
            },
        )

    def methods():
        est = _model(kind="plain", eps=50.0)
        return {
            "names": repr(est.coef_names_), "named": repr(est.named_coef_), "conf_int": repr(est.conf_int()),
            "test": est.wald_test(["age"]), "contrast": est.contrast({"age": 1.0}), "sql": est.to_sql(),
            "effects": _model(kind="knots").effects(), "refit": est.refit(columns=["age"]).privacy_,
            "standard": est.standardised_coefficients(), "interval": est.predict_interval(table.head(9)),
            "inflation": est.variance_inflation(),
        }  # fmt: skip

    yield "methods of a model", methods
    yield (
        "marginal effects",
        lambda: {"effects": _model("logistic", mechanism="score", eps=50.0, delta=1e-6).marginal_effects()},
    )
    yield "monotone", lambda: {"curve": _model(kind="knots", eps=30.0).monotone({"age": "increasing"}).effects()}
    for model in TARGETS:
        est_facts = {"bounds": _bounds(target=TARGETS[model][1]), "model": model}
        for spec in ("auto", "fm", "objective", "output", "score", "ngd"):
            for eps in (0.1, 1.0):
                yield (
                    f"plan {model}, {spec}, {eps}",
                    lambda f=est_facts, s=spec, e=eps: {
                        "plan": dplr.plan(n_rows=5000, eps=e, delta=1e-6, mechanism=s, **f)
                    },
                )
    label = {"levels": ["no", "yes"], "binary": True}

    def moments(**more):
        bounds = dplr.Bounds({**COLUMNS["levels"], "pay": (-90, 90), "label": label})
        made = dplr.release_moments(table, bounds=bounds, eps=5.0, rng=7, **more)
        made.save(folder / "moments.json")
        file, summary = (folder / "moments.json").read_text(encoding="utf-8"), made.regress("pay").summary()
        return {"moments": made, "table": made.describe(), "file": file, "statement": made.privacy_, "summary": summary}

    yield "moments", moments
    yield "moments with delta", lambda: moments(delta=1e-6, noise="gaussian")
    for name, more in {"pure": {}, "delta": {"delta": 1e-6}, "removed": {"neighbouring": "add_remove"}}.items():
        yield (
            f"learned bounds, {name}",
            lambda more=more: {
                "learned": dplr.learn_bounds(table[["age", "gain", "work", "flag"]], eps=3.0, rng=7, **more)
            },
        )
    score = np.clip((table["age"].to_numpy() - 15) / 80, 0, 1)
    yes = table["yes"].to_numpy()
    third = np.eye(3)[table["third"].to_numpy()] * 0.7 + 0.1
    guesses = {
        "labels": (score, yes, {}),
        "decisions": (score > 0.5, yes, {"decisions": True}),
        "numbers": (table["pay"].to_numpy() + 5, table["pay"].to_numpy(), {"target_bounds": (-90, 90)}),
        "classes": (third, table["third"].to_numpy(), {"classes": [0, 1, 2]}),
        "persons": (score, yes, {"person": table["id"].to_numpy(), "rows_per_person": 2}),
        "weights": (score, yes, {"sample_weight": table["weight"].to_numpy(), "weight_max": 2.0}),
    }
    for name, (guess, truth, more) in guesses.items():
        for eps in (0.05, 2.0):
            yield (
                f"evaluation {name}, {eps}",
                lambda g=guess, t=truth, m=more, e=eps: {
                    "evaluation": call(dplr.evaluate, g, None, t, eps=e, rng=7, **m)
                },
            )
            if name in ("labels", "numbers"):
                yield (
                    f"evaluation of two, {name}, {eps}",
                    lambda g=guess, t=truth, m=more, e=eps: {
                        "evaluation": call(dplr.evaluate, g, None, t, against=np.roll(g, 9), eps=e, rng=7, **m)
                    },
                )
    facts = {"bounds": _bounds("plain", target=(-90, 90)), "model": "linear", "mechanism": "fm"}
    yield "curve", lambda: {"curve": planner.plan_curve(n_rows=[500, 2000], eps=[0.5, 1.0], **facts)}
    yield (
        "curve with intervals",
        lambda: {"curve": call(planner.plan_curve, n_rows=2000, eps=[0.5, 2.0], intervals=True, **facts)},
    )
    for n, wanted in {"error": {"error": 0.9}, "width": {"width": 0.5}, "interval": {"interval": {"age": 0.8}}}.items():
        yield f"target {n}", lambda w=wanted: {"answer": call(planner.plan_target, n_rows=3000, **w, **facts)}
    yield "check", lambda: {"check": dplr.check(table, table["label"], bounds=_bounds(target=("no", "yes")))}
    yield (
        "check of units",
        lambda: {"check": dplr.check(table.assign(age=table["age"] / 1000, sex="x"), bounds=_bounds())},
    )
    yield (
        "audit",
        lambda: {"audit": dplr.audit(eps=1.0, bounds=_bounds("plain"), mechanism="fm", pairs=20, runs=50, broken=True)},
    )
    yield "bounds", lambda: {"bounds": _bounds(products=[("age", "sex")]), "toml": _toml(folder)}
    for baseline in ("DPME", "FilterPriority"):
        yield f"baseline {baseline}", lambda name=baseline: _baseline(name)
    for composition in ("basic", "zcdp", "gdp", "pld"):
        yield f"ledger {composition}", lambda c=composition: _ledger(folder, c)


def _toml(folder):
    path = folder / "bounds.toml"
    bounds = _bounds(target=("no", "yes"))
    (bounds.to_toml if hasattr(bounds, "to_toml") else bounds.save)(path)
    return path.read_text(encoding="utf-8") + str(dplr.Bounds.from_toml(path))


def _baseline(name):
    from dplr import baselines

    table = rows()[["age", "flag"]].to_numpy(float)
    est = getattr(baselines, name)(eps=2.0, bounds=_box(), rng=7).fit(table, rows()["label"].to_numpy())
    return {"coef": np.ravel(est.coef_), "statement": est.privacy_}


def _box():
    return dplr.Bounds([(18, 90), (0, 1)], target=("no", "yes"))


def _ledger(folder, composition):
    """What a ledger shows of fits, shares, refusals and what was given back."""
    path = folder / f"{composition}.ledger"
    ledger = dplr.Ledger(path, eps=9.0, delta=1e-4, composition=composition, label="people")
    share = ledger.share("ann", eps=1.5)
    X, y = rows()[["age", "flag"]].to_numpy(float), rows()["label"].to_numpy()
    for mechanism, eps, delta in (("fm", 0.5, 0.0), ("objective", 0.7, 0.0), ("ngd", 0.5, 1e-6)):
        dplr.fit(X, y, mechanism=mechanism, eps=eps, delta=delta, bounds=_box(), ledger=ledger)
    dplr.fit(X, y, mechanism="output", eps=0.25, bounds=_box(), ledger=share)
    plan = dplr.plan(n_rows=1000, n_features=2, eps=0.25, mechanism="fm")
    ledger.reserve(plan).refund()
    said = ""
    try:
        dplr.fit(X, y, mechanism="fm", eps=30.0, bounds=_box(), ledger=ledger)
    except dplr.BudgetExceeded as error:
        said = str(error)
    entries = "\n".join(repr(entry) for entry in ledger.entries())
    return {"ledger": ledger, "share": share, "said": said, "entries": entries, "price": ledger.price(plan, fits=3)}


def commands(folder):
    """Help texts, exit codes, standard output and error, and files of the command line."""
    from click.testing import CliRunner

    from dplr.cli import main as program

    rows().to_csv(folder / "cli.csv", index=False)
    (folder / "cli.toml").write_text(
        "[features.age]\nlower = 18\nupper = 90\n[features.work]\nlevels = ['farm', 'shop', 'state']\n"
        "[target]\nclasses = ['no', 'yes']\n",
        encoding="utf-8",
    )
    data, bounds = str(folder / "cli.csv"), str(folder / "cli.toml")

    def run(*lines):
        made = {}
        for place, line in enumerate(lines):
            done = CliRunner().invoke(program, [str(part) for part in line])
            made |= {f"err {place}": done.stderr, f"code {place}": done.exit_code}
            if line[0] != "fit" or "--ledger" not in line:  # a paid fit has no seed
                made[f"out {place}"] = done.stdout
        return made

    named = [[]]
    for group in (program, *(each for each in program.commands.values() if hasattr(each, "commands"))):
        named += [[*([] if group is program else [group.name]), name] for name in sorted(group.commands)]
    for words in named:
        yield f"help {' '.join(words)}", lambda words=words: run([*words, "--help"])
    base = ["--target", "label", "--bounds", bounds]
    model, ledger = folder / "cli.json", folder / "cli.ledger"
    fit = ["fit", data, *base, "--eps", "2", "--mechanism", "fm"]
    yield "command story", lambda: run(
        ["ledger", "init", ledger, "--eps", "5"], ["check", data, *base],
        ["plan", "--bounds", bounds, "--n-rows", "600", "--eps", "1"], [*fit, "--rng", "7", "-o", model],
        ["summary", model], ["predict", model, data], [*fit, "--ledger", ledger, "-o", folder / "paid.json"],
        ["ledger", "show", ledger], [*fit, "--ledger", ledger, "--eps", "9", "-o", folder / "other.json"],
        ["report", model, "-o", folder / "page.html"], ["bounds", "init", data, "--target", "label"],
    )  # fmt: skip
    for word, line in {
        "no file": ["fit", "none.csv", *base, "--eps", "1"],
        "no target": ["fit", data, "--bounds", bounds, "--eps", "1"],
        "eps": ["fit", data, *base, "--eps", "-1"],
        "mechanism": ["fit", data, *base, "--eps", "1", "--mechanism", "best"],
        "no bounds": ["fit", data, "--target", "label", "--eps", "1"],
        "broken bounds": ["fit", data, "--target", "label", "--bounds", data, "--eps", "1"],
        "no ledger": ["ledger", "show", folder / "none.ledger"],
        "no command": ["fits"],
    }.items():
        yield f"command refused, {word}", lambda line=line: run(line)


def cases(folder):
    """All of them."""
    os.environ["NO_COLOR"] = "1"
    for family in (fits, streams, refusals, results, commands):
        yield from family(folder)
