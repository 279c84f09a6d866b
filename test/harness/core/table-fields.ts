import { buffer } from 'node:stream/consumers';
import { to as copyTo } from 'pg-copy-streams';
import type { Database } from '../../../store/core/database.ts';
import { sealedColumns } from '../../../store/core/rotate-keys.ts';
import type { Secrets } from '../../../store/core/secrets.ts';

type Field = { where: string; bytes: Buffer };
type Table = { schema: string; name: string; shown: string; columns: string[] };

/**
 * Every field of every table of a database, partitions one by one, as text; of those that `secrets` sealed what is in
 * them, too. What Postgres itself keeps of their contents, in its statistics and its log, is not told.
 */
export async function* fieldsOfTables(db: Database, secrets: Secrets | undefined): AsyncGenerator<Field> {
  for (const table of await listTables(db)) yield* fieldsOf(db, table);
  if (secrets) yield* sealedFields(db, secrets);
}

async function* sealedFields(db: Database, secrets: Secrets): AsyncGenerator<Field> {
  for (const { table, column, entityId, row } of sealedColumns) {
    const { rows } = await db.query<{ entity_id: number; row: string; sealed: string }>(
      `SELECT ${entityId} AS entity_id, ${row} AS row, ${column} AS sealed FROM ${table} WHERE ${column} IS NOT NULL`,
    );
    for (const { entity_id: ofEntity, row: ofRow, sealed } of rows) {
      const opened = secrets.open(sealed, { table, column, entityId: ofEntity, row: ofRow });
      yield { where: `${table}.${column}`, bytes: Buffer.from(opened) };
    }
  }
}

async function listTables(db: Database): Promise<Table[]> {
  const { rows } = await db.query<Table>(
    `SELECT n.nspname AS schema, c.relname AS name, coalesce(p.relname, c.relname) AS shown,
       (SELECT array_agg(a.attname::text ORDER BY a.attnum) FROM pg_attribute a
        WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped) AS columns
     FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
     LEFT JOIN pg_inherits i ON i.inhrelid = c.oid LEFT JOIN pg_class p ON p.oid = i.inhparent
     WHERE c.relkind IN ('r', 'm') AND n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname NOT LIKE 'pg_t%'
     ORDER BY n.nspname, c.relname`,
  );
  return rows;
}

const quoted = (name: string) => `"${name.replaceAll('"', '""')}"`;

/** As COPY tells them: in its text format a line is a row, and a tab stands between fields and nowhere else. */
async function* fieldsOf(db: Database, { schema, name, shown, columns }: Table): AsyncGenerator<Field> {
  const client = await db.connect();
  let copied: Buffer;
  try {
    copied = await buffer(client.query(copyTo(`COPY (SELECT * FROM ${quoted(schema)}.${quoted(name)}) TO STDOUT`)));
  } finally {
    client.release();
  }
  for (const row of copied.toString('latin1').split('\n')) {
    if (row === '') continue;
    for (const [nth, field] of row.split('\t').entries()) {
      if (field !== '\\N') yield { where: `${shown}.${columns[nth]}`, bytes: Buffer.from(unescaped(field), 'latin1') };
    }
  }
}

const ESCAPES: Record<string, string> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t', v: '\v' };

function unescaped(field: string): string {
  return field.replaceAll(/\\(.)/gs, (_, letter: string) => ESCAPES[letter] ?? letter);
}
