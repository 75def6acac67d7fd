"""CM08 and HHA23: what is measured on is what the papers say, and tables of errata show both numbers."""

import math

import numpy as np
import pandas as pd
import pytest

from bench.papers import check, errata
from bench.papers.cm08 import spheres
from bench.papers.hha23 import descents, figure9


def distances(data):
    """Of the points from the plane that labels them."""
    separator = np.random.default_rng(spheres.DATA.index(data)).normal(size=spheres.DIMENSIONS)
    X, y = spheres.points(data)
    return X @ separator / np.linalg.norm(separator), y


def test_uniform_points_lie_on_the_sphere_and_off_the_separator():
    distance, y = distances("uniform")
    X, _ = spheres.points("uniform")
    assert X.shape == (17_500, 10)
    assert np.linalg.norm(X, axis=1) == pytest.approx(1)
    assert 0.03 <= np.abs(distance).min() < 0.031
    assert np.array_equal(y, distance > 0)


def test_a_fifth_of_the_labels_in_the_band_is_flipped_and_none_elsewhere():
    distance, y = distances("unseparable")
    wrong, band = y != (distance > 0), np.abs(distance) <= 0.1
    assert not wrong[~band].any()
    assert wrong[band].mean() == pytest.approx(0.2, abs=4 * math.sqrt(0.16 / band.sum()))


def test_every_point_is_kept_aside_once_and_never_trained_on():
    seen = []
    for fold in range(spheres.FOLDS):
        (X, _), (held, _) = spheres.split("uniform", fold, spheres.FOUR_FOLDS)
        assert (len(X), len(held)) == (14_000, 3_500)
        assert not set(map(bytes, X)) & set(map(bytes, held))
        seen += map(bytes, held)
    assert len(set(seen)) == len(seen) == spheres.POINTS


def test_the_twin_is_two_populations_of_400_with_balanced_classes():
    people = descents.populations(descents.TWIN)
    for X, y in (people.public, people.private):
        assert X.shape == (400, 2)
        assert np.abs(X).max() <= 1
        assert y.sum() == 200
    assert not set(map(bytes, people.public[0])) & set(map(bytes, people.private[0]))


@pytest.mark.filterwarnings("ignore::dplr.PrivacyWarning")
@pytest.mark.parametrize("sigma", [3.0, 100.0])
def test_variants_with_the_same_noise_have_the_same_true_eps(sigma):
    X, _ = descents.populations(descents.TWIN).private
    true = []
    for variant in (descents.PRINTED, descents.CORRECT):
        eps = figure9.asked(variant, sigma, len(X))
        (est,) = descents.fits(descents.TWIN, variant, False, [eps], 1, seed=0)
        true.append(est.privacy_.eps)
    assert true[0] == pytest.approx(true[1], rel=1e-3)


def test_a_table_of_errata_shows_what_is_printed_and_what_is_found():
    toy = errata.figure("toy", {"Lemma": errata.Erratum("one", "two", "count", lambda: 1.0, lambda: 2.0)})
    rows = [row | {"mean": row["value"]} for row in ({"error": "Lemma", **row} for row in toy.measure(*toy.cells(), 0))]
    assert "| Lemma | one | two | count | 1 | 2 |" in toy.table(pd.DataFrame(rows))


def test_an_infinite_number_agrees_with_itself_alone():
    committed = pd.DataFrame([{"method": "a", "mean": math.inf, "deviation": 0.0, "repeats": 1}])
    assert check.differences(committed, committed) == []
    assert check.differences(committed.assign(mean=1.0), committed) != []
