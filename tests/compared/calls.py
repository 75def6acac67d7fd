"""Calls in the words of today's package, for it and for a reference that says an option elsewhere."""

import functools
import inspect

import dplr
from dplr import planner

# Where a reference spells an argument in another way than the package: these lines go with the reference.
BEFORE = "rows_per_person" in inspect.signature(dplr.fit).parameters


def call(function, *args, **facts):
    """Call with bounds made of what `facts` declare: columns, target, products, and whose and how much a row is."""
    if "declared" in facts or "target" in facts or function in (dplr.fit, dplr.evaluate):
        facts = _declared(function, facts)
    mechanism = facts.get("mechanism")
    if isinstance(mechanism, tuple):
        name, options = mechanism
        if "ranges" in options and "ranges" in inspect.signature(dplr.fit).parameters:
            options = dict(options)
            facts["ranges"] = options.pop("ranges")
        facts["mechanism"] = getattr(dplr, name)(**options)
    return _function(function, facts)(*args, **facts)


def _declared(function, facts):
    columns, target, products = facts.pop("declared", None), facts.pop("target", None), facts.pop("products", ())
    unit = {"person": facts.pop("person_column", None), "weight": facts.pop("weight_column", None)}
    numbers = {key: facts.pop(key) for key in ("rows_per_person", "weight_max") if key in facts}
    if BEFORE:
        if unit["person"] is None and "rows_per_person" in numbers:
            facts["rows_per_person"] = numbers.pop("rows_per_person")
        if unit["weight"] is None and "weight_max" in numbers:
            facts["weight_bounds"] = (0, numbers.pop("weight_max"))
    if function is dplr.evaluate:
        if numbers:
            facts["bounds"] = dplr.Bounds(None, **numbers)
    elif columns is not None or numbers:
        declared = {key: value for key, value in unit.items() if value is not None} | numbers
        facts["bounds"] = dplr.Bounds(columns, target=target, products=products, **declared)
    return facts


def _function(function, facts):
    """The function that does this in the reference: its other doors for what one door does today."""
    names = {"error": "target_error", "width": "target_width", "interval": "target_width"}
    taken = inspect.signature(function).parameters
    if function is dplr.evaluate and "against" in facts and "against" not in taken:
        other = facts.pop("against")
        return lambda first, *rest, **more: dplr.evaluate_pair(first, other, *rest, **more)
    if function is planner.plan_curve and facts.get("intervals") and hasattr(planner, "plan_intervals"):
        facts.pop("intervals")
        return planner.plan_intervals
    if function is planner.plan_target and "target_error" in taken:
        door = planner.plan_intervals if "interval" in facts else function
        return functools.partial(door, **{names[key]: facts.pop(key) for key in [*facts] if key in names})
    return function
