"""Audits of whole configurations: right ones pass and come near their eps, broken copies are caught."""

import dataclasses
import functools
import math

import numpy as np
import pytest

import dplr
from declared_units import declared
from dplr.auditor import door
from dplr.auditor.evidence import evidence_of
from dplr.auditor.neighbours import Pair, Pool, Record
from dplr.auditor.noise import check_noise
from dplr.auditor.trace import Draw, Tracing
from dplr.auditor.trial import Duel, Trial
from dplr.estimators import estimator_of
from dplr.mechanisms import FunctionalMechanism, NoisyGradientDescent, ScoreRelease, drawing
from dplr.privacy.law import Law

BOUNDS = {"age": (18, 99), "work": {"levels": ["none", "some", "full"], "missing": "indicator"}}
LABELS, NUMBERS = dplr.Bounds(BOUNDS, target=("no", "yes")), dplr.Bounds(BOUNDS, target=(0, 100))
COUNTS = {"model": "poisson", "bounds": dplr.Bounds(BOUNDS, target=(0, 8))}
SHORT = NoisyGradientDescent(steps=8)
FEW = {"eps": 1.0, "pairs": 40, "runs": 20}
# The least that the worst of so few pairs loses, over eps.
CONFIGURATIONS = {
    "fm": ({"mechanism": "fm"}, 0.95),
    "fm, numbers": ({"mechanism": "fm", "bounds": NUMBERS, "model": "linear"}, 0.9),
    "fm, gaussian": ({"mechanism": FunctionalMechanism(noise="gaussian"), "delta": 1e-5}, 0.8),
    "fm, persons": ({"mechanism": "fm", "person": "id", "rows_per_person": 2, "pairs": 80}, 0.9),
    "fm, weights": ({"mechanism": "fm", "weight_max": 4}, 0.9),
    "fm, added": ({"mechanism": "fm", "neighbouring": "add_remove"}, 0.8),
    "fm, ranges": ({"mechanism": dplr.FunctionalMechanism(ranges="on"), "n_rows": 300}, 0.3),
    "fm, curves": ({"mechanism": "fm", "curves": 4}, 0.9),
    "fm, squares": ({"mechanism": FunctionalMechanism(intervals="robust"), "bounds": NUMBERS, "model": "linear"}, 0.5),
    "objective": ({"mechanism": "objective"}, 0.9),
    "objective, added": ({"mechanism": "objective", "neighbouring": "add_remove"}, 0.8),
    "objective, table": ({"mechanism": "objective", "aim": "coefficients"}, 0.3),
    "objective, svm": ({"mechanism": "objective", "model": "svm"}, 0.5),
    "objective, of counts": ({**COUNTS, "mechanism": "objective", "n_rows": 1_000, "pairs": 20}, 0.5),
    "output": ({"mechanism": "output"}, 0.2),
    "output, poisson counts": ({**COUNTS, "mechanism": "output", "n_rows": 1_000, "pairs": 20}, 0.3),
    "output, numbers": ({"mechanism": "output", "bounds": NUMBERS, "model": "linear", "delta": 1e-5}, 0.1),
    "ngd": ({"mechanism": SHORT, "delta": 1e-5}, 0.3),
    "ngd, persons": ({"mechanism": SHORT, "delta": 1e-5, "person": "id"}, 0.3),
    "score": ({"mechanism": ScoreRelease(rounds=2), "delta": 1e-5}, 0.5),
    "score, counts": (
        {**COUNTS, "mechanism": ScoreRelease(rounds=2), "delta": 1e-5}, 0.1,
    ),
    "ball": ({"mechanism": "fm", "bounds": None, "n_features": 2}, 0.9),
}  # fmt: skip


@pytest.mark.grid(3)
@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_a_right_configuration_passes_and_its_worst_pair_comes_near_eps(name):
    options, floor = CONFIGURATIONS[name]
    audit = dplr.audit(**declared({**FEW, "bounds": LABELS, **options}))
    assert audit.passed, audit.verdict
    assert floor * audit.statement.eps <= audit.exact <= audit.statement.eps * (1 + 1e-9)
    assert "Nothing contradicts eps = 1" in audit.verdict


@pytest.mark.parametrize("options", [
    {"mechanism": "fm", "person": "id"},
    *(pytest.param(options, marks=pytest.mark.thorough) for options in (
        {"mechanism": "objective"}, {"mechanism": SHORT, "delta": 1e-5}, {"mechanism": "output"},
        {"mechanism": ScoreRelease(rounds=2), "delta": 1e-5},
    )),
], ids=["fm", "objective", "ngd", "output", "score"])  # fmt: skip
def test_every_broken_copy_is_caught(options):
    audit = dplr.audit(**{**FEW, "bounds": LABELS, "runs": 240, "pairs": 100, **options}, broken=True)
    assert audit.passed
    unseen = [twin.fault for twin in audit.twins if not twin.caught]
    if options["mechanism"] == "output":  # its worst pair loses less than half of eps
        unseen.remove("the noise is planned for twice the eps")
    assert unseen == []
    assert len(audit.twins) == (6 if "person" in options else 5)


@pytest.mark.usefixtures("halved_sensitivity")
def test_a_halved_sensitivity_makes_the_verdict_wrong():
    audit = dplr.audit(**FEW, bounds={"age": (18, 99)}, mechanism="fm")
    assert not audit.passed
    assert audit.exact > 1.5
    assert audit.verdict.startswith("WRONG: eps = 1 does not hold; a pair of neighbours loses ")
    assert "An audit can prove" not in str(audit)


def test_batches_have_no_exact_loss_and_a_bound_from_fits():
    spec = NoisyGradientDescent(steps=4, batch=30)
    audit = dplr.audit(**FEW, bounds=LABELS, mechanism=spec, delta=1e-5)
    assert audit.exact is None
    assert not audit.has_ratios
    assert audit.passed
    assert "no formula for this noise" in str(audit)


def test_an_audit_can_be_repeated_and_another_seed_is_another_audit():
    one, same, other = (dplr.audit(**FEW, bounds=LABELS, mechanism="fm", seed=seed) for seed in (3, 3, 4))
    assert str(one) == str(same)
    assert one.scores[0].tolist() == same.scores[0].tolist() != other.scores[0].tolist()


@pytest.mark.thorough
def test_bounds_from_fits_show_a_large_part_of_a_large_eps():
    audit = dplr.audit(eps=6.0, bounds=None, n_features=1, mechanism="fm", pairs=100, runs=2000)
    assert 0.3 * 6 < audit.bound <= 6


@pytest.mark.parametrize(("options", "message"), [
    ({"eps": float("inf")}, "`eps` must be finite"),
    ({"eps": 0}, "`eps`"),
    ({"runs": 5}, "`runs` must be"),
    ({"confidence": 1.0}, "`confidence` must be between 0 and 1"),
    ({"broken": True, "runs": 50}, "`runs` must be at least 100 with broken=True"),
    ({"public": (np.zeros((3, 2)), [0, 1, 0])}, "`public` must be coefficients"),
    ({"mechanism": "ngd"}, "delta"),
    ({"delta": 0.5}, "delta"),
    ({"n_rows": 1}, "`n_rows`"),
])  # fmt: skip
def test_a_wrong_parameter_is_named(options, message):
    with pytest.raises((ValueError, TypeError), match=message):
        dplr.audit(**{**FEW, "bounds": {"age": (18, 99), "sex": (0, 1)}, **options})


def test_an_unknown_keyword_is_refused():
    with pytest.raises(TypeError, match="mechanisms"):
        dplr.audit(eps=1.0, bounds=BOUNDS, mechanisms="fm")


class OfTheData(Tracing):
    """A source whose scale depends on the call: noise that differs between neighbours."""

    calls = 0

    def laplace(self, scale, size):
        OfTheData.calls += 1
        return super().laplace(scale + OfTheData.calls, size)


def pair_of_points():
    others = tuple(Record(np.array([0.1, 0.2]), float(k % 2)) for k in range(9))
    return Pair(Record(np.array([0.6, 0.8]), 1.0), Record(np.array([0.6, 0.8]), 0.0), others)


def test_noise_of_another_scale_for_a_neighbour_is_the_evidence():
    estimator = estimator_of("logistic", classes=[0, 1], eps=1.0, mechanism="fm")
    duel = Duel(Trial(estimator, None, 1.0, False, False, OfTheData), pair_of_points())
    evidence = evidence_of(duel, duel.statement, 20, 0.999, 0, lambda numbers, _: numbers)
    assert evidence.exact == math.inf
    assert "neighbours drew different noise" in evidence.findings[0]


def test_an_audit_of_noise_that_differs_between_neighbours_ends_with_a_verdict(monkeypatch):
    monkeypatch.setattr(door, "Trial", functools.partial(Trial, source=OfTheData))
    audit = dplr.audit(**FEW, bounds={"age": (18, 99)}, mechanism="fm")
    assert not audit.passed
    assert audit.exact == math.inf
    assert "WRONG: eps = 1 does not hold; neighbours drew different noise" in audit.verdict


def test_a_release_that_holds_more_than_noisy_sums_makes_the_verdict_wrong(monkeypatch):
    real = drawing.noisy_cells

    def leaking(total, block, cells, source, power=0):
        real(total, block, cells, source, power)
        return real(total, dataclasses.replace(block, units=0), cells, source, power)

    monkeypatch.setattr(drawing, "noisy_cells", leaking)
    audit = dplr.audit(**FEW, bounds={"age": (18, 99)}, mechanism="fm")
    assert "neighbours with the same noisy sums released different numbers" in audit.verdict


def test_noise_that_is_changed_before_it_is_added_is_not_of_its_law(monkeypatch):
    real = Tracing.laplace
    monkeypatch.setattr(Tracing, "laplace", lambda source, scale, size: real(source, scale, size) // 2)
    audit = dplr.audit(**{**FEW, "runs": 300}, bounds={"age": (18, 99)}, mechanism="fm")
    assert any("does not have its law" in text for text in audit.findings)


def test_one_draw_for_two_sums_of_a_fit_makes_the_verdict_wrong(monkeypatch):
    real, drawn = Tracing.laplace, {}

    def again(source, scale, size):
        if (id(source), scale, size) not in drawn:
            drawn[id(source), scale, size] = source, real(source, scale, size)
        return drawn[id(source), scale, size][1]

    monkeypatch.setattr(Tracing, "laplace", again)
    assert not dplr.audit(**FEW, bounds={"age": (18, 99)}, mechanism="fm").passed


def test_persons_have_rows_of_two_kinds():
    record = Record(np.zeros(2), 0.0, rows=3, mate=(np.ones(2), 1.0))
    assert Pair(record, None, (record,)).table(0).y.tolist() == [0, 1, 0] * 2
    pool = Pool((), np.array([0.0, 1.0]), 2, (1, 7), (1.0,))
    mates = [pool.record(np.random.default_rng(seed)).mate for seed in range(60)]
    assert 5 < sum(mate is not None for mate in mates) < 40


def draws_of(laws, fits, seed=0):
    source = Tracing(seed)
    for _ in range(fits):
        start = len(source.draws)
        for law in laws:
            law(source)
        yield source.draws[start:]


LAWS = {
    "laplace": lambda source: source.laplace(5000, 6),
    "gaussian": lambda source: source.gaussian(5000**2, 6),
    "norm": lambda source: source.norm_gamma(10**6, 6),
    "body": lambda source: source.in_body([10**6] * 3 + [2 * 10**6] * 3, (1, 2, 3)),
    "normals": lambda source: source.normals(10**6, 6),
}


@pytest.mark.parametrize("name", LAWS)
def test_right_noise_passes_and_noise_of_another_scale_does_not(name):
    fits = list(draws_of([LAWS[name]], 600))
    assert check_noise(fits, 0).findings(1e-4) == []
    wider = [[dataclasses.replace(draw, scale=1.3 * draw.scale, scales=tuple(1.3 * s for s in draw.scales))]
             for (draw,) in fits]  # fmt: skip
    assert "law" in check_noise(wider, 0).findings(1e-4)[0]


def test_shared_and_repeated_noise_is_seen():
    shared = []
    for (draw,) in draws_of([LAWS["laplace"]], 200):
        noise = draw.noise.copy()
        noise[5] = noise[0]
        shared.append([Draw(Law.DISCRETE_LAPLACE, 5000.0, noise)])
    assert any("share noise" in text for text in check_noise(shared, 0).findings(1e-4))
    fits = list(draws_of([LAWS["laplace"]], 100))
    assert check_noise([*fits, fits[7]], 0).repeated == 1


def test_little_noise_repeats_by_itself():
    fits = [[Draw(Law.DISCRETE_LAPLACE, 5000.0, np.array([number % 997]))] for number in range(2000)]
    assert check_noise(fits, 0).repeated > 1000
    by_chance = list(draws_of([lambda source: source.laplace(5000, 1)], 2000))
    check = check_noise(by_chance, 0)
    assert check.repeated > 0
    assert check.findings(1e-3) == []


def test_noise_of_few_values_has_no_ranks_to_compare():
    rare = [[Draw(Law.DISCRETE_LAPLACE, 0.2, np.array([one == 7, one == 7]).astype(int))] for one in range(60)]
    assert check_noise(rare, 0).findings(1e-3) == []


def test_fits_that_prove_nothing_say_so():
    audit = dplr.audit(**FEW, bounds={"age": (18, 99)}, mechanism="fm")
    assert audit.bound == 0
    assert "20 of each table prove no difference (confidence 0.999)" in str(audit)
