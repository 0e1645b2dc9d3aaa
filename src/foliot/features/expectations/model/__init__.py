"""Expectations: how they are read, what is known of a run's data, and how the two are compared; without I/O."""
