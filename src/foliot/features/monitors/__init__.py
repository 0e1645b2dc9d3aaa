"""Monitors: jobs that run elsewhere report by a ping, and a missing ping opens an alert; and Foliot's own heartbeat."""
