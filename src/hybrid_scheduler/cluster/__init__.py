"""The simulated cluster: mutable state in arrays, one compiled loop."""
