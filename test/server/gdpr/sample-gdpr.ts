import type { Tx } from '../../../store/core/database.ts';
import { newIdentifier } from '../../../store/core/identifiers.ts';
import type { Secrets } from '../../../store/core/secrets.ts';
import { insertReceipt } from '../../../store/gdpr/receipts.ts';
import type { World } from '../../harness/core/world.ts';
import { requestByApi } from '../../harness/gdpr/gdpr-requests.ts';

/** A request of either type for the sample's person, and the receipt of one that is gone. */
export type SampleGdpr = { accessId: string; deletionId: string; receiptedId: string; receiptId: string };

export async function insertSampleGdpr(tx: Tx, secrets: Secrets, world: World, person: string): Promise<SampleGdpr> {
  const { entity, user } = world;
  const { identifier: accessId } = await requestByApi(tx, 'access', world, [person]);
  const { identifier: deletionId } = await requestByApi(tx, 'delete', world, [person]);
  const subject = secrets.customerHash(entity.id, 'user_id', person).toString('hex');
  const { request: receiptedId, receipt: receiptId } = await insertReceipt(tx, secrets, entity.id, {
    type: 'access',
    request: newIdentifier('gdp'),
    round: 1,
    source: 'api',
    requested_at: '2026-11-01T08:00:00Z',
    requested_by: { kind: 'user', id: user.uid },
    subjects: [{ subject, identifiers: { user_id: 1, device_id: 0, push_token: 0 } }],
    places: [{ place: 'attribute_values', shown: 1 }],
    archives: [{ sha256: 'ab'.repeat(32), bytes: 1_000 }],
  });
  return { accessId, deletionId, receiptedId, receiptId };
}
