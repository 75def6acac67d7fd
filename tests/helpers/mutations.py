"""Mutated model files and bounds files: each must be refused in a sentence, or mean exactly what it says.

``python tests/helpers/mutations.py 10000`` makes 10,000 of each and prints what became of them.
"""

from __future__ import annotations

import collections
import copy
import hashlib
import itertools
import json
import math
import pathlib
import random
import sys
import tempfile
import warnings

import numpy as np
import pandas as pd
from scipy.special import expit

import dplr

WRONG, REFUSED, SAME, OTHER = "WRONG", "refused", "the same model", "another model, read correctly"


# --- what is mutated


def table(n=400):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "age": rng.uniform(18, 99, n),
            "gain": rng.exponential(1000, n),
            "work": rng.choice(["none", "some", "other"], n),
            "school": rng.integers(0, 3, n),
        }
    )
    frame.loc[3, "gain"] = np.nan
    return frame


def weighted():
    """The same with ids of persons and weights."""
    frame = table()
    return frame.assign(id=np.arange(len(frame)) // 3, w=frame["age"] / 10)


NAMED = {
    "age": (18, 99),
    "gain": {"lower": 0, "upper": 99999, "transform": "log1p", "missing": "indicator"},
    "work": {"levels": ["none", "some", "full"], "missing": "none"},
    "school": {"levels": [0, 1, 2], "ordinal": True},
}
# The same columns with a reference, bins, another transform and products.
FURTHER = {
    "age": {"lower": 18, "upper": 99, "bins": [30, 45.5, 60], "reference": 20},
    "gain": {"lower": 1, "upper": 99999, "transform": "log", "missing": "indicator"},
    "work": {"levels": ["none", "some", "full"], "reference": "some", "missing": "none"},
    "school": (0, 2),
}
PRODUCTS = [("age", "gain"), ("school", "school"), ("work", "age"), ("gain", "school")]


def models():
    """Fitted estimators of every class, several mechanisms, with and without names, levels and a third class."""
    frame = table()
    X = frame[["age", "school"]].to_numpy() / 100
    y = frame["age"].to_numpy() > 50
    third = np.array(["a", "b", "c"])[np.digitize(frame["age"], [45, 70])]
    pairs = dplr.Bounds([(0, 1), (0, 0.02)])
    bounds = dplr.Bounds(NAMED, target=("no", "yes"))
    further = dplr.Bounds(FURTHER, target=("no", "yes"), products=PRODUCTS)
    abc = {"classes": ["a", "b", "c"], "bounds": pairs}
    of_persons = dplr.Bounds(NAMED, ("no", "yes"), person="id", rows_per_person=2, weight="w", weight_max=9.0)
    units = {"eps": 2.0, "mechanism": "fm", "bounds": of_persons}
    features = dplr.preprocessing.RandomFourierFeatures(2, bounds=dplr.Bounds(FURTHER, target=(0, 2)))
    descent = dplr.NoisyGradientDescent(steps=3)
    moments = dplr.FunctionalMechanism(noise="gaussian")
    with warnings.catch_warnings(action="ignore"):
        return [
            dplr.fit(X, y, eps=2.0, mechanism="fm", rng=1),
            dplr.fit(frame, np.where(y, "yes", "no"), eps=2.0, mechanism="fm", bounds=bounds, rng=2),
            dplr.fit(
                frame[["age", "school"]] / 100, X[:, 0], eps=2.0, delta=1e-6, mechanism=moments, model="linear", rng=3
            ),
            dplr.fit(X, y, eps=2.0, delta=1e-6, mechanism=descent, public=([0.1, 0.2], 0.3), bounds=pairs, rng=4),
            dplr.fit(X, y, eps=2.0, model="svm", mechanism="objective", fit_intercept=False, bounds=pairs, rng=5),
            dplr.fit(X, third, eps=2.0, mechanism="fm", rng=6, **abc),
            dplr.fit(X, third, eps=2.0, mechanism="output", neighbouring="add_remove", n_rows=400, rng=7, **abc),
            dplr.fit(X, third, eps=2.0, delta=1e-6, mechanism=descent, rng=8, **abc),
            dplr.fit(frame, np.where(y, "yes", "no"), eps=2.0, mechanism="fm", bounds=further, rng=9),
            dplr.fit(features.transform(frame), X[:, 0], eps=2.0, model="linear", mechanism="fm", rng=10),
            dplr.fit(weighted(), np.where(y, "yes", "no"), class_weight={"no": 1, "yes": 2.5}, rng=11, **units),
            dplr.fit(X, third, person=np.arange(len(X)) // 4, eps=2.0, mechanism="objective", rng=12, **abc),
            dplr.fit(X, y, eps=2.0, mechanism="fm", rng=13, holdout=0.25),
            dplr.fit(X, X[:, 0], eps=2.0, model="linear", rng=14, holdout=0.25, neighbouring="add_remove"),
            dplr.fit(X, third, eps=2.0, mechanism="objective", rng=15, holdout=0.25, **abc),
        ]


BOUNDS = [
    dplr.Bounds(NAMED, target={"classes": ["no", "yes"]}),
    dplr.Bounds(FURTHER, target={"classes": ["no", "yes"]}, products=PRODUCTS),
    dplr.Bounds([(0, 1), {"levels": ["a", "b"], "binary": True, "missing": "indicator"}], target=(0, 1)),
    dplr.Bounds(
        [{"levels": [3, 1, 2], "merge": {"low": [1, 2]}, "missing": "low", "least_share": 0.01}], target=(0, 1)
    ),
    dplr.Bounds({"a b": (-1e3, 1e-3), "c": {"levels": [1.5, 2.5, True]}}, target={"threshold": 50000}),
    dplr.Bounds({"x": (0, 1)}, target={"lower": 0.0, "upper": 1.0}),
    dplr.Bounds({"x": (0, 1)}, target=(0, 1), person="id", rows_per_person=3, weight="a b", weight_max=200.5),
]


# --- mutations

HOSTILE = [
    None, True, False, 0, 1, -1, 2, 3, 7, 0.0, -0.0, 0.5, 1.0, -1.0, 3.0, 1e308, -1e308, 5e-324, 2**53 + 1, 2**64,
    10**300, "inf", "nan", "", "\0", "\ud800", "fm", "ngd", "none", "Pure", "Gaussian", "str", "int8", "object", "auto",
    "linear", "replace_one", "add_remove", "LinearRegression", "HuberSVC", "x" * 10000, [], {}, [[]], [None], [1.0],
    ["a", "b"], [0, 1], [1, 0], ["a", 1], [0.0, 0.0], {"levels": []}, {"kind": "Pure", "eps": 1.0},
]  # fmt: skip
TOKENS = [
    b"1e400", b"-1e400", b"NaN", b"Infinity", b"1" * 5000, b"[" * 5000, b"{" * 50, b'"\\ud800"', b"\xff\xfe", b"\x00",
    b"\xef\xbb\xbf", b"null", b"true", b"1.", b".5", b"01", b"0x10", b"'", b'"', b"\\", b"]", b"}", b",", b"inf",
    b"nan", b"-nan", b"1979-05-27", b"[[", b"]]", b"=", b"#", b"\r\n", b"1_000", b'"""', b"9223372036854775808",
]  # fmt: skip


def of_bytes(data, rng, at=None):
    """Flip, cut, double, swap, insert or end early."""
    data = bytearray(data)
    i = rng.randrange(len(data)) if at is None else at
    j = min(len(data), i + rng.choice([1, 1, 2, 5, 20, 100]))
    kind = rng.choice(["flip", "cut", "double", "insert", "end", "swap", "digit"])
    if kind == "flip":
        data[i] ^= 1 << rng.randrange(8)
    elif kind == "cut":
        del data[i:j]
    elif kind == "double":
        data[i:i] = data[i:j]
    elif kind == "insert":
        data[i:i] = rng.choice(TOKENS)
    elif kind == "end":
        del data[i:]
    elif kind == "swap":
        k = rng.randrange(len(data))
        data[i], data[k] = data[k], data[i]
    else:
        data[i] = rng.choice(b"0123456789.-eE")
    return f"bytes: {kind}", bytes(data)


def places(value, path=()):
    """Every path of a tree of tables and lists."""
    yield path
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, entry in entries:
        yield from places(entry, (*path, key))


def of_values(model, rng, others):
    """One change of a tree: a key, an entry, a number, or a subtree of this or of another model."""
    model = copy.deepcopy(model)
    paths = [path for path in places(model) if path]
    deep = rng.choice(paths)  # mostly one of many numbers: as often one of the few fields near the root
    path = rng.choice([deep, rng.choice([path for path in paths if len(path) <= rng.choice([1, 2, 3, 4])])])
    parent = follow(model, path[:-1])
    key, value = path[-1], parent[path[-1]]
    kind = rng.choice(["drop", "add", "rename", "hostile", "number", "number", "swap", "double", "graft", "transplant"])
    if kind == "drop":
        del parent[key]
    elif kind == "add" and isinstance(parent, dict):
        parent[rng.choice(["", "x", "eps", "name", "rng", "\udc00"])] = rng.choice(HOSTILE)
    elif kind == "add" or kind == "double":
        entries = parent if isinstance(parent, list) else value if isinstance(value, list) else []
        entries[:0] = copy.deepcopy(entries[:1])
    elif kind == "rename" and isinstance(parent, dict):
        parent[rng.choice(["x", key.upper(), key + "_", *parent])] = parent.pop(key)
    elif kind == "number" and isinstance(value, (int, float)):
        changes = [2 * value, -value, value + 1, value / 3 if value else 1e-3, math.nextafter(value, math.inf)]
        changed = rng.choice([change for change in changes if math.isfinite(change)])
        parent[key] = int(changed) if isinstance(value, int) and rng.random() < 0.8 else changed
    elif kind == "swap":
        entries = parent if isinstance(parent, list) else value
        if isinstance(entries, list) and len(entries) > 1:
            i, j = rng.sample(range(len(entries)), 2)
            entries[i], entries[j] = entries[j], entries[i]
        elif isinstance(entries, dict):
            parent[key] = dict(rng.sample(list(entries.items()), len(entries)))
    elif kind == "graft":
        parent[key] = copy.deepcopy(follow(model, rng.choice(paths)))
    elif kind == "transplant":
        other = rng.choice(others)
        same = [place for place in places(other) if place and place[-1] == key and len(place) == len(path)]
        parent[key] = copy.deepcopy(follow(other, rng.choice(same))) if same else rng.choice(HOSTILE)
    else:
        kind, parent[key] = "hostile", rng.choice(HOSTILE)
    return f"values, right hash: {kind}", model


def follow(value, path):
    for key in path:
        value = value[key]
    return value


def with_hash(model):
    """The text of a model file with the hash that belongs to it, computed here anew."""
    text = json.dumps(model, sort_keys=True, separators=(",", ":"))
    sha256 = hashlib.sha256(text.encode()).hexdigest()
    return json.dumps({"format": "dplr model", "version": 1, "sha256": sha256, "model": model}).encode()


# --- a second reader of the numbers in a file


def evaluate(model, seed):
    """A table to predict, and margins and predictions computed from the plain values of a file alone."""
    rng = np.random.default_rng(seed)
    n, bounds = 40, model["bounds"]
    if bounds is None:
        rows = rng.uniform(-1, 1, (n, model["n_features"]))
        X = pd.DataFrame(rows, columns=model["feature_names"]) if model["feature_names"] else rows
    else:
        drawn = [_draw(column, n, rng) for column in bounds["columns"]]
        encoded = [_encode(column, values) for column, values in zip(bounds["columns"], drawn, strict=False)]
        rows = np.column_stack([*encoded, *_products(bounds, encoded)])
        names = model["column_names"] or model["feature_names"]
        X = pd.DataFrame(dict(enumerate(drawn)))
        X = X.set_axis(names, axis=1) if names else X.to_numpy(dtype=float)
    with np.errstate(all="ignore"):
        if bounds is None:
            rows = rows / np.maximum(1.0, np.linalg.norm(rows, axis=1, keepdims=True))
        margins = rows @ np.array(model["coef"]).T + np.array(model["intercept"])
        scale = np.abs(rows) @ np.abs(np.array(model["coef"])).T + np.abs(np.array(model["intercept"]))
    declared = bounds if "features" not in model else model["features"]["bounds"]
    if model["classes"] is None and declared is not None:
        target = declared["target"]
        margins = np.clip(margins, *(target if isinstance(target, list) else (target["lower"], target["upper"])))
    return X, margins, scale


def _draw(column, n, rng):
    if "levels" in column:
        values = [*column["levels"], "another" if isinstance(column["levels"][0], str) else -123.0]
        values += [None] if "missing" in column else []
        drawn = [values[k] for k in rng.integers(0, len(values), n)]
        return pd.Series(drawn, dtype=object if isinstance(values[0], str) else float)
    low, high = column["lower"], column["upper"]
    drawn = low + (high - low) * rng.uniform(-0.1, 1.1, n)
    if "missing" in column:
        drawn[rng.random(n) < 0.2] = np.nan
    return pd.Series(drawn)


def _encode(column, values):
    read = _levels if "levels" in column else _bins if "bins" in column else _number
    return np.array([read(column, v) for v in values.tolist()], dtype=float)


def _products(bounds, encoded):
    """The product of two columns, numbers less the middle of their ranges, levels one by one."""
    columns = bounds["columns"]
    for pair in bounds.get("products", []):
        named = "name" in columns[0]
        places = [[c["name"] for c in columns].index(each) if named else each for each in pair]
        first, second = (_factor(columns[place], encoded[place]) for place in places)
        yield (first[:, :, None] * second[:, None, :]).reshape(len(first), -1)


def _factor(column, encoded):
    if "bins" in column or ("levels" in column and not (column.get("ordinal") or column.get("binary"))):
        return encoded
    levels = column.get("levels")
    low, high = (0.0, len(levels) - 1.0) if levels else [_scale(column)(column[end]) for end in ("lower", "upper")]
    return np.clip(encoded[:, :1], low, high) - (low / 2 + high / 2)


def _bins(column, value):
    missing, gone = column.get("missing"), _is_missing(value)
    if gone and missing != "indicator":
        value, gone = missing, False
    ends = [-math.inf, *column["bins"], math.inf]
    row = [] if value is None else [
        float(not gone and low <= value < high) for low, high in itertools.pairwise(ends)
        if not ("reference" in column and low <= column["reference"] < high)
    ]  # fmt: skip
    return row + ([float(gone)] if missing == "indicator" else [])


def _is_missing(value):
    return value is None or (isinstance(value, float) and math.isnan(value))


def _levels(column, value):
    levels, missing = column["levels"], column.get("missing")
    gone = _is_missing(value)
    if gone and missing != "indicator":
        value, gone = missing, False
    place = None if gone else next((k for k, level in enumerate(levels) if level == value), None)
    if column.get("ordinal") or column.get("binary"):
        row = [(len(levels) - 1) / 2 if place is None else float(place)]
    else:
        row = [float(k == place) for k in range(len(levels)) if levels[k] != column.get("reference")]
    return row + ([float(gone)] if missing == "indicator" else [])


def _number(column, value):
    scale, low, high, missing = _scale(column), column["lower"], column["upper"], column.get("missing")
    gone = _is_missing(value)
    if gone and missing == "indicator":
        ends = [scale(low), scale(high)]
        return [ends[0] / 2 + ends[1] / 2, 1.0]
    value = missing if gone else value
    ends = sorted((scale(low), scale(high)))
    if scale is not float:
        value = scale(max(value, low))
    value = min(max(value, ends[0]), ends[1])
    return [value, 0.0] if missing == "indicator" else [value]


def _scale(column):
    functions = {"clip": float, "log1p": math.log1p, "log": math.log, "sqrt": math.sqrt}
    return functions[column.get("transform", "clip")]


def check_model(model, est, seed):
    """Raise AssertionError unless the estimator predicts what the file says."""
    X, margins, scale = evaluate(model, seed)
    with warnings.catch_warnings(action="ignore"):
        predicted = est.predict(X)
    fine = np.isfinite(scale).all(axis=1)
    tolerance = 1e-9 * scale.max(axis=1)
    if est.privacy_.mechanism == "fm":
        _refit(est)
    assert len(str(est.privacy_)) > 100
    if model["classes"] is None:
        assert np.abs(predicted - margins[:, 0])[fine].max(initial=0.0, where=True) <= tolerance[fine].max(initial=0.0)
        return
    labels = model["classes"]["labels"]
    if margins.shape[1] == 1:
        best, clear = (margins[:, 0] > 0).astype(int), np.abs(margins[:, 0]) > tolerance
    else:
        two = np.sort(margins, axis=1)[:, -2:]
        best, clear = margins.argmax(axis=1), two[:, 1] - two[:, 0] > 2 * tolerance
    clear &= fine
    assert predicted[clear].tolist() == [labels[k] for k in best[clear]]
    if model["estimator"] == "LogisticRegression" and margins.shape[1] == 1:
        with warnings.catch_warnings(action="ignore"):
            wanted = expit(_log_odds(margins[clear, 0], model.get("link")))
            np.testing.assert_allclose(est.predict_proba(X)[clear, 1], wanted, atol=1e-6)


def _log_odds(margins, link):
    """A link by its file: a share of the quotient of slopes at both margins."""
    if link is None:
        return margins
    slopes = []
    for v in (margins, -margins):
        slope = expit(-np.maximum(v, link["turn"]))
        slopes.append(np.log(slope) + np.log1p(-link["bend"] * np.exp(np.minimum(v - link["turn"], 0))))
    return (1 - link["share"]) * margins + link["share"] * (slopes[1] - slopes[0])


def _refit(est):
    """Another model from mutated numbers may be refused, in words, or be any model: it must not break anything."""
    with warnings.catch_warnings(action="ignore"):
        try:
            est.refit()
        except ValueError:
            return


# --- the campaigns


def mutate_models(count, seed=0):
    """Counter of (kind, outcome), and a list of what went wrong."""
    rng, counts, faults = random.Random(seed), collections.Counter(), []
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "model.json")
        originals = []
        for est in models():
            dplr.save_model(est, path)
            originals.append(path.read_bytes())
            path.unlink()
        trees = [json.loads(data)["model"] for data in originals]
        for number in range(count):
            which = rng.randrange(len(trees))
            if rng.random() < 0.4:
                kind, data = of_bytes(originals[which], rng)
            else:
                kind, tree = of_values(trees[which], rng, trees)
                if rng.random() < 0.3:
                    kind, tree = "values, right hash: two changes", of_values(tree, rng, trees)[1]
                data = with_hash(tree)
            path.write_bytes(data)
            outcome, fault = judge_model(path, data, trees[which], number)
            counts[kind, outcome] += 1
            faults += [(kind, data, fault)] if fault else []
    return counts, faults


def judge_model(path, data, original, seed):
    try:
        est = dplr.load_model(path)
    except dplr.model_file.ModelFileError as error:
        text = str(error)
        fine = text.startswith(f"`{path}`: `") and "; got " in text and text.endswith((".", "dplr: upgrade."))
        return (REFUSED, None) if fine and len(text) < 2000 else (WRONG, f"message: {text[:500]}")
    except BaseException as error:
        return WRONG, f"{type(error).__name__}: {error}"
    model = json.loads(data)["model"]
    try:
        check_model(model, est, seed)
    except Exception as error:
        return WRONG, f"{type(error).__name__}: {error}"
    return (SAME if model == original else OTHER), None


def mutate_bounds(count, seed=0):
    """Counter of (kind, outcome), and a list of what went wrong."""
    rng, counts, faults = random.Random(seed), collections.Counter(), []
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "bounds.toml")
        for _ in range(count):
            original = rng.choice(BOUNDS)
            kind, data = of_bytes(original.to_toml().encode(), rng)
            if rng.random() < 0.4:
                kind, data = of_words(original.to_toml(), rng)
            path.write_bytes(data)
            outcome, fault = judge_bounds(path, original)
            counts[kind, outcome] += 1
            faults += [(kind, data, fault)] if fault else []
    return counts, faults


def of_words(text, rng):
    """One value or key becomes another value or key."""
    words = text.replace("\n", " \n ").split(" ")
    places_ = [k for k, word in enumerate(words) if word.strip()]
    k = rng.choice(places_)
    others = [word for word in words if word.strip()] + [token.decode("latin-1") for token in TOKENS]
    words[k] = rng.choice([*others, "-0.0", "1e308", "-1e308", "[1, 2]", '["a", "a"]', "{}", "true", '"indicator"'])
    return "words", " ".join(words).encode("utf-8", "surrogatepass")


def judge_bounds(path, original):
    try:
        bounds = dplr.Bounds.from_toml(path)
    except (ValueError, TypeError) as error:
        text = str(error)
        fine = f"`{path}`" in text and "; got " in text
        return (
            (REFUSED, None) if fine and len(text) < 2000 else (WRONG, f"message: {type(error).__name__} {text[:500]}")
        )
    except BaseException as error:
        return WRONG, f"{type(error).__name__}: {error}"
    try:
        path.write_text(bounds.to_toml(), encoding="utf-8")
        again = dplr.Bounds.from_toml(path)
        assert (again, again.to_dict()) == (bounds, bounds.to_dict()), "another value on the way back"
        check_bounds(bounds)
    except Exception as error:
        return WRONG, f"accepted, then {type(error).__name__}: {error}"
    return (SAME if bounds == original else OTHER), None


def check_bounds(bounds):
    """The rules of bounds, written here a second time."""
    values = bounds.to_dict()
    columns = values["features"]
    for column in columns.values() if isinstance(columns, dict) else columns:
        if "levels" in column:
            levels, missing = column["levels"], column.get("missing")
            assert 2 <= len(levels) <= 4096
            assert len(set(levels)) == len(levels)
            assert len({isinstance(level, str) for level in levels}) == 1
            assert not (column.get("binary") and len(levels) != 2)
            assert column.get("binary", column.get("ordinal")) != 0
            merged = [value for values in column.get("merge", {}).values() for value in values]
            assert len(set(merged)) == len(merged)
            assert set(merged) <= set(levels)
            named = {*levels, *column.get("merge", ())}
            assert missing is None or missing == "indicator" or missing in named
            assert "reference" not in column or column["reference"] in named
            assert "reference" not in column or not (column.get("binary") or column.get("ordinal"))
            assert all(isinstance(level, str) or math.isfinite(level) for level in levels)
            assert all(abs(level) <= 2**53 for level in levels if isinstance(level, int))
        else:
            low, high, missing = column["lower"], column["upper"], column.get("missing")
            assert -math.inf < low < high < math.inf
            assert math.isfinite(high - low)
            transform = column.get("transform", "clip")
            assert transform in ("clip", "log1p", "log", "sqrt")
            assert transform == "clip" or low > {"log1p": -1, "log": 0, "sqrt": -5e-324}[transform]
            assert missing is None or missing == "indicator" or low <= missing <= high
            edges = [low, *column.get("bins", ()), high]
            assert all(one < next_ for one, next_ in itertools.pairwise(edges))
            assert "bins" not in column or (len(edges) > 2 and transform == "clip")
            assert "reference" not in column or ("bins" in column and low <= column["reference"] <= high)
    _check_products(values)
    target = values.get("target")
    if isinstance(target, list):
        assert len(target) == 2, target
        assert all(isinstance(each, (str, bool, int, float)) for each in target), target
        assert all(isinstance(each, str) or math.isfinite(each) for each in target), target
        assert len(set(target)) == 2, target


def _check_products(values):
    features, products = values["features"], values.get("products")
    assert products is None or products
    seen = set()
    for first, second in products or ():
        column = features[first]
        assert features[second]
        assert frozenset((first, second)) not in seen
        seen.add(frozenset((first, second)))
        if first == second:
            assert "bins" not in column
            assert "levels" not in column or (column.get("ordinal") and len(column["levels"]) > 2)


def report(title, counts, faults):
    """A table: kind, number, outcome."""
    print(f"{title}: {sum(counts.values())}")
    for (kind, outcome), number in sorted(counts.items()):
        print(f"  {kind:36} {number:6}  {outcome}")
    for kind, data, fault in faults[:20]:
        print(f"  WRONG {kind}: {fault[:600]}\n        {data[:300]!r}")


if __name__ == "__main__":
    asked = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    found = []
    for title, campaign in (("model files", mutate_models), ("bounds files", mutate_bounds)):
        counts, faults = campaign(asked)
        report(title, counts, faults)
        found += faults
    sys.exit(bool(found))
