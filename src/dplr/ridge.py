"""The default ridge of output and objective perturbation: functions of public facts alone."""


def output_ridge(n_rows, size, eps, delta, norm, coef_norm, signs):
    return 10.0


def objective_ridge(loss, n_rows, size, eps, delta, norm, coef_norm, signs):
    return max(1.0, 2 * norm**2 / eps)
