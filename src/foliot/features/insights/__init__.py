"""What needs attention, the timeline, and the calendar."""
