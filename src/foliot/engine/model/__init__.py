"""Rules of schedules and runs, without I/O."""
