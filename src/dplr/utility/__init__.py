"""The cost of privacy in logistic regression: the lemmas and theorems of CM08 as computable statements.

Two questions, each both ways. On the training data: how much larger is the regularised mean loss

    J(w) = (1/n) sum_i log(1 + exp(-y_i x_i.w)) + (l2 / 2) ||w||^2,    ||x_i|| <= R,

than its minimum (Lemmas 3 and 4; `excess_risk`, `sample_size`)? On new data: how much larger is the expected loss than
that of a reference w0 (Theorems 4 and 5; `expected_excess_risk`, `expected_sample_size`)? All under `replace_one`, for
the minimiser in exact arithmetic, with pure eps; an intercept counts as a column and R as hypot(radius, constant).

`statement="cm08"` computes what is printed, `"corrected"` what we prove:

Lemma 5. The norm of the noise is its scale times a Gamma(d, 1) variable, of which d log(d / failure) is an upper
    quantile by the union bound. Corrected: the quantile itself.
Lemma 3 (output perturbation). J(w) - min J <= (smoothness of J) ||w - w*||^2 / 2, the distance being the noise, of
    scale 2 R / (n l2 eps). The printed smoothness is 1 + l2. Corrected: R^2 / 4 + l2, as p (1 - p) <= 1/4.
Lemma 4 (objective perturbation). w minimises J + b.w / n, so the gradient of J at w is -b / n, and strong convexity
    gives J(w) - min J <= ||b||^2 / (2 n^2 l2), with ||b|| of scale 2 R / eps'. Printed: 4 times this.
Theorems 4 (objective) and 5 (output). Printed with an unspecified constant factor. Corrected: with
    l2 = target / ||w0||^2, half of target is the ridge's share (l2 ||w0||^2 / 2), a quarter is twice the lemma's excess
    and a quarter 16 R^2 (32 + log(1 / failure)) / (l2 n), the price of seeing a sample only, by Theorem 1 of
    Sridharan, Shalev-Shwartz and Srebro 2008. That theorem's constants are quoted, not re-derived here.

Objective perturbation is private with noise of eps' = eps where n l2 >= 2 R^2 / eps, which CM08 does not ask for. The
corrected statements do: where it fails, give `excess_risk` the eps' of the noise that is used.

Privacy
-------
Everything here is a function of public facts and may be looked at before any data is.
"""

from dplr.utility._lemmas import MECHANISMS, STATEMENTS, excess_risk, noise_norm_quantile, sample_size
from dplr.utility._theorems import expected_excess_risk, expected_sample_size

__all__ = [
    "MECHANISMS",
    "STATEMENTS",
    "excess_risk",
    "expected_excess_risk",
    "expected_sample_size",
    "noise_norm_quantile",
    "sample_size",
]
