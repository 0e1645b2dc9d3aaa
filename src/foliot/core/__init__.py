"""The words and the rules: pure, without I/O, clock or framework."""
