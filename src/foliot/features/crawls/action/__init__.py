"""The crawl action and the Scrapyd client."""
