"""Pictures of evaluations, and their section of the report."""

import matplotlib as mpl
import numpy as np
import pytest

import dplr
from dplr import plots
from dplr.report import report_html

mpl.use("Agg")
pytestmark = pytest.mark.filterwarnings("ignore:rng is set")


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 1, (6000, 2))
    return X, rng.random(6000) < X[:, 0]


def test_curves_hold_the_released_points(rows):
    score, y = rows[0][:, 0], rows[1]
    labels = dplr.evaluate(score, None, y, eps=1.0, rng=1)
    roc = plots.plot_evaluation(labels)
    assert roc.get_ylabel() == "true positive rate"
    says = [alarms.estimate for _, alarms, hits in labels.roc() if alarms.says and hits.says]
    np.testing.assert_allclose(roc.containers[0][0].get_xdata(), says)
    bins = plots.plot_evaluation(labels, what="calibration")
    shares = [share.estimate for *_, share in labels.calibration() if share.says]
    np.testing.assert_allclose(bins.containers[0][0].get_ydata(), shares)
    numbers = dplr.evaluate(score, None, score + 0.1, eps=1.0, target_bounds=(0, 2), rng=1)
    assert plots.plot_evaluation(numbers).get_xlabel() == "size of the error"
    mpl.pyplot.close("all")


def test_curves_that_an_evaluation_lacks_are_refused(rows):
    score, y = rows[0][:, 0], rows[1]
    with pytest.raises(ValueError, match="what"):
        plots.plot_evaluation(dplr.evaluate(score, None, y, eps=1.0, rng=1), what="within")
    decided = dplr.evaluate(score > 0.5, None, y, eps=1.0, decisions=True, rng=1)
    with pytest.raises(ValueError, match="curve"):
        plots.plot_evaluation(decided)


def test_the_report_shows_rows_that_were_held_out(rows):
    bounds = dplr.Bounds([(0, 1), (0, 1)])
    model = dplr.fit(*rows, bounds=bounds, mechanism="fm", eps=1.0, holdout=0.3, rng=1)
    page = report_html(model)
    assert "How good the model is" in page
    assert page.count("<svg") == report_html(dplr.fit(*rows, bounds=bounds, mechanism="fm", eps=1.0)).count("<svg") + 2
    assert "1,800 records" in page
    assert "<th" in page
    assert "specificity" in page
    assert "How good" not in report_html(dplr.fit(*rows, bounds=bounds, mechanism="fm", eps=1.0))
