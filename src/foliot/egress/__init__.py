"""The one way out to the network."""

from foliot.egress.client import HttpEgress

__all__ = ["HttpEgress"]
