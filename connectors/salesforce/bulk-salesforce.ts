/** Queries by Bulk API 2.0: a job runs one, and its result comes as pages of CSV, as often as they are asked for. */
import { randomInt } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import { Refusal } from '../../domain/core/refusal.ts';
import type { ReadItem } from '../core/contract.ts';
import { quotaWait } from '../core/pace.ts';
import { sourceRefusal } from '../core/source-refusal.ts';
import { createCsvItems, FILE_START } from '../files/file-portions.ts';
import { codesIn, pathOf, type Salesforce } from './salesforce-api.ts';

const JOBS = '/jobs/query';
/** Maximum number of rows in a page of a result; each costs a call. */
const PAGE_ROWS = 50_000;

/** Delimiters of results, by Salesforce's names. A job's own is its mark, so a comma, which is the default, is none. */
const DELIMITERS = { PIPE: '|', SEMICOLON: ';', TAB: '\t' } as const;
const MARKS = ['PIPE', 'SEMICOLON', 'TAB'] as const;

/**
 * A job and how far its result was read: the page at `locator` (null: the first) up to `rows`; `isRead`: to its end.
 * `id` is null before the call that makes it; `askedMs` and `mark` then find it if the answer was lost.
 */
export const QueryJob = z.object({
  id: z.string().nullable(),
  askedMs: z.number(),
  mark: z.enum(MARKS),
  locator: z.string().nullable(),
  rows: z.number(),
  isRead: z.boolean(),
});
export type QueryJob = z.output<typeof QueryJob>;

/** `isAll`: with deleted records. */
export type BulkQuery = { object: string; soql: string; isAll: boolean };

export const newJob = (askedMs: number): QueryJob => ({
  id: null,
  askedMs,
  mark: MARKS[randomInt(MARKS.length)]!,
  locator: null,
  rows: 0,
  isRead: false,
});

const Id = z.string().regex(/^[a-zA-Z0-9]{15,18}$/);
const State = z.string().regex(/^\w{1,32}$/);
const Job = z.object({ id: Id, state: State, numberRecordsProcessed: z.number().optional() });
const Jobs = z.object({
  records: z.array(
    z.object({
      id: Id,
      state: State,
      operation: z.string(),
      object: z.string().nullish(),
      createdDate: z.string(),
      columnDelimiter: z.string().nullish(),
    }),
  ),
  nextRecordsUrl: z.string().nullish(),
});

const operationOf = ({ isAll }: BulkQuery) => (isAll ? 'queryAll' : 'query');
const jobPath = (id: string, rest = '') => `${JOBS}/${encodeURIComponent(id)}${rest}`;

/** Makes a job and returns its id. */
export async function createJob(salesforce: Salesforce, query: BulkQuery, { mark }: QueryJob): Promise<string> {
  const body = {
    operation: operationOf(query),
    query: query.soql,
    contentType: 'CSV',
    columnDelimiter: mark,
    lineEnding: 'LF',
  };
  return (await salesforce.read(Job, { path: JOBS, body })).id;
}

/** A job may be a little older by the server's clock. */
const CLOCK_MS = 2_000;

/** Returns the id of a job that an attempt made which ended before it knew the answer; null if there is none. */
export async function findJob(
  salesforce: Salesforce,
  { object, isAll }: Omit<BulkQuery, 'soql'>,
  { askedMs, mark }: QueryJob,
): Promise<string | null> {
  const operation = isAll ? 'queryAll' : 'query';
  let path: string | null = `${JOBS}?jobType=V2Query`;
  while (path !== null) {
    const { records, nextRecordsUrl }: z.output<typeof Jobs> = await salesforce.read(Jobs, { path });
    const found = records.find(
      (job) =>
        job.object === object &&
        job.operation === operation &&
        job.columnDelimiter === mark &&
        Date.parse(job.createdDate) >= askedMs - CLOCK_MS &&
        job.state !== 'Aborted',
    );
    if (found) return found.id;
    const next: string | null = nextRecordsUrl ? pathOf(salesforce, nextRecordsUrl) : null;
    path = next === path ? null : next;
  }
  return null;
}

/** Pauses between looks at a job, in ms. */
const PAUSES_MS = [250, 500, 1_000, 2_000, 4_000];
/** How long a run then waits, which holds nothing. */
const LATER_MS = 30_000;

/** Waits until a job has its result, and returns the number of its rows; undefined if Salesforce does not say. */
export async function awaitJob(salesforce: Salesforce, id: string, signal: AbortSignal): Promise<number | undefined> {
  for (const pauseMs of PAUSES_MS) {
    const { state, numberRecordsProcessed: rows } = await ofJob(salesforce, () =>
      salesforce.read(Job, { path: jobPath(id) }),
    );
    if (state === 'JobComplete') return rows;
    if (state === 'Failed') {
      await deleteJob(salesforce, id);
      throw sourceRefusal('source_changed', `${salesforce.host} ended the Bulk job of this reading as Failed`);
    }
    if (state === 'Aborted') {
      const message = `${salesforce.host} has aborted the Bulk job of this reading: someone ended it there`;
      throw sourceRefusal('source_refused', message);
    }
    await delay(pauseMs, undefined, { signal }).catch(() => signal.throwIfAborted());
  }
  const until = Date.now() + LATER_MS;
  const next = new Date(until).toISOString();
  throw quotaWait(`${salesforce.host} still works on the Bulk job of this reading: next look at ${next}`, until);
}

export type ResultPage = {
  /** Items by column names, as texts, and their sizes in bytes; once. */
  rows: AsyncGenerator<{ item: ReadItem; bytes: number }>;
  /** The locator of the next page; null behind the last. */
  next: string | null;
};

/** Asks for a page of a result. `columns`: the names of its columns, in the order of the query. */
export async function resultPage(
  salesforce: Salesforce,
  { id, locator, mark }: QueryJob & { id: string },
  columns: string[],
): Promise<ResultPage> {
  const { host } = salesforce;
  const answer = await ofJob(salesforce, () =>
    salesforce.send({
      path: jobPath(id, '/results'),
      query: { maxRecords: `${PAGE_ROWS}`, ...(locator !== null && { locator }) },
      headers: { Accept: 'text/csv' },
      isStream: true,
    }),
  );
  const { 'sforce-locator': next = 'null', 'sforce-numberofrecords': announced } = answer.headers;
  async function* rows() {
    const items = createCsvItems({ format: 'csv', delimiter: DELIMITERS[mark] }, { ...FILE_START, columns });
    let count = -1; // the first row has the names
    let names = columns;
    function* behindHeader(found: ReturnType<typeof items.push>) {
      for (const { item, bytes } of found) {
        if (count === -1) names = namesIn(host, item, columns);
        else yield { item: names === columns ? item : renamed(item, columns, names), bytes };
        count += 1;
      }
    }
    for await (const chunk of answer.body) yield* behindHeader(items.push(chunk));
    yield* behindHeader(items.end());
    if (announced !== undefined && Math.max(0, count) !== Number(announced)) {
      throw sourceRefusal('transfer_broken', `${host} sent fewer rows of a result than it announced`);
    }
  }
  return { rows: rows(), next: next === 'null' ? null : next };
}

/** Returns the names of a result's columns. Their order may be another one (luigi, pull request 2015). */
function namesIn(host: string, item: ReadItem, columns: string[]): string[] {
  const names = item.kind === 'record' ? columns.map((column) => item.record[column] as string) : [];
  if (names.join() === columns.join()) return columns;
  if (names.toSorted().join() === columns.toSorted().join()) return names;
  throw sourceRefusal('source_changed', `${host} gives a result with other fields than were asked for`);
}

function renamed(item: ReadItem, columns: readonly string[], names: readonly string[]): ReadItem {
  if (item.kind !== 'record') return item;
  return { ...item, record: Object.fromEntries(names.map((name, at) => [name, item.record[columns[at]!]!])) };
}

/** Ends a job, in whatever state it is, and deletes it with its result. */
export async function abandonJob(salesforce: Salesforce, id: string): Promise<void> {
  const call = { path: jobPath(id), body: { state: 'Aborted' }, method: 'PATCH' as const };
  await (await salesforce.send({ ...call, takes: GONE, isPastShare: true })).end(); // it may have ended by itself
  await deleteJob(salesforce, id);
}

/** Statuses of a job that is gone, or in another state. */
const GONE = [400, 404, 409];

export async function deleteJob(salesforce: Salesforce, id: string): Promise<void> {
  await (await salesforce.send({ path: jobPath(id), method: 'DELETE', takes: GONE, isPastShare: true })).end();
}

/**
 * Refuses with `source_changed` if the job is gone: Salesforce keeps one for seven days. So are a locator that it has
 * lost, and a job of another api_version (409).
 */
async function ofJob<T>({ host }: Salesforce, call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    const status = error instanceof Refusal ? error.extra['source_status'] : undefined;
    if (status !== 404 && status !== 409 && !codesIn(error).includes('INVALID_QUERY_LOCATOR')) throw error;
    throw sourceRefusal('source_changed', `${host} no longer has the Bulk job of this reading`);
  }
}
