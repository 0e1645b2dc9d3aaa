"""Cron, intervals, zones and fire times, without I/O and without a clock."""
