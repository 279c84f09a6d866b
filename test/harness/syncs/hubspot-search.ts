/** HubSpot's search: filters, one sort, pages of 200 within 10,000 results. Dates and ids are found in sorted lists. */
import { z } from 'zod';
import { type HubSpotRecords, invalid, type ObjectType, type StoredRecord } from './hubspot-records.ts';

const MAX_RESULTS = 10_000;
const MAX_PAGE = 200;

const Filter = z.object({
  propertyName: z.string(),
  operator: z.enum(['EQ', 'NEQ', 'GT', 'GTE', 'LT', 'LTE', 'BETWEEN', 'IN', 'HAS_PROPERTY', 'NOT_HAS_PROPERTY']),
  value: z.string().optional(),
  highValue: z.string().optional(),
  values: z.array(z.string()).optional(),
});
type Filter = z.output<typeof Filter>;

const Search = z.object({
  filterGroups: z
    .array(z.object({ filters: z.array(Filter).max(6) }))
    .max(5)
    .default([]),
  sorts: z
    .array(z.union([z.string(), z.object({ propertyName: z.string(), direction: z.string().default('ASCENDING') })]))
    .max(1)
    .default([]),
  limit: z.int().min(1).max(MAX_PAGE).default(10),
  after: z.union([z.string().regex(/^\d*$/), z.int()]).default('0'),
  properties: z.array(z.string()).default([]),
});

type Found = { total: number; page: StoredRecord[]; after: string | null; properties: string[] };

/** Answers a search. `until`: records that changed later, in ms, are not found yet. */
export function search(records: HubSpotRecords, type: ObjectType, body: unknown, until: number): Found {
  const read = Search.safeParse(body);
  if (!read.success) throw invalid(`There was a problem with the request: ${z.prettifyError(read.error)}`);
  const { filterGroups, sorts, limit, properties } = read.data;
  const after = Number(read.data.after);
  if (after + limit > MAX_RESULTS) throw invalid(`The requested offset and limit exceed ${MAX_RESULTS} results`);
  const groups = filterGroups.map(({ filters }) => filters.map((filter) => condition(type, filter)));
  const sort = order(type, sorts[0]);
  const found: Range =
    groups.length === 1
      ? inGroup(records, type, groups[0]!, until)
      : whole(
          changedWithin(records, type, -Infinity, until).filter(
            (record) => groups.length === 0 || groups.some((group) => group.every(({ holds }) => holds(record))),
          ),
        );
  const { sorted, start, end } = sort ? whole(found.sorted.slice(found.start, found.end).toSorted(sort)) : found;
  const total = end - start;
  const next = after + limit;
  return {
    total,
    page: sorted.slice(start + after, Math.min(end, start + next)),
    after: next < total ? String(next) : null,
    properties,
  };
}

/** Some records of a list, which is not copied: pages of a large result stay cheap. */
type Range = { sorted: StoredRecord[]; start: number; end: number };
const whole = (sorted: StoredRecord[]): Range => ({ sorted, start: 0, end: sorted.length });

type Condition = { property: string; from: number; to: number; holds(record: StoredRecord): boolean };

/** Returns the records that meet all conditions, by id. */
function inGroup(records: HubSpotRecords, type: ObjectType, group: Condition[], until: number): Range {
  const range = (property: string) => {
    const of = group.filter((one) => one.property === property);
    return { from: Math.max(...of.map(({ from }) => from)), to: Math.min(...of.map(({ to }) => to)) };
  };
  const dates = range(type.modified);
  const ids = range('hs_object_id');
  const changed = changedWithin(records, type, dates.from, Math.min(dates.to, until));
  const start = lowerBound(changed, ids.from, ({ number }) => number);
  const end = Math.max(
    start,
    lowerBound(changed, ids.to + 1, ({ number }) => number),
  );
  const rest = group.filter(
    ({ property, from, to }) =>
      (property !== type.modified && property !== 'hs_object_id') || (from === -Infinity && to === Infinity),
  );
  if (rest.length === 0) return { sorted: changed, start, end };
  return whole(changed.slice(start, end).filter((record) => rest.every(({ holds }) => holds(record))));
}

/** Returns the records changed from one time until another, both included, by id; kept until the next change. */
function changedWithin(records: HubSpotRecords, type: ObjectType, from: number, to: number): StoredRecord[] {
  const { byId, byDate, windows } = records.sorted(type);
  const modified = (record: StoredRecord) => record.modified;
  const [start, end] = [lowerBound(byDate, from, modified), lowerBound(byDate, to + 1, modified)];
  if (start === 0 && end === byDate.length) return byId;
  const name = `${start}-${end}`;
  const known = windows.get(name);
  if (known) return known;
  const window = byDate.slice(start, Math.max(start, end)).toSorted((a, b) => a.number - b.number);
  if (windows.size >= 16) windows.clear();
  windows.set(name, window);
  return window;
}

/** Returns the index of the first record whose number is at least `least`. */
export function lowerBound(sorted: StoredRecord[], least: number, of: (record: StoredRecord) => number): number {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (of(sorted[middle]!) < least) low = middle + 1;
    else high = middle;
  }
  return low;
}

const TIMES = ['date', 'datetime'];

/** Returns how a property's values are compared: numbers, times in ms, or text without case. */
function comparable(type: ObjectType, name: string): (record: StoredRecord) => number | string | undefined {
  const property = type.properties.get(name);
  if (!property) throw invalid(`There was a problem with the request: property ${name} does not exist`);
  if (name === 'hs_object_id') return ({ number }) => number;
  if (name === type.modified) return ({ modified }) => modified;
  const value = ({ properties }: StoredRecord) => properties[name];
  if (property.type === 'number') return (record) => numberOf(value(record), Number);
  if (TIMES.includes(property.type)) return (record) => numberOf(value(record), Date.parse);
  return (record) => value(record)?.toLowerCase();
}

const numberOf = (value: string | undefined, read: (value: string) => number) =>
  value === undefined ? undefined : read(value);

function condition(type: ObjectType, filter: Filter): Condition {
  const { propertyName: name, operator } = filter;
  const of = comparable(type, name);
  const kind = type.properties.get(name)!.type;
  const isNumber = kind === 'number' || TIMES.includes(kind);
  const operand = (value: string | undefined) => {
    if (value === undefined) throw invalid(`There was a problem with the request: ${operator} needs a value`);
    // Times are whole milliseconds: an ISO date is refused.
    if (isNumber && !(kind === 'number' ? /^-?\d+(\.\d+)?$/ : /^\d+$/).test(value))
      throw invalid(`There was a problem with the request: "${value}" is not a number (${name})`);
    return isNumber ? Number(value) : value.toLowerCase();
  };
  const everywhere = { property: name, from: -Infinity, to: Infinity };
  if (operator === 'HAS_PROPERTY') return { ...everywhere, holds: (record) => of(record) !== undefined };
  if (operator === 'NOT_HAS_PROPERTY') return { ...everywhere, holds: (record) => of(record) === undefined };
  if (operator === 'IN') {
    const values = (filter.values ?? []).map(operand);
    return { ...everywhere, holds: (record) => values.includes(of(record) ?? '') };
  }
  const value = operand(filter.value);
  if (operator === 'NEQ') return { ...everywhere, holds: (record) => of(record) !== value };
  const high = operator === 'BETWEEN' ? operand(filter.highValue) : value;
  const COMPARE: Record<typeof operator, (given: number | string) => boolean> = {
    EQ: (given) => given === value,
    GT: (given) => given > value,
    GTE: (given) => given >= value,
    LT: (given) => given < value,
    LTE: (given) => given <= value,
    BETWEEN: (given) => given >= value && given <= high,
  };
  const compare = COMPARE[operator];
  const holds = (record: StoredRecord) => {
    const given = of(record);
    return given !== undefined && compare(given);
  };
  if (typeof value === 'string' || typeof high === 'string') return { ...everywhere, holds };
  const from = operator === 'GT' ? value + 1 : operator.startsWith('LT') ? -Infinity : value;
  const to = operator === 'LT' ? value - 1 : operator.startsWith('GT') ? Infinity : high;
  return { property: name, from, to, holds };
}

type Sort = z.output<typeof Search>['sorts'][number];

/** Returns the order asked for; null: by id, which found records have already. */
function order(type: ObjectType, sort: Sort | undefined): ((a: StoredRecord, b: StoredRecord) => number) | null {
  if (sort === undefined) return null;
  const name = typeof sort === 'string' ? sort.replace(/^-/, '') : sort.propertyName;
  const isDescending = typeof sort === 'string' ? sort.startsWith('-') : sort.direction === 'DESCENDING';
  const of = comparable(type, name);
  if (name === 'hs_object_id' && !isDescending) return null;
  return (a, b) => {
    const [one, other] = [of(a) ?? '', of(b) ?? ''];
    const compared = one < other ? -1 : one > other ? 1 : 0;
    return isDescending ? -compared : compared;
  };
}
