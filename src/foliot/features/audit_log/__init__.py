"""The audit log: a hash chain per tenant, its verification, and its routes."""
