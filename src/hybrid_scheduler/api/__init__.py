"""The door for Python: `compare`, its result, and schedulers ready to use. Their names are those of the package."""
