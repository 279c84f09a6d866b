import { expect, it } from 'vitest';
import { zendesk } from '../../../connectors/zendesk/zendesk.ts';
import type { Cursor, ReadItem } from '../../../connectors/core/contract.ts';
import type { Refusal } from '../../../domain/core/refusal.ts';
import { MINUTE_MS } from '../../../domain/time/durations.ts';
import { status } from '../../harness/core/http-source.ts';
import { personId } from '../../harness/core/people.ts';
import { HANGS_MS, waitFor } from '../../harness/core/wait.ts';
import { EXPORT, zendeskServer } from '../../harness/syncs/zendesk-server.ts';
import { sourceContract, testContext } from '../core/contract.ts';

/** A server whose clock goes on by two minutes with each change: the export leaves out the last one. */
async function zendeskOf(settings: { tokenCalls?: number; callsPerMinute?: number } = {}) {
  let clock = Date.UTC(2026, 9, 1);
  const server = await zendeskServer({ callsPerMinute: 1e6, ...settings, now: () => clock });
  server.field('plan', 'dropdown');
  const { url: address, client_id, client_secret } = server;
  const given = { address, client_id, client_secret, calls_per_minute: 1_000 };
  const put = (ids: Iterable<number>, plan: string) =>
    [...ids].map((id) => {
      const { updated_at } = server.put({ id, email: personId(id), user_fields: { plan } });
      return { id, email: personId(id), updated_at, 'user_fields.plan': plan };
    });
  const passMinutes = () => void (clock += 2 * MINUTE_MS);
  const readAll = async (
    cursor: Cursor | null = null,
    fields: string[] | null = null,
    more: object = {},
    signal?: AbortSignal,
  ) => {
    const reading = { stream: 'users', mode: 'incremental', cursorField: null, cursor, fields } as const;
    const context = testContext(signal ?? AbortSignal.timeout(HANGS_MS));
    const batches = await Array.fromAsync(
      zendesk.source!.read(zendesk.settings.parse({ ...given, ...more }), reading, context),
    );
    const items = batches.flatMap((batch): ReadItem[] => batch.items);
    const deleted = items.flatMap((item) => (item.kind === 'deleted' ? [item.key] : []));
    const records = items.flatMap((item) => (item.kind === 'record' ? [item.record] : []));
    return { deleted, records, ids: records.map(({ id }) => id), cursor: batches.at(-1)?.cursor ?? cursor };
  };
  return { server, given, put, passMinutes, readAll };
}

const idsTo = (count: number) => Array.from({ length: count }, (_, n) => n + 1);

sourceContract(zendesk, async () => {
  const { server, given, put, passMinutes } = await zendeskOf();
  const records = put(idsTo(10_400), 'gold');
  passMinutes();
  return {
    settings: given,
    wrong: {
      settings: { ...given, client_secret: 'zqzendesk-wrong' },
      says: /\(invalid_client\): check client_id and/,
    },
    stream: 'users',
    cursorField: null,
    records,
    async change() {
      const changed = put(idsTo(100), 'silver');
      passMinutes();
      return changed;
    },
    async remove() {
      server.remove(7_000);
      passMinutes();
      return records[6_999]!;
    },
    async spoil() {
      server.spoil(20_000, 'no user');
      return /not a JSON object/;
    },
    async throttle() {
      server.serve(EXPORT, status(429, { 'retry-after': '17' }));
      return 17;
    },
  };
}, ['progress', 'cursor field']);

const refusalOf = (work: Promise<unknown>) =>
  work.then(
    () => null,
    (error: unknown) => error as Refusal,
  );
const contextOf = () => testContext(AbortSignal.timeout(HANGS_MS));
const check = (settings: object) => refusalOf(zendesk.source!.check(zendesk.settings.parse(settings), contextOf()));

it('an incremental reading brings what changed up to a minute ago, and users that were deleted, by mapped fields', async () => {
  const { server, put, passMinutes, readAll } = await zendeskOf();
  put(idsTo(5), 'gold');
  expect((await readAll()).records).toEqual([]);
  passMinutes();
  const first = await readAll(null, ['user_fields.plan']);
  expect(first.records).toEqual(idsTo(5).map((id) => ({ id, 'user_fields.plan': 'gold' })));
  expect(await readAll(first.cursor)).toEqual({ deleted: [], records: [], ids: [], cursor: first.cursor });
  put([2], 'silver');
  server.remove(3);
  server.erase(4);
  passMinutes();
  const next = await readAll(first.cursor, ['email']);
  expect(next).toMatchObject({ records: [{ id: 2, email: personId(2) }], deleted: ['3'] });
  expect(Object.keys(next.records[0]!)).toEqual(['id', 'email']);
});

it('tokens that expire within a reading are renewed, and one that stays expired ends it', async () => {
  const { server, put, passMinutes, readAll } = await zendeskOf({ tokenCalls: 3 });
  put(idsTo(8_000), 'gold');
  passMinutes();
  expect((await readAll()).ids).toEqual(idsTo(8_000));
  const { access_token } = await fetch(`${server.url}/oauth/tokens`, {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'client_credentials',
      client_id: server.client_id,
      client_secret: server.client_secret,
      scope: 'read',
    }),
  }).then((answer) => answer.json() as Promise<{ access_token: string }>);
  const own = { access_token, client_id: undefined, client_secret: undefined };
  expect(await refusalOf(readAll(null, [], own))).toMatchObject({
    status: 'source_refused',
    message: expect.stringMatching(/401 Unauthorized: .*: check access_token$/) as string,
  });
});

it('an API token works, and wrong credentials, rights, addresses and cursors are named', async () => {
  const { server, given, readAll } = await zendeskOf();
  const { address } = given;
  const { email, api_token } = server;
  expect(await check({ address, email, api_token })).toBeNull();
  const says = async (settings: object) => (await check(settings))?.message;
  expect(await says({ address, email, api_token: 'zqzendesk-wrong' })).toMatch(/401 .*check email and api_token$/);
  expect(await says({ ...given, address: `${address}/agent` })).toBeUndefined();
  server.isAdmin = false;
  expect(await says(given)).toMatch(
    /403 Forbidden: the export is for admins alone.* check client_id and client_secret$/,
  );
  server.isAdmin = true;
  expect(await refusalOf(readAll({ after: 'ended' }))).toMatchObject({ status: 'source_changed' });
  server.serve(EXPORT, (_, response) => {
    const json = { users: [], after_cursor: null, end_of_stream: false };
    response.setHeader('content-type', 'application/json').end(JSON.stringify(json));
  });
  expect(await refusalOf(readAll())).toMatchObject({ message: expect.stringMatching(/does not lead to the next/) });
  server.serve(EXPORT, status(404));
  expect(await says(given)).toMatch(/404 Not Found: check the address/);
  for (const wrong of [{ email }, { client_id: 'a' }, { access_token: 'a', email, api_token }, {}]) {
    expect(zendesk.settings.safeParse({ address, ...wrong }).error?.issues).toMatchObject([
      { message: 'either client_id and client_secret, or access_token, or email and api_token must be set' },
    ]);
  }
});

it('the readings of an account share its ten calls a minute, and a check then names the time to wait', async () => {
  const { server, given, put, passMinutes, readAll } = await zendeskOf({ callsPerMinute: 10 });
  put(idsTo(8_000), 'gold');
  passMinutes();
  const exports = () => server.asked.filter(({ path }) => path.startsWith(EXPORT)).length;
  const cancel = new AbortController();
  const more = { calls_per_minute: 10 };
  const readings = [readAll(null, [], more, cancel.signal), readAll(null, [], more, cancel.signal)].map(refusalOf);
  await waitFor('ten calls', async () => exports() === 10 || null);
  const refusal = await check(given);
  expect(refusal).toMatchObject({ status: 'source_unavailable', extra: { source_status: 429 } });
  expect(refusal!.extra['retry_after']).toBeGreaterThan(50);
  expect(exports()).toBe(11);
  cancel.abort(new Error('canceled'));
  expect(await Promise.all(readings)).toMatchObject([{ message: 'canceled' }, { message: 'canceled' }]);
});

it('what came before a refusal is kept, and not asked for again', async () => {
  const { server, given, put, passMinutes } = await zendeskOf({ callsPerMinute: 2 });
  put(idsTo(3_000), 'gold');
  passMinutes();
  const reading = { stream: 'users', mode: 'full', cursorField: null, cursor: null, fields: null } as const;
  const batches = zendesk.source!.read(zendesk.settings.parse(given), reading, contextOf());
  const kept: (Cursor | null)[] = [];
  const refusal = await refusalOf(
    (async () => {
      for await (const { cursor } of batches) kept.push(cursor);
    })(),
  );
  expect(refusal).toMatchObject({ status: 'source_unavailable' });
  expect(new Set(kept).size).toBe(2);
  expect(server.asked.filter(({ path }) => path.startsWith(EXPORT))).toHaveLength(3);
});

it('a page that is too large comes as smaller ones', async () => {
  const { server, passMinutes, readAll } = await zendeskOf();
  for (const id of idsTo(500)) server.put({ id, notes: 'n'.repeat(40_000) });
  passMinutes();
  expect((await readAll(null, ['email'])).ids).toEqual(idsTo(500));
});

it('user fields are listed with their types, beyond the first hundred, without those that are inactive', async () => {
  const { server, given } = await zendeskOf();
  for (const n of idsTo(150)) server.field(`text_${n}`, 'text');
  for (const type of ['checkbox', 'date', 'decimal', 'integer', 'multiselect', 'lookup']) server.field(type, type);
  server.field('old', 'text', false);
  const [users] = await zendesk.source!.discover(zendesk.settings.parse(given), contextOf());
  const json = { user_fields: [], meta: { has_more: true, after_cursor: 'same' } };
  server.serve('/api/v2/user_fields.json', (_, response) => {
    response.setHeader('content-type', 'application/json').end(JSON.stringify(json));
  });
  expect(await refusalOf(zendesk.source!.discover(zendesk.settings.parse(given), contextOf()))).toMatchObject({
    message: expect.stringMatching(/does not lead to the next/) as string,
  });
  const types = new Map(users!.fields.map(({ name, type }) => [name, type]));
  const own = ['plan', 'text_150', 'checkbox', 'date', 'decimal', 'integer', 'multiselect', 'lookup', 'old'];
  expect(own.map((key) => types.get(`user_fields.${key}`) ?? 'none').join(' ')).toBe(
    'string string boolean datetime number integer array string none',
  );
});
