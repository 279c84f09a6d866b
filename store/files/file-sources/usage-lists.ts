/** The lists of what apps sent as files: events, sessions, devices, locations. */

import {
  LIST_FIELDS,
  type ListField,
  NUMBER_FIELDS,
  type UsageListName,
} from '../../../domain/analytics/usage-lists.ts';
import type { Cell } from '../../../domain/files/cell.ts';
import { CsvRecords } from '../../../domain/files/csv-records.ts';
import {
  copyUsage,
  findHighestId,
  listGrouped,
  listUsagePortions,
  type UsageFilter,
} from '../../analytics/usage-lists.ts';
import type { FileSource } from '../file-source.ts';
import type { Queryable } from '../../core/database.ts';
import { refuse } from '../../../domain/core/refusal.ts';

export type UsageFileQuery = {
  filter: Omit<UsageFilter, 'since' | 'until' | 'updatedSince'> &
    Partial<Record<'since' | 'until' | 'updatedSince', string>>;
  fields: string[];
  isGrouped: boolean;
};

const COUNT = 'count';

const isNumber = (column: string) => column === COUNT || NUMBER_FIELDS.has(column);

const GROUPS = 1_000;

/** The list as it is when the file begins; later rows are left out. */
export function usageListFile<Name extends UsageListName>(list: Name): FileSource<UsageFileQuery> {
  const columns = [...LIST_FIELDS[list], ...(list === 'events' ? [COUNT] : [])];
  return {
    columns,
    numbers: columns.filter(isNumber),
    columnsOf: ({ fields, isGrouped }) => (isGrouped ? [...fields, COUNT] : fields),
    async *rows(db, entityId, { filter: asked, fields, isGrouped }) {
      const filter = filterOf(asked);
      await requireSegmentMembers(db, entityId, filter.segments ?? []);
      if (isGrouped) {
        const all = { fields: fields as ListField<'events'>[], offset: 0, limit: null };
        yield* grouped(listGrouped(db, entityId, filter, all, true), fields);
      } else {
        const start = { after: null, upTo: await findHighestId(db, list) };
        const page = { fields: fields as ListField<Name>[], start, limit: Infinity };
        for await (const entries of listUsagePortions(db, list, entityId, filter, page, true)) {
          yield entries.map(({ json }) => cellsOf(JSON.parse(json) as (string | null)[], fields));
        }
      }
      await requireSegmentMembers(db, entityId, filter.segments ?? []);
    },
    async *csv(db, entityId, { filter: asked, fields, isGrouped }) {
      const filter = filterOf(asked);
      await requireSegmentMembers(db, entityId, filter.segments ?? []);
      const records = new CsvRecords();
      const copied = { fields: fields as ListField<Name>[], isGrouped };
      for await (const piece of copyUsage(db, list, entityId, filter, copied)) yield records.end(piece);
      await requireSegmentMembers(db, entityId, filter.segments ?? []);
    },
  };
}

function filterOf({ since, until, updatedSince, ...filter }: UsageFileQuery['filter']): UsageFilter {
  const date = (text: string | undefined) => (text === undefined ? undefined : new Date(text));
  return { ...filter, since: date(since), until: date(until), updatedSince: date(updatedSince) };
}

async function* grouped(rows: ReturnType<typeof listGrouped>, fields: readonly string[]): AsyncGenerator<Cell[][]> {
  let batch: Cell[][] = [];
  for await (const { json } of rows) {
    if (json === null) continue;
    const group = JSON.parse(json) as [...texts: (string | null)[], count: number];
    batch.push([...cellsOf(group.slice(0, -1) as (string | null)[], fields), group.at(-1)!]);
    if (batch.length < GROUPS) continue;
    yield batch;
    batch = [];
  }
  yield batch;
}

function cellsOf(texts: (string | null)[], fields: readonly string[]): Cell[] {
  return texts.map((text, index) => (text !== null && isNumber(fields[index]!) ? Number(text) : text));
}

/** Refuses devices of segments deleted or without members yet: the file would be empty, or outdated. */
async function requireSegmentMembers(db: Queryable, entityId: number, segments: readonly number[]): Promise<void> {
  const { rows } = await db.query<{ has_members: boolean }>(
    'SELECT snapshot_at IS NOT NULL AS has_members FROM segments WHERE entity_id = $1 AND id = ANY ($2::integer[])',
    [entityId, segments],
  );
  if (rows.length < new Set(segments).size)
    refuse(404, 'not_found', "The file can't be built: its segment was deleted");
  if (rows.every(({ has_members: hasMembers }) => hasMembers)) return;
  refuse(
    409,
    'computing',
    "The file can't be built: the people of its segment are not found yet. Ask for the file again later",
  );
}
