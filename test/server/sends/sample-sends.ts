import type { PushContent } from '../../../domain/campaigns/campaign-params.ts';
import { insertTestCopy, listCampaignsById } from '../../../store/campaigns/campaigns.ts';
import { insertSend } from '../../../store/sends/sends.ts';
import type { Tx } from '../../../store/core/database.ts';

const PUSH: PushContent = {
  title: null,
  subtitle: null,
  body: 'Your parcel leaves',
  deepLink: null,
  attachmentUrl: null,
  category: null,
  sound: 'default',
  parameters: {},
};

export type SampleSend = { requestId: string; testId: string };

/** A request that waits for tomorrow, a message of its campaign that was sent, and a test of it. */
export async function insertSampleSend(
  tx: Tx,
  entityId: number,
  {
    appId,
    campaignIdentifier,
    userId,
    deviceId,
  }: {
    appId: number;
    campaignIdentifier: string;
    userId: string;
    deviceId: string;
  },
): Promise<SampleSend> {
  const {
    rows: [campaign],
  } = await tx.query<{ id: number }>('SELECT id FROM campaigns WHERE entity_id = $1 AND identifier = $2', [
    entityId,
    campaignIdentifier,
  ]);
  const { id, identifier } = await insertSend(tx, entityId, {
    sendAt: new Date(Date.now() + 86_400_000),
    campaignIds: [campaign!.id],
    createdBy: null,
    request: null,
    messages: [{ userId, userHash: null, vars: null }],
  });
  await tx.query(
    `INSERT INTO attempts (entity_id, campaign_id, app_id, send_id, message_ordinal, channel, state, code, settled_at, device_id, user_id,
       content) VALUES ($1, $2, $3, $4, 0, 'push', 'settled', 'PUSH_SENT', now(), $5, $6, $7)`,
    [entityId, campaign!.id, appId, id, deviceId, userId, JSON.stringify({ push: PUSH })],
  );
  const copy = (await insertTestCopy(
    tx,
    entityId,
    campaignIdentifier,
    (await listCampaignsById(tx, entityId, [campaign!.id]))[0]!,
    null,
  ))!;
  const test = await insertSend(tx, entityId, {
    sendAt: null,
    campaignIds: [copy.id],
    createdBy: null,
    request: null,
    messages: [{ userId, userHash: null, vars: null }],
  });
  return { requestId: identifier, testId: test.identifier };
}
