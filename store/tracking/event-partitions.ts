/** Monthly partitions of events, sessions and locations, and retention of data from SDKs. */

import { DAY_MS } from '../../domain/time/durations.ts';
import { type Database, type Queryable, type Tx, write } from '../core/database.ts';
import { type CountedTable, subtractDeleted, TIME_OF } from './day-counts.ts';
import { readRows, type Row } from '../core/camel-row.ts';
import { LOOK_UP_BY_KEY } from '../core/look-up-by-key.ts';

/** Tables with a partition for each UTC month. Rows of sessions change, so their pages keep room. */
const PARTITIONED = ['events', 'sessions', 'locations'] as const;
const FILLFACTOR = { events: 100, sessions: 70, locations: 100 };

/** A UTC month: 2026-11. */
type Month = string;

/** Advisory lock for creating and dropping partitions; no other program uses this number in this database. */
const PARTITIONS_LOCK = 5_717_023_442;

/** Months that ended later than this are never dropped, since retention is at least a month. */
const SAFE_MS = 27 * DAY_MS;

const seen = new WeakMap<Database, Set<Month>>();

const monthOf = (moment: Date | number): Month => new Date(moment).toISOString().slice(0, 7);

function startOf(month: Month, monthsLater = 0): Date {
  return new Date(Date.UTC(Number(month.slice(0, 4)), Number(month.slice(5)) - 1 + monthsLater));
}

/**
 * Creates missing partitions for rows of these moments (dates, or ms since 1970). Call it before the transaction that
 * writes the rows: it has its own. Known months cost nothing, unless they may have been dropped by now.
 */
export async function ensurePartitions(db: Database, moments: Iterable<Date | number>): Promise<void> {
  const known = seenIn(db);
  const safeSince = Date.now() - SAFE_MS;
  // By days first: thousands of calls have a few, and a month's name takes longer.
  const days = new Set(Array.from(moments, (moment) => Math.floor(Number(moment) / DAY_MS)));
  const months = new Set(Array.from(days, (day) => monthOf(day * DAY_MS)));
  const asked = [...months].filter((month) => !known.has(month) || startOf(month, 1).getTime() < safeSince);
  if (asked.length === 0) return;
  if ((await listMissing(db, asked)).length > 0) await write(db, (tx) => insertMissing(tx, asked));
  for (const month of asked) known.add(month);
}

/** Creates the partitions of this month and the next two, so that hardly any row waits for one. */
export async function ensurePartitionsAhead(db: Database, now: Date): Promise<void> {
  await ensurePartitions(
    db,
    [0, 1, 2].map((later) => startOf(monthOf(now), later)),
  );
}

export type Partition = { table: (typeof PARTITIONED)[number]; month: Month };

async function listMissing(db: Queryable, months: Month[]): Promise<Partition[]> {
  const existing = new Set((await listPartitions(db)).map(nameOf));
  return PARTITIONED.flatMap((table) => months.map((month) => ({ table, month }))).filter(
    (partition) => !existing.has(nameOf(partition)),
  );
}

async function insertMissing(tx: Tx, months: Month[]): Promise<void> {
  await lockPartitions(tx);
  for (const partition of await listMissing(tx, months)) await insertPartition(tx, partition);
}

/** Attaches the partition once it is whole: that takes SHARE UPDATE EXCLUSIVE on the parent, which lets others work. */
async function insertPartition(tx: Tx, partition: Partition): Promise<void> {
  const [name, { table, month }] = [nameOf(partition), partition];
  await tx.query(`CREATE TABLE ${name} (LIKE ${table} INCLUDING ALL) WITH (fillfactor = ${FILLFACTOR[table]})`);
  await tx.query(
    `ALTER TABLE ${table} ATTACH PARTITION ${name}
     FOR VALUES FROM ('${startOf(month).toISOString()}') TO ('${startOf(month, 1).toISOString()}')`,
  );
}

/** How long a drop waits for its lock on the parent, while everything else waits for the drop. */
const DROP_LOCK_TIMEOUT = '100ms';
/** A transaction that has used the parent for longer than this, such as an export, will not end soon. */
const LONG_USE = '1 second';
const LOCK_NOT_AVAILABLE = '55P03';

/**
 * Drops partitions whose month ended a day before the longest retention; the day is for calls that are being written.
 * Each drop is a transaction that needs ACCESS EXCLUSIVE on the parent. DETACH CONCURRENTLY would not, but can't run in
 * one, and an interrupted one leaves a table neither attached nor detached. So a drop waits 100 ms for its lock, and
 * not at all while a long transaction uses the table: the next pass tries again.
 */
async function dropOldPartitions(db: Database, now: Date): Promise<void> {
  for (const partition of await listPartitions(db)) {
    try {
      if (!(await write(db, (tx) => dropIfOld(tx, partition, now)))) return;
      seenIn(db).delete(partition.month);
    } catch (error) {
      if ((error as { code?: string }).code === LOCK_NOT_AVAILABLE) return;
      throw error;
    }
  }
}

async function dropIfOld(tx: Tx, partition: Partition, now: Date): Promise<boolean> {
  const {
    rows: [found],
  } = await tx.query<{ is_old: boolean; is_in_use: boolean }>(
    `SELECT $1::timestamptz <= $2::timestamptz - make_interval(months => max(data_retention_in_months)) - interval '1 day' AS is_old,
       EXISTS (SELECT FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid
         WHERE l.relation = $3::regclass AND a.datname = current_database() AND a.xact_start < now() - interval '${LONG_USE}') AS is_in_use
     FROM entities`,
    [startOf(partition.month, 1), now, partition.table],
  );
  if (!found!.is_old) return false;
  if (found!.is_in_use) return true;
  await lockPartitions(tx);
  await tx.query(`SET LOCAL lock_timeout = '${DROP_LOCK_TIMEOUT}'; DROP TABLE IF EXISTS ${nameOf(partition)}`);
  await deleteDayCounts(tx, partition.table, startOf(partition.month), startOf(partition.month, 1));
  return true;
}

/**
 * Sets the counts of a dropped partition's days to 0. Call it in the transaction that drops it, with partitions locked.
 * Uses the primary key app by app, since everything else waits.
 */
async function deleteDayCounts(tx: Tx, table: CountedTable, from: Date, until: Date): Promise<void> {
  await tx.query(LOOK_UP_BY_KEY);
  const ofDays = 'c.entity_id = a.entity_id AND c.app_id = a.id AND c.day >= $1::date AND c.day < $2::date';
  const days = [from.toISOString().slice(0, 10), until.toISOString().slice(0, 10)];
  await tx.query(
    `UPDATE tracked_counts AS c SET ${table} = 0 FROM apps AS a WHERE ${ofDays} AND c.${table} <> 0`,
    days,
  );
  await tx.query(
    `DELETE FROM tracked_counts AS c USING apps AS a WHERE ${ofDays} AND c.events = 0 AND c.sessions = 0 AND c.locations = 0`,
    days,
  );
}

/** Waits for the lock for at most 10 s, well within the limit of a write transaction. */
async function lockPartitions(tx: Tx): Promise<void> {
  await tx.query(`SET LOCAL lock_timeout = '10s'`);
  await tx.query('SELECT pg_advisory_xact_lock($1)', [PARTITIONS_LOCK]);
}

export async function listPartitions(db: Queryable): Promise<Partition[]> {
  const { rows } = await db.query<Partition>(
    `SELECT p.relname AS table, replace(right(c.relname, 7), '_', '-') AS month
     FROM pg_inherits i JOIN pg_class p ON p.oid = i.inhparent JOIN pg_class c ON c.oid = i.inhrelid
     WHERE i.inhparent = ANY (ARRAY(SELECT t::regclass FROM unnest($1::text[]) AS t)) ORDER BY month, "table"`,
    [PARTITIONED],
  );
  return rows;
}

export function nameOf({ table, month }: Partition): string {
  return `${table}_${month.replace('-', '_')}`;
}

function seenIn(db: Database): Set<Month> {
  if (!seen.has(db)) seen.set(db, new Set());
  return seen.get(db)!;
}

const BATCH = 5_000;

/** Returns whether a pass may continue; called before each transaction. */
type IsTimeLeft = () => boolean;

/** Deletes old data of SDKs while there is time: partitions without use, then rows. The next pass continues. */
export async function keepRetention(db: Database, now: Date, isTimeLeft: IsTimeLeft): Promise<void> {
  await dropOldPartitions(db, now);
  for (const statement of BY_AGE) {
    if (!(await deleteByAge(db, statement, now, isTimeLeft))) return;
  }
  for (const entity of await listEntitiesToClear(db, now)) {
    const cursor = await clearEntity(db, entity, cursorsIn(db).get(entity.id), isTimeLeft);
    if (cursor) {
      cursorsIn(db).set(entity.id, cursor);
      return;
    }
    cursorsIn(db).delete(entity.id);
    await db.query('UPDATE entities SET events_kept_since = $2 WHERE id = $1', [entity.id, entity.cutOff]);
  }
}

/** Tables with a retention of their own; $1 is now. Uses event_messages_by_age, live_calls_by_age and primary keys. */
const BY_AGE = [
  `DELETE FROM event_messages WHERE ctid = ANY (ARRAY(SELECT ctid FROM event_messages
     WHERE received_at < $1::timestamptz - interval '90 days' ORDER BY received_at LIMIT ${BATCH}))`,
  `DELETE FROM live_calls WHERE ctid = ANY (ARRAY(SELECT ctid FROM live_calls
     WHERE received_at < $1::timestamptz - interval '1 hour' ORDER BY received_at LIMIT ${BATCH}))`,
  ...(
    [
      ['refused_calls', 30],
      ['ingested_batches', 400],
    ] as const
  ).map(
    ([table, days]) =>
      `DELETE FROM ${table} WHERE ctid = ANY (ARRAY(
       SELECT r.ctid FROM entities e CROSS JOIN LATERAL (
         SELECT ctid FROM ${table} WHERE entity_id = e.id AND received_at < $1::timestamptz - interval '${days} days'
         ORDER BY received_at LIMIT ${BATCH}) r LIMIT ${BATCH}))`,
  ),
];

async function deleteByAge(db: Database, statement: string, now: Date, isTimeLeft: IsTimeLeft): Promise<boolean> {
  while (isTimeLeft()) {
    const deleted = await write(db, async (tx) => {
      await tx.query(LOOK_UP_BY_KEY);
      return (await tx.query(statement, [now])).rowCount!;
    });
    if (deleted < BATCH) return true;
  }
  return false;
}

/** The scan, and the last key that it looked at, when the time of a pass was over. */
type DeletionCursor = { cutOff: string; scan: string; after: string[] };

type EntityToClear = { id: number; cutOff: string; isLongest: boolean };

/** By entity, only in this process: a key may be a person's id. A process that starts anew only looks at more rows. */
const cursors = new WeakMap<Database, Map<number, DeletionCursor>>();

function cursorsIn(db: Database): Map<number, DeletionCursor> {
  if (!cursors.has(db)) cursors.set(db, new Map());
  return cursors.get(db)!;
}

/** Lists entities whose cut-off has changed since the last clearing: once a day, and after a change of retention. */
async function listEntitiesToClear(db: Queryable, now: Date): Promise<EntityToClear[]> {
  return readRows<Row<'entities', 'id'> & { cutOff: string; isLongest: boolean }>(
    await db.query(
      `SELECT * FROM (
       SELECT id, events_kept_since, data_retention_in_months = max(data_retention_in_months) OVER () AS is_longest,
         date_trunc('day', $1::timestamptz - make_interval(months => data_retention_in_months), 'UTC')::text AS cut_off
       FROM entities) AS e
     WHERE events_kept_since IS DISTINCT FROM cut_off::timestamptz ORDER BY id`,
      [now],
    ),
  );
}

/**
 * Continues a scan at its cursor, and returns that if the time ends first: a scan over millions of devices that stay
 * would start anew each time. Rows of the longest retention go with their partition.
 */
async function clearEntity(
  db: Database,
  entity: EntityToClear,
  cursor: DeletionCursor | undefined,
  isTimeLeft: IsTimeLeft,
): Promise<DeletionCursor | null> {
  const scans = [...(entity.isLongest ? [] : await scansOfPartitions(db, entity)), ...SCANS];
  const begun = cursor?.cutOff === entity.cutOff ? cursor : null;
  const first = Math.max(
    0,
    scans.findIndex(({ name }) => name === begun?.scan),
  );
  for (const scan of scans.slice(first)) {
    const from = scan.name === begun?.scan ? begun.after : scan.keys.map(([, type]) => LEAST[type]);
    const after = await deleteOld(db, entity, scan, from, isTimeLeft);
    if (after) return { cutOff: entity.cutOff, scan: scan.name, after };
  }
  return null;
}

/** Returns scans of the partitions that end before the cut-off, and each app's part of the month of the cut-off. */
async function scansOfPartitions(db: Queryable, { id, cutOff }: EntityToClear): Promise<Scan[]> {
  const { rows: apps } = await db.query<Row<'apps', 'id'>>('SELECT id FROM apps WHERE entity_id = $1 ORDER BY id', [
    id,
  ]);
  const month = cutOff.slice(0, 7);
  const partitions = (await listPartitions(db)).filter((partition) => partition.month <= month);
  return partitions.flatMap((partition) =>
    partition.month < month ? [scanOfAll(partition)] : apps.map((app) => scanOfApp(partition, app.id)),
  );
}

function scanOfAll(partition: Partition): Scan {
  const [name, time] = [nameOf(partition), TIME_OF[partition.table]];
  const keys: Scan['keys'] = [
    ['app_id', 'integer'],
    [time, 'timestamptz'],
    ['id', 'bigint'],
  ];
  return { name, table: name, counted: partition.table, keys, within: 'true', isOld: `r.${time} < $2` };
}

function scanOfApp(partition: Partition, appId: number): Scan {
  const [table, time] = [nameOf(partition), TIME_OF[partition.table]];
  return {
    name: `${table} of ${appId}`,
    table,
    counted: partition.table,
    keys: [
      [time, 'timestamptz'],
      ['id', 'bigint'],
    ],
    within: `r.app_id = ${appId} AND r.${time} < $2`,
    isOld: `r.${time} < $2`,
  };
}

/** A scan along the primary key of a table `r`; $1 is the entity, $2 the cut-off. Names are unique. */
type Scan = {
  name: string;
  table: string;
  keys: (readonly [column: string, type: keyof typeof LEAST])[];
  within: string;
  isOld: string;
  counted?: CountedTable;
};

const LEAST = { integer: '0', bigint: '0', text: '', timestamptz: '-infinity' };

/** No customer with this id and type has values, so an erasure does not need the link. */
const hasNoValues = (id: string, type: number) =>
  `NOT EXISTS (SELECT FROM customers c WHERE c.entity_id = $1 AND c.customer_id = ${id} AND c.customer_type = ${type})`;

const SCANS: Scan[] = (
  [
    {
      table: 'session_heads',
      keys: [
        ['app_id', 'integer'],
        ['subject', 'text'],
      ],
      within: 'true',
      isOld: 'r.ended_at < $2',
    },
    {
      table: 'devices',
      keys: [
        ['app_id', 'integer'],
        ['device_id', 'text'],
      ],
      within: 'true',
      isOld: 'r.last_seen_at < $2',
    },
    {
      table: 'device_users',
      keys: [
        ['app_id', 'integer'],
        ['device_id', 'text'],
        ['user_id', 'text'],
      ],
      within: 'true',
      isOld: `r.last_seen_at < $2 AND ${hasNoValues('r.device_id', 1)} AND NOT EXISTS (
      SELECT FROM devices d WHERE d.entity_id = $1 AND d.app_id = r.app_id AND d.device_id = r.device_id
        AND r.user_id IN (d.last_user_id, d.current_user_id))`,
    },
    {
      table: 'user_aliases',
      keys: [
        ['previous_id', 'text'],
        ['user_id', 'text'],
      ],
      within: 'true',
      isOld: `r.first_seen_at < $2 AND ${hasNoValues('r.previous_id', 0)}`,
    },
    {
      table: 'crashes',
      keys: [['id', 'integer']],
      within: 'true',
      isOld: `r.last_seen_at < $2 AND NOT EXISTS (
      SELECT FROM events e WHERE e.entity_id = $1 AND e.app_id = r.app_id AND e.crash_id = r.id)`,
    },
  ] satisfies Omit<Scan, 'name'>[]
).map((scan) => ({ name: scan.table, ...scan }));

/** Deletes old rows until the scan ends (null), or the time is over (the last key). */
async function deleteOld(
  db: Database,
  entity: EntityToClear,
  scan: Scan,
  from: string[],
  isTimeLeft: IsTimeLeft,
): Promise<string[] | null> {
  let after = from;
  while (isTimeLeft()) {
    const last = await write(db, (tx) => deleteOldOfPage(tx, entity, scan, after));
    if (!last) return null;
    after = last;
  }
  return after;
}

/** Deletes the next page's old rows, and returns its last key. Checks a row again that changes meanwhile. */
async function deleteOldOfPage(
  tx: Tx,
  { id, cutOff }: EntityToClear,
  { table, counted, keys, within, isOld }: Scan,
  after: string[],
): Promise<string[] | null> {
  await tx.query(LOOK_UP_BY_KEY);
  const columns = keys.map(([column]) => column);
  const cursor = keys.map(([, type], index) => `$${index + 3}::${type}`);
  const { rows } = await tx.query<{ last: string[] }>(
    `WITH page AS MATERIALIZED (
       SELECT ctid AS tid, ${columns.join(', ')} FROM ${table} AS r
       WHERE entity_id = $1 AND ${within} AND (${columns.join(', ')}) > (${cursor.join(', ')})
       ORDER BY ${columns.join(', ')} LIMIT ${BATCH}
     ), gone AS (
       DELETE FROM ${table} AS r WHERE ctid = ANY (ARRAY(SELECT tid FROM page)) AND ${isOld}
       RETURNING ${counted ? `app_id, ${TIME_OF[counted]} AS at` : '1'}
     ), subtracted AS (${counted ? subtractDeleted(counted, 'gone') : 'SELECT'})
     SELECT ARRAY[${columns.map((column) => `${column}::text`).join(', ')}] AS last FROM page
     ORDER BY ${columns.map((column) => `page.${column} DESC`).join(', ')} LIMIT 1`,
    [id, cutOff, ...after],
  );
  return rows[0]?.last ?? null;
}

const FOLDED_ROWS = 10_000;

/**
 * Folds rows of counts into one for each app and day. One statement, so that a total always finds one of both. Locks
 * partitions: rows of a dropped partition must not be folded.
 */
export async function foldDayCounts(db: Database, isTimeLeft: () => boolean, batch = FOLDED_ROWS): Promise<void> {
  while (isTimeLeft()) {
    const folded = await write(
      db,
      async (tx) => {
        await lockPartitions(tx);
        return (await tx.query<{ rows: number }>(FOLD, [batch])).rows[0]!.rows;
      },
      { settings: LOOK_UP_BY_KEY },
    );
    if (folded < batch) return;
  }
}

/** Uses the index tracked_counts_to_fold and the primary key. A day without rows has no count. */
const FOLD = `WITH added AS MATERIALIZED (
    SELECT entity_id, app_id, day, id FROM tracked_counts WHERE id > 0 ORDER BY id LIMIT $1
  ), gone AS (
    DELETE FROM tracked_counts AS c
    USING (SELECT * FROM added UNION ALL SELECT DISTINCT entity_id, app_id, day, 0 FROM added) AS a
    WHERE c.entity_id = a.entity_id AND c.app_id = a.app_id AND c.day = a.day AND c.id = a.id
    RETURNING c.*
  ), folded AS (
    INSERT INTO tracked_counts (entity_id, app_id, day, id, events, sessions, locations)
    SELECT entity_id, app_id, day, 0, sum(events), sum(sessions), sum(locations) FROM gone GROUP BY entity_id, app_id, day
    HAVING sum(events) <> 0 OR sum(sessions) <> 0 OR sum(locations) <> 0)
  SELECT count(*) AS rows FROM added`;
