"""Alerts: rules that notice problems of schedules, and channels that notify people of them."""
