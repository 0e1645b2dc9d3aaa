"""Transport over Celery: it carries run ids, and nothing else of it is used."""
