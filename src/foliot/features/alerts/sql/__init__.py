"""Statements of channels, rules, alerts and deliveries."""
