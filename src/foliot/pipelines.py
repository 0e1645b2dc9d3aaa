"""Pipelines: chains of transforms, written in YAML, run on a schedule.

from foliot import Transform


class Shout(Transform):
    field: str

    async def handle(self, item, ctx):
        return {**item, self.field: str(item[self.field]).upper()}
"""

from foliot.features.pipelines.chain.context import Confidential, Item, SecretRef, StepContext, StepFailed, Transform
from foliot.features.pipelines.chain.fetch import Fetched, FetchFailed
from foliot.features.pipelines.model import Unreadable

__all__ = [
    "Confidential",
    "FetchFailed",
    "Fetched",
    "Item",
    "SecretRef",
    "StepContext",
    "StepFailed",
    "Transform",
    "Unreadable",
]
