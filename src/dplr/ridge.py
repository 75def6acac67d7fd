"""The default ridge of output and objective perturbation: functions of public facts alone."""
