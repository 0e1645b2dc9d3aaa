"""Use cases of alerts: channels, rules, and what to do about an open alert."""
