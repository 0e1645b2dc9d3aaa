"""How DiscoveryBot behaves.

What differs between machines comes from the environment: FOLIOT_URL, FOLIOT_TOKEN, REDIS_URL, FOLIOT_EGRESS_ALLOW,
FOLIOT_EGRESS_PORTS and FOLIOT_EGRESS_LOOPBACK (see docs/how-to/hosts.md, crawl-cache.md and crawl-many-nodes.md).
"""

BOT_NAME = "DiscoveryBot"
SPIDER_MODULES = ["discoverybot.spiders"]

# Each request waits for a turn of its host, from the budget that all of Foliot's fetches share; FOLIOT_URL and, with
# sign-in, FOLIOT_TOKEN in Scrapyd's environment say where turns come from. A delay of Scrapy's own would send requests
# after their turns.
USER_AGENT = "DiscoveryBot (+https://example.com/bot)"
ROBOTSTXT_OBEY = True
CONCURRENT_REQUESTS_PER_DOMAIN = 8
AUTOTHROTTLE_ENABLED = False
DOWNLOAD_DELAY = 0.0

# Nobody waits for ever, and no page is endless.
DOWNLOAD_TIMEOUT = 30
DOWNLOAD_MAXSIZE = 16 << 20
RETRY_TIMES = 2
REDIRECT_MAX_TIMES = 10

# Where spiders may go: the guard stands last, behind everything that could change a request.
# Turns are taken just before it, behind the cache: what the cache has costs none.
DOWNLOADER_MIDDLEWARES = {"foliot.scrapy.PolitenessMiddleware": 9_000, "foliot.scrapy.EgressMiddleware": 10_000}
HTTPPROXY_ENABLED = False

# What was fetched within the hour is not fetched again, on whichever machine.
HTTPCACHE_ENABLED = True
HTTPCACHE_STORAGE = "foliot.scrapy.RedisCacheStorage"
HTTPCACHE_EXPIRATION_SECS = 3600
HTTPCACHE_IGNORE_HTTP_CODES = [401, 403, 407, 408, 429, 500, 502, 503, 504]

# Foliot reads progress from the log; nobody needs doors into a running spider.
LOGSTATS_INTERVAL = 10.0
TELNETCONSOLE_ENABLED = False
REMOTE_CONTROL_ENABLED = False
