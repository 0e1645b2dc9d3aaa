"""Bulk actions: one operation on many runs or schedules, item by item at a given rate."""
