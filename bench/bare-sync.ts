import { pipeline } from 'node:stream/promises';
import type pg from 'pg';
import { from as copyFrom, to as copyTo } from 'pg-copy-streams';

/** The source of the benchmark's syncs, in a schema that a connection names. */
export const BENCH_SOURCE = { schema: 'bench_source', stream: 'customers' };

/** A row is a customer; they come as they would by a hash. Numbers have two digits behind the point. */
export async function createSource(client: pg.Client, rows: number): Promise<void> {
  await client.query(`
    DROP SCHEMA IF EXISTS bench_source CASCADE; CREATE SCHEMA bench_source;
    CREATE TABLE bench_source.customers (id integer PRIMARY KEY, email text NOT NULL, plan text NOT NULL, score numeric NOT NULL);
    INSERT INTO bench_source.customers
      SELECT n, 'customer-' || lpad((n * 7919::bigint % 1000003)::text, 7, '0') || '@example.com', 'plan ' || n % 1013,
        (n * 31::bigint % 100000) / 100.0
      FROM generate_series(1, ${rows}) n`);
  await client.query('VACUUM (ANALYZE) bench_source.customers');
}

/**
 * Syncs as hand-written code would: COPY out of the source, piped into COPY of a temporary table in another session,
 * and one plain INSERT … ON CONFLICT DO UPDATE of both values of each row. Returns the seconds it took.
 */
export function bareSync(source: pg.Client, client: pg.Client): Promise<number> {
  const rows = 'COPY (SELECT email, plan, score FROM bench_source.customers) TO STDOUT';
  return bareMerge(client, () =>
    pipeline(source.query(copyTo(rows)), client.query(copyFrom('COPY bare_staged FROM STDIN'))),
  );
}

/**
 * Has `stage` fill the temporary table `bare_staged (email, plan, score)`, and merges both values of each row. Returns
 * the seconds it took.
 */
export async function bareMerge(client: pg.Client, stage: () => Promise<void>): Promise<number> {
  const start = performance.now();
  await client.query('BEGIN; CREATE TEMPORARY TABLE bare_staged (email text, plan text, score numeric) ON COMMIT DROP');
  await stage();
  await client.query(`
    INSERT INTO bare_values (entity_id, sor_id, customer_type, attribute_id, customer_id, changed_at, string_value, number_value)
    SELECT 1, 1, 0, a.id, s.email, now(), CASE a.id WHEN 1 THEN s.plan END, CASE a.id WHEN 2 THEN s.score END
    FROM bare_staged s CROSS JOIN (VALUES (1), (2)) a (id)
    ON CONFLICT (entity_id, sor_id, customer_id, customer_type, attribute_id) DO UPDATE SET
      changed_at = excluded.changed_at, removed_at = NULL, string_value = excluded.string_value, number_value = excluded.number_value`);
  await client.query('COMMIT');
  return (performance.now() - start) / 1000;
}
