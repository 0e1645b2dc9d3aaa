"""The settings of crawls."""

from __future__ import annotations

import pytest

from foliot.config.parse import SettingsError
from foliot.config.settings import Settings


def test_nodes_are_a_list_and_their_passwords_are_never_shown() -> None:
    settings = Settings.load({"SCRAPYD_URL": "http://bot:s3cret@a:6800/, https://b/scrapyd"})

    assert [url.reveal() for url in settings.scrapyd_urls] == ["http://bot:s3cret@a:6800", "https://b/scrapyd"]
    assert "s3cret" not in repr(settings)


def test_without_a_word_there_is_no_node() -> None:
    settings = Settings.load({})

    assert (settings.scrapyd_urls, settings.scrapyd_project) == ((), "DiscoveryBot")
    assert (settings.crawl_cache_ttl, settings.crawl_lost_seconds) == (3600, 90)


@pytest.mark.parametrize(
    "text", ["scrapyd:6800", "ftp://x", "http://", "http://x:99999", "http://x/?a=b", "http://x y", ",", "http://a/@b"]
)
def test_what_is_no_scrapyd_is_refused_without_repeating_it(text: str) -> None:
    with pytest.raises(SettingsError, match="must be the URL of a Scrapyd") as wrong:
        Settings.load({"SCRAPYD_URL": text})

    assert "a secret that is not shown" in str(wrong.value)


def test_a_node_is_named_once() -> None:
    with pytest.raises(SettingsError, match="each Scrapyd once"):
        Settings.load({"SCRAPYD_URL": "http://a:6800,http://bot:x@A:6800"})


def test_the_project_is_a_name() -> None:
    with pytest.raises(SettingsError, match="name of a Scrapy project"):
        Settings.load({"SCRAPYD_PROJECT": "../x"})
