/**
 * Monthly partitions of events, sessions and locations: creates them before rows come, and drops those that no entity
 * needs.
 */

import { DAY_MS } from '../../domain/time/durations.ts';
import { type Database, type Queryable, type Tx, write } from '../core/database.ts';
import { deleteDayCounts } from './day-counts.ts';

/** Tables with a partition for each UTC month. Rows of sessions change, so their pages keep room. */
const PARTITIONED = ['events', 'sessions', 'locations'] as const;
const FILLFACTOR = { events: 100, sessions: 70, locations: 100 };

/** A UTC month: 2026-11. */
type Month = string;

/** Advisory lock for creating and dropping partitions; no other program uses this number in this database. */
const PARTITIONS_LOCK = 5_717_023_442;

/** Months that ended later than this are never dropped, since retention is at least a month. */
const SAFE_MS = 27 * DAY_MS;

/** Months whose partitions this process knows. */
const seen = new WeakMap<Database, Set<Month>>();

const monthOf = (moment: Date | number): Month => new Date(moment).toISOString().slice(0, 7);

/** Returns the start of a month, or of one `monthsLater`. */
function startOf(month: Month, monthsLater = 0): Date {
  return new Date(Date.UTC(Number(month.slice(0, 4)), Number(month.slice(5)) - 1 + monthsLater));
}

/**
 * Creates missing partitions for rows of these moments (dates, or milliseconds since 1970), in a transaction of its
 * own. Call it before the transaction that writes the rows. Known months cost nothing; months so old that another
 * process may have dropped them cost a query of the catalogue.
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

/**
 * Attaches the partition once it is whole: that takes SHARE UPDATE EXCLUSIVE on the parent, which allows reads and
 * writes.
 */
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
 * Drops partitions whose month ended a day or more before the longest retention of all entities; the day is for calls
 * that are being written. Each drop is a transaction. DROP needs ACCESS EXCLUSIVE on the parent. DETACH CONCURRENTLY
 * would not, but it runs in no transaction, and an interrupted one leaves a table that is neither attached nor
 * detached. So a drop waits a tenth of a second for its lock, and not at all while a long transaction uses the table:
 * the next pass tries again.
 */
export async function dropOldPartitions(db: Database, now: Date): Promise<void> {
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

/** Returns false if the partition is still needed. */
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

/** Waits for the lock for at most 10 s, well within the limit of a write transaction. */
export async function lockPartitions(tx: Tx): Promise<void> {
  await tx.query(`SET LOCAL lock_timeout = '10s'`);
  await tx.query('SELECT pg_advisory_xact_lock($1)', [PARTITIONS_LOCK]);
}

/** Lists all partitions, oldest first. */
export async function listPartitions(db: Queryable): Promise<Partition[]> {
  const { rows } = await db.query<Partition>(
    `SELECT p.relname AS table, replace(right(c.relname, 7), '_', '-') AS month
     FROM pg_inherits i JOIN pg_class p ON p.oid = i.inhparent JOIN pg_class c ON c.oid = i.inhrelid
     WHERE i.inhparent = ANY (ARRAY(SELECT t::regclass FROM unnest($1::text[]) AS t)) ORDER BY month, "table"`,
    [PARTITIONED],
  );
  return rows;
}

/** Returns the name of a partition's table. */
export function nameOf({ table, month }: Partition): string {
  return `${table}_${month.replace('-', '_')}`;
}

function seenIn(db: Database): Set<Month> {
  if (!seen.has(db)) seen.set(db, new Set());
  return seen.get(db)!;
}
