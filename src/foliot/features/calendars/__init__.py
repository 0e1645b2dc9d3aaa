"""Calendars: named days and times of a tenant that schedules exclude, or run on alone."""
