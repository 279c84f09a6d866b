/** Runs of campaigns to an audience: the send of each, its status, and its end. */

import type { CampaignStatus } from '../../domain/campaigns/campaign-status.ts';
import { currentSend, scheduleOf, type SendWindow } from '../../domain/campaigns/send-plan.ts';
import type { JobRef } from '../../domain/jobs/job.ts';
import { readRow, readRows, type Row } from '../core/camel-row.ts';
import type { Queryable, Tx } from '../core/database.ts';
import type { Campaign } from './campaigns.ts';

export async function insertCampaignRun(
  tx: Tx,
  entityId: number,
  { id, identifier, createdBy }: Pick<Campaign, 'id' | 'identifier' | 'createdBy'>,
  startsAt: Date,
): Promise<JobRef> {
  const { rows } = await tx.query<Row<'sends', 'id'>>(
    `INSERT INTO sends (entity_id, identifier, campaign_id, send_at, message_count, created_by) VALUES ($1, $2, $3, $4, 0, $5)
     RETURNING id`,
    [entityId, identifier, id, startsAt, createdBy],
  );
  await tx.query('INSERT INTO send_campaigns (entity_id, send_id, ordinal, campaign_id) VALUES ($1, $2, 0, $3)', [
    entityId,
    rows[0]!.id,
    id,
  ]);
  return { entityId, jobId: rows[0]!.id, identifier };
}

/** Finds the send of a launched campaign. Uses the index sends_by_campaign. */
export async function findCampaignRun(db: Queryable, entityId: number, campaignId: number): Promise<number | null> {
  const row = readRow<Row<'sends', 'id'>>(
    await db.query('SELECT id FROM sends WHERE entity_id = $1 AND campaign_id = $2', [entityId, campaignId]),
  );
  return row?.id ?? null;
}

const UNDER_WAY = ['scheduled', 'wait_sync', 'ongoing'];

/** Returns the send of campaigns to an audience that is under way or comes next, by the rules of their plans. */
export async function listNextSends(
  db: Queryable,
  entityId: number,
  campaigns: readonly Campaign[],
): Promise<Map<number, SendWindow>> {
  const now = new Date();
  const waiting = campaigns.filter(({ status }) => UNDER_WAY.includes(status));
  const classic = waiting.filter(({ type }) => type === 'classic').map(({ id }) => id);
  const due = classic.length === 0 ? [] : await listDueTimes(db, entityId, classic);
  const dynamic = waiting.flatMap((campaign): [number, SendWindow][] => {
    if (campaign.type !== 'dynamic') return [];
    const send = currentSend(scheduleOf(campaign), { launchedAt: campaign.launchedAt!, now });
    return send === null ? [] : [[campaign.id, send]];
  });
  return new Map([...due.map(({ id, dueAt }): [number, SendWindow] => [id, { from: dueAt, until: null }]), ...dynamic]);
}

/** Lists when open runs start or, with their audience, when the next devices are due. Uses sends_by_campaign. */
async function listDueTimes(
  db: Queryable,
  entityId: number,
  campaignIds: readonly number[],
): Promise<{ id: number; dueAt: Date }[]> {
  const { rows } = await db.query<{ id: number; dueAt: Date }>(
    `SELECT * FROM (
       SELECT campaign_id AS id, CASE WHEN audience_at IS NULL THEN send_at ELSE (
         SELECT min(due_at) FROM campaign_audience a WHERE a.entity_id = s.entity_id AND a.send_id = s.id) END AS "dueAt"
       FROM sends s WHERE entity_id = $1 AND campaign_id = ANY ($2::integer[]) AND state IN ('accepted', 'running')) d
     WHERE "dueAt" IS NOT NULL`,
    [entityId, campaignIds],
  );
  return rows;
}

type DeviceZoneCount = Row<'devices', 'timezone' | 'utcOffset'> & { devices: number };

export async function listDeviceZones(db: Queryable, entityId: number, appId: number): Promise<DeviceZoneCount[]> {
  return readRows<DeviceZoneCount>(
    await db.query(
      `SELECT timezone, utc_offset, count(*) AS devices FROM devices
     WHERE entity_id = $1 AND app_id = $2 AND uninstalled IS NOT TRUE GROUP BY timezone, utc_offset`,
      [entityId, appId],
    ),
  );
}

const OPEN_SEND = `EXISTS (
  SELECT FROM send_campaigns l JOIN sends s ON s.entity_id = l.entity_id AND s.id = l.send_id
  WHERE l.entity_id = c.entity_id AND l.campaign_id = c.id AND s.state IN ('accepted', 'running'))`;

/** Sets the status of a launched campaign; its end follows once its counts are final (`endCampaignsOf`). */
export async function updateCampaignStatus(
  tx: Queryable,
  entityId: number,
  campaignId: number,
  status: CampaignStatus,
  failure: string | null = null,
): Promise<void> {
  await tx.query(
    `UPDATE campaigns c SET status = $3, failure = $4, updated_at = now(),
       ended_at = CASE WHEN $3 = 'finished' OR $3 IN ('canceled', 'failed') AND NOT ${OPEN_SEND} THEN now() END
     WHERE entity_id = $1 AND id = $2`,
    [entityId, campaignId, status, failure],
  );
}

/** SQL for a canceled or failed campaign `c` whose counts are final now. Uses the index campaigns_ending. */
export const ENDING = `status IN ('canceled', 'failed') AND ended_at IS NULL AND NOT ${OPEN_SEND}`;

/** Ends the canceled and failed campaigns of a send that `tx` has ended, unless they have another send. */
export async function endCampaignsOf(tx: Tx, entityId: number, sendId: number): Promise<void> {
  await tx.query(
    `UPDATE campaigns c SET ended_at = now(), updated_at = now() WHERE entity_id = $1 AND ${ENDING}
       AND id IN (SELECT campaign_id FROM send_campaigns WHERE entity_id = $1 AND send_id = $2)`,
    [entityId, sendId],
  );
}

/** Numbers of devices: in the audience, of these with pushes allowed, and all with the app. */
export type Reach = { count: number; optin: number; total: number };

/** Raises the number of the step that finds the audience of a run, locked by `tx`: older steps end. */
export async function raiseAudienceRound(tx: Tx, entityId: number, jobId: number): Promise<number> {
  const row = readRow<Row<'sends', 'audienceRound'>>(
    await tx.query(
      'UPDATE sends SET audience_round = audience_round + 1 WHERE entity_id = $1 AND id = $2 RETURNING audience_round',
      [entityId, jobId],
    ),
  );
  return row!.audienceRound;
}

export async function endAudience(
  tx: Tx,
  entityId: number,
  { jobId, campaignId }: { jobId: number; campaignId: number },
  { count, optin, total }: Reach,
): Promise<void> {
  await tx.query('UPDATE sends SET audience_at = now(), message_count = $3 WHERE entity_id = $1 AND id = $2', [
    entityId,
    jobId,
    count,
  ]);
  await tx.query(
    `UPDATE campaigns SET status = 'ongoing', reach_count = $3, reach_optin = $4, reach_total = $5, reach_at = now(), updated_at = now()
     WHERE entity_id = $1 AND id = $2`,
    [entityId, campaignId, count, optin, total],
  );
}

export async function cancelCampaignRun(tx: Queryable, entityId: number, campaignId: number): Promise<void> {
  await tx.query(
    `UPDATE sends SET cancel_requested_at = coalesce(cancel_requested_at, now())
     WHERE entity_id = $1 AND campaign_id = $2 AND state IN ('accepted', 'running')`,
    [entityId, campaignId],
  );
}
