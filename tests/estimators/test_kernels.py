"""Random Fourier features: rows of norm 1 that approach a kernel, of public numbers alone, named to the model."""

import copy
import io
import math
import pickle
import warnings

import joblib
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import dplr
from dplr.bounds.fourier import KERNELS, MOST_PAIRS, FourierMap
from dplr.bounds.scaling import ball_prep
from dplr.cli import main
from dplr.problem.losses import LOGISTIC
from dplr.rows import ArrayRows
from dplr.rows.losses import LossGradient

pl = pytest.importorskip("polars", reason="polars has no wheel for this Python")

RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, (400, 2))
Y = (X**2).sum(axis=1) < 0.5
OBJECTIVE = dplr.LogisticRegression(eps=2.0, mechanism="objective")
COLUMNS = {
    "age": {"lower": 18, "upper": 99, "missing": "indicator"},
    "work": {"levels": ["none", "some", "full"], "missing": "some"},
    "gain": {"lower": 0, "upper": 999, "transform": "log1p"},
}
BOUNDS = dplr.Bounds(COLUMNS, target=("no", "yes"))
FRAME = pd.DataFrame(
    {
        "gain": RNG.uniform(0, 999, 300),
        "work": RNG.choice(["none", "some", "full", "unknown", None], 300),
        "age": np.where(RNG.random(300) < 0.1, np.nan, RNG.uniform(10, 110, 300)),
    }
)
ANSWER = np.where(RNG.random(300) < 0.5, "yes", "no")


def features(**options):
    return dplr.preprocessing.RandomFourierFeatures(
        **{"n_components": 20, "kernel": "gaussian", "bandwidth": 0.7, **options}
    )


# --- the map


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("pairs", [1, 3, 100, MOST_PAIRS])
def test_every_row_has_norm_1_and_no_kernel_projects_it_or_counts_it_as_outside(kernel, pairs):
    rows = np.random.default_rng(pairs).standard_cauchy((64, 3)) * 10.0 ** np.arange(64)[:, None]
    made = np.asarray(features(n_components=pairs, kernel=kernel).transform(rows))
    for squared in ((made * made).sum(axis=1), np.einsum("ij,ij->i", made, made), np.add.accumulate(made**2, 1)[:, -1]):
        assert (squared <= 1.0 - (made.shape[1] + 8) * 2.0**-52).all()
        assert (squared > 1.0 - 2.0**-38).all()
    labels = np.arange(64) % 2.0
    query = LossGradient(LOGISTIC, made.shape[1], True)
    counted = ArrayRows(made, labels, ball_prep(made.shape[1], True, (0.0, 1.0))).sum(
        query, np.zeros(made.shape[1] + 1)
    )
    assert not any(counted.faults.outside)
    assert not counted.faults.non_finite_rows


@pytest.mark.parametrize("mechanism", ["fm", "objective", "output", "ngd"])
def test_no_mechanism_warns_of_a_transformed_row(mechanism):
    est = dplr.LogisticRegression(eps=2.0, delta=1e-4 if mechanism == "ngd" else 0.0, mechanism=mechanism)
    with warnings.catch_warnings(record=True) as raised:
        warnings.simplefilter("always")
        make_pipeline(features(), est).fit(X * 100, Y)
    assert {each.category for each in raised} <= {dplr.UtilityWarning}  # the rows are few


@pytest.mark.parametrize("kernel", KERNELS)
def test_inner_products_approach_the_kernel(kernel):
    """The mean square over pairs of rows and seeds is at most that of n_components terms of variance 1."""
    rows, bandwidth, pairs = X[:40], 0.8, 400
    apart = rows[:, None, :] - rows[None, :, :]
    exact = {
        "gaussian": np.exp(-(apart**2).sum(axis=2) / (2 * bandwidth**2)),
        "laplacian": np.exp(-np.abs(apart).sum(axis=2) / bandwidth),
    }[kernel]
    errors = []
    for seed in range(10):
        made = np.asarray(features(n_components=pairs, kernel=kernel, bandwidth=bandwidth, seed=seed).transform(rows))
        errors.append(made @ made.T - exact)
    assert np.sqrt(np.mean(np.square(errors))) < 1 / math.sqrt(pairs)
    assert np.abs(np.mean(errors)) < 0.3 / math.sqrt(pairs)
    other = {"gaussian": "laplacian", "laplacian": "gaussian"}[kernel]
    made = np.asarray(features(n_components=pairs, kernel=other, bandwidth=bandwidth).transform(rows))
    assert np.sqrt(np.mean((made @ made.T - exact) ** 2)) > 1 / math.sqrt(pairs)


@pytest.mark.parametrize("bounds", [None, dplr.Bounds([(-1, 1)] * 7)])
def test_every_bit_of_a_row_is_its_own_whatever_rows_stand_beside_it(bounds):
    rows = np.random.default_rng(1).uniform(-1, 1, (1003, 7))
    made = np.asarray(features(n_components=37, bounds=bounds).transform(rows))
    for part in (slice(0, 1), slice(5, 6), slice(0, 2), slice(1, 1003), slice(0, 1003, 3), slice(None, None, -1)):
        assert (
            made[part].tobytes() == np.asarray(features(n_components=37, bounds=bounds).transform(rows[part])).tobytes()
        )
    far = rows.copy()
    far[1] = 1e300
    assert made[0].tobytes() == np.asarray(features(n_components=37, bounds=bounds).transform(far))[0].tobytes()
    fortran = features(n_components=37, bounds=bounds).transform(np.asfortranarray(rows))
    assert made.tobytes() == np.ascontiguousarray(fortran).tobytes()


# Of the frequencies of 500 pairs and 3 columns, and the first of them: another seed's would differ in all.
STORED = {
    ("gaussian", 0): ("a000c247c82854c6227c3ce262aa6e6b6ce6e040c54feaff0c2ec5b374dcc003", "-0.645049359 -0.764140906"),
    ("laplacian", 2**63 - 1): (
        "2d2f13c42ed30fe722a567348778297d47a76cf8eb5c35b6aeb475c9df89ba5b",
        "-0.479502524 -0.877540500",
    ),
}


@pytest.mark.parametrize(("kernel", "seed"), STORED)
def test_a_seed_draws_the_stored_frequencies(kernel, seed):
    digest, first = STORED[kernel, seed]
    made = FourierMap(500, kernel, 1.0, seed, None, 3)
    assert made.digest == digest
    row = np.zeros((1, 3))
    row[0, 0] = 1.0
    cosine, sine = made.features(row)[0, [0, 500]] * math.sqrt(500)
    assert f"{cosine:.9f} {sine:.9f}" == first


def test_more_pairs_keep_the_first_ones_and_another_seed_keeps_none():
    few, more = (np.asarray(features(n_components=pairs).transform(X[:5])) for pairs in (10, 20))
    assert np.allclose(few[:, :10] * math.sqrt(10), more[:, :10] * math.sqrt(20), rtol=1e-15, atol=0)
    other = np.asarray(features(n_components=10, seed=1).transform(X[:5]))
    assert (few != other).all()


@pytest.mark.parametrize("bandwidth", [0.1, 2.0])
def test_a_bandwidth_is_a_unit_of_length(bandwidth):
    one = np.asarray(features(bandwidth=1.0).transform(X))
    assert np.allclose(features(bandwidth=bandwidth).transform(X * bandwidth), one, rtol=0, atol=1e-12)


# --- rows of declared columns


def test_declared_columns_are_encoded_and_scaled_as_a_fit_scales_them():
    made = np.asarray(features(bounds=BOUNDS).transform(FRAME))
    encoded = dplr.preprocessing.BoundsEncoder(BOUNDS).transform(FRAME)  # age, its mark, three levels, log1p(gain)
    size = math.isqrt(2**40 // 3) / 2**20
    middle = np.array([58.5, 0, 0, 0, 0, math.log1p(999) / 2])
    half = np.array([40.5, 1, 1, 1, 1, math.log1p(999) / 2])
    by_hand = features().transform((encoded - middle) / half * size)
    assert encoded[:, 1].any()
    assert np.allclose(made, by_hand, rtol=0, atol=1e-12)


def test_tables_of_all_libraries_give_the_same_bits_and_need_no_order():
    made = features(bounds=BOUNDS).transform(FRAME)
    for other in (pl.from_pandas(FRAME), FRAME[["work", "age", "gain"]].assign(further="x")):
        assert made.tobytes() == features(bounds=BOUNDS).transform(other).tobytes()
    assert made.tobytes() == features(bounds=BOUNDS.to_dict()).transform(FRAME).tobytes()


# --- a transformer that learns nothing


@parametrize_with_checks([dplr.preprocessing.RandomFourierFeatures(3)])
def test_the_conventions_of_scikit_learn(estimator, check):
    check(estimator)


def test_two_data_sets_make_one_transformer():
    one, other = (features().fit(rows, labels) for rows, labels in ((X, Y), (X[::-1] * 5 + 1, ~Y)))
    assert {**vars(one)} == {**vars(other)}
    assert vars(features(bounds=BOUNDS).fit(FRAME)) == vars(features(bounds=BOUNDS))
    assert one.transform(X).tobytes() == features().transform(X).tobytes() == other.transform(X).tobytes()


def test_names_say_which_wave_a_column_is():
    assert features(n_components=2).get_feature_names_out().tolist() == ["cos0", "cos1", "sin0", "sin1"]
    frame = features(n_components=2).set_output(transform="pandas").fit_transform(X)
    assert frame.columns.tolist() == ["cos0", "cos1", "sin0", "sin1"]
    assert np.array_equal(frame, features(n_components=2).transform(X))


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"n_components": 0}, ValueError, "`n_components` must be at least 1; got 0"),
        ({"n_components": 2049}, ValueError, "`n_components` must be at most 2048; got 2049. Each is two columns"),
        ({"n_components": 2.0}, TypeError, "`n_components` must be an integer"),
        ({"kernel": "rbf"}, ValueError, "`kernel` must be one of 'gaussian', 'laplacian'; got 'rbf'"),
        ({"bandwidth": "scale"}, TypeError, "`bandwidth` must be a public number; got 'scale'.*reads the private rows"),
        ({"bandwidth": 0}, ValueError, "`bandwidth` must be positive and finite; got 0"),
        ({"bandwidth": math.inf}, ValueError, "`bandwidth` must be positive and finite; got inf"),
        ({"seed": -1}, ValueError, "`seed` must be at least 0; got -1"),
        ({"seed": 2**63}, ValueError, r"`seed` must be below 2\^63"),
        ({"seed": None}, TypeError, "`seed` must be an integer; got None"),
        ({"bounds": 3}, TypeError, "`bounds` must be None, a dplr.Bounds"),
        ({"bounds": [(0, 1)]}, TypeError, "`bounds` must be None, a dplr.Bounds"),
        ({"bounds": dplr.Bounds([(0, 1)])}, ValueError, "`bounds` must have one pair for each of the 2 columns of X"),
        ({"bounds": BOUNDS}, ValueError, "`bounds` names columns"),
    ],
)
def test_what_breaks_a_rule_is_refused_by_fit_and_by_transform(options, error, message):
    for method in ("fit", "transform"):
        with pytest.raises(error, match=message):
            getattr(features(**options), method)(X)


@pytest.mark.parametrize(
    ("name", "answer"), [("random_state", "Use `seed`"), ("gamma", "has `bandwidth`"), ("sed", "seed")]
)
def test_names_of_other_packages_are_answered_with_ours(name, answer):
    with pytest.raises(TypeError, match=answer):
        dplr.preprocessing.RandomFourierFeatures(**{name: 1})


@pytest.mark.parametrize("value", [math.nan, math.inf, 1e308])
def test_rows_that_cannot_count_are_nan_and_others_stay_as_they_are(value):
    rows = X.copy()
    rows[3, 1] = value
    for bounds in (None, dplr.Bounds([(-1, 1)] * 2)):
        made, whole = (features(bandwidth=1e-3, bounds=bounds).transform(each) for each in (rows, X))
        clipped = bounds is not None and value == 1e308
        assert np.isnan(made[3]).all() == (not clipped)
        assert_array_equal(np.delete(made, 3, axis=0), np.delete(whole, 3, axis=0))
    with pytest.raises(ValueError, match="must have 1 to 4096 columns; got 4097"):
        features().transform(np.zeros((1, 4097)))


# --- what a model behind it knows


def test_the_statement_names_map_seed_and_bounds():
    facts = make_pipeline(features(seed=7, kernel="laplacian"), OBJECTIVE).fit(X, Y)[-1].privacy_.assumptions
    (said,) = [fact for fact in facts if "Fourier" in fact]
    for word in ("20 pairs", "norm 1", "of 2 columns as they stand", "laplacian kernel", "bandwidth = 0.7", "seed = 7"):
        assert word in said
    assert "no bounds were declared: whatever scaled the rows before is public" in facts
    facts = make_pipeline(features(bounds=BOUNDS), OBJECTIVE).fit(FRAME, ANSWER)[-1].privacy_.assumptions
    assert any("of 6 columns as declared and scaled" in fact for fact in facts)
    assert set(BOUNDS.layout.facts()) < set(facts)
    assert not any("no bounds were declared" in fact for fact in facts)
    plain = dplr.fit(X / 2, Y, eps=1.0, mechanism="objective")
    assert plain.features_ is None
    assert not any("Fourier" in fact for fact in plain.privacy_.assumptions)


def test_the_steps_before_are_judged_as_before():
    with pytest.warns(dplr.PrivacyWarning, match="MaxAbsScaler learned from the private rows"):
        est = make_pipeline(MaxAbsScaler(), features(), OBJECTIVE).fit(X, Y)[-1]
    assert est.privacy_.uncovered[0].startswith("MaxAbsScaler learned")
    with pytest.warns(dplr.PrivacyWarning, match="MaxAbsScaler"):
        after = make_pipeline(features(), MaxAbsScaler(), OBJECTIVE).fit(X, Y)[-1]
    assert after.features_ is None


def test_rows_name_their_map_only_as_long_as_they_are_its_rows():
    made = features().transform(X)
    train, held, _, _ = train_test_split(made, Y, shuffle=False)
    buffer = io.BytesIO()
    joblib.dump(made, buffer)
    buffer.seek(0)
    stored = pickle.loads(pickle.dumps(made)), joblib.load(buffer)
    for rows in (made, made[5:], made[Y], made[[3, 4]], made[[3, 4], ...], train, held, *stored):
        assert dplr.fit(rows, np.arange(len(rows)) % 2, eps=1.0, mechanism="objective").features_ is not None
        assert not rows.flags.writeable
    frame = features().set_output(transform="pandas").transform(X)
    for rows in (made / 2, made[:, :5], made[:, ::-1], np.asarray(made), made.copy(), -made, frame, made.astype("f4")):
        assert dplr.fit(rows, Y, eps=1.0, mechanism="objective").features_ is None
    assert made[0].features is None
    assert made[None].features is None
    with pytest.raises(ValueError, match="read-only"):
        made *= 2


def test_the_target_of_the_bounds_is_that_of_the_model():
    est = make_pipeline(features(bounds=BOUNDS), OBJECTIVE).fit(FRAME, ANSWER)[-1]
    assert est.classes_.tolist() == ["no", "yes"]
    with pytest.raises(ValueError, match="`y` must hold only its labels"):
        make_pipeline(features(bounds=BOUNDS), OBJECTIVE).fit(FRAME, np.where(ANSWER == "no", "perhaps", ANSWER))
    over = dplr.Bounds([(-1, 1)] * 2, target={"threshold": 50})
    assert make_pipeline(features(bounds=over), OBJECTIVE).fit(X, Y * 100)[-1].classes_.tolist() == [False, True]
    numbers = dplr.Bounds([(-1, 1)] * 2, target=(1000, 3000))
    for intercept in (True, False):
        private = dplr.LinearRegression(eps=math.inf, mechanism="fm", fit_intercept=intercept)
        model = make_pipeline(features(bounds=numbers, n_components=40), private).fit(
            X, 2000 + 900 * np.sin(3 * X[:, 0])
        )
        assert "y lies in [1000, 3000] (values outside are clipped)" in model[-1].privacy_.assumptions
        assert model.score(X, 2000 + 900 * np.sin(3 * X[:, 0])) > 0.9
        model[-1].coef_ = model[-1].coef_ * 1e9
        assert set(model.predict(X)) <= {1000.0, 3000.0}
    with pytest.raises(ValueError, match="must declare the range of a numeric target"):
        make_pipeline(features(bounds=dplr.Bounds([(-1, 1)] * 2)), dplr.LinearRegression(mechanism="fm")).fit(
            X, X[:, 0]
        )


def test_bounds_of_the_model_itself_are_refused_before_anything_is_spent(entropy):
    bounded = clone(OBJECTIVE).set_params(bounds=dplr.Bounds([(-1, 1)] * 40))
    with pytest.raises(ValueError, match=r"`bounds` must be None behind RandomFourierFeatures.*and the target, to the"):
        make_pipeline(features(), bounded).fit(X, Y)
    assert not entropy.bytes


def test_a_fitted_model_gives_its_transformer_back():
    model = make_pipeline(features(bounds=BOUNDS, seed=3), OBJECTIVE).fit(FRAME, ANSWER)
    again = make_pipeline(model[-1].features_, model[-1])
    assert (again.predict_proba(FRAME) == model.predict_proba(FRAME)).all()
    assert model[-1].features_.get_params() == model[0].get_params()
    raw = pd.DataFrame(X, columns=["a", "b"])
    back = make_pipeline(features(), OBJECTIVE).fit(raw, Y)[-1].features_
    assert back.feature_names_in_.tolist() == ["a", "b"]
    with pytest.raises(ValueError, match="feature names"):
        back.transform(raw[["b", "a"]])


COPIES = {
    "pickle": lambda est, _: pickle.loads(pickle.dumps(est)),
    "deepcopy": lambda est, _: copy.deepcopy(est),
    "file": lambda est, path: [dplr.save_model(est, path), dplr.load_model(path)][1],
}


@pytest.mark.parametrize("copied", COPIES.values(), ids=COPIES)
def test_copies_and_model_files_predict_raw_rows_alike(copied, tmp_path):
    linear = dplr.LinearRegression(eps=1.0, mechanism="fm", rng=None)
    for step, est, rows, y in (
        (features(bounds=BOUNDS, seed=2**63 - 1), OBJECTIVE, FRAME, ANSWER),
        (features(kernel="laplacian"), OBJECTIVE, pd.DataFrame(X, columns=["a", "b"]), Y),
        (features(bounds=dplr.Bounds([(-1, 1)] * 2, target=(0, 9))), linear, X, X[:, 0] * 4 + 4),
    ):
        model = make_pipeline(step, clone(est)).fit(rows, y)
        read = copied(model[-1], tmp_path / "model.json")
        assert read.privacy_ == model[-1].privacy_
        assert (make_pipeline(read.features_, read).predict(rows) == model.predict(rows)).all()
        assert read.features_.get_params() | {"bounds": None} == step.get_params() | {"bounds": None}


def test_a_model_file_that_was_changed_is_refused(tmp_path):
    import json

    import mutations

    dplr.save_model(make_pipeline(features(bounds=BOUNDS), OBJECTIVE).fit(FRAME, ANSWER)[-1], tmp_path / "model.json")
    whole = json.loads((tmp_path / "model.json").read_text())["model"]
    assert whole["bounds"] is None
    for change, message in (
        ({"seed": 8}, "features.frequencies` must be those of the seed"),
        ({"kernel": "laplacian"}, "features.frequencies` must be those of the seed"),
        ({"bandwidth": 0.5}, "statement.assumptions` must name the features"),
        ({"width": 7}, "features.width` must be that of the bounds"),
        ({"names": ["a"] * 6}, "features.width` must be that of the bounds"),
        ({"n_components": 19}, "must be"),
        ({"frequencies": "0" * 64}, "features.frequencies` must be those of the seed"),
        ({"bounds": None, "names": ["a"] * 6}, "features.names` must be 6 different names"),
        ({"bounds": None}, "statement.assumptions` must name the features"),
        ({"gamma": 1.0}, "must have no key but"),
    ):
        model = {**whole, "features": {**whole["features"], **change}}
        (tmp_path / "changed.json").write_bytes(mutations.with_hash(model))
        with pytest.raises(dplr.model_file.ModelFileError, match=message):
            dplr.load_model(tmp_path / "changed.json")
    (tmp_path / "changed.json").write_bytes(mutations.with_hash({**whole, "bounds": whole["features"]["bounds"]}))
    with pytest.raises(dplr.model_file.ModelFileError, match="bounds` must be null beside features"):
        dplr.load_model(tmp_path / "changed.json")


def test_the_command_predicts_raw_rows(tmp_path):
    from click.testing import CliRunner

    numbers = FRAME.assign(work="some", age=30.0)
    model = make_pipeline(features(bounds=BOUNDS), OBJECTIVE).fit(FRAME, ANSWER)
    dplr.save_model(model[-1], tmp_path / "model.json")
    numbers.to_csv(tmp_path / "rows.csv", index=False)
    found = CliRunner().invoke(main, ["predict", str(tmp_path / "model.json"), str(tmp_path / "rows.csv"), "-o", "-"])
    assert found.output.split()[1:] == model.predict(numbers).tolist()


# --- beside other tools


def test_searches_and_folds_fit_it_anew_and_name_it():
    model = make_pipeline(features(), OBJECTIVE)
    assert cross_val_score(model, X, Y, cv=KFold(3)).shape == (3,)
    with pytest.warns(dplr.PrivacyWarning, match="Folds are cut by the labels"):
        cross_val_score(model, X, Y, cv=3)
    with pytest.warns(dplr.PrivacyWarning, match="^GridSearchCV chose parameters"):
        search = GridSearchCV(model, {"randomfourierfeatures__bandwidth": [0.5, 1.0]}, cv=KFold(3)).fit(X, Y)
    best = search.best_params_["randomfourierfeatures__bandwidth"]
    assert search.best_estimator_[-1].features_.bandwidth == best
    assert clone(model)[0].get_params() == model[0].get_params()


def test_exports_take_the_rows_that_the_model_takes():
    numbers = dplr.Bounds([(-1, 1)] * 2, target=(0, 1))
    linear = make_pipeline(features(bounds=numbers), dplr.LinearRegression(eps=1.0, mechanism="fm")).fit(X, Y * 1.0)
    for model in (make_pipeline(features(), OBJECTIVE).fit(X, Y), linear):
        made = np.asarray(model[0].transform(X))
        plain = model[-1].to_sklearn()
        assert np.allclose(
            np.asarray(plain.predict(made), float), np.asarray(model.predict(X), float), rtol=0, atol=1e-9
        )
        whole = make_pipeline(model[-1].features_, plain)
        assert np.allclose(np.asarray(whole.predict(X), float), np.asarray(model.predict(X), float), rtol=0, atol=1e-9)
        assert '"cos3"' in model[-1].to_sql(columns=model[0].get_feature_names_out().tolist())


def test_every_way_to_fit_keeps_the_map(tmp_path):
    made = features().transform(X)
    assert [est.features_.seed for est in dplr.fit_many(made, Y, eps=[1.0, 2.0], mechanism="objective")] == [0, 0]
    assert dplr.fit(made, Y, eps=1.0, mechanism="fm").refit(l2=0.1).features_.n_components == 20
    assert dplr.fit(made, X[:, 0], eps=1.0, model="linear").features_ is not None
    assert dplr.fit(made, Y, eps=1.0, model="svm", mechanism="objective").features_ is not None
    three = dplr.fit(made, np.arange(400) % 3, eps=1.0, mechanism="objective", classes=[0, 1, 2])
    assert three.coef_.shape == (3, 40)
    assert three.features_ is not None
    public = dplr.fit(made, Y, eps=1.0, mechanism="objective", public=(features().transform(X[:50] / 2), Y[:50]))
    assert public.features_ is not None
    ledger = dplr.Ledger(tmp_path / "budget", eps=2.0)
    assert dplr.fit(made, Y, eps=1.0, mechanism="objective", ledger=ledger).features_ is not None
    with pytest.raises(ValueError, match="must not be the private rows"):
        dplr.fit(made, Y, eps=1.0, mechanism="objective", public=(made, Y))
    assert not dplr.check(made, Y).doubts


def test_a_kernel_finds_a_circle_that_no_line_finds():
    many = np.random.default_rng(5).uniform(-1, 1, (8000, 2))
    inside = (many**2).sum(axis=1) < 0.5
    line = dplr.fit(many / 2, inside, eps=1.0, mechanism="objective").score(many / 2, inside)
    curve = make_pipeline(features(), clone(OBJECTIVE).set_params(eps=1.0)).fit(many, inside).score(many, inside)
    assert line < 0.7 < 0.9 < curve


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_counts_behind_features_are_rates_within_their_bounds(fit_intercept):
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (20_000, 1))
    y = rng.poisson(np.exp(1 + np.cos(2 * X[:, 0])))
    features = dplr.preprocessing.RandomFourierFeatures(
        20, bandwidth=2.0, bounds=dplr.Bounds([(-2, 2)], target=(0, 20))
    )
    model = dplr.PoissonRegressor(eps=math.inf, mechanism="none", l2=1e-7, fit_intercept=fit_intercept)
    pipeline = make_pipeline(features, model).fit(X, y)
    rates = pipeline.predict(X)
    assert rates.min() > 0
    assert rates.max() <= 20
    assert np.abs(rates - np.exp(1 + np.cos(2 * X[:, 0]))).mean() < 0.25


# What a hostile reader found


def overflowing(value=93.25):
    """The private value, and a public bandwidth with which its projection is beyond float64."""
    return np.array([[value], [0.1]] * 50), 1e-308


@pytest.mark.parametrize("bad", [math.nan, math.inf, 93.25])
def test_values_are_not_looked_at_before_the_ledger_was_asked(bad, tmp_path):
    """Else the map would tell a value for nothing: refused, or over budget."""
    X, bandwidth = overflowing(bad)
    ledger = dplr.Ledger(tmp_path / "budget.db", eps=1.0)
    features = dplr.preprocessing.RandomFourierFeatures(1, kernel="gaussian", bandwidth=bandwidth)
    for rows in (X, X * 0):
        model = dplr.LogisticRegression(eps=9.0, mechanism="fm", ledger=ledger)
        with pytest.raises(dplr.BudgetExceeded):
            make_pipeline(features, model).fit(rows, X[:, 0] > 1)
    with pytest.raises(ValueError, match=r"NaN|not finite"):
        make_pipeline(features, dplr.LogisticRegression(eps=0.5, mechanism="fm")).fit(X, X[:, 0] > 1)


def test_missing_values_without_a_policy_make_rows_that_a_fit_refuses():
    bounds = dplr.Bounds([(0, 1), (0, 1)])
    made = dplr.preprocessing.RandomFourierFeatures(5, bounds=bounds).transform(
        np.array([[0.5, 0.5], [math.nan, 0.5], [0.5, math.inf]])
    )
    assert np.isfinite(made).all(axis=1).tolist() == [True, False, False]


def test_rows_of_another_map_are_refused_and_rows_without_a_name_are_taken():
    X = np.random.default_rng(0).uniform(-1, 1, (500, 2))
    maps = [dplr.preprocessing.RandomFourierFeatures(20, seed=seed) for seed in (0, 1)]
    est = dplr.LogisticRegression(eps=5.0, mechanism="objective").fit(maps[0].fit_transform(X), X[:, 0] > 0)
    assert est.predict(np.array(maps[0].transform(X))).shape == (500,)
    with pytest.raises(ValueError, match=r"`X` must be rows of the model's own features; got .*seed=1"):
        est.predict(maps[1].transform(X))
    raw = dplr.LogisticRegression(eps=5.0, mechanism="objective").fit(np.zeros((500, 40)), X[:, 0] > 0)
    with pytest.raises(ValueError, match="fitted to raw rows"):
        raw.predict(maps[0].transform(X))


def test_rows_that_were_written_to_name_no_map():
    made = dplr.preprocessing.RandomFourierFeatures(20).fit_transform(np.zeros((10, 2)))
    with pytest.raises(ValueError, match=r"read-only|not writeable|WRITEABLE"):
        made.base[...] = 7
    shaped = made[:]
    shaped.shape = (20, 20)
    est = dplr.LogisticRegression(eps=5.0, mechanism="objective").fit(shaped, np.arange(20) % 2)
    assert est.features_ is None
