"""Toolkit of the command line: HTTP client, output, options and following streams; it knows no feature."""
