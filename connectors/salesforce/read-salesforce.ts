/** Reads an object of Salesforce: all its records, or those that were changed and deleted since the last reading. */
import { z } from 'zod';
import { isObject } from '../../domain/json/exact-json.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../domain/time/durations.ts';
import { Refusal } from '../../domain/core/refusal.ts';
import { batched, type Batcher } from '../core/batcher.ts';
import type { Batch, ConnectorContext, Cursor, ReadItem, Reading, SourceRecord } from '../core/contract.ts';
import { isAhead, sayOddCursors, sayStuckCursor } from '../core/odd-cursors.ts';
import { pagesAhead, stuckPage } from '../core/pages-ahead.ts';
import { sourceRefusal } from '../core/source-refusal.ts';
import {
  abandonJob,
  awaitJob,
  type BulkQuery,
  createJob,
  deleteJob,
  findJob,
  newJob,
  QueryJob,
  resultPage,
} from './bulk-salesforce.ts';
import { codesIn, pathOf, Salesforce } from './salesforce-api.ts';
import {
  describe,
  type Described,
  type DescribedField,
  fieldsOf,
  ID,
  IS_DELETED,
  isRead,
  recordReader,
  type Row,
  timeOf,
} from './salesforce-objects.ts';
import type { SalesforceSettings } from './salesforce-settings.ts';

/** Numbers of records in a page ("Query Options Header"); fewer than the least are asked for by LIMIT. */
const PAGE_ROWS = 2_000;
const LEAST_PAGE_ROWS = 200;
/** Maximum length of a query in an address, which has room for 16 KB; a longer one is a Bulk job. */
const MAX_QUERY = 15_000;
/** Number of records from which `auto` reads by a Bulk job. */
const BULK_ROWS = 50_000;

/** How long deleted records are kept in the bin, and ids of deleted ones ("Get a List of Deleted Records"). */
const KEPT_MS = 15 * DAY_MS;
/** Age of a cursor from which a run asks what was removed from the bin. */
const ASKED_MS = 3 * HOUR_MS;

/** The last row that was read: its time (null in a full reading) and its id. */
const LastRow = z.object({ timeMs: z.number().nullable(), id: z.string() });
/**
 * A reading's progress. Times are ms of Salesforce's clock: `sinceMs` of the changes to read (null: all), `begunMs` of
 * the begin of the reading, `newestMs` of the newest change so far. `part` is null once all is read.
 */
const Position = z.object({
  sinceMs: z.number().nullable(),
  begunMs: z.number(),
  newestMs: z.number().nullable(),
  part: z.enum(['deleted', 'records']).nullable(),
  last: LastRow.nullable(),
  job: QueryJob.nullable(),
});
type Position = z.output<typeof Position>;

const positionOf = (cursor: Cursor | null) => Position.nullable().catch(null).parse(cursor);

/** An object with those of its fields that are read, and the one that tells a change; null: all records are read. */
type Shape = { object: Described; fields: DescribedField[]; time: string | null; hasDeleted: boolean };

export async function* readSalesforce(
  settings: SalesforceSettings,
  reading: Reading,
  context: ConnectorContext,
): AsyncGenerator<Batch> {
  const position = positionOf(reading.cursor);
  // Looking back would bring records again, and the run would count them twice.
  if (position?.part === null && (reading.mode === 'full' || reading.isContinued)) return;
  const salesforce = new Salesforce(settings, context);
  const shape = await shapeOf(salesforce, reading);
  if (reading.isContinued !== true) sayShape(shape, reading, context);
  const start = await startOf(salesforce, position, shape, reading, context);
  yield* batched(reading.cursor, (own) => new ObjectReading(salesforce, reading, context, shape, start, own).read());
}

/** Ends the Bulk job that a reading has left behind. */
export async function releaseSalesforce(
  settings: SalesforceSettings,
  { stream, mode, cursor }: Pick<Reading, 'stream' | 'mode' | 'cursor'>,
  context: ConnectorContext,
): Promise<void> {
  const position = positionOf(cursor);
  if (!position?.job) return;
  const salesforce = new Salesforce(settings, context);
  const query = { object: stream, isAll: mode === 'incremental' };
  const id = position.job.id ?? (await findJob(salesforce, query, position.job));
  if (id !== null) await abandonJob(salesforce, id);
}

async function shapeOf(salesforce: Salesforce, { stream, mode, cursorField, fields }: Reading): Promise<Shape> {
  const object = await describe(salesforce, stream);
  const readable = object.fields.filter(isRead);
  const time = mode === 'full' ? null : (cursorField ?? timeOf(readable) ?? null);
  const isOrdered = readable.some(
    ({ name, type, filterable, sortable }) => name === time && type === 'datetime' && filterable && sortable,
  );
  if (mode === 'incremental' && !isOrdered) {
    const message = `cursor_field: ${stream} has no time ${time ?? 'of a change'} by which it can be filtered and ordered`;
    throw sourceRefusal('source_refused', message);
  }
  const asked = fields && new Set([...fields, ID, time]);
  return {
    object,
    fields: asked ? readable.filter(({ name }) => asked.has(name)) : readable,
    time,
    hasDeleted: object.fields.some(({ name, filterable }) => name === IS_DELETED && filterable),
  };
}

/** Writes into the log which fields don't come, and which come late. */
function sayShape({ object, fields, time }: Shape, { fields: asked }: Reading, { log }: ConnectorContext): void {
  const shown = new Set(object.fields.map(({ name }) => name));
  const missing = (asked ?? []).filter((name) => !shown.has(name));
  if (missing.length > 0) {
    log(
      `Salesforce shows no field ${missing.join(', ')} to the user: it was deleted or renamed, ` +
        'field-level security hides it, or api_version is too old; all other fields are read',
    );
  }
  const formulas = fields.filter(({ calculated }) => calculated).map(({ name }) => name);
  if (time === null || formulas.length === 0) return;
  log(
    `${formulas.join(', ')}: Salesforce does not note when a formula changes, so this run brings new values ` +
      'only of records that have changed otherwise; a full run brings all',
  );
}

/** Returns the begin of a reading, or where an earlier one has stopped. */
async function startOf(
  salesforce: Salesforce,
  position: Position | null,
  shape: Shape,
  { isContinued }: Reading,
  { log }: ConnectorContext,
): Promise<Position> {
  const begunMs = salesforce.clockMs;
  const all = { sinceMs: null, begunMs, newestMs: null, part: 'records' as const, last: null, job: null };
  if (position === null) return all;
  if (shape.time === null) return position;
  const why = await whyAll(salesforce, position, shape);
  if (why === null && position.part !== null) {
    // The run that began the job has ended, and its job with it: this one makes its own.
    return isContinued || position.job === null ? position : { ...position, job: null };
  }
  const part = shape.hasDeleted ? 'deleted' : 'records';
  if (why === null) {
    const sinceMs = position.newestMs! - salesforce.settings.lookback_minutes * MINUTE_MS;
    return { ...all, sinceMs, newestMs: position.newestMs, part };
  }
  log(why);
  return { ...all, part };
}

/** Returns why changes since the last reading are not enough; null if they are. */
async function whyAll(
  salesforce: Salesforce,
  { begunMs, newestMs, part }: Position,
  { object, time, hasDeleted }: Shape,
): Promise<string | null> {
  const { clockMs } = salesforce;
  if (part === null && (newestMs === null || isAhead(newestMs, clockMs))) return sayStuckCursor(time!);
  if (!hasDeleted) return null;
  const last = `the last reading began at ${new Date(begunMs).toISOString()}`;
  const advice = 'all records are read again; a full run also finds those that were deleted meanwhile';
  if (clockMs - begunMs > KEPT_MS)
    return `${last}, and Salesforce keeps deleted records for ${KEPT_MS / DAY_MS} days: ${advice}`;
  if (part !== null || !object.replicateable || clockMs - begunMs < ASKED_MS) return null;
  const earliestMs = await earliestDeleted(salesforce, object.name, begunMs);
  if (earliestMs === null || earliestMs <= begunMs) return null;
  return `${last}, and Salesforce knows only what was deleted from ${new Date(earliestMs).toISOString()} on: ${advice}`;
}

const Deleted = z.object({ earliestDateAvailable: z.string() });

/** Returns from when on Salesforce knows all that was deleted, in ms; null if it does not say so of this object. */
async function earliestDeleted(salesforce: Salesforce, object: string, fromMs: number): Promise<number | null> {
  const time = (ms: number) => new Date(ms).toISOString().replace(/\.\d+Z$/, '+00:00');
  // The answer has the ids of what was deleted within the time, so that is as short as may be.
  const query = { start: time(fromMs), end: time(fromMs + 2 * MINUTE_MS) };
  try {
    const path = `/sobjects/${encodeURIComponent(object)}/deleted/`;
    const { earliestDateAvailable: earliest } = await salesforce.read(Deleted, { path, query });
    return Date.parse(earliest) || null;
  } catch (error) {
    if (error instanceof Refusal && error.status === 'source_refused') return null;
    throw error;
  }
}

const isRow = (value: unknown): value is Row =>
  isObject(value) && typeof value[ID] === 'string' && /^[a-zA-Z0-9]{15,18}$/.test(value[ID]);
const Page = z.object({
  records: z.array(z.custom<Row>(isRow)),
  nextRecordsUrl: z.string().nullish(),
  totalSize: z.number(),
});
const Counted = z.object({ totalSize: z.number() });

/** A place in a query's result: behind `last`, at `path` if Salesforce still keeps the result. */
type Place = { path: string | null; last: z.output<typeof LastRow> | null };
type Found = { rows: Row[]; shape: Shape; total: number; after: Place | null };

/**
 * A reading from its start on. Deleted records come before those that there are, since one of these may have the
 * customer now: made anew, or the one that others were merged into.
 */
class ObjectReading {
  readonly #salesforce: Salesforce;
  readonly #reading: Reading;
  readonly #context: ConnectorContext;
  readonly #batcher: Batcher;
  /** Changed in place, and copied for each cursor. */
  readonly #at: Position;
  #shape: Shape;
  #toRecord!: (row: Row) => SourceRecord;
  #odd = 0;
  #read = 0;
  #total: number | undefined;

  constructor(
    salesforce: Salesforce,
    reading: Reading,
    context: ConnectorContext,
    shape: Shape,
    start: Position,
    own: Batcher,
  ) {
    this.#salesforce = salesforce;
    this.#reading = reading;
    this.#context = context;
    this.#batcher = own;
    this.#at = start;
    this.#shape = shape;
  }

  async *read(): AsyncGenerator<Batch> {
    const at = this.#at;
    yield* this.#useShape(this.#shape);
    if (at.part === 'deleted') {
      yield* this.#readPart();
      at.part = 'records';
    }
    yield* this.#readPart();
    at.part = null;
    // A record that changes during the reading may have been read before.
    at.newestMs = Math.min(at.newestMs ?? at.begunMs, at.begunMs);
    this.#passed();
    if (this.#odd > 0) this.#context.log(sayOddCursors(this.#odd, this.#shape.time!));
  }

  async *#readPart(): AsyncGenerator<Batch> {
    const at = this.#at;
    if (at.job === null && at.last === null && (await this.#isBulk())) at.job = newJob(this.#salesforce.clockMs);
    if (at.job === null) yield* this.#readPages();
    else yield* this.#readJob(at.job);
    [at.last, at.job, this.#read, this.#total] = [null, null, 0, undefined];
  }

  async #isBulk(): Promise<boolean> {
    const { bulk } = this.#salesforce.settings;
    if (`${new URLSearchParams({ q: this.#soql(this.#shape, this.#at.last) })}`.length > MAX_QUERY) return true;
    if (bulk === 'never' || this.#at.sinceMs !== null || this.#at.part === 'deleted') return false;
    if (bulk === 'always') return true;
    const query = { q: `SELECT COUNT() FROM ${this.#shape.object.name}` };
    try {
      return (await this.#salesforce.read(Counted, { path: '/query', query })).totalSize >= BULK_ROWS;
    } catch (error) {
      if (codesIn(error).includes('QUERY_TIMEOUT')) return true; // so many that they can't be counted
      if (error instanceof Refusal && error.extra['source_status'] === 400) return false; // not all can be counted
      throw error;
    }
  }

  #soql({ object, fields, time, hasDeleted }: Shape, last: Place['last'], limit = PAGE_ROWS): string {
    const { part, sinceMs } = this.#at;
    const iso = (ms: number) => new Date(ms).toISOString();
    const conditions: string[] = [];
    if (time !== null && hasDeleted) conditions.push(`${IS_DELETED} = ${part === 'deleted'}`);
    if (last === null && sinceMs !== null) conditions.push(`${time} >= ${iso(sinceMs)}`);
    if (last !== null && last.timeMs === null) conditions.push(`${ID} > '${last.id}'`);
    if (last !== null && last.timeMs !== null) {
      const at = iso(last.timeMs);
      conditions.push(`${time} >= ${at}`, `(${time} > ${at} OR ${ID} > '${last.id}')`);
    }
    const where = conditions.length === 0 ? '' : ` WHERE ${conditions.join(' AND ')}`;
    const order = this.#at.job === null ? ` ORDER BY ${time === null ? '' : `${time}, `}${ID}` : '';
    const most = limit < LEAST_PAGE_ROWS ? ` LIMIT ${limit}` : '';
    return `SELECT ${fields.map(({ name }) => name).join(', ')} FROM ${object.name}${where}${order}${most}`;
  }

  async *#readPages(): AsyncGenerator<Batch> {
    let used = this.#shape;
    const start = { path: null, last: this.#at.last };
    const pages = pagesAhead<Place, Found>(start, PAGE_ROWS, (from, limit) => this.#page(from, limit));
    for await (const { rows, shape, total } of pages) {
      this.#total ??= total;
      if (shape !== used) yield* this.#useShape(shape);
      used = shape;
      for (const row of rows) {
        const record = this.#toRecord(row);
        const item: ReadItem = { kind: 'record', record };
        yield* this.#take(item, JSON.stringify(record).length);
        this.#at.last = this.#placeOf(row);
        this.#passed();
      }
    }
  }

  #placeOf(row: Row): z.output<typeof LastRow> {
    const { time } = this.#shape;
    return { timeMs: time === null ? null : Date.parse(row[time] as string) || 0, id: row[ID] as string };
  }

  /** Reads a page, or from its place anew: if Salesforce has lost the result, or a field was deleted meanwhile. */
  async #page({ path, last }: Place, limit: number): Promise<Found> {
    for (;;) {
      const shape = this.#shape;
      const next = limit === PAGE_ROWS ? path : null;
      const q = this.#soql(shape, last, limit);
      const headers = { 'Sforce-Query-Options': `batchSize=${Math.max(limit, LEAST_PAGE_ROWS)}` };
      try {
        const call =
          next === null ? { path: shape.time === null ? '/query' : '/queryAll', query: { q } } : { path: next };
        const { records, nextRecordsUrl, totalSize } = await this.#salesforce.read(Page, { ...call, headers });
        const after = this.#after(records, nextRecordsUrl, next, limit);
        // A field that went while Salesforce kept the result is absent from its pages, which is no null.
        if (namesOf(shape).some((name) => records[0] && !(name in records[0])))
          this.#shape = await shapeOf(this.#salesforce, this.#reading);
        return { rows: records, shape: this.#shape, total: totalSize, after };
      } catch (error) {
        if (next !== null && codesIn(error).includes('INVALID_QUERY_LOCATOR')) path = null;
        else if (codesIn(error).includes('INVALID_FIELD')) {
          const now = await shapeOf(this.#salesforce, this.#reading);
          if (namesOf(now).join() === namesOf(shape).join()) throw error;
          [this.#shape, path] = [now, null];
        } else throw error;
      }
    }
  }

  #after(rows: readonly Row[], url: string | null | undefined, path: string | null, limit: number): Place | null {
    const last = rows.at(-1);
    if (limit < LEAST_PAGE_ROWS && rows.length === limit) return { path: null, last: this.#placeOf(last!) };
    if (!url) return null;
    const next = pathOf(this.#salesforce, url);
    if (last && next !== path) return { path: next, last: this.#placeOf(last) };
    throw stuckPage(this.#salesforce.host);
  }

  async *#readJob(job: QueryJob): AsyncGenerator<Batch> {
    job.id ??= yield* this.#makeJob(job);
    try {
      yield* this.#readRows(job, job.id);
    } catch (error) {
      // The reading begins anew, by another job.
      if (error instanceof Refusal && error.status === 'source_changed')
        await abandonJob(this.#salesforce, job.id).catch(() => undefined);
      throw error;
    }
    yield* this.#keep();
    await deleteJob(this.#salesforce, job.id);
  }

  async *#readRows(job: QueryJob, id: string): AsyncGenerator<Batch> {
    // One that was read to its end may be deleted already.
    if (!job.isRead) this.#total = await awaitJob(this.#salesforce, id, this.#context.signal);
    while (!job.isRead) {
      const { rows, next } = await resultPage(this.#salesforce, { ...job, id }, namesOf(this.#shape));
      let count = 0;
      for await (const { item, bytes } of rows) {
        count += 1;
        if (count <= job.rows) continue; // it came before the reading was interrupted
        if (item.kind === 'record') item.record = this.#toRecord(item.record);
        yield* this.#take(item, bytes);
        job.rows = count;
        this.#passed();
      }
      [job.locator, job.rows, job.isRead] = [next, 0, next === null];
      this.#passed();
    }
  }

  /** Makes a job, or finds the one that an earlier attempt made. Keeps the cursor before and after the call. */
  async *#makeJob(job: QueryJob): AsyncGenerator<Batch, string> {
    const { object } = this.#shape;
    const isAll = this.#shape.time !== null;
    const isAsked = positionOf(this.#reading.cursor)?.job?.id === null;
    const earlier = isAsked ? await findJob(this.#salesforce, { object: object.name, isAll }, job) : null;
    if (!isAsked) yield* this.#keep();
    const query: BulkQuery = { object: object.name, soql: this.#soql(this.#shape, null), isAll };
    job.id = earlier ?? (await createJob(this.#salesforce, query, job));
    yield* this.#keep();
    return job.id;
  }

  /** Yields what there is, and a batch without items: the run stores its cursor before it asks for more. */
  *#keep(): Generator<Batch> {
    this.#passed();
    const rest = this.#batcher.rest();
    yield* rest;
    if (rest.every(({ items }) => items.length > 0)) yield { items: [], bytes: 0, cursor: this.#cursor() };
  }

  *#useShape(shape: Shape): Generator<Batch> {
    this.#toRecord = recordReader(shape.fields);
    yield* this.#batcher.setFields(fieldsOf(shape.fields));
  }

  *#take(item: ReadItem, bytes: number): Generator<Batch> {
    const { time } = this.#shape;
    const at = this.#at;
    this.#read += 1;
    if (item.kind !== 'record') return yield* this.#batcher.add(item, bytes);
    const { record } = item;
    const key = record[ID] as string;
    if (at.part === 'deleted') yield* this.#batcher.add({ kind: 'deleted', key, customer: record }, bytes);
    else yield* this.#batcher.add({ kind: 'record', record, key }, bytes);
    if (time === null) return;
    const timeMs = Date.parse(record[time] as string);
    if (isAhead(timeMs, this.#salesforce.clockMs)) {
      this.#batcher.odd();
      this.#odd += 1;
    } else if (timeMs > (at.newestMs ?? -Infinity)) at.newestMs = timeMs;
  }

  /** Notes that reading goes on behind the last item. */
  #passed(): void {
    const { part } = this.#at;
    const total = part === 'deleted' ? undefined : this.#total;
    const done = part === null ? 1 : total && Math.min(1, this.#read / total);
    this.#batcher.passed(() => this.#cursor(), done);
  }

  #cursor = (): Cursor => structuredClone(this.#at);
}

const namesOf = ({ fields }: Shape): string[] => fields.map(({ name }) => name);
