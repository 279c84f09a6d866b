/** Control groups by day: how many people were held back, and how many opened the app. */

import { OUTCOME_DAYS } from '../../domain/campaigns/control-group.ts';
import { segmentSettings } from '../analytics/segment-sql.ts';
import { readRow, type Row } from '../core/camel-row.ts';
import { type Database, isQueryCanceled, type Queryable, read, type Tx } from '../core/database.ts';

export type CampaignDay = Row<'attempts', 'campaignId'> & { day: string };

/** `people`: held back, with their devices; `targetedPeople`: not held back; and how many of each opened the app. */
type ControlGroupFigures = {
  people: number;
  devices: number;
  openedApp: number;
  targetedPeople: number;
  targetedOpenedApp: number;
};

/** How often opened apps are counted anew, until the last day that counts is over. */
const COUNT_EVERY = `interval '6 hours'`;
const COUNT_TIMEOUT_MS = 300_000;

/** Makes a campaign's day due if more attempts were held back than at its last count. */
export async function upsertControlGroupDay(tx: Tx, entityId: number, { campaignId, day }: CampaignDay): Promise<void> {
  await tx.query(
    `INSERT INTO control_group_days AS g (entity_id, campaign_id, day, attempts)
     SELECT $1, $2, $3, sum(attempts) FROM campaign_days
     WHERE entity_id = $1 AND campaign_id = $2 AND day = $3 AND code = 'CONTROL_GROUP' HAVING count(*) > 0
     ON CONFLICT (entity_id, campaign_id, day) DO UPDATE SET attempts = excluded.attempts, due_at = now()
       WHERE g.attempts <> excluded.attempts`,
    [entityId, campaignId, day],
  );
}

/**
 * Counts the day that has been due for longest, and returns whether there was one. It is due again later, also if it
 * took too long.
 */
export async function countDueControlGroupDay(db: Database, entityId: number): Promise<boolean> {
  const day = await findDueControlGroupDay(db, entityId);
  if (day === null) return false;
  await updateControlGroupDay(db, entityId, day, await countControlGroupDay(db, entityId, day));
  return true;
}

/** Uses the index control_group_days_due. */
async function findDueControlGroupDay(db: Queryable, entityId: number): Promise<CampaignDay | null> {
  return readRow<CampaignDay>(
    await db.query(
      'SELECT campaign_id, day FROM control_group_days WHERE entity_id = $1 AND due_at <= now() ORDER BY due_at LIMIT 1',
      [entityId],
    ),
  );
}

/**
 * Counts a day's people once each, both groups by one rule: a session began on the device within OUTCOME_DAYS after its
 * attempt, whatever its outcome. Null if it takes too long. Uses sessions_by_subject.
 */
async function countControlGroupDay(
  db: Database,
  entityId: number,
  { campaignId, day }: CampaignDay,
): Promise<ControlGroupFigures | null> {
  const opened = `EXISTS (SELECT FROM sessions s
    WHERE s.entity_id = $1 AND s.app_id = a.app_id AND s.subject = 'd' || a.device_id AND s.started_at > a.created_at
      AND s.started_at <= a.created_at + interval '${OUTCOME_DAYS} days'
      AND s.started_at >= $3::date AND s.started_at < $3::date + ${OUTCOME_DAYS + 1})`;
  const counting = read(
    db,
    async (tx) =>
      readRow<ControlGroupFigures>(
        await tx.query(
          `SELECT count(*) FILTER (WHERE is_held_back) AS people, coalesce(sum(devices) FILTER (WHERE is_held_back), 0)::bigint AS devices,
       count(*) FILTER (WHERE is_held_back AND opened) AS opened_app, count(*) FILTER (WHERE NOT is_held_back) AS targeted_people,
       count(*) FILTER (WHERE NOT is_held_back AND opened) AS targeted_opened_app
     FROM (
       SELECT bool_or(a.code = 'CONTROL_GROUP') AS is_held_back, count(DISTINCT a.device_id) AS devices, bool_or(${opened}) AS opened
       FROM attempts a
       WHERE a.entity_id = $1 AND a.campaign_id = $2 AND a.created_at >= $3::date AND a.created_at < $3::date + 1
         AND a.device_id IS NOT NULL
       GROUP BY coalesce('u' || a.user_id, 'd' || a.device_id)) people`,
          [entityId, campaignId, day],
        ),
      ),
    { settings: segmentSettings(COUNT_TIMEOUT_MS) },
  );
  return counting.catch((error: unknown) => {
    if (isQueryCanceled(error)) return null;
    throw error;
  });
}

async function updateControlGroupDay(
  db: Queryable,
  entityId: number,
  { campaignId, day }: CampaignDay,
  figures: ControlGroupFigures | null,
): Promise<void> {
  await db.query(
    `UPDATE control_group_days SET people = coalesce($4, people), devices = coalesce($5, devices),
       opened_app = coalesce($6, opened_app), targeted_people = coalesce($7, targeted_people),
       targeted_opened_app = coalesce($8, targeted_opened_app),
       due_at = CASE WHEN now() < day + ${OUTCOME_DAYS + 1} THEN least(now() + ${COUNT_EVERY}, day + ${OUTCOME_DAYS + 1}) END
     WHERE entity_id = $1 AND campaign_id = $2 AND day = $3`,
    [
      entityId,
      campaignId,
      day,
      figures?.people,
      figures?.devices,
      figures?.openedApp,
      figures?.targetedPeople,
      figures?.targetedOpenedApp,
    ],
  );
}

/** Adds up the days of a campaign; null if it held no person back, or none was counted yet. */
export async function findControlGroupFigures(
  db: Queryable,
  entityId: number,
  campaignId: number,
): Promise<ControlGroupFigures | null> {
  return readRow<ControlGroupFigures>(
    await db.query(
      `SELECT sum(people)::bigint AS people, sum(devices)::bigint AS devices, sum(opened_app)::bigint AS opened_app,
       sum(targeted_people)::bigint AS targeted_people, sum(targeted_opened_app)::bigint AS targeted_opened_app
     FROM control_group_days WHERE entity_id = $1 AND campaign_id = $2 HAVING count(*) > 0`,
      [entityId, campaignId],
    ),
  );
}
