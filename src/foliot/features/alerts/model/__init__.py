"""Channels, rules, alerts and deliveries: their values and rules, without I/O."""
