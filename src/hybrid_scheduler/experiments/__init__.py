"""Named, seeded experiments: one file each. Seeds in, statistics out."""
