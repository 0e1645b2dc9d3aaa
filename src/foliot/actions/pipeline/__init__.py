"""Runs a pipeline when a schedule fires."""

from foliot.actions.pipeline.action import RunPipeline

__all__ = ["RunPipeline"]
