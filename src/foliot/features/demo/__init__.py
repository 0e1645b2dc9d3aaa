"""The demo: schedules of every kind, a generated week of history, and a local site that they call."""
