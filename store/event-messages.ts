import { hash } from 'node:crypto';
import type { Tx } from './database.ts';
import type { TrackedCall } from '../domain/tracked-call.ts';

/** In hex: 16 bytes tell messages apart. */
export function messageHash(messageId: string): string {
  return hash('sha256', messageId, 'hex').slice(0, 32);
}

/**
 * Notes down the messages of calls. Returns those calls that came before, within these or in another batch; of two
 * that come at once the second waits for the first. Calls without a messageId are never repeats.
 */
export async function insertMessages<C extends Pick<TrackedCall, 'messageId'> & { appId: number }>(
  tx: Tx, entityId: number, calls: readonly C[],
): Promise<Set<C>> {
  const repeats = new Set<C>();
  const first = new Map<string, C>();
  const [appIds, hashes]: [number[], string[]] = [[], []];
  for (const call of calls) {
    if (call.messageId === null) continue;
    const message = messageHash(call.messageId);
    const key = keyOf(call.appId, message);
    if (first.has(key)) repeats.add(call);
    else {
      first.set(key, call);
      appIds.push(call.appId);
      hashes.push(message);
    }
  }
  if (first.size === 0) return repeats;
  // In the order of the key, so that two batches wait for each other in no circle. NOT IN runs by a hash.
  const { rows } = await tx.query<{ app_id: number; hash: string }>({
    name: 'insert-event-messages',
    text: `WITH given AS MATERIALIZED (
             SELECT app_id, decode(hash, 'hex') AS message_hash FROM unnest($2::integer[], $3::text[]) AS asked (app_id, hash)
           ), added AS (
             INSERT INTO event_messages (entity_id, app_id, message_hash)
             SELECT $1, app_id, message_hash FROM given ORDER BY app_id, message_hash ON CONFLICT DO NOTHING
             RETURNING app_id, message_hash)
           SELECT app_id, encode(message_hash, 'hex') AS hash FROM given
           WHERE (app_id, message_hash) NOT IN (SELECT app_id, message_hash FROM added)`,
    values: [entityId, appIds, hashes],
  });
  for (const row of rows) repeats.add(first.get(keyOf(row.app_id, row.hash))!);
  return repeats;
}

function keyOf(appId: number, message: string): string {
  return `${appId} ${message}`;
}
