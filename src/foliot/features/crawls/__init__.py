"""Runs spiders on Scrapyd: starts, polls and stops crawls, and copies their logs and items."""
