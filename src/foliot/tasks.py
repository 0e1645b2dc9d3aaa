"""Tasks: Python functions that a schedule can run by name.

from foliot import task


@task("resize_pictures", queue="pictures", retries=5)
def resize_pictures(folder: str, width: int = 800) -> dict[str, int]: ...
"""

from foliot.features.tasks.model.context import GiveUp, Partial, Retry, TaskContext
from foliot.features.tasks.model.task import Task, task

__all__ = ["GiveUp", "Partial", "Retry", "Task", "TaskContext", "task"]
