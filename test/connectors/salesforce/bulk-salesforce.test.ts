import { describe, expect, it } from 'vitest';
import type { Batch, Cursor } from '../../../connectors/core/contract.ts';
import { salesforce } from '../../../connectors/salesforce/salesforce.ts';
import { DAY_MS, HOUR_MS } from '../../../domain/time/durations.ts';
import { personId } from '../../harness/core/people.ts';
import { HANGS_MS } from '../../harness/core/wait.ts';
import { type SalesforceServer, salesforceServer } from '../../harness/syncs/salesforce-server.ts';
import { testContext } from '../core/contract.ts';
import { readAll, refusalOf, settingsOf } from './read-all.ts';

const START = Date.UTC(2026, 9, 1);
const contact = (n: number) => ({ LastName: `Name ${n}`, Email: personId(n) });
const contacts = (count: number) => Array.from({ length: count }, (_, n) => contact(n + 1));
const emailsOf = (count: number) =>
  contacts(count)
    .map(({ Email: email }) => email)
    .toSorted();
const always = (server: SalesforceServer) => settingsOf(server, { bulk: 'always' });
const isResult = ({ path }: { path: string }) => path.endsWith('/results');
const jobsMade = ({ calls }: SalesforceServer) =>
  calls.filter(({ method, path }) => method === 'POST' && path.endsWith('/jobs/query')).length;

it('both ways return equal records, whatever the values', async () => {
  const server = await salesforceServer({ bulkLooks: 0 });
  server.customObject('Car__c', [
    { name: 'Big__c', type: 'double' },
    { name: 'Price__c', type: 'currency' },
    { name: 'Doors__c', type: 'int' },
    { name: 'Sold__c', type: 'boolean' },
    { name: 'Built__c', type: 'date' },
    { name: 'Seen__c', type: 'datetime' },
    { name: 'Colors__c', type: 'multipicklist' },
    { name: 'Note__c', type: 'textarea' },
  ]);
  const notes = ['a "quoted" text', 'two\nlines\r\nor three', ';|\t,', ' spaces ', 'true', '12.0', 'ü €', '""', null];
  const numbers = ['9007199254740993', '-0.5', '1234567.10', '0', null];
  for (let n = 0; n < 45; n += 1) {
    server.put('Car__c', {
      Note__c: notes[n % 9]!,
      Big__c: numbers[n % 5]!,
      Price__c: n,
      Doors__c: n % 2 === 0 ? n : null,
      Sold__c: n % 3 === 0,
      Built__c: n % 4 === 0 ? null : '1990-02-28',
      Seen__c: n % 4 === 1 ? null : '2026-10-01T08:00:00.123Z',
      Colors__c: [null, 'red', 'red;blue'][n % 3]!,
    });
  }
  for (const mode of ['full', 'incremental'] as const) {
    const reading = { stream: 'Car__c', mode, fields: null };
    const soql = await readAll(settingsOf(server, { bulk: 'never' }), reading);
    const bulk = await readAll(always(server), reading);
    const byId = ({ records }: typeof soql) =>
      records.toSorted((a, b) => ((a['Id'] as string) < (b['Id'] as string) ? -1 : 1));
    expect(byId(bulk)).toEqual(byId(soql));
    expect(bulk.records.length).toBe(45);
  }
  expect(jobsMade(server)).toBe(2);
});

it.each([
  [50_000, 1],
  [49_999, 0],
])('of %i records, each comes once: %i job', async (count, jobs) => {
  const server = await salesforceServer({ bulkPageRows: 20_000 });
  server.generate('Contact', count, contact, START);
  let records = 0;
  const seen = new Set<unknown>();
  await readAll(settingsOf(server), { mode: 'full' }, ({ items }) => {
    records += items.length;
    for (const item of items) seen.add('key' in item && item.key);
  });
  expect([records, seen.size]).toEqual([count, count]);
  expect(jobsMade(server)).toBe(jobs);
  expect(server.jobs.size).toBe(0);
  if (jobs > 0) expect(server.calls.length).toBeLessThan(14);
});

/** Reads by a job, and returns all batches. */
async function batchesOf(server: SalesforceServer, cursor: Cursor | null = null): Promise<Batch[]> {
  const batches: Batch[] = [];
  const reading = { mode: 'full' as const, cursor, isContinued: cursor !== null };
  await readAll(always(server), reading, (batch) => batches.push(batch));
  return batches;
}

const emailsIn = (batches: readonly Batch[]) =>
  batches.flatMap(({ items }) => items.map((item) => (item.kind === 'record' ? item.record['Email'] : null) as string));
const jobIn = (batch: Batch) => (batch.cursor as { job: { id: string | null } | null }).job;

describe('a job', () => {
  it('is in the cursor before the first row, and is gone at the end', async () => {
    const server = await salesforceServer({ bulkLooks: 0 });
    server.putMany('Contact', contacts(10), START);
    const batches = await batchesOf(server);
    expect(batches.slice(0, 2).map(({ items }) => items.length)).toEqual([0, 0]);
    expect(jobIn(batches[0]!)).toMatchObject({ id: null });
    expect(jobIn(batches[1]!)).toMatchObject({ id: expect.stringMatching(/^750/) });
    expect(jobIn(batches.at(-1)!)).toBeNull();
    expect(server.jobs.size).toBe(0);
  });

  it('whose page is cut goes on from the last cursor, and nothing comes twice', async () => {
    const server = await salesforceServer({ bulkLooks: 0, bulkPageRows: 12_000 });
    server.putMany('Contact', contacts(18_000), START);
    server.cut(isResult, 500_000);
    const before: Batch[] = [];
    const cut = readAll(always(server), { mode: 'full' }, (batch) => before.push(batch));
    expect(await refusalOf(cut)).toMatchObject({ status: 'transfer_broken' });
    expect(emailsIn(before).length).toBeGreaterThan(0);
    const after = await batchesOf(server, before.at(-1)!.cursor);
    expect([...emailsIn(before), ...emailsIn(after)].toSorted()).toEqual(emailsOf(18_000));
    expect(jobsMade(server)).toBe(1);
    expect(server.jobs.size).toBe(0);
  });

  it('goes on from each cursor while it lives', async () => {
    const server = await salesforceServer({ bulkLooks: 0, bulkPageRows: 4_000 });
    server.putMany('Contact', contacts(11_000), START);
    const isDelete = ({ method }: { method: string }) => method === 'DELETE';
    server.next(isDelete, (_, response) => response.writeHead(204).end(), 99); // no job goes
    const batches = await batchesOf(server);
    for (const [nth, { cursor }] of batches.entries()) {
      const both = [...batches.slice(0, nth + 1), ...(await batchesOf(server, cursor))];
      expect(emailsIn(both).toSorted()).toEqual(emailsOf(11_000));
    }
    expect(jobsMade(server)).toBe(1);
  });

  it('that was read to its end need not be there any more', async () => {
    const server = await salesforceServer({ bulkLooks: 0 });
    server.putMany('Contact', contacts(10), START);
    const batches = await batchesOf(server);
    const { cursor } = batches.find(({ items }) => items.length > 0)!;
    expect(emailsIn(await batchesOf(server, cursor))).toEqual([]);
    expect(server.jobs.size).toBe(0);
  });

  it('is found again if the process is killed between the call and the record of its id', async () => {
    const server = await salesforceServer({ bulkLooks: 0 });
    server.putMany('Contact', contacts(10), START);
    const context = testContext(AbortSignal.timeout(HANGS_MS));
    const reading = { stream: 'Contact', mode: 'full' as const, cursorField: null, cursor: null, fields: ['Email'] };
    const killed = salesforce.source!.read(always(server), reading, context)[Symbol.asyncIterator]();
    const { value: first } = await killed.next();
    await killed.next();
    expect(server.jobs.size).toBe(1);
    expect(emailsIn(await batchesOf(server, (first as Batch).cursor)).toSorted()).toEqual(emailsOf(10));
    expect(jobsMade(server)).toBe(1);
    expect(server.jobs.size).toBe(0);
  });

  it.each([0, 1])('is aborted and deleted when its run ends before it: cursor %i', async (nth) => {
    const server = await salesforceServer({ bulkLooks: 99 });
    const batches: Batch[] = [];
    const context = testContext(AbortSignal.timeout(HANGS_MS));
    const reading = { stream: 'Contact', mode: 'full' as const, cursorField: null, cursor: null, fields: ['Email'] };
    for await (const batch of salesforce.source!.read(always(server), reading, context)) {
      batches.push(batch);
      if (batches.length === 2) break;
    }
    expect(server.jobs.size).toBe(1);
    const { cursor } = batches[nth]!;
    for (let times = 0; times < 2; times += 1)
      await salesforce.source!.release!(always(server), { ...reading, cursor }, context);
    expect(server.jobs.size).toBe(0);
  });

  it('that fails or is lost has the run read from the beginning', async () => {
    const server = await salesforceServer({ bulkLooks: 0 });
    server.putMany('Contact', contacts(10), START);
    server.failJobs('zq@example.com is wrong');
    const failed = await refusalOf(batchesOf(server));
    expect(failed).toMatchObject({
      status: 'source_changed',
      message: /ended the Bulk job of this reading as Failed$/,
    });
    expect(server.jobs.size).toBe(0);
    const batches: Batch[] = [];
    const lost = readAll(always(server), { mode: 'full' }, (batch) => {
      batches.push(batch);
      server.jobs.clear();
    });
    const message = /no longer has the Bulk job of this reading$/;
    expect(await refusalOf(lost)).toMatchObject({ status: 'source_changed', message });
  });

  it.each(['INVALID_SESSION_ID', 'INVALID_JWT_FORMAT', 'INVALID_AUTH_HEADER'] as const)(
    'outlives its token, which ends as %s halfway through the result',
    async (expiredCode) => {
      const server = await salesforceServer({
        bulkLooks: 0,
        bulkPageRows: 100,
        limits: { tokenCalls: 4, expiredCode },
      });
      server.putMany('Contact', contacts(1_500), START);
      expect(emailsIn(await batchesOf(server)).toSorted()).toEqual(emailsOf(1_500));
      expect(server.calls.filter(({ status }) => status === 401).length).toBeGreaterThan(2);
      expect(server.jobs.size).toBe(0);
    },
  );
});

it('a query that no address has room for is a job, also of changes and deletions', async () => {
  const clock = { now: START };
  const server = await salesforceServer({ bulkLooks: 0, now: () => clock.now });
  const names = Array.from({ length: 500 }, (_, n) => `Field_${n}_`.padEnd(37, 'x').concat('__c'));
  for (const name of names) server.field('Contact', { name, type: 'string' });
  const values = Object.fromEntries(names.map((name) => [name, `of ${name}`]));
  const ids = server.putMany(
    'Contact',
    [1, 2, 3].map((n) => ({ ...contact(n), ...values })),
    START - HOUR_MS,
  );
  const settings = settingsOf(server, { bulk: 'never' });
  const reading = { fields: ['Email', ...names] };
  expect((await readAll(settings, { ...reading, mode: 'full' })).records).toMatchObject([values, values, values]);
  const { cursor } = await readAll(settings, reading);
  clock.now += DAY_MS;
  server.delete('Contact', ids[0]!);
  server.put('Contact', { ...contact(4), ...values });
  const { records, deleted, kinds } = await readAll(settings, { ...reading, cursor });
  expect(kinds[0]).toBe('deleted');
  expect(deleted).toEqual([ids[0]]);
  expect(records.at(-1)).toMatchObject(values);
  expect(server.jobs.size).toBe(0);
  expect(server.calls.filter(({ status }) => status === 414)).toEqual([]);
});
