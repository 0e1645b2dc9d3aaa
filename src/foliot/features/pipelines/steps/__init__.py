"""The built-in transforms."""

from __future__ import annotations

from collections.abc import Sequence

from foliot.features.pipelines.chain.context import Transform
from foliot.features.pipelines.steps.discord_sink import DiscordSink
from foliot.features.pipelines.steps.feeds import FeedFetcher, SitemapFetcher
from foliot.features.pipelines.steps.fetchers import HttpFetcher
from foliot.features.pipelines.steps.filters import Deduplicate, Filter
from foliot.features.pipelines.steps.parsers import ArticleExtractor, HtmlParser, JsonParser, PriceExtractor
from foliot.features.pipelines.steps.run_items import RunItems
from foliot.features.pipelines.steps.sinks import CsvSink, JsonlSink, MongoSink, SqlSink, WebhookSink

ALIASES = {"DiscordSink": ("core.infra.discord_sink.DiscordSink",)}
"""Names in files of older systems."""


def built_in() -> Sequence[type[Transform]]:
    """All built-in transforms, in the usual order of a chain."""
    return [
        HttpFetcher,
        FeedFetcher,
        SitemapFetcher,
        HtmlParser,
        JsonParser,
        ArticleExtractor,
        PriceExtractor,
        Filter,
        Deduplicate,
        RunItems,
        JsonlSink,
        CsvSink,
        SqlSink,
        MongoSink,
        WebhookSink,
        DiscordSink,
    ]
