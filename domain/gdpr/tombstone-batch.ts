/** Batches of tombstones as files: written, and read with care. */
export type TombstoneBatchKind = 'raised' | 'readmitted';

/** Tombstones that were raised or removed together, as the file store has them. Names no person. */
export type TombstoneBatch = {
  entity: string;
  kind: TombstoneBatchKind;
  /** To the millisecond. Of two batches of an entity that name the same hash, the later one counts. */
  madeAt: Date;
  /** Keyed hashes of 32 bytes. */
  hashes: Buffer[];
};

const VERSION = 1;
const HASH = /^[0-9a-f]{64}$/;

export function writeTombstoneBatch({ entity, kind, madeAt, hashes }: TombstoneBatch): string {
  return `${JSON.stringify({
    version: VERSION,
    entity,
    kind,
    made_at: madeAt.toISOString(),
    hashes: hashes.map((hash) => hash.toString('hex')),
  })}\n`;
}

/** Returns null for any text that `writeTombstoneBatch` did not write. */
export function readTombstoneBatch(text: string): TombstoneBatch | null {
  const document = parse(text);
  if (document?.version !== VERSION) return null;
  const { entity, kind, made_at: madeAt, hashes } = document;
  if (typeof entity !== 'string' || (kind !== 'raised' && kind !== 'readmitted')) return null;
  if (typeof madeAt !== 'string' || Number.isNaN(Date.parse(madeAt))) return null;
  if (!Array.isArray(hashes) || !hashes.every((hash) => typeof hash === 'string' && HASH.test(hash))) return null;
  return { entity, kind, madeAt: new Date(madeAt), hashes: hashes.map((hash: string) => Buffer.from(hash, 'hex')) };
}

function parse(text: string): Record<string, unknown> | null {
  try {
    return JSON.parse(text) as Record<string, unknown> | null;
  } catch {
    return null;
  }
}
