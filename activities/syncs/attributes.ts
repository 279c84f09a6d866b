// Maps the records of a batch to values of attributes, and checks them by the rules of their SoR.
import type { SetRow, ValueRow } from '../../domain/attributes/value-row.ts';
import { malformedError, recordError } from '../../domain/syncs/record-error.ts';
import type { SourceRecord } from '../../domain/syncs/record-mapping.ts';
import { isSuspiciousId } from '../../domain/attributes/customer-id.ts';
import { checkRecord, customerIdOf } from '../../domain/syncs/record-values.ts';
import type { Sync } from '../../store/syncs/sync-record.ts';
import { sorRules, type SorRules } from '../attributes/sor-rules.ts';
import type { Dependencies } from '../dependencies.ts';
import { checksumOfRows } from './checksum.ts';
import { deletionRecord } from './deletions.ts';
import { type SyncItem, sourceKeyOf } from './items.ts';
import type { BatchRecord } from './outcomes.ts';
import type { RecordMapper } from './record-mapper.ts';

/** A record of a batch, checked by the rules of its SoR; its key is the customer id. */
export type CheckedRecord = BatchRecord & {
  /** The item as the source sent it, to be checked again if the rules change. */
  item: SyncItem;
  rows: readonly (ValueRow | SetRow)[];
};

/** Checked records of a batch, and the rules that were applied. */
export type CheckedBatch = { records: CheckedRecord[]; rules: SorRules };

/** An item to check, with its ordinal in the run. */
type NumberedItem = Pick<CheckedRecord, 'item' | 'ordinal'>;

/** Numbers the items of a batch that follows `before` records of its run. */
export function numbered(items: readonly SyncItem[], before: number): NumberedItem[] {
  return items.map((item, index) => ({ item, ordinal: before + index + 1 }));
}

/** Checks records by the SoR's current rules; also used again after the rules have changed. */
export async function checkBatch(
  { db }: Pick<Dependencies, 'db'>,
  sync: Sync,
  { sorId, mapper }: { sorId: number; mapper: RecordMapper },
  items: readonly NumberedItem[],
): Promise<CheckedBatch> {
  const rules = await sorRules(db, sync.entityId, sorId);
  const checks = { rules, mapper, sync };
  return { records: items.map(({ item, ordinal }) => checkItem(item, ordinal, checks)), rules };
}

type Checks = { rules: SorRules; mapper: RecordMapper; sync: Sync };

function checkItem(item: SyncItem, ordinal: number, { rules, mapper, sync }: Checks): CheckedRecord {
  const rootLine = item.rootLine ?? null;
  if (item.kind === 'deleted') {
    const keyOf = (fields: SourceRecord) => customerIdOf(mapper.map(fields, () => false));
    return { ...deletionRecord(item, ordinal, sync, keyOf), item, rows: [] };
  }
  if (item.kind === 'malformed') {
    const error = { ...malformedError(ordinal, item.raw, item.message, item.isErased), originalLine: rootLine };
    return { item, ordinal, rootLine, key: null, sourceKey: null, rows: [], checksum: null, error };
  }
  const mapped = mapper.map(item.record, (field) => rules.sorDeleted || rules.attributes.has(field));
  const { rows, refusals } = checkRecord(mapped, rules, sync.mapping.customer!);
  const error =
    refusals.length === 0 ? null : { ...recordError(ordinal, item.record, refusals), originalLine: rootLine };
  const checksum = error ? null : checksumOfRows(rows);
  const key = customerIdOf(mapped);
  const isSuspicious = key !== null && isSuspiciousId(key);
  return {
    item,
    ordinal,
    rootLine,
    wasNamed: item.wasNamed,
    key,
    sourceKey: sourceKeyOf(item, sync),
    rows,
    checksum,
    error,
    ...(isSuspicious && { isSuspicious }),
  };
}
