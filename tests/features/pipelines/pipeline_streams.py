"""What test_pipeline_steps.py and test_pipeline_sinks.py share."""

from __future__ import annotations

from typing import Any

from foliot import Transform


def made(kind: type[Transform], **kwargs: Any) -> Any:
    """As a file gives its kwargs."""
    return kind.model_validate(kwargs)
