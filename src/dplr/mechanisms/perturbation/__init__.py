"""Output and objective perturbation, and the exact minimiser.

All three minimise one regularised objective (`minimisation.py`) to a certified gradient. Output perturbation adds noise
to the minimiser; objective perturbation adds a random linear term to the objective (`linear_term.py`, `noise.py`);
`none.py` adds nothing. `ridge.py` has the default ridge, and `hessian.py` and `squares.py` the releases that intervals
of log odds need. Proofs: output.md, objective.md.
"""

from __future__ import annotations

from dplr.mechanisms.protocol import Description
from dplr.privacy.law import Law

ABOUT_OUTPUT = Description(
    name="output",
    module="dplr.mechanisms.perturbation.output",
    spec="OutputPerturbation",
    title="output perturbation",
    words="noise on the coefficients",
    laws=((Law.NORM_GAMMA,), (Law.GAUSSIAN,)),
    arithmetic="integer",
    former_arithmetic="real-arithmetic",
    noise_in="coefficients",
)

ABOUT_OBJECTIVE = Description(
    name="objective",
    module="dplr.mechanisms.perturbation.objective",
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

ABOUT_NONE = Description(
    name="none",
    module="dplr.mechanisms.perturbation.none",
    spec="NoPrivacy",
    title="exact minimisation",
    words="without noise",
    laws=((Law.NONE,), (Law.NONE,)),
    arithmetic="real-arithmetic",
    noise_in="coefficients",
    hint="none is not private",
)
