import type { KeptValue } from '../../domain/gdpr/gdpr-receipt.ts';
import type { Tx } from '../core/database.ts';
import { listHoldsNaming } from './holds.ts';
import { isVouchedFor } from './people-keys.ts';
import type { KnownBy } from './personal-data-location.ts';
import { listKeptValues } from './personal-data/kept-values.ts';
import type { GdprRequest } from './request-record.ts';
import { listUnreadableMails } from './unreadable-mails.ts';

/**
 * Adds to the request what the erasure of people leaves in filters and in reasons of holds, and unreadable mails.
 * Returns these. `tx` holds the request.
 */
export async function recordKeptValues(
  tx: Tx,
  { entityId, id, keptValues: before }: GdprRequest,
  people: readonly KnownBy[],
): Promise<KeptValue[]> {
  // No mail is searched for ids that are not vouched for.
  const unreadable = people.some(isVouchedFor) ? await listUnreadableMails(tx) : [];
  const holds = await listHoldsNaming(tx, entityId, people);
  const kept = [...(await listKeptValues(tx, entityId, people)), ...holds, ...unreadable];
  const all = new Map(
    [...before, ...kept].map((value) => [JSON.stringify([value.place, value.object, value.on, value.key]), value]),
  );
  if (kept.length > 0) {
    await tx.query('UPDATE gdpr_requests SET kept_values = $3 WHERE entity_id = $1 AND id = $2', [
      entityId,
      id,
      JSON.stringify([...all.values()]),
    ]);
  }
  return kept;
}
