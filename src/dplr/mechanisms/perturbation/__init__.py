"""Output and objective perturbation, and the exact minimiser."""
