/**
 * A server with Salesforce's REST API on loopback, that refuses what Salesforce refuses: tokens, rights, queries,
 * limits, values. The facts are those of its public documentation of v67.0; no live org was asked.
 */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { onFileEnd } from '../core/clean-up.ts';
import { type BulkJob, SalesforceBulk } from './salesforce-bulk.ts';
import { type Collections, deleteByIds, upsert, writeById } from './salesforce-collections.ts';
import { describedField, type SalesforceField, type Values } from './salesforce-fields.ts';
import { type ClientApp, SalesforceLimits, type SalesforceLimitSettings } from './salesforce-limits.ts';
import { SalesforceQueries } from './salesforce-queries.ts';
import {
  noResource,
  type ObjectType,
  SalesforceRecords,
  SalesforceRefusal,
  type StoredRecord,
  visibleFields,
} from './salesforce-records.ts';

type Call = { method: string; path: string; query: string; status: number; at: number; body: string };
type Replacement = (request: IncomingMessage, response: ServerResponse) => void;
type Matches = (call: { method: string; path: string }) => boolean;

type SalesforceSettings = {
  tls?: { key: string; cert: string };
  /** How long each answer takes at least. */
  delayMs?: number;
  /** The clock of records, the bin, jobs and limits, in ms. */
  now?: () => number;
  limits?: Partial<SalesforceLimitSettings>;
  /** How long after its stamp a change shows. */
  lagMs?: number;
  /** Maximum of rows in a page of a query. */
  pageRows?: number;
  /** Maximum of rows in a page of a Bulk job's results. */
  bulkPageRows?: number;
  /** How many looks at a Bulk job see it at work. */
  bulkLooks?: number;
  /** Status of an answer to a locator that is lost. */
  lostLocatorStatus?: 400 | 404;
  /** Collections fail the record for a value of the wrong JSON type; otherwise they refuse the call. */
  typeErrorsByRecord?: boolean;
  versions?: string[];
};

type SaveOptions = {
  id?: string;
  at?: number;
  /** How long after `at` it shows. */
  lagMs?: number;
};

export type SalesforceServer = {
  url: string;
  app: ClientApp;
  limits: SalesforceLimitSettings;
  /** In the order they came; `at` in real ms, `query` without `?`, `status` 0 until it is answered. */
  calls: Call[];
  /** The address in answers to token requests; null: this server's. */
  instanceUrl: string | null;
  /** The earliest time that `/sobjects/X/deleted` names, in ms; null: 15 days ago. */
  earliestDateAvailable: number | null;
  expireTokens(): void;
  loseLocators(): void;
  /** Creates or changes a record, unchecked, and returns its id; null clears, a deleted record is restored. */
  put(object: string, values: Values, options?: SaveOptions): string;
  putMany(object: string, rows: Iterable<Values>, at?: number): string[];
  delete(object: string, id: string, at?: number): void;
  undelete(object: string, id: string, at?: number): void;
  /** Deletes past the bin. */
  erase(object: string, id: string): void;
  /** Merges the loser into the winner, whose values go first. */
  merge(object: string, winner: string, loser: string, at?: number): void;
  /** A system change: `SystemModstamp` alone moves. */
  touch(object: string, id: string, at?: number): void;
  /** Changes values of formulas: no date moves. */
  recalculate(object: string, id: string, values: Values): void;
  /** Has an object hold this many records more, made as they are read; `row` returns the values of the n-th. */
  generate(object: string, count: number, row: (n: number) => Values, at?: number): void;
  field(object: string, field: SalesforceField): void;
  removeField(object: string, name: string): void;
  /** Field-level security: hides a field from the user, or shows it again. */
  hide(object: string, name: string, isHidden?: boolean): void;
  customObject(name: string, fields: SalesforceField[]): void;
  /** Takes or gives rights on an object. */
  rights(object: string, rights: Partial<ObjectType['rights']>): void;
  /** Adds a validation rule; a message of its refuses the record. */
  validate(object: string, rule: (values: Readonly<Values>) => string | null): void;
  /** Fails the next `times` records that match so, in collections. */
  failRecords(
    error: { statusCode: string; message?: string; fields?: string[] },
    options?: { matches?: (values: Readonly<Values>, id: string | undefined) => boolean; times?: number },
  ): void;
  /** Has the next Bulk jobs fail with this message. */
  failJobs(errorMessage: string, times?: number): void;
  /** Bulk jobs that are not deleted, by id, in the order they began. */
  jobs: Map<string, BulkJob>;
  records(object: string): Map<string, StoredRecord>;
  /** Has the next `times` requests that match answered so, before anything is checked; their bodies are read. */
  next(matches: Matches, answer: Replacement, times?: number): void;
  /** Ends the connection of the next answers that match once they have sent this many bytes. */
  cut(matches: Matches, bytes: number, times?: number): void;
};

/** Answers for `next`: what a server in trouble, or something before it, says. */
export const salesforceAnswers = {
  refusal: (status: number, errorCode: string, message: string) => answer(status, [{ message, errorCode }]),
  concurrentLimit: () =>
    answer(403, [
      {
        message: 'ConcurrentRequests (Concurrent API Requests) Limit exceeded.',
        errorCode: 'REQUEST_LIMIT_EXCEEDED',
      },
    ]),
  unavailable: () => answer(503, [{ message: 'Server unavailable', errorCode: 'SERVER_UNAVAILABLE' }]),
  tooMany: () => answer(429, [{ message: 'Too many requests', errorCode: 'TOO_MANY_REQUESTS' }]),
  html: () => answer(200, '<html><body>Salesforce is under maintenance</body></html>', 'text/html;charset=UTF-8'),
  truncated: () => answer(200, '{"totalSize":1,"done":true,"records":[{"attr'),
  redirect: (location: string) => answer(302, '', 'text/html', { location }),
};

function answer(
  status: number,
  body: unknown,
  type = 'application/json;charset=UTF-8',
  headers: object = {},
): Replacement {
  return (_request, response) => {
    response
      .writeHead(status, { 'content-type': type, ...headers })
      .end(typeof body === 'string' ? body : JSON.stringify(body));
  };
}

type Planned = { matches: Matches; left: number };

/** Returns what is planned for a call, and counts it as used. */
function take<T extends Planned>(planned: T[], call: Call): T | undefined {
  const found = planned.find(({ matches, left }) => left > 0 && matches(call));
  if (found) found.left -= 1;
  return found;
}

/** Starts the server. It ends with the test file. */
export async function salesforceServer(settings: SalesforceSettings = {}): Promise<SalesforceServer> {
  const { now = Date.now, delayMs = 0 } = settings;
  const records = new SalesforceRecords(now, settings.lagMs ?? 0);
  const limits = new SalesforceLimits(now, settings.limits ?? {});
  const replacements: (Planned & { answer: Replacement })[] = [];
  const cuts: (Planned & { bytes: number })[] = [];
  const calls: Call[] = [];
  const collections: Collections = { records, failures: [], typeErrorsByRecord: settings.typeErrorsByRecord ?? false };
  const bulk = new SalesforceBulk(records, settings.bulkPageRows ?? Infinity, settings.bulkLooks ?? 1);
  const queries = new SalesforceQueries(records, settings.pageRows ?? Infinity, settings.lostLocatorStatus ?? 400);

  const answerRequest = async (request: IncomingMessage, response: ServerResponse) => {
    const { method = '', url: target = '' } = request;
    const [path = '', query = ''] = target.split('?');
    const call: Call = { method, path, query, status: 0, at: Date.now(), body: '' };
    calls.push(call);
    response.on('close', () => {
      if (response.headersSent) call.status = response.statusCode;
    });
    call.body = Buffer.concat(await request.toArray()).toString();
    if (delayMs > 0) await delay(delayMs);
    const replacement = take(replacements, call);
    if (replacement) {
      replacement.answer(request, response);
      if (response.headersSent) call.status = response.statusCode;
      return;
    }
    const answered = await answerCall(api, call, request);
    call.status = answered.status;
    await send(response, answered, take(cuts, call)?.bytes ?? Infinity);
  };
  const url = await listen(settings.tls, (request, response) => {
    answerRequest(request, response).catch(() => request.socket.destroy());
  });
  const server: SalesforceServer = {
    url,
    app: limits.app,
    limits: limits.settings,
    calls,
    instanceUrl: null,
    earliestDateAvailable: null,
    expireTokens: () => limits.expire(),
    loseLocators: () => queries.lose(),
    ...recordMethods(records),
    failRecords({ statusCode, message = statusCode, fields = [] }, { matches = () => true, times = 1 } = {}) {
      collections.failures.push({ matches, error: { statusCode, message, fields }, left: times });
    },
    jobs: bulk.jobs,
    failJobs(errorMessage, times = 1) {
      bulk.failures.push(...Array.from({ length: times }, () => errorMessage));
    },
    next(matches, answered, times = 1) {
      replacements.push({ matches, answer: answered, left: times });
    },
    cut(matches, bytes, times = 1) {
      cuts.push({ matches, bytes, left: times });
    },
  };
  const api: Api = { server, records, limits, queries, bulk, collections, versions: settings.versions ?? VERSIONS };
  return server;
}

/** Returns the address at which requests are listened for. */
async function listen(
  tls: SalesforceSettings['tls'],
  listener: (request: IncomingMessage, response: ServerResponse) => void,
): Promise<string> {
  // Node refuses long URLs by itself; here it is Salesforce that does.
  const maxHeaderSize = 262_144;
  const server = tls ? createTlsServer({ ...tls, maxHeaderSize }, listener) : createServer({ maxHeaderSize }, listener);
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
  });
  server.on('tlsClientError', () => undefined);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onFileEnd(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise<void>((resolve) => {
      server.close(() => resolve());
    });
  });
  return `${tls ? 'https://localhost' : 'http://127.0.0.1'}:${(server.address() as AddressInfo).port}`;
}

type Answered = {
  status: number;
  json?: unknown;
  /** Instead of `json`: a body in parts, written as fast as it is read. */
  parts?: Iterable<string>;
  contentType?: string;
  headers?: Record<string, string>;
};

/** Sends an answer; ends the connection after `bytes` of its body. */
async function send(response: ServerResponse, answered: Answered, bytes: number): Promise<void> {
  const { status, json, parts, contentType = 'application/json;charset=UTF-8', headers = {} } = answered;
  const body = json === undefined ? '' : JSON.stringify(json);
  response.writeHead(status, {
    ...(body === '' && !parts ? {} : { 'content-type': contentType }),
    ...(parts ? {} : { 'content-length': Buffer.byteLength(body) }),
    ...headers,
  });
  const closed = new AbortController();
  response.once('close', () => closed.abort());
  let left = bytes;
  for (const part of parts ?? [body]) {
    const piece = Buffer.from(part);
    if (piece.length > left) {
      response.write(piece.subarray(0, left), () => response.socket?.destroy());
      return;
    }
    left -= piece.length;
    if (!response.write(piece)) await once(response, 'drain', { signal: closed.signal }).catch(() => undefined);
    if (response.destroyed) return;
  }
  response.end();
}

type RecordMethods = Omit<
  SalesforceServer,
  | 'url'
  | 'app'
  | 'limits'
  | 'calls'
  | 'instanceUrl'
  | 'earliestDateAvailable'
  | 'expireTokens'
  | 'loseLocators'
  | 'failRecords'
  | 'failJobs'
  | 'jobs'
  | 'next'
  | 'cut'
>;

function recordMethods(records: SalesforceRecords): RecordMethods {
  const type = (name: string) => records.type(name);
  return {
    put: (object, values, { id, ...options } = {}) => records.save(type(object), id, values, options).id,
    putMany: (object, rows, at = records.now()) =>
      Array.from(rows, (values) => records.save(type(object), undefined, values, { at }).id),
    delete: (object, id, at) => records.delete(type(object), id, at),
    undelete: (object, id, at) => records.undelete(type(object), id, at),
    erase: (object, id) => records.erase(type(object), id),
    merge: (object, winner, loser, at) => records.merge(type(object), winner, loser, at),
    touch: (object, id, at) => records.touch(type(object), id, at),
    recalculate: (object, id, values) => records.recalculate(type(object), id, values),
    generate(object, count, row, at = records.now()) {
      type(object).generated = { count, row, stamp: Math.floor(at / 1_000) * 1_000 };
      type(object).sorted = null;
    },
    field: (object, field) => records.define(type(object), field),
    removeField: (object, name) => records.undefine(type(object), name),
    hide(object, name, isHidden = true) {
      const { hidden } = type(object);
      if (isHidden) hidden.add(name.toLowerCase());
      else hidden.delete(name.toLowerCase());
    },
    customObject(name, fields) {
      const nameField: SalesforceField = { name: 'Name', type: 'string', length: 80, nameField: true };
      records.addType(name, `a0${records.types.length}`, [nameField, ...fields]);
    },
    rights: (object, rights) => Object.assign(type(object).rights, rights),
    validate: (object, rule) => type(object).rules.push(rule),
    records: (object) => type(object).records,
  };
}

type Api = {
  server: SalesforceServer;
  records: SalesforceRecords;
  limits: SalesforceLimits;
  queries: SalesforceQueries;
  bulk: SalesforceBulk;
  collections: Collections;
  versions: string[];
};

const VERSIONS = ['65.0', '66.0', '67.0'];

/** Returns the answer to a call, refusals among them. */
async function answerCall(api: Api, call: Call, request: IncomingMessage): Promise<Answered> {
  const { limits, server } = api;
  const { urlBytes, urlStatus } = limits.settings;
  if (request.url!.length > urlBytes)
    return { status: urlStatus, parts: [`<h1>${urlStatus} URI too long</h1>`], contentType: 'text/html' };
  if (call.path === '/services/oauth2/token' && call.method === 'POST') {
    const isForm = request.headers['content-type']?.startsWith('application/x-www-form-urlencoded') ?? false;
    return limits.grantToken(new URLSearchParams(isForm ? call.body : ''), server.instanceUrl ?? server.url);
  }
  if (/^\/services\/data\/?$/.test(call.path)) {
    const json = api.versions.map((version) => ({
      label: `Release ${version}`,
      url: `/services/data/v${version}`,
      version,
    }));
    return { status: 200, json };
  }
  try {
    limits.authenticate(request.headers.authorization);
    limits.admit();
    const answered = routed(api, call, request);
    return { ...answered, headers: { ...limits.headers(), ...answered.headers } };
  } catch (error) {
    if (!(error instanceof SalesforceRefusal)) throw error;
    const json = [{ message: error.message, errorCode: error.errorCode }];
    return { status: error.status, json, headers: limits.headers() };
  }
}

function routed(api: Api, call: Call, request: IncomingMessage): Answered {
  const [, version = '', path = ''] = /^\/services\/data\/v(\d+\.\d)(\/[^?]*)$/.exec(call.path) ?? [];
  if (!api.versions.includes(version)) throw noResource();
  for (const route of ROUTES) {
    const found = route.method === call.method ? route.path.exec(path) : null;
    if (!found) continue;
    const parts = found.slice(1).map((part) => decodeURIComponent(part ?? ''));
    const query = new URLSearchParams(call.query);
    return route.answer(api, { version, query, body: bodyOf(call, request), parts, headers: request.headers });
  }
  throw noResource();
}

/** Numbers that a double would change stay text. */
function bodyOf({ method, body }: Call, request: IncomingMessage): unknown {
  if (method !== 'POST' && method !== 'PATCH') return undefined;
  if (!request.headers['content-type']?.startsWith('application/json'))
    throw new SalesforceRefusal(415, 'UNSUPPORTED_MEDIA_TYPE', 'Content type is not supported');
  type Reviver = (key: string, value: unknown, context: { source?: string }) => unknown;
  const revive: Reviver = (_key, value, { source }) =>
    typeof value === 'number' && source !== undefined && String(value) !== source ? source : value;
  try {
    return JSON.parse(body, revive as (key: string, value: unknown) => unknown);
  } catch {
    throw new SalesforceRefusal(400, 'JSON_PARSER_ERROR', `Unexpected content: ${body.slice(0, 100)}`);
  }
}

type Asked = {
  version: string;
  query: URLSearchParams;
  body: unknown;
  parts: string[];
  headers: IncomingMessage['headers'];
};
type Route = { method: 'GET' | 'POST' | 'PATCH' | 'DELETE'; path: RegExp; answer(api: Api, asked: Asked): Answered };

const ok = (json: unknown): Answered => ({ status: 200, json });
const optionsOf = ({ headers }: Asked) => headers['sforce-query-options']?.toString();

const ROUTES: Route[] = [
  {
    method: 'GET',
    path: /^\/(query|queryAll)\/?$/,
    answer({ queries }, asked) {
      const { query, parts, version } = asked;
      const text = query.get('q');
      if (text === null) throw new SalesforceRefusal(400, 'MALFORMED_QUERY', 'SOQL query is required');
      return { status: 200, parts: [queries.first(text, parts[0] === 'queryAll', version, optionsOf(asked))] };
    },
  },
  {
    method: 'GET',
    path: /^\/(?:query|queryAll)\/([^/]+)$/,
    answer: ({ queries }, asked) => ({ status: 200, parts: [queries.next(asked.parts[0]!, optionsOf(asked))] }),
  },
  {
    method: 'GET',
    path: /^\/sobjects\/?$/,
    answer({ records }, { version }) {
      const sobjects = records.types.filter(({ rights }) => rights.readable).map((type) => shownObject(type, version));
      return ok({ encoding: 'UTF-8', maxBatchSize: 200, sobjects });
    },
  },
  {
    method: 'GET',
    path: /^\/sobjects\/([^/]+)\/describe\/?$/,
    answer({ records }, { version, parts }) {
      const type = records.readable(parts[0]!);
      if (!type) throw noResource();
      return ok({
        ...shownObject(type, version),
        fields: visibleFields(type).map(describedField),
        recordTypeInfos: [],
      });
    },
  },
  {
    method: 'GET',
    path: /^\/sobjects\/([^/]+)\/deleted\/?$/,
    answer: ({ queries, server }, { parts, query }) =>
      ok(queries.deleted(parts[0]!, query, server.earliestDateAvailable)),
  },
  {
    method: 'POST',
    path: /^\/jobs\/query\/?$/,
    answer: ({ bulk }, { body, version }) => ok(bulk.begin(body, version)),
  },
  { method: 'GET', path: /^\/jobs\/query\/?$/, answer: ({ bulk }) => ok(bulk.list()) },
  { method: 'GET', path: /^\/jobs\/query\/(\w+)$/, answer: ({ bulk }, { parts }) => ok(bulk.look(parts[0]!)) },
  {
    method: 'PATCH',
    path: /^\/jobs\/query\/(\w+)$/,
    answer: ({ bulk }, { parts, body }) => ok(bulk.abort(parts[0]!, body)),
  },
  {
    method: 'DELETE',
    path: /^\/jobs\/query\/(\w+)$/,
    answer({ bulk }, { parts }) {
      bulk.delete(parts[0]!);
      return { status: 204 };
    },
  },
  {
    method: 'GET',
    path: /^\/jobs\/query\/(\w+)\/results$/,
    answer: ({ bulk }, { parts, query, version }) => ({
      status: 200,
      contentType: 'text/csv',
      ...bulk.results(parts[0]!, query, version),
    }),
  },
  { method: 'GET', path: /^\/limits\/?$/, answer: ({ limits }) => ok(limits.shown()) },
  {
    method: 'PATCH',
    path: /^\/composite\/sobjects\/([^/]+)\/([^/]+)$/,
    answer: ({ collections }, { parts, body }) => ok(upsert(collections, parts[0]!, parts[1]!, body)),
  },
  {
    method: 'POST',
    path: /^\/composite\/sobjects\/?$/,
    answer: ({ collections }, { body }) => ok(writeById(collections, 'insert', body)),
  },
  {
    method: 'PATCH',
    path: /^\/composite\/sobjects\/?$/,
    answer: ({ collections }, { body }) => ok(writeById(collections, 'update', body)),
  },
  {
    method: 'DELETE',
    path: /^\/composite\/sobjects\/?$/,
    answer({ collections }, { query }) {
      const ids = (query.get('ids') ?? '').split(',').filter(Boolean);
      return ok(deleteByIds(collections, ids, query.get('allOrNone') === 'true'));
    },
  },
];

function shownObject({ name, prefix, custom, rights }: ObjectType, version: string) {
  const base = `/services/data/v${version}/sobjects/${name}`;
  return {
    name,
    label: name,
    labelPlural: name,
    keyPrefix: prefix,
    custom,
    queryable: rights.readable,
    retrieveable: rights.readable,
    createable: rights.createable,
    updateable: rights.updateable,
    deletable: rights.deletable,
    undeletable: rights.deletable,
    replicateable: true,
    mergeable: !custom,
    searchable: true,
    layoutable: true,
    triggerable: true,
    deprecatedAndHidden: false,
    customSetting: false,
    urls: { sobject: base, describe: `${base}/describe`, rowTemplate: `${base}/{ID}` },
  };
}
