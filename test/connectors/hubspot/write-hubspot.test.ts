import { describe, expect, it } from 'vitest';
import type { SourceRecord, WriteOutcome, Writing } from '../../../connectors/core/contract.ts';
import { hubspot } from '../../../connectors/hubspot/hubspot.ts';
import { Refusal } from '../../../domain/core/refusal.ts';
import { HANGS_MS } from '../../harness/core/wait.ts';
import { type HubSpotServer, hubspotServer } from '../../harness/syncs/hubspot-server.ts';
import { testContext } from '../core/contract.ts';
import { destinationContract } from '../core/destination-contract.ts';

type Settings = NonNullable<Parameters<typeof hubspotServer>[0]>;
type Call = HubSpotServer['calls'][number];
type Replacement = Parameters<HubSpotServer['next']>[1];
type Outcomes = WriteOutcome[];

const OK: WriteOutcome = { kind: 'ok' };
const failed = (message: string, more: { field?: string; later?: boolean } = {}): WriteOutcome => ({
  kind: 'failed',
  message,
  later: false,
  ...more,
});
const oks = (count: number) => Array.from({ length: count }, () => OK);

const SKU = { name: 'sku', type: 'string', hasUniqueValue: true } as const;
const SIZE = { name: 'size', type: 'enumeration' as const, options: ['small', 'large'] };

/** A server without limits of calls, whose contacts have a unique property, `sku`, and choices of `size`. */
async function startServer(settings: Settings = {}): Promise<HubSpotServer> {
  const server = await hubspotServer({ limits: { perTenSeconds: 100_000 }, ...settings });
  for (const property of [SKU, SIZE]) server.property('contacts', property);
  return server;
}

const settingsOf = ({ url, key }: HubSpotServer) => hubspot.settings.parse({ access_token: key, address: url });

type More = Partial<Writing> & { signal?: AbortSignal; context?: ReturnType<typeof testContext> };

function writing(server: HubSpotServer, key: string, records: SourceRecord[], { signal, context, ...more }: More = {}) {
  const all = { stream: 'contacts', key: [key], batchId: 'b', records, answered: 0, isRemoval: false, ...more };
  const own = context ?? testContext(signal ?? AbortSignal.timeout(HANGS_MS));
  return hubspot.destination!.write(settingsOf(server), all, own);
}

async function write(server: HubSpotServer, key: string, records: SourceRecord[], more: More = {}): Promise<Outcomes> {
  return (await Array.fromAsync(writing(server, key, records, more))).flat();
}

async function refusalOf(work: Promise<unknown>): Promise<Refusal> {
  const error: unknown = await work.then(
    () => 'no refusal',
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof Refusal)) throw new Error('expected a refusal', { cause: error });
  return error;
}

const answer =
  (status: number, json: unknown, headers: Record<string, string> = {}): Replacement =>
  (_, response) =>
    void response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(json));

const to = (verb: string) => (call: { path: string }) => call.path.endsWith(`/batch/${verb}`);
const callsTo = ({ calls }: HubSpotServer, verb: string) => calls.filter(to(verb));
const inputsOf = ({ body }: Call) => (JSON.parse(body) as { inputs: { id?: string }[] }).inputs;

/** Properties of the records that are left, by a property's values. */
function heldBy(server: HubSpotServer, property: string, stream = 'contacts') {
  const live = [...server.records(stream).values()].filter(({ archived, mergedInto }) => !archived && !mergedInto);
  return new Map(live.map(({ properties }) => [properties[property], properties]));
}

const people = (count: number, more: (n: number) => SourceRecord = () => ({})): SourceRecord[] =>
  Array.from({ length: count }, (_, n) => ({ email: `p${n}@example.com`, firstname: `Zoë ${n}`, ...more(n) }));

const items = (count: number, more: (n: number) => SourceRecord = () => ({})): SourceRecord[] =>
  Array.from({ length: count }, (_, n) => ({ sku: `s-${n}`, firstname: `Zoë ${n}`, ...more(n) }));

describe.for<{ key: string; of: typeof people; bad: SourceRecord }>([
  { key: 'email', of: people, bad: { email: 'zqvalue@example.1', firstname: 'x' } },
  { key: 'sku', of: items, bad: { sku: 's-x', size: 'zqvalue' } },
])('contacts by $key', ({ key, of, bad }) => {
  destinationContract(hubspot, async () => {
    const server = await startServer();
    const records = of(230);
    return {
      settings: { access_token: server.key, address: server.url },
      wrong: {
        settings: { access_token: 'pat-eu1-zqanother', address: server.url },
        says: /answered 401 Unauthorized: .*\(INVALID_AUTHENTICATION\).*access_token/,
      },
      stream: 'contacts',
      key: [key],
      records,
      changed: { ...records[0]!, firstname: 'Ada' },
      bad: { record: bad, says: /^is not one that HubSpot takes \(INVALID_/, quotesNot: 'zqvalue' },
      held: async () =>
        [...heldBy(server, key).values()].map((properties) => ({
          [key]: properties[key]!,
          firstname: properties['firstname']!,
        })),
      async throttle() {
        server.next(() => true, answer(429, { policyName: 'SECONDLY' }, { 'retry-after': '17' }), Infinity);
        return 17;
      },
      stop: async () => undefined,
    };
  });
});

describe('Complaint 7: one bad record fails its batch, or is dropped silently', () => {
  const bad = [3, 50, 99];
  const withBad = (records: SourceRecord[]) =>
    records.map((record, n) => ({ ...record, size: bad.includes(n) ? `zqhuge${n}` : 'small' }));
  const expected = Array.from({ length: 100 }, (_, n) =>
    bad.includes(n)
      ? failed('is not one that HubSpot takes (INVALID_OPTION): it takes small, large', { field: 'size' })
      : OK,
  );

  it.for([
    { way: 'creates, 207', key: 'email', records: people(100), settings: {}, calls: 1 },
    { way: 'updates, 400 for all', key: 'email', records: people(100), settings: {}, isKnown: true, calls: 36 },
    { way: 'upserts, 400 for all', key: 'sku', records: items(100), settings: {}, calls: 36 },
    { way: 'upserts, 207', key: 'sku', records: items(100), settings: { multiStatusUpsert: true }, calls: 1 },
  ])('3 bad of 100: 97 are taken, 3 named with field and reason: $way', async (one) => {
    const server = await startServer(one.settings);
    if (one.isKnown) server.putMany('contacts', one.records as Record<string, string>[]);
    expect(await write(server, one.key, withBad(one.records))).toEqual(expected);
    const taken = [...heldBy(server, one.key).values()].filter(({ size }) => size === 'small');
    expect(taken).toHaveLength(97);
    const sent = server.calls.filter(({ path }) => /create|update|upsert/.test(path));
    expect(sent.length).toBeLessThanOrEqual(one.calls);
  });

  it('an answer with fewer results than inputs is no success; results are matched by key and id, in any order', async () => {
    const server = await startServer();
    const [first, second] = ['p2@example.com', 'P0@EXAMPLE.com'].map((email, n) => ({
      id: `${n + 1}`,
      properties: { email },
    }));
    server.next(to('create'), answer(201, { results: [first, second] }));
    const silent = failed('HubSpot answered without a word on it', { later: true });
    expect(await write(server, 'email', people(3))).toEqual([OK, silent, OK]);
    const ids = server.putMany('contacts', people(3) as Record<string, string>[]);
    const some = [{ id: ids[2], properties: {} }];
    const errors = [{ category: 'OBJECT_NOT_FOUND', message: 'zq', context: { ids: [ids[0]] } }];
    server.next(to('update'), answer(207, { results: some, errors, numErrors: 1 }));
    expect(await write(server, 'email', people(3))).toEqual([
      failed('HubSpot no longer has it (OBJECT_NOT_FOUND)', { later: true }),
      silent,
      OK,
    ]);
    const swapped = [{ properties: { sku: 's-1' } }, { properties: { sku: 's-0' } }];
    server.next(to('upsert'), answer(200, { results: swapped.map((one, n) => ({ ...one, id: `${n}` })) }));
    expect(await write(server, 'sku', items(3))).toEqual([OK, OK, silent]);
  });

  it('an answer that a redirect has led elsewhere is no success', async () => {
    const server = await startServer();
    server.next(to('upsert'), (_, response) =>
      response.writeHead(302, { location: '/crm/properties/2026-09/contacts' }).end(),
    );
    await expect(write(server, 'sku', items(1))).rejects.toThrow(/redirects what is sent to it/);
  });

  it('a code and a property are read from errors, or from the message that has them alone; it is never quoted', async () => {
    const server = await startServer();
    const invalid = [{ isValid: false, message: 'zqhuge was not allowed', error: 'INVALID_OPTION', name: 'size' }];
    const message = `Property values were not valid: ${JSON.stringify(invalid)}`;
    server.next(to('upsert'), answer(400, { status: 'error', message, category: 'VALIDATION_ERROR' }));
    const errors = [{ message: 'zqhuge', code: 'INVALID_OPTION', context: { propertyName: ['size'] } }];
    server.next(
      to('upsert'),
      answer(400, { status: 'error', message: 'zqhuge', category: 'VALIDATION_ERROR', errors }),
    );
    const odd = { status: 'error', message: 'zqhuge', category: 'zq huge' };
    server.next(to('upsert'), answer(400, odd));
    for (const named of [expected[3], expected[3]])
      expect(await write(server, 'sku', [{ sku: 's-1', size: 'zqhuge' }])).toEqual([named]);
    expect(await write(server, 'sku', [{ sku: 's-1', size: 'zqhuge' }])).toEqual([
      failed('HubSpot does not take it (400)'),
    ]);
  });

  it('a value that HubSpot has refused is not sent again: each call counts', async () => {
    const server = await startServer();
    const records = items(300, (n) => ({ size: n % 50 === 0 ? 'small' : 'zqhuge' }));
    expect(await write(server, 'sku', records)).toEqual(records.map((_, n) => (n % 50 === 0 ? OK : expected[3])));
    expect(callsTo(server, 'upsert').length).toBeLessThanOrEqual(40);
  });

  it('a required property that a new record lacks is named', async () => {
    const server = await startServer();
    server.customObject('bikes', { properties: [SKU, { name: 'frame', type: 'string' }], required: ['frame'] });
    const outcomes = await write(server, 'sku', [{ sku: 's-1' }, { sku: 's-2', frame: 'steel' }], { stream: 'bikes' });
    expect(outcomes).toEqual([
      failed('HubSpot does not take it because of its property frame, which it has no value for (VALIDATION_ERROR)'),
      OK,
    ]);
    expect([...heldBy(server, 'frame', 'bikes').keys()]).toEqual(['steel']);
  });
});

describe('Complaint 8: the same record twice in one call', () => {
  const named = (key: string, ...values: string[]) => values.map((value, n) => ({ [key]: value, firstname: `v${n}` }));

  it.for([
    { of: 'addresses that differ in case', key: 'email', values: ['ada@example.com', 'Ada@Example.COM'] },
    { of: 'one address twice', key: 'email', values: ['ada@example.com', 'ada@example.com'] },
    { of: 'a secondary address', key: 'email', values: ['ada@example.com', 'lovelace@example.com'], isMerged: true },
    { of: 'one external id twice', key: 'sku', values: ['s-1', 's-1'] },
  ])('goes into two calls, in their order, with both outcomes: $of', async ({ key, values, isMerged }) => {
    const server = await startServer();
    if (isMerged) {
      const [ada, lovelace] = server.putMany('contacts', named('email', ...values));
      server.merge('contacts', ada!, lovelace!);
    }
    const other = key === 'email' ? 'babbage@example.com' : 's-2';
    expect(await write(server, key, named(key, values[0]!, other, values[1]!))).toEqual(oks(3));
    const held = heldBy(server, key);
    expect(new Set(held.keys())).toEqual(new Set([values[0], other]));
    expect(held.get(values[0])!['firstname']).toBe('v2');
    const isTaken = ({ path, status }: Call) => /create|update|upsert/.test(path) && status <= 201;
    expect(server.calls.filter(isTaken).every((call) => inputsOf(call).length <= 2)).toBe(true);
    expect(server.calls.filter(({ status }) => status === 400)).toEqual([]);
  });

  it.for([
    { key: 'sku', records: [...items(100), { sku: 's-0', firstname: 'last' }] },
    { key: 'email', records: [...people(100), { email: 'P0@example.com', firstname: 'last' }] },
  ])('goes into two calls, in their order, also across calls that are in flight: $key', async ({ key, records }) => {
    const server = await startServer();
    if (key === 'email') server.put('contacts', { email: 'p0@example.com' });
    const first = key === 'sku' ? 'upsert' : 'update';
    server.next(to(first), answer(429, { policyName: 'SECONDLY' }, { 'retry-after': '0' }));
    expect(await write(server, key, records)).toEqual(oks(101));
    expect(heldBy(server, key).get(key === 'sku' ? 's-0' : 'p0@example.com')!['firstname']).toBe('last');
  });
});

describe('a contact named by its address', () => {
  it('keeps what its record does not name, and its address', async () => {
    const server = await startServer();
    const [ada, lovelace] = server.putMany('contacts', [
      { email: 'ada@example.com', city: 'London' },
      { email: 'lovelace@example.com' },
    ]);
    server.merge('contacts', ada!, lovelace!);
    const record = { email: 'lovelace@example.com', firstname: 'Ada', lastname: null };
    expect(await write(server, 'email', [record, { email: 'ADA@example.com' }])).toEqual([OK, { kind: 'unchanged' }]);
    const held = heldBy(server, 'email').get('ada@example.com');
    expect(held).toMatchObject({ city: 'London', firstname: 'Ada' });
    expect(callsTo(server, 'upsert')).toEqual([]);
  });

  it('that comes meanwhile, as after a try that was killed, is updated', async () => {
    const server = await startServer();
    server.next(
      (call) => {
        const isCreate = to('create')(call) && heldBy(server, 'email').size === 0;
        if (isCreate) server.put('contacts', { email: 'p1@example.com', city: 'Paris' });
        return false;
      },
      answer(500, {}),
    );
    expect(await write(server, 'email', people(3))).toEqual(oks(3));
    expect(heldBy(server, 'email').size).toBe(3);
    expect(heldBy(server, 'email').get('p1@example.com')).toMatchObject({ city: 'Paris', firstname: 'Zoë 1' });
  });

  it('that belongs to another record fails, where another property is the key', async () => {
    const server = await startServer();
    server.put('contacts', { email: 'zqada@example.com' });
    const records = items(3, (n): SourceRecord => (n === 1 ? { email: 'zqada@example.com' } : {}));
    expect(await write(server, 'sku', records)).toEqual([
      OK,
      failed('Another record has its address, or another value that must be unique (CONFLICT)'),
      OK,
    ]);
  });
});

it('a stage that HubSpot silently keeps fails by name; the others of its call are taken', async () => {
  const server = await startServer();
  server.putMany('contacts', [
    { email: 'p0@example.com', lifecyclestage: 'customer' },
    { email: 'p1@example.com', lifecyclestage: 'lead' },
  ]);
  const outcomes = await write(
    server,
    'email',
    people(3, () => ({ lifecyclestage: 'opportunity' })),
  );
  const kept = 'was not taken: HubSpot never moves it backward, and kept the stage that the record has';
  expect(outcomes).toEqual([failed(kept, { field: 'lifecyclestage' }), OK, OK]);
  expect(heldBy(server, 'email').get('p0@example.com')).toMatchObject({ firstname: 'Zoë 0' });
});

it('values become the texts that HubSpot takes; what has none fails by name', async () => {
  const server = await startServer();
  const types = { amount: 'number', is_new: 'bool', born: 'date', seen: 'datetime' } as const;
  for (const [name, type] of Object.entries(types)) server.property('contacts', { name, type });
  server.property('contacts', { name: 'tags', type: 'enumeration', fieldType: 'checkbox' });
  server.put('contacts', { sku: 's-0', city: 'Paris' });
  const values = { amount: 12.5, is_new: false, born: '1815-12-10', seen: '2026-11-27T15:00:00Z', tags: ['a', 'b', 3] };
  const records: SourceRecord[] = [
    { sku: 's-0', ...values, city: null },
    { sku: 's-1', amount: '9007199254740993' },
    { sku: 's-2', amount: 1e18 },
    { sku: 's-3', tags: ['a', 'zq;b'] },
    { sku: 's-4', tags: [['a']] },
    { sku: 's-5', tags: { zq: 1 } },
    { sku: null, city: 'Rome' },
  ];
  expect(await write(server, 'sku', records)).toEqual([
    ...oks(3),
    failed('has an entry with a semicolon, by which HubSpot separates entries', { field: 'tags' }),
    failed('is a list with something else than texts, numbers and booleans', { field: 'tags' }),
    failed('is an object, which no property of HubSpot takes', { field: 'tags' }),
    failed('The record has no sku'),
  ]);
  const held = heldBy(server, 'sku');
  const texts = {
    amount: '12.5',
    is_new: 'false',
    born: '1815-12-10',
    seen: '2026-11-27T15:00:00.000Z',
    tags: 'a;b;3',
  };
  expect(held.get('s-0')).toMatchObject(texts);
  expect(held.get('s-0')).not.toHaveProperty('city');
  expect([held.get('s-1'), held.get('s-2')].map((one) => one!['amount'])).toEqual([
    '9007199254740993',
    '1000000000000000000',
  ]);
});

it('records named by their ids are updated; one that is not there fails by name', async () => {
  const server = await startServer();
  const ids = server.putMany('companies', [{ name: 'A' }, { name: 'B' }]).map(Number);
  const records = [
    { hs_object_id: ids[0]!, name: 'Ada & Co' },
    { hs_object_id: 7, name: 'C' },
    { hs_object_id: `${ids[1]!}`, name: 'Babbage Ltd' },
  ];
  expect(await write(server, 'hs_object_id', records, { stream: 'companies' })).toEqual([
    OK,
    failed('is the id of no record of HubSpot (OBJECT_NOT_FOUND)', { field: 'hs_object_id' }),
    OK,
  ]);
  expect([...heldBy(server, 'name', 'companies').keys()]).toEqual(['Ada & Co', 'Babbage Ltd']);
});

describe('a removal', () => {
  it.for([
    { key: 'email', records: [{ email: 'LOVELACE@example.com' }, { email: 'none@example.com' }] },
    { key: 'sku', records: [{ sku: 's-1' }, { sku: 's-9' }] },
    { key: 'hs_object_id', records: [{ hs_object_id: 0 }, { hs_object_id: 7 }] },
  ])('archives the record that is found by $key, and leaves what is unknown unchanged', async ({ key, records }) => {
    const server = await startServer();
    const [ada, lovelace, other] = server.putMany('contacts', [
      { email: 'ada@example.com', sku: 's-1' },
      { email: 'lovelace@example.com' },
      { email: 'babbage@example.com', sku: 's-2' },
    ]);
    server.merge('contacts', ada!, lovelace!);
    const merged = heldBy(server, 'email').get('ada@example.com')!['hs_object_id']!;
    if (key === 'hs_object_id') records[0] = { hs_object_id: Number(merged) };
    const unchanged = { kind: 'unchanged' };
    expect(await write(server, key, records, { isRemoval: true })).toEqual([OK, unchanged]);
    expect([...heldBy(server, 'hs_object_id').keys()]).toEqual([other]);
    expect(await write(server, key, records, { isRemoval: true })).toEqual([unchanged, unchanged]);
  });

  it('of two addresses of one contact archives it, in two calls', async () => {
    const server = await startServer();
    const [ada, lovelace] = server.putMany('contacts', people(2) as Record<string, string>[]);
    server.merge('contacts', ada!, lovelace!);
    expect(await write(server, 'email', people(2), { isRemoval: true })).toEqual([OK, OK]);
    expect(heldBy(server, 'email').size).toBe(0);
    expect(callsTo(server, 'archive').map((call) => inputsOf(call).length)).toEqual([1, 1]);
  });
});

it.for([{ isRemoval: false }, { isRemoval: true }])(
  'a blank address names no contact: $isRemoval as removal',
  async ({ isRemoval }) => {
    const server = await startServer();
    server.putMany('contacts', people(2) as Record<string, string>[]);
    const records: SourceRecord[] = [{ email: 'p0@example.com' }, { email: '  ', firstname: 'zq' }];
    expect((await write(server, 'email', records, { isRemoval }))[1]).toEqual(failed('The record has no email'));
    expect(heldBy(server, 'firstname').has('zq')).toBe(false);
    expect(heldBy(server, 'email').size).toBe(isRemoval ? 1 : 2);
  },
);

it('a removal whose record is not looked up is refused: the record may still be there', async () => {
  const server = await startServer();
  server.putMany('contacts', people(1) as Record<string, string>[]);
  server.next(to('read'), answer(207, { results: [], errors: [{ category: 'INTERNAL_ERROR', message: 'zq' }] }));
  expect(await refusalOf(write(server, 'email', people(1), { isRemoval: true }))).toMatchObject({
    status: 'source_unavailable',
  });
});

describe('what would fail for every record is refused', () => {
  it.for([
    { key: ['phone'], stream: 'contacts', says: /^key: .* contacts by phone: choose one of email, sku, hs_object_id/ },
    {
      key: ['domain'],
      stream: 'companies',
      says: /^key: .* companies by domain: choose one of hs_object_id, or make /,
    },
    { key: ['email', 'sku'], stream: 'contacts', says: /^key: .* by email, sku: choose one/ },
    { key: ['email'], stream: 'companies', says: /^key: .* companies by email/ },
    { key: ['contact_id'], stream: 'contact_companies', says: /^stream: .* no object of this name/ },
  ])('a wrong key, $key of $stream, with the right ones', async ({ key, stream, says }) => {
    const server = await startServer();
    const refusal = await refusalOf(write(server, '', people(1), { key, stream }));
    expect(refusal).toMatchObject({ status: 'source_refused', message: expect.stringMatching(says) as string });
    expect(server.calls.filter(({ path }) => path.includes('/batch/'))).toEqual([]);
  });

  it.for([
    { field: 'lastmodifieddate', says: /^The field lastmodifieddate of contacts takes no values/ },
    { field: 'hs_object_id', says: /^The field hs_object_id of contacts takes no values unless it is part of the key/ },
    { field: 'zqcity', says: /^HubSpot has no property zqcity of contacts/ },
  ])('a property that is read-only or unknown: $field', async ({ field, says }) => {
    const server = await startServer();
    const records = [...people(2), { email: 'p3@example.com', [field]: '1' }];
    const refusal = await refusalOf(write(server, 'email', records));
    expect(refusal).toMatchObject({ status: 'source_refused', message: expect.stringMatching(says) as string });
    expect(server.calls.filter(({ path }) => path.includes('/batch/'))).toEqual([]);
  });

  it('a property that is deleted during the run', async () => {
    const server = await startServer();
    const context = testContext(AbortSignal.timeout(HANGS_MS));
    expect(
      await write(
        server,
        'sku',
        items(2, () => ({ size: 'small' })),
        { context },
      ),
    ).toEqual(oks(2));
    server.removeProperty('contacts', 'size');
    const again = write(
      server,
      'sku',
      items(100, () => ({ size: 'small' })),
      { context },
    );
    expect(await refusalOf(again)).toMatchObject({
      status: 'source_refused',
      message: expect.stringMatching(/^HubSpot has no property size of contacts/) as string,
    });
    expect(callsTo(server, 'upsert')).toHaveLength(2);
  });

  it('a missing write scope, which check and write name; the streams are still listed', async () => {
    const server = await startServer();
    for (const kind of ['contacts', 'companies']) server.scopes.delete(`crm.objects.${kind}.write`);
    const context = () => testContext(AbortSignal.timeout(HANGS_MS));
    const { check, discover } = hubspot.destination!;
    const streams = await discover(settingsOf(server), context());
    expect(streams!.map(({ name }) => name)).toEqual(['contacts', 'companies']);
    expect(await refusalOf(check(settingsOf(server), context()))).toMatchObject({
      status: 'source_refused',
      message: expect.stringMatching(
        /lacks the scopes crm\.objects\.contacts\.write, crm\.objects\.companies\.write: /,
      ) as string,
    });
    expect(await refusalOf(write(server, 'email', people(1)))).toMatchObject({
      status: 'source_refused',
      message: expect.stringMatching(/asks for the scope crm\.objects\.contacts\.write: /) as string,
    });
    await expect(hubspot.source!.check(settingsOf(server), context())).resolves.toBeUndefined();
  });
});

it('lists contacts, companies and custom objects; fields that HubSpot makes itself take no values', async () => {
  const server = await startServer();
  server.customObject('bikes', { properties: [SKU] });
  const streams = await hubspot.destination!.discover(settingsOf(server), testContext(AbortSignal.timeout(HANGS_MS)));
  expect(streams!.map(({ name }) => name)).toEqual(['contacts', 'companies', 'bikes']);
  const takes = Object.fromEntries(streams![0]!.fields.map((field) => [field.name, field.takes_values]));
  expect(takes).toMatchObject({ email: undefined, sku: undefined, hs_object_id: 'as_key', lastmodifieddate: 'never' });
});

describe('calls', () => {
  it('are four in flight, never more, and the outcomes keep their order', async () => {
    const server = await startServer({ delayMs: 10 });
    let most = 0;
    const look = () => {
      most = Math.max(most, server.calls.filter(({ status }) => status === 0).length);
      return false;
    };
    server.next(look, answer(500, {}));
    const records = people(1_050, (n): SourceRecord => (n % 97 === 0 ? { size: 'huge' } : {}));
    const outcomes = await write(server, 'email', records);
    expect(outcomes.map(({ kind }) => kind)).toEqual(records.map((_, n) => (n % 97 === 0 ? 'failed' : 'ok')));
    expect(most).toBe(4);
  });

  it('that HubSpot puts off for a moment are sent again: each record comes once', async () => {
    const server = await startServer();
    server.next(to('upsert'), answer(429, { policyName: 'SECONDLY' }, { 'retry-after': '0' }), 2);
    expect(await write(server, 'sku', items(300))).toEqual(oks(300));
    expect(callsTo(server, 'upsert')).toHaveLength(5);
  });

  const isOf = (sku: string) => (call: { path: string }) =>
    to('upsert')(call) && (call as Call).body.includes(`"${sku}"`);

  it('that HubSpot puts off for long end the writing and its other calls; the outcomes before them are kept', async () => {
    const server = await startServer();
    server.next(isOf('s-250'), answer(429, { policyName: 'SECONDLY' }, { 'retry-after': '30' }));
    for (const unanswered of ['s-350', 's-450']) server.next(isOf(unanswered), () => undefined);
    const outcomes: Outcomes = [];
    const all = async () => {
      for await (const some of writing(server, 'sku', items(1_000))) outcomes.push(...some);
    };
    expect(await refusalOf(all())).toMatchObject({ status: 'source_unavailable', extra: { retry_after: 30 } });
    expect(outcomes).toEqual(oks(200));
    expect(callsTo(server, 'upsert').length).toBeLessThanOrEqual(7);
  });

  it('that are canceled: it is known what was not sent', async () => {
    const server = await startServer();
    server.next(
      (call) => to('upsert')(call) && !isOf('s-0')(call),
      () => undefined,
      Infinity,
    );
    const cancel = new AbortController();
    let sent = 0;
    const sending = (count: number) => void (sent = Math.max(sent, count));
    const all = async () => {
      for await (const some of writing(server, 'sku', items(1_000), { signal: cancel.signal, sending })) {
        expect(some).toEqual(oks(100));
        cancel.abort(new Error('canceled'));
      }
    };
    await expect(all()).rejects.toThrow('canceled');
    const arrived = callsTo(server, 'upsert')
      .flatMap(inputsOf)
      .map(({ id }) => Number(id!.slice(2)));
    expect(sent).toBeGreaterThan(Math.max(...arrived));
    expect(sent).toBeLessThanOrEqual(500);
  });

  it('whose answers are too large are halved', async () => {
    const server = await startServer();
    const records = items(80, () => ({ city: 'x'.repeat(60_000) }));
    expect(await write(server, 'sku', records)).toEqual(oks(80));
    expect(callsTo(server, 'upsert')).toHaveLength(3);
  });

  it('go on after what was answered before', async () => {
    const server = await startServer();
    expect(await write(server, 'sku', items(5), { answered: 3 })).toEqual(oks(2));
    expect([...heldBy(server, 'sku').keys()]).toEqual(['s-3', 's-4']);
  });
});
