/** Seals values with the server's keys, hashes tokens, and signs documents. */
import {
  createHash,
  createHmac,
  createPrivateKey,
  createPublicKey,
  createSecretKey,
  sign as signBytes,
} from 'node:crypto';
import type { SigningKey } from '../../domain/core/signed-document.ts';
import { type Database, type Queryable, write } from './database.ts';
import type { Files } from './files.ts';
import { decrypt, encrypt } from './sealing.ts';
import { findOrDrawKey, type Key, listFileKeyIds, listKeyIds, lockKeys } from './server-keys.ts';

/**
 * Keys by purpose: `data` seals values (the newest last, others until no value needs them); `lookup` finds keys shown
 * by callers; `tombstone` identifies people without names; `signature` signs manifests and receipts, the newest last.
 */
type KeyRing = { data: Key[]; lookup: Key; tombstone: Key; signature: Key[] };

export type SealedCell = { table: string; column: string; entityId: number; row: string };

export type Secrets = Signer & {
  /** Encrypts a value for one row and column (AES-256-GCM with a fresh nonce and the key's id). */
  seal(value: string, cell: SealedCell): string;
  /** Returns the sealed value; throws if it was made for another cell or changed. */
  open(sealed: string, cell: SealedCell): string;
  /** Returns the HMAC-SHA-256 by which a key is found, so that the key itself needs no index. */
  lookup(key: string): Buffer;
  /** Returns the keyed hash of a customer for the audit log and tombstones; it never changes. */
  customerHash(entityId: number, customerType: string, customerId: string): Buffer;
};

/** Returns the hash of a token for the database. Tokens have 256 random bits, so a plain hash is enough. */
export function tokenHash(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}

/**
 * Reads the server's keys and draws missing ones. Stores them, wrapped by `secretKey` (32 bytes), in the database and
 * in the file store, so that either can be restored alone.
 */
export async function openSecrets(db: Database, files: Files, secretKey: Buffer): Promise<Secrets> {
  return makeSecrets(
    await write(db, async (tx) => {
      await lockKeys(tx);
      const find = (name: string, id: number) => findOrDrawKey({ tx, files, secretKey }, name, id);
      const findLatest = async (name: string) => find(name, (await listKeyIds(tx, name)).at(-1) ?? 1);
      const findAll = async (name: string, ids: number[]) => {
        const keys: Key[] = [];
        for (const id of ids.length === 0 ? [1] : ids) keys.push(await find(name, id));
        return keys;
      };
      return {
        // Only those of the database, whose values no other key seals.
        data: await findAll('data', await listKeyIds(tx, 'data')),
        lookup: await findLatest('lookup'),
        tombstone: await findLatest('tombstone'),
        signature: await findAll('signature', await listSigningKeyIds(tx, files)),
      };
    }),
  );
}

/** Lists the keys of the file store, too: a key that has signed stays published, even if the database was lost. */
async function listSigningKeyIds(tx: Queryable, files: Files): Promise<number[]> {
  const ids = new Set([...(await listKeyIds(tx, 'signature')), ...(await listFileKeyIds(files, 'signature'))]);
  return [...ids].toSorted((a, b) => a - b);
}

function makeSecrets({ data, lookup, tombstone, signature }: KeyRing): Secrets {
  const newest = data.at(-1)!;
  const dataKeys = new Map(data.map(({ id, key }) => [String(id), key]));
  // Key objects, because Node would make one from bytes for each hash, at five times the cost.
  const [lookupKey, tombstoneKey] = [createSecretKey(lookup.key), createSecretKey(tombstone.key)];
  return {
    ...makeSigner(signature.map(({ key }) => key)),
    seal: (value, cell) => sealedPrefix(newest.id) + encrypt(newest.key, Buffer.from(value), cellName(cell)),
    open(sealed, cell) {
      const end = sealed.indexOf('.');
      const key = dataKeys.get(sealed.slice(0, Math.max(end, 0)));
      if (!key) throw new Error(`a value of ${cell.table}.${cell.column} is sealed with an unknown key`);
      return decrypt(key, sealed.slice(end + 1), cellName(cell)).toString();
    },
    lookup: (key) => createHmac('sha256', lookupKey).update(key).digest(),
    customerHash: (entityId, customerType, customerId) =>
      createHmac('sha256', tombstoneKey).update(`${entityId}/${customerType}/${customerId}`).digest(),
  };
}

export function sealedPrefix(dataKeyId: number): string {
  return `${dataKeyId}.`;
}

function cellName({ table, column, entityId, row }: SealedCell): string {
  return `${table}/${column}/${entityId}/${row}`;
}

/** PKCS#8 prefix of an Ed25519 private key of 32 bytes (RFC 8410). */
const PKCS8_START = Buffer.from('302e020100300506032b657004220420', 'hex');

type PublishedKey = SigningKey & { use: 'sig'; alg: 'EdDSA' };

type Signer = {
  /** Signs with the newest key, in base64url. */
  sign(bytes: Buffer): { keyId: string; value: string };
  /** Returns all keys, the newest first: older ones still verify. */
  signingKeys(): PublishedKey[];
};

/** `keys`: 32 random bytes each, the newest last; at least one. */
export function makeSigner(keys: readonly Buffer[]): Signer {
  const privateKeys = keys
    .toReversed()
    .map((key) => createPrivateKey({ key: Buffer.concat([PKCS8_START, key]), format: 'der', type: 'pkcs8' }));
  const published = privateKeys.map((key) => publish(createPublicKey(key).export({ format: 'jwk' }).x!));
  return {
    sign: (bytes) => ({
      keyId: published[0]!.kid,
      value: signBytes(null, bytes, privateKeys[0]!).toString('base64url'),
    }),
    signingKeys: () => published,
  };
}

function publish(x: string): PublishedKey {
  const kid = createHash('sha256').update(`{"crv":"Ed25519","kty":"OKP","x":"${x}"}`).digest('base64url');
  return { kty: 'OKP', crv: 'Ed25519', x, kid, use: 'sig', alg: 'EdDSA' };
}
