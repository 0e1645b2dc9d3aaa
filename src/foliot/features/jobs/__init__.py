"""Jobs: runs and schedules of crawls and article batches, under the routes of a crawl API."""
