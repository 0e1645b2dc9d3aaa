"""Tasks of other Celery applications, sent to their own broker."""
