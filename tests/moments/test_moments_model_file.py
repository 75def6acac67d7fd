"""A model of moments has a file: the moments and the question, from which the same model is computed anew."""

import json

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import dplr
from dplr.cli import main
from dplr.model_file.strict_json import digest

BOUNDS = dplr.Bounds(
    {
        "age": (18, 90),
        "hours": (0, 80),
        "work": {"levels": ["a", "b", "c"]},
        "ill": {"levels": [False, True], "binary": True},
        "pay": {"lower": 0, "upper": 90, "bins": [30, 60]},
    },
    products=[("age", "age"), ("age", "hours")],
)


def table(n=3000):
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "age": rng.uniform(18, 90, n), "hours": rng.uniform(0, 80, n), "work": rng.choice(list("abc"), n),
            "ill": rng.random(n) < 0.3, "pay": rng.uniform(0, 90, n),
        }
    )  # fmt: skip


@pytest.fixture(scope="module")
def released():
    return dplr.release_moments(table(), bounds=BOUNDS, eps=5.0, delta=1e-6)


@pytest.mark.parametrize(
    "question",
    [
        lambda m: m.regress("hours"),
        lambda m: m.regress("hours", ["age", "work", ("age", "age")], l2=0.01),
        lambda m: m.probability("ill", ["age"]),
        lambda m: m.probability("ill", ["age"], level=False, variances="equal"),
        lambda m: m.probability("work", ["age", "hours"], level="b"),
        lambda m: m.probability("pay", ["age*hours"], level="[30, 60)"),
    ],
)
def test_a_model_reads_back_with_its_numbers_intervals_and_predictions(released, question, tmp_path):
    model = question(released)
    model.save(tmp_path / "m.json")
    back = dplr.load_model(tmp_path / "m.json")
    assert isinstance(back, dplr.results.MomentModel)
    assert back.named_coef_ == model.named_coef_
    assert (back.intercept_, back.target_name_, back.ridge_) == (model.intercept_, model.target_name_, model.ridge_)
    assert back.conf_int() == model.conf_int()
    assert back.privacy_ == model.privacy_
    np.testing.assert_array_equal(back.predict(table(50)), model.predict(table(50)))
    model.save(tmp_path / "m.json")  # a file of its own may be replaced
    released.save(tmp_path / "moments.json")
    with pytest.raises(FileExistsError):
        model.save(tmp_path / "moments.json")


def test_the_commands_take_it(released, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    model = released.regress("hours", ["age", "work"])
    model.save("m.json")
    table(20).to_csv("rows.csv", index=False)
    shown = CliRunner().invoke(main, ["summary", "m.json", "--full"])
    assert shown.exit_code == 0, shown.output
    assert model.summary().to_text() in shown.output
    done = CliRunner().invoke(main, ["predict", "m.json", "rows.csv", "-o", "out.csv"])
    assert done.exit_code == 0, done.output
    np.testing.assert_allclose(pd.read_csv("out.csv")["prediction"], model.predict(pd.read_csv("rows.csv")))
    released.save("moments.json")
    asked = ["moments", "fit", "moments.json", "--target", "ill", "--probability-of", "true", "--column", "age"]
    fitted = CliRunner().invoke(main, [*asked, "--variances", "equal", "--save", "ill.json"])
    assert fitted.exit_code == 0, fitted.output
    assert dplr.load_model("ill.json").conf_int() == released.probability("ill", ["age"], variances="equal").conf_int()
    assert CliRunner().invoke(main, [*asked, "--save", "ill.json"]).exit_code == 2
    assert CliRunner().invoke(main, ["predict", "m.json", "rows.csv", "--proba", "-o", "p.csv"]).exit_code == 2


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda m: m["recipe"].update(kind="fit"), "recipe.kind"),
        (lambda m: m["recipe"].update(target="wages"), "of a model of these moments"),
        (lambda m: m["recipe"].update(columns=["age", "hours"]), "of a model of these moments"),
        (lambda m: m["recipe"].update(columns=[["age"]]), "of a model of these moments"),
        (lambda m: m["recipe"].update(l2=-1), "of a model of these moments"),
        (lambda m: m["recipe"].update(level="b"), "written as dplr writes it"),
        (lambda m: m["recipe"].pop("l2"), "l2"),
        (lambda m: m["moments"]["parties"].clear(), "parties"),
        (lambda m: m["moments"]["parties"][0].update(release="0" * 64), "digest"),
    ],
)
def test_a_forged_file_is_refused(released, tmp_path, change, said):
    released.regress("hours", ["age"]).save(tmp_path / "m.json")
    whole = json.loads((tmp_path / "m.json").read_text())
    change(whole["model"])
    whole["sha256"] = digest(whole["model"])
    (tmp_path / "m.json").write_text(json.dumps(whole))
    with pytest.raises(dplr.model_file.ModelFileError, match=said):
        dplr.load_model(tmp_path / "m.json")
