"""Price history of watched products, and the built-in tasks that scrape, analyse and prune it."""
