"""Access to the database: SQLite, PostgreSQL, MariaDB and MySQL."""
