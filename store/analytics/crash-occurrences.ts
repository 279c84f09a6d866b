/** The errors of a crash: one after the other, and by day, version and device. */

import type { DayPeriod } from '../../domain/analytics/day-period.ts';
import { readRow, type Row } from '../core/camel-row.ts';
import { type Database, type Queryable, read } from '../core/database.ts';
import { LOOK_UP_BY_KEY } from '../core/look-up-by-key.ts';

export type Crash = Row<'crashes', 'id' | 'appId' | 'identifier'>;

export async function findCrash(db: Queryable, entityId: number, identifier: string): Promise<Crash | null> {
  return readRow<Crash>(
    await db.query('SELECT id, app_id, identifier FROM crashes WHERE entity_id = $1 AND identifier = $2', [
      entityId,
      identifier,
    ]),
  );
}

type CrashRecord = Row<'crashes', 'title' | 'firstSeenAt' | 'lastSeenAt' | 'occurrences'> & { app: string };

export async function findCrashRecord(db: Queryable, entityId: number, { id }: Crash): Promise<CrashRecord | null> {
  return readRow<CrashRecord>(
    await db.query(
      `SELECT c.title, c.first_seen_at, c.last_seen_at, c.occurrences, a.identifier AS app
       FROM crashes c JOIN apps a ON a.entity_id = c.entity_id AND a.id = c.app_id WHERE c.entity_id = $1 AND c.id = $2`,
      [entityId, id],
    ),
  );
}

const PORTION = 1_000;

type CrashOccurrence = { id: string; at: Date };

/** Yields a crash's errors by date, then id, in portions; no transaction is open between them. */
export async function* listCrashOccurrences(
  db: Database,
  entityId: number,
  { id, appId }: Crash,
  { from, until }: { from: Date | null; until: Date | null },
): AsyncGenerator<CrashOccurrence> {
  for (let after: [at: string, id: string] = [from?.toISOString() ?? '-infinity', '0']; ;) {
    // Uses the index events_by_crash; few rows have the same time.
    const { rows } = await db.query<{ id: string; at: Date; exact: string }>(
      `SELECT id::text, happened_at AS at, happened_at::text AS exact FROM events
       WHERE entity_id = $1 AND app_id = $2 AND crash_id = $3 AND happened_at >= $4::timestamptz
         AND (happened_at, id) > ($4::timestamptz, $5::bigint) AND happened_at < coalesce($6::timestamptz, 'infinity')
       ORDER BY happened_at, id LIMIT ${PORTION}`,
      [entityId, appId, id, ...after, until],
    );
    yield* rows;
    const last = rows.at(-1);
    if (!last || rows.length < PORTION) return;
    after = [last.exact, last.id];
  }
}

/** Maximum number of errors whose sessions are looked up, and of values that are returned for each member. */
const [MAX_LOOKED_AT, MAX_VALUES] = [10_000, 50];

const MEMBERS = ['app_version', 'os_version', 'device_model'] as const;
type CrashMember = (typeof MEMBERS)[number];

type Share = { value: string | null; errors: number; devices: number };

type CrashFigures = {
  days: { date: string; errors: number }[];
  lookedAt: number;
  devices: number;
  shares: Record<CrashMember, Share[]>;
  sampleEventId: string | null;
};

/** Sums up the errors of a period. Costs grow with them. A session of an error began at most a day before it. */
export async function summarizeCrash(
  db: Database,
  entityId: number,
  { id, appId }: Crash,
  { from, until }: DayPeriod,
  signal?: AbortSignal,
): Promise<CrashFigures> {
  const values = [entityId, appId, id, from, until];
  const ofCrash =
    'e.entity_id = $1 AND e.app_id = $2 AND e.crash_id = $3 AND e.happened_at >= $4 AND e.happened_at < $5';
  return read(
    db,
    async (tx) => {
      // An index-only scan of events_by_crash.
      const { rows: days } = await tx.query<CrashFigures['days'][number]>(
        `SELECT to_char(d AT TIME ZONE 'UTC', 'YYYY-MM-DD') AS date, coalesce(c.errors, 0) AS errors
         FROM generate_series($4::timestamptz, $5::timestamptz - interval '1 day', interval '1 day', 'UTC') d
         LEFT JOIN (SELECT date_trunc('day', e.happened_at, 'UTC') AS day, count(*) AS errors FROM events e WHERE ${ofCrash} GROUP BY 1) c
           ON c.day = d
         ORDER BY d`,
        values,
      );
      // Uses events_by_crash backwards, then sessions_by_subject.
      const { rows } = await tx.query<Share & { member: CrashMember | null; lookedAt: number; sampleEventId: string }>(
        `WITH newest AS MATERIALIZED (
           SELECT e.id, e.happened_at, e.session_id, e.device_id, e.user_id FROM events e
           WHERE ${ofCrash} ORDER BY e.happened_at DESC LIMIT ${MAX_LOOKED_AT}),
         known AS MATERIALIZED (
           SELECT n.device_id, s.* FROM newest n LEFT JOIN LATERAL (
             SELECT ${MEMBERS.map((member) => `s.${member}`).join(', ')} FROM sessions s
             WHERE s.entity_id = $1 AND s.subject = coalesce('d' || n.device_id, 'u' || n.user_id) AND s.app_id = $2
               AND s.started_at <= n.happened_at AND s.started_at >= n.happened_at - interval '25 hours' AND s.id = n.session_id
             LIMIT 1) s ON true),
         shares AS (
           SELECT m.member, m.value, count(*) AS errors, count(DISTINCT k.device_id) AS devices FROM known k
           CROSS JOIN LATERAL (VALUES ${MEMBERS.map((member) => `('${member}', k.${member})`).join(', ')}) m (member, value)
           GROUP BY m.member, m.value),
         ranked AS (SELECT *, row_number() OVER (PARTITION BY member ORDER BY errors DESC, value) AS rank FROM shares)
         SELECT member, value, errors, devices, NULL AS "lookedAt", NULL AS "sampleEventId" FROM ranked WHERE rank <= ${MAX_VALUES}
         UNION ALL
         SELECT NULL, NULL, 0, count(DISTINCT device_id), count(*), (SELECT id::text FROM newest ORDER BY happened_at DESC LIMIT 1)
         FROM newest
         ORDER BY errors DESC, value`,
        values,
      );
      const whole = rows.find(({ member }) => member === null)!;
      const sharesOf = (member: CrashMember): Share[] =>
        rows.filter((row) => row.member === member).map(({ value, errors, devices }) => ({ value, errors, devices }));
      return {
        days,
        lookedAt: whole.lookedAt,
        devices: whole.devices,
        shares: {
          app_version: sharesOf('app_version'),
          os_version: sharesOf('os_version'),
          device_model: sharesOf('device_model'),
        },
        sampleEventId: whole.sampleEventId,
      };
    },
    { settings: `SET LOCAL transaction_timeout = 0; SET LOCAL statement_timeout = '120s'; ${LOOK_UP_BY_KEY}`, signal },
  );
}
