"""The dashboard's WebSocket and its topics."""
