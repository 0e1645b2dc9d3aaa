"""Explanations: facts with proofs, without I/O."""
