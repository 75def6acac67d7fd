"""What stands of every spec of a mechanism, whatever its options are. Nothing heavy: `dplr fit --help` reads it."""

from __future__ import annotations

from dplr.mechanisms.protocol import Description
from dplr.privacy.law import Law

_FOLDER = "dplr.mechanisms."
_DISCRETE_GAUSSIAN = (Law.DISCRETE_GAUSSIAN,)

FUNCTIONAL = Description(
    name="fm",
    module=f"{_FOLDER}functional.spec",
    spec="FunctionalMechanism",
    title="the functional mechanism",
    words="noise on sums over the records, from which the model is computed",
    laws=((Law.DISCRETE_LAPLACE,), _DISCRETE_GAUSSIAN),
    arithmetic="integer",
    noise_in="sums",
)
OUTPUT = Description(
    name="output",
    module=f"{_FOLDER}perturbation.output",
    spec="OutputPerturbation",
    title="output perturbation",
    words="noise on the coefficients",
    laws=((Law.NORM_GAMMA,), (Law.GAUSSIAN,)),
    arithmetic="integer",
    former_arithmetic="real-arithmetic",
    noise_in="coefficients",
)
OBJECTIVE = Description(
    name="objective",
    module=f"{_FOLDER}perturbation.objective",
    spec="ObjectivePerturbation",
    title="objective perturbation",
    words="noise in the function that the coefficients minimise",
    laws=((Law.GAUGE_IN_OBJECTIVE, Law.NORM_GAMMA_IN_OBJECTIVE), (Law.GAUSSIAN_IN_OBJECTIVE,)),
    arithmetic="integer",
    former_arithmetic="real-arithmetic",
    noise_in="objective",
    beside=(Law.DISCRETE_LAPLACE,),  # on a Hessian
    least_delta=2.0**-64,  # for a linear term too long for the solver: objective.md, section 5
)
DESCENT = Description(
    name="ngd",
    module=f"{_FOLDER}noisy_gd.spec",
    spec="NoisyGradientDescent",
    title="noisy gradient descent",
    words="noise on every step's sum of clipped gradients",
    laws=(_DISCRETE_GAUSSIAN, _DISCRETE_GAUSSIAN),
    arithmetic="integer",
    noise_in="sums",
    steps_in="gradients",
    hint="ngd needs delta > 0",
)
SCORE = Description(
    name="score",
    module=f"{_FOLDER}score.spec",
    spec="ScoreRelease",
    title="the score release",
    words="noise on sums of gradients and their slopes, from which Newton steps are made",
    laws=(_DISCRETE_GAUSSIAN, _DISCRETE_GAUSSIAN),
    arithmetic="integer",
    noise_in="sums",
    hint="score needs delta > 0 and a logistic, Huber or Poisson model",
)
NONE = Description(
    name="none",
    module=f"{_FOLDER}perturbation.none",
    spec="NoPrivacy",
    title="exact minimisation",
    words="without noise",
    laws=((Law.NONE,), (Law.NONE,)),
    arithmetic="real-arithmetic",
    noise_in="coefficients",
    hint="none is not private",
)
SHORTHANDS = {each.name: each for each in (FUNCTIONAL, OUTPUT, OBJECTIVE, DESCENT, SCORE, NONE)}
