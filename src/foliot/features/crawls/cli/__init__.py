"""`foliot crawl …`."""

from foliot.features.crawls.cli.crawls import group

__all__ = ["group"]
