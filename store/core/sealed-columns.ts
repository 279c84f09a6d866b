import type { Queryable, Tx } from './database.ts';
import { sealedPrefix, type Secrets } from './secrets.ts';

export type SealedColumn = {
  table: string;
  column: string;
  /** SQL over the table: the entity, and the row as `seal` receives them. */
  entityId: string;
  row: string;
};

const ofEntity = (table: string, row: string, ...columns: string[]): SealedColumn[] =>
  columns.map((column) => ({ table, column, entityId: 'entity_id', row }));

/**
 * Every column that `seal` writes to: a new one joins here, so that it is sealed again when the data key is rotated.
 */
export const sealedColumns: SealedColumn[] = [
  ...['qa_api_key', 'prod_api_key'].map((column) => ({ table: 'entities', column, entityId: 'id', row: 'id::text' })),
  ...ofEntity('sor_api_keys', 'sor_id::text', 'api_key'),
  ...ofEntity('app_api_keys', 'identifier', 'api_key'),
  ...ofEntity('app_token_keys', 'identifier', 'secret'),
  ...ofEntity('apps', 'identifier', 'fcm_key'),
  ...ofEntity('push_certificates', 'identifier', 'pkey_pem'),
  ...ofEntity('push_providers', "app_id || '/' || platform", 'sealed_secrets', 'vapid_private_key'),
  ...ofEntity('connections', 'identifier', 'sealed_secrets'),
  ...ofEntity(
    'data_exporters',
    'identifier',
    'aws_access_key_id',
    'aws_secret_access_key',
    'encryption_key',
    'deletion_key',
  ),
  ...ofEntity('imports', 'identifier', 'file_url', 'request_headers'),
];

/** What is sealed and lies nowhere: cursors, which callers hold. They end with the key. */
export const sealedElsewhere = ['customer_profiles.next', 'tracked_lists.next'];

type SealedRow = { ctid: string; entity_id: number; row: string; sealed: string };

/** Seals up to `limit` values of the column by the newest data key; how many. */
export async function resealSome(
  tx: Tx,
  secrets: Secrets,
  { table, column, entityId, row }: SealedColumn,
  newestId: number,
  limit: number,
): Promise<number> {
  // Held, so that a row stays where its ctid says. No index leads to them: it runs once in years, without other work.
  const { rows } = await tx.query<SealedRow>(
    `SELECT ctid::text, ${entityId} AS entity_id, ${row} AS row, ${column} AS sealed FROM ${table}
     WHERE NOT starts_with(${column}, $1) LIMIT ${limit} FOR UPDATE`,
    [sealedPrefix(newestId)],
  );
  const values = rows.map((found) => {
    const cell = { table, column, entityId: found.entity_id, row: found.row };
    return secrets.seal(secrets.open(found.sealed, cell), cell);
  });
  await tx.query(
    `UPDATE ${table} SET ${column} = value FROM unnest($1::text[], $2::text[]) AS resealed (at, value) WHERE ${table}.ctid = at::tid`,
    [rows.map(({ ctid }) => ctid), values],
  );
  return rows.length;
}

/** How many values each data key seals. */
export async function countSealed(db: Queryable): Promise<Map<number, number>> {
  const counts = new Map<number, number>();
  for (const { table, column } of sealedColumns) {
    const { rows } = await db.query<{ id: number; values: number }>(
      `SELECT split_part(${column}, '.', 1)::integer AS id, count(*) AS values FROM ${table} WHERE ${column} IS NOT NULL GROUP BY 1`,
    );
    for (const { id, values } of rows) counts.set(id, (counts.get(id) ?? 0) + values);
  }
  return counts;
}
