"""Readers of other people's workloads: one file per format, found through entry points."""
