"""Statement and mechanism as plain values and back, and the rules that their fields keep among themselves."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from dplr.bounds.declared import MAX_FEATURES
from dplr.fitting.ranges import BLOCKS, LAW
from dplr.mechanisms import SHORTHANDS
from dplr.mechanisms.protocol import Description, Mechanism
from dplr.model_file.readers import (
    INFINITE,
    Reader,
    anything,
    choice,
    flag,
    integer,
    list_of,
    number,
    or_infinite,
    table,
    text,
)
from dplr.model_file.strict_json import refuse
from dplr.model_file.units import read_unit, write_unit
from dplr.privacy.estimand import Estimand
from dplr.privacy.guarantees import Approx, Gaussian, Neighbouring, Poisson, Pure
from dplr.privacy.law import Law
from dplr.privacy.statement import EVALUATION, PrivacyStatement, Release


def _any_law(where: str, value: Any) -> Law:
    laws = {law for about in SHORTHANDS.values() for kind in about.laws for law in kind}
    return Law(choice(Law.NONE, *sorted(laws - {Law.NONE}))(where, value))


# No calibration asks for more noise, and its square is a number.
_LARGEST_SCALE = 2.0**300
_POSITIVE = number(0.0, above=True)
_NOT_NEGATIVE = number(0.0)
_GUARANTEES: dict[str, Any] = {
    "Pure": (Pure, {"eps": or_infinite(_POSITIVE)}),
    "Gaussian": (Gaussian, {"mu": _POSITIVE}),
    "Poisson": (
        Poisson,
        {"rate": number(0.0, 1.0, above=True), "noise_multiplier": _POSITIVE, "steps": integer(1, 2**63)},
    ),
    "Approx": (Approx, {"eps": or_infinite(_POSITIVE), "delta": number(0.0, 1.0)}),
}
_RELEASE = {
    "shape": list_of(integer(1, 2**31), 1, 2),
    "sensitivity": or_infinite(_NOT_NEGATIVE),
    "law": _any_law,
    "scale": _NOT_NEGATIVE,
    "grid": _NOT_NEGATIVE,
    "weight": _POSITIVE,
    "units": integer(0, 2**1024),
    "spread": _NOT_NEGATIVE,
}
_STATEMENT: dict[str, Reader] = {
    "mechanism": text,
    "eps": or_infinite(_POSITIVE),
    "delta": number(0.0, 1.0),
    "guarantee": anything,
    "neighbouring": choice(*(str(kind) for kind in Neighbouring)),
    "released": list_of(table({"block": text, **_RELEASE}), 1, 2**20),
    "calibration": text,
    "assumptions": list_of(text, 0, 2**20),
    "arithmetic": choice("integer", "real-arithmetic"),
    "reproducible": flag,
    "source": text,
    "solution": list_of(text, 0, 2**10),
    "unused_delta": number(0.0, 1.0),
    "version": text,
}
# Keys of some statements only: of persons or weights, of coefficients, and of guarantees that do not cover everything.
_SOMETIMES: dict[str, Reader] = {
    "unit": read_unit,
    "estimand": choice(*map(str, Estimand)),
    "uncovered": list_of(text, 1, 2**20),
}


def plain(value: Any) -> Any:
    """A NumPy scalar as the plain value that it holds, a tuple as a list."""
    if isinstance(value, tuple):
        return [plain(entry) for entry in value]
    return value.item() if isinstance(value, np.generic) else value


def finite(value: float) -> float | str:
    """A number, or the word for infinity."""
    return INFINITE if math.isinf(value) else float(value)


def write_statement(statement: PrivacyStatement) -> dict[str, Any]:
    """Plain values of every field of a statement."""
    uncovered = {"uncovered": list(statement.uncovered)} if statement.uncovered else {}
    return (
        {
            "mechanism": statement.mechanism,
            "eps": finite(statement.eps),
            "delta": float(statement.delta),
            "guarantee": {"kind": type(statement.guarantee).__name__} | _written(statement.guarantee),
            "neighbouring": str(statement.neighbouring),
            "released": [{"block": name} | _written(release) for name, release in statement.released.items()],
            "calibration": statement.calibration,
            "assumptions": list(statement.assumptions),
            "arithmetic": statement.arithmetic,
            "reproducible": statement.reproducible,
            "source": statement.source,
            "solution": list(statement.solution),
            "unused_delta": float(statement.unused_delta),
            "version": statement.version,
        }
        | uncovered
        | write_unit(statement.unit)
        | _write_estimand(statement.estimand)
    )


def _write_estimand(estimand: Estimand | None) -> dict[str, str]:
    return {} if estimand is None else {"estimand": str(estimand)}


def _written(record: Any) -> dict[str, Any]:
    """A frozen record of numbers and words: whole numbers where its fields say int, else with a point."""
    values = {}
    for field in dataclasses.fields(record):
        value = plain(getattr(record, field.name))
        if field.name == "shape":
            value = [int(size) for size in value]
        elif field.type == "Law":
            value = str(value)
        elif field.type == "int":
            value = int(value)
        elif field.type == "float":
            value = finite(value)
        values[field.name] = value
    return values


def read_statement(
    where: str, value: Any, mechanisms: Mapping[str, Description] = MappingProxyType(SHORTHANDS)
) -> PrivacyStatement:
    """The statement that `write_statement` wrote, of one of these mechanisms, its fields checked against each other."""
    sometimes = {name: read for name, read in _SOMETIMES.items() if isinstance(value, dict) and name in value}
    fields = table(_STATEMENT | sometimes)(where, value)
    about: Description = mechanisms[choice(*mechanisms)(f"{where}.mechanism", fields["mechanism"])]
    fields["guarantee"] = _read_guarantee(f"{where}.guarantee", fields["guarantee"])
    if "estimand" in fields:
        fields["estimand"] = Estimand(fields["estimand"])
    fields["neighbouring"] = Neighbouring(fields["neighbouring"])
    for name in ("assumptions", "solution", "uncovered"):
        fields[name] = tuple(fields.get(name, ()))
    releases = {}
    for k, release in enumerate(fields["released"]):
        name = release.pop("block")
        if name in releases:
            refuse(f"{where}.released[{k}].block", "must name every block once", name)
        releases[name] = Release(**{**release, "shape": tuple(release["shape"])})
        _check_release(f"{where}.released[{k}]", releases[name], fields, name, about)
    fields["released"] = releases
    _check_guarantee(f"{where}.guarantee", fields["guarantee"], fields["eps"], fields["delta"])
    if fields["arithmetic"] not in (about.arithmetic, about.former_arithmetic):
        refuse(f"{where}.arithmetic", f"must be {about.arithmetic} with this mechanism", fields["arithmetic"])
    return PrivacyStatement(**fields)


def write_mechanism(mechanism: Mechanism) -> dict[str, Any]:
    """The name and every option of a spec."""
    spec: Any = mechanism
    return {"name": spec.about.name} | {
        field.name: plain(getattr(spec, field.name)) for field in dataclasses.fields(spec)
    }


def read_mechanism(where: str, value: Any) -> Mechanism:
    """The spec that `write_mechanism` wrote; its own checks are the rules."""
    if not isinstance(value, dict) or not isinstance(value.get("name"), str) or value["name"] not in SHORTHANDS:
        refuse(f"{where}.name", f"must be one of {', '.join(SHORTHANDS)}", value)
    kind = SHORTHANDS[value["name"]].kind
    options = table(dict.fromkeys(("name", *(field.name for field in dataclasses.fields(kind))), _option))(where, value)
    del options["name"]
    try:
        spec: Mechanism = kind(**options)
    except (ValueError, TypeError) as error:
        refuse(where, "must have options that its mechanism takes", str(error))
    return spec


def _option(where: str, value: Any) -> Any:
    if isinstance(value, list):
        return tuple(list_of(integer(0, MAX_FEATURES), 1, MAX_FEATURES)(where, value))
    if isinstance(value, bool) or not (value is None or isinstance(value, (int, float, str))):
        refuse(where, "must be a number, a word, a list of whole numbers or null", value)
    return value


def _read_guarantee(where: str, value: Any) -> Pure | Gaussian | Poisson | Approx:
    kind = value.get("kind") if isinstance(value, dict) else None
    if not isinstance(kind, str) or kind not in _GUARANTEES:
        refuse(f"{where}.kind", f"must be one of {', '.join(_GUARANTEES)}", kind)
    constructor, fields = _GUARANTEES[kind]
    values = table({"kind": text, **fields})(where, value)
    del values["kind"]
    guarantee: Pure | Gaussian | Poisson | Approx = constructor(**values)
    return guarantee


def _check_guarantee(where: str, guarantee: Any, eps: float, delta: float) -> None:
    """A promise says the eps and delta of its statement; one of Gaussian noise has a delta."""
    if delta == 1:
        refuse(where, "must have a delta below 1", delta)
    fields = {field.name: getattr(guarantee, field.name) for field in dataclasses.fields(guarantee)}
    if fields.get("eps", eps) != eps or fields.get("delta", delta) != delta:
        refuse(where, f"must be that of eps = {eps:g} and delta = {delta:g}", str(guarantee))
    if isinstance(guarantee, Pure) and delta > 0 and math.isfinite(eps):
        refuse(where, "must name a delta where the statement does", str(guarantee))
    if not isinstance(guarantee, Pure) and delta == 0:
        refuse(where, "must be Pure with delta = 0", str(guarantee))
    if isinstance(guarantee, (Gaussian, Poisson)) and math.isinf(eps):
        refuse(where, "must be Pure with eps = inf", str(guarantee))


def _check_release(where: str, release: Release, fields: Mapping[str, Any], block: str, about: Description) -> None:
    """The noise is that of the mechanism, and none exactly where eps = inf."""
    law, laws = release.law, _laws(where, release, fields, block, about)
    if law not in laws:
        refuse(f"{where}.law", f"must be {' or '.join(laws)} with this mechanism, eps and delta", str(law))
    if (release.scale == 0) is not (law is Law.NONE):
        refuse(f"{where}.scale", "must be 0 exactly where there is no noise", release.scale)
    if math.isinf(release.sensitivity) and law is not Law.NONE:
        refuse(f"{where}.sensitivity", "must be finite where there is noise", release.sensitivity)
    if release.grid and math.frexp(release.grid)[0] != 0.5:
        refuse(f"{where}.grid", "must be a power of two, or 0", release.grid)
    _check_scale(where, release)
    if (release.units > 0) is not law.discrete:
        refuse(f"{where}.units", "must be positive exactly for discrete noise", release.units)
    if (release.spread > 0) is not (law.family is Law.GAUGE):
        refuse(f"{where}.spread", "must be positive exactly for gauge noise", release.spread)


def _check_scale(where: str, release: Release) -> None:
    """The scale is that of the integers that were drawn; intervals rest on it."""
    drawn = {Law.DISCRETE_LAPLACE: float(release.units), Law.DISCRETE_GAUSSIAN: math.sqrt(release.units)}
    expected = drawn.get(release.law, release.scale / (release.grid or 1.0)) * (release.grid or 1.0)
    if not math.isclose(release.scale, expected, rel_tol=1e-9):
        refuse(f"{where}.scale", f"must be that of its units and grid, {expected:g}", release.scale)
    if release.scale > _LARGEST_SCALE:
        refuse(f"{where}.scale", f"must be at most {_LARGEST_SCALE:g}", release.scale)


def _laws(where: str, release: Release, fields: Mapping[str, Any], block: str, about: Description) -> tuple[Law, ...]:
    """The laws that the noise of a block may have with this mechanism, eps and delta."""
    if math.isinf(fields["eps"]):
        return (Law.NONE,)
    if block in BLOCKS or block.startswith(EVALUATION):
        return (LAW,)
    if about.beside and not block.startswith("coef"):
        return about.beside
    delta = fields["delta"]
    pure_laws, delta_laws = about.laws
    if about.least_delta == 0:
        return delta_laws if delta > 0 else pure_laws
    if delta < about.least_delta:
        rule = f"must be at least {_power(about.least_delta)} with this mechanism"
        refuse(where.split(".released")[0] + ".delta", rule, delta)
    # Either was asked for or not: the parameters say which.
    return (*pure_laws, *delta_laws)


def _power(value: float) -> str:
    """A power of two, as such."""
    mantissa, exponent = math.frexp(value)
    return f"2^{exponent - 1}" if mantissa == 0.5 else f"{value:g}"
