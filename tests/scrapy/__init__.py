"""Tests of scrapy."""
