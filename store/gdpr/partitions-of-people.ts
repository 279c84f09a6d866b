/** Builder of locations that are partitioned by month: counts and erases them by partition, within memory and time. */
import { type Database, read, type Tx, write } from '../core/database.ts';
import { LOOK_UP_BY_KEY } from '../core/look-up-by-key.ts';
import { listPartitions, nameOf, type Partition } from '../tracking/event-partitions.ts';
import { subtractDeleted, TIME_OF } from '../tracking/day-counts.ts';
import { idsOfType } from './people-keys.ts';
import {
  type ColumnsOfItsTable,
  countRows,
  type ErasingLocation,
  type KnownBy,
  type LocationDependencies,
} from './personal-data-location.ts';
import { byUserOrDevice, DEVICE_SUBJECTS, type RowsOfPeople, rowsOfPeople, WHOLE_SUBJECTS } from './rows-of-people.ts';

/** How many rows a transaction deletes: it takes a second or two, however their pages lie. */
const ROWS = 20_000;
/** Rows of a slice: well below ROWS, since slices differ. */
const ROWS_OF_A_SLICE = 15_000;
/** How long counting a slice should take. */
const LOOK_MS = 1_000;

/** Number of people in a partition's first slice, and how much larger a slice may be than the one before. */
const FIRST_SLICE = 100;
const GROWTH = 16;

/** The people whose rows are sought: rows of users, rows of devices without a user, and all rows of whole devices. */
type PeopleOfPartitions = {
  table: Partition['table'];
  users: string[];
  devices: string[];
  wholeDevices: string[];
  byDevice: 'device_id' | 'subject';
  time: string | null;
};

type RowsInPartitions = Omit<RowsOfPeople, 'found' | 'emptied'> &
  Pick<PeopleOfPartitions, 'byDevice' | 'time'> & {
    name: Partition['table'];
  };

/** Makes a location of a partitioned table. `time`: the column behind the ids in their indexes, if any. */
export function partitionsOfPeople<const D extends RowsInPartitions>(
  described: D & ColumnsOfItsTable<D>,
): ErasingLocation;
export function partitionsOfPeople({ byDevice, time, ...rows }: RowsInPartitions): ErasingLocation {
  const { name: table, key } = rows;
  const isSubject = byDevice === 'subject';
  const found = isSubject
    ? byUserOrDevice(table, key, { device: byDevice, devices: DEVICE_SUBJECTS, whole: WHOLE_SUBJECTS })
    : byUserOrDevice(table, key);
  const of = (people: KnownBy[]): PeopleOfPartitions => {
    const [devices, wholeDevices] = (['device_id', 'whole_device'] as const).map((type) =>
      idsOfType(people, type).map((id) => (isSubject ? `d${id}` : id)),
    );
    return {
      table,
      users: idsOfType(people, 'user_id'),
      devices: devices!,
      wholeDevices: wholeDevices!,
      byDevice,
      time,
    };
  };
  return {
    ...rowsOfPeople({ ...rows, found }),
    count: (deps, entityId, people) => countInPartitions(deps, entityId, of(people)),
    erase: (deps, entityId, people) => eraseFromPartitions(deps, entityId, of(people)),
  };
}

type Needed = Pick<LocationDependencies, 'db' | 'tally'>;

type Scan = { ids: string[]; column: 'user_id' | PeopleOfPartitions['byDevice']; among?: string; time: string | null };

type NamedPartition = { name: string; table: Partition['table'] };

/** `last` and `at`: the id and the time of the last row of the batch. */
type Batch = { gone: number; found: number; last: string | null; at: string | null };

/** Uses both indexes in one bitmap: each page is read once, in the order of the pages. */
const BY_BITMAP = ['seqscan', 'indexscan'].map((way) => `SET LOCAL enable_${way} = off`).join(';');

/** Without parallel workers: the query ends before they would start. */
const ALONG_INDEXES = `${LOOK_UP_BY_KEY};SET LOCAL max_parallel_workers_per_gather = 0`;

const rowsOf = ({ byDevice }: PeopleOfPartitions) =>
  `entity_id = $1 AND (user_id = ANY ($2::text[]) OR ${byDevice} = ANY ($3::text[]) AND user_id IS NULL
    OR ${byDevice} = ANY ($4::text[]))`;

/**
 * Deletes rows in slices of the people with about a batch of rows each. Then counts each slice while its pages are in
 * memory: that marks index entries as dead, and spares later scans these pages.
 */
async function eraseFromPartitions(deps: Needed, entityId: number, people: PeopleOfPartitions): Promise<number> {
  let total = 0;
  for (const partition of await listNames(deps.db, people)) {
    await inSlices(people, async (slice) => {
      const gone = await deleteSlice(deps, entityId, partition, slice);
      total += gone;
      if (gone === ROWS) total += await eraseLargeSlice(deps, entityId, partition, slice);
      else if (gone > 0) await countSlice(deps, entityId, partition, slice);
      return ROWS_OF_A_SLICE / gone;
    });
  }
  return total;
}

async function countInPartitions({ db }: Needed, entityId: number, people: PeopleOfPartitions): Promise<number> {
  let total = 0;
  for (const partition of await listNames(db, people)) {
    await inSlices(people, async (slice) => {
      const began = performance.now();
      total += await countSlice({ db }, entityId, partition, slice);
      return LOOK_MS / (performance.now() - began);
    });
  }
  return total;
}

async function listNames(db: Database, { table }: PeopleOfPartitions): Promise<string[]> {
  return (await listPartitions(db)).filter((partition) => partition.table === table).map(nameOf);
}

/**
 * Runs `work` on slices of users and devices, most with both: a user's devices lie about as far along. `work` returns
 * by how much the next slice may be larger.
 */
async function inSlices(
  people: PeopleOfPartitions,
  work: (slice: PeopleOfPartitions) => Promise<number>,
): Promise<void> {
  const count = Math.max(people.users.length, people.devices.length, people.wholeDevices.length);
  for (let [from, size] = [0, FIRST_SLICE]; from < count;) {
    const to = Math.min(from + size, count);
    const part = (ids: string[]) =>
      ids.slice(Math.floor((from * ids.length) / count), Math.floor((to * ids.length) / count));
    const factor = await work({
      ...people,
      users: part(people.users),
      devices: part(people.devices),
      wholeDevices: part(people.wholeDevices),
    });
    [from, size] = [to, Math.max(1, Math.floor(size * Math.min(factor, GROWTH)))];
  }
}

function deleteSlice(
  { db, tally }: Needed,
  entityId: number,
  partition: string,
  slice: PeopleOfPartitions,
): Promise<number> {
  return unlessDropped(
    write(
      db,
      async (tx) => {
        const { rows } = await tx.query<{ gone: number }>(
          `WITH gone AS (
         DELETE FROM ${partition} WHERE entity_id = $1 AND ctid = ANY (ARRAY(
           SELECT ctid FROM ${partition} WHERE ${rowsOf(slice)} LIMIT ${ROWS}))
         RETURNING app_id, ${TIME_OF[slice.table]} AS at
       ), subtracted AS (${subtractDeleted(slice.table, 'gone')})
       SELECT count(*) AS gone FROM gone`,
          [entityId, slice.users, slice.devices, slice.wholeDevices],
        );
        const { gone } = rows[0]!;
        if (gone > 0) await tally?.(tx, gone);
        return gone;
      },
      { settings: BY_BITMAP },
    ),
  );
}

/** Counts along the indexes: only index scans mark entries as dead. */
function countSlice({ db }: Needed, entityId: number, partition: string, slice: PeopleOfPartitions): Promise<number> {
  return unlessDropped(
    read(
      db,
      (tx) =>
        countRows(
          tx,
          `(SELECT 1 FROM ${partition} WHERE entity_id = $1 AND user_id = ANY ($2::text[])
      UNION ALL SELECT 1 FROM ${partition} WHERE entity_id = $1 AND ${slice.byDevice} = ANY ($3::text[]) AND user_id IS NULL
      UNION ALL SELECT 1 FROM ${partition}
        WHERE entity_id = $1 AND ${slice.byDevice} = ANY ($4::text[]) AND user_id IS NOT NULL AND user_id <> ALL ($2::text[])) AS f`,
          [entityId, slice.users, slice.devices, slice.wholeDevices],
        ),
      { settings: ALONG_INDEXES },
    ),
  );
}

const UNDEFINED_TABLE = '42P01';

async function unlessDropped(rows: Promise<number>): Promise<number> {
  try {
    return await rows;
  } catch (error) {
    if ((error as { code?: string }).code === UNDEFINED_TABLE) return 0;
    throw error;
  }
}

async function eraseLargeSlice(
  deps: Needed,
  entityId: number,
  partition: string,
  slice: PeopleOfPartitions,
): Promise<number> {
  let total = 0;
  for (const scan of scansOf(slice))
    total += await eraseAlong(deps, entityId, { name: partition, table: slice.table }, scan);
  return total;
}

function scansOf({ users, devices, wholeDevices, byDevice, time }: PeopleOfPartitions): Scan[] {
  return [
    { ids: users, column: 'user_id', time },
    { ids: devices, column: byDevice, among: 'user_id IS NULL', time },
    { ids: wholeDevices, column: byDevice, time },
  ];
}

/**
 * Deletes in batches along an index. Each continues where the last one ended: none reads dead rows again, which may
 * stay for hours while a session reads an old snapshot.
 */
async function eraseAlong(
  { db, tally }: Needed,
  entityId: number,
  partition: NamedPartition,
  scan: Scan,
): Promise<number> {
  // In the order of the index, which has the collation "C".
  const sorted = [...new Set(scan.ids)]
    .map((id) => Buffer.from(id))
    .toSorted(Buffer.compare)
    .map(String);
  let total = 0;
  for (let [ids, after, rest] = [sorted, '-infinity', [] as string[]]; ids.length > 0;) {
    const { gone, found, last, at } = await write(db, async (tx) => {
      const batch = await deleteBatch(tx, entityId, partition, { ...scan, ids, after });
      if (batch.gone > 0) await tally?.(tx, batch.gone);
      return batch;
    });
    total += gone;
    if (found < ROWS) [ids, after, rest] = [rest, '-infinity', []];
    else [ids, after, rest] = [[last!], at ?? '-infinity', ids.length === 1 ? rest : ids.slice(ids.indexOf(last!) + 1)];
  }
  return total;
}

/** Finds rows along the index, and deletes them in the order of their pages. With `after` there is one id. */
async function deleteBatch(
  tx: Tx,
  entityId: number,
  { name: partition, table }: NamedPartition,
  { ids, column, among = 'true', time, after }: Scan & { after: string },
): Promise<Batch> {
  // The partition was dropped meanwhile, as its time was over.
  const { rowCount: missing } = await tx.query('SELECT WHERE to_regclass($1) IS NULL', [partition]);
  if (missing === 1) return { gone: 0, found: 0, last: null, at: null };
  await tx.query(LOOK_UP_BY_KEY);
  const { rows } = await tx.query<Batch>(
    `WITH found AS MATERIALIZED (
       SELECT ctid AS tid, ${column} AS id, ${time ?? 'NULL::timestamptz'} AS at FROM ${partition}
       WHERE entity_id = $1 AND ${column} = ANY ($2) AND ${among} AND ${time ?? 'now()'} >= $3::timestamptz
       ORDER BY ${time === null ? column : `${column}, ${time}`} LIMIT ${ROWS}
     ), gone AS (
       DELETE FROM ${partition} WHERE ctid = ANY (ARRAY(SELECT tid FROM found)) AND entity_id = $1
       RETURNING app_id, ${TIME_OF[table]} AS at
     ), subtracted AS (${subtractDeleted(table, 'gone')})
     SELECT (SELECT count(*) FROM gone) AS gone, (SELECT count(*) FROM found) AS found, id AS last, at::text
     FROM (SELECT id, at FROM found UNION ALL SELECT NULL, NULL) AS pages ORDER BY id DESC NULLS LAST, at DESC NULLS LAST LIMIT 1`,
    [entityId, ids, after],
  );
  return rows[0]!;
}
