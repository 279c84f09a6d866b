import { createCipheriv, createDecipheriv, createHash, createHmac, randomBytes } from 'node:crypto';
import { type Database, type Queryable, write } from './database.ts';
import { asBytes, type Files } from './files.ts';
import { makeSigner, type Signer } from './signing-keys.ts';
import { refuse } from '../domain/refusal.ts';

const CIPHER = 'aes-256-gcm';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const KEY_BYTES = 32;
/** Serialises the drawing of the server's keys among processes that start together. */
const KEYS_LOCK = 5_717_023_441;

/** `data` seals values; `lookup` finds keys that callers show; `tombstone` names people without naming them. */
const KEY_NAMES = ['data', 'lookup', 'tombstone'] as const;
type KeyName = (typeof KEY_NAMES)[number];
type Key = { id: number; key: Buffer };
/** `signature` signs manifests; the newest key last. */
type KeyRing = Record<KeyName, Key> & { signature: Key[] };

/** Where a sealed value lives: it opens nowhere else. */
export type Place = { table: string; column: string; entityId: number; row: string };

export type Secrets = Signer & {
  /** Encrypts a value for one row and column (AES-256-GCM with a fresh nonce and the key's id). */
  seal(value: string, place: Place): string;
  /** The sealed value; fails when it was made for another place or tampered with. */
  open(sealed: string, place: Place): string;
  /** A key of ours as it is looked up (HMAC-SHA-256), so that the key itself needs no index. */
  lookup(key: string): Buffer;
  /** A customer as the audit log and tombstones know them: a keyed hash, the same forever. */
  customerHash(entityId: number, customerType: string, customerId: string): Buffer;
};

/** A token as the database knows it. Tokens hold 256 random bits, so a plain hash is enough. */
export function tokenHash(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}

/**
 * Reads the server's keys, drawing those that are missing, and keeps them wrapped under `secretKey`
 * (32 bytes) both in the database and in the file store: either of them alone can be restored.
 */
export async function openSecrets(db: Database, files: Files, secretKey: Buffer): Promise<Secrets> {
  const ring = await write(db, async (tx) => {
    await tx.query('SELECT pg_advisory_xact_lock($1)', [KEYS_LOCK]);
    const keys: Partial<KeyRing> = {};
    const find = (name: string, id: number) => findOrDrawKey({ tx, files, secretKey }, name, id);
    for (const name of KEY_NAMES) keys[name] = await find(name, (await listKeyIds(tx, name)).at(-1) ?? 1);
    keys.signature = [];
    for (const id of await listSigningKeyIds(tx, files)) keys.signature.push(await find('signature', id));
    return keys as KeyRing;
  });
  return makeSecrets(ring);
}

async function listKeyIds(tx: Queryable, name: string): Promise<number[]> {
  const { rows } = await tx.query<{ id: number }>('SELECT id FROM server_keys WHERE name = $1 ORDER BY id', [name]);
  return rows.map(({ id }) => id);
}

/** Those of the file store, too: a key that has signed is published for ever, though the database was lost. */
async function listSigningKeyIds(tx: Queryable, files: Files): Promise<number[]> {
  const ids = new Set(await listKeyIds(tx, 'signature'));
  for await (const { key } of files.list('keys/signature-')) {
    const [, id] = /^keys\/signature-(\d+)$/.exec(key) ?? [];
    if (id !== undefined) ids.add(Number(id));
  }
  return ids.size === 0 ? [1] : [...ids].toSorted((a, b) => a - b);
}

type KeyPlaces = { tx: Queryable; files: Files; secretKey: Buffer };

async function findOrDrawKey({ tx, files, secretKey }: KeyPlaces, name: string, id: number): Promise<Key> {
  const { rows } = await tx.query<{ wrapped: string }>('SELECT wrapped FROM server_keys WHERE name = $1 AND id = $2', [name, id]);
  const fileKey = `keys/${name}-${id}`;
  const copy = await files.readAll(fileKey);
  const wrapped = rows[0]?.wrapped ?? copy?.toString() ?? wrap(secretKey, randomBytes(KEY_BYTES), name, id);
  const key = unwrap(secretKey, wrapped, name, id);
  if (!copy) await files.put(fileKey, asBytes(wrapped));
  if (!rows[0]) await tx.query('INSERT INTO server_keys (name, id, wrapped) VALUES ($1, $2, $3)', [name, id, wrapped]);
  return { id, key };
}

function wrap(secretKey: Buffer, key: Buffer, name: string, id: number): string {
  return encrypt(secretKey, key, `server_keys/${name}/${id}`);
}

function unwrap(secretKey: Buffer, wrapped: string, name: string, id: number): Buffer {
  try {
    return decrypt(secretKey, wrapped, `server_keys/${name}/${id}`);
  } catch {
    return refuse(500, 'wrong_secret_key',
      `The server's ${name} key was not wrapped by this MILLRACE_SECRET_KEY: start with the key that the database was made with.`);
  }
}

function makeSecrets({ data, lookup, tombstone, signature }: KeyRing): Secrets {
  const prefix = `${data.id}.`;
  return {
    ...makeSigner(signature.map(({ key }) => key)),
    seal: (value, place) => prefix + encrypt(data.key, Buffer.from(value), placeName(place)),
    open(sealed, place) {
      if (!sealed.startsWith(prefix)) throw new Error(`a value of ${place.table}.${place.column} is sealed with an unknown key`);
      return decrypt(data.key, sealed.slice(prefix.length), placeName(place)).toString();
    },
    lookup: (key) => createHmac('sha256', lookup.key).update(key).digest(),
    customerHash: (entityId, customerType, customerId) =>
      createHmac('sha256', tombstone.key).update(`${entityId}/${customerType}/${customerId}`).digest(),
  };
}

function placeName({ table, column, entityId, row }: Place): string {
  return `${table}/${column}/${entityId}/${row}`;
}

function encrypt(key: Buffer, value: Buffer, boundTo: string): string {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv(CIPHER, key, nonce).setAAD(Buffer.from(boundTo));
  return Buffer.concat([nonce, cipher.update(value), cipher.final(), cipher.getAuthTag()]).toString('base64url');
}

function decrypt(key: Buffer, sealed: string, boundTo: string): Buffer {
  const bytes = Buffer.from(sealed, 'base64url');
  const tag = bytes.subarray(bytes.length - TAG_BYTES);
  const cipher = createDecipheriv(CIPHER, key, bytes.subarray(0, NONCE_BYTES), { authTagLength: TAG_BYTES })
    .setAAD(Buffer.from(boundTo)).setAuthTag(tag);
  return Buffer.concat([cipher.update(bytes.subarray(NONCE_BYTES, bytes.length - TAG_BYTES)), cipher.final()]);
}
