/** Retention of data from SDKs: drops partitions, then deletes old rows of each entity in short scans. */

import { readRows, type Row } from '../core/camel-row.ts';
import { type Database, type Queryable, type Tx, write } from '../core/database.ts';
import { LOOK_UP_BY_KEY } from '../core/look-up-by-key.ts';
import { dropOldPartitions, listPartitions, nameOf, type Partition } from './event-partitions.ts';
import { type CountedTable, subtractDeleted, TIME_OF } from './day-counts.ts';

/** Maximum number of rows that a transaction looks at. */
const BATCH = 5_000;

/** Returns whether a pass may continue; called before each transaction. */
type IsTimeLeft = () => boolean;

/**
 * Deletes old data of SDKs while there is time: partitions that no entity needs, then rows, in short transactions. A
 * later pass continues where this one ended. A pass with nothing to do asks a few small questions.
 */
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

/** `cutOff`: the start of a UTC day, as Postgres writes it. */
type EntityToClear = { id: number; cutOff: string; isLongest: boolean };

/** By entity, only in this process: a key may be a person's id. A process that starts anew only looks at more rows. */
const cursors = new WeakMap<Database, Map<number, DeletionCursor>>();

function cursorsIn(db: Database): Map<number, DeletionCursor> {
  if (!cursors.has(db)) cursors.set(db, new Map());
  return cursors.get(db)!;
}

/**
 * Lists entities whose cut-off has changed since they were cleared last: once a day, and when the retention changes.
 */
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
 * Continues where the last pass ended, since a scan over millions of devices that stay would otherwise start anew each
 * time. Returns its cursor if the time is over before the end. Rows of the longest retention go with their partition.
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
  /** Set for a partition, whose rows are counted. */
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

/**
 * Deletes old rows until the end of the scan, which returns null, or until the time is over, which returns the last
 * key.
 */
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

/**
 * Deletes the old rows of the next page, and returns its last key, so that no page begins among deleted rows. A row
 * that changes meanwhile is checked again as it is then.
 */
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
