/** The sample of fast answers: at most one person in 16, found by indexes, so that no answer reads all events. */

import { SAMPLED_ONE_IN } from '../../domain/analytics/funnel.ts';
import type { Queryable } from '../core/database.ts';

/** Number of parts into which the indexes of the sample divide its people, by further bits of the same hash. */
const PARTS = 64;

/** Numbers of parts, whose people are the sample. */
export type Sample = { parts: readonly number[] };

const sampleOf = (parts: number): Sample => ({ parts: Array.from({ length: parts }, (_, part) => part) });

/** Returns how many people one in the sample stands for. */
export const peoplePerSampled = ({ parts }: Sample): number => (SAMPLED_ONE_IN * PARTS) / parts.length;

/** Returns the sample's share of one of several sessions: every other part. */
export const shareOfSample = ({ parts }: Sample, { number, of }: { number: number; of: number }): Sample => ({
  parts: parts.filter((_, index) => index % of === number),
});

/** As indexes have it: Postgres takes an index only for the same expressions. */
const hashOf = (person: string) => `hashtextextended(${person}, 1)`;

/** Returns the condition for a person, a text as `personSql` has it, to be in the sample. */
export const isSampled = (person: string, { parts }: Sample): string =>
  `(${hashOf(person)} % ${SAMPLED_ONE_IN} = 0
    AND (${hashOf(person)} & ${SAMPLED_ONE_IN * PARTS - 1}) = ANY ('{${parts.map((part) => part * SAMPLED_ONE_IN).join()}}'))`;

/** As `devices_sampled` has it: a device without a last user may still be an only user's. */
export const deviceIsSampled = (d: string, sample: Sample): string =>
  isSampled(`coalesce('u' || ${d}.last_user_id, 'd' || ${d}.device_id)`, sample);

const eventIsSampled = (sample: Sample) => isSampled(`coalesce('u' || user_id, 'd' || device_id)`, sample);
const userIsSampled = (sample: Sample) => isSampled(`'u' || user_id`, sample);
const deviceIdIsSampled = (sample: Sample) => isSampled(`'d' || device_id`, sample);

/**
 * Returns SQL of `only_users` (see `personSql`) for the devices whose events may be of people in the sample, and of the
 * tables that `sampledEvents` reads. `sampled_devices` are those that are not in the sample themselves. With `aliases`
 * it needs `alias_ends`. Uses device_users_sampled_user, device_users_sampled_device, device_users_by_user and the
 * primary key of device_users.
 */
export function sampledDevices(apps: string, { aliases, sample }: { aliases: boolean; sample: Sample }): string[] {
  const ofApps = `FROM device_users WHERE entity_id = $1 AND app_id = ANY (${apps})`;
  const onlyUser = 'CASE WHEN count(*) = 1 THEN min(user_id) END AS user_id';
  const earlierIds = `sampled_ids AS MATERIALIZED (SELECT app_id, previous_id FROM alias_ends WHERE ${userIsSampled(sample)})`;
  const ofEarlierIds = `
    UNION SELECT s.app_id, d.device_id FROM sampled_ids s CROSS JOIN LATERAL (
      SELECT device_id FROM device_users WHERE entity_id = $1 AND user_id = s.previous_id AND app_id = s.app_id OFFSET 0) d
    UNION SELECT app_id, previous_id FROM sampled_ids`;
  return [
    ...(aliases ? [earlierIds] : []),
    `sampled_devices AS MATERIALIZED (
      SELECT DISTINCT app_id, device_id FROM (
        SELECT app_id, device_id ${ofApps} AND ${userIsSampled(sample)} ${aliases ? ofEarlierIds : ''}) found
      WHERE NOT ${deviceIdIsSampled(sample)})`,
    `only_users AS MATERIALIZED (
      SELECT app_id, device_id, ${onlyUser} ${ofApps} AND ${deviceIdIsSampled(sample)} GROUP BY app_id, device_id
      UNION ALL SELECT s.app_id, s.device_id, u.user_id FROM sampled_devices s CROSS JOIN LATERAL (
        SELECT ${onlyUser} FROM device_users
        WHERE entity_id = $1 AND app_id = s.app_id AND device_id = s.device_id HAVING count(*) > 0) u)`,
  ];
}

/** The columns of events that an answer may need. */
const COLUMNS = ['entity_id', 'app_id', 'happened_at', 'id', 'log_type', 'device_id', 'user_id', 'name', 'detail'];

type SampledPeriod = { aliases: boolean; sample: Sample; from: string; until: string };

/**
 * Returns SQL in place of the table `events`: all events of the sample's people in these apps and this time, and some
 * of other people, which a condition `isSampled` on the person leaves out. Needs the tables of `sampledDevices`. Uses
 * events_sampled, events_by_device, and with aliases events_by_user.
 */
export function sampledEvents(apps: string, { aliases, sample, from, until }: SampledPeriod): string {
  const columns = COLUMNS.map((column) => `e.${column}`).join(', ');
  const during = `e.happened_at >= ${from} AND e.happened_at < ${until}`;
  /** `OFFSET 0` keeps a look-up for each row: a join by hash would read all events. */
  const each = (table: string, condition: string) => `CROSS JOIN LATERAL (
      SELECT ${columns} FROM events e WHERE e.entity_id = $1 AND e.app_id = ${table}.app_id AND ${condition} AND ${during} OFFSET 0) e`;
  const devices = aliases
    ? 'sampled_devices'
    : `(SELECT app_id, device_id FROM only_users
        WHERE NOT ${deviceIdIsSampled(sample)} AND ${eventIsSampled(sample)})`;
  const ofEarlierIds = `
    UNION ALL SELECT ${columns} FROM sampled_ids s ${each('s', 'e.user_id = s.previous_id')}
    WHERE NOT ${isSampled(`'u' || s.previous_id`, sample)}`;
  return `(SELECT ${COLUMNS.join(', ')} FROM events e WHERE entity_id = $1 AND app_id = ANY (${apps}) AND ${during} AND ${eventIsSampled(sample)}
    UNION ALL SELECT ${columns} FROM ${devices} s ${each('s', 'e.device_id = s.device_id AND e.user_id IS NULL')}
    ${aliases ? ofEarlierIds : ''})`;
}

/** Events of these apps and this time, which an answer reads. */
export type SampledRead = { appIds: readonly number[]; from: Date; until: Date };

/** `sessions`: number of those that share the reading. */
type SampledReads = { appIds: readonly number[]; reads: readonly SampledRead[]; sessions: number };

/** Number of parts in the smallest sample: one for each of two sessions. */
const MIN_PARTS = 2;
/** Maximum cost of what a session reads for a fast answer, in events; 1,000 take about 2 ms of CPU. */
const MAX_COST = 350_000;
/** Cost of a device, whose only user and whose events without a user are looked up, in events. */
const DEVICE_COST = 20;

/**
 * Returns the largest sample that can be read in the time of a fast answer, by counting what the smallest one has.
 * Returns null if the apps have few people, so that an exact answer is as fast.
 */
export async function chooseSample(
  db: Queryable,
  entityId: number,
  { appIds, reads, sessions }: SampledReads,
): Promise<Sample | null> {
  if (await hasFewPeople(db, entityId, appIds)) return null;
  const maxCost = MAX_COST * sessions;
  let cost = DEVICE_COST * (await countSampledDevices(db, entityId, appIds));
  for (const read of reads) if (cost < maxCost) cost += await countSampledEvents(db, entityId, read);
  let parts = PARTS;
  while (parts > MIN_PARTS && (cost * parts) / MIN_PARTS > maxCost) parts /= 2;
  return sampleOf(parts);
}

/** Counts devices with a user in the smallest sample, up to a bound. Uses device_users_sampled_user. */
async function countSampledDevices(db: Queryable, entityId: number, appIds: readonly number[]): Promise<number> {
  const { rows } = await db.query<{ count: number }>(
    `SELECT count(*)::integer AS count FROM (
       SELECT FROM device_users WHERE entity_id = $1 AND app_id = ANY ($2::integer[]) AND ${userIsSampled(sampleOf(MIN_PARTS))}
       LIMIT ${MAX_COST / DEVICE_COST}) found`,
    [entityId, appIds],
  );
  return rows[0]!.count;
}

/** Counts events in the smallest sample, up to a bound. Uses events_sampled. */
async function countSampledEvents(
  db: Queryable,
  entityId: number,
  { appIds, from, until }: SampledRead,
): Promise<number> {
  const { rows } = await db.query<{ count: number }>(
    `SELECT count(*)::integer AS count FROM (
       SELECT FROM events WHERE entity_id = $1 AND app_id = ANY ($2::integer[]) AND happened_at >= $3 AND happened_at < $4
         AND ${eventIsSampled(sampleOf(MIN_PARTS))} LIMIT ${MAX_COST}) found`,
    [entityId, appIds, from, until],
  );
  return rows[0]!.count;
}

/** Below this number of people a fast answer is exact: a sixteenth of them would say little. */
const FEW_PEOPLE = 10_000;
/** Maximum number of rows read to find that people are few: a person has hardly ever more than two. */
const MAX_ROWS = 2 * FEW_PEOPLE;

/** Returns whether these apps have few people. Reads the primary keys of device_users and session_heads. */
async function hasFewPeople(db: Queryable, entityId: number, appIds: readonly number[]): Promise<boolean> {
  const {
    rows: [found],
  } = await db.query<{ few: boolean }>(
    `WITH links AS MATERIALIZED (
       SELECT app_id, device_id, user_id FROM device_users WHERE entity_id = $1 AND app_id = ANY ($2::integer[]) LIMIT ${MAX_ROWS}),
     subjects AS MATERIALIZED (
       SELECT app_id, subject FROM session_heads WHERE entity_id = $1 AND app_id = ANY ($2::integer[]) LIMIT ${MAX_ROWS})
     SELECT (SELECT count(*) FROM links) < ${MAX_ROWS} AND (SELECT count(*) FROM subjects) < ${MAX_ROWS} AND (
       SELECT count(*) FROM (
         SELECT 'u' || user_id FROM links
         UNION SELECT subject FROM subjects s WHERE NOT EXISTS (
           SELECT FROM links l WHERE l.app_id = s.app_id AND 'd' || l.device_id = s.subject)) people) < ${FEW_PEOPLE} AS few`,
    [entityId, appIds],
  );
  return found!.few;
}
