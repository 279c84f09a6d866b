import type { FastifyInstance } from 'fastify';
import { beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { writeListCursor } from '../../../api/core/page.ts';
import type { Route } from '../../../server/http/route.ts';
import { routes } from '../../../server/routes.ts';
import { testStore, type TestStore } from '../../harness/core/database.ts';
import { sampled } from '../../harness/run/seed.ts';
import { type Call, goodCalls, makeSample, nameOf, type Sample, send, untouchedSamples } from './samples.ts';
import { testServer } from './test-server.ts';

/**
 * Bad input of every kind, made from each route's own schemas: a 4xx that names the field, never a 500. A run tries a
 * quarter of it.
 */

type Part = 'params' | 'query' | 'body';
type Schema = {
  type?: string;
  properties?: Record<string, Schema>;
  required?: string[];
  enum?: unknown[];
  maxItems?: number;
};

/** A list of an app, and its file exports. */
function formsOf(list: string): string[] {
  const files = /^(?:apps|segments)\/[^/]+\/[^/]+$/.test(list)
    ? [`/api/${list}_export`, `/api/${list}_export.:format`]
    : [];
  return [`/api/${list}`, ...files];
}

/** Where a value is taken although it looks odd: the reference ignores it, or a text may hold anything. */
const TAKEN = new Set([
  'GET /api/system_of_records query.type: empty',
  'GET /api/system_of_records query.type: long',
  'GET /api/system_of_records query.type: unknown',
  'GET /api/system_of_records query.type: NUL',
  // A filter that matches nothing, a customer of whom nothing is known, the parameter of the other version.
  'GET /api/attribute_values query.customer_id: unknown',
  'GET /api/customer_attribute_values query.customer_id: unknown',
  'GET /api/attribute_values/import_errors query.customer_id: unknown',
  'GET /api/attribute_values/import_errors query.job_id: unknown',
  'GET /api/gdpr/receipts query.user_id: unknown',
  'GET /api/gdpr/latest_requests query.users: unknown',
  'GET /api/gdpr/requests query.request_id: unknown',
  'GET /api/syncs/:sync_id/runs/:run_id/errors query.customer_id: unknown',
  'GET /api/syncs/:sync_id/runs/:run_id/errors.csv query.customer_id: unknown',
  // A single value, which is judged when it is merged.
  'POST /api/attribute_values body.customer_attribute_values: an object',
  ...['', '/export', '/export.:format'].flatMap((form) =>
    ['customer_ids', 'attribute_keys'].map((field) => `GET /api/customer_profiles${form} query.${field}: unknown`),
  ),
  'GET /api/customer_profiles/:customer_id params.customer_id: unknown',
  'GET /api/customer_profiles/:customer_id query.attribute_keys: unknown',
  // Names may be anything.
  'POST /api/system_of_records body.name: unknown',
  'PUT /api/system_of_records/:sor_identifier body.name: unknown',
  'POST /api/customer_attributes body.key: unknown',
  'POST /api/customer_attributes body.label: unknown',
  'PUT /api/customer_attributes/:ca_identifier body.label: unknown',
  'POST /api/users body.first_name: unknown',
  'POST /api/users body.last_name: unknown',
  'PUT /api/users/:user_id body.first_name: unknown',
  'PUT /api/users/:user_id body.last_name: unknown',
  'POST /api/service_tokens body.name: unknown',
  'POST /api/connections body.name: unknown',
  'PUT /api/connections/:connection_id body.name: unknown',
  ...['POST /api/syncs', 'POST /api/syncs/validate', 'PUT /api/syncs/:sync_id'].flatMap((name) => [
    `${name} body.name: unknown`,
    // A field of the source, which is not asked; none, where the source keeps its own state; no schedule.
    `${name} body.cursor_field: unknown`,
    `${name} body.cursor_field: null`,
    `${name} body.schedule: null`,
  ]),
  'POST /api/funnels body.name: unknown',
  'POST /api/funnels body.labels: unknown',
  'PUT /api/funnels/:identifier body.labels: unknown',
  ...['long', 'unknown', 'null'].map((kind) => `POST /api/funnels body.description: ${kind}`),
  'POST /api/segments body.name: unknown',
  'POST /api/segments body.labels: unknown',
  'PUT /api/segments/:identifier body.name: unknown',
  'PUT /api/segments/:identifier body.labels: unknown',
  ...['POST /api/segments', 'PUT /api/segments/:identifier'].flatMap((name) =>
    ['long', 'unknown', 'null'].map((kind) => `${name} body.description: ${kind}`),
  ),
  'POST /api/people/find body.text: unknown',
  'POST /api/people/view body.user_id: unknown',
  'POST /api/people/messages body.user_id: unknown',
  'POST /api/people/segment body.user_id: unknown',
  'POST /api/people/timeline body.user_id: unknown',
  'POST /api/people/days body.user_id: unknown',
  'POST /api/people/delivery body.user_id: unknown',
  // A draft may have any params and values, and a person none.
  ...['params', 'variant_params', 'templateVars'].map(
    (field) => `POST /api/campaigns/preview body.${field}: an object`,
  ),
  'POST /api/campaigns/preview body.user: unknown',
  // A user that is not known, a key of one's own, and one campaign without an array.
  'GET /api/campaigns/:identifier/why query.user: unknown',
  ...['transac', 'transac_push'].map((name) => `POST /api/${name} body.requestKey: unknown`),
  ...['', '/list_export', '/list_export.:format'].map((form) => `GET /api/campaigns${form} query.search: unknown`),
  // What a transactional campaign, or one without a test, does without; any name.
  ...['unknown', 'empty', 'null'].map((kind) => `POST /api/campaign/:campaign_identifier/duplicate body.name: ${kind}`),
  ...['POST /api/campaign', 'PUT /api/campaign/:campaign_identifier'].flatMap((name) => [
    `${name} body.name: unknown`,
    ...['end_date', 'filters', 'variants', 'recurrence', 'notif_limit'].flatMap((field) =>
      ['empty', 'null'].map((kind) => `${name} body.${field}: ${kind}`),
    ),
  ]),
  // What an app is without, in the other notation, or of another than a web app.
  ...['POST /api/apps', 'PUT /api/apps/:app_identifier'].flatMap((name) => [
    ...[
      'store_id',
      'sku',
      'parent_identifier',
      'icon',
      'cv_icon',
      'primary_category',
      'secondary_category',
      'fcm_key',
      'inbox_days_to_live',
      'rate_limit',
      'quiet_hours',
      'send_rate',
      'outcomes_connection',
    ].map((field) => `${name} body.${field}: null`),
    ...['name', 'package_name', 'store_id', 'sku', 'primary_category', 'secondary_category', 'fcm_key'].map(
      (field) => `${name} body.${field}: unknown`,
    ),
    ...['domains', 'gdpr_emails', 'app_groups'].map((field) => `${name} body.${field}: empty`),
    `${name} body.fcm_key: long`,
  ]),
  ...['POST /api/app_groups', 'PUT /api/app_groups/:group_identifier'].flatMap((name) => [
    `${name} body.name: unknown`,
    `${name} body.apps: empty`,
  ]),
  // None of what an exporter can do without; a key is judged by the bucket, and a folder may have any name.
  ...['POST /api/data_exporters', 'PUT /api/data_exporters/:exporter_id'].flatMap((name) => [
    ...['aws_account_id', 'aws_role_name', 'endpoint', 'export_since', 'kms_key_id'].flatMap((field) => [
      `${name} body.${field}: empty`,
      `${name} body.${field}: null`,
    ]),
    ...['name', 'subfolder', 'aws_access_key_id', 'aws_secret_access_key', 'kms_key_id'].map(
      (field) => `${name} body.${field}: unknown`,
    ),
    `${name} body.kms_key_id: long`,
    `${name} body.subfolder: empty`,
    `${name} body.subfolder: long`,
    `${name} body.notify_emails: empty`,
    `${name} body.notify_connections: empty`,
  ]),
  'POST /api/gdpr/holds body.user_id: unknown',
  'POST /api/gdpr/holds body.reason: unknown',
  'POST /api/gdpr/holds body.reason: long',
  'GET /api/gdpr/holds query.user_id: unknown',
  'GET /api/gdpr/identifiers query.user_id: unknown',
  'GET /api/gdpr/aliases query.user_id: unknown',
  'POST /api/labels body.name: unknown',
  'PUT /api/labels/:name body.new_name: unknown',
  'PUT /api/apps/:app_identifier/event_definitions/:event_id body.display_name: unknown',
  'PUT /api/apps/:app_identifier/event_definitions/:event_id body.display_name: null',
  'PUT /api/apps/:app_identifier/event_definitions/:event_id body.labels: unknown',
  ...['legal_texts', 'categories', 'recipients', 'purposes'].flatMap((part) => {
    const path = `/api/apps/:app_identifier/data_wallet/${part}`;
    const param = { legal_texts: 'legal_text', categories: 'category', recipients: 'recipient', purposes: 'purpose' }[
      part
    ];
    const fields = part === 'recipients' ? ['technical_name', 'display_name'] : ['technical_name'];
    return [`POST ${path}`, `PUT ${path}/:${param}_identifier`, `PATCH ${path}/:${param}_identifier`].flatMap((name) =>
      fields.map((field) => `${name} body.${field}: unknown`),
    );
  }),
  'POST /api/entities body.name: unknown',
  'PUT /api/entities/:entity_id body.name: unknown',
  ...['POST /api/entities', 'PUT /api/entities/:entity_id'].flatMap((name) => [
    `${name} body.description: unknown`,
    `${name} body.description: long`,
  ]),
  // So may passwords, and they may be long.
  ...[
    'PUT /api/users/me/password body.new_password',
    'POST /api/invitations/accept body.password',
    'POST /invite/:token body.password',
    'POST /api/password_resets/confirm body.password',
    'POST /reset/:token body.password',
  ].flatMap((field) => [`${field}: unknown`, `${field}: long`]),
  ...['POST /api/invitations/accept', 'POST /invite/:token'].flatMap((name) =>
    ['first_name', 'last_name'].map((field) => `${name} body.${field}: unknown`),
  ),
  // A field of a form that was left empty.
  'POST /invite/:token body.first_name: empty',
  'POST /invite/:token body.last_name: empty',
  // Pages that are none are ignored.
  ...[
    'GET /api/users',
    'GET /api/invitations',
    'GET /api/service_tokens',
    'GET /api/entities',
    'GET /api/connections',
    'GET /api/syncs',
    'GET /api/syncs/:sync_id/runs',
    'GET /api/data_exporters/:exporter_id/runs',
    'GET /api/data_exporters/:exporter_id/reconciliation',
    'GET /api/data_exporters/:exporter_id/deletion_lists',
    'GET /api/gdpr/receipts',
    'GET /api/apps/:app_identifier/event_definitions',
    'GET /api/gdpr/requests',
    'GET /api/gdpr/holds',
    'GET /api/gdpr/identifiers',
    'GET /api/gdpr/requests/:request_id/identifiers',
    'GET /api/gdpr/aliases',
  ].flatMap((name) =>
    ['page', 'per_page'].flatMap((field) =>
      ['empty', 'long', 'unknown', 'NUL'].map((kind) => `${name} query.${field}: ${kind}`),
    ),
  ),
  ...['empty', 'long', 'unknown', 'NUL'].flatMap((kind) => [
    `GET /api/attention query.per_page: ${kind}`,
    `GET /api/audit_log query.per_page: ${kind}`,
    `GET /api/attribute_values/imports query.per_page: ${kind}`,
    `GET /api/attribute_values/feeds query.per_page: ${kind}`,
    `GET /api/apps/:app_identifier/refused_calls query.per_page: ${kind}`,
    `GET /api/apps/:app_identifier/ingestion query.days: ${kind}`,
    `GET /api/apps/:app_identifier/push_outcomes query.days: ${kind}`,
    ...['campaigns/:identifier/tests', 'campaigns/:identifier/requests', 'transac/:request_id/decisions'].map(
      (list) => `GET /api/${list} query.per_page: ${kind}`,
    ),
    `GET /api/apps/:app_identifier/live query.after: ${kind}`,
    ...['crashes', 'privacy_requests'].flatMap((list) =>
      ['page', 'per_page'].map((field) => `GET /api/apps/:app_identifier/${list} query.${field}: ${kind}`),
    ),
  ]),
  // Lists of what apps sent: an empty filter is none, and one by an unknown value finds nothing.
  ...Object.entries<string[]>({
    'apps/:app_identifier/events': ['device_ids', 'user_ids', 'session_ids', 'names', 'details'],
    'apps/:app_identifier/devices/:device_identifier/events': ['user_ids', 'session_ids', 'names', 'details'],
    'users/:user_id/events': ['device_ids', 'application_ids', 'session_ids', 'names', 'details'],
    'apps/:app_identifier/sessions': ['device_ids', 'user_ids', 'app_versions', 'countries', 'langs'],
    'apps/:app_identifier/locations': ['session_ids', 'device_ids'],
    'apps/:app_identifier/devices': ['device_ids', 'current_user_ids'],
    'segments/:segment_identifier/devices': ['current_user_ids'],
  }).flatMap(([list, filters]) => [
    ...filters.flatMap((field) =>
      formsOf(list).flatMap((path) =>
        ['empty', 'long', 'unknown'].map((kind) => `GET ${path} query.${field}: ${kind}`),
      ),
    ),
    ...['page', 'per_page'].flatMap((field) =>
      ['empty', 'long', 'unknown', 'NUL'].map((kind) => `GET /api/${list} query.${field}: ${kind}`),
    ),
    ...formsOf(list).map((path) => `GET ${path} query.fields: empty`),
  ]),
  ...['events', 'devices'].flatMap((list) =>
    formsOf(`apps/:app_identifier/${list}`).map((path) => `GET ${path} query.segment_ids: empty`),
  ),
  'GET /api/apps/:app_identifier/devices/:device_identifier query.fields: empty',
  'GET /api/apps/:app_identifier/events/:event_identifier query.fields: empty',
  'GET /api/apps/:app_identifier/analytics/event_values query.name: unknown',
  'GET /api/apps/:app_identifier/refused_calls query.message_id: unknown',
  ...['subject', 'actor', 'customer_id'].flatMap((field) => [
    `GET /api/audit_log query.${field}: unknown`,
    `GET /api/audit_log.csv query.${field}: unknown`,
  ]),
]);

/** A part of a form that says it is JSON. */
const formWith = (json: string) =>
  `--b\r\ncontent-disposition: form-data; name="x"\r\ncontent-type: application/json\r\n\r\n${json}\r\n--b--\r\n`;

const MIB = 'x'.repeat(1024 * 1024);

/** Kinds of bad text; a path or a query holds nothing else. */
const BAD_TEXTS: Record<string, string> = {
  empty: '',
  long: 'x'.repeat(300),
  unknown: 'nothing_of_that_name',
  NUL: 'a\0b',
};

/** Kinds of bad JSON values. */
const BAD_VALUES: Record<string, unknown> = {
  ...BAD_TEXTS,
  'a lone surrogate': 'a\ud800b',
  'a MiB': MIB,
  'a number': 12.5,
  'an array': [['x']],
  'an object': { a: { b: 'c' } },
  null: null,
};

let store: TestStore;
let app: FastifyInstance;

beforeAll(async () => {
  store = await testStore();
  ({ app } = await testServer(store));
});

/** A named record is a reference to its schema. */
function inputSchema(schema: z.ZodType | undefined): Schema {
  if (!schema) return {};
  const { $ref: record, $defs = {}, ...json } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' });
  return (record === undefined ? json : $defs[record.replace('#/$defs/', '')]) as Schema;
}

const fieldsOf = (schema: z.ZodType | undefined): Record<string, Schema> => inputSchema(schema).properties ?? {};

type Case = { name: string; route: Route; part: Part; field: string; kind: string; value: unknown };

function casesOf(route: Route): Case[] {
  const make = (part: Part, values: Record<string, unknown>) =>
    Object.entries(fieldsOf(route[part])).flatMap(([field, schema]) =>
      Object.entries(values)
        .filter(([, value]) => !isSound(schema, value))
        .map(([kind, value]) => ({
          name: `${nameOf(route)} ${part}.${field}: ${kind}`,
          route,
          part,
          field,
          kind,
          value,
        })),
    );
  return [...make('params', BAD_TEXTS), ...make('query', BAD_TEXTS), ...(route.upload ? [] : make('body', BAD_VALUES))];
}

/** Whether a value is what the field asks for: an optional null, a number for a number. */
function isSound({ type, enum: known }: Schema, value: unknown): boolean {
  if (known) return known.includes(value);
  return type === 'number' || type === 'integer'
    ? typeof value === 'number'
    : type === 'boolean' && typeof value === 'boolean';
}

/** A good call with one value exchanged. */
function spoilt(call: Call, part: Part, field: string, value: unknown): Call {
  return { ...call, [part]: { ...call[part], [field]: value } };
}

/** More than 4 bytes hold, than a double holds exactly, and than 8 bytes hold. */
const HUGE = [2 ** 31, 2 ** 53, 2 ** 63];

/** A number, or a place of a list that has it. */
const spelled = (field: string, huge: number): string => {
  const part = Math.min(huge, 10 ** 15 - 1);
  return field === 'cursor' ? writeListCursor({ micros: part, id: part }) : String(huge);
};

/** Good calls with one huge number in the place of a value: of any parameter, and of any number in the body. */
function withHugeNumbers(route: Route, call: Call): { name: string; call: Call }[] {
  return HUGE.flatMap((huge) => [
    ...(['params', 'query'] as const).flatMap((part) =>
      Object.keys(fieldsOf(route[part])).map((field) => ({
        name: `${part}.${field} ${huge}`,
        call: spoilt(call, part, field, spelled(field, huge)),
      })),
    ),
    ...Object.entries(fieldsOf(route.body))
      .filter(([, { type }]) => type === 'number' || type === 'integer')
      .map(([field]) => ({ name: `body.${field} ${huge}`, call: spoilt(call, 'body', field, huge) })),
    ...withNumbers(call.body, huge).map((body) => ({
      name: `body ${JSON.stringify(body)}`,
      call: { ...call, body } as Call,
    })),
  ]);
}

/** Copies of a value, each with one of its numbers exchanged. */
function withNumbers(value: unknown, huge: number): unknown[] {
  if (typeof value === 'number') return [huge];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, member]) =>
    withNumbers(member, huge).map((changed) =>
      Array.isArray(value) ? value.with(Number(name), changed) : { ...value, [name]: changed },
    ),
  );
}

/** Copies of an object, each with a member named `__proto__` in one of the objects in it. */
function withProto(value: unknown): unknown[] {
  if (typeof value !== 'object' || value === null) return [];
  const inner = Object.entries(value).flatMap(([name, member]) =>
    withProto(member).map((changed) =>
      Array.isArray(value) ? value.with(Number(name), changed) : { ...value, [name]: changed },
    ),
  );
  return Array.isArray(value) ? inner : [{ ...value, ['__proto__']: { odd: 1 } }, ...inner];
}

const cases = routes.flatMap(casesOf);

/** Returns a quarter of the matrix, drawn by the seed: something of each route and of each kind in every run. */
function quarterOf<T extends { route: Route; kind: string }>(what: string, all: readonly T[]): T[] {
  return sampled(what, all, 1 / 4, ({ route, kind }) => [nameOf(route), kind]);
}

const untouched = untouchedSamples();
/** The same, for calls that may change them. */
const touched = untouchedSamples();

/** What reads changes nothing either. */
function sampleOfTaken(route: Route): Promise<Sample> {
  return route.method === 'GET' ? untouched(store, route) : makeSample(store, route);
}

/** What is refused changes nothing, but for the counting of wrong passwords. */
function sampleFor(route: Route): Promise<Sample> {
  return ['/api/login', '/api/session'].includes(route.path) ? makeSample(store, route) : untouched(store, route);
}

describe('bad input', () => {
  const refused = cases.filter(({ name }) => !TAKEN.has(name));

  it.for(quarterOf('refused', refused))('is refused by name: $name', async ({ route, part, field, value, kind }) => {
    const own = await sampleFor(route);
    const reply = await send(app, route, spoilt(goodCalls[nameOf(route)]!(own), part, field, value), own, own.token);
    const answer = reply.json() as {
      success: boolean;
      status: unknown;
      error_message: string;
      messages?: { element: string }[];
    };
    expect(answer).toMatchObject({ success: false, error_message: expect.any(String) as string });
    expect(reply.statusCode).toBeGreaterThanOrEqual(400);
    expect(reply.statusCode).toBeLessThan(500);
    // Of so much nothing is parsed before its credentials are found.
    if (kind === 'a MiB' && route.auth !== 'token' && reply.statusCode === 413) return;
    // An unknown name is a missing object, or wrong credentials; all else is told by the field's name.
    const isMissing = answer.status === 'not_found' || [401, 404, 405].includes(reply.statusCode);
    const isUnknown = isMissing && (kind === 'unknown' || kind === 'long' || kind === 'empty');
    if (!isUnknown)
      expect(answer.messages?.map(({ element }) => element.split('.')[0]!.split('[')[0])).toContain(field);
  });

  const taken = [...TAKEN].map((name) => cases.find((one) => one.name === name)!);

  it.for(quarterOf('taken', taken))(
    'is passed over where it is known to be: $name',
    async ({ route, part, field, value }) => {
      const own = await sampleOfTaken(route);
      const reply = await send(app, route, spoilt(goodCalls[nameOf(route)]!(own), part, field, value), own, own.token);
      expect(reply.statusCode).toBe(200);
    },
  );

  const counted = routes
    .filter(({ upload }) => !upload)
    .map((route) => ({ name: nameOf(route), route, kind: route.method }));

  it.for(quarterOf('huge numbers', counted))(
    'is a number that no column holds, which is no internal error: $name',
    async ({ route }) => {
      const own = await touched(store, route);
      const failed: string[] = [];
      for (const { name, call } of withHugeNumbers(route, goodCalls[nameOf(route)]!(own))) {
        const { statusCode, body } = await send(app, route, call, own, own.token);
        if (statusCode >= 500) failed.push(`${name}: ${body}`);
      }
      expect(failed).toEqual([]);
    },
  );

  const SAID = 'must not have a member named __proto__';
  const withMembers = counted.filter(
    ({ route: { body, method, contentType } }) => body !== undefined && method !== 'GET' && contentType !== 'text/html',
  );

  it.for(quarterOf('__proto__', withMembers))('is a member named __proto__ at any depth: $name', async ({ route }) => {
    const own = await touched(store, route);
    const call = goodCalls[nameOf(route)]!(own);
    for (const body of withProto(call.body)) {
      const { statusCode, body: answer } = await send(app, route, { ...call, body } as Call, own, own.token);
      // SDKs give up on a whole batch at a 400: there the one call is refused, and what no call says is passed over.
      if (route.auth === 'app_key') expect(statusCode).toBeLessThan(500);
      else expect([statusCode, answer]).toEqual([400, expect.stringContaining(SAID)]);
      if (route.id === 'sendTrack') expect([statusCode, answer]).toEqual([400, expect.stringContaining(SAID)]);
    }
    expect(({} as { odd?: number }).odd).toBeUndefined();
  });

  const required = routes
    .filter(({ upload }) => !upload)
    .flatMap((route) =>
      (['query', 'body'] as const).flatMap((part) => {
        const { required: fields = [] } = inputSchema(route[part]);
        return fields.map((field) => ({
          name: `${nameOf(route)} ${part}.${field}`,
          route,
          part,
          field,
          kind: `missing in ${part}`,
        }));
      }),
    );

  it.for(quarterOf('required', required))(
    'is refused by name where it is missing: $name',
    async ({ route, part, field }) => {
      const own = await sampleFor(route);
      const call = goodCalls[nameOf(route)]!(own);
      const rest = Object.fromEntries(Object.entries(call[part]!).filter(([name]) => name !== field));
      const reply = await send(app, route, { ...call, [part]: rest }, own, own.token);
      expect(reply.statusCode).toBe(400);
      const { messages } = reply.json() as { messages: { element: string }[] };
      expect(messages.map(({ element }) => element)).toContain(field);
    },
  );

  /** Names of four letters or more, without the last one. */
  const misspelt = routes
    .filter(({ auth }) => auth === 'token' || auth === 'sor_key')
    .flatMap((route) =>
      (['query', 'body'] as const).flatMap((part) => {
        const known = Object.keys(fieldsOf(route[part]));
        return known
          .filter((field) => field.length > 3 && !known.includes(field.slice(0, -1)))
          .map((field) => ({ name: `${nameOf(route)} ${part}.${field}`, route, part, field, kind: part }));
      }),
    )
    .filter(({ route, part }) => part === 'query' || !route.upload);
  const oneOfEach = [...new Map(misspelt.map((one) => [`${nameOf(one.route)} ${one.part}`, one])).values()];

  it.for(quarterOf('misspelt', oneOfEach))(
    'is refused by the name that was meant: $name',
    async ({ route, part, field }) => {
      const own = await sampleFor(route);
      const wrong = field.slice(0, -1);
      const reply = await send(app, route, spoilt(goodCalls[nameOf(route)]!(own), part, wrong, 'x'), own, own.token);
      const message = `is unknown: did you mean ${field}?`;
      expect([reply.statusCode, reply.json()]).toMatchObject([400, { messages: [{ element: wrong, message }] }]);
    },
  );

  /** By the reference; of nested members and of what depends on others the tests of the features tell. */
  const REQUIRED: Record<string, string[]> = {
    'GET /api/apps_campaign_logs query': ['apps', 'from', 'till'],
    'GET /api/attribute_values query': ['sor_id', 'customer_id', 'customer_type'],
    'GET /api/customer_attribute_values query': ['sor_id', 'customer_id', 'customer_type'],
    'POST /api/attribute_values body': ['sor', 'api_key', 'customer_attribute_values'],
    'GET /api/attribute_values/template query': ['sor_id', 'api_key'],
    'POST /api/system_of_records body': ['name'],
    'PUT /api/system_of_records/:sor_identifier body': ['name'],
    'POST /api/funnels body': ['name', 'steps'],
    'POST /api/funnels/quick_stats body': ['funnel'],
    'POST /api/funnels/explore body': ['funnel'],
    'POST /api/data_exporters body': ['export_configuration', 'bucket_name', 'app_ids', 'exported_data'],
    'PUT /api/apps/:app_identifier/data_wallet/settings body': ['languages'],
    'PATCH /api/apps/:app_identifier/data_wallet/settings body': ['languages'],
    'POST /api/apps/:app_identifier/data_wallet/legal_texts body': ['technical_name'],
    'POST /api/apps/:app_identifier/data_wallet/categories body': ['technical_name'],
    'POST /api/apps/:app_identifier/data_wallet/recipients body': ['technical_name', 'display_name'],
    'POST /api/apps/:app_identifier/data_wallet/purposes body': ['technical_name'],
    'POST /api/gdpr/access_user_data body': ['users'],
    'POST /api/gdpr/delete_user_data body': ['users'],
    'GET /api/gdpr_request/export query': ['request_id'],
    'GET /api/gdpr_request/delete query': ['request_id'],
    'POST /api/campaign body': [
      'name',
      'type',
      'source',
      'app_id',
      'includes_push',
      'includes_inapp',
      'start_date',
      'params',
    ],
    'POST /api/transac body': ['campaignKey', 'messages'],
    'POST /api/labels body': ['name'],
    'PUT /api/labels/:name body': ['new_name'],
    'GET /api/crashes/:crash_identifier/export_occurrences query': ['id', 'date'],
    'GET /api/performance_export query': ['apps'],
    'GET /api/events_export query': ['app'],
    'GET /api/event_details_export query': ['app', 'event_id'],
    'POST /api/login body': ['email', 'password'],
  };

  it('is what leaves out a field that the reference requires', () => {
    const known = new Set(required.map(({ name }) => name));
    const asked = Object.entries(REQUIRED).flatMap(([of, fields]) => fields.map((field) => `${of}.${field}`));
    expect(asked.filter((name) => !known.has(name))).toEqual([]);
  });

  const BODIES: [string, string, string][] = [
    ['broken JSON', 'application/json', '{"name": '],
    ['an array', 'application/json', '[1]'],
    ['a text', 'application/json', '"name"'],
    ['10,000 levels', 'application/json', `${'{"a":'.repeat(10_000)}1${'}'.repeat(10_000)}`],
    ['another type', 'application/xml', '<name/>'],
    [
      'a form with JSON of 100,000 levels',
      'multipart/form-data; boundary=b',
      formWith(`${'['.repeat(100_000)}${']'.repeat(100_000)}`),
    ],
    ['an open form', 'multipart/form-data; boundary=b', '--b\r\ncontent-disposition: form-data; name="x"\r\n\r\n'],
  ];
  const withBody = routes.filter(({ body }) => Object.keys(fieldsOf(body)).length > 0);

  const lists = withBody
    .filter(({ auth, upload }) => auth === 'token' && !upload)
    .flatMap((route) =>
      Object.entries(fieldsOf(route.body)).flatMap(([field, { type, maxItems: max }]) =>
        type === 'array' && max !== undefined ? [{ name: nameOf(route), route, field, max, kind: 'too long' }] : [],
      ),
    );

  it.for(quarterOf('lists', lists))(
    'that is too long a list is refused as such, whatever is in it: $name body.$field',
    async ({ route, field, max }) => {
      const own = await sampleFor(route);
      const tooMany = Array.from({ length: max + 1 }, () => ({ wrong: [1] }));
      const reply = await send(
        app,
        route,
        spoilt(goodCalls[nameOf(route)]!(own), 'body', field, tooMany),
        own,
        own.token,
      );
      const { messages } = reply.json() as { messages: { element: string; message: string }[] };
      const ofAll = {
        element: 'body',
        severity: 'error',
        message: 'must have at most 20000 elements and members in all',
      };
      const ofField = {
        element: field,
        severity: 'error',
        message: expect.stringMatching(`^must have at most ${max} `) as string,
      };
      expect(messages).toEqual([max < 10_000 ? ofField : (expect.toBeOneOf([ofField, ofAll]) as object)]);
    },
  );

  it('with more elements than any body has is refused before they are looked at', async () => {
    const [route] = withBody.filter(({ auth }) => auth === 'token') as [Route];
    const own = await sampleFor(route);
    const many = { a: Array.from({ length: 10_000 }, () => [1]) };
    const reply = await send(app, route, { ...goodCalls[nameOf(route)]!(own), body: many }, own, own.token);
    expect(reply.json()).toMatchObject({ error_message: 'body: must have at most 20000 elements and members in all' });
  });

  const bodies = withBody.flatMap((route) =>
    BODIES.map(([kind, type, body]) => ({ name: `${nameOf(route)}: ${kind}`, route, kind, type, body })),
  );

  it.for(quarterOf('bodies', bodies))('as a body is refused: $name', async ({ route, type, body }) => {
    const own = await sampleFor(route);
    const { params } = goodCalls[nameOf(route)]!(own);
    const path = route.path.replaceAll(/:(\w+)/g, (_, name: string) => params![name]!);
    const headers = { 'content-type': type, authorization: `Token ${own.token}` };
    const reply = await app.inject({ method: route.method, url: path, headers, payload: body });
    expect(reply.json()).toMatchObject({ success: false, error_message: expect.any(String) as string });
    expect(reply.statusCode).toBeGreaterThanOrEqual(400);
    expect(reply.statusCode).toBeLessThan(500);
  });
});
