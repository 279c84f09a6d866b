import { describe, expect, it } from 'vitest';
import type { SourceRecord, WriteOutcome, Writing } from '../../../connectors/core/contract.ts';
import { salesforce } from '../../../connectors/salesforce/salesforce.ts';
import { PLANNED_WAIT, Refusal } from '../../../domain/core/refusal.ts';
import { HANGS_MS } from '../../harness/core/wait.ts';
import { salesforceAnswers, type SalesforceServer, salesforceServer } from '../../harness/syncs/salesforce-server.ts';
import { testContext } from '../core/contract.ts';
import { destinationContract } from '../core/destination-contract.ts';

type Call = SalesforceServer['calls'][number];
type Outcomes = WriteOutcome[];

const OK: WriteOutcome = { kind: 'ok' };
const UNCHANGED: WriteOutcome = { kind: 'unchanged' };
const failed = (message: string, more: { field?: string; later?: boolean } = {}): WriteOutcome => ({
  kind: 'failed',
  message,
  later: false,
  ...more,
});
const oks = (count: number) => Array.from({ length: count }, () => OK);
const silent = failed('Salesforce answered without a word on it', { later: true });
const locked = failed('Salesforce did not take it now (UNABLE_TO_LOCK_ROW)', { later: true });

/** A server whose contacts have external ids: a text, a number, one whose case counts, and one that is not unique. */
async function startServer(settings: Parameters<typeof salesforceServer>[0] = {}): Promise<SalesforceServer> {
  const server = await salesforceServer(settings);
  const externalId = { externalId: true, unique: true } as const;
  server.field('Contact', { name: 'Sku__c', type: 'string', ...externalId });
  server.field('Contact', { name: 'Number__c', type: 'double', precision: 18, scale: 0, ...externalId });
  server.field('Contact', { name: 'Code__c', type: 'string', ...externalId, caseSensitive: true });
  server.field('Contact', { name: 'Loose__c', type: 'string', externalId: true });
  server.field('Contact', { name: 'Size__c', type: 'picklist', picklist: ['small', 'large'], restricted: true });
  return server;
}

const credentials = ({ url, app }: SalesforceServer) => ({
  address: url,
  client_id: app.clientId,
  client_secret: app.clientSecret,
});
const settingsOf = (server: SalesforceServer) => salesforce.settings.parse(credentials(server));

type More = Partial<Writing> & { signal?: AbortSignal; context?: ReturnType<typeof testContext> };

function writing(server: SalesforceServer, key: string, records: SourceRecord[], { signal, context, ...more }: More) {
  const all = { stream: 'Contact', key: [key], batchId: 'b', records, answered: 0, isRemoval: false, ...more };
  const own = context ?? testContext(signal ?? AbortSignal.timeout(HANGS_MS));
  return salesforce.destination!.write(settingsOf(server), all, own);
}

async function write(
  server: SalesforceServer,
  key: string,
  records: SourceRecord[],
  more: More = {},
): Promise<Outcomes> {
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

const refused = (says: RegExp) => ({
  status: 'source_refused',
  message: expect.stringMatching(says) as string,
});

const json =
  (body: unknown): Parameters<SalesforceServer['next']>[1] =>
  (_, response) =>
    void response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));

const isWrite = ({ method, path }: { method: string; path: string }) =>
  method !== 'GET' && path.includes('/composite/sobjects');
const writesTo = ({ calls }: SalesforceServer) => calls.filter(isWrite);
const recordsOf = ({ body }: Call) => (JSON.parse(body) as { records: SourceRecord[] }).records;
const live = (server: SalesforceServer, object = 'Contact') =>
  [...server.records(object).values()].filter(({ deletedAt }) => deletedAt === null);
/** The values of the records that are left, by a field's. */
const heldBy = (server: SalesforceServer, field: string) =>
  new Map(live(server).map(({ values }) => [values[field], values]));

const people = (count: number, more: (n: number) => SourceRecord = () => ({})): SourceRecord[] =>
  Array.from({ length: count }, (_, n) => ({ Sku__c: `s-${n}`, LastName: `Zoë ${n}`, ...more(n) }));

describe.for([
  { key: 'Sku__c', named: (n: number) => `s-'${n}\\` },
  { key: 'Number__c', named: (n: number) => 5_000_000_000 + n },
])('contacts by $key', ({ key, named }) => {
  destinationContract(salesforce, async () => {
    const server = await startServer();
    const records = Array.from({ length: 430 }, (_, n) => ({ [key]: named(n), LastName: `Zoë ${n}` }));
    return {
      settings: credentials(server),
      wrong: {
        settings: { ...credentials(server), client_secret: 'zqanother' },
        says: /\(invalid_client\): check the address, client_id and client_secret/,
      },
      stream: 'Contact',
      key: [key],
      records,
      changed: { ...records[0]!, LastName: 'Ada' },
      bad: {
        record: { [key]: named(999), LastName: 'zqvalue'.repeat(20) },
        says: /^is longer than Salesforce takes \(STRING_TOO_LONG\)$/,
        quotesNot: 'zqvalue',
      },
      held: async () => live(server).map(({ values }) => ({ [key]: values[key]!, LastName: values['LastName']! })),
      async throttle() {
        const isData = ({ path }: { path: string }) => path.startsWith('/services/data');
        server.next(isData, salesforceAnswers.concurrentLimit(), Infinity);
        return 30;
      },
      stop: async () => undefined,
    };
  });
});

describe('Complaint 7: one bad record fails its batch, or is dropped silently', () => {
  it('3 bad of 100: 97 are taken in one call, 3 named with field and reason', async () => {
    const server = await startServer();
    const bad = new Map<number, SourceRecord>([
      [3, { Size__c: 'zqhuge' }],
      [50, { Email: 'zq@example' }],
      [99, { LastName: 'zq'.repeat(41) }],
    ]);
    const outcomes = await write(
      server,
      'Sku__c',
      people(100, (n) => bad.get(n) ?? {}),
    );
    const expected = new Map([
      [
        3,
        failed(
          'is not one of the choices of the field (INVALID_OR_NULL_FOR_RESTRICTED_PICKLIST): it takes small, large',
          {
            field: 'Size__c',
          },
        ),
      ],
      [50, failed('is not an e-mail address that Salesforce takes (INVALID_EMAIL_ADDRESS)', { field: 'Email' })],
      [99, failed('is longer than Salesforce takes (STRING_TOO_LONG)', { field: 'LastName' })],
    ]);
    expect(outcomes).toEqual(oks(100).map((ok, n) => expected.get(n) ?? ok));
    expect(live(server)).toHaveLength(97);
    expect(writesTo(server)).toHaveLength(1);
  });

  it('a call that is refused as a whole is halved until the bad record stands alone', async () => {
    const server = await startServer();
    server.field('Contact', { name: 'At__c', type: 'datetime' });
    server.next(
      (call) => isWrite(call) && (call as Call).body.includes('zqbad'),
      salesforceAnswers.refusal(400, 'JSON_PARSER_ERROR', 'Cannot deserialize zqbad'),
      Infinity,
    );
    const records = people(100, (n): SourceRecord => (n === 42 ? { FirstName: 'zqbad' } : {}));
    const expected = failed('Salesforce does not take it (JSON_PARSER_ERROR)');
    expect(await write(server, 'Sku__c', records)).toEqual(oks(100).map((ok, n) => (n === 42 ? expected : ok)));
    expect(live(server)).toHaveLength(99);
    expect(writesTo(server).length).toBeLessThanOrEqual(15);
  });

  it('an answer with fewer results than inputs is no success', async () => {
    const server = await startServer();
    const done = { id: '003000000000001AAA', success: true, errors: [] };
    server.next(isWrite, json([done, done]));
    expect(await write(server, 'Sku__c', people(3))).toEqual([silent, silent, silent]);
    server.next(isWrite, json([done, { success: false }, { ...done, success: 'yes' }]));
    expect(await write(server, 'Sku__c', people(3))).toEqual([OK, silent, silent]);
  });

  it.for<{ code: string; fields?: string[]; expected: WriteOutcome }>([
    {
      code: 'DUPLICATES_DETECTED',
      expected: failed('A duplicate rule of the org takes it for a record that is there (DUPLICATES_DETECTED)'),
    },
    {
      code: 'FIELD_CUSTOM_VALIDATION_EXCEPTION',
      fields: ['LastName'],
      expected: failed('breaks a validation rule of the org (FIELD_CUSTOM_VALIDATION_EXCEPTION)', {
        field: 'LastName',
      }),
    },
    {
      code: 'FIELD_CUSTOM_VALIDATION_EXCEPTION',
      expected: failed('It breaks a validation rule of the org (FIELD_CUSTOM_VALIDATION_EXCEPTION)'),
    },
    {
      code: 'CANNOT_INSERT_UPDATE_ACTIVATE_ENTITY',
      expected: failed('A trigger or a flow of the org failed for it (CANNOT_INSERT_UPDATE_ACTIVATE_ENTITY)'),
    },
    {
      code: 'REQUIRED_FIELD_MISSING',
      fields: ['Title', 'zq field'],
      expected: failed(
        'Salesforce does not take it because of Title, for which it has no value (REQUIRED_FIELD_MISSING)',
      ),
    },
    {
      code: 'SERVER_UNAVAILABLE',
      expected: failed('Salesforce did not take it now (SERVER_UNAVAILABLE)', { later: true }),
    },
    {
      code: 'ZQ_NEW_CODE',
      fields: ['LastName'],
      expected: failed('is not one that Salesforce takes (ZQ_NEW_CODE)', { field: 'LastName' }),
    },
    { code: 'zq message', expected: failed('Salesforce does not take it (UNKNOWN)') },
  ])('a record that fails for $code of $fields is reported in words of ours', async ({ code, fields, expected }) => {
    const server = await startServer();
    const isSecond = ({ Sku__c: sku }: Readonly<Record<string, unknown>>) => sku === 's-1';
    server.failRecords({ statusCode: code, message: 'zqsecret value', fields: fields ?? [] }, { matches: isSecond });
    expect(await write(server, 'Sku__c', people(3))).toEqual([OK, expected, OK]);
  });
});

describe('Complaint 8: the same record twice in one call', () => {
  it.for([
    { of: 'one external id', key: 'Sku__c', values: ['s-1', 's-1'], records: 1 },
    { of: 'external ids that differ in case', key: 'Sku__c', values: ['s-1', 'S-1 '], records: 1 },
    { of: 'one number, as number and as text', key: 'Number__c', values: [7, '7.0'], records: 1 },
    { of: 'external ids whose case counts', key: 'Code__c', values: ['s-1', 'S-1'], records: 2 },
  ])('goes into two calls, in their order, with both outcomes: $of', async ({ key, values, records }) => {
    const server = await startServer();
    const given = values.map((value, n) => ({ [key]: value, LastName: `v${n}` }));
    expect(await write(server, key, given)).toEqual([OK, OK]);
    expect(live(server).map(({ values: { LastName } }) => LastName)).toEqual(records === 1 ? ['v1'] : ['v0', 'v1']);
    expect(writesTo(server)).toHaveLength(records === 1 ? 2 : 1);
  });

  it('goes into two calls by its id, of 15 or of 18 characters', async () => {
    const server = await startServer();
    const id = server.put('Contact', { LastName: 'v' });
    const given = [id, id.slice(0, 15)].map((Id, n) => ({ Id, LastName: `v${n}` }));
    expect(await write(server, 'Id', given)).toEqual([OK, OK]);
    expect(server.records('Contact').get(id)!.values['LastName']).toBe('v1');
    expect(writesTo(server)).toHaveLength(2);
  });

  it('goes in the order of the records also across calls that are in flight', async () => {
    const server = await startServer();
    const isFirst = ({ LastName: name }: Readonly<Record<string, unknown>>) => name === 'Zoë 0';
    server.failRecords({ statusCode: 'UNABLE_TO_LOCK_ROW' }, { matches: isFirst });
    expect(await write(server, 'Sku__c', [...people(200), { Sku__c: 'S-0', LastName: 'last' }])).toEqual(oks(201));
    expect(heldBy(server, 'LastName').has('last')).toBe(true);
    expect(live(server)).toHaveLength(200);
  });

  it('an external id that two records of the org have fails, and is not removed', async () => {
    const server = await startServer();
    server.putMany(
      'Contact',
      [1, 2].map((n) => ({ Loose__c: 'zq-1', LastName: `v${n}` })),
    );
    const expected = failed(
      'is the value of several records of Salesforce: it must be that of one (DUPLICATE_EXTERNAL_ID)',
      { field: 'Loose__c' },
    );
    const records = ['zq-1', 'zq-2'].map((Loose__c) => ({ Loose__c, LastName: 'new' }));
    expect(await write(server, 'Loose__c', records)).toEqual([expected, OK]);
    expect(await write(server, 'Loose__c', records, { isRemoval: true })).toEqual([expected, OK]);
    expect(live(server).map(({ values: { LastName } }) => LastName)).toEqual(['v1', 'v2']);
  });
});

it('a call that something before Salesforce refuses is not halved', async () => {
  const server = await startServer();
  server.next(isWrite, (_, response) => void response.writeHead(400, { 'content-type': 'text/html' }).end('zq'), 99);
  expect(await refusalOf(write(server, 'Sku__c', people(100)))).toMatchObject(refused(/answered 400: it refused/));
  expect(writesTo(server)).toHaveLength(1);
});

it.each(['2026-02-30', '2026-02-30T10:00:00Z', '2026-04-31T23:00:00+02:00'])(
  'a day that is not in the calendar fails, and does not become another: %s',
  async (At__c) => {
    const server = await startServer();
    server.field('Contact', { name: 'At__c', type: 'datetime' });
    expect(await write(server, 'Sku__c', [{ Sku__c: 's', LastName: 'Ada', At__c }])).toEqual([
      failed('is not a time as ISO 8601 writes it', { field: 'At__c' }),
    ]);
  },
);

describe('a record that is locked', () => {
  const isEven = ({ Sku__c: sku }: Readonly<Record<string, unknown>>) => Number(String(sku).slice(2)) % 2 === 0;

  it('is sent again, alone with others that are locked', async () => {
    const server = await startServer();
    server.failRecords({ statusCode: 'UNABLE_TO_LOCK_ROW' }, { matches: isEven, times: 7 });
    expect(await write(server, 'Sku__c', people(10))).toEqual(oks(10));
    expect(writesTo(server).map((call) => recordsOf(call).length)).toEqual([10, 5, 2]);
  });

  it('fails for now once it stays locked; the others are taken', async () => {
    const server = await startServer();
    server.failRecords({ statusCode: 'UNABLE_TO_LOCK_ROW' }, { matches: isEven, times: Infinity });
    expect(await write(server, 'Sku__c', people(3))).toEqual([locked, OK, locked]);
    expect(writesTo(server)).toHaveLength(4);
  });

  it('or that another call creates meanwhile, as after a try that was killed, is updated', async () => {
    const server = await startServer();
    server.failRecords({ statusCode: 'DUPLICATE_VALUE', fields: ['Sku__c'] }, { matches: isEven, times: 2 });
    expect(await write(server, 'Sku__c', people(3))).toEqual(oks(3));
    expect(writesTo(server)).toHaveLength(2);
  });

  it('ends its pause with the signal', async () => {
    const server = await startServer();
    server.failRecords({ statusCode: 'UNABLE_TO_LOCK_ROW' }, { times: Infinity });
    const cancel = new AbortController();
    server.next((call) => {
      if (isWrite(call) && writesTo(server).length === 3) cancel.abort(new Error('canceled'));
      return false;
    }, json([]));
    await expect(write(server, 'Sku__c', people(1), { signal: cancel.signal })).rejects.toThrow('canceled');
    expect(writesTo(server)).toHaveLength(3);
  });
});

it('values become what their fields take, to the last digit; what has none fails by name, without a call', async () => {
  const server = await startServer();
  const types = { Amount__c: 'double', Count__c: 'int', At__c: 'datetime', Tags__c: 'multipicklist' } as const;
  for (const [name, type] of Object.entries(types)) server.field('Contact', { name, type, precision: 18, scale: 0 });
  server.put('Contact', { Sku__c: 's-0', LastName: 'Ada', Title: 'Countess', Phone: '1' });
  const good: SourceRecord = {
    Amount__c: '9007199254740993',
    Count__c: '12',
    HasOptedOutOfEmail: 'true',
    Birthdate: '1815-12-10T00:00:00.000Z',
    At__c: '2026-11-27T15:00:00+01:00',
    Tags__c: ['a', 'b', 3],
    Title: null,
    Phone: '',
    Description: 1e18,
  };
  const bad: [SourceRecord, string][] = [
    [{ Amount__c: 'zq' }, 'is not a number as JSON writes it'],
    [{ Count__c: 1.5 }, 'is not a whole number'],
    [{ HasOptedOutOfEmail: 1 }, 'is neither true nor false'],
    [{ Birthdate: '1815-12-10T12:00:00Z' }, 'is a time, and the field takes dates'],
    [{ Birthdate: '10.12.1815' }, 'is not a date such as 2026-01-31'],
    [{ At__c: '2026-11-27 15:00:00' }, 'is not a time as ISO 8601 writes it'],
    [{ Tags__c: ['a', 'zq;b'] }, 'has an entry with a semicolon, by which Salesforce separates entries'],
    [{ Tags__c: [['a']] }, 'is a list with something else than texts, numbers and booleans'],
    [{ Title: ['a'] }, 'is a list, which only a field of several choices takes'],
    [{ Title: { zq: 1 } }, 'is an object, which no field of Salesforce takes'],
  ];
  const outcomes = await write(server, 'Sku__c', [
    { Sku__c: 's-0', ...good },
    ...bad.map(([values], n) => ({ Sku__c: `s-${n + 1}`, LastName: 'x', ...values })),
    { Sku__c: ' ', LastName: 'Anonymous' },
  ]);
  expect(outcomes).toEqual([
    OK,
    ...bad.map(([values, message]) => failed(message, { field: Object.keys(values)[0]! })),
    failed('The record has no Sku__c'),
  ]);
  expect(live(server).map(({ values }) => values)).toEqual([
    {
      Sku__c: 's-0',
      LastName: 'Ada',
      Amount__c: '9007199254740993',
      Count__c: 12,
      HasOptedOutOfEmail: true,
      Birthdate: '1815-12-10',
      At__c: '2026-11-27T14:00:00.000Z',
      Tags__c: 'a;b;3',
      Description: '1000000000000000000',
    },
  ]);
});

it('records named by their ids are updated; one that is not there fails by name', async () => {
  const server = await startServer();
  const [ada, gone] = server.putMany('Contact', people(2) as Record<string, string>[]);
  const account = server.put('Account', { Name: 'Ada & Co' });
  server.delete('Contact', gone!);
  const records = [ada!, gone!, account, 'zq'].map((Id) => ({ Id, FirstName: 'Ada' }));
  expect(await write(server, 'Id', records)).toEqual([
    OK,
    failed('It, or a record that it names, was deleted in Salesforce (ENTITY_IS_DELETED)'),
    failed('It has the id of a record that the user may not see or that does not fit (INVALID_CROSS_REFERENCE_KEY)'),
    failed('is not an id of Salesforce', { field: 'Id' }),
  ]);
  expect(live(server).map(({ values }) => values['FirstName'])).toEqual(['Ada']);
});

describe('a removal', () => {
  it.for(['Sku__c', 'Number__c', 'Code__c', 'Id'])(
    'deletes records that are found by %s, and leaves what is unknown or gone unchanged',
    async (key) => {
      const server = await startServer();
      const rows = ["it's", 'b"\\\n', 'c'].map((name, n) => ({ Sku__c: name, Code__c: name, Number__c: 5e9 + n }));
      const ids = server.putMany(
        'Contact',
        rows.map((row) => ({ ...row, LastName: 'x' })),
      );
      server.delete('Contact', ids[1]!);
      const account = server.put('Account', { Name: 'Ada & Co' });
      const none: Record<string, string | number> = { Sku__c: 'none', Code__c: "IT'S", Number__c: 7, Id: account };
      const names = [...rows.slice(0, 2).map((row, n) => ({ ...row, Id: ids[n]! })), none].map((row) => ({
        [key]: row[key as keyof typeof row]!,
        Phone: 'a field that is not looked at',
      }));
      expect(await write(server, key, names, { isRemoval: true })).toEqual([OK, UNCHANGED, UNCHANGED]);
      expect(live(server).map(({ id }) => id)).toEqual([ids[2]]);
      expect(live(server, 'Account')).toHaveLength(1);
      expect(await write(server, key, names, { isRemoval: true })).toEqual([UNCHANGED, UNCHANGED, UNCHANGED]);
    },
  );

  it('asks in queries whose URLs are not too long', async () => {
    const server = await startServer();
    const records = people(200, (n) => ({ Sku__c: `${'ü'.repeat(200)}${n}` }));
    server.putMany('Contact', records as Record<string, string>[]);
    expect(await write(server, 'Sku__c', records, { isRemoval: true })).toEqual(oks(200));
    const queries = server.calls.filter(({ path }) => path.endsWith('/query'));
    expect(Math.max(...queries.map(({ query }) => query.length))).toBeLessThan(15_000);
    expect(queries.length).toBeLessThan(25);
    expect(live(server)).toEqual([]);
  });

  it('that is locked is tried again, and one of records that others depend on fails', async () => {
    const server = await startServer();
    server.putMany('Contact', people(2) as Record<string, string>[]);
    const isFirst = ({ Sku__c: sku }: Readonly<Record<string, unknown>>) => sku === 's-0';
    server.failRecords({ statusCode: 'UNABLE_TO_LOCK_ROW' }, { matches: isFirst });
    server.failRecords({ statusCode: 'DELETE_FAILED' }, { matches: (values) => !isFirst(values) });
    const outcomes = await write(server, 'Sku__c', people(2), { isRemoval: true });
    expect(outcomes).toEqual([OK, failed('Other records depend on it (DELETE_FAILED)')]);
  });

  it('of a record that goes between the query and the deletion is no failure', async () => {
    const server = await startServer();
    const [id] = server.putMany('Contact', people(1) as Record<string, string>[]);
    server.next((call) => {
      if (call.method === 'DELETE') server.erase('Contact', id!);
      return false;
    }, json([]));
    expect(await write(server, 'Sku__c', people(1), { isRemoval: true })).toEqual([UNCHANGED]);
  });
});

describe('what would fail for every record is refused', () => {
  const isNothingWritten = (server: SalesforceServer) => expect(writesTo(server)).toEqual([]);

  it.for([
    {
      key: ['Email'],
      says: /^key: Salesforce does not find Contact by Email: choose one of Id, Sku__c, Number__c, Code__c, Loose__c, or make /,
    },
    { key: ['Sku__c', 'Email'], says: /^key: .* by Sku__c, Email: choose one of / },
    { key: ['zq'], says: /^key: .* by zq: choose one of / },
    { key: [], says: /^key: .* by no field: choose one of / },
  ])('a wrong key, $key, with the right ones', async ({ key, says }) => {
    const server = await startServer();
    expect(await refusalOf(write(server, '', people(1), { key }))).toMatchObject(refused(says));
    isNothingWritten(server);
  });

  it.for([
    { field: 'SystemModstamp', says: /^The field SystemModstamp of Contact takes no values, since/ },
    { field: 'Id', says: /^The field Id of Contact takes no values unless it is part of the key/ },
    { field: 'Secret__c', says: /^Salesforce shows no field Secret__c of Contact: .*field-level security hides it/ },
    { field: 'MailingAddress', says: /^Salesforce shows no field MailingAddress of Contact/ },
  ])('a field that is read-only, hidden or unknown: $field', async ({ field, says }) => {
    const server = await startServer();
    server.field('Contact', { name: 'Secret__c', type: 'string' });
    server.hide('Contact', 'Secret__c');
    const records = [...people(2), { Sku__c: 's-3', [field]: '1' }];
    expect(await refusalOf(write(server, 'Sku__c', records))).toMatchObject(refused(says));
    isNothingWritten(server);
  });

  it('a field that is hidden during the run', async () => {
    const server = await startServer();
    const context = testContext(AbortSignal.timeout(HANGS_MS));
    const records = people(100, () => ({ Size__c: 'small' }));
    expect(await write(server, 'Sku__c', records, { context })).toEqual(oks(100));
    server.hide('Contact', 'Size__c');
    const refusal = await refusalOf(write(server, 'Sku__c', records, { context }));
    expect(refusal).toMatchObject(refused(/\(INVALID_FIELD\): it knows no such field, or field-level security hides/));
    expect(writesTo(server)).toHaveLength(2);
    expect(server.calls.filter(({ path }) => path.endsWith('/describe'))).toHaveLength(1);
  });

  it.for([
    {
      of: 'to write',
      rights: { createable: false, updateable: false },
      isRemoval: false,
      says: /may not create or edit Contact at /,
    },
    { of: 'to delete', rights: { deletable: false }, isRemoval: true, says: /may not delete records of Contact at / },
    {
      of: 'to see it',
      rights: { readable: false },
      isRemoval: false,
      says: /^stream: .* no object of this name, or the user may not see it/,
    },
  ])(
    'an object without the right $of, also if it is taken away during the run',
    async ({ rights, isRemoval, says }) => {
      const server = await startServer();
      const context = testContext(AbortSignal.timeout(HANGS_MS));
      server.putMany('Contact', people(3) as Record<string, string>[]);
      expect(await write(server, 'Sku__c', people(2), { isRemoval, context })).toEqual(oks(2));
      server.rights('Contact', rights);
      const before = writesTo(server).length;
      for (const more of [{}, { context }]) {
        const refusal = await refusalOf(write(server, 'Sku__c', people(3), { isRemoval, ...more }));
        if (rights.readable !== false || more.context === undefined) expect(refusal).toMatchObject(refused(says));
        else expect(refusal.status).toBe('source_refused');
      }
      expect(writesTo(server).length - before).toBeLessThanOrEqual(1);
    },
  );

  it('a record that the user may not change, of an object that it may, fails alone', async () => {
    const server = await startServer();
    const isFirst = ({ Sku__c: sku }: Readonly<Record<string, unknown>>) => sku === 's-0';
    server.failRecords({ statusCode: 'INSUFFICIENT_ACCESS_OR_READONLY' }, { matches: isFirst });
    expect(await write(server, 'Sku__c', people(2))).toEqual([
      failed('The user may not change it (INSUFFICIENT_ACCESS_OR_READONLY)'),
      OK,
    ]);
  });

  it('an org whose storage is full, or whose API is switched off', async () => {
    const server = await startServer();
    server.failRecords({ statusCode: 'STORAGE_LIMIT_EXCEEDED' });
    expect(await refusalOf(write(server, 'Sku__c', people(2)))).toMatchObject(
      refused(/ has no storage left for records/),
    );
    server.next(isWrite, salesforceAnswers.refusal(403, 'API_DISABLED_FOR_ORG', 'zq'));
    expect(await refusalOf(write(server, 'Sku__c', people(2)))).toMatchObject(
      refused(/\(API_DISABLED_FOR_ORG\): the org, or the profile of the user, has no access to the API/),
    );
  });
});

describe('limits', () => {
  it('of the day let the run wait an hour, which is no failure; the outcomes before it are kept', async () => {
    const server = await startServer({ delayMs: 5 });
    const outcomes: Outcomes = [];
    server.limits.perDay = 3;
    const all = async () => {
      for await (const some of writing(server, 'Sku__c', people(1_000), {})) outcomes.push(...some);
    };
    const { status, extra, message } = await refusalOf(all());
    expect({ status, planned: extra[PLANNED_WAIT] }).toEqual({ status: 'source_unavailable', planned: true });
    expect(extra['retry_after']).toBeGreaterThan(3_500);
    expect(extra['retry_after']).toBeLessThanOrEqual(3_600);
    expect(message).toMatch(/calls/);
    expect(outcomes).toEqual(oks(outcomes.length));
    expect(live(server).length).toBeLessThanOrEqual(600);
  });

  it('of calls at once, and a server that is not there, are passed on', async () => {
    const server = await startServer();
    server.next(isWrite, salesforceAnswers.concurrentLimit());
    expect(await refusalOf(write(server, 'Sku__c', people(1)))).toMatchObject({
      status: 'source_unavailable',
      extra: { retry_after: 30 },
    });
    server.next(isWrite, salesforceAnswers.unavailable());
    expect(await refusalOf(write(server, 'Sku__c', people(1)))).toMatchObject({ status: 'source_unavailable' });
  });
});

it('lists the objects that the user may write to; fields that Salesforce makes itself take no values', async () => {
  const server = await startServer();
  server.rights('Lead', { createable: false, updateable: false });
  const discover = (only?: string) =>
    salesforce.destination!.discover(settingsOf(server), testContext(AbortSignal.timeout(HANGS_MS)), only);
  const streams = (await discover())!;
  expect(streams.map(({ name }) => name)).toEqual(['Account', 'Contact']);
  expect(streams[1]!.keys).toEqual(['Id', 'Sku__c', 'Number__c', 'Code__c', 'Loose__c'].map((name) => [name]));
  const takes = Object.fromEntries(streams[1]!.fields.map((field) => [field.name, field.takes_values]));
  expect(takes).toMatchObject({ Sku__c: undefined, Email: undefined, Id: 'as_key', SystemModstamp: 'never' });
  expect((await discover('Contact'))!.map(({ name }) => name)).toEqual(['Contact']);
});

describe('calls', () => {
  it('are four in flight, never more, and the outcomes keep their order', async () => {
    const server = await startServer({ delayMs: 10 });
    let most = 0;
    server.next(() => {
      most = Math.max(most, server.calls.filter(({ status }) => status === 0).length);
      return false;
    }, json([]));
    const records = people(2_050, (n): SourceRecord => (n % 97 === 0 ? { Size__c: 'huge' } : {}));
    const outcomes = await write(server, 'Sku__c', records);
    expect(outcomes.map(({ kind }) => kind)).toEqual(records.map((_, n) => (n % 97 === 0 ? 'failed' : 'ok')));
    expect(most).toBe(4);
    expect(writesTo(server)).toHaveLength(11);
  });

  it('whose token expires go on with a new one: each record comes once', async () => {
    const server = await startServer({ limits: { tokenCalls: 5, expiredCode: 'INVALID_JWT_FORMAT' } });
    expect(await write(server, 'Sku__c', people(1_500))).toEqual(oks(1_500));
    expect(live(server)).toHaveLength(1_500);
  });

  it('that are canceled: it is known what was not sent', async () => {
    const server = await startServer();
    server.next(
      (call) => isWrite(call) && !(call as Call).body.includes('"s-0"'),
      () => undefined,
      Infinity,
    );
    const cancel = new AbortController();
    let sent = 0;
    const sending = (count: number) => void (sent = Math.max(sent, count));
    const all = async () => {
      for await (const some of writing(server, 'Sku__c', people(2_000), { signal: cancel.signal, sending })) {
        expect(some).toEqual(oks(200));
        cancel.abort(new Error('canceled'));
      }
    };
    await expect(all()).rejects.toThrow('canceled');
    const arrived = writesTo(server)
      .filter(({ body }) => body !== '')
      .flatMap(recordsOf);
    expect(sent).toBeGreaterThan(Math.max(...arrived.map(({ Sku__c: sku }) => Number((sku as string).slice(2)))));
    expect(sent).toBeLessThanOrEqual(1_000);
  });

  it('go on after what was answered before', async () => {
    const server = await startServer();
    expect(await write(server, 'Sku__c', people(5), { answered: 3 })).toEqual(oks(2));
    expect([...heldBy(server, 'Sku__c').keys()]).toEqual(['s-3', 's-4']);
  });
});
