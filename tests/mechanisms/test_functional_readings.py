"""The noise that intervals of the functional mechanism know of is that of the numbers which they are made of."""

import numpy as np
import pytest

import dplr

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::dplr.PrivacyWarning")


def readings(y, intervals, **options):
    X = np.random.default_rng(0).uniform(0, 1, (len(y), 2))
    spec, bounds = dplr.FunctionalMechanism(intervals=intervals), dplr.Bounds([(0, 1), (0, 1)])
    est = dplr.fit(X, y, eps=5.0, mechanism=spec, bounds=bounds, rng=1, **options)
    record = est._record
    return record.mechanism.readings(record.plan, record.parts, []), est.privacy_.released


def test_a_model_of_one_class_has_the_noise_of_the_sums_of_all_classes():
    """It is twice the sum of its class less the sums of all: each class sum comes in once, with either sign."""
    of_classes, released = readings(np.arange(600) % 3, "on", classes=[0, 1, 2])
    variance = sum(block.deviation**2 for name, block in released.items() if name.startswith("linear["))
    assert len(of_classes) == 3
    for reading in of_classes:
        assert np.diag(reading.vector_noise) == pytest.approx(np.full(3, variance))


def test_a_private_number_of_rows_has_its_noise_in_the_sum_of_squared_labels():
    """Labels are -1 and 1, so that sum is the released count: the constant's cell over its square."""
    (reading,), released = readings(np.arange(600) % 2, "robust", neighbouring="add_remove", n_rows=600)
    assert reading.square == pytest.approx(reading.n_rows)
    assert reading.square_noise == pytest.approx((released["diagonal"].deviation / 0.5**2) ** 2)


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_a_sum_of_squared_numbers_has_the_noise_of_its_block(delta):
    """Residuals are sum y^2 less what the model explains: their interval must be as wide as that sum is noisy."""
    y = np.random.default_rng(1).uniform(-1, 1, 600)
    X, bounds = np.random.default_rng(0).uniform(0, 1, (600, 2)), dplr.Bounds([(0, 1), (0, 1)], target=(-1, 1))
    est = dplr.fit(
        X,
        y,
        model="linear",
        eps=5.0,
        delta=delta,
        mechanism=dplr.FunctionalMechanism(ranges="off"),
        bounds=bounds,
        rng=1,
    )
    record, block = est._record, est.privacy_.released["target_square"]
    (reading,) = record.mechanism.readings(record.plan, record.parts, [])
    assert reading.square == est.released_["target_square"][0]
    assert reading.square_noise == pytest.approx(block.deviation**2) != 0
