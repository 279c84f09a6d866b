import type { Queryable } from '../core/database.ts';
import { ENDED_SENSITIVE_INAPP } from './report-rollups.ts';
import { REPORT_DAYS } from './reports.ts';

const SETTLED_AFTER = `interval '30 seconds'`;

/** Lists entities with work for `aggregateReports`, each half a minute after its last count: writers have ended. */
export async function listEntitiesToCount(db: Queryable): Promise<number[]> {
  const { rows } = await db.query<{ entity_id: number }>(
    `SELECT e.id AS entity_id FROM entities e LEFT JOIN report_rollups r ON r.entity_id = e.id
     WHERE EXISTS (SELECT FROM campaigns c WHERE c.entity_id = e.id) AND coalesce(r.counted_until, '-infinity') < now() - ${SETTLED_AFTER}
       AND (EXISTS (SELECT FROM attempts a
           WHERE a.entity_id = e.id AND a.changed_at >= coalesce(r.counted_until - ${SETTLED_AFTER}, '-infinity'))
         OR (r.kept_since < date_trunc('day', now() - interval '${REPORT_DAYS} days', 'UTC')
           AND EXISTS (SELECT FROM attempts a WHERE a.entity_id = e.id
             AND a.created_at < date_trunc('day', now() - interval '${REPORT_DAYS} days', 'UTC')))
         OR EXISTS (SELECT FROM campaigns c JOIN attempts a ON ${ENDED_SENSITIVE_INAPP} WHERE c.entity_id = e.id)
         OR EXISTS (SELECT FROM control_group_days g WHERE g.entity_id = e.id AND g.due_at <= now())
         OR EXISTS (SELECT FROM outcome_deliveries o
           WHERE o.entity_id = e.id AND coalesce(o.waits_until, '-infinity') <= now()
             AND (o.sending_id IS NOT NULL OR EXISTS (SELECT FROM attempts a WHERE a.entity_id = e.id AND a.app_id = o.app_id
               AND a.settled_at >= o.delivered_at AND (a.settled_at, a.id) > (o.delivered_at, o.delivered_id)
               AND a.settled_at < now() - ${SETTLED_AFTER} AND NOT EXISTS (
                 SELECT FROM campaigns t WHERE t.entity_id = e.id AND t.id = a.campaign_id AND t.test_of IS NOT NULL)))))
     ORDER BY e.id`,
  );
  return rows.map(({ entity_id: id }) => id);
}
