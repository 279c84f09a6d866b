/**
 * A server with HubSpot's API of 2026-09 on loopback, that refuses what HubSpot refuses: scopes, tokens, limits, pages,
 * values. Also answers under the older paths (/crm/v3, /crm/v4, /oauth/v1), which HubSpot's own client asks.
 */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { onFileEnd } from '../core/clean-up.ts';
import { type Answered, answerBatch, type BatchAction, written } from './hubspot-batches.ts';
import { HubSpotLimits, type HubSpotLimitSettings } from './hubspot-limits.ts';
import {
  type HubSpotProperty,
  type HubSpotRecord,
  HubSpotRecords,
  HubSpotRefusal,
  invalid,
  type ObjectType,
  shownProperties,
  shownProperty,
  shownRecord,
} from './hubspot-records.ts';
import { lowerBound, search } from './hubspot-search.ts';

type Call = { method: string; path: string; query: string; status: number; at: number; body: string };
type Replacement = (request: IncomingMessage, response: ServerResponse) => void;

type HubSpotSettings = {
  tls?: { key: string; cert: string };
  /** How long each answer takes at least. */
  delayMs?: number;
  /** The clock of records, search, tokens and the day, in ms. Windows of seconds count real time. */
  now?: () => number;
  /** The time zone of the account, by which its day ends. */
  timeZone?: string;
  scopes?: string[];
  limits?: HubSpotLimitSettings;
  /** How long after its last change a record is found by search. */
  searchLagMs?: number;
  /** A batch/upsert answers 207 with an error by record; otherwise 400 for all. */
  multiStatusUpsert?: boolean;
  /** Each access token comes with a new refresh token, and the old one ends. */
  rotatesRefreshToken?: boolean;
};

export type HubSpotServer = {
  url: string;
  /** A Service Key. */
  key: string;
  oauth: { clientId: string; clientSecret: string; refreshToken: string };
  /** In the order they came; `at` in real ms, `query` without `?`, `status` 0 until it is answered. */
  calls: Call[];
  /** Creates or changes a record, unchecked, and returns its id; null clears, an archived record is restored. */
  put(type: string, properties: Record<string, string | null>, options?: { id?: string; at?: number }): string;
  putMany(type: string, rows: Iterable<Record<string, string | null>>, at?: number): string[];
  archive(type: string, id: string): void;
  /** As by a GDPR request: nothing is left. */
  erase(type: string, id: string): void;
  /**
   * Returns the id of the record that is left: a new one (HubSpot's changelog, "Updated merge functionality for
   * contacts and companies"), or with `keepsId` the winner. Calls with the ended ids reach it; lists and search have
   * it alone.
   */
  merge(type: string, winner: string, loser: string, options?: { keepsId?: boolean }): string;
  associate(contactId: string, companyId: string): void;
  property(type: string, definition: HubSpotProperty): void;
  removeProperty(type: string, name: string): void;
  /** Returns its objectTypeId; paths take it, the name and the qualified name. */
  customObject(name: string, schema?: { properties?: HubSpotProperty[]; required?: string[] }): string;
  scopes: Set<string>;
  records(type: string): Map<string, HubSpotRecord>;
  /** Has the next `times` requests that match answered so, before anything is checked; their bodies are read. */
  next(matches: (call: { method: string; path: string }) => boolean, answer: Replacement, times?: number): void;
};

const ALL_SCOPES = [
  'oauth',
  'crm.objects.contacts.read',
  'crm.objects.contacts.write',
  'crm.objects.companies.read',
  'crm.objects.companies.write',
  'crm.objects.custom.read',
  'crm.objects.custom.write',
  'crm.schemas.custom.read',
];

/** Starts the server. It ends with the test file. */
export async function hubspotServer(settings: HubSpotSettings = {}): Promise<HubSpotServer> {
  const { tls, delayMs = 0, now = Date.now } = settings;
  const records = new HubSpotRecords(now);
  const scopes = new Set(settings.scopes ?? ALL_SCOPES);
  const limits = new HubSpotLimits({ ...settings, now });
  const calls: Call[] = [];
  const replacements: { matches: (call: Call) => boolean; answer: Replacement; left: number }[] = [];
  let url = '';
  const api: Api = { records, scopes, limits, settings, now, url: () => url };

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
    const replacement = replacements.find(({ matches, left }) => left > 0 && matches(call));
    if (replacement) {
      replacement.left -= 1;
      replacement.answer(request, response);
      if (response.headersSent) call.status = response.statusCode;
      return;
    }
    const { status, json, headers = {} } = answered(api, call, request);
    const isHtml = typeof json === 'string';
    const body = isHtml ? json : json === undefined ? '' : JSON.stringify(json);
    const type = isHtml ? 'text/html' : 'application/json;charset=utf-8';
    call.status = status;
    response
      .writeHead(status, {
        'content-type': type,
        'content-length': Buffer.byteLength(body),
        date: new Date(now()).toUTCString(),
        ...headers,
      })
      .end(body);
  };
  const listener = (request: IncomingMessage, response: ServerResponse) => {
    answerRequest(request, response).catch(() => request.socket.destroy());
  };
  // Node refuses long URLs by itself; here it is HubSpot that does.
  const server = tls
    ? createTlsServer({ ...tls, maxHeaderSize: 262_144 }, listener)
    : createServer({ maxHeaderSize: 262_144 }, listener);
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
  url = `${tls ? 'https://localhost' : 'http://127.0.0.1'}:${(server.address() as AddressInfo).port}`;
  return {
    url,
    key: limits.key,
    oauth: limits.oauth,
    calls,
    scopes,
    ...recordMethods(records, now),
    next(matches, answer, times = 1) {
      replacements.push({ matches, answer, left: times });
    },
  };
}

type RecordMethods = Omit<HubSpotServer, 'url' | 'key' | 'oauth' | 'calls' | 'scopes' | 'next'>;

function recordMethods(records: HubSpotRecords, now: () => number): RecordMethods {
  const save = (name: string, properties: Record<string, string | null>, id: string | undefined, at: number) => {
    const type = records.type(name);
    const unknown = Object.keys(properties).find((property) => !type.properties.has(property));
    if (unknown !== undefined) throw new Error(`${name} have no property ${unknown}: define it with property()`);
    return records.save(type, id, properties, at).id;
  };
  return {
    put: (name, properties, { id, at = now() } = {}) => save(name, properties, id, at),
    putMany: (name, rows, at = now()) => Array.from(rows, (row) => save(name, row, undefined, at)),
    archive: (name, id) => records.archive(records.type(name), id),
    erase: (name, id) => records.erase(records.type(name), id),
    merge: (name, winner, loser, { keepsId = false } = {}) =>
      records.merge(records.type(name), winner, loser, keepsId).id,
    associate: (contactId, companyId) => records.associate(contactId, companyId),
    property: (name, definition) => records.define(records.type(name), definition),
    removeProperty: (name, property) => records.undefine(records.type(name), property),
    customObject: (name, { properties = [], required = [] } = {}) =>
      records.addType(name, properties, required).objectTypeId,
    records: (name) => records.type(name).records,
  };
}

type Api = {
  records: HubSpotRecords;
  scopes: Set<string>;
  limits: HubSpotLimits;
  settings: HubSpotSettings;
  now: () => number;
  url: () => string;
};
type Headers = Record<string, string>;

/** Returns the answer to a call, refusals among them. */
function answered(api: Api, call: Call, request: IncomingMessage): Answered & { headers?: Headers } {
  const headers: Headers = {};
  try {
    if (request.url!.length > api.limits.urlBytes) return { status: 414, json: '<h1>414 Request-URI Too Large</h1>' };
    if (/^\/oauth\/(?:2026-09|v[13])\/token$/.test(call.path) && call.method === 'POST') {
      const isForm = request.headers['content-type']?.startsWith('application/x-www-form-urlencoded') ?? false;
      return api.limits.grantToken(isForm ? new URLSearchParams(call.body) : new URLSearchParams());
    }
    const token = api.limits.authenticate(request.headers.authorization);
    Object.assign(headers, api.limits.admit(token, call.path.endsWith('/search')));
    for (const route of ROUTES) {
      const found = route.method === call.method ? route.path.exec(call.path) : null;
      if (!found) continue;
      if (call.method === 'POST' && !request.headers['content-type']?.startsWith('application/json'))
        return {
          status: 415,
          json: new HubSpotRefusal(415, 'VALIDATION_ERROR', 'Unsupported Media Type').json(),
          headers,
        };
      const query = new URLSearchParams(call.query);
      return { headers, ...route.answer(api, { query, body: bodyOf(call), parts: found.slice(1) }) };
    }
    throw new HubSpotRefusal(404, 'OBJECT_NOT_FOUND', `Resource not found: ${call.method} ${call.path}`);
  } catch (error) {
    if (!(error instanceof HubSpotRefusal)) throw error;
    return { status: error.status, json: error.json(), headers: error.headers ?? headers };
  }
}

function bodyOf({ method, body }: Call): unknown {
  if (method !== 'POST') return undefined;
  try {
    return JSON.parse(body);
  } catch {
    throw invalid(`Invalid input JSON: ${body.slice(0, 100)}`);
  }
}

type Asked = { query: URLSearchParams; body: unknown; parts: (string | undefined)[] };
type Route = { method: 'GET' | 'POST'; path: RegExp; answer(api: Api, asked: Asked): Answered };

/** Live answers have another name for the missing scopes than HubSpot's specification. */
function checkScope(scopes: Set<string>, ...required: string[]): void {
  const names = required.some((scope) => scope.includes('companies')) ? 'new' : 'specified';
  const missingScopes = required.filter((scope) => !scopes.has(scope));
  if (missingScopes.length === 0) return;
  const message = 'One or more of the following scopes are required.';
  throw new HubSpotRefusal(403, 'MISSING_SCOPES', "The app hasn't been granted all scopes that this call requires.", {
    errors: [{ message, context: names === 'new' ? { requiredGranularScopes: missingScopes } : { missingScopes } }],
  });
}

const ROUTES: Route[] = [
  {
    method: 'GET',
    path: /^\/crm\/(?:objects\/2026-09|v3\/objects)\/([^/]+)$/,
    answer: (api, { query, parts }) => list(api, api.records.type(parts[0]!), query),
  },
  {
    method: 'POST',
    path: /^\/crm\/(?:objects\/2026-09|v3\/objects)\/([^/]+)\/search$/,
    answer({ records, scopes, now, settings: { searchLagMs = 0 } }, { body, parts }) {
      const type = records.type(parts[0]!);
      checkScope(scopes, `crm.objects.${type.scope}.read`);
      const { total, page, after, properties } = search(
        records,
        type,
        body,
        searchLagMs > 0 ? now() - searchLagMs : Infinity,
      );
      const names = shownProperties(type, properties);
      const results = page.map((record) => shownRecord(record, names));
      return { status: 200, json: { total, results, ...(after === null ? {} : { paging: { next: { after } } }) } };
    },
  },
  {
    method: 'POST',
    path: /^\/crm\/(?:objects\/2026-09|v3\/objects)\/([^/]+)\/batch\/(read|create|update|upsert|archive)$/,
    answer({ records, scopes, settings: { multiStatusUpsert = false } }, { query, body, parts }) {
      const [type, action] = [records.type(parts[0]!), parts[1] as BatchAction];
      checkScope(scopes, `crm.objects.${type.scope}.${action === 'read' ? 'read' : 'write'}`);
      const isArchived = query.get('archived') === 'true';
      return answerBatch(records, type, action, body, { isArchived, multiStatusUpsert });
    },
  },
  {
    method: 'GET',
    path: /^\/crm\/(?:properties\/2026-09|v3\/properties)\/([^/]+)$/,
    answer({ records, scopes }, { query, parts }) {
      const type = records.type(parts[0]!);
      checkScope(scopes, `crm.objects.${type.scope}.read`);
      const sensitivity = query.get('dataSensitivity') ?? 'non_sensitive';
      const shown = [...type.properties.values()].map(shownProperty);
      const results = shown.filter(({ dataSensitivity }) => dataSensitivity === sensitivity);
      return { status: 200, json: { results: query.get('archived') === 'true' ? [] : results } };
    },
  },
  {
    method: 'POST',
    path: /^\/crm\/(?:associations\/2026-09|v4\/associations)\/([^/]+)\/([^/]+)\/batch\/read$/,
    answer: (api, { body, parts }) => readAssociations(api, parts, body),
  },
  {
    method: 'GET',
    path: /^\/crm-object-schemas\/(?:2026-09|v3)\/schemas$/,
    answer({ records, scopes }) {
      if (!scopes.has('crm.schemas.custom.read')) checkScope(scopes, 'crm.objects.custom.read');
      return { status: 200, json: { results: records.types.filter(({ scope }) => scope === 'custom').map(schema) } };
    },
  },
  {
    method: 'GET',
    path: /^\/account-info\/(?:2026-09|v3)\/details$/,
    answer: ({ limits: { timeZone } }) => ({
      status: 200,
      json: { portalId: 7, accountType: 'STANDARD', timeZone, companyCurrency: 'EUR', additionalCurrencies: [] },
    }),
  },
  {
    method: 'GET',
    path: /^\/account-info\/(?:2026-09|v3)\/api-usage\/daily\/private-apps$/,
    answer: ({ limits }) => ({ status: 200, json: { results: [limits.usage()] } }),
  },
];

/** Answers a page of the list. Its link is a trap: a request for it is answered 410. */
function list({ records, scopes, url }: Api, type: ObjectType, query: URLSearchParams): Answered {
  if (query.has('followed')) throw new HubSpotRefusal(410, 'LINK_FOLLOWED', 'paging.next.link names an old version');
  checkScope(scopes, `crm.objects.${type.scope}.read`);
  const limit = Number(query.get('limit') ?? 10);
  const after = query.get('after') ?? '0';
  const max = query.has('propertiesWithHistory') ? 50 : 100;
  if (!(limit >= 1 && limit <= max)) throw invalid(`limit must be from 1 to ${max}`);
  if (!/^\d*$/.test(after)) throw invalid(`Invalid after: ${after}`);
  const isArchived = query.get('archived') === 'true';
  const all = isArchived
    ? [...type.records.values()].filter(({ archived }) => archived).toSorted((a, b) => a.number - b.number)
    : records.sorted(type).byId;
  const start = lowerBound(all, Number(after), ({ number }) => number);
  const asked = query.getAll('properties').flatMap((names) => names.split(','));
  const names = shownProperties(type, asked.filter(Boolean));
  const results = all.slice(start, start + limit).map((record) => shownRecord(record, names));
  const next = all[start + limit]?.id;
  if (next === undefined) return { status: 200, json: { results } };
  const link = `${url()}/crm/v3/objects/${type.name}?limit=${limit}&after=${next}&followed`;
  return { status: 200, json: { results, paging: { next: { after: next, link } } } };
}

/** Companies of one contact in a page. */
const ASSOCIATIONS = 100;

function readAssociations({ records, scopes }: Api, names: (string | undefined)[], body: unknown): Answered {
  const [from, to] = names.map((name) => records.type(name!));
  if (from!.name !== 'contacts' || to!.name !== 'companies') throw invalid('Only companies of contacts are played');
  checkScope(scopes, 'crm.objects.contacts.read', 'crm.objects.companies.read');
  const { inputs = [] } = (body ?? {}) as { inputs?: { id: string; after?: string }[] };
  if (inputs.length > 100) throw invalid('inputs must have at most 100 items');
  const [results, errors]: [object[], Parameters<typeof written>[2][number][]] = [[], []];
  for (const { id, after } of inputs) {
    const contact = records.find(from!, undefined, id);
    const all = contact ? (records.companiesOf.get(contact.id) ?? []) : [];
    const companies = [...new Set(all.flatMap((one) => records.find(to!, undefined, one)?.id ?? []))];
    const start = Number(after ?? 0);
    const end = start + ASSOCIATIONS;
    if (companies.length === 0) {
      const context = { fromObjectId: [id], fromObjectType: ['contact'], toObjectType: ['company'] };
      const subCategory = 'crm.associations.NO_ASSOCIATIONS_FOUND';
      const error = { category: 'OBJECT_NOT_FOUND', subCategory, message: `No company for contact ${id}`, context };
      errors.push(error);
      continue;
    }
    results.push({
      from: { id },
      to: companies.slice(start, end).map((toObjectId, index) => ({
        toObjectId,
        associationTypes: [
          ...(start + index === 0 ? [{ category: 'HUBSPOT_DEFINED', typeId: 1, label: 'Primary' }] : []),
          { category: 'HUBSPOT_DEFINED', typeId: 279, label: null },
        ],
      })),
      ...(end < companies.length ? { paging: { next: { after: String(end), link: '?followed' } } } : {}),
    });
  }
  return written(200, results, errors);
}

function schema({ name, objectTypeId, aliases, properties, required }: ObjectType) {
  return {
    id: objectTypeId.slice(2),
    name,
    objectTypeId,
    fullyQualifiedName: aliases[1],
    labels: { singular: name, plural: name },
    primaryDisplayProperty: [...properties.keys()][0],
    requiredProperties: required,
    searchableProperties: [],
    secondaryDisplayProperties: [],
    properties: [...properties.values()].map(shownProperty),
    associations: [{ id: '1', fromObjectTypeId: objectTypeId, toObjectTypeId: '0-1', name: `${name}_to_contact` }],
    archived: false,
  };
}
