import { type Database, type Queryable, type Tx, write } from './database.ts';

/** The tables that are partitioned by the UTC month of what they tell of. Sessions change after they were written: their pages keep room. */
export const PARTITIONED = ['events', 'sessions', 'locations'] as const;
const FILLFACTOR = { events: 100, sessions: 70, locations: 100 };

/** A UTC month: 2026-11. */
export type Month = string;

/** One who makes or drops partitions at a time. Any number that no other program takes as an advisory lock of this database. */
const PARTITIONS_LOCK = 5_717_023_441;

/** Retention is a month at least: of months that ended later than this nobody drops a partition. */
const SAFE_MS = 27 * 86_400_000;

/** The months of which this process has seen all partitions. */
const seen = new WeakMap<Database, Set<Month>>();

export const monthOf = (moment: Date | number): Month => new Date(moment).toISOString().slice(0, 7);

/** When a month begins, so many months later. */
export function startOf(month: Month, monthsLater = 0): Date {
  return new Date(Date.UTC(Number(month.slice(0, 4)), Number(month.slice(5)) - 1 + monthsLater));
}

/**
 * Makes the partitions that are missing for rows of these moments (dates, or milliseconds since 1970), in a transaction of its
 * own: called before the one that writes the rows. Costs nothing while it knows the months, and a look into the catalogue for
 * months so old that another process may have dropped them.
 */
export async function ensurePartitions(db: Database, moments: Iterable<Date | number>): Promise<void> {
  const known = seenIn(db);
  const safeSince = Date.now() - SAFE_MS;
  const months = new Set<Month>();
  for (const moment of moments) months.add(monthOf(moment));
  const asked = [...months].filter((month) => !known.has(month) || startOf(month, 1).getTime() < safeSince);
  if (asked.length === 0) return;
  if ((await listMissing(db, asked)).length > 0) await write(db, (tx) => insertMissing(tx, asked));
  for (const month of asked) known.add(month);
}

/** Makes the partitions of this month and of the two after it, so that hardly any row waits for one. */
export async function ensurePartitionsAhead(db: Database, now: Date): Promise<void> {
  await ensurePartitions(db, [0, 1, 2].map((later) => startOf(monthOf(now), later)));
}

type Partition = { table: (typeof PARTITIONED)[number]; month: Month };

async function listMissing(db: Queryable, months: Month[]): Promise<Partition[]> {
  const existing = new Set((await listPartitions(db)).map(nameOf));
  return PARTITIONED.flatMap((table) => months.map((month) => ({ table, month }))).filter((partition) => !existing.has(nameOf(partition)));
}

async function insertMissing(tx: Tx, months: Month[]): Promise<void> {
  await lockPartitions(tx);
  for (const partition of await listMissing(tx, months)) await insertPartition(tx, partition);
}

/** Attached when it is whole: that takes SHARE UPDATE EXCLUSIVE on the parent, beside which rows are read and written. */
async function insertPartition(tx: Tx, partition: Partition): Promise<void> {
  const [name, { table, month }] = [nameOf(partition), partition];
  await tx.query(`CREATE TABLE ${name} (LIKE ${table} INCLUDING ALL) WITH (fillfactor = ${FILLFACTOR[table]})`);
  await tx.query(
    `ALTER TABLE ${table} ATTACH PARTITION ${name}
     FOR VALUES FROM ('${startOf(month).toISOString()}') TO ('${startOf(month, 1).toISOString()}')`);
}

/** Waits for whoever is at it, and no longer than a write transaction may: then the next try finds what the other made. */
async function lockPartitions(tx: Tx): Promise<void> {
  await tx.query(`SET LOCAL lock_timeout = '10s'`);
  await tx.query('SELECT pg_advisory_xact_lock($1)', [PARTITIONS_LOCK]);
}

/** All partitions that are attached, oldest first. */
async function listPartitions(db: Queryable): Promise<Partition[]> {
  const { rows } = await db.query<Partition>(
    `SELECT p.relname AS table, replace(right(c.relname, 7), '_', '-') AS month
     FROM pg_inherits i JOIN pg_class p ON p.oid = i.inhparent JOIN pg_class c ON c.oid = i.inhrelid
     WHERE i.inhparent = ANY (ARRAY(SELECT t::regclass FROM unnest($1::text[]) AS t)) ORDER BY month, "table"`, [PARTITIONED]);
  return rows;
}

function nameOf({ table, month }: Partition): string {
  return `${table}_${month.replace('-', '_')}`;
}

function seenIn(db: Database): Set<Month> {
  if (!seen.has(db)) seen.set(db, new Set());
  return seen.get(db)!;
}
