"""Articles, items and batches: states and rules, without I/O."""
