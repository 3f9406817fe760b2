"""transformers' image processors, whose first steps are done in one pass."""
