"""Alembic calls this to run migrations; the connection is handed over by `store.schema`, already in a transaction."""

from alembic import context

from hybrid_scheduler.store.tables import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata, transactional_ddl=True)
context.run_migrations()
