import { type Database, type Tx, write } from './database.ts';
import type { Files } from './files.ts';
import { countSealed, resealSome, sealedColumns } from './sealed-columns.ts';
import { openSecrets } from './secrets.ts';
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
  /** Called after each part that stays though the process ends there. */
  boundary?: (at: string) => void;
};

const VALUES_AT_ONCE = 500;

export type DataKeyRotated = { id: number; resealed: number; dropped: number[] };

/**
 * Draws a new data key, seals everything again by it, and drops those before, in the database and the file store. A
 * rotation that was killed continues. Nothing else may run on the database: others know only the keys that were
 * there when they started.
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

/** The id of the newest: of a rotation that was not finished, else a new one. */
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
 * Wraps all keys by `to` instead of `from`. The database has all of them changed at once: that decides which secret key
 * is the right one. Copies in the file store follow; where this was cut off, a start with `to`, or repeating it, goes
 * on. How many keys there are.
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
