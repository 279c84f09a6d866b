import type { Queryable, Tx } from '../../store/database.ts';
import { insertHold } from '../../store/gdpr/holds.ts';
import { insertGdprRequest } from '../../store/gdpr/requests.ts';
import type { Secrets } from '../../store/secrets.ts';
import { insertTombstone } from '../../store/tombstones.ts';
import { personId } from '../harness/people.ts';

export type SampleDeviceRequest = {
  requestId: string;
  holdId: string;
  /** A user who was erased. */
  erased: string;
};

/** A deletion that was asked for from a device and waits for approval, somebody on hold, and somebody who was erased. */
export async function insertSampleDeviceRequest(
  tx: Tx, secrets: Secrets, entityId: number, { appId, userId }: { appId: number; userId: number },
): Promise<SampleDeviceRequest> {
  const { identifier: requestId } = await insertWaitingDeletion(tx, entityId, appId, personId(910_000 + entityId));
  const held = { customerType: 'user_id', customerId: personId(920_000 + entityId) } as const;
  const hold = await insertHold(tx, entityId, { ...held, kind: 'hold', reason: 'a lawsuit', createdBy: userId });
  const erased = personId(930_000 + entityId);
  await insertTombstone(tx, entityId, secrets.customerHash(entityId, 'user_id', erased));
  return { requestId, holdId: hold!.identifier, erased };
}

function insertWaitingDeletion(tx: Queryable, entityId: number, appId: number, userId: string) {
  return insertGdprRequest(tx, entityId, {
    type: 'delete', source: 'sdk', appId, requester: { kind: 'device', id: null }, skipEmail: false, emails: ['privacy@example.com'],
    state: 'waiting', people: [{ userId, deviceId: `device of ${userId}` }],
  });
}
