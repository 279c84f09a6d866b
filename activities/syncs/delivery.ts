// A batch for another connection: prepared while the batch before it is sent, and stored before it is sent itself.
import type { SourceRecord, WriteOutcome } from '../../connectors/core/contract.ts';
import { type ImportError, showJson } from '../../domain/imports/import-error.ts';
import type { Database, Tx } from '../../store/core/database.ts';
import { TimeSlice } from '../../store/core/yield-to-event-loop.ts';
import type { PendingBatch } from '../../store/syncs/sync-batches.ts';
import { findKnownRecords, type HandledRecord, type KnownRecord } from '../../store/syncs/sync-records.ts';
import type { Sync } from '../../store/syncs/sync-record.ts';
import type { Dependencies } from '../dependencies.ts';
import { withKeysOfSource } from './deletions.ts';
import { erasedAmong } from './erased.ts';
import type { JoinedBatch } from './items.ts';
import type { SyncJob } from './job.ts';
import { decideOutcomes, keysOf, type RecordOutcome, shareOf } from './outcomes.ts';
import { erasedItem, type Outgoing, sendable } from './outgoing.ts';

/** A stored batch: the outcomes of its records, and the records to send, one per key. */
export type Delivery = {
  items: Outgoing[];
  outcomes: RecordOutcome[];
  records: SourceRecord[];
  bytes: number;
  position: string | null;
  /** Missing in batches that earlier versions stored. */
  share?: number | null;
  oddCursors?: number;
};

/** A batch whose records are decided; `stored`: its JSON, which lacks the cursor; `known`: the records known before. */
export type Decided = {
  delivery: Omit<Delivery, 'position'>;
  stored: string;
  sending: Map<string, HandledRecord>;
  known: Map<string, KnownRecord>;
};

/** Decides what to send. Call it when earlier batches that share a key with this one are recorded. */
export async function decideDelivery(
  db: Database,
  { sync, run }: SyncJob,
  { bytes, oddCursors, done }: JoinedBatch,
  outgoing: Outgoing[],
): Promise<Decided> {
  const items = await withKeysOfSource(db, sync, outgoing);
  const known = await findKnownRecords(db, sync.entityId, sync.id, keysOf(items));
  const outcomes = decideOutcomes(items, known, run);
  const slice = new TimeSlice();
  await slice.next();
  const delivery = { ...sendable(items, outcomes), outcomes, bytes, oddCursors, share: shareOf(run.progress, done) };
  await slice.next();
  const stored = await jsonOf(delivery);
  await slice.next();
  return { delivery, stored, sending: sendingOf(delivery), known };
}

/**
 * Returns the records to send as they are known from then on, by record key. A record without key is listed by its
 * customer, so that an erasure finds the copy.
 */
export function sendingOf({ items }: Pick<Delivery, 'items'>): Map<string, HandledRecord> {
  const sending = new Map<string, HandledRecord>();
  for (const { key, customerId, sourceKey, checksum, sent } of items) {
    if (sent === null) continue;
    if (key !== null) sending.set(key, { key, customerId, sourceKey, checksum });
    else if (customerId !== null) {
      const name = JSON.stringify([customerId]);
      sending.set(name, { key: name, customerId, checksum: null });
    }
  }
  return sending;
}

/** Number of members of a list that become JSON at once. */
const PIECE = 500;

/** Returns what is stored: the records to send, and the source records that an error would quote. */
export async function jsonOf({ items, records, ...others }: Decided['delivery']): Promise<string> {
  const slice = new TimeSlice();
  const list = async <T>(members: readonly T[], shorten: (member: T) => unknown) => {
    const pieces: string[] = [];
    for (let from = 0; from < members.length; from += PIECE) {
      if (slice.isOver) await slice.next();
      pieces.push(JSON.stringify(members.slice(from, from + PIECE).map(shorten)).slice(1, -1));
    }
    return `[${pieces.join(',')}]`;
  };
  const parts = [await list(items, shortened), await list(records, (record) => record)];
  return `{"items":${parts[0]},"records":${parts[1]},${JSON.stringify(others).slice(1)}`;
}

/**
 * Returns a stored delivery without people who were erased since; the same if there are none. A record that shared the
 * key of such a person's record, and its outcome, fails: it is not stored.
 */
export async function withoutErasedSince(
  tx: Tx,
  deps: Pick<Dependencies, 'secrets'>,
  sync: Sync,
  delivery: Delivery,
): Promise<Delivery> {
  const erased = await erasedAmong(tx, deps, sync, () => delivery.items.map(({ customerId }) => customerId));
  const isErased = ({ customerId }: Outgoing) => erased(customerId) !== undefined;
  if (!delivery.items.some(isErased)) return delivery;
  // The record that is sent for a key is that of its last item.
  const lasts = new Map(delivery.items.flatMap((item) => (item.sent === null ? [] : [[item.sent, item]])));
  const kept = delivery.records.flatMap((_, sent) => (isErased(lasts.get(sent)!) ? [] : [sent]));
  const places = new Map(kept.map((sent, place) => [sent, place]));
  const outcomes = [...delivery.outcomes];
  const items = delivery.items.map((item, index): Outgoing => {
    const hash = erased(item.customerId);
    const sent = item.sent === null ? null : (places.get(item.sent) ?? null);
    if (!hash && (item.sent === null || sent !== null)) return { ...item, sent };
    outcomes[index] = 'failed';
    return hash ? erasedItem(item, hash) : failedWith(item);
  });
  return { ...delivery, items, outcomes, records: kept.map((sent) => delivery.records[sent]!) };
}

/** Returns a record that was to share the outcome of an erased person's record as an error. */
function failedWith(item: Outgoing): Outgoing {
  const error: ImportError = {
    line: item.ordinal,
    errorType: 'DELIVERY_FAILED',
    outcome: 'failed',
    stage: 'merge',
    message: 'was not sent: a later record with its key was that of a person who has been erased',
    customerId: item.customerId,
    attributeKey: null,
    raw: showJson(item.source),
    originalLine: item.rootLine,
    customerHash: null,
  };
  return { ...item, checksum: null, record: null, sent: null, error };
}

/** Returns the JSON of a delivery with the cursor behind it. */
export const withPosition = (stored: string, position: string | null): string =>
  `${stored.slice(0, -1)},"position":${JSON.stringify(position)}}`;

/** Returns an item without members that are null. */
function shortened({ record: _, source, sent, ...item }: Outgoing): object {
  const kept: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(item)) if (value !== null) kept[name] = value;
  if (sent !== null) Object.assign(kept, { sent, source });
  return kept;
}

/** Earlier versions stored outcomes as `fates`, members that are null, and checksums in base64 or as numbers. */
type StoredDelivery = Omit<Delivery, 'outcomes' | 'items'> & { items: StoredItem[] } & (
    | Pick<Delivery, 'outcomes'>
    | { outcomes?: undefined; fates: RecordOutcome[] }
  );
type StoredBytes = string | { data: number[] };
type StoredItem = Partial<Omit<Outgoing, 'checksum'>> & Pick<Outgoing, 'ordinal'> & { checksum?: StoredBytes | null };

export function deliveryOf({ batch }: PendingBatch): Delivery {
  const delivery = JSON.parse(batch) as StoredDelivery;
  const outcomes = delivery.outcomes ?? delivery.fates;
  return { ...delivery, outcomes, items: delivery.items.map(revived) };
}

export const answeredOf = (outcomes: string | null): WriteOutcome[] =>
  outcomes === null ? [] : (JSON.parse(outcomes) as WriteOutcome[]);

const NOTHING = {
  rootLine: null,
  key: null,
  sourceKey: null,
  customerId: null,
  source: null,
  record: null,
  sent: null,
};

/** Restores members that are null, checksums and hashes: JSON stores the bytes of a hash as an array of numbers. */
function revived({ checksum = null, error = null, ...item }: StoredItem): Outgoing {
  const hash = error?.customerHash as unknown as StoredBytes | null | undefined;
  const customerHash = hash ? bytesOf(hash) : null;
  return { ...NOTHING, ...item, checksum: checksum && hexOf(checksum), error: error && { ...error, customerHash } };
}

const bytesOf = (stored: StoredBytes): Buffer =>
  typeof stored === 'string' ? Buffer.from(stored, 'base64') : Buffer.from(stored.data);

const hexOf = (stored: StoredBytes): string =>
  typeof stored === 'string' && !stored.endsWith('=') ? stored : bytesOf(stored).toString('hex');
