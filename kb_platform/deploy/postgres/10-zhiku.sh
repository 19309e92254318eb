#!/bin/bash
# Run once by the image of PostgreSQL, when its cluster is new: the application's role, which row-level security binds,
# its database, and the extension that only a superuser may create.
set -euo pipefail

psql -X -q -v ON_ERROR_STOP=1 -v password="$(cat "$KB_DATABASE_PASSWORD_FILE")" \
  --username "${POSTGRES_USER:-postgres}" --dbname postgres <<'SQL'
CREATE ROLE zhiku LOGIN PASSWORD :'password' NOSUPERUSER NOCREATEDB NOCREATEROLE NOBYPASSRLS;
CREATE DATABASE zhiku OWNER zhiku TEMPLATE template0 ENCODING 'UTF8'
  LOCALE_PROVIDER builtin BUILTIN_LOCALE 'C.UTF-8' LOCALE 'C';
REVOKE ALL ON DATABASE zhiku FROM PUBLIC;
\connect zhiku
CREATE EXTENSION vector;
SQL
