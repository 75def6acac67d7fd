"""Options of a fit whose bounds say how rows count."""

import dplr
from dplr.bounds.declared import as_bounds, with_numbers


def declared(options):
    """Options in which the numbers `rows_per_person` and `weight_max` are part of the bounds, as a fit takes them."""
    rest = {name: value for name, value in options.items() if name not in ("rows_per_person", "weight_max")}
    rows, cap = options.get("rows_per_person", 1), options.get("weight_max")
    if (rows, cap) != (1, None):
        bounds = as_bounds(rest.get("bounds"))
        dplr.Bounds(None, rows_per_person=rows, weight_max=cap)  # refuses bad numbers
        rest["bounds"] = with_numbers(bounds, rows, cap)
    return rest
