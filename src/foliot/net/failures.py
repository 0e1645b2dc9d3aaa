"""Maps failures of a request to a few uniform classes.

Messages of the operating system and resolved addresses are never repeated: they would describe internal networks.
What could be used to map a network reads the same: an unknown name, a name with an internal address, a closed port, a
filtered one.
"""

from __future__ import annotations

import aiohttp

from foliot.core.egress import EgressFailed

UNREACHABLE = "The target could not be reached."
TIMEOUT = "The target did not answer in time."
TLS = "No secure connection to the target could be made."
BAD = "The target's answer was not valid HTTP."


class Unreachable(EgressFailed):
    """No connection, for whatever reason."""

    def __init__(self) -> None:
        super().__init__("target_unreachable", UNREACHABLE)


def late(*, connected: bool) -> EgressFailed:
    """Only a server that accepted a connection can time out; a filtered port must look like a closed one."""
    return EgressFailed("target_timeout", TIMEOUT) if connected else Unreachable()


def uniform(error: aiohttp.ClientError) -> EgressFailed:
    match error:
        case aiohttp.ClientSSLError():
            return EgressFailed("tls_failed", TLS)
        case aiohttp.ClientConnectionError():
            return Unreachable()
        case _:
            return EgressFailed("bad_response", BAD)
