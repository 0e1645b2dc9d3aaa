"""Nothing is fetched from anywhere unless a test says so."""

BOT_NAME = "TestBot"
SPIDER_MODULES = ["testbot.spiders"]
ROBOTSTXT_OBEY = False
TELNETCONSOLE_ENABLED = False
