import { DAY_MS } from '../../domain/core/durations.ts';
import { type Database, type Queryable, type Tx, write } from '../core/database.ts';
import { deleteDayCounts } from './day-counts.ts';

/**
 * The tables that are partitioned by the UTC month of what they tell of. Sessions change while they last: their pages
 * keep room.
 */
const PARTITIONED = ['events', 'sessions', 'locations'] as const;
const FILLFACTOR = { events: 100, sessions: 70, locations: 100 };

/** A UTC month: 2026-11. */
type Month = string;

/**
 * One who makes or drops partitions at a time. Any number that no other program takes as an advisory lock of this
 * database.
 */
const PARTITIONS_LOCK = 5_717_023_442;

/** Retention is a month at least: of months that ended later than this nobody drops a partition. */
const SAFE_MS = 27 * DAY_MS;

/** The months of which this process has seen all partitions. */
const seen = new WeakMap<Database, Set<Month>>();

const monthOf = (moment: Date | number): Month => new Date(moment).toISOString().slice(0, 7);

/** When a month begins, or one so many months later. */
function startOf(month: Month, monthsLater = 0): Date {
  return new Date(Date.UTC(Number(month.slice(0, 4)), Number(month.slice(5)) - 1 + monthsLater));
}

/**
 * Makes the partitions that are missing for rows of these moments (dates, or milliseconds since 1970), in a transaction
 * of its own: called before the one that writes the rows. Costs nothing while it knows the months, and a look into the
 * catalogue for months so old that another process may have dropped them.
 */
export async function ensurePartitions(db: Database, moments: Iterable<Date | number>): Promise<void> {
  const known = seenIn(db);
  const safeSince = Date.now() - SAFE_MS;
  // By days first: of thousands of calls there are a few, and a month's name takes longer to make.
  const days = new Set(Array.from(moments, (moment) => Math.floor(Number(moment) / DAY_MS)));
  const months = new Set(Array.from(days, (day) => monthOf(day * DAY_MS)));
  const asked = [...months].filter((month) => !known.has(month) || startOf(month, 1).getTime() < safeSince);
  if (asked.length === 0) return;
  if ((await listMissing(db, asked)).length > 0) await write(db, (tx) => insertMissing(tx, asked));
  for (const month of asked) known.add(month);
}

/** Makes the partitions of this month and of the two after it, so that hardly any row waits for one. */
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
 * Attached when it is whole: that takes SHARE UPDATE EXCLUSIVE on the parent, beside which rows are read and written.
 */
async function insertPartition(tx: Tx, partition: Partition): Promise<void> {
  const [name, { table, month }] = [nameOf(partition), partition];
  await tx.query(`CREATE TABLE ${name} (LIKE ${table} INCLUDING ALL) WITH (fillfactor = ${FILLFACTOR[table]})`);
  await tx.query(
    `ALTER TABLE ${table} ATTACH PARTITION ${name}
     FOR VALUES FROM ('${startOf(month).toISOString()}') TO ('${startOf(month, 1).toISOString()}')`,
  );
}

/** Dropping it needs the parent for itself: so long everybody waits for us while we wait for that. */
const DROP_LOCK_TIMEOUT = '100ms';
/** Whoever has used the parent for longer than this, such as an export, is not about to end. */
const LONG_USE = '1 second';
const LOCK_NOT_AVAILABLE = '55P03';

/**
 * Drops the partitions whose month had ended a day before `now` less the longest retention of all entities, one in a
 * transaction; the day leaves room for what is being taken in. DROP needs ACCESS EXCLUSIVE on the parent, DETACH
 * CONCURRENTLY would not, but it runs in no transaction, and one that is broken off leaves a table that is neither in
 * nor out. So it waits for the lock for a tenth of a second only, and not at all while somebody uses the table for
 * long: the next pass tries again.
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

/** False when the partition is still needed. */
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
 * Waits for whoever is at it, and no longer than a write transaction may: then the next try finds what the other made.
 */
export async function lockPartitions(tx: Tx): Promise<void> {
  await tx.query(`SET LOCAL lock_timeout = '10s'`);
  await tx.query('SELECT pg_advisory_xact_lock($1)', [PARTITIONS_LOCK]);
}

/** All partitions there are, oldest first. */
export async function listPartitions(db: Queryable): Promise<Partition[]> {
  const { rows } = await db.query<Partition>(
    `SELECT p.relname AS table, replace(right(c.relname, 7), '_', '-') AS month
     FROM pg_inherits i JOIN pg_class p ON p.oid = i.inhparent JOIN pg_class c ON c.oid = i.inhrelid
     WHERE i.inhparent = ANY (ARRAY(SELECT t::regclass FROM unnest($1::text[]) AS t)) ORDER BY month, "table"`,
    [PARTITIONED],
  );
  return rows;
}

/** The name of its table. */
export function nameOf({ table, month }: Partition): string {
  return `${table}_${month.replace('-', '_')}`;
}

function seenIn(db: Database): Set<Month> {
  if (!seen.has(db)) seen.set(db, new Set());
  return seen.get(db)!;
}
