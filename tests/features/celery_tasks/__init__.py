"""Tests of tasks of other Celery applications."""
