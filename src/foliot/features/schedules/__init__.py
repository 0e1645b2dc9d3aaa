"""Schedules: create, change, pause, preview and run them, over HTTP, gRPC and the command line."""
