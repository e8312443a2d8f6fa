"""The door for Python: `compare`, `run`, their result, and schedulers ready to use; named like the package's own."""
