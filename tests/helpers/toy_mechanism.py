"""A mechanism that the package does not have: what its folder would hold, in one file.

It releases the sum of label times row with Laplace noise, and takes a multiple of its mean for the coefficients.
"""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dplr._kit.progress import silent
from dplr._kit.validation import check_positive, sentence
from dplr.mechanisms.protocol import Description, Mechanism
from dplr.privacy import calibration
from dplr.privacy.guarantees import Pure
from dplr.privacy.statement import Release
from dplr.problem.plan import Plan
from dplr.rows.exact import Moments

ABOUT = Description(
    name="toy",
    module="toy_mechanism",
    spec="LabelledMean",
    title="the labelled mean",
    words="noise on the sum of labels times records",
    laws=(("discrete Laplace",), ("discrete Laplace",)),
    arithmetic="integer",
    noise_in="sums",
    hint="toy is pure",
)


@dataclass(frozen=True, slots=True)
class LabelledMean(Mechanism):
    about: ClassVar[Description] = ABOUT
    length: float = 4.0

    def __post_init__(self):
        check_positive("length", self.length)

    def check(self, problem):
        if problem.n_rows is None:
            raise ValueError(sentence("n_rows", 'is required with mechanism="toy"', None))

    def blocks(self, problem, eps, delta, classes=()):
        return {"labelled": (problem.geometry.n_coefs,)}

    def plan(self, problem, eps, delta, classes=()):
        self.check(problem)
        if delta > 0:
            raise ValueError(sentence("delta", 'must be 0 with mechanism="toy"', delta))
        size, law = problem.geometry.n_coefs, "none" if math.isinf(eps) else "discrete Laplace"
        largest = problem.neighbouring.records_changed * math.sqrt(size) * problem.geometry.row_norm
        block = Release((size,), largest, law, 0.0, 2.0**Moments.exponent)
        if law != "none":
            charged, (noise,) = calibration.discrete_laplace(largest, eps, (1.0,), (size,))
            block = Release((size,), charged, law, noise.scale, noise.grid, 1.0, noise.units)
        words, source = f"L1 sensitivity {largest:.6g}", "a toy of the tests"
        statement = self.promise(problem, eps, delta, Pure(eps), {"labelled": block}, words, source)
        return Plan(self, problem, statement)

    def run(self, rows, plan, source, track=silent):
        geometry, block = plan.problem.geometry, plan.statement.released["labelled"]
        total = rows.total(Moments(geometry.d, geometry.intercept > 0))
        units = total.integers(math.frexp(block.grid)[1] - 1, (np.arange(geometry.n_coefs), geometry.n_coefs))
        if block.units:
            units = units + source.laplace(block.units, len(units))
        return {"labelled": units.astype(np.float64) * block.grid}

    def solve(self, plan, parts):
        return [self.length * part["labelled"] / plan.problem.n_rows for part in parts]
