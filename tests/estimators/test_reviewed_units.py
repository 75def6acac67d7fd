"""What a hostile reader found of persons and weights."""

import zlib

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.model_selection import KFold, LeaveOneGroupOut, PredefinedSplit, cross_validate
from sklearn.pipeline import make_pipeline

import dplr

BOUNDS = dplr.Bounds({"a": (0, 1)})
IDS = np.array([f"p{i // 3}" for i in range(300)])
TABLE = pd.DataFrame({"a": np.random.default_rng(0).random(300), "id": IDS})
Y = TABLE["a"] > 0.5


def sizes_of_folds(ids):
    return np.bincount([zlib.crc32(each.encode()) % 3 for each in np.unique(ids)])


def test_folds_by_ids_show_whose_id_it_is_where_their_numbers_of_persons_are_public():
    others = [np.where(IDS == "p0", other, IDS) for other in ("q1", "q2", "q3")]
    assert any((sizes_of_folds(IDS) != sizes_of_folds(other)).any() for other in others)
    for cv, groups in ((PredefinedSplit([zlib.crc32(each.encode()) % 3 for each in IDS]), None),
                       (LeaveOneGroupOut(), [each[-1] for each in IDS])):  # fmt: skip
        est = dplr.LogisticRegression(eps=1.0, mechanism="fm", bounds=BOUNDS, person="id")
        with pytest.warns(dplr.PrivacyWarning, match="how many persons a fold has counts as public"):
            cross_validate(est, TABLE, Y, cv=cv, groups=groups)


def test_persons_that_the_bounds_declare_are_warned_of_like_those_of_the_estimator():
    declared = dplr.Bounds({"a": (0, 1)}, person="id")
    for est, cv in ((dplr.LogisticRegression(eps=1.0, bounds=declared), KFold(3)),
                    (dplr.LogisticRegression(eps=1.0, bounds=declared.to_dict()), KFold(3))):  # fmt: skip
        with pytest.warns(dplr.PrivacyWarning, match="Folds are cut by rows, so a person may lie in several of them"):
            cross_validate(est, TABLE, Y, cv=cv)


@pytest.mark.parametrize("labels", [(0, "1"), (None, "1")])
def test_a_plan_says_that_labels_with_factors_must_be_of_one_type(labels):
    with pytest.raises(TypeError, match="`class_weight` must name labels of one type"):
        dplr.plan(n_rows=100, bounds=BOUNDS, eps=1.0, class_weight=dict.fromkeys(labels, 1))


def test_a_factor_that_no_float_holds_is_named(entropy):
    with pytest.raises(ValueError, match=r"`class_weight\[False\]` must fit into a float"):
        dplr.fit(TABLE[["a"]], Y, eps=1.0, bounds=BOUNDS, class_weight={False: 10**400, True: 1})
    assert entropy.bytes == 0


def test_a_person_is_plain_text_in_every_statement():
    est = dplr.fit(TABLE[["a"]], Y, eps=1.0, bounds=BOUNDS, person=pd.Series(IDS, name=np.str_("id")))
    assert type(est.privacy_.unit.person) is str
    with pytest.raises(ValueError, match=r"`X` must have the column 'nobody'"):
        dplr.fit(TABLE, Y, eps=1.0, bounds=BOUNDS, person=np.str_("nobody"))


@pytest.mark.parametrize(
    "first",
    [
        dplr.preprocessing.BoundsEncoder(dplr.Bounds({"a": (0, 1)}, person="id")),
        make_pipeline(dplr.preprocessing.BoundsEncoder(dplr.Bounds({"a": (0, 1)}, person="id"))),
    ],
)
def test_a_fit_by_row_behind_a_step_that_was_told_of_persons_is_refused(first, entropy):
    steps = make_pipeline(first, dplr.LogisticRegression(eps=1.0, mechanism="fm"))
    with pytest.raises(ValueError, match=r"`person` is required behind a step whose bounds declare persons \('id'\)"):
        steps.fit(TABLE[["a"]], Y)
    assert entropy.bytes == 0
    with sklearn.config_context(enable_metadata_routing=True):
        steps[-1].set_fit_request(person=True)
        steps.fit(TABLE[["a"]], Y, person=IDS)
    assert steps[-1].privacy_.unit.person == "person"
