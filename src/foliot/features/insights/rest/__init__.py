"""Routes of attention, timeline and calendar."""
