"""The parts of the benchmark: each module's measure() returns a table."""
