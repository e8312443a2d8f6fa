"""Figures computed from outcomes alone, one file each."""
