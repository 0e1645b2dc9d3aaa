"""Health of webhook targets: success rates, failures, open circuit breakers, test requests."""
