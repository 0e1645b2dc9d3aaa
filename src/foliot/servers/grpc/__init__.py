"""The gRPC server: authentication, status codes, streams."""
