import { createHmac } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { text } from 'node:stream/consumers';
import { gzipSync } from 'node:zlib';
import { beforeAll, describe, expect, it } from 'vitest';
import { findRun } from '../../../store/syncs/sync-runs.ts';
import { findSync } from '../../../store/syncs/syncs.ts';
import {
  type Answer,
  endlessBytes,
  file,
  httpSource,
  inTurn,
  silence,
  status,
} from '../../harness/core/http-source.ts';
import { rememberSecret } from '../../harness/core/people.ts';
import { smtpServer } from '../../harness/core/smtp.ts';
import { useStack } from '../../harness/core/stack.ts';
import { waitFor } from '../../harness/core/wait.ts';
import { makeWorld, type World } from '../../harness/core/world.ts';
import { hubspotServer } from '../../harness/syncs/hubspot-server.ts';
import { ask, askForRun, makeSync, openShop, runEnded, runSync, type Shop } from '../../harness/syncs/syncs.ts';
import { importedValues } from '../imports/import-attributes.kill.ts';

const stack = useStack();
let world: World;
let shop: Shop;
let smtp: Awaited<ReturnType<typeof smtpServer>>;
const web = await httpSource();
const WEBHOOK_SECRET = 'zqwebhooksecret-alerts';
for (const secret of [WEBHOOK_SECRET, 'zqchannelsecret']) rememberSecret(secret);

beforeAll(async () => {
  smtp = await smtpServer();
  stack.startWorker({ smtpUrl: `smtp://127.0.0.1:${smtp.port}` });
  world = await makeWorld(stack.store);
  shop = await openShop(stack, world);
});

type Conduct = Parameters<typeof file>[1];
const csvOf = (rows: string[], how: Conduct = {}) => file(Buffer.from(['email,tariff', ...rows, ''].join('\n')), how);
const csv = (...rows: string[]) => csvOf(rows);

/** A sync of a file that the address gives. */
async function syncOfFile(url: string, more: object = {}): Promise<string> {
  const { identifier: connection } = await ask<{ identifier: string }>(stack.app, world, 'POST', '/api/connections', {
    name: url,
    connector: 'http-file',
    settings: { url, format: 'csv', request_headers: { 'x-key': 'zqfilekey' } },
  });
  return makeSync(stack, world, {
    source: { connection, stream: url.split('/').at(-1) },
    destination: { sor: world.sor.identifier },
    mapping: { customer: { field: 'email' }, fields: [{ from: 'tariff', to: 'plan' }] },
    ...more,
  });
}

const stateOf = async (sync: string) => (await findSync(stack.store.db, world.entity.id, sync))!;
const runOf = async (run: string) => (await findRun(stack.store.db, world.entity.id, run))!;
const mailsOf = (sync: string) => smtp.received.map(({ mail }) => mail).filter(({ text }) => text.includes(sync));

describe("a source that can't be read for now", () => {
  it('is left alone for as long as it asks, and then read', async () => {
    const url = web.serve(
      '/busy.csv',
      inTurn(csv('busy-1,gold'), status(429, { 'retry-after': '2' }), csv('busy-1,gold')),
    );
    const sync = await syncOfFile(url);
    const run = await askForRun(stack, world, sync);
    const waiting = await waitFor('the run to wait', async () => ((await runOf(run)).waitsUntil ? runOf(run) : null));
    expect(waiting).toMatchObject({ state: 'running', tries: 1, fault: expect.stringContaining('429') as string });
    const ended = await runEnded(stack.store, world, run);
    expect(ended).toMatchObject({
      state: 'finished',
      tries: 0,
      fault: null,
      waitsUntil: null,
      progress: { read: 1, written: 1 },
    });
    expect(ended.endedAt!.getTime() - ended.startedAt!.getTime()).toBeGreaterThan(2_000);
  });

  it('fails the run once it has been away for the time that was promised, counted from the first error', async () => {
    const sync = await syncOfFile(web.serve('/away.csv', inTurn(csv('away-1,gold'), status(503))));
    const run = await askForRun(stack, world, sync);
    const waiting = await waitFor('the run to wait', async () => ((await runOf(run)).waitsUntil ? runOf(run) : null));
    expect(waiting.failingSince!.getTime()).toBeLessThan(waiting.waitsUntil!.getTime());
    await stack.store.db.query(
      `UPDATE sync_runs SET failing_since = failing_since - interval '1 hour' WHERE identifier = $1`,
      [run],
    );
    expect(await runEnded(stack.store, world, run)).toMatchObject({
      state: 'failed',
      failure: { status: 'source_unavailable', message: expect.stringContaining('503') as string },
    });
  });

  it('is not read for ever where it always breaks off, and is read from its start each time', async () => {
    const rows = Array.from({ length: 7_000 }, (_, n) => `breaking-${n},gold`);
    const breaking: Answer = (request, response, nth) =>
      csvOf(rows, nth === 0 ? {} : { breaksAfter: 120_000 })(request, response, nth);
    const sync = await syncOfFile(web.serve('/breaking.csv', breaking));
    const run = await askForRun(stack, world, sync);
    const tried = await waitFor('three tries', async () => {
      const now = await runOf(run);
      return now.tries >= 3 && now.waitsUntil && now;
    });
    expect(tried.progress).toMatchObject({
      read: 5_000 * tried.tries,
      written: 5_000,
      unchanged: 5_000 * (tried.tries - 1),
    });
    await ask(stack.app, world, 'POST', `/api/syncs/${sync}/runs/${run}/cancel`);
  });

  it('is gone on with by the next run, also where the sync was changed meanwhile', async () => {
    const bytes = Buffer.from(
      ['email,tariff', ...Array.from({ length: 7_000 }, (_, n) => `renamed-${n},gold`), ''].join('\n'),
    );
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    const held: Answer = (_, response) => {
      response.writeHead(200, { 'content-length': bytes.length, etag: '"1"' }).write(bytes.subarray(0, 120_000));
      void released.then(() => response.end(bytes.subarray(120_000)));
    };
    const url = web.serve('/renamed.csv', inTurn(file(bytes, { etag: '"1"' }), held, file(bytes, { etag: '"1"' })));
    const sync = await syncOfFile(url, { mode: 'incremental' });
    const run = await askForRun(stack, world, sync);
    await waitFor('a batch', async () => (await runOf(run)).progress.read > 0);
    await ask(stack.app, world, 'PUT', `/api/syncs/${sync}`, { name: `Renamed ${sync}` });
    release();
    expect((await runEnded(stack.store, world, run)).progress).toMatchObject({ read: 7_000 });
    expect((await runSync(stack, world, sync)).progress).toMatchObject({ read: 0 });
  });

  it('fails the run at once where somebody has to change something, in words that quote no secret', async () => {
    const sync = await syncOfFile(web.serve('/gone.csv', status(404)));
    const { state, failure } = await runSync(stack, world, sync);
    expect(state).toBe('failed');
    expect(failure).toEqual({ status: 'source_refused', message: expect.stringMatching(/404 Not Found/) as string });
    expect(failure!.message).not.toContain('zqfilekey');
    expect((await stateOf(sync)).failures).toBe(1);
  });

  it('lets a run be canceled, whatever it waits for, and the next one run', async () => {
    const url = web.serve('/silent.csv', inTurn(csv('silent-1,gold'), silence, csv('silent-1,gold')));
    const sync = await syncOfFile(url);
    const first = await askForRun(stack, world, sync);
    await waitFor(
      'the source to be asked',
      async () => web.asked.filter(({ path }) => path === '/silent.csv').length >= 2,
    );
    const second = await askForRun(stack, world, sync);
    expect((await runOf(second)).state).toBe('accepted');
    await ask(stack.app, world, 'POST', `/api/syncs/${sync}/runs/${first}/cancel`);
    expect(await runEnded(stack.store, world, second)).toMatchObject({ state: 'finished', progress: { read: 1 } });
    expect(await runOf(first)).toMatchObject({ state: 'canceled', progress: { read: 0 } });
  });

  it('is read no further once the run is canceled, though it goes on sending a gzip file', async () => {
    await waitFor('earlier requests to end', async () => web.connections() === 0);
    const endless = endlessBytes(gzipSync('email,tariff\n'.repeat(300_000)));
    const sync = await syncOfFile(web.serve('/endless.csv', inTurn(csv('first-1,gold'), endless)));
    const run = await askForRun(stack, world, sync);
    await waitFor('a batch', async () => (await runOf(run)).progress.read > 0);
    await ask(stack.app, world, 'POST', `/api/syncs/${sync}/runs/${run}/cancel`);
    await waitFor('the source to be left alone', async () => web.connections() === 0);
    expect((await runEnded(stack.store, world, run)).state).toBe('canceled');
  });
});

/** An address that keeps what is posted there, and a connection to it. */
async function channel(
  name: string,
  connector: 'slack' | 'webhook',
  answer: number,
): Promise<{ connection: string; posted: Posted[] }> {
  const posted: Posted[] = [];
  const url = web.serve(
    `/${name}/zqchannelsecret`,
    (request, response) =>
      void (async () => {
        posted.push({ headers: request.headers, text: await text(request) });
        response.writeHead(answer).end('ok');
      })(),
  );
  const settings = connector === 'slack' ? { url } : { url, secret: WEBHOOK_SECRET };
  const { identifier: connection } = await ask<{ identifier: string }>(stack.app, world, 'POST', '/api/connections', {
    name,
    connector,
    settings,
  });
  return { connection, posted };
}

type Posted = { headers: IncomingHttpHeaders; text: string };
type AlertedRun = { alerted: { connection: string; state: string | null; tries: number; reason: string | null }[] };

describe('a sync that keeps failing', () => {
  it('alerts a chat and a signed webhook as well, each once, in a line without text from outside; the run shows a refusal', async () => {
    const [chat, hook] = [await channel('Chat', 'slack', 200), await channel('Hook', 'webhook', 204)];
    const gone = await channel('Gone', 'slack', 404);
    const connections = [chat, hook, gone].map(({ connection }) => connection);
    const url = web.serve('/nothing.csv', status(404));
    const sync = await syncOfFile(url, { name: 'Lose at evil.example', alerts: { emails: [], connections } });
    const run = await runSync(stack, world, sync);
    const path = `/api/syncs/${sync}/runs/${run.identifier}`;
    const alerted = await waitFor('the alerts', async () => {
      const found = (await ask<AlertedRun>(stack.app, world, 'GET', path)).alerted;
      return found.length === 3 && found.every(({ state }) => state !== null && state !== 'sending') ? found : null;
    });
    const by = new Map(alerted.map(({ connection, ...outcome }) => [connection, outcome]));
    expect(connections.map((connection) => by.get(connection))).toEqual([
      { state: 'sent', tries: 1, reason: null },
      { state: 'sent', tries: 1, reason: null },
      { state: 'not_sent', tries: 1, reason: expect.stringContaining('404') },
    ]);
    expect(by.get(gone.connection)!.reason).not.toContain('zqchannelsecret');
    const line = `Sync ${sync}: a run failed. The outside system, or its settings, must be corrected first. The link shows the details.`;
    expect(chat.posted.map(({ text: body }) => JSON.parse(body))).toEqual([
      { text: `${line} http://millrace.test${path}` },
    ]);
    const [{ headers, text: body }] = hook.posted as [Posted];
    expect([hook.posted.length, JSON.parse(body)]).toEqual([
      1,
      {
        alert: {
          kind: 'sync',
          identifier: sync,
          run: run.identifier,
          alert: 'failed',
          failure: 'source_refused',
          text: line,
          link: `http://millrace.test${path}`,
          ended_at: run.endedAt!.toISOString(),
        },
      },
    ]);
    const [, time, signature] = /^t=(\d+),v1=(\w+)$/.exec(String(headers['x-millrace-signature']))!;
    expect(createHmac('sha256', WEBHOOK_SECRET).update(`${time}.${body}`).digest('hex')).toBe(signature);
  });

  it('is paused and mails; once it works again it says so', async () => {
    const url = web.serve('/failing.csv', inTurn(status(404), status(404), csv('back-1,gold')));
    const sync = await syncOfFile(url, {
      name: 'Win at evil.example',
      alerts: { emails: ['ops@example.com'], pause_after: 2 },
    });
    await runSync(stack, world, sync);
    await runSync(stack, world, sync);
    const reason = expect.stringMatching(/^it failed 2 times in a row: .*404/) as string;
    expect(await stateOf(sync)).toMatchObject({ failures: 2, paused: { reason } });
    await waitFor('both mails', async () => mailsOf(sync).length === 2);
    expect(mailsOf(sync).map(({ headers }) => headers.subject)).toEqual([
      expect.stringMatching(/: a run failed$/),
      expect.stringMatching(/: paused, since it keeps failing$/),
    ]);
    // Nothing that somebody chose to send to strangers: not the sync's name, not the address, not what its host
    // answered.
    for (const { headers, text } of mailsOf(sync))
      expect(headers.subject + text).not.toMatch(/evil|failing\.csv|127\.0\.0\.1|404/);
    await runSync(stack, world, sync); // by hand, since it is paused
    const isBack = () => mailsOf(sync).some(({ headers }) => headers.subject!.endsWith('works again'));
    await waitFor('the mail that it works again', async () => isBack());
    expect((await stateOf(sync)).failures).toBe(0);
  });

  it('is told of for failed records, with nothing of them in the mail', async () => {
    const url = web.serve('/bad.csv', csv(`${'x'.repeat(300)},gold`, 'good-1,gold'));
    const sync = await syncOfFile(url, { alerts: { emails: ['ops@example.com'], failed_records: 1 } });
    await runSync(stack, world, sync);
    const [mail] = await waitFor('the mail', async () => (mailsOf(sync).length > 0 ? mailsOf(sync) : null));
    expect(mail!.text).toMatch(/failed +1/);
    expect(mail!.text).not.toContain('xxx');
  });
});

describe("a change of the source's fields", () => {
  const tableOf = async (name: string) => {
    const table = shop.table(name);
    await shop.db
      .query(`CREATE TABLE ${table} (email text PRIMARY KEY, plan text); ALTER TABLE ${table} OWNER TO ${shop.role};
      INSERT INTO ${table} VALUES ('${name}-1', 'gold')`);
    return table;
  };
  const syncOf = (stream: string, rule: string) =>
    makeSync(stack, world, {
      source: { connection: shop.connection, stream },
      destination: { sor: world.sor.identifier },
      on_schema_change: rule,
      mapping: { customer: { field: 'email' }, other_fields: 'keep' },
    });
  const valuesOf = async (customer: string) =>
    ((await importedValues(stack, world)) as { customer_id: string; key: string }[])
      .filter(({ customer_id: id }) => id === customer)
      .map(({ key }) => key);

  it('stops a sync that is to stop, until somebody accepts it', async () => {
    const table = await tableOf('stopping');
    const sync = await syncOf('stopping', 'stop');
    expect((await runSync(stack, world, sync)).state).toBe('finished');
    await shop.db.query(`ALTER TABLE ${table} ADD COLUMN score integer DEFAULT 7`);
    const stopped = await runSync(stack, world, sync);
    expect(stopped).toMatchObject({
      state: 'failed',
      failure: { status: 'schema_changed', message: expect.stringContaining('new: score (integer)') as string },
      schemaChange: { added: [{ name: 'score', type: 'integer' }], removed: [], retyped: [] },
      progress: { read: 0 },
    });
    await ask(stack.app, world, 'POST', `/api/syncs/${sync}/accept_schema`);
    expect(await runSync(stack, world, sync)).toMatchObject({ state: 'finished', progress: { written: 1 } });
    expect(await valuesOf('stopping-1')).toEqual(['plan', 'score']);
  });

  it('is ignored by one that is to ignore it, and shown', async () => {
    const table = await tableOf('ignoring');
    const sync = await syncOf('ignoring', 'ignore');
    await runSync(stack, world, sync);
    await shop.db.query(`ALTER TABLE ${table} ADD COLUMN score integer DEFAULT 7`);
    expect(await runSync(stack, world, sync)).toMatchObject({
      state: 'finished',
      schemaChange: { added: [{ name: 'score' }] },
      progress: { unchanged: 1 },
    });
    expect(await valuesOf('ignoring-1')).toEqual(['plan']);
  });

  it('is followed by one that is to follow it: new fields get attributes', async () => {
    const table = await tableOf('following');
    await shop.db.query(`ALTER TABLE ${table} ADD COLUMN "Shoe size" numeric DEFAULT 42.5`);
    const sync = await syncOf('following', 'follow');
    await runSync(stack, world, sync);
    await shop.db.query(
      `ALTER TABLE ${table} ADD COLUMN languages text[] DEFAULT '{fr}', ADD COLUMN raw json DEFAULT '{}'`,
    );
    expect(await runSync(stack, world, sync)).toMatchObject({
      state: 'finished',
      progress: { written: 1, unmappedFields: ['raw'] },
      schemaChange: { added: [{ name: 'languages' }, { name: 'raw' }] },
    });
    expect((await valuesOf('following-1')).toSorted()).toEqual(['Shoe size', 'languages', 'plan']);
    expect((await runSync(stack, world, sync)).schemaChange).toBeNull();
  });

  it('names the nearest field where the mapping names one that the source does not have', async () => {
    await tableOf('naming');
    const mapped = (mapping: object, more: object = {}) =>
      makeSync(stack, world, {
        source: { connection: shop.connection, stream: 'naming' },
        destination: { sor: world.sor.identifier },
        mapping,
        ...more,
      });
    const customer = { field: 'email' };
    const failureOf = async (sync: string) => (await runSync(stack, world, sync)).failure?.message;
    expect(await failureOf(await mapped({ customer: { field: 'emial' } }))).toBe(
      'mapping.customer.field: the source has no field emial: did you mean email?',
    );
    expect(await failureOf(await mapped({ customer }, { mode: 'incremental', cursor_field: 'pln' }))).toBe(
      'cursor_field: the source has no field pln: did you mean plan?',
    );
    expect(await failureOf(await mapped({ customer }, { mode: 'incremental' }))).toMatch(
      /^cursor_field is missing: use a column/,
    );
    const sync = await mapped({ customer, fields: [{ from: 'plam', to: 'plan' }] });
    const run = await runSync(stack, world, sync);
    expect(run).toMatchObject({ state: 'finished', missingFields: ['plam'] });
    const { lines } = await ask<{ lines: { line: string }[] }>(
      stack.app,
      world,
      'GET',
      `/api/syncs/${sync}/runs/${run.identifier}/log`,
    );
    expect(lines[0]!.line).toContain('plam: did you mean plan?');
  });

  it('alerts once where the source has lost a field that the mapping names, and keeps its values', async () => {
    const table = await tableOf('thinning');
    const sync = await makeSync(stack, world, {
      source: { connection: shop.connection, stream: 'thinning' },
      destination: { sor: world.sor.identifier },
      mapping: { customer: { field: 'email' }, fields: [{ from: 'plan' }] },
    });
    expect((await runSync(stack, world, sync)).alert).toBeNull();
    await shop.db.query(`ALTER TABLE ${table} RENAME COLUMN plan TO tier`);
    expect(await runSync(stack, world, sync)).toMatchObject({
      state: 'finished',
      missingFields: ['plan'],
      alert: 'fields',
    });
    expect((await runSync(stack, world, sync)).alert).toBeNull();
    expect(await valuesOf('thinning-1')).toEqual(['plan']);
  });

  it('names the nearest stream where the source has lost the one that is read', async () => {
    const table = await tableOf('losing');
    const sync = await syncOf('losing', 'ignore');
    await shop.db.query(`ALTER TABLE ${table} RENAME TO loosing`);
    expect((await runSync(stack, world, sync)).failure).toEqual({
      status: 'source_refused',
      message: 'The source has no stream losing: did you mean loosing?',
    });
  });

  it('names a scope that the stream lacks', async () => {
    const server = await hubspotServer();
    server.scopes.delete('crm.objects.contacts.read');
    const { identifier: connection } = await ask<{ identifier: string }>(stack.app, world, 'POST', '/api/connections', {
      name: 'CRM',
      connector: 'hubspot',
      settings: { access_token: server.key, address: server.url },
    });
    const sync = await makeSync(stack, world, {
      source: { connection, stream: 'contacts' },
      destination: { sor: world.sor.identifier },
      mapping: { customer: { field: 'email' }, fields: [{ from: 'city', to: 'plan' }] },
    });
    expect((await runSync(stack, world, sync)).failure).toEqual({
      status: 'source_refused',
      message: expect.stringMatching(
        /no stream contacts.* lacks the scopes crm\.objects\.contacts\.read: add/,
      ) as string,
    });
  });
});
