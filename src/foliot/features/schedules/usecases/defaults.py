"""Defaults of an action: what a schedule takes from it for fields that its document leaves out."""

from __future__ import annotations

from collections.abc import Mapping

from foliot.engine.ports import Actions, HasDefaults


def with_defaults(actions: Actions, tenant_id: str, raw: object) -> object:
    """The document, completed with its action's defaults."""
    config = raw.get("action") if isinstance(raw, Mapping) else None
    if not isinstance(raw, Mapping) or not isinstance(config, Mapping):
        return raw
    action = actions.get(str(config.get("kind")))
    if not isinstance(action, HasDefaults):
        return raw
    given = {name: value for name, value in raw.items() if value is not None}
    defaults = action.defaults(tenant_id, config)
    made = {**defaults, **given}
    for name, value in defaults.items():
        if isinstance(value, Mapping) and isinstance(given.get(name), Mapping):
            made[name] = {**value, **given[name]}
    return made
