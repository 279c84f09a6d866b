import pg from 'pg';
import type { Queryable } from '../../core/database.ts';
import { listPartitions, nameOf } from '../../tracking/event-partitions.ts';
import { readWhole } from '../export-session.ts';
import { type ExportScope, literal } from './export-scope.ts';
import { copyStatement } from './printed.ts';
import type { TableSource } from './table-source.ts';

/**
 * Where the next file begins: a block of a table, of the month's partition where there are partitions. No personal
 * data.
 */
export type TableLocation = { month: string; block: number };

/** Slices begin at multiples of this, so that a reading that continues in the middle finds the same ones. */
const SLICE_BLOCKS = 128;

type Part = { month: string; name: string };
type Look = { count: number; blocks: { first: number; last: number } | null };

/** The parts of a table that may have rows of the window, in the order of time. */
async function listParts(
  session: Queryable,
  { table, isPartitioned }: TableSource,
  { window }: ExportScope,
): Promise<Part[]> {
  if (!isPartitioned) return [{ month: '', name: table }];
  const partitions = (await listPartitions(session))
    .filter((partition) => partition.table === table)
    .map((partition) => ({ month: partition.month, name: nameOf(partition) }));
  if (window.kind === 'received') return partitions;
  const monthOf = (moment: Date) => moment.toISOString().slice(0, 7);
  return partitions.filter(
    ({ month }) => month <= monthOf(window.end) && (window.start === null || month >= monthOf(window.start)),
  );
}

/** How many rows there are. */
export async function countInTable(session: Queryable, source: TableSource, scope: ExportScope): Promise<number> {
  let total = 0;
  for (const part of await listParts(session, source, scope)) {
    const look = await lookAt(session, source, scope, part);
    keptLooks(session).set(lookOf(source, scope, part), look);
    total += look.count;
  }
  return total;
}

/** What counting found, for the reading that follows it in the same session. */
const kept = new WeakMap<Queryable, Map<string, Look>>();

function keptLooks(session: Queryable): Map<string, Look> {
  if (!kept.has(session)) kept.set(session, new Map());
  return kept.get(session)!;
}

const lookOf = (source: TableSource, scope: ExportScope, { name }: Part): string =>
  `SELECT min(r.ctid)::text AS first, max(r.ctid)::text AS last, count(*) AS count
   FROM ${pg.escapeIdentifier(name)} r ${source.countedJoins(scope)} WHERE ${source.condition(scope)}`;

/** How many rows meet one more condition. */
export async function countWhere(
  session: Queryable,
  source: TableSource,
  scope: ExportScope,
  condition: string,
): Promise<number> {
  let total = 0;
  for (const { name } of await listParts(session, source, scope)) {
    const [found] = await readWhole<{ count: number }>(
      session,
      `SELECT count(*) AS count FROM ${pg.escapeIdentifier(name)} r ${source.countedJoins(scope)}
       WHERE ${source.condition(scope)} AND ${condition}`,
    );
    total += found!.count;
  }
  return total;
}

/** Of a narrow window by the BRIN index on received_at. */
async function lookAt(session: Queryable, source: TableSource, scope: ExportScope, part: Part): Promise<Look> {
  const [found] = await readWhole<{ first: string | null; last: string | null; count: number }>(
    session,
    lookOf(source, scope, part),
  );
  const { first, last, count } = found!;
  return { count, blocks: first === null ? null : { first: blockOf(first), last: blockOf(last!) } };
}

/** Of (block,place). */
const blockOf = (place: string): number => Number(/\d+/.exec(place)![0]);

/** Reads the rows in the order in which they lie, each slice by one statement, so that no transaction lasts. */
export async function* sliceTable(
  session: Queryable,
  source: TableSource,
  scope: ExportScope,
  from: TableLocation | null,
): AsyncGenerator<{ statement: string; next: TableLocation }> {
  for (const part of await listParts(session, source, scope)) {
    if (from !== null && part.month < from.month) continue;
    const known = keptLooks(session).get(lookOf(source, scope, part));
    keptLooks(session).delete(lookOf(source, scope, part));
    const { blocks } = known ?? (await lookAt(session, source, scope, part));
    if (blocks === null) continue;
    const begun = from?.month === part.month ? from.block : 0;
    for (let block = Math.max(begun, startOfSlice(blocks.first)); block <= blocks.last;) {
      const end = startOfSlice(block) + SLICE_BLOCKS;
      yield { statement: statementOf(source, scope, part, block, end), next: { month: part.month, block: end } };
      block = end;
    }
  }
}

const startOfSlice = (block: number): number => block - (block % SLICE_BLOCKS);

/**
 * By a scan of a range of places. The condition hides in CASE: no index is tried for it, which would read the whole
 * window for every slice, and in another order.
 */
function statementOf(source: TableSource, scope: ExportScope, { name }: Part, block: number, end: number): string {
  return copyStatement(
    `SELECT ${source.columns(scope)} FROM ${pg.escapeIdentifier(name)} r ${source.joins(scope)}
     WHERE r.ctid >= ${literal(`(${block},0)`)}::tid AND r.ctid < ${literal(`(${end},0)`)}::tid
       AND CASE WHEN ${source.condition(scope)} THEN true ELSE false END`,
    scope.format,
  );
}
