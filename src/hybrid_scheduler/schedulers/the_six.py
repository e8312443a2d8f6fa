"""Who races when nobody is named."""

THE_SIX = ("round_robin", "random", "greedy", "hybrid_ml", "rl_agent", "oracle")
