"""Races: schedulers, tasks and a node brought together. Never persists, never broadcasts."""
