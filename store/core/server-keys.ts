/** Stores the server's keys, wrapped by the secret key, in the database and in the file store. */
import { createHmac, randomBytes } from 'node:crypto';
import { readRow, readRows, type Row } from './camel-row.ts';
import { refuse } from '../../domain/core/refusal.ts';
import type { Queryable } from './database.ts';
import { asBytes, type Files } from './files.ts';
import { decrypt, encrypt } from './sealing.ts';

const KEY_BYTES = 32;
/** Lock that serialises drawing keys in processes that start together. */
const KEYS_LOCK = 5_717_023_441;
const KEYS_AREA = 'keys/';

export type Key = { id: number; key: Buffer };

/** A key in the database, wrapped by the secret key with the fingerprint `wrapped_by`. */
export type WrappedKey = Row<'server_keys', 'name' | 'id' | 'wrapped' | 'wrappedBy' | 'rewrappedFrom' | 'createdAt'>;

export type KeyStores = { tx: Queryable; files: Files; secretKey: Buffer };

export async function lockKeys(tx: Queryable): Promise<void> {
  await tx.query('SELECT pg_advisory_xact_lock($1)', [KEYS_LOCK]);
}

export async function listWrappedKeys(db: Queryable): Promise<WrappedKey[]> {
  const rows = readRows<WrappedKey>(await db.query('SELECT * FROM server_keys ORDER BY name, id'));
  return rows;
}

export async function listKeyIds(tx: Queryable, name: string): Promise<number[]> {
  const { rows } = await tx.query<Row<'server_keys', 'id'>>('SELECT id FROM server_keys WHERE name = $1 ORDER BY id', [
    name,
  ]);
  return rows.map(({ id }) => id);
}

export async function listFileKeyIds(files: Files, name: string): Promise<number[]> {
  const ids: number[] = [];
  for await (const { key } of files.list(`${KEYS_AREA}${name}-`)) {
    const [, id] = /-(\d+)$/.exec(key) ?? [];
    if (key === keyFile(name, Number(id))) ids.push(Number(id));
  }
  return ids.toSorted((a, b) => a - b);
}

/** Returns the key from the database, else from the file store, else a new one; then both have it. */
export async function findOrDrawKey({ tx, files, secretKey }: KeyStores, name: string, id: number): Promise<Key> {
  const row = readRow<WrappedKey>(await tx.query('SELECT * FROM server_keys WHERE name = $1 AND id = $2', [name, id]));
  const copy = (await files.readAll(keyFile(name, id)))?.toString();
  const wrapped = row?.wrapped ?? copy ?? wrap(secretKey, randomBytes(KEY_BYTES), name, id);
  const key = unwrap(secretKey, wrapped, name, id) ?? refuseKey(name, fingerprintOf(secretKey), row?.wrappedBy ?? null);
  // Repairs the copy that an interrupted change of the secret key left.
  if (copy === undefined || (copy !== wrapped && copy === row?.rewrappedFrom)) await putKey(files, name, id, wrapped);
  await tx.query(
    `INSERT INTO server_keys (name, id, wrapped, wrapped_by) VALUES ($1, $2, $3, $4)
     ON CONFLICT (name, id) DO UPDATE SET wrapped_by = excluded.wrapped_by, rewrapped_from = NULL
       WHERE server_keys.wrapped_by IS DISTINCT FROM excluded.wrapped_by OR server_keys.rewrapped_from IS NOT NULL`,
    [name, id, wrapped, fingerprintOf(secretKey)],
  );
  return { id, key };
}

export async function putKey(files: Files, name: string, id: number, wrapped: string): Promise<void> {
  await files.put(keyFile(name, id), asBytes(wrapped));
}

export function keyFile(name: string, id: number): string {
  return `${KEYS_AREA}${name}-${id}`;
}

export function wrap(secretKey: Buffer, key: Buffer, name: string, id: number): string {
  return encrypt(secretKey, key, `server_keys/${name}/${id}`);
}

/** Returns null if another secret key wrapped it. */
export function unwrap(secretKey: Buffer, wrapped: string, name: string, id: number): Buffer | null {
  try {
    return decrypt(secretKey, wrapped, `server_keys/${name}/${id}`);
  } catch {
    return null;
  }
}

/** Returns a fingerprint of a secret key for messages; it reveals nothing. */
export function fingerprintOf(secretKey: Buffer): string {
  return createHmac('sha256', secretKey).update('millrace/secret-key').digest('hex').slice(0, 12);
}

export function refuseKey(name: string, given: string, right: string | null): never {
  return refuse(
    500,
    'wrong_secret_key',
    `The server's ${name} key was not wrapped by this MILLRACE_SECRET_KEY (fingerprint ${given}): start with the key that the database ` +
      `was made with, or was given since${right === null ? '' : ` (fingerprint ${right})`}.`,
  );
}

/** Returns the secret key that wraps the database's keys: the first if there are none, or no key matches. */
export async function chooseSecretKey(db: Queryable, candidates: Buffer[]): Promise<Buffer> {
  const [row] = await listWrappedKeys(db);
  const right = row && candidates.find((candidate) => unwrap(candidate, row.wrapped, row.name, row.id));
  return right ?? candidates[0]!;
}
