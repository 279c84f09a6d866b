/** One event by its id. */

import type { ListField } from '../../domain/analytics/usage-lists.ts';
import { type Database, read } from '../core/database.ts';
import { isoUtc } from '../core/iso-time.ts';
import { EVENT_COLUMNS } from '../tracking/list-columns.ts';

/** SQL of the fields of events `r`, as JSON. */
export const EVENT_FIELDS = { ...EVENT_COLUMNS, date_utc: isoUtc('r.happened_at'), detail: 'r.detail' };

type FoundEvent = { json: string; deviceId: string | null; userId: string | null };

/** Uses events_by_id: the ranges of pages that hold an id have few other events. */
export async function findEvent(
  db: Database,
  entityId: number,
  appId: number,
  id: number,
  fields: readonly ListField<'events'>[],
): Promise<FoundEvent | null> {
  const columns = fields.map((field) => `${EVENT_FIELDS[field]} AS ${field}`);
  const statement = `SELECT row_to_json(entry)::text AS json, r.device_id AS "deviceId", r.user_id AS "userId"
    FROM events r CROSS JOIN LATERAL (SELECT ${columns.join(', ')}) entry
    WHERE r.entity_id = $1 AND r.app_id = $2 AND r.id = $3`;
  const { rows } = await read(db, (tx) => tx.query<FoundEvent>(statement, [entityId, appId, id]), {
    settings: ['seqscan', 'indexscan', 'indexonlyscan'].map((way) => `SET LOCAL enable_${way} = off`).join(';'),
  });
  return rows[0] ?? null;
}
