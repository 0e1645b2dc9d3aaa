"""Rules of calendars."""
