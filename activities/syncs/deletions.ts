/** Deletions that a source reports, and failed records without a key: finds their records by the source's own key. */
import type { ReadItem } from '../../connectors/core/contract.ts';
import { isOfErased } from '../../domain/imports/import-error.ts';
import { findKeysBySource } from '../../store/syncs/sync-records.ts';
import type { Database } from '../../store/core/database.ts';
import type { Sync } from '../../store/syncs/sync-record.ts';
import type { RecordOutcome, BatchRecord } from './outcomes.ts';

export type Deletion = Extract<ReadItem, { kind: 'deleted' }>;

/** Returns a deletion as a record of a batch; `keyOf` names the record that these fields describe, if they do. */
export function deletionRecord(
  { key: sourceKey, customer }: Deletion,
  ordinal: number,
  { removes }: Sync,
  keyOf: (customer: NonNullable<Deletion['customer']>) => string | null,
): BatchRecord {
  const key = removes && customer ? keyOf(customer) : null;
  return {
    ordinal,
    rootLine: null,
    key: null,
    sourceKey,
    checksum: null,
    error: null,
    deletes: removes ? [key].filter((each) => each !== null) : 'ignored',
  };
}

/**
 * Adds to deletions, and to records that failed without a key, the keys of records that came with the same source key:
 * earlier in the batch, or before. Call it for deletions when all batches before are stored.
 */
export async function withKeysOfSource<R extends BatchRecord>(
  db: Database,
  { entityId, id }: Pick<Sync, 'entityId' | 'id'>,
  records: R[],
): Promise<R[]> {
  const asked = records.flatMap((record) => (isNamedBySource(record) ? record.sourceKey : []));
  if (asked.length === 0) return records;
  const known = await findKeysBySource(db, entityId, id, asked);
  const here = new Map<string, string>();
  return records.map((record) => {
    const { deletes, sourceKey, key } = record;
    if (sourceKey === null) return record;
    if (!deletes && key !== null) here.set(sourceKey, key);
    const earlier = here.get(sourceKey);
    const keys = [...(known.get(sourceKey) ?? []), ...(earlier === undefined ? [] : [earlier])];
    if (isKeyless(record)) return { ...record, knownAs: [...new Set(keys)] };
    if (!deletes || deletes === 'ignored') return record;
    return { ...record, deletes: [...new Set([...deletes, ...keys])] };
  });
}

/** Returns whether the source's own key says which known records a deletion or a failed record means. */
export function isNamedBySource<R extends BatchRecord>(record: R): record is R & { sourceKey: string } {
  return record.sourceKey !== null && (record.deletes !== undefined || isKeyless(record));
}

/** Returns whether a record failed without a key; one of an erased person is no known record. */
const isKeyless = ({ key, error }: BatchRecord) => key === null && error !== null && !isOfErased(error);

/** Returns what a dry run says of a deletion. */
export function sayDeletion(outcome: RecordOutcome): string {
  if (outcome === 'ignored') return 'the source has deleted it: the sync removes nothing';
  return outcome === 'written'
    ? 'the source has deleted it: a run removes it here, too'
    : 'the source has deleted it: the sync does not know it';
}
