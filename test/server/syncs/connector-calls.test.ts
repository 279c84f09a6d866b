import { tmpdir } from 'node:os';
import { Writable } from 'node:stream';
import type { FastifyBaseLogger } from 'fastify';
import { pino } from 'pino';
import { expect, test } from 'vitest';
import { NOTHING_ALLOWED } from '../../../connectors/core/fetch-allow.ts';
import { guardedFetch } from '../../../connectors/core/guarded-fetch.ts';
import { sourceRefusal } from '../../../connectors/core/source-refusal.ts';
import type { Refusal } from '../../../domain/core/refusal.ts';
import { semaphore } from '../../../domain/core/semaphore.ts';
import { ConnectorCalls } from '../../../server/syncs/connector-calls.ts';
import { waitFor } from '../../harness/core/wait.ts';

const SECRET = 'the-token-of-a-source';

let logged = '';
const log = pino(
  { level: 'debug' },
  new Writable({
    write(line: Buffer, _encoding, done) {
      logged += line.toString();
      done();
    },
  }),
) as FastifyBaseLogger;

const newCalls = () =>
  new ConnectorCalls(
    { allow: NOTHING_ALLOWED, fetch: guardedFetch(NOTHING_ALLOWED), commands: new Map() },
    { folderOf: () => tmpdir() },
    semaphore(2, { maxEach: 1, maxWaitingEach: 0 }),
  );
const call = (withinMs = 60_000) => ({ entityId: 1, withinMs, log, secretSettings: { token: SECRET } });
const busy = expect.objectContaining({ http: 429, status: 'too_many_requests' }) as Refusal;

test('a connector that heeds no signal is left in time, and keeps its place until it ends', async () => {
  const calls = newCalls();
  const { promise: never, resolve: end } = Promise.withResolvers<string>();
  const outcome = await calls.run(call(20), () => never);
  expect(outcome).toEqual({ ok: false, refusal: expect.objectContaining({ status: 'source_unavailable' }) as Refusal });
  await expect(calls.run(call(), async () => 'next')).rejects.toEqual(busy);
  await expect(calls.run({ ...call(), entityId: 2 }, async () => 'another')).resolves.toEqual({
    ok: true,
    value: 'another',
  });
  end('late');
  const next = () => calls.run(call(), async () => 'next').catch(() => false as const);
  expect(await waitFor('its place', next)).toEqual({ ok: true, value: 'next' });
});

test('what a connector says or refuses with quotes no secret', async () => {
  const outcome = await newCalls().run(call(), async (context) => {
    context.log(`GET /?token=${SECRET}`);
    throw sourceRefusal('source_unavailable', `no ${SECRET} here`, { retry_after: 7 });
  });
  expect(outcome).toMatchObject({
    ok: false,
    refusal: { http: 503, message: 'no *** here', extra: { retry_after: 7 } },
  });
  expect(logged).toContain('GET /?token=***');
  expect(logged).not.toContain(SECRET);
});

test('a fault that is no refusal is thrown, and gives its place free', async () => {
  const calls = newCalls();
  const bug = () => {
    throw new TypeError('a bug');
  };
  for (const broken of [bug, async () => bug()]) await expect(calls.run(call(), broken)).rejects.toThrow(/a bug/);
  await expect(calls.run(call(), async () => 1)).resolves.toEqual({ ok: true, value: 1 });
});
