"""Calls a URL when a schedule fires."""

from foliot.actions.webhook.action import Webhook
from foliot.actions.webhook.signing import Secrets

__all__ = ["Secrets", "Webhook"]
