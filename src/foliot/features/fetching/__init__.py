"""Pages of the web, for every kind of work: host limits that all callers share, robots.txt, stored pages."""
