import { prepareMapping, type SourceRecord } from '../../domain/syncs/record-mapping.ts';
import type { StoredImportError } from '../../store/imports/import-errors.ts';
import type { Sync } from '../../store/syncs/sync-record.ts';

/** What names a record at the destination, by its fields' names. */
export type RecordKey = Record<string, unknown>;

/** A longer one is sent nowhere (docs/syncs.md). */
const MAX_CHARS = 1_000;

/**
 * Tells of errors which record each is of, where the destination is another than attributes. It comes out of the record
 * that the error shows, so that nothing is left of it where that is gone: of erased people, and of what was never a
 * record.
 */
export function recordKeys({ destination, mapping }: Sync): (error: StoredImportError) => RecordKey | null {
  if ('sorId' in destination || destination.key.length === 0) return () => null;
  const { key } = destination;
  const map = prepareMapping(mapping, { keepsCustomer: true });
  return ({ raw, stage }) => {
    const record = stage === 'parsing' ? null : recordOf(raw);
    if (record === null) return null;
    const values = new Map(map(record).values);
    const named = key.flatMap((field) =>
      (values.get(field) ?? null) === null ? [] : [[field, values.get(field)!] as const],
    );
    return named.length === 0 || JSON.stringify(named).length > MAX_CHARS ? null : Object.fromEntries(named);
  };
}

/** Null of one that was not kept whole. */
function recordOf(raw: string | null): SourceRecord | null {
  if (raw === null) return null;
  try {
    const record = JSON.parse(raw) as unknown;
    return typeof record === 'object' && record !== null && !Array.isArray(record) ? (record as SourceRecord) : null;
  } catch {
    return null;
  }
}
