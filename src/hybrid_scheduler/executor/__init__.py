"""Python functions as tasks: an executor in the manner of `concurrent.futures` whose scheduler learns what is where.

Nothing is imported here: the processes that run functions load `call` and must stay light.
"""
