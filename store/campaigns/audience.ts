/** The audience of a campaign: finds its devices, and hands them out when they are due. */

import { pipeline } from 'node:stream/promises';
import { from as copyFrom } from 'pg-copy-streams';
import type { TargetDevice } from '../../domain/sends/device-decision.ts';
import { personWithOnlyUser } from '../analytics/people.ts';
import { segmentSettings, type SegmentQuery, segmentSql } from '../analytics/segment-sql.ts';
import { copyLine } from '../core/copy-out.ts';
import { cursorPages, cursorRows } from '../core/cursor-rows.ts';
import { type Database, type Queryable, read, type Tx } from '../core/database.ts';
import { inSlices } from '../core/yield-to-event-loop.ts';
import { type FoundDevice, isThere, TARGET_DEVICE } from '../sends/send-targets.ts';

export type AudienceDevice = {
  person: string;
  device_id: string;
  timezone: string | null;
  utc_offset: number | null;
  opt_in: boolean | null;
};

const AUDIENCE_TIMEOUT_MS = 600_000;

/** Yields the devices of the people that filters find, by person, all as of one moment. */
export function findAudience(db: Database, entityId: number, query: SegmentQuery): AsyncGenerator<AudienceDevice> {
  const { with: tables, matched, values, add, ofDevice } = segmentSql(query);
  const person = personWithOnlyUser('d');
  const text = `WITH ${tables}, matched AS MATERIALIZED (${matched})
    SELECT ${person} AS person, d.device_id, d.timezone, d.utc_offset, d.opt_in
    FROM devices d ${ofDevice.joins} JOIN matched m ON m.person = ${ofDevice.person}
    WHERE d.entity_id = $1 AND d.app_id = ${add(query.appId)}::integer AND d.uninstalled IS NOT TRUE
    ORDER BY ${person} COLLATE "C", d.device_id`;
  return cursorRows<AudienceDevice>(db, text, [entityId, ...values], segmentSettings(AUDIENCE_TIMEOUT_MS));
}

/** A device of a person in the audience. `deviceId` is null for a person without one. */
export type AudienceMember = FoundDevice & { person: string; timezone: string | null; utcOffsetMinutes: number | null };

type Scan = { timeoutMs: number; signal?: AbortSignal };

/**
 * Visits the devices of the people that filters find, and people without one, by person, all as of one moment. Returns
 * the number of people of the app.
 */
export async function scanPeople(
  db: Database,
  entityId: number,
  query: SegmentQuery,
  scan: Scan,
  visit: (member: AudienceMember) => void,
): Promise<number> {
  const { with: tables, matched, values, add, ofDevice } = segmentSql(query);
  const text = `WITH ${tables}, matched AS MATERIALIZED (${matched}),
    owned AS (
      SELECT ${ofDevice.person} AS owner, ${personWithOnlyUser('d')} AS person, d.* FROM devices d ${ofDevice.joins}
      WHERE d.entity_id = $1 AND d.app_id = ${add(query.appId)}::integer AND d.uninstalled IS NOT TRUE)
    SELECT c.total, coalesce(d.person, m.person) AS person, ${MEMBER}
    FROM (SELECT count(*) AS total FROM people) c LEFT JOIN matched m ON true LEFT JOIN owned d ON d.owner = m.person
    ORDER BY coalesce(d.person, m.person) COLLATE "C", d.device_id`;
  let total = 0;
  await scanRows<AudienceMember & { total: number }>(db, text, [entityId, ...values], scan, (row) => {
    total = row.total;
    if (row.person !== null) visit(row);
  });
  return total;
}

const MEMBER = `d.timezone, d.utc_offset AS "utcOffsetMinutes", ${TARGET_DEVICE}`;

/** Visits the devices of a found audience that have no attempt yet, by person. Uses the primary keys. */
export async function scanAudience(
  db: Database,
  entityId: number,
  { sendId, appId }: { sendId: number; appId: number },
  scan: Scan,
  visit: (member: AudienceMember) => void,
): Promise<void> {
  const text = `SELECT a.person, ${MEMBER} FROM campaign_audience a
    LEFT JOIN devices d ON d.entity_id = $1 AND d.app_id = $3 AND d.device_id = a.device_id
    WHERE a.entity_id = $1 AND a.send_id = $2 ORDER BY a.person, a.device_id`;
  await scanRows<AudienceMember>(db, text, [entityId, sendId, appId], scan, visit);
}

/** Takes turns with other work of the process. */
async function scanRows<R extends Record<string, unknown>>(
  db: Database,
  text: string,
  values: unknown[],
  { timeoutMs, signal }: Scan,
  visit: (row: R) => void,
): Promise<void> {
  await read(
    db,
    async (tx) => {
      for await (const rows of cursorPages<R>(tx, text, values)) await inSlices(rows, visit);
    },
    { settings: segmentSettings(timeoutMs), signal },
  );
}

export async function countAppDevices(db: Queryable, entityId: number, appId: number): Promise<number> {
  const { rows } = await db.query<{ count: number }>(
    'SELECT count(*) AS count FROM devices WHERE entity_id = $1 AND app_id = $2 AND uninstalled IS NOT TRUE',
    [entityId, appId],
  );
  return rows[0]!.count;
}

export function audienceLine(
  entityId: number,
  sendId: number,
  { dueAt, person, deviceId }: { dueAt: string; person: string; deviceId: string },
): string {
  return copyLine([entityId, sendId, dueAt, person, deviceId]);
}

export async function insertAudience(tx: Tx, lines: string): Promise<void> {
  await pipeline(
    [lines],
    tx.query(copyFrom('COPY campaign_audience (entity_id, send_id, due_at, person, device_id) FROM STDIN')),
  );
}

export async function deleteAudience(tx: Queryable, entityId: number, sendId: number, limit: number): Promise<number> {
  const { rowCount } = await tx.query(
    `DELETE FROM campaign_audience WHERE ctid = ANY (ARRAY(
       SELECT ctid FROM campaign_audience WHERE entity_id = $1 AND send_id = $2 LIMIT $3))`,
    [entityId, sendId, limit],
  );
  return rowCount!;
}

export type DueDevice = { person: string; device: TargetDevice | null };

export type AudienceKey = { dueAt: string; person: string; deviceId: string };

/**
 * Takes the next due devices after a key, in order of the primary key, and skips locked rows. Without `after`, each
 * scan would cross index entries of rows taken before. LIMIT 1 keeps the order of the look-ups.
 */
export async function takeAudience(
  tx: Queryable,
  entityId: number,
  { id, appId }: { id: number; appId: number },
  after: AudienceKey | null,
  limit: number,
): Promise<{ devices: DueDevice[]; last: AudienceKey | null }> {
  const first = after ?? { dueAt: '-infinity', person: '', deviceId: '' };
  const { rows } = await tx.query<FoundDevice & { dueAt: string; person: string; listedId: string }>({
    name: 'take-audience',
    text: `WITH taken AS (
             DELETE FROM campaign_audience WHERE ctid = ANY (ARRAY(
               SELECT ctid FROM campaign_audience
               WHERE entity_id = $1 AND send_id = $2 AND due_at <= now() AND (due_at, person, device_id) > ($5, $6, $7)
               ORDER BY due_at, person, device_id LIMIT $4 FOR UPDATE SKIP LOCKED))
             RETURNING due_at, person, device_id)
           SELECT t.due_at::text AS "dueAt", t.person, t.device_id AS "listedId", ${TARGET_DEVICE}
           FROM taken t
           LEFT JOIN LATERAL (
             SELECT * FROM devices WHERE entity_id = $1 AND app_id = $3 AND device_id = t.device_id LIMIT 1) d ON true
           ORDER BY t.due_at, t.person, t.device_id`,
    values: [entityId, id, appId, limit, first.dueAt, first.person, first.deviceId],
  });
  const end = rows.at(-1);
  return {
    devices: rows.map((row) => ({ person: row.person, device: isThere(row) ? row : null })),
    last: end ? { dueAt: end.dueAt, person: end.person, deviceId: end.listedId } : null,
  };
}

/** Returns when the next devices are due; null if none is left. Uses the primary key. */
export async function findNextOfAudience(db: Queryable, entityId: number, sendId: number): Promise<Date | null> {
  const { rows } = await db.query<{ due_at: Date | null }>(
    'SELECT min(due_at) AS due_at FROM campaign_audience WHERE entity_id = $1 AND send_id = $2',
    [entityId, sendId],
  );
  return rows[0]!.due_at;
}
