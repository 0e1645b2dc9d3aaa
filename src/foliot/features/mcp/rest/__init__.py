"""The endpoint `/mcp`, and the tools that it offers."""
