"""Tests and intervals of linear combinations of the coefficients of a fitted model: post-processing of its release."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplr._kit.validation import check_flag, check_list, real_number, sentence
from dplr.inference.intervals import score_test
from dplr.summary.columns import positions, reference_names
from dplr.summary.combined import contrast_table
from dplr.summary.linear import Combination, combinations
from dplr.summary.subject import Subject, check_columns
from dplr.summary.table import Summary

Matrix = NDArray[np.float64]


class Tests:
    """Tests and intervals of combinations of coefficients, of whatever makes a `Subject`."""

    def wald_test(
        self,
        columns: Sequence[str] | str,
        value: float | Sequence[float] = 0.0,
        *,
        effect_bound: float | None = None,
    ) -> Any:
        """Test that several coefficients, or linear combinations of them, have a value, all at once.

        The statistic is a Wald statistic in the form of the score: its variance is taken at the hypothesis, so that it
        holds where the noise is not small beside the moments.

        Parameters
        ----------
        columns : sequence of str, or str
            Names of columns, each with all of its coefficients; names of coefficients; or linear combinations as text,
            such as ``"a - b"``, ``"2*hours - age = 100"`` or ``"work=state - work=own"``. Names are matched first,
            longest first; backquotes or quotes tell them apart from operators. A reference level counts as 0.
        value : float or sequence of float, default=0.0
            Value under the hypothesis in the user's units: of all of them, or of each entry of `columns`. A
            combination with an equals sign has a value of its own, and `value` must be 0 there.
        effect_bound : float or None, default=None
            Largest effect of a column that noise drowns: what a flag adds to the mean, to the probability or to the
            log odds, or a number from the middle of its range to an end. Intervals of other columns count it, and a
            table marks them. None takes the declared width of the target, the probability 1, and log odds or
            logarithms of rates of 6 for flags, levels and bins. Of a number it takes nothing: lines that depend on one
            that noise drowns cannot say.

        Returns
        -------
        ScoreTest or dict
            An object with `statistic`, `dof`, `p_value` (chi-square) and `verdict`; nan where the released numbers
            cannot say. With more than two classes, a dictionary of them by label.

        Raises
        ------
        NotFittedError
            `fit` was not called.
        ValueError
            The release allows no intervals: those of `aim="coefficients"` do. A
            column is unknown, a text is no linear combination, or one combination follows from the others.

        Privacy
        -------
        Uses released numbers and public facts alone: no further privacy loss. Source: inference/intervals.md.

        Examples
        --------
        >>> import numpy as np, dplr
        >>> rng = np.random.default_rng(0)
        >>> X = rng.uniform(0, 10, (20_000, 2))
        >>> y = 3 * X[:, 0] - 2 * X[:, 1] + rng.normal(0, 3, 20_000)
        >>> bounds = dplr.Bounds([(0, 10), (0, 10)], target=(-20, 40))
        >>> est = dplr.LinearRegression(eps=5.0, bounds=bounds, mechanism="fm").fit(X, y)
        >>> est.wald_test(["column 0", "column 1"]).p_value < 0.01
        True
        >>> est.wald_test("column 0 + column 1 = 4").p_value < 0.01
        True
        """
        subject = self._own_subject()
        weights, values = self._hypotheses(subject, columns, value)
        tests = [
            score_test(
                equation.reading,
                weights @ equation.contrasts,
                values - weights @ equation.added,
                equation.bounds(effect_bound),
            )
            for equation in subject.equations
        ]
        return self._by_label(tests)  # type: ignore[attr-defined]

    def contrast(
        self,
        contrasts: Sequence[str] | str,
        *,
        level: float = 0.95,
        joint: bool = False,
        effect_bound: float | None = None,
    ) -> Summary:
        """Estimate linear combinations of the coefficients, each with its interval and p-value.

        Parameters
        ----------
        contrasts : sequence of str, or str
            Linear combinations as text, such as ``"a - b"``, ``"(a + b)/2"`` or ``"work=state - work=own"``, written as
            for `wald_test`. The p-value is of the value behind an equals sign, and of 0 where there is none.
        level : float, default=0.95
            Probability of each interval, in (0, 1).
        joint : bool, default=False
            Whether all intervals hold together with that probability (Bonferroni); p-values are adjusted alike.
        effect_bound : float or None, default=None
            Largest effect of a column that noise drowns, as in `summary`.

        Returns
        -------
        Summary
            A table with one line for each combination, and label where there are more than two classes: its `lines`
            have `estimate`, `std_error`, `low`, `high` and `p_value`.

        Raises
        ------
        NotFittedError
            `fit` was not called.
        ValueError
            The release allows no intervals, a text is no linear combination, or a level is out of range.

        Privacy
        -------
        Uses released numbers and public facts alone: no further privacy loss. Source: inference/intervals.md.

        See Also
        --------
        dplr.LinearRegression.wald_test : Test several combinations at once.

        Examples
        --------
        >>> import numpy as np, dplr
        >>> rng = np.random.default_rng(0)
        >>> X = rng.uniform(0, 10, (20_000, 2))
        >>> y = 3 * X[:, 0] - 2 * X[:, 1] + rng.normal(0, 3, 20_000)
        >>> bounds = dplr.Bounds([(0, 10), (0, 10)], target=(-20, 40))
        >>> est = dplr.LinearRegression(eps=5.0, bounds=bounds, mechanism="fm").fit(X, y)
        >>> (line,) = est.contrast("column 0 - column 1").lines
        >>> line.low < 5 < line.high or line.high - line.low < 0.5
        True
        """
        subject = self._own_subject()
        texts = [contrasts] if isinstance(contrasts, str) else check_list("contrasts", contrasts)
        if not texts:
            raise ValueError(sentence("contrasts", "must be one or more linear combinations", texts))
        parsed = self._parsed(subject, texts, "contrasts")
        return contrast_table(subject, parsed, real_number("level", level), check_flag("joint", joint), effect_bound)

    def _own_subject(self) -> Subject:
        """The subject of the table of all columns."""
        subject: Subject = self._subject(None)  # type: ignore[attr-defined]
        return subject

    def _hypotheses(
        self, subject: Subject, columns: Sequence[str] | str, value: float | Sequence[float]
    ) -> tuple[Matrix, Matrix]:
        """Weights (k, m) of the coefficients of a table, and the values (k,) of these combinations."""
        entries = [columns] if isinstance(columns, str) else check_list("columns", columns)
        several = isinstance(value, list | tuple) or getattr(value, "ndim", 0) > 0
        values: list[Any] = check_list("value", value) if several else [value] * len(entries)
        values = [real_number("value", goal) for goal in values]
        if len(values) != len(entries):
            rule = f"must be a number, or one for each of the {len(entries)} entries of `columns`"
            raise ValueError(sentence("value", rule, value))
        if not entries:
            check_columns(subject.names, entries)
        rows, goals = [], []
        for entry, goal in zip(entries, values, strict=True):
            members = self._members(subject, entry)
            if members is not None:
                rows.append(np.eye(len(subject.names))[members])
                goals += [goal] * len(members)
                continue
            (parsed,) = self._parsed(subject, [entry], "columns")
            if parsed.stated and goal:
                raise ValueError(sentence("value", "must be 0 where a combination has an equals sign", entry))
            rows.append(parsed.weights[None])
            goals.append(parsed.value if parsed.stated else goal + parsed.value)
        weights = np.concatenate(rows)
        if np.linalg.matrix_rank(weights) < len(weights):
            raise ValueError(sentence("columns", "must not follow from each other", entries, "Leave one out."))
        return weights, np.array(goals)

    def _members(self, subject: Subject, entry: str) -> list[int] | None:
        """Positions in the table of the coefficients of a column or coefficient; None for what is no name of one.

        A reference level has no coefficient there.
        """
        if entry in subject.names:
            return [subject.names.index(entry)]
        names, layout = self._columns_of_table()  # type: ignore[attr-defined]
        if entry not in names and (layout is None or entry not in layout.features):
            return None
        members = [names[j] for j in positions(names, layout, [entry])]
        return check_columns(subject.names, [name for name in members if name in subject.names])

    def _parsed(self, subject: Subject, texts: Sequence[str], parameter: str) -> list[Combination]:
        """Combinations as text; columns of the table whose coefficients are several are told of in errors."""
        names, layout = self._columns_of_table()  # type: ignore[attr-defined]
        blocks = {}
        if layout is not None:
            spans = zip(layout.features, layout.firsts, layout.widths, strict=False)
            blocks = {feature: names[first : first + width] for feature, first, width in spans}
        zeros = reference_names(layout, subject.references)
        return combinations(texts, subject.names, zeros, blocks, parameter)
