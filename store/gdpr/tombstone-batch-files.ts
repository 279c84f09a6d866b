import { randomBytes } from 'node:crypto';
import { readTombstoneBatch, type TombstoneBatch, writeTombstoneBatch } from '../../domain/gdpr/tombstone-batch.ts';
import { asBytes, type Files } from '../core/files.ts';

/** The area of the file store: an object for each row of tombstone_batches. */
export const TOMBSTONES_AREA = 'tombstones/';

/** `tombstones/<entity>/20261122T035829123Z-9f86d081.json`: of an entity, they sort by time. */
export function tombstoneBatchKey(entity: string, madeAt: Date): string {
  const time = madeAt.toISOString().replaceAll(/[-:.]/g, '');
  return `${TOMBSTONES_AREA}${entity}/${time}-${randomBytes(4).toString('hex')}.json`;
}

export async function putTombstoneBatch(files: Files, key: string, batch: TombstoneBatch): Promise<void> {
  await files.put(key, asBytes(writeTombstoneBatch(batch)));
}

/** Null for what is gone, and for what is no batch of the entity whose folder it lies in. */
export async function readTombstoneBatchFile(files: Files, key: string): Promise<TombstoneBatch | null> {
  const text = await files.readAll(key);
  const batch = text && readTombstoneBatch(text.toString());
  return batch && key.startsWith(`${TOMBSTONES_AREA}${batch.entity}/`) ? batch : null;
}
