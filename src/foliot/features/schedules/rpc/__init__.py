"""gRPC service of schedules."""
