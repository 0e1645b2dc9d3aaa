"""The dashboard's WebSocket: subscriptions to lists, runs, logs and bulk operations."""
