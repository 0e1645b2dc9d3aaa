"""Expectations of the data that runs bring, their baseline, and the quarantine of data that break them."""
