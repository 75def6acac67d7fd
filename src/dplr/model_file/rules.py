"""How the fields of a model file fit each other: mechanism, parameters, labels and names."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dplr._kit.validation import describe
from dplr.bounds.declared import Bounds
from dplr.bounds.fourier import FourierMap
from dplr.bounds.scaling import Prep
from dplr.estimators._columns import names_of
from dplr.fitting.one_vs_rest import by_class, is_several
from dplr.fitting.ranges import BLOCKS, block_shapes, columns_of, joint_sensitivity, missing, weights_of
from dplr.mechanisms.protocol import CLIPS, Mechanism, Shape
from dplr.model_file.strict_json import refuse
from dplr.privacy.gaussian import SMALLEST_MU, gaussian_eps
from dplr.privacy.guarantees import Approx, Gaussian
from dplr.privacy.statement import EVALUATION, PrivacyStatement, Release
from dplr.problem.problem import Problem
from dplr.rows import FROM_DATA, declared_classes

# Of a sum of shares.
_ROUNDED = 1 + 2.0**-40
_LARGEST_MU = 1e3  # of a share that may cost more than the whole: far more than any has


def check_mechanism(mechanism: Mechanism, problem: Problem, statement: PrivacyStatement) -> None:
    """The mechanism takes this problem, as it did in the fit."""
    if statement.mechanism != mechanism.about.name:
        refuse("model.statement.mechanism", "must be that of the parameters", statement.mechanism)
    mechanism.check(problem)


def check_parameters(parameters: dict[str, Any], values: dict[str, Any], statement: PrivacyStatement) -> None:
    """The parameters are those of the release that the statement is about."""
    if parameters["neighbouring"] != statement.neighbouring:
        refuse("model.parameters.neighbouring", "must be that of the statement", parameters["neighbouring"])
    if statement.delta not in _stated_deltas(parameters, values, statement):
        refuse("model.parameters.delta", f"must be that of the statement, {statement.delta:g}", parameters["delta"])
    # Calibrations as printed may cost more than was asked for.
    mechanism: Mechanism = parameters["mechanism"]
    if mechanism.keeps_eps and not _near(parameters["eps"], statement.eps):
        refuse("model.parameters.eps", f"must be that of the statement, {statement.eps:g}", parameters["eps"])
    if not mechanism.about.private and math.isfinite(statement.eps):
        refuse("model.statement.eps", 'must be "inf" without privacy', statement.eps)
    ranged = any(name in BLOCKS for name in statement.released)
    if mechanism.ranges == ("off" if ranged else "on"):
        refuse("model.parameters.mechanism.ranges", "must fit what the statement is about", mechanism.ranges)
    n_rows, count = values["n_rows"], parameters["n_rows"]
    if statement.neighbouring == "replace_one" and (n_rows is None or count not in (None, n_rows)):
        refuse("model.n_rows", "is required under replace_one, and must be that of the parameters", n_rows)
    if statement.neighbouring == "add_remove" and n_rows != count:
        refuse("model.n_rows", "must be the declared one under add_remove", n_rows)


def _stated_deltas(parameters: dict[str, Any], values: dict[str, Any], statement: PrivacyStatement) -> set[float]:
    """The deltas that the statement of a fit with this `delta` may have, with noise of these laws.

    Noise without a delta states what its mechanism needs; of several classes it may be composed at the delta.
    """
    delta: float = parameters["delta"]
    about = parameters["mechanism"].about
    if math.isinf(statement.eps):
        return {0.0, delta}
    blocks = {name: block for name, block in _of_models(statement) if name not in BLOCKS}
    laws = {block.law for name, block in blocks.items() if name.startswith("coef") or not about.beside}
    without_delta, with_delta = (laws <= set(names) for names in about.laws)
    several = is_several(values["classes"])
    least: float = about.least_delta * (len(values["classes"]) if several else 1)
    deltas = {least} if without_delta and delta == statement.unused_delta else set()
    if delta > 0 and (with_delta or (without_delta and several)):
        deltas.add(delta)
    return deltas


def _near(value: float, stated: float) -> bool:
    """Equal up to the rounding of a sum of shares."""
    return value == stated or abs(value - stated) <= (_ROUNDED - 1) * value < math.inf


def check_labels(fitted: Any, values: dict[str, Any], bounds: Bounds | None) -> None:
    """Classifiers have labels, and those that were declared."""
    classes = values["classes"]
    if fitted._loss().classification is (classes is None):
        refuse("model.classes", "must be given for a classifier, and for nothing else", classes)
    if classes is None:
        return
    in_bounds = bounds.target_classes() if bounds is not None else None
    every = [declared for declared in (fitted.classes, in_bounds) if declared not in (None, FROM_DATA)]
    for declared in every:
        if declared_classes(declared).tolist() != classes.tolist():
            refuse("model.classes.labels", f"must be the declared ones, {describe(list(declared))}", classes.tolist())
    if not every and not np.array_equal(np.sort(classes), classes):
        refuse("model.classes.labels", "must be sorted where nobody declared them", classes.tolist())


def check_names(fitted: Any, values: dict[str, Any], prep: Prep) -> None:
    """Names of columns are as many as columns, all different, and those of the bounds where these have names."""
    names, columns, d = values["feature_names"], values["column_names"], values["n_features"]
    for key, entries in (("feature_names", names), ("column_names", columns)):
        if entries is not None and (len(entries) != d or len(set(entries)) < d):
            refuse(f"model.{key}", f"must be {d} different names", entries)
    layout = prep.layout
    if layout is not None and layout.named and (names != list(layout.features) or len(layout.features) != d):
        refuse("model.feature_names", "must be the names in the bounds", names)
    if columns is not None and (layout is None or layout.named or columns == list(fitted.bounds.layout.features)):
        refuse("model.column_names", "must be null except with bounds by position", columns)
    if names is not None and columns is not None and names != columns:
        refuse("model.column_names", "must be those of feature_names", columns)


def check_features(features: FourierMap | None, values: dict[str, Any], statement: PrivacyStatement) -> None:
    """Behind features of a kernel the model has their columns, no bounds of its own, and a statement that says so."""
    if features is None:
        return
    if values["bounds"] is not None:
        refuse("model.bounds", "must be null beside features, which have them", values["bounds"])
    if values["n_features"] != 2 * features.n_components:
        refuse("model.n_features", f"must be two for each of {features.n_components}", values["n_features"])
    if not set(features.facts) <= set(statement.assumptions):
        refuse("model.statement.assumptions", "must name the features", list(statement.assumptions))


def check_coef_names(values: dict[str, Any], prep: Prep) -> None:
    """The names of coefficients are those that bounds and columns give them, in the order of `coef`."""
    names = list(names_of(prep.layout, values["feature_names"], values["n_features"]))
    if values["coef_names"] != names:
        refuse("model.coef_names", "must be those of bounds and columns, in their order", values["coef_names"])


def check_half_width(values: dict[str, Any], prep: Prep) -> None:
    """The rows of the fit were scaled as the bounds say today: noise and starts are in these units."""
    half_width = prep.geometry.half_width
    if values["half_width"] != half_width:
        remedy = "Fit again: a file of an older dplr may count the columns in other groups."
        refuse("model.half_width", f"must be that of the bounds, {half_width}", values["half_width"], remedy)


def check_blocks(
    problem: Problem,
    prep: Prep,
    mechanism: Mechanism,
    statement: PrivacyStatement,
    of_one: PrivacyStatement,
    labels: Sequence[Any],
) -> None:
    """The statements are about the numbers that a fit with these facts releases.

    `of_one` is what each fit followed; of two labels, or none, it is the statement itself.
    """
    where = "model.statement.released"
    ranges, several = _check_ranges(where, problem, prep, statement, of_one), is_several(labels)
    beside = bool(ranges) or len(_of_models(statement)) < len(statement.released)
    if (of_one is statement) is (several or beside):
        rule = "must be given for more than two classes and where ranges or an evaluation are released, and null else"
        refuse("model.statement_of_one", rule, labels)
    facts = [(kind.mechanism, kind.neighbouring, kind.unit, kind.uncovered) for kind in (of_one, statement)]
    if facts[0] != facts[1] or _exceeds(of_one, statement.eps, statement.delta) or of_one.delta > statement.delta:
        refuse("model.statement_of_one", "must be of the same release, at no larger eps and delta", of_one.eps)
    if several and problem.w0 is not None:
        refuse("model.start", "must be null with more than two classes", problem.w0)
    if of_one is statement:
        _check_shapes(where, statement, mechanism.blocks(problem, of_one.eps, of_one.delta))
        return
    joint = several and mechanism.joint
    shapes = mechanism.blocks(problem, of_one.eps, of_one.delta, labels if joint else ())
    _check_shapes("model.statement_of_one.released", of_one, shapes)
    blocks = by_class([of_one.released] * len(labels), labels) if several and not joint else of_one.released
    if _of_models(statement) != [*ranges.items(), *blocks.items()]:
        refuse(where, "must be those of the fits of all classes", list(statement.released))


def _exceeds(of_one: PrivacyStatement, eps: float, delta: float) -> bool:
    """Whether a model costs more. A share of mu or of a profile may do so at its own delta, and never at all of delta.

    Of all that is (eps, delta)-DP, randomised response with that pair has the largest delta at a smaller eps.
    """
    if isinstance(of_one.guarantee, Approx) and of_one.eps > eps:
        more = (1 - of_one.delta) * -math.expm1(eps - of_one.eps) / (1 + math.exp(-of_one.eps))
        return of_one.delta + more > delta
    if of_one.eps <= eps or not isinstance(of_one.guarantee, Gaussian):
        return of_one.eps > eps
    mu = of_one.guarantee.mu
    return not SMALLEST_MU <= mu <= _LARGEST_MU or gaussian_eps(mu, delta) > eps


def _of_models(statement: PrivacyStatement) -> list[tuple[str, Release]]:
    """The blocks of models and of their ranges, without those of an evaluation."""
    return [(name, block) for name, block in statement.released.items() if not name.startswith(EVALUATION)]


def _check_ranges(
    where: str, problem: Problem, prep: Prep, statement: PrivacyStatement, of_one: PrivacyStatement
) -> Mapping[str, Release]:
    """The blocks of ranges, all or none, which only bounds with numbers have; with the models they cost eps."""
    ranges = {name: block for name, block in statement.released.items() if name in BLOCKS}
    if not ranges:
        return ranges
    count = len(columns_of(prep))
    lacking = missing(problem, prep)
    expected = {} if lacking else block_shapes(problem, count)
    if lacking or {name: block.shape for name, block in ranges.items()} != expected:
        refuse(where, f"must be about the blocks {describe(list(expected.items()))}", str(list(ranges)))
    for name, block in ranges.items():
        if block.weight != weights_of(problem)[name] or block.sensitivity < joint_sensitivity(problem, count):
            refuse(where, "must have the weights and the sensitivity of ranges", (block.weight, block.sensitivity))
        eps = block.sensitivity / (block.weight * block.scale) if block.scale else 0.0
        if eps and _exceeds(of_one, statement.eps * _ROUNDED - eps, statement.delta):
            refuse(where, "must have ranges and models that cost eps together", block.scale)
    return ranges


def check_clipped(prep: Prep, statement: PrivacyStatement) -> None:
    """The statement says whether rows were clipped to ranges made of the mechanism's own release."""
    if (CLIPS in statement.assumptions) is (prep.limits is None):
        where, rule = "model.statement.assumptions", "must say that numbers are clipped where they are, and only there"
        refuse(where, rule, list(statement.assumptions))


def _check_shapes(where: str, statement: PrivacyStatement, expected: Mapping[str, Shape]) -> None:
    shapes = {name: release.shape for name, release in statement.released.items()}
    if shapes.keys() != expected.keys() or not all(_fits(shapes[name], shape) for name, shape in expected.items()):
        refuse(where, f"must be about the blocks {describe(list(expected.items()))}", str(shapes))


def _fits(shape: tuple[int, ...], expected: Shape) -> bool:
    return len(shape) == len(expected) and all(size in (None, k) for k, size in zip(shape, expected, strict=True))
