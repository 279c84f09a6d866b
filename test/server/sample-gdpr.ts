import type { Tx } from '../../store/database.ts';
import { insertReceipt } from '../../store/gdpr/receipts.ts';
import { insertGdprRequest } from '../../store/gdpr/requests.ts';
import { newIdentifier } from '../../store/identifiers.ts';
import type { Secrets } from '../../store/secrets.ts';
import type { World } from '../harness/world.ts';

/** A request of either type for the sample's person, and the receipt of one that is gone. */
export type SampleGdpr = { accessId: string; deletionId: string; receiptedId: string; receiptId: string };

export async function insertSampleGdpr(tx: Tx, secrets: Secrets, { entity, user }: World, person: string): Promise<SampleGdpr> {
  const insert = (type: 'access' | 'delete') => insertGdprRequest(tx, entity.id, {
    type, source: 'api', appId: null, requester: { kind: 'user', id: user.id }, skipEmail: true, emails: [], state: 'accepted',
    people: [{ userId: person, deviceId: null }],
  });
  const [accessId, deletionId] = [(await insert('access')).identifier, (await insert('delete')).identifier];
  const subject = secrets.customerHash(entity.id, 'user_id', person).toString('hex');
  const { request: receiptedId, receipt: receiptId } = await insertReceipt(tx, secrets, entity.id, {
    type: 'access', request: newIdentifier('gdp'), round: 1, source: 'api', requested_at: '2026-11-01T08:00:00Z',
    requested_by: { kind: 'user', id: user.uid }, subjects: [{ subject, identifiers: { user_id: 1, device_id: 0, push_token: 0 } }],
    places: [{ place: 'attribute_values', shown: 1 }], archives: [{ sha256: 'ab'.repeat(32), bytes: 1_000 }],
  });
  return { accessId, deletionId, receiptedId, receiptId };
}
