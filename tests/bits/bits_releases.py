"""Hashes of what every mechanism releases from fixed rows and a fixed seed, on every CPU path.

Fits are made by the mechanisms themselves, without scikit-learn. Only released numbers are hashed, and none that come
after a step of LAPACK, whose last bits are those of a platform: later rounds of a score, squared residuals.
"""

from bits_made import digest, each_path, made

from dplr.fitting import ranges
from dplr.mechanisms.functional.spec import FunctionalMechanism
from dplr.mechanisms.noisy_gd.spec import NoisyGradientDescent
from dplr.mechanisms.perturbation.objective import ObjectivePerturbation
from dplr.mechanisms.perturbation.output import OutputPerturbation
from dplr.mechanisms.score.spec import ScoreRelease
from dplr.noise import Source
from dplr.privacy.guarantees import Neighbouring
from dplr.problem.losses import LOGISTIC, SQUARED, huber_residual, huber_svm, poisson
from dplr.problem.problem import Problem
from dplr.rows import ArrayRows

ONE, ANY = Neighbouring.REPLACE_ONE, Neighbouring.ADD_REMOVE
N = 1000
AFTER_LAPACK = ("round_2", "round_3", "meat")
# name: mechanism, loss, kind of rows, relation, eps, delta
CASES = {
    "fm laplace ball": (FunctionalMechanism(), LOGISTIC, "ball", ONE, 1.0, 0.0),
    "fm laplace box": (FunctionalMechanism(), LOGISTIC, "box", ONE, 0.5, 0.0),
    "fm laplace add_remove": (FunctionalMechanism(), LOGISTIC, "box", ANY, 1.0, 0.0),
    "fm laplace numbers": (FunctionalMechanism(), SQUARED, "box", ONE, 1.0, 0.0),
    "fm gaussian": (FunctionalMechanism(noise="gaussian"), LOGISTIC, "box", ONE, 1.0, 1e-6),
    "fm gaussian numbers": (FunctionalMechanism(noise="gaussian"), SQUARED, "ball", ANY, 1.0, 1e-6),
    "fm paper": (FunctionalMechanism(calibration="paper"), SQUARED, "ball", ONE, 1.0, 0.0),
    "fm rerun": (FunctionalMechanism(unbounded="rerun"), LOGISTIC, "box", ONE, 8.0, 0.0),
    "fm robust": (FunctionalMechanism(intervals="robust"), SQUARED, "box", ONE, 1.0, 1e-6),
    "ngd": (NoisyGradientDescent(), LOGISTIC, "ball", ONE, 1.0, 1e-6),
    "ngd numbers": (NoisyGradientDescent(steps=9), SQUARED, "box", ANY, 1.0, 1e-6),
    "ngd svm": (NoisyGradientDescent(steps=9, standardise="off"), huber_svm(0.5), "box", ONE, 1.0, 1e-6),
    "ngd poisson": (NoisyGradientDescent(steps=9, standardise="off"), poisson(0.0, 8.0), "box", ONE, 1.0, 1e-6),
    "ngd aggregate": (NoisyGradientDescent(clipping="aggregate", composition="per-step", steps=5, clip=0.5), LOGISTIC,
                      "ball", ONE, 1.0, 1e-6),
    "ngd standardised": (NoisyGradientDescent(steps=9, standardise="on"), LOGISTIC, "box", ONE, 1.0, 1e-6),
    "score": (ScoreRelease(), LOGISTIC, "box", ONE, 1.0, 1e-6),
    "score one round": (ScoreRelease(rounds=1), LOGISTIC, "ball", ANY, 1.0, 1e-6),
    "output": (OutputPerturbation(), LOGISTIC, "ball", ONE, 1.0, 0.0),
    "output gaussian": (OutputPerturbation(noise="gaussian"), huber_svm(0.5), "box", ANY, 1.0, 1e-6),
    "output numbers": (OutputPerturbation(), huber_residual(0.5), "box", ONE, 1.0, 0.0),
    "objective": (ObjectivePerturbation(), LOGISTIC, "ball", ONE, 1.0, 0.0),
    "objective box": (ObjectivePerturbation(), LOGISTIC, "box", ANY, 1.0, 0.0),
    "objective gaussian": (ObjectivePerturbation(noise="gaussian"), LOGISTIC, "box", ONE, 1.0, 1e-6),
    "objective numbers": (ObjectivePerturbation(), SQUARED, "box", ONE, 1.0, 0.0),
    "objective cms11": (ObjectivePerturbation(calibration="cms11"), LOGISTIC, "ball", ONE, 1.0, 0.0),
    "objective cm08": (ObjectivePerturbation(calibration="cm08"), LOGISTIC, "ball", ONE, 1.0, 0.0),
    "objective intervals": (ObjectivePerturbation(intervals="on"), LOGISTIC, "box", ONE, 1.0, 0.0),
}  # fmt: skip


def releases():
    """(name, path, hash) of every release on every CPU path of this machine."""
    for path in each_path():
        for seed, (name, case) in enumerate(CASES.items()):
            yield f"release {name}", path, _release(seed, *case)
        yield "release ranges", path, _ranges()


def _release(seed, mechanism, loss, kind, relation, eps, delta):
    """The released blocks; the coefficients of mechanisms that release these."""
    X, y, prep = made(kind, N, 4, labels=loss.classification)
    plan = mechanism.plan(Problem(loss, prep.geometry, relation, N, None, ()), eps, delta)
    released = mechanism.run(ArrayRows(X, y, prep), plan, Source(seed))
    parts = {name: released[name] for name in plan.statement.released if not name.startswith(AFTER_LAPACK)}
    assert parts
    return digest(*(part for name in sorted(parts) for part in (name, parts[name])))


def _ranges():
    X, y, prep = made("box", N, 4, labels=False)
    problem = Problem(SQUARED, prep.geometry, ONE, N, None, ())
    plan = ranges.plan_ranges(FunctionalMechanism(ranges="on"), problem, prep, 1.0, 0.0)
    found = ranges.drawn(ranges.moments_of(ArrayRows(X, y, prep)), plan, Source(41))
    return digest(found[ranges.SUMS], found[ranges.SQUARES])
