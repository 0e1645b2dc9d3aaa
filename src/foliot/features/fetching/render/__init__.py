"""Renders pages in a browser, in processes that can be killed with everything they have started."""
