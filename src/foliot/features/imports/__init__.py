"""Imports: schedules of other schedulers, translated into documents."""
