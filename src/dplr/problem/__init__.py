"""The public side of a fit as frozen values: geometry, loss, problem, plan, fit. Private."""
