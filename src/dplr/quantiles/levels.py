"""Levels of a column of text: those whose noisy number of records is above a threshold. Proofs: quantiles.md."""

from __future__ import annotations

from collections.abc import Mapping

from dplr.noise import Source
from dplr.privacy import sensitivity
from dplr.quantiles.law import UNITS, Prices, noise_units, threshold


def frequent_texts(
    sums: Mapping[str, int], price: Prices, changed: int, shared: bool, source: Source
) -> dict[str, float]:
    """Texts and their noisy numbers of records, by name; a text that no record has is never among them.

    Parameters
    ----------
    sums : what the records of each text weigh, in units of 2^-10.
    price : of the column.
    changed : records that differ between neighbours.
    shared : whether the rows of one unit may have several texts.
    source : of the noise.
    """
    units = noise_units(price.column, sensitivity.records_by_text(UNITS, changed))
    least = threshold(price.column, price.text_delta, changed, shared)
    texts = sorted(sums)
    noisy = [sums[text] + noise for text, noise in zip(texts, source.laplace(units, len(texts)).tolist(), strict=True)]
    return {text: count / UNITS for text, count in zip(texts, noisy, strict=True) if count >= least}
