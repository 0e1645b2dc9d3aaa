"""Builds the reader of the pipelines file, and the reconciler that applies it to the database.

The reader is imported only where there is such a file: YAML is slow to import.
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
    """A reader with the transforms and the time zone of this process."""
    from foliot.features.pipelines.file.read import PipelineFileReader

    return PipelineFileReader(catalogue=catalogue, zone=settings.timezone)


def build_reconciler(
    settings: Settings, store: Database, declaring: Declarations, catalogue: TransformCatalogue
) -> PipelineReconciler | None:
    """The actor that applies the file to the database; None without a file."""
    if settings.pipelines is None:
        return None
    from foliot.features.pipelines.file.watch import WatchedPipelineFile

    return PipelineReconciler(
        store=store,
        book=WatchedPipelineFile(path=settings.pipelines, reader=reader(settings, catalogue)),
        declaring=declaring,
        tenant_id=settings.pipelines_tenant,
    )
