"""One of each result that a notebook shows, with names and paths that are HTML where they are the user's."""

import functools
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

import dplr
from dplr import planner

HOSTILE = "<script>alert('&')</script>"
AGE, WORK = f"age {HOSTILE}", f"work & {HOSTILE}"
LEVELS = ["<b>", "a & b", "c"]


@functools.cache
def people():
    """Rows: numbers and levels, and a target that they explain."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({AGE: rng.uniform(18, 99, 20_000), WORK: rng.choice(LEVELS, 20_000)})
    frame["pay"] = frame[AGE] + 20 * (frame[WORK] == "c") + rng.normal(0, 5, 20_000)
    return frame


@functools.cache
def bounds(**more):
    """Declared of these rows."""
    columns = {AGE: (18, 99), WORK: {"levels": LEVELS, "reference": "c", "missing": "indicator"}}
    return dplr.Bounds(columns, target=(0, 200), **more)


@functools.cache
def linear():
    """A linear model of these rows."""
    return dplr.fit(people(), "pay", model="linear", mechanism="fm", bounds=bounds(), eps=5.0, rng=0)


@functools.cache
def logistic():
    """A model of two classes with intervals."""
    rows = people().assign(pay=np.where(people()["pay"] > 70, "<i>", "&"))
    declared = dplr.Bounds(bounds().to_dict()["features"], target=("&", "<i>"))
    return dplr.fit(rows, "pay", mechanism="score", bounds=declared, eps=5.0, delta=1e-6, rng=0)


@functools.cache
def moments():
    """Noisy second moments of these rows."""
    return dplr.release_moments(people(), bounds=dplr.Bounds({**bounds().to_dict()["features"], "pay": (0, 200)}),
                                eps=5.0, rng=0)  # fmt: skip


@functools.cache
def ledger(composition="basic"):
    """A ledger from which twelve releases were paid, one was given back, and one share."""
    path = Path(tempfile.mkdtemp()) / "<b> & budget.ledger"
    opened = dplr.Ledger(path, eps=9.0, delta=1e-5, composition=composition, label=HOSTILE)
    opened.share("<i>ann</i>", eps=2.0)
    plan = dplr.plan(n_rows=1000, n_features=2, eps=0.25, mechanism="fm")
    for _ in range(12):
        opened.reserve(plan).commit()
    opened.reserve(plan).refund()
    return opened


def evaluation(**more):
    """How good a guess is."""
    score = people()["pay"].to_numpy() / 200
    return dplr.evaluate(score, None, people()["pay"].to_numpy() > 100, eps=1.0, rng=0, **more)


def numbers(**more):
    """How good a prediction of a number is."""
    pay = people()["pay"].to_numpy()
    return dplr.evaluate(pay + 5, None, pay, eps=1.0, target_bounds=(0, 200), rng=0, **more)


def classes():
    """How good a guess of one of three classes is."""
    labels = people()[WORK].to_numpy()
    return dplr.evaluate(np.eye(3)[np.searchsorted(sorted(LEVELS), labels)] * 0.8 + 0.0667, None, labels, eps=1.0,
                         classes=sorted(LEVELS), rng=0)  # fmt: skip


def pair():
    """Two guesses on the same rows, of which the release can hardly say anything."""
    pay = people()["pay"].to_numpy()
    return dplr.evaluate(pay + 9, None, pay, against=pay, eps=0.0005, target_bounds=(0, 200), rng=0)


def curves():
    """Effects of a number as a curve."""
    curved = dplr.Bounds({AGE: {"lower": 18, "upper": 99, "knots": 4}}, target=(0, 200))
    return dplr.fit(people(), "pay", model="linear", mechanism="fm", bounds=curved, eps=5.0, rng=0).effects()


def checked():
    """Data with faults and doubts."""
    rows = people()[[AGE, WORK]].assign(**{WORK: people()[WORK].replace("c", HOSTILE), AGE: people()[AGE] / 1000})
    return dplr.check(rows.assign(**{AGE: rows[AGE].where(rows.index > 3)}), bounds=bounds())


def learned():
    """Bounds and levels, and a column of which nothing can be said."""
    rare = [f"{HOSTILE} {place}" for place in range(len(people()))]
    return dplr.learn_bounds(people().assign(**{"<u>": rare}), target="pay", eps=1.0, delta=1e-6, rng=0)


def price():
    """A price that is too high."""
    return ledger().price(dplr.plan(n_rows=1000, n_features=2, eps=0.5, mechanism="fm"), fits=30)


def audited():
    """An audit, with broken copies."""
    return dplr.audit(eps=1.0, bounds=dplr.Bounds({AGE: (18, 99), WORK: {"levels": LEVELS}}), mechanism="fm", pairs=20,
                      runs=100, broken=True)  # fmt: skip


def widths():
    """Expected widths: of one coefficient, of one that some fits cannot say, and of one that most cannot."""
    inf = float("inf")
    coefs = planner.Width(AGE, 0.25, 0.2, 0.0), planner.Width(WORK, 5.0, 4.0, 0.25), planner.Width("<b>", inf, 3.0, 1.0)
    merged = (planner.Width("<b>, c", 9.0, 3.0, 0.0),)
    curve = result("Curve")
    point = replace(curve.points[0], eps=0.1, n_rows=2000, intervals=coefs, merged=merged)
    return replace(curve, points=(point,), assumptions=(f"levels of {WORK} are even", "rows are even"), fits=8)


# Names of public classes, and one of each; of some another one, which the words after "of" tell apart.
RESULTS = {
    "Answer": lambda: planner.Answer(quantity="eps", value=0.02, low=0.015, high=0.026, target=0.4, expected=0.36,
                                     standard_error=0.044, what="share", assumptions=(f"{HOSTILE} matters",)),
    "Audit": audited,
    "Bounds": lambda: bounds(person="<u>", products=((AGE, WORK),)),
    "ClassEvaluation": classes,
    "ColumnCurve": lambda: curves()[0],
    "ColumnStatistics": lambda: logistic().marginal_effects(),
    "Curve": lambda: planner.plan_curve(n_rows=[500], bounds=bounds(), model="linear", eps=[0.5, 1.0], delta=[0.0],
                                        mechanism="fm"),
    "Curves": curves,
    "DataCheck": checked,
    "LabelEvaluation": lambda: evaluation(in_sample=True),
    "LearnedBounds": learned,
    "LearnedColumn": lambda: learned().columns[1],
    "Ledger": ledger,
    "Measure": lambda: evaluation().measures["accuracy"],
    "MomentTable": lambda: moments().describe(),
    "NumberEvaluation": numbers,
    "PairEvaluation": pair,
    "Plan": lambda: dplr.plan(n_rows=50, bounds=bounds(), model="linear", eps=0.2),
    "Price": price,
    "PrivacyStatement": lambda: linear().privacy_,
    "ReleasedMoments": moments,
    "Summary": lambda: linear().summary(),
    "Answer of intervals": lambda: replace(result("Answer"), low=0.09, what=f"widths of {AGE} 0.2",
                                           curve=result("Curve of intervals")),
    "Curve of intervals at two points": lambda: replace(result("Curve of intervals"),
                                                        points=2 * result("Curve of intervals").points),
    "Curve of intervals": widths,
}  # fmt: skip


@functools.cache
def result(name):
    """One result, made once."""
    return RESULTS[name]()
