/** The list of campaigns (reference: Campaigns, 1), and the outcomes of an app's messages (Campaign logs). */

import { reachStateOf, STATUS_NAMES } from '../../../domain/campaigns/campaign-status.ts';
import type { Cell } from '../../../domain/files/cell.ts';
import type { AttemptCode } from '../../../domain/sends/attempt.ts';
import { isoOf } from '../../../domain/time/iso-time.ts';
import { listNextSends } from '../../campaigns/campaign-runs.ts';
import {
  type Campaign,
  type CampaignFilter,
  type CampaignOrder,
  type CampaignStats,
  listCampaignIds,
  listCampaignStats,
  streamCampaigns,
} from '../../campaigns/campaigns.ts';
import { readRows, type Row } from '../../core/camel-row.ts';
import type { Database } from '../../core/database.ts';
import { findRollup } from '../../sends/report-rollups.ts';
import type { FileSource } from '../file-source.ts';

type PlainFilter = Omit<CampaignFilter, 'createdFrom' | 'createdBefore'> & {
  createdFrom: string | null;
  createdBefore: string | null;
};
export type CampaignListQuery = { filter: PlainFilter; order: CampaignOrder };
export type CampaignLogsQuery = { appId: number; from: string; till: string };

/** The list's fields in its order, without variants: members of objects by their own names, parameters as JSON. */
export const campaignList: FileSource<CampaignListQuery> = {
  columns: [
    'identifier',
    'name',
    'status',
    'type',
    'includes_inapp',
    'includes_push',
    'adapt_tz',
    'app_id',
    'launched_at',
    'start_date',
    'end_date',
    'updated_at',
    'created_at',
    'skip_message_limit',
    'reach_count',
    'reach_optin',
    'reach_total',
    'total_push_openings',
    'total_push_sent',
    'push_message',
    'push_title',
    'push_action',
    'push_parameters',
    'reach_state',
    'stats_counted_until',
    'next_send_at',
    'next_send_until',
  ],
  numbers: [
    'launched_at',
    'start_date',
    'end_date',
    'updated_at',
    'created_at',
    'reach_count',
    'reach_optin',
    'reach_total',
    'total_push_openings',
    'total_push_sent',
    'stats_counted_until',
    'next_send_at',
    'next_send_until',
  ],
  async *rows(db, entityId, { filter: { createdFrom, createdBefore, ...filter }, order }) {
    const period = { createdFrom: dateOf(createdFrom), createdBefore: dateOf(createdBefore) };
    const ids = await listCampaignIds(db, entityId, { ...filter, ...period }, order);
    const { countedUntil = null } = (await findRollup(db, entityId)) ?? {};
    for await (const campaigns of streamCampaigns(db, entityId, ids)) {
      const stats = await listCampaignStats(
        db,
        entityId,
        campaigns.map(({ id }) => id),
      );
      const next = await listNextSends(db, entityId, campaigns);
      yield campaigns.map((campaign) => {
        const { from = null, until = null } = next.get(campaign.id) ?? {};
        return [
          ...cellsOf(campaign, stats.get(campaign.id)),
          reachStateOf(campaign),
          ...[countedUntil, from, until].map(secondsOf),
        ];
      });
    }
  },
};

function cellsOf(
  campaign: Campaign,
  { pushesSent, pushesOpened }: CampaignStats = { pushesSent: 0, pushesOpened: 0 },
): Cell[] {
  const {
    push_message: message = null,
    push_title: title = null,
    push_action: action = null,
    push_parameters,
  } = campaign.params;
  const times = [campaign.launchedAt, campaign.startDate, campaign.endDate, campaign.updatedAt, campaign.createdAt];
  return [
    campaign.identifier,
    campaign.name,
    STATUS_NAMES[campaign.status],
    campaign.type,
    campaign.includesInapp,
    campaign.includesPush,
    campaign.adaptTz,
    campaign.appIdentifier,
    ...times.map(secondsOf),
    campaign.skipMessageLimit,
    campaign.reachCount,
    campaign.reachOptin,
    campaign.reachTotal,
    pushesOpened,
    pushesSent,
    message,
    title,
    action,
    JSON.stringify(push_parameters),
  ];
}

/** One row an attempt. For an erased person user and device are empty. */
export const campaignLogs: FileSource<CampaignLogsQuery> = {
  columns: [
    'campaign_id',
    'campaign',
    'variant',
    'requestId',
    'user_id',
    'device_id',
    'channel',
    'date',
    'code',
    'details',
    'delivered_at',
    'opened_at',
    'shown_at',
    'clicked_at',
  ],
  numbers: [],
  async *rows(db, entityId, { appId, from, till }) {
    for await (const attempts of listCampaignLog(db, entityId, { appId, from: new Date(from), till: new Date(till) })) {
      yield attempts.map(({ settledAt, createdAt, deliveredAt, openedAt, shownAt, clickedAt, ...attempt }): Cell[] => [
        attempt.campaignIdentifier,
        attempt.campaignName,
        attempt.variant,
        attempt.sendIdentifier,
        attempt.userId,
        attempt.deviceId,
        attempt.channel,
        isoOf(settledAt ?? createdAt),
        attempt.code,
        attempt.details,
        ...[deliveredAt, openedAt, shownAt, clickedAt].map(isoOf),
      ]);
    }
  },
};

const dateOf = (text: string | null) => (text === null ? null : new Date(text));
const secondsOf = (at: Date | null) => at && Math.floor(at.getTime() / 1_000);

type LoggedAttempt = Row<
  'attempts',
  | 'id'
  | 'variant'
  | 'userId'
  | 'deviceId'
  | 'channel'
  | 'createdAt'
  | 'settledAt'
  | 'details'
  | 'deliveredAt'
  | 'openedAt'
  | 'shownAt'
  | 'clickedAt',
  { code: AttemptCode }
> & { campaignIdentifier: string; campaignName: string; sendIdentifier: string | null };

const PORTION = 1_000;

/**
 * Yields an app's attempts from `from` to `till`, both included, without tests, by campaign, oldest first. Uses
 * campaigns_by_app, then the attempts' primary key. No transaction is open between portions.
 */
export async function* listCampaignLog(
  db: Database,
  entityId: number,
  { appId, from, till }: { appId: number; from: Date; till: Date },
): AsyncGenerator<LoggedAttempt[]> {
  const { rows: campaigns } = await db.query<Row<'campaigns', 'id'>>(
    'SELECT id FROM campaigns WHERE entity_id = $1 AND app_id = $2 AND launched_at IS NOT NULL ORDER BY id',
    [entityId, appId],
  );
  for (const { id: campaignId } of campaigns) {
    for (let after: number | undefined = 0; after !== undefined;) {
      const portion: LoggedAttempt[] = readRows<LoggedAttempt>(
        await db.query(
          `SELECT a.id, c.identifier AS campaign_identifier, c.name AS campaign_name, a.variant, s.identifier AS send_identifier, a.user_id,
           a.device_id, a.channel, a.created_at, a.settled_at, a.code, a.details, a.delivered_at, a.opened_at, a.shown_at, a.clicked_at
         FROM attempts a JOIN campaigns c ON c.entity_id = a.entity_id AND c.id = a.campaign_id
         LEFT JOIN sends s ON s.entity_id = a.entity_id AND s.id = a.send_id AND s.campaign_id IS NULL
         WHERE a.entity_id = $1 AND a.campaign_id = $2 AND a.id > $3 AND a.created_at BETWEEN $4 AND $5
         ORDER BY a.id LIMIT ${PORTION}`,
          [entityId, campaignId, after, from, till],
        ),
      );
      if (portion.length > 0) yield portion;
      after = portion.length < PORTION ? undefined : portion.at(-1)!.id;
    }
  }
}
