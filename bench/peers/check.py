"""What docs/trust/accuracy.md says about each package, run on the package itself; not part of any test.

    python -m bench.peers.check PACKAGE [PACKAGE ...]

Run it with the interpreter of an environment that has the package: dplr, opendp and dp_accounting in that of
`make oracle`, diffprivlib in that of `make bench-peers`, opacus in that of `make bench-opacus`; jax_privacy 2.0.0 needs
one of its own. Each line is one finding. DPpack is an R package and was read, not run.
"""

import argparse
import copy
import importlib
import inspect
import math
import os
import pickle
import subprocess
import sys
import tempfile
import warnings
from importlib import metadata

import numpy as np
from scipy.stats import beta

EPS, DELTA = 1.0, 1e-5


def say(question, finding):
    print(f"  {question}: {finding}", flush=True)


def outcome(action):
    """What the action returns, or the error that refuses it."""
    try:
        return action()
    except Exception as error:  # a refusal is a finding too
        return f"{type(error).__name__}: {' '.join(str(error).split())[:140]}"


def distribution(package):
    """Version, licence, maturity and wheel, as the installed distribution states them."""
    files = metadata.distribution(package)
    known = files.metadata
    licence = known.get("License-Expression") or known.get("License")
    maturity = [line for line in known.get_all("Classifier", []) if line.startswith("Development Status")]
    tags = [line for line in (files.read_text("WHEEL") or "").splitlines() if line.startswith("Tag")]
    print(f"{package} {files.version}: licence {licence}; {maturity or 'no status'}; {tags[:1]}", flush=True)


def least_loss(hits, hits_there, draws, confidence=0.999):
    """The privacy loss that the two counts of one event prove, at the confidence (Clopper-Pearson on both sides)."""
    risk = (1 - confidence) / 2
    low = beta.ppf(risk, hits, draws - hits + 1) if hits else 0.0
    high = beta.ppf(1 - risk, hits_there + 1, draws - hits_there)
    return math.log(low / high) if low else -math.inf


def table(n=400, d=3, classes=2):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (n, d)) / math.sqrt(d)
    return X, (X[:, 0] * 10).round().astype(int) % classes


# dplr


def check_dplr():
    dplr = importlib.import_module("dplr")
    X, y = table()
    for mechanism, delta in (("fm", 0.0), ("fm", DELTA), ("objective", 0.0), ("output", DELTA), ("ngd", DELTA)):
        for relation in ("replace_one", "add_remove"):
            options = {"mechanism": mechanism, "eps": EPS, "delta": delta, "neighbouring": relation}
            if relation == "add_remove":  # the true number is private: a public reference takes its place
                options["n_rows"] = 500
            stated = outcome(lambda options=options: dplr.fit(X, y, **options).privacy_.arithmetic)
            say(f"{mechanism}, delta = {delta:g}, {relation}", f"fitted, arithmetic {stated}")
    say("ngd with delta = 0", outcome(lambda: dplr.fit(X, y, mechanism="ngd", eps=EPS)))
    many = {"mechanism": "fm", "eps": EPS}
    say("three classes, not declared", outcome(lambda: dplr.fit(*table(classes=3), **many)))
    three = dplr.fit(*table(classes=3), classes=(0, 1, 2), **many)
    say("three classes, declared", f"{three.coef_.shape}, one statement of eps {three.privacy_.eps:g}")
    _dplr_ledger(dplr, X, y)
    same = {dplr.fit(X, y, mechanism="objective", eps=EPS).coef_.tobytes() for _ in range(10)}
    say("different releases in 10 fits", len(same))
    say(
        "intervals, tuning",
        [name for name in dplr.__all__ if any(part in name.lower() for part in ("interval", "search"))],
    )


def _dplr_ledger(dplr, X, y):
    tools = importlib.import_module("sklearn.model_selection")
    path = os.path.join(tempfile.mkdtemp(), "budget.ledger")
    ledger = dplr.Ledger(path, eps=5 * EPS)
    estimator = dplr.LogisticRegression(mechanism="fm", eps=EPS, ledger=ledger)
    tools.cross_val_score(estimator, X, y, cv=tools.KFold(5, shuffle=True), n_jobs=2)
    found = f"recorded {ledger.spent()}, left {ledger.remaining()}"
    say("five folds of eps 1 in two processes under a budget of 5", found)
    say("a sixth fit", outcome(lambda: estimator.fit(X, y)))
    for name, again in (("copied", copy.deepcopy(ledger)), ("pickled", pickle.loads(pickle.dumps(ledger)))):
        say(f"a fit with the {name} ledger", outcome(lambda again=again: estimator.set_params(ledger=again).fit(X, y)))
    code = f"import dplr; print(dplr.Ledger({path!r}).remaining())"
    left = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
    say("left, as another process sees it", left)


# diffprivlib


def check_diffprivlib():
    models = importlib.import_module("diffprivlib.models")
    budget = importlib.import_module("diffprivlib.accountant").BudgetAccountant
    warnings.simplefilter("ignore")
    for model in (models.LinearRegression, models.LogisticRegression):
        say(model.__name__, list(inspect.signature(model).parameters))
    for intercept in (False, True):
        say(f"audit of logistic regression, eps 1, fit_intercept={intercept}", _diffprivlib_audit(models, intercept))
    X, y = table()
    rare = np.arange(400) % 20 != 0
    free = models.LogisticRegression(epsilon=math.inf, C=1e-6, data_norm=1.0).fit(X, rare)
    say(
        "ridge of 1e6 without noise",
        f"coef {np.abs(free.coef_).max():.1e}, intercept {free.intercept_[0]:.2f}: not shrunk",
    )
    spent = budget()
    early = models.LogisticRegression(data_norm=1.0, max_iter=1, accountant=spent).fit(X, y)
    say("one solver step", f"released {early.coef_.round(1).tolist()}, spent {spent.total()}")
    limit = budget(3, 0)
    folds = importlib.import_module("sklearn.model_selection").cross_val_score(
        models.LogisticRegression(data_norm=1.0, accountant=limit), X, y, cv=5
    )
    say("cross-validation of eps 1 under a budget of 3", f"{len(folds)} folds fitted, recorded {limit.total()}")
    X3, y3 = table(classes=3)
    fits = [models.LogisticRegression(data_norm=1.0, n_jobs=2).fit(X3, y3).coef_ for _ in range(2)]
    say("three classes", fits[0].shape)
    say("two fits in a row with n_jobs=2 are the same release", np.array_equal(*fits))
    _diffprivlib_linear(models, X)
    say("sparse rows", outcome(lambda: _sparse_fit(models, X, y)))


def _sparse_fit(models, X, y):
    rows = importlib.import_module("scipy.sparse").csr_matrix(X)
    return type(models.LogisticRegression(data_norm=1.0).fit(rows, y)).__name__


def _diffprivlib_audit(models, intercept, norm=100.0, draws=3000, near=3.0):
    """How much more often the score at x = norm is near 0 with a record there than with one at 0 in its place."""
    here = (np.array([[norm], [0.0]]), np.array([1, 0]))
    there = (np.array([[0.0], [0.0]]), np.array([1, 0]))
    options = {"epsilon": EPS, "data_norm": norm, "fit_intercept": intercept}

    def score(data):
        model = models.LogisticRegression(**options).fit(*data)
        return model.coef_[0, 0] * norm + float(np.ravel(model.intercept_)[0])

    hits = [sum(bool(abs(score(data)) < near) for _ in range(draws)) for data in (here, there)]
    return f"{hits} of {draws} scores below {near}: loss at least {least_loss(*hits, draws):.2f}"


def _diffprivlib_linear(models, X):
    X = np.abs(X)
    y = X[:, 0]
    model = models.LinearRegression(epsilon=EPS, bounds_X=(0, 1), bounds_y=(0, 1), fit_intercept=False)
    noisy = np.diag(model.fit(X, y)._obj_coefs[2])
    say("noise on the squares, bounds (0, 1), no intercept", np.abs(noisy - (X**2).sum(axis=0)).max())
    far = X.copy()
    far[0, 0] = 1e6
    seen = np.diag(model.fit(far, y)._obj_coefs[2])[0]
    say("a value of 1e6 in bounds (0, 1), no intercept", f"sum of squares {seen:.3g}")
    say("sum of eps of all noise drawn in a fit of eps 1, d = 3", round(_eps_drawn(models, X, y), 4))
    names = (np.zeros(3), np.ones(3))
    say(
        "bounds a column",
        outcome(lambda: models.LinearRegression(bounds_X=names, bounds_y=(0, 1)).fit(X, y).coef_.shape),
    )


def _eps_drawn(models, X, y):
    """The sum of the eps of every call of a Laplace mechanism in one fit."""
    mechanisms = importlib.import_module("diffprivlib.mechanisms")
    kinds = (mechanisms.Laplace, mechanisms.LaplaceFolded, mechanisms.LaplaceTruncated)
    originals, spent = [kind.randomise for kind in kinds], []

    def counting(kind, original):
        def randomise(self, value):
            if type(self) is kind:  # not a subclass that calls its parent
                spent.append(self.epsilon)
            return original(self, value)

        return randomise

    for kind, original in zip(kinds, originals, strict=True):
        kind.randomise = counting(kind, original)
    models.LinearRegression(epsilon=EPS, bounds_X=(0, 1), bounds_y=(0, 1)).fit(X, y)
    for kind, original in zip(kinds, originals, strict=True):
        kind.randomise = original
    return sum(spent)


# OpenDP


def check_opendp():
    dp = importlib.import_module("opendp.prelude")
    say("measurements", [name for name in dir(dp.m) if name.startswith("make_")])
    say("combinators", [name for name in dir(dp.c) if name.startswith("make_")])
    say("models", dp.sklearn.linear_model.__all__)
    bounds = {"x_bounds": [(0, 10)], "y_bounds": (0, 10), "scale": 1.0}
    linear = dp.sklearn.linear_model.LinearRegression
    say("LinearRegression takes", list(inspect.signature(linear).parameters))
    say("without flags", outcome(lambda: linear(dp.max_divergence(), **bounds)))
    dp.enable_features("contrib", "honest-but-curious", "idealized-numerics")
    say("two predictors", outcome(lambda: linear(dp.max_divergence(), **bounds | {"x_bounds": [(0, 10), (0, 1)]})))
    measurement = linear(dp.max_divergence(), **bounds).measurement
    say("metric, and eps of one added record", f"{measurement.input_metric}, {measurement.map(1)}")
    say("zero-concentrated", outcome(lambda: linear(dp.zero_concentrated_divergence(), **bounds).measurement.map(1)))
    documented = " ".join(dp.m.make_laplace.__doc__.split())
    say("Laplace noise is sampled from the discrete law", "using the discrete Laplace" in documented)
    say("make_laplace has a proof document", "Proof Document" in documented)
    records = {"data": [1.0, 2.0, 3.0], "domain": dp.vector_domain(dp.atom_domain(T=float, nan=False))}
    build = dp.Context.compositor
    context = build(
        **records, privacy_unit=dp.unit_of(contributions=1), privacy_loss=dp.loss_of(epsilon=EPS), split_evenly_over=1
    )

    def ask():
        return round(context.query().clamp((0.0, 10.0)).sum().laplace().release(), 2)

    say("first query of a budget of one", outcome(ask))
    say("second", outcome(ask))
    say("pickled budget", outcome(lambda: len(pickle.dumps(context))))
    say("copied budget", outcome(lambda: copy.deepcopy(context)))
    again = build(**records, privacy_unit=dp.unit_of(changes=1), privacy_loss=dp.loss_of(epsilon=EPS, delta=DELTA))
    say("a second context on the same data, other relation, (eps, delta)", again.accountant.input_metric)


# Opacus


def _opacus_private(rows=1000, passes=2, accountant="prv"):
    torch = importlib.import_module("torch")
    engine = importlib.import_module("opacus").PrivacyEngine(accountant=accountant)
    data = torch.utils.data.TensorDataset(torch.ones(rows, 3), torch.ones(rows, 1))
    layer = torch.nn.Linear(3, 1)
    parts = engine.make_private_with_epsilon(
        module=layer,
        optimizer=torch.optim.SGD(layer.parameters(), lr=0.1),
        data_loader=torch.utils.data.DataLoader(data, batch_size=100),
        target_epsilon=EPS,
        target_delta=DELTA,
        epochs=passes,
        max_grad_norm=1.0,
    )
    return engine, parts


def _opacus_train(parts, passes):
    torch = importlib.import_module("torch")
    model, optimizer, loader = parts
    for _ in range(passes):
        for X, y in loader:
            optimizer.zero_grad()
            torch.nn.functional.binary_cross_entropy_with_logits(model(X), y).backward()
            optimizer.step()
    return model._module.weight.detach().numpy().copy()


def check_opacus():
    torch = importlib.import_module("torch")
    opacus = importlib.import_module("opacus")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        engine, parts = _opacus_private()
    say("warning by default", next(str(item.message)[:60] for item in caught if "RNG" in str(item.message)))
    warnings.simplefilter("ignore")
    say("noise multiplier found for eps 1", parts[1].noise_multiplier)
    _opacus_train(parts, 2)
    say("eps after the planned passes", round(engine.get_epsilon(DELTA), 3))
    _opacus_train(parts, 6)
    say("eps after more of them: nothing stops it", round(engine.get_epsilon(DELTA), 3))
    say("softmax of three classes", _opacus_three_classes())
    say("accountant's state can be saved", sorted(engine.accountant.state_dict()))
    say("secure_mode=True", outcome(lambda: opacus.PrivacyEngine(secure_mode=True)))
    say("eps at delta = 0 (RDP)", outcome(_trained_without_delta))
    releases = []
    for _ in range(2):
        torch.manual_seed(7)
        releases.append(_opacus_train(_opacus_private()[1], 1))
    say("the global seed decides the noise", np.array_equal(*releases))
    sizes = [_opacus_private(rows)[1][1].expected_batch_size for rows in (1000, 1001)]
    say("divisor of the gradients with 1000 and 1001 records", sizes)
    text = inspect.getsource(importlib.import_module("opacus.privacy_engine")).lower()
    say("neighbouring relation named in privacy_engine.py", any(word in text for word in ("neighb", "adjacen")))


def _opacus_three_classes():
    torch = importlib.import_module("torch")
    layer = torch.nn.Linear(3, 3)
    model, optimizer, _ = (
        importlib.import_module("opacus")
        .PrivacyEngine()
        .make_private(
            module=layer,
            optimizer=torch.optim.SGD(layer.parameters(), lr=0.1),
            data_loader=torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.ones(30, 3)), batch_size=10),
            noise_multiplier=1.0,
            max_grad_norm=1.0,
        )
    )
    torch.nn.functional.cross_entropy(model(torch.ones(9, 3)), torch.arange(9) % 3).backward()
    optimizer.step()
    return f"a step was taken, weights {tuple(layer.weight.shape)}"


def _trained_without_delta():
    engine, parts = _opacus_private(accountant="rdp")
    _opacus_train(parts, 1)
    return engine.get_epsilon(0.0)


# dp-accounting


def check_dp_accounting():
    library = importlib.import_module("dp_accounting")
    pld = importlib.import_module("dp_accounting.pld")
    relations = library.NeighboringRelation
    say("relations", [relation.name for relation in relations])
    say("events", [name for name in dir(library) if name.endswith("DpEvent")])
    for relation in relations:
        accountant = pld.PLDAccountant(relation)
        step = library.PoissonSampledDpEvent(0.01, library.GaussianDpEvent(1.0))
        total = outcome(lambda accountant=accountant, step=step: accountant.compose(step, 100).get_epsilon(DELTA))
        say(f"100 Poisson steps, {relation.name}", total)
    laplace = pld.privacy_loss_distribution.from_laplace_mechanism(1.0).get_epsilon_for_delta(0.0)
    composed = pld.PLDAccountant().compose(library.LaplaceDpEvent(1.0)).get_epsilon(0.0)
    say("pure eps of Laplace noise of scale 1: its loss distribution, the accountant", (laplace, composed))
    say("a pickled accountant, bytes", len(pickle.dumps(pld.PLDAccountant())))
    found = library.calibrate_dp_mechanism(
        lambda: pld.PLDAccountant(),
        lambda sigma: library.SelfComposedDpEvent(library.GaussianDpEvent(sigma), 10),
        EPS,
        DELTA,
    )
    say("noise multiplier of 10 steps from eps", found)
    say("fits or draws noise", [name for name in dir(library) if name in ("fit", "sample", "add_noise")])


# JAX-Privacy


def check_jax_privacy():
    plans = importlib.import_module("jax_privacy.experimental.execution_plan")
    clipping = importlib.import_module("jax_privacy.clipping")
    relations = importlib.import_module("dp_accounting").NeighboringRelation
    noise = importlib.import_module("jax_privacy.noise_addition")
    jax = importlib.import_module("jax")
    say("plans", [name for name in dir(plans) if name.endswith(("Plan", "Config"))])
    default = plans.BandMFExecutionPlanConfig
    options = {"epsilon": EPS, "delta": DELTA, "iterations": 100, "num_bands": 1, "sampling_prob": 0.01}
    say("a plan from eps", outcome(lambda: str(default.default(**options).plan.dp_event)))
    say("parameters of default()", list(inspect.signature(default.default).parameters))
    clipped = clipping.clipped_grad(_loss, l2_clip_norm=1.0)
    say("sensitivities", {relation.name: clipped.sensitivity(relation) for relation in relations})
    say("discrete noise in noise_addition.py", "discrete" in inspect.getsource(noise).lower())
    drawn = [jax.random.normal(jax.random.key(7), (2,)).tolist() for _ in range(2)]
    say("a key decides the noise", drawn[0] == drawn[1])
    audit = importlib.import_module("jax_privacy.auditing").CanaryScoreAuditor
    say("auditor", [name for name in dir(audit) if not name.startswith("_")])


def _loss(weights, features):
    return (weights * features).sum()


CHECKS = {
    "dplr": check_dplr,
    "diffprivlib": check_diffprivlib,
    "opendp": check_opendp,
    "opacus": check_opacus,
    "dp_accounting": check_dp_accounting,
    "jax_privacy": check_jax_privacy,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("packages", nargs="+", choices=CHECKS)
    for package in parser.parse_args().packages:
        distribution(package)
        CHECKS[package]()


if __name__ == "__main__":
    main()
