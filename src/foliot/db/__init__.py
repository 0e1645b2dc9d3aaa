"""The one transactional truth, on SQLite, PostgreSQL and MariaDB/MySQL."""
