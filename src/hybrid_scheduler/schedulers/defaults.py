"""The schedulers of a race for which nobody names others."""

DEFAULT_SCHEDULERS = ("round_robin", "random", "greedy", "sjf", "hybrid_ml", "rl_agent", "hybrid_queue", "oracle")
