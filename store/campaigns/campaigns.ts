import type { CampaignParams } from '../../domain/campaigns/campaign-params.ts';
import type { CampaignStatus, CampaignType } from '../../domain/campaigns/campaign-status.ts';
import { readRow, readRows } from '../core/camel-row.ts';
import type { Queryable } from '../core/database.ts';

export type Campaign = {
  id: number;
  identifier: string;
  /** Of a transactional one: its second name. */
  apiIdentifier: string | null;
  appId: number;
  appIdentifier: string;
  name: string;
  type: CampaignType;
  /** As of now: of a launched transactional one by its dates. */
  status: CampaignStatus;
  includesPush: boolean;
  includesInapp: boolean;
  /** Null: at the launch. */
  startDate: Date | null;
  endDate: Date | null;
  adaptTz: boolean;
  skipMessageLimit: boolean;
  /** The content of its messages is not kept. */
  isSensitive: boolean;
  filters: object | null;
  params: CampaignParams;
  createdBy: number | null;
  createdAt: Date;
  updatedAt: Date;
  launchedAt: Date | null;
  endedAt: Date | null;
  failure: string | null;
};

/**
 * A launched transactional campaign waits for its start, and ends at its end date unless it has only pushes, which never end: nothing
 * happens at these moments but that sends are taken or refused, so they are read from the dates.
 */
const STATUS = `CASE
    WHEN c.type <> 'transactional' OR c.status NOT IN ('scheduled', 'ongoing') THEN c.status
    WHEN c.includes_inapp AND c.end_date <= now() THEN 'finished'
    WHEN c.start_date > now() THEN 'scheduled'
    ELSE 'ongoing'
  END`;

const CAMPAIGNS = `SELECT c.id, c.identifier, c.api_identifier, c.app_id, a.identifier AS app_identifier, c.name, c.type,
    ${STATUS} AS status, c.includes_push, c.includes_inapp, c.start_date, c.end_date, c.adapt_tz, c.skip_message_limit, c.is_sensitive,
    c.filters, c.params, c.created_by, c.created_at, c.updated_at, c.launched_at, c.ended_at, c.failure
  FROM campaigns c JOIN apps a ON a.entity_id = c.entity_id AND a.id = c.app_id`;

export async function findCampaign(db: Queryable, entityId: number, identifier: string): Promise<Campaign | null> {
  return readRow<Campaign>(await db.query(`${CAMPAIGNS} WHERE c.entity_id = $1 AND c.identifier = $2`, [entityId, identifier]));
}

/** By its identifier or its `campaign_api_identifier`. */
export async function findCampaignByKey(db: Queryable, entityId: number, key: string): Promise<Campaign | null> {
  return (await listCampaignsByKeys(db, entityId, [key])).get(key) ?? null;
}

/** By the keys that were asked for; unknown ones are left out. */
export async function listCampaignsByKeys(db: Queryable, entityId: number, keys: readonly string[]): Promise<Map<string, Campaign>> {
  // By the unique index of either name.
  const campaigns = readRows<Campaign>(await db.query(
    `${CAMPAIGNS} WHERE c.entity_id = $1 AND (c.identifier = ANY ($2) OR c.api_identifier = ANY ($2))`, [entityId, keys]));
  const byKey = new Map(campaigns.flatMap((campaign) => [campaign.identifier, campaign.apiIdentifier].map((key) => [key, campaign])));
  return new Map(keys.flatMap((key) => (byKey.has(key) ? [[key, byKey.get(key)!]] : [])));
}

/** Until the transaction ends nobody else changes it. */
export async function lockCampaign(tx: Queryable, entityId: number, identifier: string): Promise<Campaign | null> {
  return readRow<Campaign>(await tx.query(
    `${CAMPAIGNS} WHERE c.entity_id = $1 AND c.identifier = $2 FOR NO KEY UPDATE OF c`, [entityId, identifier]));
}

/** In the order of the ids. */
export async function listCampaignsById(db: Queryable, entityId: number, ids: readonly number[]): Promise<Campaign[]> {
  return readRows<Campaign>(await db.query(
    `${CAMPAIGNS} WHERE c.entity_id = $1 AND c.id = ANY ($2::integer[]) ORDER BY array_position($2::integer[], c.id)`, [entityId, ids]));
}
