import type { ServerResponse } from 'node:http';
import { describe, expect, it } from 'vitest';
import { hubspot } from '../../../connectors/hubspot/hubspot.ts';
import type { Batch, Cursor, Reading, SourceRecord } from '../../../connectors/core/contract.ts';
import { PLANNED_WAIT, type Refusal } from '../../../domain/core/refusal.ts';
import { DAY_MS, MINUTE_MS } from '../../../domain/time/durations.ts';
import { httpSource } from '../../harness/core/http-source.ts';
import { personId } from '../../harness/core/people.ts';
import { HANGS_MS } from '../../harness/core/wait.ts';
import { type HubSpotServer, hubspotServer } from '../../harness/syncs/hubspot-server.ts';
import { sourceContract, testContext } from '../core/contract.ts';

const START = Date.UTC(2026, 9, 1);
const FAST = { searches_per_second: 1_000 };
const LIMITS = { perTenSeconds: 1_000_000, searchPerSecond: 1_000_000 };

const contact = (n: number) => ({ email: personId(n), firstname: `Name ${n}` });
const contacts = (count: number) => Array.from({ length: count }, (_, n) => contact(n + 1));
const settingsOf = (server: HubSpotServer, more: object = {}) =>
  hubspot.settings.parse({ access_token: server.key, address: server.url, ...FAST, ...more });

async function readAll(
  settings: unknown,
  {
    stream = 'contacts',
    mode = 'incremental',
    cursor = null,
    fields = ['email'],
  }: Partial<Pick<Reading, 'stream' | 'mode' | 'cursor' | 'fields'>> = {},
  between?: (batch: Batch) => void,
  context = testContext(AbortSignal.timeout(HANGS_MS)),
) {
  const records: SourceRecord[] = [];
  const deleted: string[] = [];
  const kinds: string[] = [];
  let after: Cursor | null = cursor;
  for await (const batch of hubspot.source!.read(
    settings,
    { stream, mode, cursorField: null, cursor, fields },
    context,
  )) {
    for (const item of batch.items) {
      kinds.push(item.kind);
      if (item.kind === 'record') records.push(item.record);
      if (item.kind === 'deleted') deleted.push(item.key!);
    }
    after = batch.cursor;
    between?.(batch);
  }
  return { records, deleted, kinds, cursor: after, emails: records.map(({ email }) => email as string).toSorted() };
}

const refusalOf = (work: Promise<unknown>) =>
  work.then(
    () => null,
    (error: unknown) => error as Refusal,
  );

sourceContract(hubspot, async () => {
  const server = await hubspotServer({ limits: LIMITS });
  server.property('contacts', { name: 'points', type: 'number' });
  const ids = server.putMany(
    'contacts',
    Array.from({ length: 10_400 }, (_, n) => ({ points: `${n}.5` })),
    START,
  );
  const kept = ['hs_object_id', 'points', 'lastmodifieddate'];
  const shown = (id: string) => {
    const { points, lastmodifieddate } = server.records('contacts').get(id)!.properties;
    return { hs_object_id: Number(id), points: Number(points), lastmodifieddate: lastmodifieddate! };
  };
  // The suite compares whole records.
  for (const { name } of await propertiesOf(server)) if (!kept.includes(name)) server.removeProperty('contacts', name);
  return {
    settings: { access_token: server.key, address: server.url, archived: true, ...FAST },
    wrong: {
      settings: { access_token: 'zqhubspot-wrong', address: server.url },
      says: /401 Unauthorized: it does not take the credentials \(INVALID_AUTHENTICATION\): check access_token/,
    },
    stream: 'contacts',
    cursorField: null,
    records: ids.map(shown),
    async change() {
      const changed = ids.slice(100, 200);
      for (const id of changed) server.put('contacts', { points: '7' }, { id });
      return changed.map(shown);
    },
    async remove() {
      const record = shown(ids[7]!);
      server.archive('contacts', ids[7]!);
      return record;
    },
    async throttle() {
      const answer = { 'retry-after': '17', 'content-type': 'application/json' };
      server.next(
        () => true,
        (_, response) => response.writeHead(429, answer).end('{"policyName":"SECONDLY"}'),
        99,
      );
      return 17;
    },
  };
}, ['malformed records', 'progress', 'cursor field']);

async function propertiesOf(server: HubSpotServer): Promise<{ name: string }[]> {
  const answer = await fetch(`${server.url}/crm/properties/2026-09/contacts`, {
    headers: { authorization: `Bearer ${server.key}` },
  });
  return ((await answer.json()) as { results: { name: string }[] }).results;
}

describe('what users of other connectors complain of', () => {
  it('25,000 contacts of one date come once each, in bounded calls', async () => {
    const server = await hubspotServer({ limits: LIMITS });
    server.putMany('contacts', contacts(25_000), START);
    const { emails } = await readAll(settingsOf(server));
    expect(new Set(emails).size).toBe(25_000);
    expect(emails.length).toBe(25_000);
    expect(server.calls.length).toBeLessThan(25_000 / 200 + 5);
  });

  it('a contact that search finds ten minutes late, and one that changes during the reading, both come', async () => {
    let now = START;
    const server = await hubspotServer({ limits: LIMITS, searchLagMs: 10 * MINUTE_MS, now: () => now });
    const ids = server.putMany('contacts', contacts(6_000), START - DAY_MS);
    const late = personId(7_001);
    server.put('contacts', { email: late });
    now += MINUTE_MS;
    const settings = settingsOf(server);
    let hasMoved = false;
    const first = await readAll(settings, {}, () => {
      if (hasMoved) return;
      hasMoved = true;
      now += MINUTE_MS;
      server.put('contacts', { email: personId(7_002) }, { id: ids.at(-1)! });
    });
    expect(hasMoved).toBe(true);
    expect(first.emails).not.toContain(late);
    now += 30 * MINUTE_MS;
    const second = await readAll(settings, { cursor: first.cursor });
    expect(second.emails).toEqual([late, personId(7_002)].toSorted());
  });

  it('a token that ends after five calls is renewed, and nothing comes twice', async () => {
    const server = await hubspotServer({ limits: { ...LIMITS, tokenCalls: 5 } });
    server.putMany('contacts', contacts(6_000), START);
    const { clientId: client_id, clientSecret: client_secret, refreshToken: refresh_token } = server.oauth;
    const oauth = { access_token: undefined, client_id, client_secret, refresh_token };
    const { emails } = await readAll(settingsOf(server, oauth), { mode: 'full' });
    expect(new Set(emails).size).toBe(6_000);
    expect(emails.length).toBe(6_000);

    const tokens = () => server.calls.filter(({ path }) => path.endsWith('/token')).length;
    const before = tokens();
    const body = '{"category":"EXPIRED_AUTHENTICATION"}';
    const json = { 'content-type': 'application/json' };
    const isRead = ({ path }: { path: string }) => !path.endsWith('/token');
    server.next(isRead, (_, response) => response.writeHead(401, json).end(body), 100);
    const refusal = await refusalOf(readAll(settingsOf(server, oauth)));
    expect(refusal).toMatchObject({ status: 'source_refused', message: /it calls the token expired/ });
    expect(tokens() - before).toBeLessThanOrEqual(1);
  });

  it('a reading that is canceled while it asks for a token stops no other one', async () => {
    const server = await hubspotServer({ limits: LIMITS });
    server.putMany('contacts', contacts(3), START);
    const { clientId: client_id, clientSecret: client_secret, refreshToken: refresh_token } = server.oauth;
    const settings = settingsOf(server, { access_token: undefined, client_id, client_secret, refresh_token });
    const cancel = new AbortController();
    const asked = Promise.withResolvers<void>();
    server.next(
      ({ path }) => path.endsWith('/token'),
      () => asked.resolve(),
    );
    const canceled = refusalOf(hubspot.source!.discover(settings, testContext(cancel.signal)));
    const other = readAll(settings);
    await asked.promise;
    cancel.abort(new Error('canceled'));
    expect(await canceled).toMatchObject({ message: 'canceled' });
    expect((await other).emails.length).toBe(3);
  });

  it('the values of 1,200 properties come, though an address has room for fewer', async () => {
    const server = await hubspotServer({ limits: LIMITS });
    const names = Array.from({ length: 1_200 }, (_, n) => `property_${n}_`.padEnd(40, 'x'));
    for (const name of names) server.property('contacts', { name, type: 'string' });
    const values = Object.fromEntries(names.map((name) => [name, `of ${name}`]));
    server.putMany(
      'contacts',
      Array.from({ length: 150 }, () => values),
      START,
    );
    for (const mode of ['full', 'incremental'] as const) {
      const { records } = await readAll(settingsOf(server), { mode, fields: names });
      expect(records.length).toBe(150);
      for (const record of records) expect(record).toMatchObject(values);
    }
    expect(server.calls.filter(({ status }) => status !== 200)).toEqual([]);
  });

  it('archived records come as deletions if that is asked for', async () => {
    const server = await hubspotServer({ limits: LIMITS });
    const ids = server.putMany('contacts', contacts(10), START);
    const settings = settingsOf(server, { archived: true });
    const { cursor } = await readAll(settings);
    const gone = ids.slice(2, 5);
    for (const id of gone) server.archive('contacts', id);
    const again = server.put('contacts', contact(3));
    const { records, deleted, kinds } = await readAll(settings, { cursor });
    expect(records).toMatchObject([{ hs_object_id: Number(again) }]);
    expect(deleted.toSorted()).toEqual(gone.toSorted());
    expect(kinds.at(-1)).toBe('record');
    expect((await readAll(settingsOf(server), { cursor })).deleted).toEqual([]);
  });

  it('two that were merged are deletions, and what they have become is read', async () => {
    const server = await hubspotServer({ limits: LIMITS });
    const [winner, loser] = server.putMany('contacts', contacts(2), START) as [string, string];
    const { cursor } = await readAll(settingsOf(server));
    server.merge('contacts', winner, loser);
    const { records, deleted, kinds } = await readAll(settingsOf(server), { cursor });
    // The customer of the records that ended is the customer of the new one.
    expect(kinds).toEqual(['deleted', 'deleted', 'record']);
    expect(records.length).toBe(1);
    expect([winner, loser].map(Number)).not.toContain(records[0]!['hs_object_id']);
    expect(deleted.toSorted()).toEqual([winner, loser].toSorted());
    expect(Object.keys(records[0]!).toSorted()).toEqual(['email', 'hs_object_id']);
  });

  it('a property that is deleted between two pages leaves the others', async () => {
    const server = await hubspotServer({ limits: LIMITS });
    server.property('contacts', { name: 'points', type: 'number' });
    server.putMany('contacts', contacts(12_000), START);
    let batches = 0;
    const { emails } = await readAll(settingsOf(server), { mode: 'full', fields: ['email', 'points'] }, () => {
      batches += 1;
      if (batches === 1) server.removeProperty('contacts', 'points');
    });
    expect(emails.length).toBe(12_000);
  });

  it('a missing scope is named, and what it does not concern is listed and read', async () => {
    const server = await hubspotServer({ limits: LIMITS, scopes: ['crm.objects.contacts.read'] });
    server.putMany('contacts', contacts(3), START);
    const logged: string[] = [];
    const context = testContext(AbortSignal.timeout(HANGS_MS), logged);
    const refusal = await refusalOf(hubspot.source!.check(settingsOf(server), context));
    expect(refusal!.message).toContain('lacks the scopes crm.objects.companies.read');
    const streams = await hubspot.source!.discover(settingsOf(server), context);
    expect(streams.map(({ name }) => name)).toEqual(['contacts']);
    expect(logged.join('\n')).toContain('companies are left out: the credentials lack crm.objects.companies.read');
    expect((await readAll(settingsOf(server))).emails.length).toBe(3);
    const refused = await refusalOf(readAll(settingsOf(server), { stream: 'companies' }));
    expect(refused).toMatchObject({
      status: 'source_refused',
      message: /asks for the scope crm\.objects\.companies\.read/,
    });
  });

  it("a run waits once its share of the day's calls is used, and a daily limit is not tried again", async () => {
    const server = await hubspotServer({ limits: { ...LIMITS, perDay: 100 } });
    server.putMany('contacts', contacts(20_000), START);
    const refusal = await refusalOf(readAll(settingsOf(server), { mode: 'full' }));
    expect(refusal).toMatchObject({ status: 'source_unavailable', message: /80 %.*waiting for new ones/ });
    expect(refusal!.extra[PLANNED_WAIT]).toBe(true);
    const used = server.calls.length;
    expect(used).toBeGreaterThan(75);
    expect(used).toBeLessThan(90);
    expect(await refusalOf(readAll(settingsOf(server)))).toMatchObject({ status: 'source_unavailable' });
    expect(server.calls.length).toBe(used);

    const greedy = settingsOf(server, { daily_share: 100, searches_per_second: 999 });
    const past = await refusalOf(readAll(greedy, { mode: 'full' }));
    expect(past!.extra[PLANNED_WAIT]).toBe(true);
    expect(server.calls.filter(({ status }) => status === 429).length).toBeLessThanOrEqual(2);
  });

  it('all 250 companies of one contact come', async () => {
    const server = await hubspotServer({ limits: LIMITS });
    const [one, two] = server.putMany('contacts', contacts(2), START) as [string, string];
    const companies = server.putMany(
      'companies',
      Array.from({ length: 250 }, (_, n) => ({ name: `Company ${n}` })),
      START,
    );
    for (const company of companies) server.associate(one, company);
    server.associate(two, companies[0]!);
    const { records } = await readAll(settingsOf(server), { stream: 'contact_companies', mode: 'full', fields: null });
    expect(new Set(records.map(({ contact_id: a, company_id: b }) => JSON.stringify([a, b]))).size).toBe(251);
    expect(records.filter(({ is_primary: isPrimary }) => isPrimary).length).toBe(2);
  });
});

describe('an answer that would lose records is refused', () => {
  const answer = (status: number, json: object) => (_: unknown, response: ServerResponse) =>
    void response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(json));
  const page = (ids: number[], after: string) => ({
    results: ids.map((id) => ({ id: `${id}`, properties: {} })),
    paging: { next: { after } },
  });

  it.for([
    { name: 'an empty page of search before its end', mode: 'incremental', json: page([], '200') },
    { name: 'a page of search in another order', mode: 'incremental', json: page([1, 300, 2], '3') },
    { name: 'a page that leads to itself', mode: 'full', json: page([1, 2], '7') },
  ] as const)('$name', async ({ mode, json }) => {
    const server = await hubspotServer({ limits: LIMITS });
    const isPage = ({ path }: { path: string }) => /\/(?:contacts|search)$/.test(path) && path.includes('/objects/');
    server.next(isPage, answer(200, json), 3);
    const refusal = await refusalOf(readAll(settingsOf(server), { mode }));
    expect(refusal).toMatchObject({ status: 'source_unavailable', message: /does not lead to the next one$/ });
  });

  it.for([
    { stream: 'contacts', fields: Array.from({ length: 400 }, (_, n) => `property_${n}_`.padEnd(40, 'x')) },
    { stream: 'contact_companies', fields: [] },
  ])('one that leaves out records for a fault of HubSpot: $stream', async ({ stream, fields }) => {
    const server = await hubspotServer({ limits: LIMITS });
    for (const name of fields) server.property('contacts', { name, type: 'string' });
    const ids = server.putMany('contacts', contacts(2), START);
    const errors = [{ category: 'INTERNAL_ERROR', message: 'zq', context: { ids } }];
    server.next(({ path }) => path.endsWith('/batch/read'), answer(207, { results: [], errors }));
    const refusal = await refusalOf(readAll(settingsOf(server), { mode: 'full', stream, fields }));
    expect(refusal).toMatchObject({
      status: 'source_unavailable',
      message: /left out records \(INTERNAL_ERROR\): it may go better later$/,
    });
  });
});

it('a property that is named as a member of every object is null where it is not set', async () => {
  const server = await hubspotServer({ limits: LIMITS });
  server.property('contacts', { name: 'constructor', type: 'string' });
  server.put('contacts', contact(1));
  const { records } = await readAll(settingsOf(server), { mode: 'full', fields: ['constructor'] });
  expect(records).toMatchObject([{ constructor: null }]);
});

it.each(['full', 'incremental'] as const)(
  'large records and merged ones come once each, wherever a %s reading is cut',
  async (mode) => {
    const server = await hubspotServer({ limits: LIMITS });
    const ids = server.putMany(
      'contacts',
      Array.from({ length: 300 }, () => ({ city: 'x'.repeat(30_000) })),
      START,
    );
    for (let n = 0; n < 100; n += 2) server.merge('contacts', ids[n]!, ids[n + 1]!);
    const batches: Batch[] = [];
    const settings = settingsOf(server);
    await readAll(settings, { mode, fields: ['city'] }, (batch) => batches.push(batch));
    expect(batches.length).toBeGreaterThan(1);
    const keysOf = (some: readonly Batch[]): string[] =>
      some.flatMap(({ items }) => items.map((item) => ('key' in item && item.key) || 'none'));
    const all = keysOf(batches);
    for (const [done, { cursor }] of batches.slice(0, -1).entries()) {
      const rest: Batch[] = [];
      await readAll(settings, { mode, cursor, fields: ['city'] }, (batch) => rest.push(batch));
      expect([...keysOf(batches.slice(0, done + 1)), ...keysOf(rest)].toSorted()).toEqual([...all].toSorted());
    }
  },
);

it('a cursor from a clock that was ahead is read anew from the beginning', async () => {
  const server = await hubspotServer({ limits: LIMITS });
  server.putMany('contacts', contacts(3), START);
  const cursor = { from: Date.now() + 30 * DAY_MS, to: null, last: '0', archived: null };
  expect((await readAll(settingsOf(server), { cursor })).emails.length).toBe(3);
});

it('connections with the same credentials keep to the share of each', async () => {
  const server = await hubspotServer({ limits: { ...LIMITS, perDay: 100 } });
  server.putMany('contacts', contacts(8_000), START);
  for (const [share, most] of [
    [10, 15],
    [50, 55],
  ] as const) {
    const refusal = await refusalOf(readAll(settingsOf(server, { daily_share: share }), { mode: 'full' }));
    expect(refusal!.extra[PLANNED_WAIT]).toBe(true);
    expect(server.calls.length).toBeLessThan(most);
  }
});

it('values have the type of their property, to the last digit', async () => {
  const server = await hubspotServer({ limits: LIMITS });
  const definitions = [
    { name: 'big', type: 'number' },
    { name: 'price', type: 'number' },
    { name: 'vip', type: 'bool' },
    { name: 'born', type: 'date' },
    { name: 'seen', type: 'datetime' },
    { name: 'likes', type: 'enumeration', fieldType: 'checkbox' },
    { name: 'note', type: 'string' },
  ] as const;
  for (const definition of definitions) server.property('contacts', definition);
  const likes = 'tea;coffee';
  server.put('contacts', {
    big: '9007199254740993',
    price: '12.50',
    vip: 'true',
    born: '1990-02-28',
    seen: '2026-10-01T08:00:00.123Z',
    likes,
    note: 'true',
  });
  const fields = definitions.map(({ name }) => name);
  const { records } = await readAll(settingsOf(server), { mode: 'full', fields });
  expect(records).toMatchObject([
    {
      big: '9007199254740993',
      price: 12.5,
      vip: true,
      born: '1990-02-28',
      seen: '2026-10-01T08:00:00.123Z',
      likes: ['tea', 'coffee'],
      note: 'true',
    },
  ]);
});

it('custom objects are streams, read by their own time of change', async () => {
  const server = await hubspotServer({ limits: LIMITS });
  server.customObject('cars', { properties: [{ name: 'plate', type: 'string' }] });
  server.putMany('cars', [{ plate: 'A 1' }, { plate: 'B 2' }], START);
  const { records, cursor } = await readAll(settingsOf(server), { stream: 'cars', fields: ['plate'] });
  expect(records.map(({ plate }) => plate)).toEqual(['A 1', 'B 2']);
  server.put('cars', { plate: 'C 3' });
  expect((await readAll(settingsOf(server), { stream: 'cars', fields: null, cursor })).records).toMatchObject([
    { plate: 'C 3' },
  ]);
  expect(await refusalOf(readAll(settingsOf(server), { stream: 'boats' }))).toMatchObject({
    message: /no object of this name/,
  });
});

it('no more than five searches begin in a second', async () => {
  const server = await hubspotServer({ limits: LIMITS });
  server.putMany('contacts', contacts(2_300), START);
  const context = testContext(AbortSignal.timeout(HANGS_MS));
  const begun: number[] = [];
  const request: typeof context.fetch.request = (url, asked) => {
    if (url.endsWith('/search')) begun.push(performance.now());
    return context.fetch.request(url, asked);
  };
  const settings = settingsOf(server, { searches_per_second: undefined });
  await readAll(settings, {}, undefined, { ...context, fetch: { ...context.fetch, request } });
  expect(begun.length).toBe(12);
  for (const [index, at] of begun.slice(5).entries()) expect(at - begun[index]!).toBeGreaterThanOrEqual(1_000);
});

describe('answers that are none', () => {
  const isList = ({ path }: { path: string }) => path === '/crm/objects/2026-09/contacts';
  const json = { 'content-type': 'application/json' };

  it.each([
    ['429 without Retry-After', 429, json, '{"policyName":"TEN_SECONDLY_ROLLING"}', 'source_unavailable', /10 s/],
    ['200 with HTML', 200, { 'content-type': 'text/html' }, '<h1>Sign in</h1>', 'source_refused', /something else/],
    ['truncated JSON', 200, json, '{"results":[{"id":"1","prop', 'source_unavailable', /broken/],
    ['migration in progress', 477, json, '{}', 'source_unavailable', /60 s/],
    ['a token of a wrong form', 530, { 'content-type': 'text/plain' }, 'error 1016', 'source_refused', /access_token/],
  ])('%s is refused', async (_, status, headers, body, code, message) => {
    const server = await hubspotServer({ limits: LIMITS });
    server.next(isList, (_request, response) => response.writeHead(status, headers).end(body), 9);
    const refusal = await refusalOf(readAll(settingsOf(server), { mode: 'full' }));
    expect(refusal).toMatchObject({ status: code, message });
  });

  it('a connection that is cut within a page is a transfer that broke', async () => {
    const server = await hubspotServer({ limits: LIMITS });
    server.next(isList, (_, response) => {
      response.writeHead(200, { ...json, 'content-length': 1_000 }).write('{"results":[');
      setImmediate(() => response.destroy());
    });
    expect(await refusalOf(readAll(settingsOf(server), { mode: 'full' }))).toMatchObject({ status: 'transfer_broken' });
  });

  it('a page of over 4 MiB is read as smaller ones', async () => {
    const server = await hubspotServer({ limits: LIMITS });
    server.property('contacts', { name: 'notes', type: 'string' });
    server.putMany(
      'contacts',
      Array.from({ length: 300 }, () => ({ notes: 'x'.repeat(60_000) })),
      START,
    );
    for (const mode of ['full', 'incremental'] as const)
      expect((await readAll(settingsOf(server), { mode, fields: ['notes'] })).records.length).toBe(300);
  });

  it('associations of over 4 MiB are read for fewer contacts at a time, and properties may have many choices', async () => {
    const server = await hubspotServer({ limits: LIMITS });
    const options = Array.from({ length: 60_000 }, (_, n) => ({
      label: `A choice with number ${n}`,
      value: `choice_${n}`,
    }));
    server.property('contacts', { name: 'choice', type: 'enumeration', options });
    const [one, two] = server.putMany('contacts', contacts(2), START) as [string, string];
    const [company] = server.putMany('companies', [{ name: 'A' }], START) as [string];
    for (const contactId of [one, two]) server.associate(contactId, company);
    const isBatch = ({ path }: { path: string }) => path.includes('/associations/');
    server.next(isBatch, (_, response) => response.writeHead(200, json).end(`["${'x'.repeat(4.5e6)}"]`));
    const { records } = await readAll(settingsOf(server), { stream: 'contact_companies', mode: 'full', fields: null });
    expect(records.length).toBe(2);
    expect((await readAll(settingsOf(server), { mode: 'full' })).records.length).toBe(2);
  });

  it('a redirect to another origin gets no token', async () => {
    const [server, other] = [await hubspotServer({ limits: LIMITS }), await httpSource()];
    const seen: (string | undefined)[] = [];
    const location = other.serve('/crm', ({ headers }, response) => {
      seen.push(headers.authorization);
      response.writeHead(200, json).end('{"results":[]}');
    });
    server.next(isList, (_, response) => response.writeHead(307, { location }).end());
    expect(await refusalOf(readAll(settingsOf(server), { mode: 'full' }))).toMatchObject({
      message: /redirects what is sent to it/,
    });
    expect(seen).toEqual([undefined]);
  });

  it('pages before a refusal are kept', async () => {
    const server = await hubspotServer({ limits: LIMITS });
    server.putMany('contacts', contacts(250));
    let pages = 0;
    server.next(
      (call) => isList(call) && ++pages > 1,
      (_, response) => response.writeHead(400).end(),
      Infinity,
    );
    const kept: number[] = [];
    const read = readAll(settingsOf(server), { mode: 'full' }, ({ items }) => void kept.push(items.length));
    expect(await refusalOf(read)).toMatchObject({ status: 'source_refused' });
    expect(kept).toEqual([100]);
  });

  it('a private address is refused', async () => {
    const address = 'http://169.254.169.254';
    const settings = hubspot.settings.parse({ access_token: 'x', address });
    expect(await refusalOf(readAll(settings))).toMatchObject({ status: 'address_refused' });
  });
});

it.each([
  [{}, /either access_token, or client_id, client_secret and refresh_token together/],
  [{ access_token: 'a', client_id: 'b' }, /either access_token, or/],
  [{ access_token: 'a b' }, /access_token must have no spaces/],
  [{ access_token: 'a', address: 'ftp://x' }, /address/],
  [{ access_token: 'a', daily_share: 0 }, /daily_share must be at least 1/],
])('settings %j are refused by their names', (settings, message) => {
  expect(
    hubspot.settings
      .safeParse(settings)
      .error?.issues.map((issue) => issue.message)
      .join(),
  ).toMatch(message);
});

it('an app that renews its refresh token is refused, with what to use instead', async () => {
  const server = await hubspotServer({ limits: LIMITS, rotatesRefreshToken: true });
  const { clientId: client_id, clientSecret: client_secret, refreshToken: refresh_token } = server.oauth;
  const settings = settingsOf(server, { access_token: undefined, client_id, client_secret, refresh_token });
  const context = testContext(AbortSignal.timeout(HANGS_MS));
  expect(await refusalOf(hubspot.source!.check(settings, context))).toMatchObject({ message: /use a Service Key/ });
});
