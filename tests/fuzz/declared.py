"""Bounds files, model files and files of moments: refused in a sentence, or read to mean exactly what they say."""

import hashlib
import json
import pathlib
import warnings

import numpy as np
import pandas as pd
from tests.fuzz.laws import ACCEPTED, REFUSED, Finding, attempt, require

import dplr
import mutations


class Bounds:
    KNOWN = ()

    def __init__(self, folder):
        self.path = pathlib.Path(folder, "bounds.toml")
        self.texts = [(bounds, bounds.to_toml()) for bounds in mutations.BOUNDS]

    def attack(self, rng):
        original, text = rng.choice(self.texts)
        data = mutations.of_words(text, rng)[1] if rng.random() < 0.4 else mutations.of_bytes(text.encode(), rng)[1]
        self.path.write_bytes(data)
        return judged(*mutations.judge_bounds(self.path, original))


class Models:
    KNOWN = ()

    def __init__(self, folder):
        self.path, self.files = pathlib.Path(folder, "model.json"), []
        for est in mutations.models():
            dplr.save_model(est, self.path)
            self.files.append(self.path.read_bytes())
            self.path.unlink()
        self.trees = [json.loads(data)["model"] for data in self.files]

    def attack(self, rng):
        which = rng.randrange(len(self.trees))
        if rng.random() < 0.4:
            data = mutations.of_bytes(self.files[which], rng)[1]
        else:
            data = mutations.with_hash(mutations.of_values(self.trees[which], rng, self.trees)[1])
        self.path.write_bytes(data)
        return judged(*mutations.judge_model(self.path, data, self.trees[which], rng.randrange(2**31)))


class Moments:
    KNOWN = ()

    def __init__(self, folder):
        self.path, self.files = pathlib.Path(folder, "moments.json"), []
        rows = np.random.default_rng(0).uniform(0, 1, (50, 3))
        for seed, options in enumerate([{}, {"delta": 1e-6}, {"neighbouring": "add_remove", "party": "a"}]):
            with warnings.catch_warnings(action="ignore"):
                bounds = {"a": (0, 1), "b": (0, 2), "c": {"lower": 0, "upper": 1, "missing": "indicator"}}
                frame = pd.DataFrame(rows, columns=["a", "b", "c"])
                dplr.release_moments(frame, bounds=bounds, eps=1.0, rng=seed, **options).save(self.path)
            self.files.append(self.path.read_bytes())
            self.path.unlink()
        self.trees = [json.loads(data)["moments"] for data in self.files]

    def attack(self, rng):
        which = rng.randrange(len(self.files))
        if rng.random() < 0.4:
            data = mutations.of_bytes(self.files[which], rng)[1]
        else:
            data = hashed(self.files[which], mutations.of_values(self.trees[which], rng, self.trees)[1])
        self.path.write_bytes(data)
        outcome, moments = attempt(lambda: dplr.load_model(self.path))
        if outcome == REFUSED:
            return outcome
        again = self.path.with_suffix(".again")
        again.unlink(missing_ok=True)
        moments.save(again)
        require(
            json.loads(again.read_bytes())["moments"] == json.loads(data)["moments"],
            "saved again it says another thing",
        )
        with warnings.catch_warnings(action="ignore"):
            attempt(lambda: moments.regress(moments.columns[0]))
        return outcome


def hashed(data, tree):
    """A file of moments with these fields, and the hash that belongs to them."""
    text = json.dumps(tree, sort_keys=True, separators=(",", ":"))
    head = json.loads(data)
    return json.dumps(head | {"sha256": hashlib.sha256(text.encode()).hexdigest(), "moments": tree}).encode()


def judged(outcome, fault):
    """The outcome of a judge of mutations, or a Finding."""
    if fault:
        raise Finding(fault)
    return REFUSED if outcome == mutations.REFUSED else ACCEPTED
