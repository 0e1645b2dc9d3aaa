"""The HTTP door."""

from foliot.doors.rest.app import create_app

__all__ = ["create_app"]
