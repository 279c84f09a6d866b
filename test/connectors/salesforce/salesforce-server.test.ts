import { createPrivateKey } from 'node:crypto';
import { SignJWT } from 'jose';
import { describe, expect, it } from 'vitest';
import { DAY_MS, MINUTE_MS } from '../../../domain/time/durations.ts';
import { salesforceAnswers, type SalesforceServer, salesforceServer } from '../../harness/syncs/salesforce-server.ts';

const START = Date.UTC(2026, 9, 1);
const DATA = '/services/data/v67.0';

const named = (LastName: string) => ({ LastName });

async function login(server: SalesforceServer, form: Record<string, string> = {}) {
  const { clientId, clientSecret } = server.app;
  const response = await fetch(`${server.url}/services/oauth2/token`, {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'client_credentials',
      client_id: clientId,
      client_secret: clientSecret,
      ...form,
    }),
  });
  return { status: response.status, json: (await response.json()) as Record<string, string> };
}

async function client(server: SalesforceServer) {
  const { access_token: token } = (await login(server)).json;
  const call = async (path: string, { method = 'GET', body, headers = {} }: CallOptions = {}) => {
    const response = await fetch(`${server.url}${path.startsWith('/services') ? '' : DATA}${path}`, {
      method,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...headers },
    });
    const text = await response.text();
    const isJson = response.headers.get('content-type')?.startsWith('application/json');
    return { status: response.status, json: isJson ? JSON.parse(text) : null, text, headers: response.headers };
  };
  const query = (soql: string, path = 'query') => call(`/${path}?q=${encodeURIComponent(soql)}`);
  return { call, query };
}
type CallOptions = { method?: string; body?: unknown; headers?: Record<string, string> };

describe('tokens', () => {
  it('come by client credentials, without an end, and name the instance', async () => {
    const server = await salesforceServer();
    const { status, json } = await login(server);
    expect(status).toBe(200);
    expect(json).toMatchObject({ token_type: 'Bearer', instance_url: server.url });
    expect(json).not.toHaveProperty('expires_in');
    expect((await login(server, { client_secret: 'other' })).json).toMatchObject({ error: 'invalid_client' });
  });

  it('come by an assertion that the private key signs', async () => {
    const server = await salesforceServer();
    const { clientId, username, audience, privateKey } = server.app;
    const assertion = (subject: string) =>
      new SignJWT()
        .setProtectedHeader({ alg: 'RS256' })
        .setIssuer(clientId)
        .setSubject(subject)
        .setAudience(audience)
        .setExpirationTime('3 min')
        .sign(createPrivateKey(privateKey));
    const bearer = async (subject: string) =>
      login(server, {
        grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer',
        assertion: await assertion(subject),
      });
    expect((await bearer(username)).status).toBe(200);
    expect((await bearer('other@example.com')).json).toMatchObject({ error: 'invalid_grant' });
  });

  it('expire after the calls set, by the code set', async () => {
    const server = await salesforceServer({ limits: { tokenCalls: 1, expiredCode: 'INVALID_JWT_FORMAT' } });
    const { call } = await client(server);
    expect((await call('/limits')).status).toBe(200);
    expect(await call('/limits')).toMatchObject({ status: 401, json: [{ errorCode: 'INVALID_JWT_FORMAT' }] });
  });
});

describe('objects and fields', () => {
  it('are described as far as the user may see them', async () => {
    const server = await salesforceServer();
    server.hide('Contact', 'Phone');
    server.rights('Lead', { readable: false });
    const { call, query } = await client(server);
    const { sobjects } = (await call('/sobjects')).json;
    expect(sobjects.map(({ name }: { name: string }) => name)).toEqual(['Account', 'Contact']);
    const { fields } = (await call('/sobjects/Contact/describe')).json;
    const byName = new Map(fields.map((field: { name: string }) => [field.name, field]));
    expect(byName.get('MailingCity')).toMatchObject({ compoundFieldName: 'MailingAddress', filterable: true });
    expect(byName.get('LastName')).toMatchObject({ nillable: false, createable: true });
    expect(byName.has('Phone')).toBe(false);
    expect((await call('/sobjects/Lead/describe')).status).toBe(404);
    expect((await query('SELECT Id, Phone FROM Contact')).json).toMatchObject([
      { errorCode: 'INVALID_FIELD', message: expect.stringContaining("No such column 'Phone' on entity 'Contact'") },
    ]);
    expect((await query('SELECT Id FROM Lead')).json).toMatchObject([{ errorCode: 'INVALID_TYPE' }]);
    expect((await query("SELECT Id FROM Contact WHERE Description = 'x'")).json).toMatchObject([
      { message: expect.stringContaining('can not be filtered in a query call') },
    ]);
    expect((await query('SELECT Id FROM Contact WHERE')).json).toMatchObject([{ errorCode: 'MALFORMED_QUERY' }]);
  });
});

describe('queries', () => {
  it('come in pages whose locators can be lost', async () => {
    const server = await salesforceServer({ pageRows: 2 });
    server.putMany(
      'Contact',
      ['A', 'B', 'C', 'D', 'E'].map((LastName) => ({ LastName })),
      START,
    );
    const { call, query } = await client(server);
    const first = (await query('SELECT Id, Name FROM Contact ORDER BY SystemModstamp, Id')).json;
    expect(first).toMatchObject({ totalSize: 5, done: false, records: [{ Name: 'A' }, { Name: 'B' }] });
    const second = (await call(first.nextRecordsUrl)).json;
    expect(second.records).toMatchObject([{ Name: 'C', attributes: { type: 'Contact' } }, { Name: 'D' }]);
    server.loseLocators();
    expect((await call(second.nextRecordsUrl)).json).toMatchObject([{ errorCode: 'INVALID_QUERY_LOCATOR' }]);
  });

  it('know conditions, escapes, nulls, dates, and compound fields', async () => {
    const server = await salesforceServer();
    server.field('Contact', { name: 'Score__c', type: 'double' });
    server.put('Contact', { LastName: "O'Hara", MailingCity: 'Graz', Score__c: 2 }, { at: START });
    server.put('Contact', { LastName: 'Lund', Score__c: '12345678901234567.5' }, { at: START + MINUTE_MS });
    const { query } = await client(server);
    const names = async (where: string) => {
      const { json } = await query(`SELECT Name FROM Contact WHERE ${where} ORDER BY Name DESC NULLS LAST LIMIT 5`);
      return json.records.map(({ Name }: { Name: string }) => Name);
    };
    expect(await names(String.raw`Name = 'o\'hara'`)).toEqual(["O'Hara"]);
    expect(await names("(MailingCity = null AND Score__c > 1) OR LastName IN ('x')")).toEqual(['Lund']);
    expect(await names('SystemModstamp >= 2026-10-01T00:01:00Z')).toEqual(['Lund']);
    expect(await names('HasOptedOutOfEmail = false')).toEqual(["O'Hara", 'Lund']);
    const { text } = await query('SELECT Score__c, MailingAddress FROM Contact ORDER BY Score__c');
    expect(text).toContain('"Score__c":2.0,"MailingAddress":{"geocodeAccuracy":null,"street":null,"city":"Graz"');
    expect(text).toContain('"Score__c":12345678901234567.5,"MailingAddress":null');
    expect((await query('SELECT COUNT() FROM Contact')).json).toEqual({ totalSize: 2, done: true, records: [] });
  });

  it('show changes late, and deleted and merged records to queryAll for 15 days', async () => {
    let now = START;
    const server = await salesforceServer({ now: () => now });
    const [late, kept, merged] = [
      server.put('Contact', { LastName: 'Late' }, { lagMs: 9 * MINUTE_MS }),
      ...server.putMany('Contact', [{ LastName: 'Kept' }, { LastName: 'Merged' }]),
    ] as [string, string, string];
    const { call, query } = await client(server);
    const found = async (path?: string) =>
      (await query('SELECT Id, IsDeleted, MasterRecordId FROM Contact', path)).json.records;
    expect(await found()).toHaveLength(2);
    now += 9 * MINUTE_MS;
    expect(await found()).toHaveLength(3);
    server.merge('Contact', kept, merged);
    server.delete('Contact', late);
    expect(await found()).toMatchObject([{ Id: kept }]);
    expect(await found('queryAll')).toMatchObject([
      { Id: late, IsDeleted: true, MasterRecordId: null },
      { Id: kept, IsDeleted: false },
      { Id: merged, IsDeleted: true, MasterRecordId: kept },
    ]);
    const period = `start=${encodeURIComponent('2026-09-30T00:00:00+00:00')}&end=2026-10-02T00:00:00Z`;
    const { deletedRecords } = (await call(`/sobjects/Contact/deleted/?${period}`)).json;
    expect(deletedRecords.map(({ id }: { id: string }) => id).toSorted()).toEqual([late, merged].toSorted());
    now += 15 * DAY_MS;
    expect(await found('queryAll')).toMatchObject([{ Id: kept }]);
  });
});

describe('collections', () => {
  const attributes = { type: 'Contact' };

  it('tell of each record what became of it', async () => {
    const server = await salesforceServer();
    server.field('Contact', { name: 'Ext__c', type: 'string', externalId: true, length: 20 });
    const [one] = server.putMany('Contact', [{ LastName: 'One', Ext__c: 'a' }, ...['B', 'b'].map(twice)]);
    server.failRecords({ statusCode: 'UNABLE_TO_LOCK_ROW' }, { matches: ({ Ext__c }) => Ext__c === 'locked' });
    const { call } = await client(server);
    const rows = [
      { Ext__c: 'A', FirstName: 'Ann' },
      { Ext__c: 'new', LastName: 'New' },
      { Ext__c: 'b', LastName: 'Twice' },
      { Ext__c: 'unnamed' },
      { Ext__c: 'locked', LastName: 'Locked' },
      { Ext__c: 'long', LastName: 'L'.repeat(81) },
    ].map((values) => ({ attributes, ...values }));
    const path = '/composite/sobjects/Contact/Ext__c';
    const { json } = await call(path, { method: 'PATCH', body: { allOrNone: false, records: rows } });
    expect(json.slice(0, 2)).toMatchObject([
      { id: one, success: true, created: false },
      { success: true, created: true, errors: [] },
    ]);
    expect(json.slice(2).map(({ errors }: Result) => errors[0]!.statusCode)).toEqual([
      'DUPLICATE_EXTERNAL_ID',
      'REQUIRED_FIELD_MISSING',
      'UNABLE_TO_LOCK_ROW',
      'STRING_TOO_LONG',
    ]);
    expect(server.records('Contact').get(one!)!.values).toMatchObject({ FirstName: 'Ann', LastName: 'One' });
    const again = await call(path, { method: 'PATCH', body: { records: [rows[4]] } });
    expect(again.json).toMatchObject([{ success: true }]);
  });
  const twice = (Ext__c: string) => ({ LastName: 'Twice', Ext__c });
  type Result = { errors: { statusCode: string }[] };

  it('refuse a call of more than 200, and delete by id', async () => {
    const server = await salesforceServer();
    const ids = server.putMany(
      'Contact',
      Array.from({ length: 201 }, (_, n) => ({ LastName: String(n) })),
    );
    const { call } = await client(server);
    const remove = (some: string[]) =>
      call(`/composite/sobjects?ids=${some.join()}&allOrNone=false`, { method: 'DELETE' });
    expect(await remove(ids)).toMatchObject({ status: 400, json: [{ errorCode: 'EXCEEDED_ID_LIMIT' }] });
    const { json } = await remove([ids[0]!, ids[0]!]);
    expect(json).toMatchObject([{ id: ids[0], success: true }, { errors: [{ statusCode: 'ENTITY_IS_DELETED' }] }]);
  });
});

describe('Bulk queries', () => {
  const job = (query: string, more: object = {}) => ({
    method: 'POST',
    body: { operation: 'query', query, contentType: 'CSV', ...more },
  });

  it('come as CSV in pages, each job by its states', async () => {
    const server = await salesforceServer({ bulkPageRows: 2 });
    server.putMany('Contact', ['A "quoted", one', 'Two\nlines'].map(named), START);
    server.put('Contact', { LastName: 'C', FirstName: 'Ann' }, { at: START });
    const { call } = await client(server);
    const begun = await call('/jobs/query', job('SELECT FirstName, LastName, SystemModstamp FROM Contact'));
    expect(begun.json).toMatchObject({ state: 'UploadComplete', object: 'Contact', apiVersion: 67 });
    const path = `/jobs/query/${begun.json.id}`;
    expect((await call(`${path}/results`)).json).toMatchObject([{ errorCode: 'INVALIDJOBSTATE' }]);
    expect((await call(path, { method: 'DELETE' })).status).toBe(400);
    expect((await call(path)).json).toMatchObject({ state: 'InProgress' });
    expect((await call(path)).json).toMatchObject({ state: 'JobComplete', numberRecordsProcessed: 3 });
    const first = await call(`${path}/results`);
    const stamp = '"2026-10-01T00:00:00.000+0000"';
    const header = '"FirstName","LastName","SystemModstamp"\n';
    expect(first.text).toBe(`${header}"","A ""quoted"", one",${stamp}\n"","Two\nlines",${stamp}\n`);
    expect(first.headers.get('sforce-numberofrecords')).toBe('2');
    const last = await call(`${path}/results?locator=${first.headers.get('sforce-locator')}`);
    expect(last.text).toBe(`${header}"Ann","C",${stamp}\n`);
    expect(last.headers.get('sforce-locator')).toBe('null');
    expect((await call(`/services/data/v66.0${path}/results`)).status).toBe(409);
    expect((await call(path, { method: 'DELETE' })).status).toBe(204);
    expect((await call(path)).status).toBe(404);
  });

  it('fail, are aborted, and refuse compound fields', async () => {
    const server = await salesforceServer({ bulkLooks: 0 });
    server.failJobs('the org is busy');
    const { call } = await client(server);
    expect((await call('/jobs/query', job('SELECT MailingAddress FROM Contact'))).json).toMatchObject([
      { message: 'Selecting compound data not supported in Bulk Query' },
    ]);
    const begin = async () => (await call('/jobs/query', job('SELECT Id FROM Contact'))).json.id as string;
    expect((await call(`/jobs/query/${await begin()}`)).json).toMatchObject({
      state: 'Failed',
      errorMessage: 'the org is busy',
    });
    const aborted = await call(`/jobs/query/${await begin()}`, { method: 'PATCH', body: { state: 'Aborted' } });
    expect(aborted.json).toMatchObject({ state: 'Aborted' });
    expect((await call('/jobs/query')).json.records).toMatchObject([{ state: 'Failed' }, { state: 'Aborted' }]);
  });

  it('serve rows that are made as they are read', async () => {
    const server = await salesforceServer({ bulkLooks: 0 });
    server.generate('Contact', 20_000, (n) => ({ LastName: `Contact ${n}` }), START);
    const { call, query } = await client(server);
    expect((await query('SELECT COUNT() FROM Contact')).json).toMatchObject({ totalSize: 20_000 });
    const { id } = (await call('/jobs/query', job('SELECT Id, Name FROM Contact', { lineEnding: 'CRLF' }))).json;
    await call(`/jobs/query/${id}`);
    const lines = (await call(`/jobs/query/${id}/results?maxRecords=15000`)).text.split('\r\n');
    expect(lines).toHaveLength(15_002);
    expect(lines[15_000]).toMatch(/^"003.{15}","Contact 14999"$/);
  });
});

it('counts calls, and refuses them past the limit of the day', async () => {
  const server = await salesforceServer({ limits: { perDay: 100, usedElsewhere: 98 } });
  const { call } = await client(server);
  server.next(({ path }) => path.endsWith('/limits'), salesforceAnswers.concurrentLimit());
  expect((await call('/limits')).json).toMatchObject([{ errorCode: 'REQUEST_LIMIT_EXCEEDED' }]);
  const { headers, json } = await call('/limits');
  expect(headers.get('sforce-limit-info')).toBe('api-usage=99/100');
  expect(json).toMatchObject({ DailyApiRequests: { Max: 100, Remaining: 1 } });
  await call('/limits');
  expect(await call('/limits')).toMatchObject({
    status: 403,
    json: [{ errorCode: 'REQUEST_LIMIT_EXCEEDED', message: 'TotalRequests Limit exceeded.' }],
  });
});

it('ends a connection in the middle of an answer', async () => {
  const server = await salesforceServer();
  const { call } = await client(server);
  server.cut(({ path }) => path.endsWith('/limits'), 10);
  await expect(call('/limits')).rejects.toThrow(/terminated/);
  expect((await call('/limits')).status).toBe(200);
});
