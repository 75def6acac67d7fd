"""What scikit-learn refuses is refused in a sentence that names the parameter and shows no entry of the rows."""

import numpy as np
import pandas as pd
import pytest

import dplr

Y = [0, 1, 0]


@pytest.mark.parametrize(("X", "y", "name", "words"), [
    (np.full((3, 2), 0.123 + 4j), Y, "X", "Complex data not supported"),
    ([[1, 2], [3], [4, 5]], Y, "X", "inhomogeneous"),
    (np.zeros((3, 2), "U3"), Y, "X", "bytes/strings"),
    (np.array([[{}], [1], [2]], dtype=object), Y, "X", "real number"),
    (pd.DataFrame({"a": [1.0, 2.0, 3.0], 0: 1.0}), Y, "X", "Feature names"),
    (np.zeros((3, 2)), np.zeros((3, 2)), "y", "1d array"),
    (np.zeros((3, 2)), None, "y", "requires y to be passed, but the target y is None"),
])  # fmt: skip
def test_the_sentence_names_the_parameter(X, y, name, words):
    with pytest.raises((TypeError, ValueError), match=words) as refused:
        dplr.fit(X, y, eps=1.0, mechanism="fm")
    assert str(refused.value).startswith(f"`{name}` must ")
    assert "0.123" not in str(refused.value)


def test_rows_to_predict_are_checked_alike():
    est = dplr.fit(np.full((50, 2), 0.1), np.arange(50) % 2, eps=1.0, mechanism="fm")
    with pytest.raises(ValueError, match=r"^`X` must pass the checks of scikit-learn, which says: X has 3 features"):
        est.predict(np.zeros((2, 3)))
