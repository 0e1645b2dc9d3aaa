"""MCP: a dozen tools for agents, over HTTP and over standard input and output."""
