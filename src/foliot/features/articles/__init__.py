"""Fetches and extracts articles: each page once for all jobs that want it, within the rate limits of its host."""
