"""Plots: each one a function from figures to a matplotlib `Figure`. What is drawn from which run says `catalogue`."""
