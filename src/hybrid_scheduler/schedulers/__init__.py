"""Policies, one file each. Importing this package loads none of them."""
