"""Output and objective perturbation, and the exact minimiser: all minimise one regularised objective. Private."""
