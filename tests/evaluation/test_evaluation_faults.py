"""Rows, answers and declarations that must not move a release, or a reading of it, by more than was promised."""

import numpy as np
import pandas as pd
import pytest

import dplr
from dplr.rows.files.part import Part
from dplr.rows.streams.parts import LocalParts

ROWS = 300
APART, TOGETHER = np.arange(ROWS), np.zeros(ROWS, int)  # an id for each row; and all rows of one person


def stream(first, then):
    """A query that gives other rows when it is read for the second time."""
    tables = [pd.DataFrame({"who": ids, "x": 0.5, "y": np.arange(len(ids)) % 2}) for ids in (first, then)]
    readings = iter(tables)

    def read(columns):
        table = next(readings)
        yield table if columns is None else table[list(columns)]

    return dplr.Stream(LocalParts([Part(read, "a query")], tables[0][:0]))


def score(rows):
    return np.asarray(rows)[:, 0]


def test_streamed_rows_that_change_after_they_were_counted_are_refused_before_noise_is_drawn(tmp_path):
    ledger = dplr.Ledger(tmp_path / "budget.db", eps=5.0, unit="who")
    options = {"eps": 1.0, "ledger": ledger, "person": "who"}
    with pytest.raises(RuntimeError, match="a person has more than were counted"):
        dplr.evaluate(score, stream(APART, TOGETHER), "y", **options)
    with pytest.raises(ValueError, match="600 rows instead of 300"):
        dplr.evaluate(score, stream(APART, np.repeat(APART, 2)), "y", **options)
    assert [entry.state for entry in ledger.entries()] == ["refunded"] * 2


def test_a_stream_of_rows_that_grows_is_refused():
    rows = stream(APART, np.repeat(APART, 2))
    with pytest.raises(ValueError, match="600 rows instead of 300"):
        dplr.evaluate(lambda rows: np.asarray(rows)[:, 1], rows, "y", eps=1.0)


@pytest.mark.parametrize("other", ["a", None, [1, 2], 10**400], ids=["text", "nothing", "a list", "beyond floats"])
def test_one_answer_of_another_type_moves_no_other_row(other):
    """It is the one row that is refused: the others are read as before."""
    y = [0, 1] * 50
    for answers, options in (([0, 1] * 50, {"decisions": True}), ([0.2, 0.8] * 50, {})):
        answers[3] = other
        with pytest.raises(ValueError, match="1 rows without one"):
            dplr.evaluate(answers, None, y, eps=1000.0, classes=(0, 1), **options)


def test_bounds_whose_difference_is_no_number_are_refused():
    with pytest.raises(ValueError, match="difference"):
        dplr.evaluate(np.zeros(9), None, np.zeros(9), eps=1.0, target_bounds=(-1.2e308, 1.2e308))


class Decided:
    def __init__(self, classes):
        self.classes_ = np.array(list(classes))

    def predict(self, rows):
        return np.array(["b"] * len(rows))


def test_two_models_of_other_labels_are_refused():
    """The first label of one would count as the first of the other."""
    X, y = np.zeros((9, 1)), np.array(["b"] * 9)
    with pytest.raises(ValueError, match="`against` must decide among the labels of model"):
        dplr.evaluate(Decided("ab"), X, y, against=Decided("bc"), eps=1.0)


@pytest.mark.parametrize(("name", "options"), [
    ("against", {"against": np.zeros(8)}), ("thresholds", {"against": np.zeros(9), "thresholds": (0.2,)}),
])  # fmt: skip
def test_a_second_model_that_cannot_be_compared_is_refused(name, options):
    with pytest.raises(ValueError, match=f"`{name}` must"):
        dplr.evaluate(np.zeros(9), None, np.arange(9) % 2, eps=1.0, **options)


@pytest.mark.parametrize("entries", [90, 200])
def test_a_holdout_refuses_columns_of_another_length(entries, tmp_path):
    X, ledger = np.random.default_rng(0).uniform(0, 1, (100, 1)), dplr.Ledger(tmp_path / "budget.db", eps=1.0)
    options = {"bounds": dplr.Bounds([(0, 1)]), "eps": 1.0, "holdout": 0.2, "ledger": ledger}
    with pytest.raises(ValueError, match=f"`y` must have one entry for each row of X; got {entries}"):
        dplr.fit(X, np.zeros(entries), **options)
    with pytest.raises(ValueError, match="`weight_max` is required with sample_weight"):
        dplr.fit(X, np.zeros(100), sample_weight=np.ones(entries), **options)
    assert not ledger.entries()


def test_shares_of_few_rows_have_intervals_of_wilson():
    """Ten right answers of ten do not show that the eleventh is right."""
    result = dplr.evaluate(np.repeat([0.1, 0.9], 5), None, np.repeat([0, 1], 5), eps=np.inf)
    for name, rows in (("accuracy", 10), ("recall", 5), ("specificity", 5), ("precision", 5)):
        one = result.measures[name]
        assert (one.estimate, one.upper) == (1.0, 1.0)
        assert one.lower == pytest.approx(rows / (rows + 1.959964**2), rel=1e-6)
    assert result.prevalence.lower == pytest.approx(0.2366, abs=1e-4)


@pytest.mark.filterwarnings("ignore:rng is set")
@pytest.mark.parametrize(("rows", "share", "eps"), [(5000, 2e-4, 100.0), (100, 0.02, 1.0), (100, 0.02, 100.0)])
def test_intervals_hold_shares_near_nothing(rows, share, eps):
    rng, times = np.random.default_rng(3), 400
    held = 0
    for seed in range(times):
        y = rng.random(rows) < share
        one = dplr.evaluate(np.full(rows, 0.3), None, y, eps=eps, rng=seed).prevalence
        held += one.lower <= share <= one.upper
    assert held / times > 0.95 - 5 * (0.95 * 0.05 / times) ** 0.5


@pytest.mark.parametrize("answer", [-7.0, 1.5, np.inf, -np.inf])
def test_answers_that_are_no_probabilities_are_refused(answer):
    """Log odds taken for probabilities would all count as 0 or 1."""
    scores, y = np.full(90, 0.5), np.arange(90) % 3
    scores[4] = answer
    with pytest.raises(ValueError, match="1 rows without one"):
        dplr.evaluate(scores, None, y % 2, eps=1.0)
    with pytest.raises(ValueError, match="1 rows without one"):
        dplr.evaluate(np.stack([scores] * 3, axis=1), None, y, eps=1.0, classes=(0, 1, 2))
    with pytest.raises(ValueError, match="1 rows without one"):
        dplr.evaluate(scores, None, y % 2, against=np.zeros(90), eps=1.0)
    dplr.evaluate(np.full(90, 1 + 1e-9), None, y % 2, eps=1.0)  # a rounding error


def test_infinite_numbers_are_refused():
    y = np.r_[np.zeros(9), np.inf]
    for model, target in ((np.zeros(10), y), (y, np.zeros(10))):
        with pytest.raises(ValueError, match="1 rows without one"):
            dplr.evaluate(model, None, target, eps=1.0, target_bounds=(0, 1))
        with pytest.raises(ValueError, match="1 rows without one"):
            dplr.evaluate(model, None, target, against=np.zeros(10), eps=1.0, target_bounds=(0, 1))


def test_the_table_of_a_holdout_is_one_that_the_model_was_fitted_to():
    X = pd.DataFrame({"x": np.linspace(0, 1, 200)})
    y = np.arange(200) % 2
    model = dplr.fit(X, y, bounds={"x": (0, 1)}, eps=1.0, holdout=0.2)
    with pytest.raises(ValueError, match="the model was not fitted to"):
        model.evaluate(X, y, eps=1.0)
