#!/bin/sh
# Run by the Postgres image when it makes its volume: a role and its databases for Millrace, and for Temporal.
set -eu
psql -v ON_ERROR_STOP=1 -v millrace="$DATABASE_PASSWORD" -v temporal="$TEMPORAL_DATABASE_PASSWORD" \
  -U "$POSTGRES_USER" -d postgres <<'SQL'
CREATE ROLE millrace LOGIN PASSWORD :'millrace';
CREATE DATABASE millrace OWNER millrace;
CREATE ROLE temporal LOGIN PASSWORD :'temporal';
CREATE DATABASE temporal OWNER temporal;
CREATE DATABASE temporal_visibility OWNER temporal;
SQL
