"""Use cases of attention, timeline and calendar."""
