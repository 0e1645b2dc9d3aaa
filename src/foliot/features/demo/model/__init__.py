"""A demo that lives on this machine alone: schedules of every kind, a week of their past, and a site that they call."""
