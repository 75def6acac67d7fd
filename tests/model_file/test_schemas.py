"""The JSON Schemas of files: what dplr writes keeps them, and they refuse nothing that dplr reads.

What dplr refuses they refuse too, except what no schema can say: `BEYOND` names each such rule with the reason.
"""

import copy
import functools
import json
import pathlib
import random
import re
import tomllib

import numpy as np
import pandas as pd
import pytest

import dplr
import mutations
from dplr.model_file.file import encode_model
from dplr.model_file.strict_json import digest
from dplr.moments.file import text_of

jsonschema = pytest.importorskip("jsonschema")
referencing = pytest.importorskip("referencing")

ROOT = pathlib.Path(__file__).parents[2]
SCHEMAS = {path.name: json.loads(path.read_text()) for path in (ROOT / "docs/reference/schemas").glob("*.json")}
ADDRESS = (
    tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["urls"]["Documentation"] + "reference/schemas/"
)

_NUMBERS = "1 and 1.0 are one value to a schema"
_OTHERS = "it compares one field with another"
_TEXT = "a schema knows no encodings and no other texts"
# Where an error of the reader lies, the rule that it names, and why no schema has it.
BEYOND = [
    (r".*", r"must be a number with a point or an exponent", _NUMBERS),
    (r".*", r"must be (an integer from|a positive integer)", _NUMBERS),
    (r".*", r"must be (a list of )?text that UTF-8 can write", _TEXT),
    (r"model", r"must be written as dplr writes it", "it compares the text with the one that dplr writes"),
    (r"file", r".*", "it is about the text, not about its values"),
    (r"sha256", r"must be that of the", "it is a hash of the values"),
    (r"model\.parameters\.mechanism", r"must have options that its mechanism takes", "it is a matter of the mechanism"),
    (r"model\.bounds|model\.features\.bounds", r"must keep the rules of bounds", _OTHERS),
    (r"model\.(features\.)?bounds\.(columns|target).*", r"must be a label", "files of bounds take larger numbers too"),
    (r"model\.(features\.)?bounds\.columns", r"must (have names for all columns|name every column once)", _OTHERS),
    (r"model\.bounds", r"must be null beside features|must take at most", _OTHERS),
    (r"model(\.features\.names|\.bounds\.[\w.\[\]]*|\.classes\.labels)?", r"must take at most \d+ characters", _OTHERS),
    (r"model\.classes\.labels", r"must be (different labels of type|the declared ones|sorted where)", _OTHERS),
    (r"model\.(coef|intercept|start|released|history|ranges)(\[\d+\]|\.\w+)*", r"must be (a list of|\d+ )", _OTHERS),
    (r"model\.(released|ranges)(\[\d+\]|\.\w+)*", r"must (hold the blocks|be multiples of the grid)", _OTHERS),
    (r"model\.(ranges|history|classes|statement_of_one)", r"must be given (where|for)", _OTHERS),
    (r"model\.parameters\.loss", r"must be a loss that its slopes at knots make", "it is a matter of the loss"),
    (r"model\.parameters\.(neighbouring|delta|eps)", r"must be that of the statement", _OTHERS),
    (r"model\.parameters\.ranges", r"must fit what the statement is about", _OTHERS),
    (r"model\.n_rows", r"is required under replace_one|must be the declared one", _OTHERS),
    (r"model\.(feature_names|column_names|coef_names|features\.names)", r"must be", _OTHERS),
    (r"model\.features\.(width|frequencies)", r"must be (that of the bounds|those of the seed)", _OTHERS),
    (r"model\.n_features", r"must be two for each", _OTHERS),
    (r"model\.half_width", r"must be that of the bounds", _OTHERS),
    (r"model\.start", r"must be null", _OTHERS),
    (r"model\.link(\.\w+)?", r"must be (0 or that of a soft cut|below 1|absent|that of the mechanism)", _OTHERS),
    (r"model\.intercept", r"must be 0 without an intercept", _OTHERS),
    (r"model\.weight_column", r"must (be that of the bounds|stand beside weights)", _OTHERS),
    (r"model\.statement\.assumptions", r"must (name|say|count)", _OTHERS),
    (r"model\.(evaluation\.)?statement(_of_one)?", r"must be (given|of the same release)", _OTHERS),
    (r"model\.statement\.mechanism", r"must be that of the parameters", _OTHERS),
    (r"model\.(evaluation\.)?statement(_of_one)?\.guarantee", r"must (be (that of|Pure with)|name a delta)", _OTHERS),
    (
        r"model\.(evaluation\.)?statement(_of_one)?\.(arithmetic|eps|delta)",
        r"must be .*(with this mechanism|without privacy)",
        _OTHERS,
    ),
    (r"model\.(evaluation\.)?statement(_of_one)?\.released", r"must (be about|be those of|have)", _OTHERS),
    (r"model\.(evaluation\.)?statement(_of_one)?\.released\[\d+\]\.block", r"must name every block once", _OTHERS),
    (
        r"model\.(evaluation\.)?statement(_of_one)?\.released\[\d+\]\.law",
        r"must be .* with this mechanism, eps and delta",
        _OTHERS,
    ),
    (
        r"model\.(evaluation\.)?statement(_of_one)?\.released\[\d+\]\.(scale|units|spread)",
        r"must be (that of|positive exactly|at most)",
        _OTHERS,
    ),
    (
        r"model\.(evaluation\.)?statement(_of_one)?\.released\[\d+\]\.grid",
        r"must be a power of two",
        "a schema has no powers",
    ),
    (r"model\.(evaluation\.)?statement(_of_one)?\.unit(\.class_weights)?", r"must (be|not)", _OTHERS),
    (r"model\.evaluation\.grid(\.edges)?", r"must (rise|be of answers)", _OTHERS),
    (r"model\.evaluation\.n_rows", r"is required under", _OTHERS),
    (r"model\.evaluation\.released(\[\d+\]|\.\w+)*", r"must (hold the blocks|be )", _OTHERS),
    (r"model\.evaluation\.statement", r"must be of the release", _OTHERS),
    (r"model", r"must hold public facts that fit each other", _OTHERS),
]


@functools.cache
def validator(name):
    resources = [(each["$id"], referencing.Resource.from_contents(each)) for each in SCHEMAS.values()]
    registry = referencing.Registry().with_resources(resources)
    return jsonschema.Draft202012Validator(SCHEMAS[name], registry=registry)


def fault(name, value):
    """What the schema says of a value, in a line; empty where it is valid."""
    return next((f"{each.json_path}: {each.message[:200]}" for each in validator(name).iter_errors(value)), "")


def refusal(read, path):
    """What the reader says of a file, empty where it reads it."""
    try:
        read(path)
    except (ValueError, TypeError) as error:  # a ModelFileError is one
        return str(error)
    return ""


@functools.cache
def models():
    return [json.loads(encode_model(est)) for est in mutations.models()]


@pytest.mark.parametrize("name", sorted(SCHEMAS))
def test_a_schema_is_one_and_has_its_public_address(name):
    jsonschema.Draft202012Validator.check_schema(SCHEMAS[name])
    assert SCHEMAS[name]["$id"] == ADDRESS + name


def test_model_files_keep_their_schema():
    assert [fault("model-file.schema.json", model) for model in models()] == [""] * len(models())
    for path in (ROOT / "docs" / "examples").glob("*.model.json"):
        assert fault("model-file.schema.json", json.loads(path.read_text())) == ""


def test_the_schema_takes_a_statement_that_does_not_cover_everything_as_the_reader_does(tmp_path):
    for facts, are_taken in ((["a step learned"], True), ([], False), ("a step learned", False)):
        tree = json.loads(json.dumps(models()[0]["model"]))
        for name in ("statement", "statement_of_one"):
            if tree[name] is not None:
                tree[name]["uncovered"] = facts
        data = mutations.with_hash(tree)
        (tmp_path / "model.json").write_bytes(data)
        assert (fault("model-file.schema.json", json.loads(data)) == "") is are_taken
        assert (refusal(dplr.load_model, tmp_path / "model.json") == "") is are_taken


def mutated_models(count):
    """Model files with one or two changes, the hash that belongs to them, and the reader's error; None for none."""
    rng, trees = random.Random(7), [model["model"] for model in models()]
    for _ in range(count):
        _, tree = mutations.of_values(rng.choice(trees), rng, trees)
        yield tree


def is_beyond(where, rule):
    return any(re.fullmatch(place, where) and re.match(words, rule) for place, words, _ in BEYOND)


def test_a_mutated_model_file_is_judged_as_the_reader_does_or_its_rule_is_beyond_a_schema(tmp_path):
    path, refused, known = tmp_path / "model.json", 0, 0
    for tree in mutated_models(1500):
        data = mutations.with_hash(tree)
        path.write_bytes(data)
        said = fault("model-file.schema.json", json.loads(data))
        error = refusal(dplr.load_model, path)
        if error:
            where, rule = re.match(r"`.*?`: `(.*?)` (.*)", error, re.DOTALL).groups()
            assert said or is_beyond(where, rule), (where, rule[:300])
            refused, known = refused + 1, known + bool(said)
        else:
            assert said == "", said
    assert known > 0.3 * refused > 200


# --- released moments


def releases():
    """Files of released moments: of one party, without noise, and of two parties that were merged."""
    frame = mutations.table().fillna(0.0).replace({"work": {"other": "full"}})
    bounds = dplr.Bounds(mutations.NAMED)
    one, other, plain = (
        dplr.release_moments(frame, bounds=bounds, eps=eps, party=party)
        for eps, party in ((1.0, "north"), (2.0, None), (float("inf"), None))
    )
    return [json.loads(text_of(each)) for each in (one, plain, one + other)]


def test_files_of_moments_keep_their_schema_and_it_sees_what_is_not_one():
    for whole in releases():
        assert fault("moments-file.schema.json", whole) == ""
        for change in (
            lambda held: held["moments"].update(bounds=None),
            lambda held: held["moments"]["bounds"].update(target=[0, 1]),
            lambda held: held["moments"]["parties"].clear(),
            lambda held: held["moments"]["parties"][0].update(release="0"),
            lambda held: held["moments"]["parties"][0]["statement"].update(mechanism="fm"),
            lambda held: held["moments"]["released"][0].update(numbers="many"),
            lambda held: held["moments"].pop("columns"),
            lambda held: held.update(format="dplr model"),
        ):
            changed = copy.deepcopy(whole)
            change(changed)
            assert fault("moments-file.schema.json", changed) != ""


def test_a_mutated_file_of_moments_that_the_schema_refuses_is_refused(tmp_path):
    path, rng, trees, refused = tmp_path / "m.json", random.Random(3), [each["moments"] for each in releases()], 0
    for _ in range(300):
        _, tree = mutations.of_values(rng.choice(trees), rng, trees)
        whole = {"format": "dplr moments", "version": 1, "sha256": digest(tree), "moments": tree}
        path.write_text(json.dumps(whole))
        if fault("moments-file.schema.json", whole):
            refused += 1
            with pytest.raises(dplr.model_file.ModelFileError):
                dplr.load_model(path)
    assert refused > 60


# --- models of released moments


def moment_models(path):
    """Files of models of moments: of numbers and of levels, with products, ridges and variances of all kinds."""
    rng, n = np.random.default_rng(0), 400
    frame = pd.DataFrame({"a": rng.uniform(0, 9, n), "b": rng.choice([*"xyz"], n), "c": rng.random(n) < 0.5})
    frame["d"] = rng.uniform(0, 90, n)
    columns = {"a": (0, 9), "b": {"levels": [*"xyz"]}, "c": {"levels": [False, True], "binary": True}}
    bounds = dplr.Bounds(columns | {"d": {"lower": 0, "upper": 90, "bins": [30, 60]}}, products=[("a", "a")])
    released = dplr.release_moments(frame, bounds=bounds, eps=5.0, delta=1e-6, noise="gaussian")
    models = [
        released.regress("a"),
        released.regress("a", ["b", "c"], l2=0.5, variances="equal"),
        released.probability("b", ["a", ("a", "a")], level="y", l2="cv"),
        released.probability("c", ["a*a"], level=False, l2=0),
        released.probability("d", ["c"], level="[30, 60)", variances="largest"),
    ]
    for model in models:
        model.save(path)
        yield json.loads(path.read_text())


def test_models_of_moments_keep_their_schema_and_it_sees_what_is_not_one(tmp_path):
    wholes = list(moment_models(tmp_path / "m.json"))
    assert [fault("moment-model-file.schema.json", whole) for whole in wholes] == [""] * 5
    for whole in wholes:
        for change in (
            lambda held: held["model"]["recipe"].update(kind="fit"),
            lambda held: held["model"]["recipe"].update(columns=[]),
            lambda held: held["model"]["recipe"].update(columns=[["a"]]),
            lambda held: held["model"]["recipe"].update(l2=-1.0),
            lambda held: held["model"]["recipe"].update(variances="unequal"),
            lambda held: held["model"]["recipe"].pop("level"),
            lambda held: held["model"]["moments"].pop("released"),
            lambda held: held.update(format="dplr moments"),
        ):
            changed = copy.deepcopy(whole)
            change(changed)
            assert fault("moment-model-file.schema.json", changed) != ""


def test_a_mutated_model_of_moments_that_the_schema_refuses_is_refused(tmp_path):
    path, rng, refused = tmp_path / "m.json", random.Random(5), 0
    trees = [each["model"] for each in moment_models(path)]
    for _ in range(300):
        _, tree = mutations.of_values(rng.choice(trees), rng, trees)
        whole = {"format": "dplr moment model", "version": 1, "sha256": digest(tree), "model": tree}
        path.write_text(json.dumps(whole))
        if fault("moment-model-file.schema.json", whole):
            refused += 1
            with pytest.raises(dplr.model_file.ModelFileError):
                dplr.load_model(path)
    assert refused > 60


# --- bounds files

# Words that no change of one place can judge alone, and the reason why a schema accepts them.
BEYOND_BOUNDS = {
    r"must be above lower|must increase, inside lower": _OTHERS,
    r"must be a number in \[|must be one of the levels": _OTHERS,
    r"must name columns of the bounds": _OTHERS,
    r"`rows_per_person` must be an integer": _NUMBERS,
    r"must list declared levels|must not list a level of|must not give a name that|must leave at least 2": _OTHERS,
    r"must list neighbours with|must list two values with|`least_share` must be above 0 and at most": _OTHERS,
    r"must be (positive and )?finite": "JSON has no inf and no nan, and TOML has both",
    r"must list every product once": _OTHERS,
    r"must list every value once": "true, 1 and 1.0 are one level, and a schema tells true from 1",
    r"must hold integers of at most 2\^53": "1e300 is a whole number to a schema, and a level that dplr takes",
}


def mutated_bounds(count, path):
    """Bounds files with a change of a word or of bytes, and the values of those that are TOML."""
    rng = random.Random(11)
    for number in range(count):
        text = rng.choice(mutations.BOUNDS).to_toml()
        _, data = mutations.of_words(text, rng) if number % 3 else mutations.of_bytes(text.encode(), rng)
        path.write_bytes(data)
        try:
            yield tomllib.loads(data.decode())
        except (ValueError, RecursionError):
            continue


def test_bounds_files_keep_their_schema(tmp_path):
    files = [*(ROOT / "docs" / "examples").glob("*.toml")]
    texts = [each.to_toml() for each in mutations.BOUNDS] + [file.read_text() for file in files]
    assert files
    plain = [json.loads(json.dumps(each.to_dict())) for each in mutations.BOUNDS]
    assert [fault("bounds-file.schema.json", values) for values in plain] == [""] * len(plain)
    assert [fault("bounds-file.schema.json", tomllib.loads(text)) for text in texts] == [""] * len(texts)


def test_a_mutated_bounds_file_is_judged_as_the_reader_does_or_its_rule_is_beyond_a_schema(tmp_path):
    path, refused, known = tmp_path / "bounds.toml", 0, 0
    for values in mutated_bounds(4000, path):
        said = fault("bounds-file.schema.json", values)
        error = refusal(dplr.Bounds.from_toml, path)
        if error:
            assert said or any(re.search(rule, error) for rule in BEYOND_BOUNDS), error
            refused, known = refused + 1, known + bool(said)
        else:
            assert said == "", said
    assert known > 0.3 * refused > 100
