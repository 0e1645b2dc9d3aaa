"""Outgoing connections: the address guard (SSRF), the HTTP client and the gRPC channels."""
