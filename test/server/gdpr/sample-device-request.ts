import type { Tx } from '../../../store/core/database.ts';
import type { Secrets } from '../../../store/core/secrets.ts';
import { insertHold } from '../../../store/gdpr/holds.ts';
import { insertTombstone } from '../../../store/gdpr/tombstones.ts';
import { personId } from '../../harness/core/people.ts';
import { deletionByDevice } from '../../harness/gdpr/gdpr-requests.ts';

export type SampleDeviceRequest = {
  requestId: string;
  holdId: string;
  /** A user who was erased. */
  erased: string;
  /** Ids of which an SDK said that one came before the other. */
  earlier: string;
  later: string;
};

/**
 * A deletion that was asked for from a device and waits for approval, somebody on hold, and somebody who was erased.
 */
export async function insertSampleDeviceRequest(
  tx: Tx,
  secrets: Secrets,
  entityId: number,
  { appId, userId }: { appId: number; userId: number },
): Promise<SampleDeviceRequest> {
  const asking = personId(910_000 + entityId);
  const { identifier: requestId } = await deletionByDevice(
    tx,
    entityId,
    { userId: asking, deviceId: `device of ${asking}` },
    { appId, emails: ['privacy@example.com'] },
  );
  const held = { customerType: 'user_id', customerId: personId(920_000 + entityId) } as const;
  const hold = await insertHold(tx, entityId, { ...held, kind: 'hold', reason: 'a lawsuit', createdBy: userId });
  const erased = personId(930_000 + entityId);
  await insertTombstone(tx, entityId, secrets.customerHash(entityId, 'user_id', erased));
  const [earlier, later] = [personId(940_000 + entityId), personId(950_000 + entityId)];
  await tx.query('INSERT INTO user_aliases (entity_id, app_id, previous_id, user_id) VALUES ($1, $2, $3, $4)', [
    entityId,
    appId,
    earlier,
    later,
  ]);
  return { requestId, holdId: hold!.identifier, erased, earlier, later };
}
