"""Proof of the ledger: every instant is accounted for."""
