"""How a fit goes: plan, reserve, run, commit. Private."""
