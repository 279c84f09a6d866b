import { storable } from '../../domain/core/text-limits.ts';
import type { RefusedCall } from '../../domain/tracking/tracked-call.ts';
import type { Tx } from '../core/database.ts';
import { subjectOf } from '../gdpr/people-keys.ts';
import type { Person } from '../gdpr/tombstones.ts';
import { messageHash } from './event-messages.ts';
import type { DayCount } from './tracked-counts.ts';

/**
 * A refused call as it is kept: the call, shortened and storable, with the ids that it gives itself; or of an erased
 * person the keyed hash alone. `messageHash` tells repeats of a call whose messageId is not kept.
 */
export type KeptRefusal = RefusedCall &
  (
    | { raw: string; people: readonly Person[]; customerHash?: null }
    | { raw: null; people?: never; customerHash: Buffer | null; messageHash?: string | null }
  );

/** What a transaction took in of an app's calls; `appId` null: of calls that told of no app. */
export type TakenIn = { appId: number | null; accepted: number; duplicates: number; refused: number };

/** Longest texts that are kept of a call that may be anything. */
const MESSAGE_ID_LENGTH = 256;

/**
 * Along with them what they add to the counts of days: a statement of its own would be another turn of the connection.
 */
export async function insertIngestedBatches(
  tx: Tx,
  entityId: number,
  batches: readonly TakenIn[],
  counts: readonly DayCount[] = [],
): Promise<void> {
  if (batches.length === 0) return;
  await tx.query({
    name: 'insert-ingested-batches',
    text: `WITH counted AS (
             INSERT INTO tracked_counts (entity_id, app_id, day, events, sessions, locations)
             SELECT $1, app_id, 'epoch'::date + day, events, sessions, locations
             FROM unnest($6::integer[], $7::integer[], $8::integer[], $9::integer[], $10::integer[])
               AS given (app_id, day, events, sessions, locations))
           INSERT INTO ingested_batches (entity_id, app_id, accepted, duplicates, refused)
           SELECT $1, given.* FROM unnest($2::integer[], $3::integer[], $4::integer[], $5::integer[]) AS given`,
    values: [
      entityId,
      batches.map(({ appId }) => appId),
      batches.map(({ accepted }) => accepted),
      batches.map(({ duplicates }) => duplicates),
      batches.map(({ refused }) => refused),
      counts.map(({ appId }) => appId),
      counts.map(({ day }) => day),
      counts.map(({ events }) => events),
      counts.map(({ sessions }) => sessions),
      counts.map(({ locations }) => locations),
    ],
  });
}

/** The column `subjects` as JSON, which a statement about several calls takes as one text for each. */
export function subjectsOf(people: readonly Person[]): string {
  return JSON.stringify([...new Set(people.map((person) => storable(subjectOf(person))))]);
}

/**
 * Notes down calls that were refused, and counts them as a batch of their own. One that was refused before under the
 * same messageId makes no second row, and counts as a duplicate.
 */
export async function insertRefusedCalls(
  tx: Tx,
  entityId: number,
  appId: number | null,
  refused: readonly KeptRefusal[],
): Promise<void> {
  if (refused.length === 0) return;
  const kept = await keepRefusedCalls(tx, entityId, appId, refused);
  await insertIngestedBatches(tx, entityId, [{ appId, accepted: 0, duplicates: refused.length - kept, refused: kept }]);
}

/** The same without the batch: for calls that are counted with others. Returns how many are new. */
export async function keepRefusedCalls(
  tx: Tx,
  entityId: number,
  appId: number | null,
  refused: readonly KeptRefusal[],
): Promise<number> {
  if (refused.length === 0) return 0;
  // In the order of the key that keeps them single, so that two batches wait for each other in no circle.
  const { rowCount } = await tx.query(
    `INSERT INTO refused_calls (entity_id, app_id, index, message_id, message_hash, code, message, raw, customer_hash, subjects)
     SELECT $1, $2, index, message_id, decode(message_hash, 'hex'), code, message, raw, decode(customer_hash, 'hex'),
       ARRAY(SELECT json_array_elements_text(subjects::json))
     FROM unnest($3::integer[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[], $10::text[])
       AS given (index, message_id, message_hash, code, message, raw, customer_hash, subjects)
     ORDER BY message_hash, index
     ON CONFLICT (entity_id, app_id, message_hash) WHERE message_hash IS NOT NULL DO NOTHING`,
    [
      entityId,
      appId,
      refused.map(({ index }) => index),
      refused.map(({ messageId }) => messageId?.slice(0, MESSAGE_ID_LENGTH) ?? null),
      refused.map(hashOfMessage),
      refused.map(({ code }) => code),
      refused.map(({ message }) => message),
      refused.map(({ raw }) => raw),
      refused.map(({ customerHash }) => customerHash?.toString('hex') ?? null),
      refused.map(({ people }) => subjectsOf(people ?? [])),
    ],
  );
  return rowCount!;
}

function hashOfMessage(call: KeptRefusal): string | null {
  if (call.messageId !== null) return messageHash(call.messageId);
  return 'messageHash' in call ? (call.messageHash ?? null) : null;
}
