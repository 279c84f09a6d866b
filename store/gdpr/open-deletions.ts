import type { Tx } from '../core/database.ts';
import { holdableIds, ownIds } from './held-ids.ts';
import type { GdprPersonState } from './request-record.ts';
import type { Person } from './tombstones.ts';

export type OpenDeletion = { identifier: string; state: 'accepted' | 'running' };

/** Stage of a request that waited for a hold, from the release until its workflow looks again. */
export const HOLD_RELEASED = 'hold released';

/**
 * Notes in requests that one of their people is no longer on hold. The sweep tells their workflows, should the server
 * not come to it. `tx` releases the hold.
 */
export async function noteReleasedHold(tx: Tx, entityId: number, requests: readonly OpenDeletion[]): Promise<void> {
  await tx.query('UPDATE gdpr_requests SET stage = $3 WHERE entity_id = $1 AND identifier = ANY ($2)', [
    entityId,
    requests.map(({ identifier }) => identifier),
    HOLD_RELEASED,
  ]);
}

/**
 * States of people that count, and which ids of theirs: also of users whose data goes with a device, if holds are asked
 * about.
 */
type OpenPeople = { states: readonly GdprPersonState[]; ids: 'own' | 'holdable' };

/**
 * Lists and locks the open requests that delete any of these people, by an id that was asked for or found: those in
 * which such a person is in one of the states. None of them begins until the transaction ends. Leaves out requests that
 * were given up: once staff start one again, it raises its tombstones and looks for holds anew.
 */
export async function lockOpenDeletions(
  tx: Tx,
  entityId: number,
  people: readonly Person[],
  { states, ids }: OpenPeople,
): Promise<OpenDeletion[]> {
  const idsOf = ids === 'own' ? ownIds : holdableIds;
  // By the keys of people and identifiers, of the requests that are open.
  const { rows } = await tx.query<OpenDeletion>(
    `WITH asked AS (SELECT * FROM unnest($2::text[], $3::text[]) AS a (customer_type, customer_id))
     SELECT r.identifier, r.state FROM gdpr_requests r
     WHERE r.entity_id = $1 AND r.request_type = 'delete' AND r.state IN ('accepted', 'running')
       AND r.given_up_at IS NULL AND EXISTS (
       SELECT FROM (${idsOf('r.entity_id', 'r.id')}) k
         JOIN gdpr_request_people p ON p.entity_id = r.entity_id AND p.request_id = r.id AND p.ordinal = k.ordinal
       WHERE p.state = ANY ($4) AND (k.kind, k.value) IN (SELECT * FROM asked))
     ORDER BY r.id FOR SHARE OF r`,
    [entityId, people.map(({ customerType }) => customerType), people.map(({ customerId }) => customerId), states],
  );
  return rows;
}
