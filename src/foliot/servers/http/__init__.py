"""The HTTP server: authentication, problem documents, streams, the dashboard's files."""
