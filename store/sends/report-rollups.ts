/** Counts of attempts by campaign and day, and the deletion of attempts after 30 days. */

import { WAITS_FOR } from '../../domain/sends/attempt.ts';
import { TEST_COPIES } from '../campaigns/campaign-tests.ts';
import { readRow, readRows, type Row } from '../core/camel-row.ts';
import { type Database, type Queryable, type Tx, write } from '../core/database.ts';
import { LOOK_UP_BY_KEY } from '../core/look-up-by-key.ts';
import { type CampaignDay, upsertControlGroupDay } from './control-group-days.ts';
import { PROVIDER_CODE, PUSH_OUTCOME } from './push-outcomes.ts';
import { REPORT_DAYS } from './reports.ts';

/** Write transactions end within this time, so earlier changes are committed. */
const OVERLAP = `interval '30 seconds'`;
const BATCH = 5_000;

/** The progress of an entity's counts: changes until `countedUntil`, days from `keptSince` on. */
export type Rollup = { countedUntil: Date; keptSince: string };

export async function findRollup(db: Queryable, entityId: number): Promise<Rollup | null> {
  return readRow<Row<'report_rollups', 'countedUntil' | 'keptSince'>>(
    await db.query('SELECT counted_until, kept_since FROM report_rollups WHERE entity_id = $1', [entityId]),
  );
}

type ChangedDay = CampaignDay & { firstId: number; lastId: number };

/** Lists the days of campaigns with attempts that changed since then. Uses the BRIN index on changed_at. */
export async function listChangedDays(
  db: Queryable,
  entityId: number,
  { countedUntil, keptSince }: Rollup,
): Promise<ChangedDay[]> {
  return readRows<ChangedDay>(
    await db.query(
      `SELECT campaign_id, date_trunc('day', created_at, 'UTC')::date AS day, min(id) AS first_id, max(id) AS last_id FROM attempts
     WHERE entity_id = $1 AND changed_at >= $2::timestamptz - ${OVERLAP} AND created_at >= $3::date AND campaign_id NOT IN (${TEST_COPIES})
     GROUP BY campaign_id, day ORDER BY day, campaign_id`,
      [entityId, countedUntil, keptSince],
    ),
  );
}

/** Counts a campaign's attempts of a day anew, also those of its control group; a repeat gives the same counts. */
export async function recountDay(tx: Tx, entityId: number, day: CampaignDay): Promise<void> {
  await recountAttempts(tx, entityId, day);
  await upsertControlGroupDay(tx, entityId, day);
}

/** SQL for details that are one of a few texts of our own; a provider's words have too many. $4: `WAITS_FOR`. */
const COUNTED_DETAILS = `CASE WHEN code IN ('OPT_OUT', 'NO_DEVICE_FOR_USER') OR details = ANY ($4::text[]) THEN coalesce(details, '')
       ELSE '' END`;

async function recountAttempts(tx: Tx, entityId: number, { campaignId, day }: CampaignDay): Promise<void> {
  // Locks the campaign: two concurrent counts would both add their rows.
  await tx.query('SELECT FROM campaigns WHERE entity_id = $1 AND id = $2 FOR NO KEY UPDATE', [entityId, campaignId]);
  // A day after its last count may lack attempts.
  const { rowCount: isOver } = await tx.query(
    'SELECT FROM report_rollups WHERE entity_id = $1 AND kept_since > $2 FOR SHARE',
    [entityId, day],
  );
  if (isOver! > 0) return;
  const values = [entityId, campaignId, day];
  for (const table of ['campaign_days', 'push_outcome_days'])
    await tx.query(`DELETE FROM ${table} WHERE entity_id = $1 AND campaign_id = $2 AND day = $3`, values);
  await tx.query(
    `WITH counted AS MATERIALIZED (
       SELECT coalesce(variant, '') AS variant, channel, code, app_id, provider, ${PUSH_OUTCOME} AS outcome, ${PROVIDER_CODE} AS provider_code,
         ${COUNTED_DETAILS} AS details, count(*) AS attempts, count(delivered_at) AS delivered, count(opened_at) AS opened,
         count(shown_at) AS shown, count(clicked_at) AS clicked, count(inapp_until) AS inapp
       FROM attempts
       WHERE entity_id = $1 AND campaign_id = $2 AND created_at >= $3::date AND created_at < $3::date + 1
       GROUP BY 1, 2, 3, 4, 5, 6, 7, 8
     ), outcomes AS (
       INSERT INTO push_outcome_days (entity_id, campaign_id, day, app_id, provider, outcome, provider_code, attempts)
       SELECT $1, $2, $3, app_id, provider, outcome, provider_code, sum(attempts) FROM counted
       WHERE provider IS NOT NULL AND outcome IS NOT NULL GROUP BY app_id, provider, outcome, provider_code)
     INSERT INTO campaign_days (entity_id, campaign_id, day, variant, channel, code, details, attempts, delivered, opened, shown, clicked, inapp)
     SELECT $1, $2, $3, variant, channel, code, details, sum(attempts), sum(delivered), sum(opened), sum(shown), sum(clicked), sum(inapp)
     FROM counted GROUP BY variant, channel, code, details`,
    [...values, Object.values(WAITS_FOR)],
  );
}

/**
 * SQL for devices of changed attempts, with their first and last message if their row lacks them. Uses the keys of
 * attempts and devices; LIMIT 1 keeps the order of look-ups, which the planner reverses for large batches.
 */
const receivedDevices = (lock: string) => `WITH received AS MATERIALIZED (
    SELECT id, app_id, device_id, coalesce(delivered_at, shown_at, settled_at) AS at FROM attempts
    WHERE entity_id = $1 AND campaign_id = $2 AND id BETWEEN $3 AND $4 AND changed_at >= $5::timestamptz - ${OVERLAP}
      AND device_id IS NOT NULL AND (code = 'PUSH_SENT' OR shown_at IS NOT NULL)
    ORDER BY id LIMIT ${BATCH}
  ), spans AS MATERIALIZED (
    SELECT app_id, device_id, min(at) AS first_at, max(at) AS last_at FROM received GROUP BY app_id, device_id ORDER BY app_id, device_id
  ), found AS MATERIALIZED (
    SELECT d.tid, s.first_at, s.last_at FROM spans s CROSS JOIN LATERAL (
      SELECT ctid AS tid FROM devices
      WHERE entity_id = $1 AND app_id = s.app_id AND device_id = s.device_id AND (first_campaign_received_at IS NULL
        OR first_campaign_received_at > s.first_at OR last_campaign_received_at < s.last_at)
      LIMIT 1 ${lock}) d
  )`;

export async function updateReceivedOnDevices(
  db: Database,
  entityId: number,
  { campaignId, firstId, lastId }: ChangedDay,
  since: Date,
): Promise<void> {
  for (let from: number | null = firstId; from !== null;) {
    from = await write(
      db,
      async (tx) => {
        const values = [entityId, campaignId, from, lastId, since];
        // A separate statement, so that the next one sees the devices as they are after the lock.
        await tx.query(`${receivedDevices('FOR NO KEY UPDATE')} SELECT count(*) FROM found`, values);
        const { rows } = await tx.query<{ next: number | null }>(
          `${receivedDevices('')}, changed AS (
           UPDATE devices d SET first_campaign_received_at = least(d.first_campaign_received_at, f.first_at),
             last_campaign_received_at = greatest(d.last_campaign_received_at, f.last_at), received_at = now()
           FROM found f WHERE d.ctid = f.tid)
         SELECT CASE WHEN count(*) = ${BATCH} THEN max(id) + 1 END AS next FROM received`,
          values,
        );
        return rows[0]!.next;
      },
      { settings: LOOK_UP_BY_KEY },
    );
  }
}

export async function updateCountedUntil(db: Queryable, entityId: number, countedUntil: Date): Promise<void> {
  await db.query(
    `INSERT INTO report_rollups (entity_id, counted_until, kept_since)
     VALUES ($1, $2, date_trunc('day', now() - interval '${REPORT_DAYS} days', 'UTC')::date)
     ON CONFLICT (entity_id) DO UPDATE SET counted_until = greatest(report_rollups.counted_until, excluded.counted_until)`,
    [entityId, countedUntil],
  );
}

/** Lists the days that ended for good since the last time: their receipts no longer count. */
export async function listEndedDays(
  db: Queryable,
  entityId: number,
  { keptSince }: Rollup,
  until: string,
): Promise<CampaignDay[]> {
  return readRows<Row<'attempts', 'campaignId'> & { day: string }>(
    await db.query(
      `SELECT DISTINCT campaign_id, date_trunc('day', created_at, 'UTC')::date AS day FROM attempts
     WHERE entity_id = $1 AND created_at >= $2::date AND created_at < $3::date AND campaign_id NOT IN (${TEST_COPIES})
     ORDER BY day, campaign_id`,
      [entityId, keptSince, until],
    ),
  );
}

/** Stores that earlier days had their last count, so that their attempts may be deleted. */
export async function updateKeptSince(db: Queryable, entityId: number, day: string): Promise<void> {
  await db.query(
    'UPDATE control_group_days SET due_at = NULL WHERE entity_id = $1 AND day < $2 AND due_at IS NOT NULL',
    [entityId, day],
  );
  await db.query('UPDATE report_rollups SET kept_since = greatest(kept_since, $2::date) WHERE entity_id = $1', [
    entityId,
    day,
  ]);
}

/** Deletes a batch of attempts before `kept_since`, keeps each person's counts, and returns the number. */
export async function deleteOldAttempts(tx: Tx, entityId: number): Promise<number> {
  const { rows } = await tx.query<{ gone: number }>(
    `WITH gone AS MATERIALIZED (
       DELETE FROM attempts WHERE ctid = ANY (ARRAY(
         SELECT a.ctid FROM attempts a JOIN report_rollups r ON r.entity_id = $1
         WHERE a.entity_id = $1 AND a.created_at < r.kept_since LIMIT ${BATCH}))
       RETURNING campaign_id, user_id, device_id, code, settled_at, opened_at, shown_at, clicked_at
     ), counted AS (
       INSERT INTO campaign_people AS p (entity_id, campaign_id, person, sent, opened, shown, clicked, last_sent_at)
       SELECT $1, campaign_id, coalesce('u' || user_id, 'd' || device_id) COLLATE "C" AS person, count(*) FILTER (WHERE code = 'PUSH_SENT'),
         count(opened_at), count(shown_at), count(clicked_at), max(settled_at) FILTER (WHERE code = 'PUSH_SENT')
       FROM gone
       WHERE (user_id IS NOT NULL OR device_id IS NOT NULL)
         AND campaign_id NOT IN (${TEST_COPIES}) AND (code = 'PUSH_SENT' OR num_nonnulls(opened_at, shown_at, clicked_at) > 0)
       GROUP BY campaign_id, 3 ORDER BY campaign_id, 3
       ON CONFLICT (entity_id, campaign_id, person) DO UPDATE SET sent = p.sent + excluded.sent, opened = p.opened + excluded.opened,
         shown = p.shown + excluded.shown, clicked = p.clicked + excluded.clicked,
         last_sent_at = greatest(p.last_sent_at, excluded.last_sent_at))
     SELECT count(*) AS gone FROM gone`,
    [entityId],
  );
  return rows[0]!.gone;
}

/** SQL for a sensitive in-app message that no device gets any more (`c`, `a`). Uses attempts_by_inapp_end. */
export const ENDED_SENSITIVE_INAPP = `c.is_sensitive AND c.includes_inapp AND a.entity_id = c.entity_id AND a.campaign_id = c.id
    AND a.inapp_until IS NOT NULL AND a.content IS NOT NULL AND a.state = 'settled'
    AND (a.inapp_until <= now() OR c.status IN ('canceled', 'failed'))`;

/** Deletes content of sensitive in-app messages that no device gets any more, in batches; returns the number. */
export async function deleteEndedContent(tx: Tx, entityId: number): Promise<number> {
  const { rowCount } = await tx.query(
    `WITH ended AS MATERIALIZED (
       SELECT a.campaign_id, a.id FROM campaigns c JOIN attempts a ON ${ENDED_SENSITIVE_INAPP}
       WHERE c.entity_id = $1 LIMIT ${BATCH} FOR NO KEY UPDATE OF a)
     UPDATE attempts a SET content = NULL FROM ended WHERE a.entity_id = $1 AND a.campaign_id = ended.campaign_id AND a.id = ended.id`,
    [entityId],
  );
  return rowCount!;
}

export async function deleteOldSends(db: Queryable, entityId: number): Promise<void> {
  await db.query(
    `WITH gone AS (DELETE FROM sends WHERE entity_id = $1 AND ended_at < now() - interval '${REPORT_DAYS} days' RETURNING id)
     DELETE FROM send_messages m USING gone WHERE m.entity_id = $1 AND m.send_id = gone.id`,
    [entityId],
  );
}
