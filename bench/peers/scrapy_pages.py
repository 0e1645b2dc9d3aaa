"""Scrapy over the same pages: fetches them, and reads them when it is told how.

python bench/peers/scrapy_pages.py URL COUNT [library | ours | fetch] [REQUESTS]

library   trafilatura as its manual has it: fast, with metadata
ours      the function that Foliot reads pages with
fetch     nothing is read
"""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator
from time import perf_counter, process_time
from typing import Any

import scrapy
from reading import library
from scrapy.crawler import CrawlerProcess

from foliot.pages.article import extract

where, count = sys.argv[1], int(sys.argv[2])
reading = {"fetch": ""}.get(sys.argv[3], sys.argv[3]) if len(sys.argv) > 3 else ""
at_once = int(sys.argv[4]) if len(sys.argv) > 4 else 64
seen = {"pages": 0, "articles": 0}
clock: dict[str, float] = {}


class Pages(scrapy.Spider):
    """Asks for each page once."""

    name = "pages"

    async def start(self) -> AsyncIterator[Any]:
        clock["began"], clock["cpu"] = perf_counter(), process_time()
        for number in range(count):
            yield scrapy.Request(f"{where}{number}")

    def parse(self, response: Any) -> None:
        seen["pages"] += 1
        if reading == "ours":
            content_type = response.headers["Content-Type"].decode()
            seen["articles"] += "content" in extract(response.body, content_type, response.url)
        elif reading == "library":
            seen["articles"] += bool(library(response.text, response.url))

    def closed(self, reason: str) -> None:
        clock["ended"], clock["cpu"] = perf_counter(), process_time() - clock["cpu"]


def main() -> None:
    if reading:
        library("<p>Whatever takes long only once is not counted.</p>", where)
    settings = {
        "LOG_ENABLED": False,
        "TELNETCONSOLE_ENABLED": False,
        "ROBOTSTXT_OBEY": False,
        "DOWNLOAD_DELAY": 0,
        "CONCURRENT_REQUESTS": at_once,
        "CONCURRENT_REQUESTS_PER_DOMAIN": at_once,
    }
    process = CrawlerProcess(settings)
    process.crawl(Pages)
    process.start()
    if seen != {"pages": count, "articles": count if reading else 0}:
        raise SystemExit(f"{count} pages were asked for: {seen}")
    cpu_us = clock["cpu"] / count * 1e6
    print(json.dumps({"per_second": count / (clock["ended"] - clock["began"]), "cpu_us": cpu_us}))


if __name__ == "__main__":
    main()
