"""Calls a method of a gRPC service when a schedule fires."""
