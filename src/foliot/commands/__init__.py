"""What surrounds every use case: permission, transaction, idempotency, limits and the audit log."""
