"""Who changed what: appended in the change's own transaction, chained afterwards."""

from __future__ import annotations
