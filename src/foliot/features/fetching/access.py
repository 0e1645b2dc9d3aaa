"""How the operator's own requests reach a host: extra headers and an upstream proxy, by secrets of its tenant."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from foliot.core.errors import Invalid
from foliot.core.mask import TEMPLATE, CredentialSpot, rewritten
from foliot.core.secrets import SIGNING, CannotUnseal, NotForHost, names_in
from foliot.net.guard import is_callers
from foliot.net.upstream import UpstreamProxy

MOST_HEADERS = 20
MOST_VALUE = 2_000
_WHOLE = re.compile(rf"^{TEMPLATE.pattern}$")


class StepSecrets(Protocol):
    """Values of the secrets that headers, proxies and the steps of a browser name."""

    async def named(self, tenant_id: str, names: Collection[str], url: str | None = None) -> Mapping[str, str]: ...


class SecretUnusable(Exception):
    """A secret is missing, or may not be used here: a code, and one sentence for people."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


async def revealed(
    secrets: StepSecrets | None, tenant_id: str, names: Collection[str], url: str | None
) -> Mapping[str, str]:
    """The values of all these secrets; `url` is where they are sent. Raises `SecretUnusable`."""
    if not names:
        return {}
    if secrets is None:
        raise SecretUnusable("secret_unavailable", "This process has no secrets.")
    try:
        values = await secrets.named(tenant_id, names, url)
    except NotForHost as bound:
        raise SecretUnusable("secret_not_for_host", f"The secret {bound.name} may not be sent to this host.") from None
    except CannotUnseal:
        raise SecretUnusable(
            "secret_unavailable", f"A secret cannot be decrypted: {', '.join(sorted(names))}."
        ) from None
    if missing := sorted(set(names) - values.keys()):
        raise SecretUnusable(
            "secret_missing", f"There is no secret {missing[0]}: set it with foliot secret set {missing[0]}."
        )
    return values


def filled(text: str, values: Mapping[str, str]) -> str:
    """The text with the value of each secret in place of its name."""
    return TEMPLATE.sub(lambda name: values[name[1]], text)


@dataclass(frozen=True, slots=True, kw_only=True)
class HostAccess:
    """Headers and proxy of a host; values name secrets as `{{ secret.NAME }}`."""

    headers: Mapping[str, str] = field(default_factory=dict, hash=False)
    proxy: str | None = None

    def __bool__(self) -> bool:
        return bool(self.headers) or self.proxy is not None

    async def open(self, secrets: StepSecrets | None, tenant_id: str, url: str) -> tuple[Mapping[str, str], str | None]:
        """Headers and the URL of the proxy, with the values of their secrets."""
        values = await revealed(secrets, tenant_id, names_in(self.headers), url)
        headers = {name: filled(value, values) for name, value in self.headers.items()}
        if self.proxy is None:
            return headers, None
        # The URL of the proxy is the secret: it is sent nowhere, so no host is compared with it.
        return headers, filled(self.proxy, await revealed(secrets, tenant_id, names_in({"": self.proxy}), None))


NO_ACCESS = HostAccess()


def read_headers(path: str, raw: Any) -> Mapping[str, str]:
    """Extra headers of a host: credentials name a secret."""
    if not isinstance(raw, Mapping) or len(raw) > MOST_HEADERS:
        raise Invalid(path, f"must be an object of at most {MOST_HEADERS} headers", got=type(raw).__name__)
    for name, value in raw.items():
        where = f"{path}.{str(name)[:100]}"
        if not isinstance(name, str) or not is_callers(name):
            raise Invalid(where, "is not a header that can be set here")
        if not isinstance(value, str) or len(value) > MOST_VALUE or not value.isprintable():
            raise Invalid(where, f"must be one line of at most {MOST_VALUE:,} characters")
        _known_templates(where, value)

    def refuse(spot: CredentialSpot, text: str) -> str:  # noqa: ARG001 -- the credential is not repeated
        raise Invalid(f"{path}.{spot.place.rpartition('.')[2]}", "must name a secret as {{ secret.NAME }}")

    rewritten({"headers": dict(raw)}, refuse)
    return dict(raw)


def read_proxy(path: str, raw: Any) -> str:
    """`{{ secret.PROXY }}`, or the URL of a proxy that asks for no password."""
    rule = "must be {{ secret.NAME }}, or http://host:port or socks5://host:port without a password"
    if not isinstance(raw, str) or len(raw) > MOST_VALUE:
        raise Invalid(path, rule)
    if _WHOLE.match(raw.strip()):
        _known_templates(path, raw)
        return raw.strip()
    try:
        proxy = UpstreamProxy.read(raw)
    except Invalid:
        raise Invalid(path, rule) from None
    if proxy.username or proxy.password:
        raise Invalid(path, rule)
    return raw


def _known_templates(where: str, value: str) -> None:
    if SIGNING in TEMPLATE.findall(value):
        raise Invalid(where, f"must not contain the secret {SIGNING}, which signs and is never sent")
    if "{{" in TEMPLATE.sub("", value):
        raise Invalid(where, "must name a secret as {{ secret.NAME }}")
