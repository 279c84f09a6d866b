#!/bin/sh
# Run by Temporal's admin tools at each start: makes the schema of its two databases, or brings it up to date.
set -eu
export SQL_PLUGIN=postgres12 SQL_HOST=postgres SQL_PORT=5432 SQL_USER=temporal
for store in temporal visibility; do
  [ "$store" = temporal ] && database=temporal || database=temporal_visibility
  temporal-sql-tool --db "$database" setup-schema -v 0.0
  temporal-sql-tool --db "$database" update-schema -d "/etc/temporal/schema/postgresql/v12/$store/versioned"
done
