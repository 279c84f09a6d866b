/** Hashes of calls' messageIds, which identify repeated calls for 90 days. */

import { hash } from 'node:crypto';
import type { Call } from '../../domain/tracking/call.ts';
import type { Tx } from '../core/database.ts';

const HASH_BYTES = 16;

/** Returns the hash in hex, which takes a quarter of the time of a Buffer. */
export function messageHash(messageId: string): string {
  return hash('sha256', messageId, 'hex').slice(0, HASH_BYTES * 2);
}

/** Inserts hashes, and returns calls with an earlier call's messageId. Waits for concurrent ones with the same. */
export async function insertMessages<C extends Pick<Call, 'messageId'> & { appId: number }>(
  tx: Tx,
  entityId: number,
  calls: readonly C[],
): Promise<Set<C>> {
  const repeats = new Set<C>();
  const seen = new Set<string>();
  const first = calls.filter((call) => {
    if (call.messageId === null) return false;
    const key = `${call.appId} ${call.messageId}`;
    if (seen.has(key)) repeats.add(call);
    return !seen.has(key) && seen.add(key);
  });
  if (first.length === 0) return repeats;
  const hashes = Buffer.from(first.map(({ messageId }) => messageHash(messageId!)).join(''), 'hex');
  // In order of the key, so that two batches never wait for each other. Hashes go as one value: parsing an array takes
  // longer. NOT IN uses a hash table, which is built only if there are repeats.
  const { rows } = await tx.query<{ ordinal: number }>({
    name: 'insert-event-messages',
    text: `WITH given AS MATERIALIZED (
             SELECT app_id, substr($3::bytea, (${HASH_BYTES} * (ordinal - 1) + 1)::integer, ${HASH_BYTES}) AS message_hash, ordinal
             FROM unnest($2::integer[]) WITH ORDINALITY AS asked (app_id, ordinal)
           ), added AS (
             INSERT INTO event_messages (entity_id, app_id, message_hash)
             SELECT $1, app_id, message_hash FROM given ORDER BY app_id, message_hash ON CONFLICT DO NOTHING
             RETURNING app_id, message_hash)
           SELECT ordinal FROM given WHERE (SELECT count(*) FROM added) < $4
             AND (app_id, message_hash) NOT IN (SELECT app_id, message_hash FROM added)`,
    values: [entityId, first.map(({ appId }) => appId), hashes, first.length],
  });
  for (const { ordinal } of rows) repeats.add(first[ordinal - 1]!);
  return repeats;
}
