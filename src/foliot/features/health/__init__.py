"""Health checks, readiness, Prometheus metrics, and the health file."""
