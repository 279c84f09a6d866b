import { hash } from 'node:crypto';
import type { TrackedCall } from '../../domain/tracking/call.ts';
import type { Tx } from '../core/database.ts';

/** So many bytes tell messages apart. */
const HASH_BYTES = 16;

/** In hex, which takes a quarter of the time of a Buffer each. */
export function messageHash(messageId: string): string {
  return hash('sha256', messageId, 'hex').slice(0, HASH_BYTES * 2);
}

/**
 * Notes down the messages of calls. Returns those calls that came before, within these or in another batch; of two
 * that come at once the second waits for the first. Calls without a messageId are never repeats.
 */
export async function insertMessages<C extends Pick<TrackedCall, 'messageId'> & { appId: number }>(
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
  // In the order of the key, so that two batches wait for each other in no circle. Hashes go as one value: as an array
  // each would be parsed by itself. NOT IN runs by a hash, which is made only where some came before.
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
