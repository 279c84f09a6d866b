import type { ServerResponse } from 'node:http';
import { describe, expect, it } from 'vitest';
import { salesforce } from '../../../connectors/salesforce/salesforce.ts';
import { PLANNED_WAIT } from '../../../domain/core/refusal.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../../domain/time/durations.ts';
import { httpSource } from '../../harness/core/http-source.ts';
import { personId } from '../../harness/core/people.ts';
import { HANGS_MS } from '../../harness/core/wait.ts';
import { salesforceAnswers, type SalesforceServer, salesforceServer } from '../../harness/syncs/salesforce-server.ts';
import { sourceContract, testContext } from '../core/contract.ts';
import { readAll, refusalOf, settingsOf } from './read-all.ts';

const START = Date.UTC(2026, 9, 1);
const contact = (n: number) => ({ LastName: `Name ${n}`, Email: personId(n) });
const contacts = (count: number, from = 1) => Array.from({ length: count }, (_, n) => contact(n + from));
/** A server whose clock the test moves. */
async function serverAt(clock: { now: number }, settings: Parameters<typeof salesforceServer>[0] = {}) {
  return salesforceServer({ now: () => clock.now, ...settings });
}

const iso = (ms: number) => new Date(ms).toISOString();

sourceContract(salesforce, async () => {
  const server = await salesforceServer();
  server.customObject('Visit__c', [{ name: 'Points__c', type: 'double' }]);
  const rows = Array.from({ length: 10_400 }, (_, n) => ({ Points__c: n + 0.5 }));
  const ids = [
    ...server.putMany('Visit__c', rows.slice(0, 10_300), START),
    ...server.putMany('Visit__c', rows.slice(10_300), START + HOUR_MS),
  ];
  const shown = (id: string) => {
    const { values, created, modified, stamp } = server.records('Visit__c').get(id)!;
    const times = { CreatedDate: iso(created), LastModifiedDate: iso(modified), SystemModstamp: iso(stamp) };
    return { Id: id, IsDeleted: false, ...times, Name: null, Points__c: values['Points__c'] as number };
  };
  const settings = { address: server.url, client_id: server.app.clientId, client_secret: server.app.clientSecret };
  return {
    settings,
    wrong: {
      settings: { ...settings, client_secret: 'zqsalesforce-wrong' },
      says: /gives no access token \(invalid_client\): check the address, client_id and client_secret/,
    },
    stream: 'Visit__c',
    cursorField: 'SystemModstamp',
    records: ids.map(shown),
    async change() {
      const changed = ids.slice(100, 200);
      for (const id of changed) server.put('Visit__c', { Points__c: 7 }, { id });
      return changed.map(shown);
    },
    async remove() {
      const record = shown(ids[7]!);
      server.delete('Visit__c', ids[7]!);
      return record;
    },
    async lead() {
      const ahead = { at: Date.now() + 30 * DAY_MS, lagMs: -31 * DAY_MS };
      const odd = [1, 2].map((n) => server.put('Visit__c', { Points__c: n }, ahead)).map(shown);
      return { odd, more: async () => shown(server.put('Visit__c', { Points__c: 3 })) };
    },
    async throttle() {
      const headers = { 'retry-after': '17', 'content-type': 'application/json' };
      server.next(
        () => true,
        (_, response) => response.writeHead(429, headers).end('[]'),
        99,
      );
      return 17;
    },
  };
}, ['malformed records']);

describe('what users of other connectors complain of', () => {
  it.each(['INVALID_SESSION_ID', 'INVALID_JWT_FORMAT', 'INVALID_AUTH_HEADER'] as const)(
    'a token that ends after five calls as %s is renewed, and nothing comes twice',
    async (expiredCode) => {
      const server = await salesforceServer({ pageRows: 100, limits: { tokenCalls: 5, expiredCode } });
      server.putMany('Contact', contacts(2_000), START);
      const { emails } = await readAll(settingsOf(server));
      expect(emails).toEqual(
        contacts(2_000)
          .map(({ Email: email }) => email)
          .toSorted(),
      );
      expect(server.calls.filter(({ status }) => status === 401).length).toBeGreaterThan(2);

      const tokens = () => server.calls.filter(({ path }) => path.endsWith('/token')).length;
      const before = tokens();
      server.next(({ path }) => path.includes('/query'), salesforceAnswers.refusal(401, expiredCode, 'zq'), 99);
      const refusal = await refusalOf(readAll(settingsOf(server)));
      expect(refusal).toMatchObject({ status: 'source_refused', message: /it does not take a new token either/ });
      expect(tokens() - before).toBeLessThanOrEqual(2);
    },
  );

  it('deleted records come as deletions to the next incremental run, and those made anew after them', async () => {
    const clock = { now: START };
    const server = await serverAt(clock);
    const ids = server.putMany('Contact', contacts(10), START - HOUR_MS);
    server.put('Contact', contact(11));
    clock.now += HOUR_MS;
    const { cursor } = await readAll(settingsOf(server));
    clock.now += MINUTE_MS;
    const anew = server.put('Contact', contact(3));
    clock.now += MINUTE_MS;
    for (const id of ids.slice(2, 5)) server.delete('Contact', id);
    const { records, deleted, kinds } = await readAll(settingsOf(server), { cursor });
    expect(records.map(({ Id: id }) => id)).toContain(anew);
    expect(records.length).toBe(2); // one of them within lookback_minutes
    expect(deleted.toSorted()).toEqual(ids.slice(2, 5).toSorted());
    expect(kinds.at(-1)).toBe('record');
  });

  it.each([
    ['over 15 days later', 16 * DAY_MS, null, /began at 2026-10-01T00:00:00.000Z, and Salesforce keeps .* for 15 days/],
    ['once the bin was emptied', DAY_MS, START + HOUR_MS, /knows only what was deleted from 2026-10-01T01:00:00.000Z/],
  ])('a run %s reads all records and says why', async (_, laterMs, earliest, says) => {
    const clock = { now: START };
    const server = await serverAt(clock);
    server.putMany('Contact', contacts(10), START - DAY_MS);
    const { cursor } = await readAll(settingsOf(server));
    clock.now += laterMs;
    server.earliestDateAvailable = earliest;
    const logged: string[] = [];
    expect((await readAll(settingsOf(server), { cursor, logged })).records.length).toBe(10);
    expect(logged.join()).toMatch(says);
    expect(logged.join()).toMatch(/all records are read again; a full run also finds those that were deleted/);
  });

  it('of two that were merged, one is a deletion, and the other is read after it', async () => {
    const clock = { now: START };
    const server = await serverAt(clock);
    const [winner, loser] = server.putMany('Contact', [{ LastName: 'A' }, contact(2)]) as [string, string];
    clock.now += HOUR_MS;
    const { cursor } = await readAll(settingsOf(server));
    server.merge('Contact', winner, loser);
    const { records, deleted, kinds } = await readAll(settingsOf(server), { cursor });
    expect(kinds).toEqual(['deleted', 'record']);
    expect(deleted).toEqual([loser]);
    expect(records).toMatchObject([{ Id: winner, Email: personId(2) }]);
    expect(Object.keys(records[0]!).toSorted()).toEqual(['Email', 'Id', 'SystemModstamp']);
  });

  it('rows that show nine minutes after their time, and 5,000 that share a second, all come', async () => {
    const clock = { now: START };
    const server = await serverAt(clock, { pageRows: 500 });
    server.putMany('Contact', contacts(5_000));
    server.put('Contact', contact(6_001), { lagMs: 9 * MINUTE_MS });
    clock.now += MINUTE_MS;
    server.put('Contact', contact(6_002));
    let hasMoved = false;
    const first = await readAll(settingsOf(server), {}, () => {
      if (hasMoved) return;
      hasMoved = true;
      server.put('Contact', contact(6_003), { lagMs: 9 * MINUTE_MS });
      server.loseLocators();
    });
    expect(new Set(first.emails).size).toBe(5_001);
    expect(first.emails.length).toBe(5_001);
    clock.now += 10 * MINUTE_MS;
    server.put('Contact', contact(6_004));
    const second = await readAll(settingsOf(server), { cursor: first.cursor });
    for (const n of [6_001, 6_003, 6_004]) expect(second.emails).toContain(personId(n));
    clock.now += 10 * MINUTE_MS;
    expect((await readAll(settingsOf(server), { cursor: second.cursor })).emails).toEqual(
      [6_002, 6_003, 6_004].map((n) => personId(n)).toSorted(),
    );
  });

  it('formulas are named by the log, a hidden field by the words field-level security, and the others come', async () => {
    const server = await salesforceServer();
    server.field('Contact', { name: 'Score__c', type: 'double', calculated: true });
    const [id] = server.putMany('Contact', [{ ...contact(1), Score__c: 1 }], START) as [string];
    server.hide('Contact', 'Phone');
    const fields = ['Email', 'Score__c', 'Phone'];
    const logged: string[] = [];
    server.put('Contact', contact(2), { at: START + HOUR_MS });
    const { records, cursor } = await readAll(settingsOf(server), { fields, logged });
    expect(records[0]).toEqual({ Id: id, Email: personId(1), Score__c: 1, SystemModstamp: iso(START) });
    expect(logged).toEqual([
      expect.stringMatching(/no field Phone to the user: .* field-level security hides it/),
      expect.stringMatching(/^Score__c: Salesforce does not note when a formula changes/),
    ]);
    server.recalculate('Contact', id, { Score__c: 2 });
    expect((await readAll(settingsOf(server), { fields, cursor })).emails).toEqual([personId(2)]);
    const all: string[] = [];
    const full = await readAll(settingsOf(server), { fields, mode: 'full', logged: all });
    expect(full.records.map((record) => record['Score__c'])).toContain(2);
    expect(all.join()).not.toContain('formula');
  });

  it.each([
    ['lost', true],
    ['kept', false],
  ])('a field that is deleted between two pages leaves the others, and no nulls: result %s', async (_, isLost) => {
    const server = await salesforceServer({ pageRows: 500 });
    server.putMany('Contact', contacts(12_000), START);
    const told: string[][] = [];
    const { records } = await readAll(settingsOf(server), { fields: ['Email', 'Title'] }, ({ fields }) => {
      if (fields) told.push(fields.map(({ name }) => name));
      if (told.length > 1) return;
      server.removeField('Contact', 'Title');
      if (isLost) server.loseLocators();
    });
    const has = records.map((record) => 'Title' in record);
    expect(has.lastIndexOf(true)).toBeLessThan(has.indexOf(false));
    expect(new Set(records.map(({ Email: email }) => email)).size).toBe(12_000);
    expect(records.length).toBe(12_000);
    expect(told.map((names) => names.includes('Title'))).toEqual([true, false]);
  });

  it("a run waits once its share of the org's calls is used, and a daily limit is not tried again", async () => {
    const server = await salesforceServer({ pageRows: 100, limits: { perDay: 50 } });
    server.putMany('Contact', contacts(10_000), START);
    const refusal = await refusalOf(readAll(settingsOf(server), { mode: 'full' }));
    expect(refusal).toMatchObject({ status: 'source_unavailable', message: /80 %.*next try at/ });
    expect(refusal!.extra[PLANNED_WAIT]).toBe(true);
    const used = server.calls.length;
    expect(used).toBeGreaterThan(38);
    expect(used).toBeLessThan(45);
    const past = await refusalOf(readAll(settingsOf(server, { daily_share: 100 }), { mode: 'full' }));
    expect(past!.extra[PLANNED_WAIT]).toBe(true);
    expect(server.calls.filter(({ status }) => status === 403).length).toBeLessThanOrEqual(2);
  });
});

describe('a reading that is interrupted', () => {
  it.each(['full', 'incremental'] as const)('goes on behind its last record: %s', async (mode) => {
    const server = await salesforceServer({ pageRows: 700 });
    server.putMany('Contact', contacts(6_000), START);
    server.putMany('Contact', contacts(6_000, 6_001), START + HOUR_MS);
    const cursors: unknown[] = [];
    const all = await readAll(settingsOf(server), { mode }, ({ cursor }) => cursors.push(structuredClone(cursor)));
    for (const [nth, cursor] of cursors.entries()) {
      const some = { mode, cursor: cursor as null, isContinued: true };
      const { emails } = await readAll(settingsOf(server), some);
      const before = nth === cursors.length - 1 ? 12_000 : (nth + 1) * 5_000;
      expect(emails.length).toBe(12_000 - before);
    }
    expect(new Set(all.emails).size).toBe(12_000);
  });

  it.each([400, 404] as const)(
    'a result that Salesforce has lost (%s) is asked for anew',
    async (lostLocatorStatus) => {
      const server = await salesforceServer({ pageRows: 300, lostLocatorStatus });
      server.putMany('Contact', contacts(1_500), START);
      server.next(
        ({ path }) => {
          if (/query\/01g/.test(path)) server.loseLocators();
          return false;
        },
        () => undefined,
      );
      const { emails } = await readAll(settingsOf(server), { mode: 'full' });
      expect(emails.length).toBe(1_500);
      expect(new Set(emails).size).toBe(1_500);
    },
  );
});

describe('answers that are none', () => {
  const isQuery = ({ path }: { path: string }) => path.includes('/query');

  it.each([
    ['429 without Retry-After', salesforceAnswers.tooMany(), 'source_unavailable', /it may go better later/],
    ['503', salesforceAnswers.unavailable(), 'source_unavailable', /it may go better later/],
    ['too many calls at once', salesforceAnswers.concurrentLimit(), 'source_unavailable', /30 s/],
    ['200 with HTML', salesforceAnswers.html(), 'source_refused', /something else/],
    ['truncated JSON', salesforceAnswers.truncated(), 'source_unavailable', /broken/],
    [
      'a right that is missing',
      salesforceAnswers.refusal(403, 'API_DISABLED_FOR_ORG', 'zq'),
      'source_refused',
      /no access to the API/,
    ],
  ])('%s is refused', async (_, answer, status, message) => {
    const server = await salesforceServer();
    server.next(isQuery, answer, 9);
    const refusal = await refusalOf(readAll(settingsOf(server), { mode: 'full' }));
    expect(refusal).toMatchObject({ status, message });
    expect(refusal!.message).not.toContain('zq');
  });

  it('a connection that is cut within a page is a transfer that broke', async () => {
    const server = await salesforceServer();
    server.putMany('Contact', contacts(100), START);
    server.cut(isQuery, 1_000);
    const refusal = await refusalOf(readAll(settingsOf(server, { bulk: 'never' })));
    expect(refusal).toMatchObject({ status: 'transfer_broken' });
  });

  it('pages of over 4 MiB are read as smaller ones', async () => {
    const server = await salesforceServer();
    const Description = 'x'.repeat(30_000);
    server.putMany(
      'Contact',
      contacts(450).map((values) => ({ ...values, Description })),
      START,
    );
    for (const mode of ['full', 'incremental'] as const) {
      const { emails } = await readAll(settingsOf(server), { mode, fields: ['Email', 'Description'] });
      expect(new Set(emails).size).toBe(450);
      expect(emails.length).toBe(450);
    }
  });

  it.each(['https://evil.example/services/data/v67.0/query/1', '//evil.example/services/data/x', '/other'])(
    'a next page at %s is not asked for',
    async (nextRecordsUrl) => {
      const server = await salesforceServer();
      const json = JSON.stringify({
        totalSize: 9,
        done: false,
        nextRecordsUrl,
        records: [{ Id: '0035f0000000001AAA' }],
      });
      server.next(isQuery, (_, response) => response.writeHead(200, { 'content-type': 'application/json' }).end(json));
      const refusal = await refusalOf(readAll(settingsOf(server, { bulk: 'never' }), { mode: 'full', fields: [] }));
      expect(refusal).toMatchObject({ status: 'source_refused', message: /next page elsewhere/ });
    },
  );

  it('a page that leads to itself is refused', async () => {
    const server = await salesforceServer();
    const nextRecordsUrl = '/services/data/v67.0/query/01g5f-2000';
    const json = JSON.stringify({ totalSize: 9, done: false, nextRecordsUrl, records: [{ Id: '0035f0000000001AAA' }] });
    const answer = (_: unknown, response: ServerResponse) =>
      void response.writeHead(200, { 'content-type': 'application/json' }).end(json);
    server.next(isQuery, answer, 3);
    const refusal = await refusalOf(readAll(settingsOf(server, { bulk: 'never' }), { mode: 'full', fields: [] }));
    expect(refusal).toMatchObject({ status: 'source_unavailable', message: /does not lead to the next one/ });
  });

  it('a redirect to another origin gets no token', async () => {
    const [server, other] = [await salesforceServer(), await httpSource()];
    const seen: (string | undefined)[] = [];
    const location = other.serve('/query', ({ headers }, response) => {
      seen.push(headers.authorization);
      response.writeHead(200, { 'content-type': 'application/json' }).end('{"totalSize":0,"records":[]}');
    });
    server.next(isQuery, salesforceAnswers.redirect(location));
    const refusal = await refusalOf(readAll(settingsOf(server), { mode: 'full' }));
    expect(refusal).toMatchObject({ status: 'source_refused', message: /redirects to .*: set that as the address/ });
    expect(seen).toEqual([undefined]);
  });

  it('a private address is refused', async () => {
    const settings = salesforce.settings.parse({
      address: 'http://169.254.169.254',
      client_id: 'a',
      client_secret: 'b',
    });
    expect(await refusalOf(readAll(settings))).toMatchObject({ status: 'address_refused' });
  });
});

describe('wrong settings are named, with what would be right', () => {
  const checked = (settings: unknown) =>
    refusalOf(salesforce.source!.check(settings, testContext(AbortSignal.timeout(HANGS_MS))));

  it('the address of another org', async () => {
    const server = await salesforceServer();
    server.instanceUrl = 'https://other.my.salesforce.com';
    const refusal = await checked(settingsOf(server));
    expect(refusal).toMatchObject({ status: 'source_refused' });
    expect(refusal!.message).toMatch(/^address: the token that .* gives is for https:\/\/other\.my\.salesforce\.com/);
  });

  it('an api_version that the org lacks', async () => {
    const server = await salesforceServer({ versions: ['65.0', '66.0'] });
    const message = /^api_version: .* has no 67\.0; its newest is 66\.0$/;
    expect(await checked(settingsOf(server))).toMatchObject({ status: 'source_refused', message });
    expect(await checked(settingsOf(server, { api_version: '66.0' }))).toBeNull();
  });

  it('a private key that the app does not know', async () => {
    const [server, other] = [await salesforceServer(), await salesforceServer()];
    const jwt = { client_secret: undefined, username: server.app.username };
    expect(await checked(settingsOf(server, { ...jwt, private_key: server.app.privateKey }))).toBeNull();
    const refusal = await checked(settingsOf(server, { ...jwt, private_key: other.app.privateKey }));
    expect(refusal).toMatchObject({
      message: /\(invalid_grant\): check the address, client_id, username, private_key/,
    });
  });

  it('an object that is not there, and a cursor field that is none', async () => {
    const server = await salesforceServer();
    server.field('Contact', { name: 'Seen__c', type: 'datetime', sortable: false });
    const none = await refusalOf(readAll(settingsOf(server), { stream: 'Boat__c' }));
    expect(none).toMatchObject({ status: 'source_refused', message: /^stream: .* has no object of this name/ });
    for (const cursorField of ['Seen__c', 'LastName']) {
      const wrong = await refusalOf(readAll(settingsOf(server), { cursorField }));
      const message = expect.stringMatching(`^cursor_field: Contact has no time ${cursorField} by`) as string;
      expect(wrong).toMatchObject({ status: 'source_refused', message });
    }
  });

  it('a stream that is not there, by the names of all in one call', async () => {
    const server = await salesforceServer();
    const context = testContext(AbortSignal.timeout(HANGS_MS));
    const { discover } = salesforce.source!;
    expect((await discover(settingsOf(server), context, 'Contact')).map(({ name }) => name)).toEqual(['Contact']);
    const before = server.calls.length;
    const streams = await discover(settingsOf(server), context, 'Contacts');
    expect(streams.map(({ name }) => name)).toContain('Contact');
    expect(server.calls.length - before).toBe(1);
  });

  it('a user who may not use the API', async () => {
    const server = await salesforceServer();
    server.next(({ path }) => path.endsWith('/sobjects'), salesforceAnswers.refusal(403, 'API_DISABLED_FOR_ORG', 'zq'));
    expect(await checked(settingsOf(server))).toMatchObject({ message: /has no access to the API/ });
  });

  it.each([
    [{ client_secret: undefined }, /either client_secret, or username and private_key together, must be set/],
    [{ username: 'a' }, /either client_secret, or username/],
    [{ client_secret: undefined, username: 'a', private_key: 'b' }, /private_key must be a private key as PEM/],
    [{ bulk: 'maybe' }, /bulk must be auto, always or never/],
    [{ api_version: '67' }, /api_version must be a version such as 67.0/],
  ])('settings %j', (settings, message) => {
    const given = { address: 'https://acme.my.salesforce.com', client_id: 'a', client_secret: 'b', ...settings };
    const { error } = salesforce.settings.safeParse(given);
    expect(error?.issues.map((issue) => issue.message).join()).toMatch(message);
  });
});

it('values have the type of their field, to the last digit', async () => {
  const server = await salesforceServer();
  server.customObject('Car__c', [
    { name: 'Big__c', type: 'double' },
    { name: 'Price__c', type: 'currency' },
    { name: 'Doors__c', type: 'int' },
    { name: 'Sold__c', type: 'boolean' },
    { name: 'Built__c', type: 'date' },
    { name: 'Seen__c', type: 'datetime' },
    { name: 'Colors__c', type: 'multipicklist' },
    { name: 'Note__c', type: 'textarea' },
    { name: 'Place__c', type: 'location' },
  ]);
  const values = { Big__c: '9007199254740993', Price__c: 12.5, Doors__c: 5, Sold__c: true, Built__c: '1990-02-28' };
  const more = { Seen__c: '2026-10-01T08:00:00.123Z', Colors__c: 'red;blue', Note__c: 'true' };
  server.put('Car__c', { ...values, ...more });
  const { records } = await readAll(settingsOf(server), { stream: 'Car__c', mode: 'full', fields: null });
  expect(records).toMatchObject([{ ...values, ...more, Colors__c: ['red', 'blue'] }]);
  expect(Object.keys(records[0]!)).not.toContain('Place__c');
});

it('objects without a field that tells a change are read in full alone', async () => {
  const server: SalesforceServer = await salesforceServer();
  server.customObject('Old__c', []);
  for (const name of ['SystemModstamp', 'LastModifiedDate', 'CreatedDate']) server.hide('Old__c', name);
  server.put('Old__c', { Name: 'one' });
  const context = testContext(AbortSignal.timeout(HANGS_MS));
  const [stream] = await salesforce.source!.discover(settingsOf(server), context, 'Old__c');
  expect(stream).toMatchObject({ name: 'Old__c', key: ['Id'], incremental: { fields: [] } });
  const full = await readAll(settingsOf(server), { stream: 'Old__c', mode: 'full', fields: ['Name'] });
  expect(full.records).toMatchObject([{ Name: 'one' }]);
});

describe('a Bulk job', () => {
  /** Reads 700 contacts by a job with three pages, and returns the cursors on the way. */
  async function readByJob(settings: Parameters<typeof salesforceServer>[0] = {}) {
    const server = await salesforceServer({ bulkPageRows: 300, ...settings });
    server.putMany('Contact', contacts(700), START);
    const cursors: { job: { id: string | null; isRead: boolean } | null }[] = [];
    const bulk = settingsOf(server, { bulk: 'always' });
    const read = (more: Parameters<typeof readAll>[1] = {}, between?: Parameters<typeof readAll>[2]) =>
      readAll(bulk, { mode: 'full', ...more }, between);
    const first = await read({}, ({ cursor }) => void cursors.push(structuredClone(cursor) as never));
    expect(first.emails.length).toBe(700);
    expect(server.jobs.size).toBe(0);
    return { server, cursors, read };
  }

  it('that was deleted just before the reading was killed, is not missed', async () => {
    const { cursors, read } = await readByJob();
    const cursor = cursors.findLast(({ job }) => job?.isRead)!;
    expect((await read({ cursor, isContinued: true })).emails).toEqual([]);
  });

  it.each([
    ['of another api_version', 409, 'API_ERROR'],
    ['with a locator that is lost', 400, 'INVALID_QUERY_LOCATOR'],
    ['that gives other fields', 0, ''],
  ] as const)('%s is left for a new one, and not left behind', async (_, status, code) => {
    const { server, read } = await readByJob();
    const isResult = ({ path }: { path: string }) => path.endsWith('/results');
    if (status > 0) server.next(isResult, salesforceAnswers.refusal(status, code, 'zq'));
    else server.next(isResult, (_request, response) => void response.end('"Id"|"Other"\n'));
    expect(await refusalOf(read())).toMatchObject({ status: 'source_changed' });
    expect(server.jobs.size).toBe(0);
  });

  it('whose columns have another order gives the same records', async () => {
    const { server, read } = await readByJob();
    const csv = (mark: string) =>
      [
        ['Email', 'Id'],
        ['a@example.com', '0035f0000000001AAA'],
      ].map((row) => row.map((value) => `"${value}"`).join(mark));
    server.next(
      ({ path }) => path.endsWith('/results'),
      (_, response) => {
        const mark = { PIPE: '|', SEMICOLON: ';', TAB: '\t' }[[...server.jobs.values()][0]!.columnDelimiter as 'TAB'];
        response.writeHead(200, { 'content-type': 'text/csv' }).end(csv(mark).join('\n'));
      },
    );
    expect((await read()).records).toEqual([{ Id: '0035f0000000001AAA', Email: 'a@example.com' }]);
  });

  it("is deleted also once the share of the org's calls is used", async () => {
    const server = await salesforceServer();
    server.putMany('Contact', contacts(3), START);
    server.next(
      ({ path }) => {
        if (path.endsWith('/results')) server.limits.usedElsewhere = 90_000;
        return false;
      },
      () => undefined,
    );
    expect((await readAll(settingsOf(server, { bulk: 'always' }), { mode: 'full' })).emails.length).toBe(3);
    expect(server.jobs.size).toBe(0);
  });
});

it('an object whose records Salesforce does not count is read by pages', async () => {
  const server = await salesforceServer();
  server.putMany('Contact', contacts(3), START);
  server.next(({ path }) => path.endsWith('/query'), salesforceAnswers.refusal(400, 'MALFORMED_QUERY', 'zq'));
  expect((await readAll(settingsOf(server), { mode: 'full' })).emails.length).toBe(3);
});
