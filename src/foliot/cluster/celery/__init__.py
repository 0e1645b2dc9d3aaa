"""Workers on other machines, through Celery: it carries run ids, and nothing else of it is used."""
