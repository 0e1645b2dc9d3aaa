"""Wires the file of pipelines: how it is read, and what brings the database in step with it.

Its readers are imported where there is such a file: YAML takes its time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from foliot.config.settings import Settings
from foliot.db.database import Database
from foliot.features.pipelines.chain.catalogue import TransformCatalogue
from foliot.features.pipelines.usecases.reconcile import PipelineReconciler
from foliot.features.schedules.usecases.declared import Declarations

if TYPE_CHECKING:
    from foliot.features.pipelines.file.read import PipelineFileReader


def reader(settings: Settings, catalogue: TransformCatalogue) -> PipelineFileReader:
    """Reads by the transforms of this process, and in its time zone."""
    from foliot.features.pipelines.file.read import PipelineFileReader

    return PipelineFileReader(catalogue=catalogue, zone=settings.timezone)


def build_reconciler(
    settings: Settings, store: Database, declaring: Declarations, catalogue: TransformCatalogue
) -> PipelineReconciler | None:
    """What brings the database in step with the file; None when no file defines any."""
    if settings.pipelines is None:
        return None
    from foliot.features.pipelines.file.watch import WatchedPipelineFile

    return PipelineReconciler(
        store=store,
        book=WatchedPipelineFile(path=settings.pipelines, reader=reader(settings, catalogue)),
        declaring=declaring,
        tenant_id=settings.pipelines_tenant,
    )
