"""The interface of mechanisms: the methods of a spec, and the description of a mechanism.

The descriptions stand in `descriptions.py`, which imports nothing heavy: `dplr fit --help` reads it.
"""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeAlias

from dplr._kit.progress import Track, silent
from dplr.privacy.estimand import Estimand
from dplr.privacy.guarantees import Approx, Gaussian, Poisson, Pure
from dplr.privacy.law import Law
from dplr.privacy.statement import PrivacyStatement, Release
from dplr.problem.losses import has_score

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from dplr.inference.reading import Reading
    from dplr.noise import Source
    from dplr.privacy.profiles import Profile
    from dplr.problem.link import Link
    from dplr.problem.outlook import GradientNoise
    from dplr.problem.plan import Plan
    from dplr.problem.problem import Problem
    from dplr.rows import Rows

Shape = tuple[int | None, ...]
MechanismLike: TypeAlias = "Mechanism | str"
"""`"auto"`, a shorthand such as `"fm"`, or a spec such as ``dplr.FunctionalMechanism()``."""
Intervals: TypeAlias = "tuple[NDArray[np.float64], NDArray[np.float64]]"
# Where a delta was asked for: the law with the smaller noise, or Gaussian noise, which composes better.
NOISES = ("smaller", "gaussian")
# Whether numbers are clipped to ranges that are released first; `"auto"`: where that pays (ranges.md).
RANGES = ("auto", "on", "off")
# What a fit is for: `"prediction"` has the smallest error; `"coefficients"` are biased least, and noisier.
AIMS = ("prediction", "coefficients")
# The assumption in a statement where `Mechanism.intervals_of` is not None.
CLIPS = "numbers, except flags, are clipped to ranges made of released sums, for no further eps"


@dataclass(frozen=True, slots=True)
class Description:
    """Facts of every spec of a mechanism, whatever its options are.

    Attributes
    ----------
    name : the shorthand, which statements and model files carry.
    module, spec : where the class of the specs is, and its name.
    title : name of the mechanism in prose.
    words : what its noise is on, in a few words.
    laws : the laws that its noise may have where no delta was asked for, and where one was; `Law.NONE` for a mechanism
        without noise.
    arithmetic : `"integer"` or `"real-arithmetic"`, as its statements have it.
    former_arithmetic : what statements in files of earlier versions say instead; empty for nothing else.
    noise_in : the place of the noise: `"sums"`, which are released, or the `"objective"` or the `"coefficients"` of a
        model that is released alone.
    least_delta : the delta that the release of one model states where no delta was asked for.
    beside : laws of the noise on further blocks, where `noise_in` is not the sums and there may be some.
    steps_in : the released block with one row for each step of a descent, whose fits have iterates; empty for none.
    hint : addition to the help of the command line; may be empty.
    """

    name: str
    module: str
    spec: str
    title: str
    words: str
    laws: tuple[tuple[Law, ...], tuple[Law, ...]]
    arithmetic: str
    noise_in: str
    former_arithmetic: str = ""
    least_delta: float = 0.0
    beside: tuple[Law, ...] = ()
    steps_in: str = ""
    hint: str = ""

    @property
    def kind(self) -> Any:
        """The class of the specs; imports it."""
        return getattr(importlib.import_module(self.module), self.spec)

    @property
    def summary(self) -> str:
        """The mechanism and its noise in one clause, for reports."""
        return f"{self.title}: {self.words}"

    @property
    def private(self) -> bool:
        """Whether the mechanism is private: not the one without noise."""
        return Law.NONE not in self.laws[0]


class Mechanism(ABC):
    """Plans from public facts alone, then runs on rows. A spec is a frozen dataclass of options: numbers and words.
    This package alone calls the methods. Private.
    """

    __slots__ = ()
    about: ClassVar[Description]

    @abstractmethod
    def plan(self, problem: Problem, eps: float, delta: float, classes: Sequence[Any] = ()) -> Plan:
        """Fix everything public; raise ValueError for what the mechanism cannot promise.

        `classes` are given to mechanisms that are `joint` alone: one release for the models of each against the rest.
        """

    @abstractmethod
    def run(self, rows: Rows, plan: Plan, source: Source, track: Track = silent) -> dict[str, NDArray[np.float64]]:
        """Sum and add noise: the released numbers, block by block.

        Beside them `coef` where `solve` cannot make it of the blocks, and `iterates` (steps + 1, q) of a descent. Where
        the plan has classes, `rows.of_class` gives those of one class against the rest.
        """

    def run_many(
        self, rows: Rows, plans: Sequence[Plan], source: Source, track: Track = silent
    ) -> list[dict[str, NDArray[np.float64]]]:
        """Run plans of one problem on the same rows, each with noise of its own: where together is quicker."""
        if len(plans) == 1:
            return [self.run(rows, plans[0], source, track)]
        return [self.run(rows, plan, source) for plan in track(plans, self.about.title.removeprefix("the "))]

    def solve(self, plan: Plan, parts: Sequence[Mapping[str, NDArray[np.float64]]]) -> list[NDArray[np.float64]]:
        """Scaled coefficients of every model from the numbers that were released for it: post-processing."""
        return [part["coef"] for part in parts]

    def promise(
        self,
        problem: Problem,
        eps: float,
        delta: float,
        guarantee: Pure | Gaussian | Poisson | Approx,
        released: Mapping[str, Release],
        calibration: str,
        source: str,
        estimand: Estimand | None = None,
        assumptions: tuple[str, ...] | None = None,
    ) -> PrivacyStatement:
        """The statement of a plan; what is not given follows from the problem."""
        return PrivacyStatement(
            mechanism=self.about.name,
            eps=eps,
            delta=delta,
            guarantee=guarantee,
            neighbouring=problem.neighbouring,
            released=released,
            calibration=calibration,
            assumptions=problem.assumptions if assumptions is None else assumptions,
            arithmetic=self.about.arithmetic,
            reproducible=False,
            source=source,
            solution=problem.solution,
            unit=problem.unit,
            estimand=problem.loss.estimand if estimand is None else estimand,
        )

    @property
    def ranges(self) -> str:
        """One of `RANGES`: an option of specs that know them."""
        return RANGES[2]

    def check(self, problem: Problem) -> None:  # noqa: B027
        """Raise ValueError for a problem that has no plan at any eps and delta."""

    def check_rows(self, rows: Rows, problem: Problem) -> None:  # noqa: B027
        """Raise ValueError for more rows than plans of the problem cover. What is in the rows is not looked at."""

    def blocks(self, problem: Problem, eps: float, delta: float, classes: Sequence[Any] = ()) -> Mapping[str, Shape]:
        """Return names and shapes of the blocks of one model's statement; None stands for any size.

        With `classes` they are those of one release for the models of all classes: see `joint`.
        """
        return {"coef": (problem.geometry.n_coefs,)}

    @property
    def joint(self) -> bool:
        """Whether one release serves the models of all classes; else each has its own."""
        return False

    @property
    def keeps_eps(self) -> bool:
        """Whether statements carry the eps asked for: calibrations as printed may cost more."""
        return True

    @property
    def printed(self) -> bool:
        """Whether it is a paper's algorithm as printed, for reproduction: nothing is added to it unasked."""
        return not self.keeps_eps

    def profiles(self, plan: Plan) -> tuple[Profile, ...]:
        """Return the privacy profiles of the parts of a release, which compose; () where none is known."""
        return ()

    def noise_of(self, plan: Plan) -> float | None:
        """Size of a plan's noise, to compare the laws that one problem may have; None where there is no choice."""
        return None

    def gradient_noise(self, plan: Plan) -> GradientNoise | None:
        """Return the noise of a release as noise in the gradient of the sum objective; None without noise.

        Problem and statement of the plan are enough: a file has no more.
        """
        return None

    def aimed(self, problem: Problem, classes: Sequence[Any]) -> Mechanism:
        """Return the same mechanism with options for tables of coefficients; what a user set stays as it is.

        Whether its releases then have a table, `lacks_intervals` says.
        """
        return self

    def solution(self, problem: Problem, eps: float) -> tuple[str, ...]:
        """Return sentences of the statement on how coefficients follow from the release, the ridge aside."""
        return ()

    def link(self, plan: Plan) -> Link:
        """Return the map from margins to log odds of a logistic model that followed the plan: a function of public
        facts.
        """
        from dplr.problem.link import LOGIT  # it loads NumPy, and the help of the command line does without

        return LOGIT

    def coef_noise(self, statement: PrivacyStatement) -> float | None:
        """Standard deviation of the noise on each scaled coefficient, where noise is added to them and nothing else."""
        return None

    def intervals_of(self, plan: Plan, part: Mapping[str, NDArray[np.float64]]) -> Intervals | None:
        """Middle and half-width of the range to which a fit clipped each column, (d,) each in scaled units.

        A function of what was released for the model. None where rows stay as they are; else statements say `CLIPS`.
        """
        return None

    def lacks_intervals(self, plan: Plan) -> str:
        """Say why releases of this plan allow no confidence intervals; empty where they do."""
        return "what it releases does not tell how uncertain the coefficients are"


class Tabled(Mechanism):
    """A mechanism whose releases may have confidence intervals; `lacks_intervals` says why one has none. Private."""

    __slots__ = ()

    @abstractmethod
    def readings(
        self, plan: Plan, parts: Sequence[Mapping[str, NDArray[np.float64]]], coefs: Sequence[NDArray[np.float64]]
    ) -> list[Reading]:
        """The noisy equation of each model that its intervals come from, of all columns: post-processing of `parts`.

        `coefs` are the scaled coefficients of each model. Not called where `lacks_intervals` says something.
        """

    def as_declared(self, problem: Problem, names: Collection[str]) -> bool:
        """Whether `ranges="auto"` leaves columns as declared: where blocks of these names are an equation of them."""
        return False

    @property
    def whole(self) -> bool:
        """Whether its readings hold for all columns together alone: a score at a point does, moments do not."""
        return True

    def equation_noise(self, plan: Plan) -> tuple[float, float] | None:
        """Deviations of the noise on a number of the score, and on a cell of the Hessian, that intervals come from.

        None where no table of coefficients was asked for.
        """
        return None


class NoisyMoments(NamedTuple):
    """Released sums of scaled rows.

    Attributes
    ----------
    matrix, vector : of products of two columns, and of each with the target.
    total : of the weights of all units.
    deviation : of the noise on a number of the vector.
    """

    matrix: NDArray[np.float64]
    vector: NDArray[np.float64]
    total: float
    deviation: float


class Refitting(Mechanism):
    """A mechanism whose released numbers hold more than one model. Private."""

    __slots__ = ()

    @property
    @abstractmethod
    def chosen(self) -> tuple[int, ...] | None:
        """Positions of the columns that the model is made of, where the options name some; None for all."""

    @abstractmethod
    def moments(self, plan: Plan, released: Mapping[str, NDArray[np.float64]]) -> NoisyMoments:
        """The released moments of a model."""

    @abstractmethod
    def trimmed(self, plan: Plan, released: Mapping[str, NDArray[np.float64]]) -> int:
        """Count the directions that a model dropped from what was released."""


def chosen_columns(mechanism: Mechanism) -> tuple[int, ...] | None:
    """Positions of the columns that the models of a mechanism are made of; None for all."""
    return mechanism.chosen if isinstance(mechanism, Refitting) else None


def instead(plan: Plan) -> str:
    """The remedy where a mechanism has no intervals, as the end of the sentence that says so."""
    has_intervals = plan.problem.loss.name == "squared" or has_score(plan.problem.loss)
    return '; use mechanism="auto" with aim="coefficients"' if has_intervals else ""


def class_block(name: str, label: Any) -> str:
    """Name of a class's own block."""
    return f"{name}[{label!r}]"
