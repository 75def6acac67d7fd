"""Confidence intervals by name, as a dictionary that makes a data frame."""

from __future__ import annotations

from typing import Any

from dplr._kit.extras import pandas


class Ends(dict[Any, Any]):
    """Name -> (low, high); with more than two classes, label -> such a dictionary. Private."""

    def to_frame(self) -> Any:
        """A pandas data frame with the columns `low` and `high`, indexed by name, or by label and name."""
        pd = pandas()
        nested = {label: ends.to_frame() for label, ends in self.items() if isinstance(ends, Ends)}
        if nested:
            return pd.concat(nested, names=["class"])
        return pd.DataFrame.from_dict(self, orient="index", columns=["low", "high"]).rename_axis("name")
