"""The URL of this server, for links in its answers."""

from __future__ import annotations

from fastapi import Request


def own_address(request: Request) -> str:
    """As configured, or where the request arrived. `Host` is chosen by the client and not used."""
    public: str | None = request.app.state.public_url
    if public is not None:
        return public
    host, port = request.scope.get("server") or ("127.0.0.1", None)
    named = f"[{host}]" if ":" in host else host
    return f"{request.scope['scheme']}://{named}" + (f":{port}" if port else "")
