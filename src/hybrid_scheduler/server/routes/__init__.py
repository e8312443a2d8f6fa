"""The endpoints, one file per group."""
