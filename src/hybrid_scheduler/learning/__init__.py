"""What learns: features, forests, networks, drift. Knows no physics."""
