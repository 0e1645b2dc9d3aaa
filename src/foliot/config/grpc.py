"""Settings of the gRPC server."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from foliot.config import access
from foliot.config import parse as reading
from foliot.config.field import about
from foliot.core.errors import Invalid

USUAL_PORT = 50054
OFF = "off"
"""The value that turns the gRPC server off."""


def grpc_port(text: str) -> int | str | None:
    """Kubernetes sets GRPC_PORT beside a service named grpc: it holds a URL, not a port, and is ignored."""
    if text.startswith("tcp://"):
        return None
    if text.lower() == OFF:
        return OFF
    try:
        return reading.whole(0, 65535)(text)
    except ValueError as rule:
        raise ValueError(f"{rule}, or {OFF}") from None


@dataclass(frozen=True, kw_only=True, repr=False)
class GrpcSettings:
    """Settings of the gRPC server."""

    grpc_host: str | None = field(
        default=None,
        metadata=about(
            "Address the gRPC server listens on; in local mode a loopback address. Default: that of `FOLIOT_HOST`.",
            "FOLIOT_GRPC_HOST",
            read=reading.address,
        ),
    )
    grpc_port: int | str | None = field(
        default=None,
        metadata=about(
            f"Port the gRPC server listens on; 0 takes any free one and prints it, `{OFF}` starts no gRPC server. "
            f"Default: {USUAL_PORT}; `foliot up` starts without gRPC when that port is taken.",
            "FOLIOT_GRPC_PORT",
            "GRPC_PORT",
            read=grpc_port,
        ),
    )
    grpc_reflection: bool | None = field(
        default=None,
        metadata=about(
            "Whether the gRPC server answers reflection, without a token: 1 or 0. Default: 1 in local mode, else 0.",
            "FOLIOT_GRPC_REFLECTION",
            read=reading.switch,
        ),
    )
    grpc_tls_cert: Path | None = field(
        default=None,
        metadata=about(
            "File with the certificate (PEM, with its chain) of the gRPC server; with `FOLIOT_GRPC_TLS_KEY`. "
            "Default: no TLS.",
            "FOLIOT_GRPC_TLS_CERT",
            read=reading.file,
        ),
    )
    grpc_tls_key: Path | None = field(
        default=None,
        metadata=about("File with its private key (PEM).", "FOLIOT_GRPC_TLS_KEY", read=reading.file),
    )


def complaints(values: Mapping[str, Any], given: Callable[[str], Mapping[str, str]]) -> list[Invalid]:
    """Checks rules between these settings and the others."""
    errors = []
    host = values["grpc_host"]
    if host is not None and not reading.is_loopback(host) and not any(values[name] for name in access.SOURCES):
        rule = "must be a loopback address (127.0.0.1, ::1 or localhost) as long as no token is required"
        errors.append(Invalid(next(iter(given("grpc_host"))), rule, got=host))
    pair = {"grpc_tls_cert": "FOLIOT_GRPC_TLS_CERT", "grpc_tls_key": "FOLIOT_GRPC_TLS_KEY"}
    missing = [key for name, key in pair.items() if values[name] is None]
    if len(missing) == 1:
        errors.append(Invalid(missing[0], "must be set too: a certificate and its key go together"))
    return errors
