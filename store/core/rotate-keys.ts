/** Rotates the keys of the server, and knows every column that they seal. */
import { type Database, type Tx, write, type Queryable } from './database.ts';
import type { Files } from './files.ts';
import { openSecrets, sealedPrefix, type Secrets } from './secrets.ts';
import {
  chooseSecretKey,
  findOrDrawKey,
  fingerprintOf,
  keyFile,
  listFileKeyIds,
  listKeyIds,
  listWrappedKeys,
  lockKeys,
  putKey,
  refuseKey,
  unwrap,
  wrap,
} from './server-keys.ts';

export type RotationDependencies = {
  db: Database;
  files: Files;
  /** Called after each part that a kill would not undo. */
  boundary?: (at: string) => void;
};

const VALUES_AT_ONCE = 500;

export type DataKeyRotated = { id: number; resealed: number; dropped: number[] };

/**
 * Draws a new data key, seals all values again, and drops earlier keys. Continues a killed rotation. No other process
 * may run on the database, because it would know only the keys of its start.
 */
export async function rotateDataKey(
  { db, files, boundary = () => {} }: RotationDependencies,
  secretKey: Buffer,
): Promise<DataKeyRotated> {
  await openSecrets(db, files, secretKey); // that it is the right one, and that there is a key to rotate
  const id = await drawDataKey({ db, files }, secretKey);
  boundary('drawn');
  const secrets = await openSecrets(db, files, secretKey);
  let resealed = 0;
  for (const column of sealedColumns) {
    for (let changed = -1; changed !== 0; resealed += changed) {
      changed = await write(db, (tx) => resealSome(tx, secrets, column, id, VALUES_AT_ONCE));
      boundary('resealed');
    }
  }
  const left = [...(await countSealed(db))].filter(([by]) => by !== id);
  if (left.length > 0) throw new Error('values were sealed by an older key meanwhile: is Millrace running?');
  return { id, resealed, dropped: await dropDataKeys({ db, files, boundary }, id) };
}

async function drawDataKey({ db, files }: RotationDependencies, secretKey: Buffer): Promise<number> {
  return write(db, async (tx) => {
    await lockKeys(tx);
    const ids = await listKeyIds(tx, 'data');
    if (ids.length > 1) return ids.at(-1)!;
    const id = Math.max(...ids, ...(await listFileKeyIds(files, 'data'))) + 1;
    await findOrDrawKey({ tx, files, secretKey }, 'data', id);
    return id;
  });
}

async function dropDataKeys(
  { db, files, boundary = () => {} }: RotationDependencies,
  newestId: number,
): Promise<number[]> {
  const old = new Set(
    [...(await listKeyIds(db, 'data')), ...(await listFileKeyIds(files, 'data'))].filter((id) => id < newestId),
  );
  for (const id of old) {
    await files.delete(keyFile('data', id));
    boundary('file dropped');
    await db.query("DELETE FROM server_keys WHERE name = 'data' AND id = $1", [id]);
  }
  return [...old];
}

/**
 * Wraps all keys by `to` instead of `from`, and returns their number. The database changes at once, and decides which
 * secret key is valid. Copies in the file store follow; after an interruption, a start with `to` or a repeat continues.
 */
export async function rotateSecretKey(
  { db, files, boundary = () => {} }: RotationDependencies,
  from: Buffer,
  to: Buffer,
): Promise<number> {
  await openSecrets(db, files, await chooseSecretKey(db, [from, to])); // the database knows all keys now
  await write(db, async (tx) => {
    await lockKeys(tx);
    await rewrapRows(tx, from, to);
  });
  boundary('database');
  const keys = await listWrappedKeys(db);
  for (const { name, id, wrapped } of keys) {
    await putKey(files, name, id, wrapped);
    boundary('file');
  }
  await db.query('UPDATE server_keys SET rewrapped_from = NULL WHERE rewrapped_from IS NOT NULL');
  return keys.length;
}

async function rewrapRows(tx: Tx, from: Buffer, to: Buffer): Promise<void> {
  for (const { name, id, wrapped, wrappedBy: by } of await listWrappedKeys(tx)) {
    if (unwrap(to, wrapped, name, id)) continue;
    const key = unwrap(from, wrapped, name, id) ?? refuseKey(name, fingerprintOf(from), by);
    await tx.query(
      'UPDATE server_keys SET wrapped = $3, wrapped_by = $4, rewrapped_from = $5 WHERE name = $1 AND id = $2',
      [name, id, wrap(to, key, name, id), fingerprintOf(to), wrapped],
    );
  }
}

type SealedColumn = {
  table: string;
  column: string;
  entityId: string;
  row: string;
};

const ofEntity = (table: string, row: string, ...columns: string[]): SealedColumn[] =>
  columns.map((column) => ({ table, column, entityId: 'entity_id', row }));

/** All columns that `seal` writes. A new one must join, so that rotation seals it again. */
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

/** Sealed values that callers hold: cursors. They end with the key. */
export const sealedElsewhere = ['customer_profiles.next', 'tracked_lists.next', 'people.look'];

type SealedRow = { ctid: string; entity_id: number; row: string; sealed: string };

async function resealSome(
  tx: Tx,
  secrets: Secrets,
  { table, column, entityId, row }: SealedColumn,
  newestId: number,
  limit: number,
): Promise<number> {
  // Locked, so that ctids stay valid. No index serves this, since it runs rarely and without other work.
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
