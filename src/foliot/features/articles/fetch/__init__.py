"""Fetches one page through egress, obeys robots.txt, and extracts the article in a process pool."""
