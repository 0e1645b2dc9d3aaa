"""What the five systems that Foliot replaces promised, run as their own pages wrote it."""
