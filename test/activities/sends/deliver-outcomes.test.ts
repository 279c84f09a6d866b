import { createHmac } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { beforeAll, describe, expect, it } from 'vitest';
import { openAllPlaces } from '../../../activities/core/open-all-places.ts';
import type { Dependencies } from '../../../activities/dependencies.ts';
import { deliverOutcomes } from '../../../activities/sends/aggregate-reports.ts';
import type { OutcomeRecord } from '../../../connectors/core/contract.ts';
import { type FetchAllow, readFetchAllow } from '../../../connectors/core/fetch-allow.ts';
import { guardedFetch } from '../../../connectors/core/guarded-fetch.ts';
import { semaphore, TooManyWait } from '../../../domain/core/semaphore.ts';
import { listEntitiesToCount } from '../../../store/sends/report-rollups-across-entities.ts';
import { insertSampleApp } from '../../harness/apps/apps.ts';
import { type Answer, hangUp, httpSource, inTurn, status } from '../../harness/core/http-source.ts';
import { rememberSecret } from '../../harness/core/people.ts';
import { insertSampleCampaign } from '../../harness/sends/campaigns.ts';
import { useServer } from '../../server/http/use-server.ts';

const { store, server, world } = useServer();
const receivers = await httpSource();
const allow = readFetchAllow('127.0.0.1') as FetchAllow;
const SECRET = 'zqoutcomesecret-0001';
rememberSecret(SECRET);

type Batch = { batch_id: string; app_id: string; outcomes: OutcomeRecord[] };
type Received = { key: string; signature: string; text: string; batch: Batch };

let deps: Dependencies;

beforeAll(() => {
  deps = {
    db: store.db,
    secrets: store.secrets,
    boundary() {},
    outside: { allow, fetch: guardedFetch(allow) },
    scratch: store.scratch,
    draining: new AbortController().signal,
    log: { info() {}, warn() {}, error() {} },
    ...openAllPlaces(),
  } as unknown as Dependencies;
});

/** Keeps what it gets, and answers in turn. */
function receiver(path: string, ...answers: Answer[]): { url: string; received: Received[] } {
  const received: Received[] = [];
  const answer = inTurn(...answers);
  const url = receivers.serve(
    path,
    (request: IncomingMessage, response, nth) =>
      void buffer(request).then((bytes) => {
        const text = bytes.toString();
        received.push({
          key: String(request.headers['idempotency-key']),
          signature: String(request.headers['x-millrace-signature']),
          text,
          batch: JSON.parse(text) as Batch,
        });
        answer(request, response, nth);
      }),
  );
  return { url, received };
}

const call = (method: 'POST' | 'PUT' | 'DELETE' | 'GET', path: string, body?: object) =>
  server.call(method, `/api/${path}`, { token: world.token, ...(body && { body }) });

async function insertReceiving(name: string, url: string) {
  const connected = await call('POST', 'connections', {
    name,
    connector: 'webhook',
    settings: { url, secret: SECRET, batch_records: 3 },
  });
  const { identifier: connection } = connected.body.result as { identifier: string };
  const app = await insertSampleApp(store.db, world.entity.id, `com.example.${name}`);
  const set = (outcomes_connection: string | null) =>
    call('PUT', `apps/${app.identifier}`, { app_type: 'iOS App', outcomes_connection });
  const campaign = await insertSampleCampaign(store.db, world.entity.id, app.id);
  return { app, connection, campaign, set };
}

type Receiving = Awaited<ReturnType<typeof insertReceiving>>;

/** Attempts that settled so many seconds before now; the app's outcomes are delivered from an hour ago on. */
async function settled({ app, campaign }: Receiving, secondsAgo: number[]): Promise<void> {
  await store.db.query(
    `UPDATE outcome_deliveries SET delivered_at = least(delivered_at, now() - interval '1 hour') WHERE app_id = $1 AND delivered_id = 0`,
    [app.id],
  );
  await store.db.query(
    `INSERT INTO attempts (entity_id, campaign_id, app_id, channel, state, code, device_id, user_id, settled_at)
     SELECT $1, $2, $3, 'push', 'settled', 'PUSH_SENT', 'phone of ' || s, 'user of ' || s, now() - make_interval(secs => s)
     FROM unnest($4::float8[]) s`,
    [world.entity.id, campaign.id, app.id, secondsAgo],
  );
}

const deliver = () => deliverOutcomes(deps, world.entity.id);
const users = (received: readonly Received[]) => received.map(({ batch }) => batch.outcomes.map(({ user }) => user));
const waitsOver = () => store.db.query(`UPDATE outcome_deliveries SET waits_until = now() - interval '1 second'`);

describe('what becomes of messages', () => {
  it("goes to the app's webhook, signed, in the order of settling, and each batch again under its id until it is taken", async () => {
    const { url, received } = receiver('/first', status(200), status(503), hangUp, status(204));
    const receiving = await insertReceiving('first', url);
    expect((await receiving.set(receiving.connection)).body.result).toMatchObject({
      apps: [{ outcomes_connection: receiving.connection }],
    });
    await settled(receiving, [300, 100, 200, 500, 400]);
    await deliver();
    expect(users(received)).toEqual([
      ['user of 500', 'user of 400', 'user of 300'],
      ['user of 200', 'user of 100'],
    ]);
    const [{ key, signature, text, batch }] = received as [Received];
    expect([batch.batch_id, batch.app_id]).toEqual([key, receiving.app.identifier]);
    const { t, v1 } = Object.fromEntries(signature.split(',').map((part) => part.split('='))) as {
      t: string;
      v1: string;
    };
    expect(v1).toBe(createHmac('sha256', SECRET).update(`${t}.${text}`).digest('hex'));
    expect(batch.outcomes[0]).toEqual({
      millrace_id: expect.stringMatching(/^[\da-f-]{36}$/),
      campaign_id: receiving.campaign.identifier,
      requestId: null,
      user: 'user of 500',
      device_id: 'phone of 500',
      code: 'PUSH_SENT',
      details: null,
      channel: 'push',
      date: expect.stringMatching(/Z$/),
    });
    // It waits, whatever settles meanwhile; then the same batch comes again, and the rest after it.
    await settled(receiving, [90]);
    await deliver();
    expect(received).toHaveLength(2);
    for (let times = 0; times < 2; times += 1) {
      await waitsOver();
      expect(await listEntitiesToCount(store.db)).toContain(world.entity.id);
      await deliver();
    }
    expect(users(received).slice(2)).toEqual([
      ['user of 200', 'user of 100'],
      ['user of 200', 'user of 100'],
      ['user of 90'],
    ]);
    expect(new Set(received.map((each) => each.key)).size).toBe(3);
    expect(received.slice(1, 4).map((each) => each.key)).toEqual(Array.from({ length: 3 }, () => received[1]!.key));
    await deliver();
    expect(received).toHaveLength(5);
  });

  it('goes out once no earlier one can be committed any more, from the moment on at which the app names a connection', async () => {
    const { url, received } = receiver('/second', status(200));
    const receiving = await insertReceiving('second', url);
    await settled(receiving, [100]);
    await receiving.set(receiving.connection);
    await deliver();
    expect(received).toEqual([]);
    await settled(receiving, [31, 10, 0]);
    await deliver();
    expect(users(received)).toEqual([['user of 100', 'user of 31']]);
  });

  it("goes to a webhook alone, whose connection can't be deleted as long as it does", async () => {
    const { url, received } = receiver('/third', status(200));
    const receiving = await insertReceiving('third', url);
    const other = await call('POST', 'connections', {
      name: 'warehouse',
      connector: 'slack',
      settings: { url: 'https://hooks.example.com/services/x' },
    });
    const { identifier: chat } = other.body.result as { identifier: string };
    const refused = [
      [chat, /takes no outcomes: these do: webhook/],
      ['con_unknown', /no identifier of a connection/],
    ] as const;
    for (const [given, message] of refused) {
      expect(await receiving.set(given)).toMatchObject({
        status: 400,
        body: { messages: [{ element: 'outcomes_connection', message: expect.stringMatching(message) as string }] },
      });
    }
    await receiving.set(receiving.connection);
    await settled(receiving, [200]);
    const takeDeliverySlot = semaphore(2, { maxEach: 1, maxWaitingEach: 0 });
    const free = await takeDeliverySlot(world.entity.id);
    await expect(deliverOutcomes({ ...deps, takeDeliverySlot }, world.entity.id)).rejects.toBeInstanceOf(TooManyWait);
    expect(received).toEqual([]);
    free();
    expect(await call('DELETE', `connections/${receiving.connection}`)).toMatchObject({
      status: 409,
      body: { message: expect.stringContaining('used by apps: "com.example.third"') as string },
    });
    await settled(receiving, [100]);
    await receiving.set(null);
    await deliver();
    expect(received).toEqual([]);
    expect((await call('DELETE', `connections/${receiving.connection}`)).status).toBe(200);
  });
});
