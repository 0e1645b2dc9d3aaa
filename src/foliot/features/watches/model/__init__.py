"""Rules of watches, without I/O."""
