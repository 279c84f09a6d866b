/** Deliveries of outcomes to apps' connections: batches, their progress, and failures. */

import type { AttemptCode } from '../../domain/sends/attempt.ts';
import { TEST_COPIES } from '../campaigns/campaign-tests.ts';
import { readRow, readRows, type Row } from '../core/camel-row.ts';
import type { Queryable } from '../core/database.ts';

type DeliveryTrouble = Row<'outcome_deliveries', 'tries' | 'failingSince'>;

export type OutcomeDelivery = DeliveryTrouble &
  Row<'outcome_deliveries', 'appId'> & { app: string; connection: string };

/** Times as Postgres writes them, with microseconds. */
type OutcomeBatch = Row<'outcome_deliveries', 'deliveredId', { sendingId: number }> & {
  deliveredAt: string;
  sendingAt: string;
};

export type SettledOutcome = Row<
  'attempts',
  'id' | 'userId' | 'deviceId' | 'details' | 'channel',
  { code: AttemptCode; settledAt: Date }
> & { campaign: string; send: string | null };

/**
 * Starts or ends the delivery of an app's outcomes. If it had a connection already, delivery continues from the same
 * outcome.
 */
export async function updateOutcomeDelivery(
  tx: Queryable,
  entityId: number,
  appId: number,
  isDelivered: boolean,
): Promise<void> {
  await tx.query(
    isDelivered
      ? 'INSERT INTO outcome_deliveries (entity_id, app_id) VALUES ($1, $2) ON CONFLICT DO NOTHING'
      : 'DELETE FROM outcome_deliveries WHERE entity_id = $1 AND app_id = $2',
    [entityId, appId],
  );
}

export async function listAppsDelivering(db: Queryable, entityId: number, connection: string): Promise<string[]> {
  const { rows } = await db.query<Row<'apps', 'name'>>(
    'SELECT name FROM apps WHERE entity_id = $1 AND outcomes_connection = $2 ORDER BY name',
    [entityId, connection],
  );
  return rows.map(({ name }) => name);
}

export async function listOutcomeDeliveries(db: Queryable, entityId: number): Promise<OutcomeDelivery[]> {
  return readRows<OutcomeDelivery>(
    await db.query(
      `SELECT o.app_id, a.identifier AS app, a.outcomes_connection AS connection, o.tries, o.failing_since
     FROM outcome_deliveries o JOIN apps a ON a.entity_id = o.entity_id AND a.id = o.app_id
     WHERE o.entity_id = $1 AND a.outcomes_connection IS NOT NULL AND coalesce(o.waits_until, '-infinity') <= now()
     ORDER BY o.app_id`,
      [entityId],
    ),
  );
}

/**
 * Returns a time before which all attempts have settled once no older transaction is open: `settled_at` is the start of
 * its transaction, and a write transaction ends within 30 s.
 */
export async function findSettledUntil(db: Queryable): Promise<Date> {
  const { rows } = await db.query<{ until: Date }>(
    `SELECT date_trunc('milliseconds', now() - interval '30 seconds') AS until`,
  );
  return rows[0]!.until;
}

/** Returns the batch under way, or begins one of attempts settled before `until`. Uses the BRIN index on settled_at. */
export async function beginOutcomeBatch(
  tx: Queryable,
  entityId: number,
  appId: number,
  { until, limit }: { until: Date; limit: number },
): Promise<OutcomeBatch | null> {
  return readRow<OutcomeBatch>(
    await tx.query(
      `UPDATE outcome_deliveries o SET sending_at = next.settled_at, sending_id = next.id
     FROM (
       SELECT coalesce(d.sending_at, last.settled_at) AS settled_at, coalesce(d.sending_id, last.id) AS id
       FROM (SELECT * FROM outcome_deliveries WHERE entity_id = $1 AND app_id = $2 FOR UPDATE) d
       LEFT JOIN LATERAL (
         SELECT settled_at, id FROM (
           SELECT a.settled_at, a.id FROM attempts a
           WHERE d.sending_at IS NULL AND a.entity_id = $1 AND a.app_id = $2 AND a.settled_at >= d.delivered_at AND a.settled_at < $3
             AND (a.settled_at, a.id) > (d.delivered_at, d.delivered_id) AND a.campaign_id NOT IN (${TEST_COPIES})
           ORDER BY a.settled_at, a.id LIMIT $4) batch
         ORDER BY settled_at DESC, id DESC LIMIT 1) last ON true) next
     WHERE o.entity_id = $1 AND o.app_id = $2 AND next.id IS NOT NULL
     RETURNING o.delivered_at::text, o.delivered_id, o.sending_at::text, o.sending_id`,
      [entityId, appId, until, limit],
    ),
  );
}

export async function listOutcomes(
  db: Queryable,
  entityId: number,
  appId: number,
  { deliveredAt, deliveredId, sendingAt, sendingId }: OutcomeBatch,
): Promise<SettledOutcome[]> {
  return readRows<SettledOutcome>(
    await db.query(
      `SELECT a.id, c.identifier AS campaign, s.identifier AS send, a.user_id, a.device_id, a.code, a.details, a.channel, a.settled_at
     FROM attempts a JOIN campaigns c ON c.entity_id = a.entity_id AND c.id = a.campaign_id
     LEFT JOIN sends s ON s.entity_id = a.entity_id AND s.id = a.send_id AND s.campaign_id IS NULL
     WHERE a.entity_id = $1 AND a.app_id = $2 AND a.settled_at >= $3 AND a.settled_at <= $5
       AND (a.settled_at, a.id) > ($3, $4::bigint) AND (a.settled_at, a.id) <= ($5, $6::bigint) AND c.test_of IS NULL
     ORDER BY a.settled_at, a.id`,
      [entityId, appId, deliveredAt, deliveredId, sendingAt, sendingId],
    ),
  );
}

export async function updateOutcomesDelivered(
  db: Queryable,
  entityId: number,
  appId: number,
  { deliveredAt, deliveredId }: OutcomeBatch,
): Promise<void> {
  await db.query(
    `UPDATE outcome_deliveries SET delivered_at = sending_at, delivered_id = sending_id, sending_at = NULL, sending_id = NULL,
       tries = 0, failing_since = NULL, waits_until = NULL, failure = NULL
     WHERE entity_id = $1 AND app_id = $2 AND delivered_at = $3 AND delivered_id = $4 AND sending_id IS NOT NULL`,
    [entityId, appId, deliveredAt, deliveredId],
  );
}

export async function updateOutcomesFailed(
  db: Queryable,
  entityId: number,
  appId: number,
  {
    tries,
    failingSince,
    waitMs,
    failure,
  }: {
    tries: number;
    failingSince: Date | null;
    waitMs: number;
    failure: string;
  },
): Promise<void> {
  await db.query(
    `UPDATE outcome_deliveries SET tries = $3, failing_since = $4, waits_until = now() + make_interval(secs => $5::float8 / 1000),
       failure = $6
     WHERE entity_id = $1 AND app_id = $2`,
    [entityId, appId, tries, failingSince, waitMs, failure],
  );
}
