"""`foliot scrapyd`: the web services of Scrapyd in front of a Foliot server and its Scrapyd nodes."""
