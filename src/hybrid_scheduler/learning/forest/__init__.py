"""Random forests grown and asked by compiled code, and the search for the cheapest option by their predictions."""
