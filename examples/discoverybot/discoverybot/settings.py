"""How DiscoveryBot behaves.

What differs between machines comes from the environment: REDIS_URL, FOLIOT_EGRESS_ALLOW, FOLIOT_EGRESS_PORTS and
FOLIOT_EGRESS_LOOPBACK (see docs/how-to/crawl-cache.md and docs/how-to/crawl-many-nodes.md).
"""

BOT_NAME = "DiscoveryBot"
SPIDER_MODULES = ["discoverybot.spiders"]

# Guests behave: they read the house rules, knock one at a time and slow down when the house is slow.
USER_AGENT = "DiscoveryBot (+https://example.com/bot)"
ROBOTSTXT_OBEY = True
CONCURRENT_REQUESTS_PER_DOMAIN = 8
AUTOTHROTTLE_ENABLED = True
AUTOTHROTTLE_START_DELAY = 0.0
AUTOTHROTTLE_TARGET_CONCURRENCY = 8.0
DOWNLOAD_DELAY = 0.0

# Nobody waits for ever, and no page is endless.
DOWNLOAD_TIMEOUT = 30
DOWNLOAD_MAXSIZE = 16 << 20
RETRY_TIMES = 2
REDIRECT_MAX_TIMES = 10

# Where spiders may go: the guard stands last, behind everything that could change a request.
DOWNLOADER_MIDDLEWARES = {"foliot.scrapy.EgressMiddleware": 10_000}
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
