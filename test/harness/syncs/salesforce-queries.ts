/** Salesforce's answers to queries: pages of 2,000 with locators, and the list of deleted records. */
import { DAY_MS, MINUTE_MS } from '../../../domain/time/durations.ts';
import { jsonOf, timeText } from './salesforce-fields.ts';
import {
  BIN_MS,
  noResource,
  reader,
  type Rows,
  type SalesforceRecords,
  SalesforceRefusal,
  type StoredRecord,
  visibleField,
} from './salesforce-records.ts';
import { countSoql, parseSoql, type Query, rowsOf } from './salesforce-soql.ts';

/** A query whose pages are still to come. */
type OpenQuery = { query: Query; rows: Rows; version: string };

const MAX_PAGE = 2_000;
const MIN_PAGE = 200;
/** Open queries of a user; the oldest ends when another begins. */
const MAX_OPEN = 10;
const MAX_DELETED = 600_000;

export class SalesforceQueries {
  readonly #records: SalesforceRecords;
  readonly #pageRows: number;
  readonly #lostStatus: 400 | 404;
  readonly #open = new Map<string, OpenQuery>();
  #next = 1;

  constructor(records: SalesforceRecords, pageRows: number, lostStatus: 400 | 404) {
    this.#records = records;
    this.#pageRows = pageRows;
    this.#lostStatus = lostStatus;
  }

  /** Loses all locators. */
  lose(): void {
    this.#open.clear();
  }

  /** Answers a query. `options`: the header `Sforce-Query-Options`. */
  first(text: string, isAll: boolean, version: string, options: string | undefined): string {
    const query = parseSoql(this.#records, text);
    if (query.fields.length === 0) {
      const totalSize = countSoql(this.#records, query, isAll);
      return JSON.stringify({ totalSize, done: true, records: [] });
    }
    const rows = rowsOf(this.#records, query, isAll);
    const locator = `01g5f${String(this.#next).padStart(13, '0')}`;
    this.#next += 1;
    return this.#page(locator, { query, rows, version }, 0, options);
  }

  /** Answers the page of a locator: `<id>-<number of the first row>`. */
  next(locator: string, options: string | undefined): string {
    const [, id = '', start = ''] = /^(\w+)-(\d+)$/.exec(locator) ?? [];
    const open = this.#open.get(id);
    if (!open || Number(start) >= open.rows.length)
      throw new SalesforceRefusal(this.#lostStatus, 'INVALID_QUERY_LOCATOR', 'invalid query locator');
    return this.#page(id, open, Number(start), options);
  }

  #page(id: string, open: OpenQuery, start: number, options: string | undefined): string {
    const { rows, query, version } = open;
    const asked = Number(/batchSize=(\d+)/i.exec(options ?? '')?.[1] ?? MAX_PAGE);
    const size = Math.min(this.#pageRows, Math.max(MIN_PAGE, Math.min(MAX_PAGE, asked)));
    const end = Math.min(rows.length, start + size);
    const isDone = end === rows.length;
    this.#open.delete(id);
    this.#open.set(id, open);
    if (isDone && start === 0) this.#open.delete(id);
    else if (this.#open.size > MAX_OPEN) this.#open.delete(this.#open.keys().next().value!);
    const shown: string[] = [];
    const show = rowJson(query, version);
    for (let index = start; index < end; index += 1) {
      const record = rows.at(index);
      if (record) shown.push(show(record));
    }
    const next = isDone ? '' : `"nextRecordsUrl":"/services/data/v${version}/query/${id}-${end}",`;
    return `{"totalSize":${rows.length},"done":${isDone},${next}"records":[${shown.join()}]}`;
  }

  /** Answers `/sobjects/X/deleted`: ids of the last 15 days, with the bounds of what it knows. */
  deleted(name: string, params: URLSearchParams, earliest: number | null): object {
    const type = this.#records.readable(name);
    if (!type) throw noResource();
    const now = this.#records.now();
    const [start, end] = ['start', 'end'].map((param) => Date.parse(params.get(param) ?? '')) as [number, number];
    const invalid = (message: string) => new SalesforceRefusal(400, 'INVALID_REPLICATION_DATE', message);
    if (Number.isNaN(start) || Number.isNaN(end)) throw invalid('start and end must be dates of ISO 8601');
    if (end - start <= MINUTE_MS) throw invalid('endDate must be more than one minute after startDate');
    if (start < now - 30 * DAY_MS) throw invalid('startDate cannot be more than 30 days ago');
    const since = Math.max(start, now - BIN_MS);
    const found = [...type.deletions].filter(([id, at]) => {
      const record = type.records.get(id);
      return at >= since && at <= end && (!record || record.deletedAt !== null);
    });
    if (found.length > MAX_DELETED) throw new SalesforceRefusal(400, 'EXCEEDED_ID_LIMIT', 'too many deleted records');
    return {
      deletedRecords: found.map(([id, at]) => ({ id, deletedDate: timeText(at) })),
      earliestDateAvailable: timeText(earliest ?? now - BIN_MS),
      latestDateCovered: timeText(Math.floor(Math.min(end, now) / MINUTE_MS) * MINUTE_MS),
    };
  }
}

/** Returns how a record is written. A field that went while the query was open is absent. */
function rowJson({ type, fields }: Query, version: string): (record: StoredRecord) => string {
  const columns = fields
    .filter(({ name }) => visibleField(type, name))
    .map((field) => ({ key: `,${JSON.stringify(field.name)}:`, field, read: reader(type, field) }));
  return (record) => {
    const url = `/services/data/v${version}/sobjects/${type.name}/${record.id}`;
    let json = `{"attributes":{"type":"${type.name}","url":"${url}"}`;
    for (const { key, field, read } of columns) json += key + jsonOf(field, read(record));
    return `${json}}`;
  };
}
