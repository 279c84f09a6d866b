// Maps a source's records to those that another connection receives, and leaves out erased people.
import type { SourceRecord } from '../../connectors/core/contract.ts';
import { refused, type RefusedRow } from '../../domain/attributes/value-row.ts';
import { quote } from '../../domain/text/text-limits.ts';
import { erasedError } from '../../domain/gdpr/erased-error.ts';
import { malformedError, recordError } from '../../domain/syncs/record-error.ts';
import type { MappedRecord } from '../../domain/syncs/record-mapping.ts';
import { customerIdError, isSuspiciousId, newCustomerIdError } from '../../domain/attributes/customer-id.ts';
import { customerIdOf } from '../../domain/syncs/record-values.ts';
import type { Queryable } from '../../store/core/database.ts';
import { inSlices } from '../../store/core/yield-to-event-loop.ts';
import type { Sync } from '../../store/syncs/sync-record.ts';
import type { Dependencies } from '../dependencies.ts';
import { checksumOfRecord } from './checksum.ts';
import { erasedAmong } from './erased.ts';
import { deletionRecord } from './deletions.ts';
import { type SyncItem, sourceKeyOf } from './items.ts';
import type { BatchRecord, RecordOutcome } from './outcomes.ts';
import type { RecordMapper } from './record-mapper.ts';

/** A record for a destination other than attributes. */
export type Outgoing = BatchRecord & {
  /** Null if the sync's mapping names no customer. */
  customerId: string | null;
  /** The record as the source sent it, to be stored with an error. */
  source: SourceRecord | null;
  /** The record to send; null if it has an error. */
  record: SourceRecord | null;
  /** Its index among the records to send, from 0; null if it is not sent. */
  sent: number | null;
};

/** Maximum length of a key as JSON: a longer one does not fit into an index. */
const MAX_KEY_CHARS = 1_000;

/** Maps a batch. Records of erased people become errors without content. */
export async function outgoingOf(
  deps: Pick<Dependencies, 'db' | 'secrets'>,
  sync: Sync,
  { key, mapper }: { key: string[]; mapper: RecordMapper },
  items: readonly SyncItem[],
  before: number,
): Promise<Outgoing[]> {
  const outgoing: Outgoing[] = [];
  await inSlices(items, (item) => {
    outgoing.push(toOutgoing(item, before + outgoing.length + 1, sync, key, mapper));
  });
  return withoutErased(deps, sync, outgoing);
}

export function toOutgoing(
  item: SyncItem,
  ordinal: number,
  sync: Sync,
  keyFields: string[],
  mapper: RecordMapper,
): Outgoing {
  const { mapping } = sync;
  const rootLine = item.rootLine ?? null;
  if (item.kind === 'deleted') {
    const keyOf = (fields: SourceRecord) =>
      keyOfRecord(Object.fromEntries(mapper.map(fields, () => false).values) as SourceRecord, keyFields).key;
    return { ...deletionRecord(item, ordinal, sync, keyOf), customerId: null, source: null, record: null, sent: null };
  }
  const nothing = {
    ordinal,
    rootLine,
    wasNamed: item.wasNamed,
    key: null,
    sourceKey: sourceKeyOf(item, sync),
    customerId: null,
    checksum: null,
    record: null,
    sent: null,
  };
  if (item.kind === 'malformed') {
    const error = { ...malformedError(ordinal, item.raw, item.message, item.isErased), originalLine: rootLine };
    return { ...nothing, source: null, error };
  }
  const mapped = mapper.map(item.record, () => true);
  const record = Object.fromEntries(mapped.values) as SourceRecord;
  const customerId = mapping.customer === null ? null : customerIdOf(mapped);
  const customerFault = mapping.customer === null ? undefined : customerFaultOf(customerId, mapping.customer.field);
  const named = keyOfRecord(record, keyFields);
  const refusals = refusalsOf(mapped, named.faults, customerFault);
  // Records whose ids today's stricter rules refuse (white space at the end, for one) still have a key, so that they do
  // not count as vanished.
  const isOfCustomer = mapping.customer === null || (customerId !== null && customerIdError(customerId) === undefined);
  const key = isOfCustomer ? named.key : null;
  const error =
    refusals.length === 0 ? null : { ...recordError(ordinal, item.record, refusals), originalLine: rootLine };
  return {
    ...nothing,
    key,
    customerId,
    source: item.record,
    error,
    ...(customerId !== null && isSuspiciousId(customerId) && { isSuspicious: true }),
    record: error ? null : record,
    checksum: error ? null : checksumOfRecord(record),
  };
}

/**
 * Returns a record's key, and the reasons why it has none: fields that name it are missing or too long. It has none
 * without a reason if the destination has no key.
 */
function keyOfRecord(record: SourceRecord, keyFields: string[]): { key: string | null; faults: RefusedRow[] } {
  const key = JSON.stringify(keyFields.map((field) => record[field]));
  const faults = keyFields.flatMap((field) =>
    record[field] === undefined || record[field] === null
      ? [refused('INVALID_CUSTOMER_ID', `the field ${quote(field)}, which names the record, is missing`)]
      : [],
  );
  if (key.length > MAX_KEY_CHARS) {
    const message = `the fields that name the record have over ${MAX_KEY_CHARS} characters`;
    faults.push(refused('INVALID_CUSTOMER_ID', message));
  }
  return { key: keyFields.length > 0 && faults.length === 0 ? key : null, faults };
}

function customerFaultOf(customerId: string | null, field: string): string | undefined {
  return customerId === null ? `the field ${quote(field)} names no customer` : newCustomerIdError(customerId);
}

/** Returns all reasons to refuse a record: it is sent whole or not at all. */
function refusalsOf(
  { errors }: MappedRecord,
  keyFaults: RefusedRow[],
  customerFault: string | undefined,
): RefusedRow[] {
  return [
    ...keyFaults,
    ...(customerFault === undefined ? [] : [refused('INVALID_CUSTOMER_ID', customerFault)]),
    ...errors.map(({ errorType, message, to }) => refused(errorType, message, undefined, to)),
  ];
}

async function withoutErased(
  deps: Pick<Dependencies, 'db' | 'secrets'>,
  sync: Sync,
  outgoing: Outgoing[],
): Promise<Outgoing[]> {
  const erased = await erasedAmong(deps.db, deps, sync, () => outgoing.map(({ customerId }) => customerId));
  return outgoing.map((item) => {
    const hash = erased(item.customerId);
    return hash ? erasedItem(item, hash) : item;
  });
}

/** Returns the record of an erased person as an error without key, customer id and content. */
export function erasedItem(item: Outgoing, hash: Buffer): Outgoing {
  const error = { ...erasedError(item.ordinal, hash), originalLine: item.rootLine };
  return { ...item, key: null, customerId: null, checksum: null, source: null, record: null, sent: null, error };
}

/** Returns the records; those of people erased meanwhile lose key, customer id and content. */
export async function forgetErased(
  db: Queryable,
  deps: Pick<Dependencies, 'secrets'>,
  sync: Sync,
  outgoing: readonly Outgoing[],
): Promise<Outgoing[]> {
  const erased = await erasedAmong(db, deps, sync, () => outgoing.map(({ customerId }) => customerId));
  return outgoing.map((item) =>
    erased(item.customerId) ? { ...item, key: null, customerId: null, checksum: null, source: null } : item,
  );
}

/** Returns the records to send, the last of each key. Earlier ones, and unchanged ones after it, share its outcome. */
export function sendable(
  items: readonly Outgoing[],
  outcomes: readonly RecordOutcome[],
): { items: Outgoing[]; records: SourceRecord[] } {
  const records: SourceRecord[] = [];
  const ordinals = new Map<string, number>();
  const placed = items.map((item, index) => {
    const known = item.key === null ? undefined : ordinals.get(item.key);
    if (outcomes[index] === 'unchanged' && known !== undefined) return { ...item, sent: known };
    if (outcomes[index] !== 'written' || item.record === null) return item;
    const sent = known ?? records.length;
    records[sent] = item.record;
    if (item.key !== null) ordinals.set(item.key, sent);
    return { ...item, sent };
  });
  return { items: placed, records };
}
