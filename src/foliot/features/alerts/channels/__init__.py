"""How a message is sent to each kind of channel."""
