"""The demo's content: schedules of every kind, a week of their history, and the site that they call."""
