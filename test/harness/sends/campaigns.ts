import type { Database, Queryable } from '../../../store/core/database.ts';
import { newIdentifier } from '../../../store/core/identifiers.ts';
import { insertMany } from '../core/database.ts';

type Options = {
  params?: object;
  includesPush?: boolean;
  includesInapp?: boolean;
  status?: string;
  isSensitive?: boolean;
  skipMessageLimit?: boolean;
  endDate?: Date;
  type?: 'transactional' | 'classic' | 'dynamic';
  filters?: object;
};

export const PUSH_PARAMS = {
  push_message: 'Hello *@name|there@*, order *@order@*',
  push_title: 'News',
  push_includes_sound: true,
  push_parameters: [],
  expire_after: 604_800,
  inapp_parameters: [],
};

/** A launched campaign as other parts' tests need one. */
export async function insertSampleCampaign(db: Queryable, entityId: number, appId: number, options: Options = {}) {
  const {
    params = PUSH_PARAMS,
    includesPush = true,
    includesInapp = false,
    status = 'ongoing',
    type = 'transactional',
  } = options;
  const [identifier, apiIdentifier] = [newIdentifier('cmp'), newIdentifier('cmp')];
  const { rows } = await db.query<{ id: number }>(
    `INSERT INTO campaigns (entity_id, identifier, api_identifier, app_id, name, type, status, includes_push, includes_inapp, params,
       is_sensitive, skip_message_limit, end_date, filters, launched_at)
     VALUES ($1, $2, $3, $4, 'sample', $5, $6, $7, $8, $9, $10, $11, $12, $13, now()) RETURNING id`,
    [
      entityId,
      identifier,
      apiIdentifier,
      appId,
      type,
      status,
      includesPush,
      includesInapp,
      JSON.stringify(params),
      options.isSensitive ?? false,
      options.skipMessageLimit ?? false,
      options.endDate,
      options.filters && JSON.stringify(options.filters),
    ],
  );
  return { id: rows[0]!.id, identifier, apiIdentifier };
}

type DeviceOptions = {
  userId?: string;
  currentUserId?: string | null;
  token?: string | null;
  optIn?: boolean | null;
  optOut?: boolean;
  uninstalled?: boolean;
  verifiedUserId?: string;
  timezone?: string;
  utcOffset?: number;
};

/** A device of a user, with a push token of its own. */
export async function insertSampleDevice(
  db: Queryable,
  entityId: number,
  appId: number,
  deviceId: string,
  options: DeviceOptions = {},
): Promise<void> {
  const { userId, currentUserId = userId ?? null, token = `token of ${deviceId}`, optIn = true } = options;
  await db.query(
    `INSERT INTO devices (entity_id, app_id, device_id, current_user_id, last_user_id, push_token, opt_in, opt_out, uninstalled,
       verified_user_id, timezone, utc_offset, first_seen_at, last_seen_at)
     VALUES ($1, $2, $3, $4, $4, $5, $6, $7, $8, $9, $10, $11, now(), now())`,
    [
      entityId,
      appId,
      deviceId,
      currentUserId,
      token,
      optIn,
      options.optOut,
      options.uninstalled ?? false,
      options.verifiedUserId,
      options.timezone,
      options.utcOffset,
    ],
  );
  if (userId === undefined) return;
  await db.query(
    'INSERT INTO device_users (entity_id, app_id, device_id, user_id, last_seen_at) VALUES ($1, $2, $3, $4, now())',
    [entityId, appId, deviceId, userId],
  );
}

/**
 * Many devices that take pushes. `own`: a query for their `user_id`, `device_id` and a number `n`; of each eleventh the
 * token is gone.
 */
export async function insertManyDevices(db: Database, entityId: number, appId: number, own: string): Promise<void> {
  await insertMany(
    db,
    `WITH own AS (${own}),
     devices AS (
       INSERT INTO devices (entity_id, app_id, device_id, current_user_id, last_user_id, push_token, first_seen_at, last_seen_at)
       SELECT $1, $2, device_id, user_id, user_id, CASE n % 11 WHEN 0 THEN 'sandbox-gone ' ELSE '' END || device_id, now(), now()
       FROM own)
     INSERT INTO device_users (entity_id, app_id, device_id, user_id, last_seen_at) SELECT $1, $2, device_id, user_id, now() FROM own`,
    [entityId, appId],
  );
  await db.query('ANALYZE devices, device_users'); // as Postgres does within a minute
}

/** All that the tables of sends may hold of somebody. */
export async function sampleMessages(
  tx: Queryable,
  entityId: number,
  { appId, deviceId, userId }: { appId: number; deviceId: string; userId: string },
): Promise<void> {
  const campaign = await insertSampleCampaign(tx, entityId, appId);
  const {
    rows: [send],
  } = await tx.query<{ id: number }>(
    'INSERT INTO sends (entity_id, identifier, message_count) VALUES ($1, $2, 1) RETURNING id',
    [entityId, newIdentifier('snd')],
  );
  await tx.query('INSERT INTO send_messages (entity_id, send_id, ordinal, user_id, vars) VALUES ($1, $2, 0, $3, $4)', [
    entityId,
    send!.id,
    userId,
    JSON.stringify({ name: userId }),
  ]);
  await tx.query(
    `INSERT INTO attempts (entity_id, campaign_id, app_id, send_id, message_ordinal, channel, state, code, settled_at, device_id, user_id,
       content) VALUES ($1, $2, $3, $4, 0, 'push', 'settled', 'PUSH_SENT', now(), $5, $6, $7)`,
    [entityId, campaign.id, appId, send!.id, deviceId, userId, JSON.stringify({ push: { body: `Hello ${userId}` } })],
  );
  await tx.query(
    `INSERT INTO campaign_people (entity_id, campaign_id, person, sent, opened, last_sent_at) VALUES ($1, $2, 'u' || $3, 2, 1, now())`,
    [entityId, campaign.id, userId],
  );
  await insertSampleAudience(tx, entityId, campaign.id, { userId, deviceId });
}

/** Somebody in the audience of a campaign that sends. */
export async function insertSampleAudience(
  tx: Queryable,
  entityId: number,
  campaignId: number,
  { userId, deviceId }: { userId: string; deviceId: string },
): Promise<void> {
  const {
    rows: [run],
  } = await tx.query<{ id: number }>(
    `INSERT INTO sends (entity_id, identifier, message_count, campaign_id, send_at) VALUES ($1, $2, 1, $3, now() + interval '1 day')
     RETURNING id`,
    [entityId, newIdentifier('cmp'), campaignId],
  );
  await tx.query(
    `INSERT INTO campaign_audience (entity_id, send_id, due_at, person, device_id) VALUES ($1, $2, now(), 'u' || $3, $4)`,
    [entityId, run!.id, userId, deviceId],
  );
  await tx.query(
    `INSERT INTO campaign_members (entity_id, send_id, person, is_member, notified, last_notified_at)
     VALUES ($1, $2, 'u' || $3, true, 1, now())`,
    [entityId, run!.id, userId],
  );
}
