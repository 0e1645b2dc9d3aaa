"""The one way out to the network."""
