import type { Tx } from '../core/database.ts';
import type { GdprPersonState } from './request-record.ts';
import type { Person } from './tombstones.ts';

export type OpenDeletion = { identifier: string; state: 'accepted' | 'running' };

/** Stage of a request that waited for a hold, from the release until its workflow looks again. */
export const HOLD_RELEASED = 'hold released';

/**
 * Notes in requests that one of their people is no longer on hold. The sweep tells their workflows, should the server not come
 * to it. `tx` releases the hold.
 */
export async function noteReleasedHold(tx: Tx, entityId: number, requests: readonly OpenDeletion[]): Promise<void> {
  await tx.query('UPDATE gdpr_requests SET stage = $3 WHERE entity_id = $1 AND identifier = ANY ($2)',
    [entityId, requests.map(({ identifier }) => identifier), HOLD_RELEASED]);
}

/**
 * Lists and locks the open requests that delete any of these people, by an id that was asked for or found: those in
 * which such a person is in one of the states. None of them begins until the transaction ends. Leaves out requests that
 * were given up: once staff start one again, it raises its tombstones and looks for holds anew.
 */
export async function lockOpenDeletions(
  tx: Tx, entityId: number, people: readonly Person[], states: readonly GdprPersonState[],
): Promise<OpenDeletion[]> {
  // By gdpr_people_by_user and gdpr_people_by_device; identifiers by their key, of the few requests that are open.
  const { rows } = await tx.query<OpenDeletion>(
    `WITH asked AS (SELECT * FROM unnest($2::text[], $3::text[]) AS a (customer_type, customer_id))
     SELECT r.identifier, r.state FROM gdpr_requests r
     WHERE r.entity_id = $1 AND r.request_type = 'delete' AND r.state IN ('accepted', 'running')
       AND r.given_up_at IS NULL AND EXISTS (
       SELECT FROM gdpr_request_people p WHERE p.entity_id = r.entity_id AND p.request_id = r.id AND p.state = ANY ($4) AND (
         p.user_id IN (SELECT customer_id FROM asked WHERE customer_type = 'user_id')
         OR p.user_id IS NULL AND p.device_id IN (SELECT customer_id FROM asked WHERE customer_type = 'device_id')
         OR p.ordinal IN (
           SELECT i.ordinal FROM gdpr_identifiers i
           WHERE i.entity_id = r.entity_id AND i.request_id = r.id AND (i.kind, i.value) IN (SELECT * FROM asked))))
     ORDER BY r.id FOR SHARE OF r`,
    [entityId, people.map(({ customerType }) => customerType), people.map(({ customerId }) => customerId), states]);
  return rows;
}
