import type { Tx } from './database.ts';
import type { IngestedCall } from './ingested-call.ts';

/** That an id came before another, of calls that say so. */
export async function insertUserAliases(tx: Tx, entityId: number, calls: readonly IngestedCall[]): Promise<void> {
  const aliases = new Map<string, { previousId: string; userId: string }>();
  for (const { previousId, userId } of calls) {
    if (previousId === null || userId === null || previousId === userId) continue;
    aliases.set(JSON.stringify([previousId, userId]), { previousId, userId });
  }
  if (aliases.size === 0) return;
  const given = [...aliases.values()];
  await tx.query(
    `INSERT INTO user_aliases (entity_id, previous_id, user_id)
     SELECT $1, previous_id, user_id FROM unnest($2::text[], $3::text[]) AS given (previous_id, user_id)
     ORDER BY previous_id COLLATE "C", user_id COLLATE "C" ON CONFLICT DO NOTHING`,
    [entityId, given.map(({ previousId }) => previousId), given.map(({ userId }) => userId)]);
}
