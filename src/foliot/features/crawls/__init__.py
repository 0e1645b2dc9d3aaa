"""Runs spiders on Scrapyd when a schedule fires."""
