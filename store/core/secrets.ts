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
 * `data` seals values, the newest key last, and those before it until nothing is sealed by them; `lookup` finds keys
 * that callers show; `tombstone` names people without naming them; `signature` signs manifests and receipts, the newest
 * key last.
 */
type KeyRing = { data: Key[]; lookup: Key; tombstone: Key; signature: Key[] };

/** Where a sealed value lives: it opens nowhere else. */
export type SealedCell = { table: string; column: string; entityId: number; row: string };

export type Secrets = Signer & {
  /** Encrypts a value for one row and column (AES-256-GCM with a fresh nonce and the key's id). */
  seal(value: string, cell: SealedCell): string;
  /** The sealed value; fails when it was made for another place or tampered with. */
  open(sealed: string, cell: SealedCell): string;
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
        // Only those of the database: what it holds is sealed by no other.
        data: await findAll('data', await listKeyIds(tx, 'data')),
        lookup: await findLatest('lookup'),
        tombstone: await findLatest('tombstone'),
        signature: await findAll('signature', await listSigningKeyIds(tx, files)),
      };
    }),
  );
}

/** Those of the file store, too: a key that has signed is published for ever, though the database was lost. */
async function listSigningKeyIds(tx: Queryable, files: Files): Promise<number[]> {
  const ids = new Set([...(await listKeyIds(tx, 'signature')), ...(await listFileKeyIds(files, 'signature'))]);
  return [...ids].toSorted((a, b) => a - b);
}

function makeSecrets({ data, lookup, tombstone, signature }: KeyRing): Secrets {
  const newest = data.at(-1)!;
  const dataKeys = new Map(data.map(({ id, key }) => [String(id), key]));
  // From bytes Node would make a key for each hash, which takes five times as long as the hash.
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

/** What values begin with that are sealed by this data key. */
export function sealedPrefix(dataKeyId: number): string {
  return `${dataKeyId}.`;
}

function cellName({ table, column, entityId, row }: SealedCell): string {
  return `${table}/${column}/${entityId}/${row}`;
}

/** An Ed25519 private key of 32 bytes, as PKCS#8 has it behind this (RFC 8410). */
const PKCS8_START = Buffer.from('302e020100300506032b657004220420', 'hex');

/** A public key as it is published. Its id is its thumbprint: no other server's key has it. */
type PublishedKey = SigningKey & { use: 'sig'; alg: 'EdDSA' };

type Signer = {
  /** Signs with the newest key; the signature in base64url. */
  sign(bytes: Buffer): { keyId: string; value: string };
  /** All there ever were, the newest first: what was signed by an older one can be verified for ever. */
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
