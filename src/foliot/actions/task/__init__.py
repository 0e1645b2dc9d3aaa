"""Runs a registered Python function when a schedule fires."""

from foliot.actions.task.action import RunTask

__all__ = ["RunTask"]
