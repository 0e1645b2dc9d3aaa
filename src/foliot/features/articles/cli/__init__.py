"""`foliot articles …`."""

from foliot.features.articles.cli.articles import group

__all__ = ["group"]
