/** Campaigns: drafts, launches, lists and counts. */

import type { SegmentFilters } from '../../domain/analytics/segment-filters.ts';
import type { NotifLimit, Recurrence } from '../../domain/campaigns/campaign-body.ts';
import { type CampaignParams, profileNamesOf } from '../../domain/campaigns/campaign-params.ts';
import { CAMPAIGN_DAYS, type CampaignStatus, type CampaignType } from '../../domain/campaigns/campaign-status.ts';
import type { CampaignVariant } from '../../domain/campaigns/variants.ts';
import { readRow, readRows, type Row } from '../core/camel-row.ts';
import type { Queryable } from '../core/database.ts';
import { idPieces } from '../core/id-pieces.ts';
import { newIdentifier } from '../core/identifiers.ts';

export type CampaignSettings = Row<
  'campaigns',
  | 'appId'
  | 'name'
  | 'type'
  | 'includesPush'
  | 'includesInapp'
  | 'startDate'
  | 'endDate'
  | 'adaptTz'
  | 'skipMessageLimit'
  | 'isSensitive',
  {
    /** Null: all people of the app. */
    filters: SegmentFilters | null;
    params: CampaignParams;
    /** Null: all people get `params`. */
    variants: CampaignVariant[] | null;
    recurrence: Recurrence | null;
    notifLimit: NotifLimit | null;
  }
>;

export type CampaignMessages = Pick<CampaignSettings, 'params' | 'variants' | 'includesPush' | 'includesInapp'>;

export type Campaign = CampaignSettings &
  Row<
    'campaigns',
    | 'id'
    | 'identifier'
    | 'apiIdentifier'
    | 'testOf'
    | 'hasProfileValues'
    | 'createdBy'
    | 'createdAt'
    | 'updatedAt'
    | 'launchedAt'
    | 'failure'
    | 'reachCount'
    | 'reachOptin'
    | 'reachTotal'
    | 'reachAt'
    | 'revision'
    | 'expectedPeople'
    | 'launchedBy'
  > &
  Row<'apps', 'verifiedUsers'> & {
    appIdentifier: string;
    appTimezone: string;
    launcherUid: string | null;
    status: CampaignStatus;
    endedAt: Date | null;
  };

const DATED = `c.type = 'transactional' AND c.status IN ('scheduled', 'ongoing')`;
const ENDED = `${DATED} AND c.includes_inapp AND c.end_date <= now()`;

/**
 * SQL for the status, from the dates, since only the acceptance of sends changes at these times. A launched
 * transactional campaign waits for its start, and ends at its end date; with pushes only it never ends.
 */
const STATUS = `CASE WHEN ${ENDED} THEN 'finished' WHEN NOT (${DATED}) THEN c.status
    WHEN c.start_date > now() THEN 'scheduled' ELSE 'ongoing' END`;

const CAMPAIGNS = `SELECT c.id, c.identifier, c.api_identifier, c.test_of, c.has_profile_values, c.app_id, a.identifier AS app_identifier,
    a.default_tz AS app_timezone, a.verified_users,
    c.name, c.type, ${STATUS} AS status, c.includes_push, c.includes_inapp, c.start_date, c.end_date,
    c.adapt_tz, c.skip_message_limit, c.is_sensitive, c.filters, c.params, c.variants, c.recurrence, c.notif_limit, c.created_by,
    c.created_at, c.updated_at, c.launched_at, CASE WHEN ${ENDED} THEN c.end_date ELSE c.ended_at END AS ended_at, c.failure,
    c.reach_count, c.reach_optin, c.reach_total, c.reach_at, c.revision, c.expected_people, c.launched_by, l.uid AS launcher_uid
  FROM campaigns c JOIN apps a ON a.entity_id = c.entity_id AND a.id = c.app_id LEFT JOIN users l ON l.id = c.launched_by`;
// Uses the unique index of either name. Copies that tests send are left out.
const BY_KEY = 'c.entity_id = $1 AND (c.identifier = $2 OR c.api_identifier = $2) AND c.test_of IS NULL';

/** Maximum number of campaigns of an entity, and of its tests of the last 30 days. */
export const MAX_CAMPAIGNS = 10_000;

/** Inserts a draft; null if the entity has MAX_CAMPAIGNS. */
export async function insertCampaign(
  tx: Queryable,
  entityId: number,
  settings: CampaignSettings,
  createdBy: number,
): Promise<NewCampaign | null> {
  return insertUnlessFull(tx, entityId, {
    ...toColumns(settings),
    type: settings.type,
    identifier: newIdentifier('cmp'),
    api_identifier: settings.type === 'transactional' ? newIdentifier('api') : null,
    created_by: createdBy,
  });
}

/** Inserts the copy that a test sends, which takes messages at once; null if the entity has MAX_CAMPAIGNS of them. */
export async function insertTestCopy(
  tx: Queryable,
  entityId: number,
  testOf: string,
  settings: CampaignSettings,
  createdBy: number | null,
): Promise<NewCampaign | null> {
  return insertUnlessFull(tx, entityId, {
    ...toColumns(settings),
    type: settings.type,
    identifier: newIdentifier('cmp'),
    test_of: testOf,
    status: 'ongoing',
    created_by: createdBy,
  });
}

type NewCampaign = { id: number; identifier: string; apiIdentifier: string | null };

async function insertUnlessFull(
  tx: Queryable,
  entityId: number,
  columns: Record<string, unknown> & { test_of?: string },
): Promise<NewCampaign | null> {
  // Serializes additions; other references to the entity don't wait.
  await tx.query('SELECT FROM entities WHERE id = $1 FOR NO KEY UPDATE', [entityId]);
  const values = Object.keys(columns).map((_, index) => `$${index + 2}`);
  return readRow(
    await tx.query(
      `INSERT INTO campaigns (entity_id, ${Object.keys(columns).join(', ')}) SELECT $1, ${values.join(', ')}
     WHERE (SELECT count(*) FROM campaigns WHERE entity_id = $1 AND test_of IS ${columns.test_of === undefined ? '' : 'NOT'} NULL)
       < ${MAX_CAMPAIGNS}
     RETURNING id, identifier, api_identifier`,
      [entityId, ...Object.values(columns)],
    ),
  );
}

/** Updates all settings of a draft except its type, as a new revision. `failure`: why it can't be launched. */
export async function updateCampaign(
  tx: Queryable,
  entityId: number,
  id: number,
  settings: CampaignSettings,
  failure: string | null,
): Promise<void> {
  const columns = toColumns(settings);
  const assignments = Object.keys(columns).map((column, index) => `${column} = $${index + 3}`);
  await tx.query(
    `UPDATE campaigns SET ${assignments.join(', ')}, failure = $${assignments.length + 3}, revision = revision + 1,
       updated_at = now()
     WHERE entity_id = $1 AND id = $2`,
    [entityId, id, ...Object.values(columns), failure],
  );
}

export async function deleteCampaign(tx: Queryable, entityId: number, id: number): Promise<void> {
  await tx.query('DELETE FROM campaigns WHERE entity_id = $1 AND id = $2', [entityId, id]);
}

/** Launches a draft, which starts now and ends after CAMPAIGN_DAYS unless it has dates. */
export async function launchCampaign(
  tx: Queryable,
  entityId: number,
  id: number,
  { userId, expectedPeople }: { userId: number; expectedPeople: number | null },
): Promise<void> {
  await tx.query(
    `UPDATE campaigns SET status = CASE WHEN type <> 'transactional' OR start_date > now() THEN 'scheduled' ELSE 'ongoing' END,
       start_date = coalesce(start_date, now()),
       end_date = coalesce(end_date, coalesce(start_date, now()) + make_interval(days => ${CAMPAIGN_DAYS})),
       launched_at = now(), launched_by = $3, expected_people = $4, revision = revision + 1, updated_at = now()
     WHERE entity_id = $1 AND id = $2`,
    [entityId, id, userId, expectedPeople],
  );
}

/** `isLocked`: locks the campaign until the transaction ends. */
export async function findCampaignByKey(
  db: Queryable,
  entityId: number,
  key: string,
  { isLocked = false } = {},
): Promise<Campaign | null> {
  return readRow<Campaign>(
    await db.query(`${CAMPAIGNS} WHERE ${BY_KEY} ${isLocked ? 'FOR NO KEY UPDATE OF c' : ''}`, [entityId, key]),
  );
}

export async function listCampaignsByKeys(
  db: Queryable,
  entityId: number,
  keys: readonly string[],
): Promise<Map<string, Campaign>> {
  const campaigns = readRows<Campaign>(
    await db.query(
      `${CAMPAIGNS} WHERE c.entity_id = $1 AND (c.identifier = ANY ($2) OR c.api_identifier = ANY ($2)) AND c.test_of IS NULL`,
      [entityId, keys],
    ),
  );
  const byKey = new Map(
    campaigns.flatMap((campaign) => [campaign.identifier, campaign.apiIdentifier].map((key) => [key, campaign])),
  );
  return new Map(keys.flatMap((key) => (byKey.has(key) ? [[key, byKey.get(key)!]] : [])));
}

export type CampaignFilter = {
  appIds: number[] | null;
  statuses: CampaignStatus[] | null;
  types: CampaignType[] | null;
  push: boolean;
  inapp: boolean;
  search: string | null;
  createdFrom: Date | null;
  createdBefore: Date | null;
};

const FILTER = `c.entity_id = $1 AND c.test_of IS NULL AND ($2::integer[] IS NULL OR c.app_id = ANY ($2))
    AND ($3::text[] IS NULL OR ${STATUS} = ANY ($3))
    AND ($4::text[] IS NULL OR c.type = ANY ($4)) AND (c.includes_push AND $5 OR c.includes_inapp AND $6)
    AND ($7::text IS NULL OR position(lower($7) IN lower(c.name)) > 0)
    AND ($8::timestamptz IS NULL OR c.created_at >= $8) AND ($9::timestamptz IS NULL OR c.created_at < $9)`;

const NEWEST_FIRST = 'c.created_at DESC, c.id DESC';
const ORDERS = {
  status: STATUS,
  app: 'a.name',
  start_date: 'c.start_date DESC NULLS LAST',
  updated_at: 'c.updated_at DESC',
  created_at: 'c.created_at DESC',
};
export type CampaignOrder = keyof typeof ORDERS;

/** Lists the ids of all matching campaigns; equal ones newest first. `streamCampaigns` reads the campaigns. */
export async function listCampaignIds(
  db: Queryable,
  entityId: number,
  filter: CampaignFilter,
  order: CampaignOrder,
): Promise<number[]> {
  const { rows } = await db.query<Row<'campaigns', 'id'>>(
    `SELECT c.id FROM campaigns c JOIN apps a ON a.entity_id = c.entity_id AND a.id = c.app_id
     WHERE ${FILTER} ORDER BY ${ORDERS[order]}, ${NEWEST_FIRST}`,
    filterValues(entityId, filter),
  );
  return rows.map(({ id }) => id);
}

export type CampaignStats = { pushesSent: number; pushesOpened: number };

export async function listCampaignStats(
  db: Queryable,
  entityId: number,
  ids: readonly number[],
): Promise<Map<number, CampaignStats>> {
  const { rows } = await db.query<{ id: number; sent: string; opened: string }>(
    `SELECT campaign_id AS id, coalesce(sum(attempts) FILTER (WHERE code = 'PUSH_SENT'), 0) AS sent, sum(opened) AS opened
     FROM campaign_days WHERE entity_id = $1 AND campaign_id = ANY ($2) AND channel <> 'inapp' GROUP BY campaign_id`,
    [entityId, ids],
  );
  return new Map(rows.map(({ id, sent, opened }) => [id, { pushesSent: Number(sent), pushesOpened: Number(opened) }]));
}

export async function listVariantStats(
  db: Queryable,
  entityId: number,
  ids: readonly number[],
): Promise<Map<string, CampaignStats>> {
  const { rows } = await db.query<Row<'campaign_days', 'variant'> & { sent: string; opened: string }>(
    `SELECT variant, coalesce(sum(attempts) FILTER (WHERE code = 'PUSH_SENT'), 0) AS sent, sum(opened) AS opened
     FROM campaign_days WHERE entity_id = $1 AND campaign_id = ANY ($2) AND variant <> '' AND channel <> 'inapp'
     GROUP BY variant`,
    [entityId, ids],
  );
  return new Map(
    rows.map(({ variant, sent, opened }) => [variant, { pushesSent: Number(sent), pushesOpened: Number(opened) }]),
  );
}

function filterValues(entityId: number, filter: CampaignFilter): unknown[] {
  const { appIds, statuses, types, push, inapp, search, createdFrom, createdBefore } = filter;
  return [entityId, appIds, statuses, types, push, inapp, search, createdFrom, createdBefore];
}

function toColumns(settings: CampaignSettings): Record<string, unknown> {
  const json = (value: unknown) => (value === null ? null : JSON.stringify(value));
  return {
    app_id: settings.appId,
    name: settings.name,
    includes_push: settings.includesPush,
    includes_inapp: settings.includesInapp,
    start_date: settings.startDate,
    end_date: settings.endDate,
    adapt_tz: settings.adaptTz,
    skip_message_limit: settings.skipMessageLimit,
    is_sensitive: settings.isSensitive,
    filters: json(settings.filters),
    params: json(settings.params),
    variants: json(settings.variants),
    recurrence: json(settings.recurrence),
    notif_limit: json(settings.notifLimit),
    has_profile_values: namesOfProfile(settings).length > 0,
  };
}

/** Returns the placeholders of profile values in the texts of a campaign's messages. */
export function namesOfProfile({
  params,
  variants,
  includesPush: push,
  includesInapp: inapp,
}: CampaignMessages): string[] {
  return profileNamesOf(params, variants, { push, inapp });
}

export async function* streamCampaigns(
  db: Queryable,
  entityId: number,
  ids: readonly number[],
): AsyncGenerator<Campaign[]> {
  for await (const piece of idPieces(db, entityId, 'campaigns', ids)) yield listCampaignsById(db, entityId, piece);
}

export async function listCampaignsById(db: Queryable, entityId: number, ids: readonly number[]): Promise<Campaign[]> {
  return readRows<Campaign>(
    await db.query(
      `${CAMPAIGNS} WHERE c.entity_id = $1 AND c.id = ANY ($2::integer[]) ORDER BY array_position($2::integer[], c.id)`,
      [entityId, ids],
    ),
  );
}
