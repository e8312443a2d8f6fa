"""Generators of task graphs: one file each, found by the name and parameters of a preset."""
