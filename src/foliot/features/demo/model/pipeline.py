"""The demo's pipeline: reads the shop's prices and posts them to the echo endpoint, in three steps."""

from __future__ import annotations

from datetime import datetime

from foliot.features.demo.model.site import PRODUCTS
from foliot.features.demo.usecases import SOURCE
from foliot.features.pipelines.model import PipelineDefinition, StepSpec, StoredPipeline, revision_of

NAME = "demo-prices"
SCHEDULE = "price-pipeline"
"""The schedule that runs it."""


def kept(base: str, site: str, tenant_id: str, schedule_id: str, made_at: datetime) -> StoredPipeline:
    """As if it had been defined in a file."""
    urls = [f"{site}/shop/{sku}" for sku in PRODUCTS]
    steps = (
        StepSpec(cls="HttpFetcher", name="fetch", kwargs={"urls": urls}, line=4),
        StepSpec(cls="PriceExtractor", name="read", kwargs={}, on_error="skip", line=7),
        StepSpec(cls="WebhookSink", name="send", kwargs={"url": f"{base}/api/echo/prices"}, line=9),
    )
    definition = PipelineDefinition(name=NAME, steps=steps, draft=None, revision=revision_of(steps, None))
    return StoredPipeline(
        tenant_id=tenant_id,
        name=NAME,
        file=SOURCE,
        place=0,
        definition=definition,
        fault=None,
        steps=[step.to_dict() for step in steps],
        yaml=_yaml(steps),
        schedule_id=schedule_id,
        updated_at=made_at,
    )


def _yaml(steps: tuple[StepSpec, ...]) -> str:
    lines = [f"  - name: {NAME}", "    transforms:"]
    for step in steps:
        lines += [f"      - class: {step.cls}", f"        name: {step.name}"]
        lines += [f"        kwargs: {{{', '.join(f'{name}: {value}' for name, value in step.kwargs.items())}}}"]
    return "\n".join(lines) + "\n"
