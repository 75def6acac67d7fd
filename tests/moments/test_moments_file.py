"""Files of moments: what comes back is what was saved, bit for bit, and nothing that breaks a rule comes back."""

import json

import numpy as np
import pandas as pd
import pytest

import dplr
from dplr.model_file.strict_json import digest

BOUNDS = dplr.Bounds({"a": (0, 1), "b": {"levels": ["x", "y"]}, "c": {"lower": 0, "upper": 9, "missing": "indicator"}})


def table(n=300, seed=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame({"a": rng.random(n), "b": rng.choice(["x", "y"], n), "c": rng.uniform(0, 9, n)})


def release(seed=0, **options):
    return dplr.release_moments(
        table(seed=seed), **({"bounds": BOUNDS, "eps": 1.0, "delta": 1e-6, "noise": "gaussian"} | options)
    )


RELEASES = {
    "gaussian": lambda: release(party="north"),
    "laplace": lambda: release(delta=0.0),
    "smaller": lambda: release(noise="smaller"),
    "add_remove": lambda: release(neighbouring="add_remove"),
    "a reference": lambda: release(neighbouring="add_remove", n_rows=1000),
    "no noise": lambda: release(eps=float("inf")),
    "merged": lambda: release(1) + release(2, eps=0.1) + release(3, delta=0.0, party="south"),
    "an array": lambda: dplr.release_moments(np.eye(5), bounds=dplr.Bounds([(0, 1)] * 5), eps=1.0),
    "bounds by position": lambda: dplr.release_moments(
        table()[["a", "c"]], bounds=dplr.Bounds([(0, 1), (0, 9)]), eps=1.0
    ),
}


@pytest.mark.parametrize("name", RELEASES)
def test_what_is_read_is_what_was_saved_bit_for_bit(name, tmp_path):
    released = RELEASES[name]()
    released.save(tmp_path / "m.json")
    read = dplr.load_model(tmp_path / "m.json")
    assert np.array_equal(read.matrix, released.matrix)
    assert np.array_equal(read.cell_variances, released.cell_variances)
    assert read.parties == released.parties
    assert str(read.privacy_) == str(released.privacy_)
    assert (read.columns, read.bounds, read.layout) == (released.columns, released.bounds, released.layout)
    read.save(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "m.json").read_bytes()


def test_only_a_file_of_moments_is_replaced(tmp_path):
    path = tmp_path / "m.json"
    path.write_text("precious")
    with pytest.raises(FileExistsError, match="must name a new file or a file of moments"):
        release().save(path)
    path.write_text("")
    release().save(path)
    release(1).save(path)
    assert isinstance(dplr.load_model(path), dplr.results.ReleasedMoments)


def forged(tmp_path, change, name="gaussian"):
    """The error of a file with a changed table of fields, and the hash that belongs to it."""
    RELEASES[name]().save(tmp_path / "m.json")
    whole = json.loads((tmp_path / "m.json").read_text())
    change(whole["moments"])
    whole["sha256"] = digest(whole["moments"])
    (tmp_path / "m.json").write_text(json.dumps(whole))
    with pytest.raises(dplr.model_file.ModelFileError) as caught:
        dplr.load_model(tmp_path / "m.json")
    text = str(caught.value)
    assert text.startswith(f"`{tmp_path / 'm.json'}`: `")
    assert "; got " in text
    return text


def scaled(factor, key="scale", block=0):
    def change(fields):
        fields["parties"][0]["statement"]["released"][block][key] *= factor

    return change


def put(value, *keys):
    def change(fields):
        for key in keys[:-1]:
            fields = fields[key]
        fields[keys[-1]] = value

    return change


STATEMENT = ("parties", 0, "statement")
FORGED = {
    "less noise": (scaled(0.5), "its units and grid"),
    "less sensitivity": (scaled(0.5, "sensitivity"), "the sensitivity"),
    "another weight": (scaled(2.0, "weight"), "the weights"),
    "fewer units": (
        lambda fields: fields["parties"][0]["statement"]["released"][0].update(units=5),
        "its units and grid",
    ),
    "a smaller eps": (put(0.5, *STATEMENT, "eps"), "the noise that its eps"),
    "a larger mu": (put(9.0, *STATEMENT, "guarantee", "mu"), "the noise that its eps"),
    "a smaller delta": (put(1e-12, *STATEMENT, "delta"), "the noise that its eps"),
    "another relation": (put("add_remove", *STATEMENT, "neighbouring"), "number of records"),
    "another mechanism": (put("fm", *STATEMENT, "mechanism"), "must be one of moments"),
    "another law": (put("discrete Laplace", *STATEMENT, "released", 0, "law"), "law"),
    "no rows": (put(None, "parties", 0, "n_rows"), "is required under replace_one"),
    "other rows": (put(301, "parties", 0, "n_rows"), "the number of records"),
    "another bound": (lambda fields: fields["bounds"]["columns"][0].update(upper=2.0), "must name the columns"),
    "another level": (lambda fields: fields["bounds"]["columns"][1]["levels"].append("z"), "must name the columns"),
    "no bounds": (put(None, "bounds"), "is required"),
    "a target": (put({"lower": 0.0, "upper": 1.0}, "bounds", "target"), "no target"),
    "other names": (put(["a", "b", "d"], "columns"), "must be the names in the bounds"),
    "a number off its grid": (lambda fields: fields["released"][0]["numbers"].__setitem__(0, 2.0**-60), "multiples"),
    "a number of its own": (lambda fields: fields["released"][0]["numbers"].__setitem__(0, 8.0), "must be the digest"),
    "a number too few": (lambda fields: fields["released"][0]["numbers"].pop(), "a list of"),
    "no block": (lambda fields: fields["released"].pop(), "must hold the blocks"),
    "not a number": (lambda fields: fields["released"][0]["numbers"].__setitem__(0, "x"), "must be a number"),
    "no party": (put([], "parties"), "1 to"),
    "one party twice": (lambda fields: fields["parties"].append(fields["parties"][0]), "must be different releases"),
    "another digest": (put("0" * 64, "parties", 0, "release"), "must be the digest"),
    "a new key": (put(1, "more"), "must have no key but"),
    "no key": (lambda fields: fields.pop("columns"), "is required"),
    "another spelling": (put(1, *STATEMENT, "released", 0, "scale"), "with a point"),
}


@pytest.mark.parametrize("which", FORGED)
def test_a_forged_file_is_refused_whatever_its_hash(which, tmp_path):
    change, said = FORGED[which]
    assert said in forged(tmp_path, change)


def test_merged_files_keep_the_rules_too(tmp_path):
    def exchanged(fields):
        fields["parties"][1]["statement"]["released"].reverse()

    assert "must be about the blocks" in forged(tmp_path, exchanged, "merged")
    assert "hexadecimal" in forged(tmp_path, put("zz", "parties", 1, "release"), "merged")
    twice = forged(tmp_path, lambda fields: fields["parties"].append(fields["parties"][1]), "merged")
    assert "different releases" in twice


def test_a_damaged_file_is_refused(tmp_path):
    path = tmp_path / "m.json"
    release().save(path)
    text = path.read_text()
    for broken, said in (
        (text[:-40], "complete JSON"),
        (text.replace("dplr moments", "dplr sums"), "`format` must be"),
        (text.replace('"version": 1', '"version": 2', 1), "newer dplr"),
        (text.replace('"columns": ["a"', '"columns": ["A"'), "`sha256` must be"),
    ):
        path.write_text(broken)
        with pytest.raises(dplr.model_file.ModelFileError, match=said):
            dplr.load_model(path)
