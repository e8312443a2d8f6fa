"""Training before a race: labels in, models out."""
