"""Templates of secrets: replaces `{{ secret.NAME }}` in header values and environments by the tenant's secrets."""

from __future__ import annotations

import re
from collections.abc import Mapping

from foliot.core.errors import Invalid
from foliot.core.mask import TEMPLATE
from foliot.core.secrets import SIGNING

# Also matches the syntax of other products, so that a template that would not work is refused.
_MEANT = re.compile(r"(?i)\{\{-?\s*secrets?\b")
_ENCODED = re.compile(r"(?i)(?:\{|%7b){2}(?:\s|%20|\+|-)*secrets?\b")


def filled(value: str, secrets: Mapping[str, str]) -> str:
    """The value with its secrets filled in; templates inside a secret are not expanded again."""
    return TEMPLATE.sub(lambda found: secrets[found[1]], value)


def check_header(where: str, value: str) -> None:
    """`Invalid` for a malformed secret template. The message does not repeat the value."""
    if SIGNING in TEMPLATE.findall(value):
        raise Invalid(where, f"must not contain the secret {SIGNING}, which signs and is never sent")
    if _MEANT.search(TEMPLATE.sub("", value)):
        rule = "must name a secret as {{ secret.NAME }}, with a name of letters, digits and underscores"
        raise Invalid(where, rule)


def refuse_secret(where: str, text: str) -> None:
    """Secrets are not allowed in URLs and bodies, which are stored and shown."""
    if _ENCODED.search(text):
        raise Invalid(where, "must not contain a secret: {{ secret.NAME }} works in the values of headers only")
