/** Salesforce's Bulk API 2.0 queries: jobs by their states, and results as CSV in pages. */
import { z } from 'zod';
import { DAY_MS } from '../../../domain/time/durations.ts';
import { csvOf, isCompound, timeText } from './salesforce-fields.ts';
import {
  idOf,
  noResource,
  reader,
  type Rows,
  type SalesforceRecords,
  SalesforceRefusal,
} from './salesforce-records.ts';
import { parseSoql, type Query, rowsOf } from './salesforce-soql.ts';

type State = 'UploadComplete' | 'InProgress' | 'JobComplete' | 'Failed' | 'Aborted';

const DELIMITERS = { BACKQUOTE: '`', CARET: '^', COMMA: ',', PIPE: '|', SEMICOLON: ';', TAB: '\t' };
const LINE_ENDINGS = { LF: '\n', CRLF: '\r\n' };
type Delimiter = keyof typeof DELIMITERS;
type LineEnding = keyof typeof LINE_ENDINGS;

const Body = z.object({
  operation: z.enum(['query', 'queryAll']),
  query: z.string(),
  contentType: z.literal('CSV').default('CSV'),
  columnDelimiter: z.enum(Object.keys(DELIMITERS) as [Delimiter, ...Delimiter[]]).default('COMMA'),
  lineEnding: z.enum(Object.keys(LINE_ENDINGS) as [LineEnding, ...LineEnding[]]).default('LF'),
});

export type BulkJob = z.output<typeof Body> & {
  id: string;
  state: State;
  errorMessage: string | null;
  created: number;
  changed: number;
  version: string;
  parsed: Query;
  /** Looks that still see it at work. */
  looksLeft: number;
  rows: Rows | null;
};

export type BulkResults = { parts: Iterable<string>; headers: Record<string, string> };

const ENDED: readonly State[] = ['JobComplete', 'Failed', 'Aborted'];
/** How long a job and its results are kept. */
const KEPT_MS = 7 * DAY_MS;
const ROWS_PER_PART = 500;

const wrongState = (message: string) => new SalesforceRefusal(400, 'INVALIDJOBSTATE', message);

export class SalesforceBulk {
  /** By id, in the order they began. */
  readonly jobs = new Map<string, BulkJob>();
  /** Messages that the next jobs fail with. */
  readonly failures: string[] = [];
  readonly #records: SalesforceRecords;
  readonly #pageRows: number;
  readonly #looks: number;
  #next = 0;

  constructor(records: SalesforceRecords, pageRows: number, looks: number) {
    this.#records = records;
    this.#pageRows = pageRows;
    this.#looks = looks;
  }

  begin(body: unknown, version: string): object {
    const read = Body.safeParse(body);
    if (!read.success) throw new SalesforceRefusal(400, 'INVALIDJOB', z.prettifyError(read.error));
    const parsed = parseSoql(this.#records, read.data.query);
    const refuse = (message: string) => new SalesforceRefusal(400, 'API_ERROR', message);
    if (parsed.fields.some(isCompound)) throw refuse('Selecting compound data not supported in Bulk Query');
    if (parsed.fields.length === 0)
      throw refuse('Aggregate Relationships not supported in Bulk V2 Query with CSV content type');
    this.#next += 1;
    const now = this.#records.now();
    const id = idOf('750', this.#next);
    const job: BulkJob = {
      ...read.data,
      id,
      state: 'UploadComplete',
      errorMessage: null,
      created: now,
      changed: now,
      version,
      parsed,
      looksLeft: this.#looks,
      rows: null,
    };
    this.jobs.set(id, job);
    return shownJob(job);
  }

  /** Answers how far a job is. Each look brings it on. */
  look(id: string): object {
    const job = this.#job(id);
    if (!ENDED.includes(job.state)) this.#advance(job);
    return shownJob(job);
  }

  list(): object {
    return { done: true, nextRecordsUrl: null, records: [...this.jobs.values()].map(shownJob) };
  }

  abort(id: string, body: unknown): object {
    const job = this.#job(id);
    if (!z.object({ state: z.literal('Aborted') }).safeParse(body).success)
      throw new SalesforceRefusal(400, 'INVALIDJOB', 'state must be Aborted');
    if (ENDED.includes(job.state)) throw wrongState(`Aborting job in state ${job.state} is not allowed`);
    this.#end(job, 'Aborted');
    return shownJob(job);
  }

  delete(id: string): void {
    const job = this.#job(id);
    if (!ENDED.includes(job.state)) throw wrongState('Job must be in a final state to be deleted');
    this.jobs.delete(id);
  }

  /** Answers a page of results; `locator` is where the page before it ended. */
  results(id: string, params: URLSearchParams, version: string): BulkResults {
    const job = this.#job(id);
    if (version !== job.version)
      throw new SalesforceRefusal(409, 'API_ERROR', `Results must be read by version ${job.version}`);
    if (!job.rows) throw wrongState(`Results of a job in state ${job.state} are not available`);
    const locator = params.get('locator');
    const start = locator === null ? 0 : startOf(locator);
    if (start === null || (start > 0 && start >= job.rows.length))
      throw new SalesforceRefusal(400, 'INVALID_QUERY_LOCATOR', 'invalid query locator');
    const asked = params.get('maxRecords');
    if (asked !== null && !/^[1-9]\d*$/.test(asked)) throw new SalesforceRefusal(400, 'API_ERROR', 'bad maxRecords');
    const end = Math.min(job.rows.length, start + Math.min(this.#pageRows, Number(asked ?? Infinity)));
    return {
      parts: csvParts(job, job.rows, start, end),
      headers: {
        'sforce-locator': end < job.rows.length ? locatorOf(end) : 'null',
        'sforce-numberofrecords': String(end - start),
      },
    };
  }

  #job(id: string): BulkJob {
    const job = this.jobs.get(id);
    if (!job || job.created + KEPT_MS <= this.#records.now()) throw noResource();
    return job;
  }

  #advance(job: BulkJob): void {
    job.changed = this.#records.now();
    job.looksLeft -= 1;
    if (job.looksLeft >= 0) {
      job.state = 'InProgress';
      return;
    }
    const failure = this.failures.shift();
    if (failure !== undefined) {
      job.errorMessage = failure;
      this.#end(job, 'Failed');
      return;
    }
    job.rows = rowsOf(this.#records, job.parsed, job.operation === 'queryAll');
    this.#end(job, 'JobComplete');
  }

  #end(job: BulkJob, state: State): void {
    job.state = state;
    job.changed = this.#records.now();
  }
}

const locatorOf = (start: number) => Buffer.from(`row ${start}`).toString('base64url');

function startOf(locator: string): number | null {
  const start = /^row (\d+)$/.exec(Buffer.from(locator, 'base64url').toString())?.[1];
  return start === undefined ? null : Number(start);
}

function shownJob(job: BulkJob) {
  const { id, operation, parsed, state, version, lineEnding, columnDelimiter, errorMessage, rows } = job;
  return {
    id,
    operation,
    object: parsed.type.name,
    createdById: '0055f0000000001AAA',
    createdDate: timeText(job.created),
    systemModstamp: timeText(job.changed),
    state,
    concurrencyMode: 'Parallel',
    contentType: 'CSV',
    apiVersion: Number(version),
    jobType: 'V2Query',
    lineEnding,
    columnDelimiter,
    ...(state === 'UploadComplete' ? {} : { numberRecordsProcessed: rows?.length ?? 0, retries: 0 }),
    ...(state === 'JobComplete' ? { totalProcessingTime: job.changed - job.created } : {}),
    ...(errorMessage === null ? {} : { errorMessage }),
  };
}

/** Returns a page in parts of some hundred rows, made as they are read; the first begins with the names. */
function* csvParts({ parsed, columnDelimiter, lineEnding }: BulkJob, rows: Rows, start: number, end: number) {
  const delimiter = DELIMITERS[columnDelimiter];
  const newline = LINE_ENDINGS[lineEnding];
  const columns = parsed.fields.map((field) => ({ field, read: reader(parsed.type, field) }));
  let part = parsed.fields.map(({ name }) => `"${name}"`).join(delimiter) + newline;
  for (let index = start; index < end; index += 1) {
    const record = rows.at(index);
    if (record) {
      for (let at = 0; at < columns.length; at += 1)
        part += (at === 0 ? '' : delimiter) + csvOf(columns[at]!.field, columns[at]!.read(record));
      part += newline;
    }
    if ((index - start) % ROWS_PER_PART !== ROWS_PER_PART - 1) continue;
    yield part;
    part = '';
  }
  if (part !== '') yield part;
}
