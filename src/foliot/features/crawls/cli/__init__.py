"""`foliot crawl …`."""
