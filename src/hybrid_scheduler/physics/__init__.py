"""Time, energy, money and bounds: pure functions, the only home of watts, dollars and speedups."""
