"""Use cases of pipelines, and the reconciler of their file."""
