import { APPEND_ONLY, type ExportDataType } from '../../domain/exports/export-data-type.ts';
import type { ValueType } from '../../domain/attributes/attribute-value.ts';
import { DAY_MS } from '../../domain/time/durations.ts';
import { isLogKept } from '../attributes/attribute-change-log.ts';
import type { ExportSession } from './export-session.ts';
import { type LogCheckpoint, sliceLog } from './export-sources/attribute-log-slices.ts';
import { attributes, IS_AMBIGUOUS_SET, listNamedAttributes } from './export-sources/attributes.ts';
import { campaignResults } from './export-sources/campaign-results.ts';
import { crashes } from './export-sources/crashes.ts';
import { details } from './export-sources/details.ts';
import { devices } from './export-sources/devices.ts';
import type { ExportScope } from './export-sources/export-scope.ts';
import { isLaterThan } from './export-sources/late-rows.ts';
import { locations } from './export-sources/locations.ts';
import { logs } from './export-sources/logs.ts';
import { sessions, sessionsWithCarrier } from './export-sources/sessions.ts';
import { countInTable, countWhere, sliceTable, type TableLocation } from './export-sources/table-slices.ts';
import type { TableSource } from './export-sources/table-source.ts';

export type { ExportScope } from './export-sources/export-scope.ts';
export { findSnapshot } from './export-sources/late-rows.ts';

/** Where rows go on: kept as JSON, without personal data. */
export type Checkpoint = Record<string, string | number>;

/** A piece of a type's rows: what `copyOut` gives it by, and where the one after it begins. */
export type Slice = { statement: string; next: Checkpoint };

const SOURCES: Record<Exclude<ExportDataType, 'attributes'>, TableSource> = {
  sessions,
  sessions_with_carrier: sessionsWithCarrier,
  logs,
  details,
  locations,
  devices,
  crashes,
  campaign_results_per_user: campaignResults,
};

/**
 * The rows of a type that lie in the scope's window, in pieces of some thousands, each once; from `from` on where an
 * earlier reading ended there. A window over `received_at` is closed: a row that is still written into it is late, and
 * a row that changes meanwhile leaves it. For other windows see `isReadAtOnce`.
 */
export async function* slicesOf(
  session: ExportSession,
  type: ExportDataType,
  scope: ExportScope,
  from: Checkpoint | null,
): AsyncGenerator<Slice> {
  if (isOfNothing(type, scope)) return;
  if (type !== 'attributes') {
    yield* sliceTable(session, SOURCES[type], scope, from as TableLocation | null);
    return;
  }
  const named = await listNamedAttributes(session, scope);
  if (!(await isReadByLog(session, scope, from)))
    yield* sliceTable(session, attributes(named), scope, from as TableLocation | null);
  else
    for await (const { statement, next } of sliceLog(session, named, scope, from as LogCheckpoint | null))
      yield { statement, next };
}

/**
 * Whether rows may change and stay in the scope's window: those of a window over `received_at`, which is closed, leave
 * it. They are to be read in one snapshot (`holdSnapshot`), from the beginning.
 */
export function isReadAtOnce(type: ExportDataType, { window }: Pick<ExportScope, 'window'>): boolean {
  return window.kind === 'happened' && !APPEND_ONLY.has(type);
}

/** How many rows `slicesOf` has, from the beginning. */
export async function countExpected(session: ExportSession, type: ExportDataType, scope: ExportScope): Promise<number> {
  if (isOfNothing(type, scope)) return 0;
  if (type === 'attributes') return countAttributes(session, scope, {});
  return countInTable(session, SOURCES[type], scope);
}

/** How many of these rows are Sets whose text in CSV gives other elements back; null: of other types and formats. */
export async function countAmbiguousSets(
  session: ExportSession,
  type: ExportDataType,
  scope: ExportScope,
): Promise<number | null> {
  if (type !== 'attributes' || scope.format !== 'csv') return null;
  return isOfNothing(type, scope)
    ? 0
    : countAttributes(session, scope, { valueType: 'Set', condition: IS_AMBIGUOUS_SET });
}

type Counted = { valueType?: ValueType; condition?: string };

async function countAttributes(
  session: ExportSession,
  scope: ExportScope,
  { valueType, condition }: Counted,
): Promise<number> {
  const named = await listNamedAttributes(session, scope, valueType);
  if (named.size === 0) return 0;
  if (!(await isReadByLog(session, scope, null))) {
    const table = attributes(named);
    return condition === undefined ? countInTable(session, table, scope) : countWhere(session, table, scope, condition);
  }
  let total = 0;
  for await (const { source } of sliceLog(session, named, scope, null)) {
    const { rows } = await session.query<{ count: number }>(
      `SELECT count(*) AS count ${source} WHERE ${condition ?? true}`,
    );
    total += rows[0]!.count;
  }
  return total;
}

/**
 * How many rows of the window were committed after that snapshot, which was taken before the first was read; null where
 * that can't be told: of types whose rows change, and in another database than that of the snapshot.
 */
export async function countLate(
  session: ExportSession,
  type: ExportDataType,
  scope: ExportScope,
  snapshot: string,
): Promise<number | null> {
  if (type === 'attributes' || !APPEND_ONLY.has(type)) return null;
  if (isOfNothing(type, scope)) return 0;
  const isLater = await isLaterThan(session, snapshot);
  return isLater === null ? null : countWhere(session, SOURCES[type], scope, isLater);
}

function isOfNothing(type: ExportDataType, { apps, sors }: ExportScope): boolean {
  return (type === 'attributes' ? sors : apps).length === 0;
}

/** Of a step of a run, with a day to spare: until then the log has to be there. */
const LONGEST_READING_MS = 8 * DAY_MS;

/** Returns whether the log is read. A reading that continues keeps the way it began with. */
async function isReadByLog(
  session: ExportSession,
  { window: { start } }: ExportScope,
  from: Checkpoint | null,
): Promise<boolean> {
  if (from !== null) return 'changedSince' in from;
  return start !== null && isLogKept(session, new Date(start.getTime() - LONGEST_READING_MS).toISOString());
}
