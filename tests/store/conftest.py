"""Real databases for the tests of this folder."""

from databases import database_url, new_database, new_postgres, new_sqlite, postgres_folder, postgres_url

__all__ = ["database_url", "new_database", "new_postgres", "new_sqlite", "postgres_folder", "postgres_url"]
