import { gzipSync } from 'node:zlib';
import { beforeAll, describe, expect, test, vi } from 'vitest';
import { eventsOfFunnel } from '../../../domain/analytics/funnel.ts';
import { APP_DEFAULTS } from '../../../server/apps/apps.ts';
import { LiveCalls } from '../../../server/tracking/live-calls.ts';
import { deleteEntity } from '../../../store/accounts/empty-entity.ts';
import { findEntity } from '../../../store/accounts/entities.ts';
import { countFunnel } from '../../../store/analytics/funnel-stats.ts';
import { insertTombstone } from '../../../store/gdpr/tombstones.ts';
import { findTrackingTarget } from '../../../store/tracking/tracking-target.ts';
import { lockWaits } from '../../harness/core/lock-waits.ts';
import { personId } from '../../harness/core/people.ts';
import { waitFor } from '../../harness/core/wait.ts';
import { makeWorld, tokenWith } from '../../harness/core/world.ts';
import { expectFault } from '../../harness/run/faults.ts';
import { randomFor } from '../../harness/run/seed.ts';
import { testServer } from '../http/test-server.ts';
import { useServer } from '../http/use-server.ts';
import { basic, eventNames, insertKeyedApp, type KeyedSampleApp } from './sample-tracking.ts';

/** Segment's tracking API, as it goes over the wire. */

const { store, server, world } = useServer();
let own: KeyedSampleApp;

beforeAll(async () => {
  own = await insertKeyedApp(store, world);
});

const post = (path: string, body: unknown, headers: Record<string, string> = basic(own.apiKey), { call } = server) =>
  call('POST', path, {
    body: typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body),
    headers,
  });
const track = (event: string, more: object = {}) => ({ type: 'track', event, anonymousId: personId(1), ...more });
const newApp = (options: Parameters<typeof insertKeyedApp>[2] = {}) => insertKeyedApp(store, world, options);
const MONTH_MS = 30 * 86_400_000;

describe('a batch', () => {
  test('is answered with what became of its calls', async () => {
    const app = await newApp();
    const calls = [
      track('One', { messageId: 'b-1' }),
      { type: 'track', messageId: 'b-2', anonymousId: personId(1) },
      'no call',
      { type: 'identify', userId: personId(2), traits: { plan: 'gold' } },
      track('Two', { timestamp: '1999-01-01T00:00:00Z' }),
      track('One', { messageId: 'b-1' }),
      { type: 'page', messageId: 'b-3' },
    ];
    const { status, headers, body } = await post(
      '/v1/batch',
      { batch: calls, sentAt: new Date().toISOString() },
      basic(app.apiKey),
    );
    expect(status).toBe(200);
    expect(headers).toMatchObject({
      'access-control-allow-origin': '*',
      'cross-origin-resource-policy': 'cross-origin',
    });
    const refused = (index: number, code: string, message_id: string | null = null) => ({
      index,
      message_id,
      code,
      message: expect.any(String) as string,
    });
    expect(body).toEqual({
      success: true,
      accepted: 2,
      duplicates: 1,
      refused: [
        refused(1, 'invalid', 'b-2'),
        refused(2, 'invalid'),
        refused(4, 'too_old'),
        refused(6, 'nobody', 'b-3'),
      ],
    });
    expect(await eventNames(store, app)).toEqual(['One']);
    expect(server.woken).toContain(world.entity.id);
  });

  test("of a day that is sent again in order by /v1/import, its calls mixed, makes exactly the day's sessions", async () => {
    const app = await newApp();
    const random = randomFor('a day of sessions');
    const [day, timeoutMs, devices] = [Date.UTC(2026, 10, 3), APP_DEFAULTS.sessionTimeout * 1_000, 12];
    const times = Array.from({ length: devices }, () => {
      let at = day + Math.floor(random() * 3_600_000);
      return Array.from({ length: 30 }, () => (at += Math.floor(random() ** 3 * 6 * timeoutMs)));
    });
    const sessions = times.flatMap((own) =>
      own.filter((at, index) => index === 0 || at - own[index - 1]! > timeoutMs),
    ).length;
    const calls = times
      .flatMap((own, device) =>
        own.map((at) => ({
          at,
          call: track('One', {
            anonymousId: personId(100 + device),
            timestamp: new Date(at).toISOString(),
          }),
        })),
      )
      .toSorted((a, b) => a.at - b.at);
    for (let from = 0; from < calls.length; from += 60) {
      const mixed = calls
        .slice(from, from + 60)
        .map(({ call }) => ({ call, place: random() }))
        .toSorted((a, b) => a.place - b.place);
      const batch = mixed.map(({ call }) => call);
      expect((await post('/v1/import', { batch }, basic(app.apiKey))).body).toMatchObject({ accepted: batch.length });
    }
    const { rows } = await store.db.query('SELECT count(*) FROM sessions WHERE app_id = $1', [app.app.id]);
    expect(rows).toEqual([{ count: sessions }]);
  });

  test('has each call at its own time, an import at the time that stands in it, and none after its receipt', async () => {
    const app = await newApp();
    const now = Date.now();
    const iso = (minutesAgo: number) => new Date(now - minutesAgo * 60_000).toISOString();
    const arabic = iso(5).replaceAll(/\d/g, (digit) => '٠١٢٣٤٥٦٧٨٩'[Number(digit)]!);
    const calls = [
      track('Arabic', { timestamp: arabic }),
      track('Islamic', { timestamp: '1448-06-16T10:00:00Z', messageId: 'islamic' }),
      track('Ahead', { timestamp: iso(-20 * 60) }),
      track('Replayed', { timestamp: iso(60) }),
    ];
    const { body } = await post('/v1/batch', { batch: calls, sentAt: iso(120) }, basic(app.apiKey));
    expect(body).toEqual({
      success: true,
      accepted: 4,
      duplicates: 0,
      refused: [],
      notes: [
        { index: 1, message_id: 'islamic', message: 'timestamp: is of another calendar; the time of receipt counts' },
      ],
    });
    await post(
      '/v1/import',
      { batch: [track('Imported', { timestamp: iso(9_000) })], sentAt: iso(8_000) },
      basic(app.apiKey),
    );
    const { rows } = await store.db.query<{ name: string; minutes: number }>(
      `SELECT name, round(extract(epoch FROM $2 - happened_at) / 60)::int AS minutes FROM events WHERE app_id = $1 ORDER BY minutes, name`,
      [app.app.id, new Date(now)],
    );
    expect(rows.map(({ name, minutes }) => [name, minutes])).toEqual(
      [
        ['Ahead', 0],
        ['Arabic', 5],
        ['Islamic', 0],
        ['Replayed', 60],
        ['Imported', 9_000],
      ].toSorted(([, a], [, b]) => Number(a) - Number(b)),
    );
  });

  test("of one device in different requests keeps the device's own order in a funnel, however long each request takes", async () => {
    const app = await newApp();
    const now = Date.now();
    const iso = (seconds: number) => new Date(now - seconds * 1_000).toISOString();
    // The clock of the device is right: what happened first comes last, and its request was under way for 40 s.
    await post('/v1/batch', { batch: [track('Paid', { timestamp: iso(10) })], sentAt: iso(1) }, basic(app.apiKey));
    await post('/v1/batch', { batch: [track('Viewed', { timestamp: iso(41) })], sentAt: iso(40) }, basic(app.apiKey));
    const steps = ['Viewed', 'Paid'].map((name) => ({
      match_name: [{ app_id: app.app.identifier, log_type: 2 as const, log_name: name }],
    }));
    const [totals] = (await countFunnel(store.db, world.entity.id, {
      events: eventsOfFunnel(steps).map((event) => ({ ...event, appId: app.app.id })),
      details: [[], []],
      from: new Date(now - 86_400_000),
      until: new Date(now + 86_400_000),
      maxSeconds: 3_600,
      aliases: false,
      sample: null,
      breakdown: null,
    }))!;
    expect(totals!.steps.map(({ people }) => people)).toEqual([1, 1]);
  });

  test('of an entity that is deleted meanwhile is refused, and leaves nothing', async () => {
    const gone = await makeWorld(store);
    const { id } = gone.entity;
    const app = await insertKeyedApp(store, gone);
    const deleting = await store.db.connect();
    await deleting.query('BEGIN');
    await findEntity(deleting, store.secrets, String(id), { isLocked: true });
    const posted = post('/v1/batch', { batch: [track('Late')] }, basic(app.apiKey));
    await lockWaits(store);
    await deleteEntity(deleting, id);
    await deleting.query('COMMIT');
    deleting.release();
    expect((await posted).status).toBe(401);
    const { rows } = await store.db.query(
      'SELECT FROM events WHERE entity_id = $1 UNION ALL SELECT FROM event_messages WHERE entity_id = $1',
      [id],
    );
    expect(rows).toEqual([]);
  });

  test('is put off where too much waits already, and one alone never is', async () => {
    const small = await testServer(store, { settings: { limits: { trackingBytes: 1 } } });
    const app = await newApp();
    const holding = await store.db.connect();
    await holding.query('BEGIN');
    await holding.query('SELECT FROM entities WHERE id = $1 FOR UPDATE', [world.entity.id]);
    const first = post('/v1/batch', { batch: [track('First')] }, basic(app.apiKey), small);
    await lockWaits(store);
    const second = await post('/v1/batch', { batch: [track('Second')] }, basic(app.apiKey), small);
    // Another entity has its share.
    const other = await insertKeyedApp(store, await makeWorld(store));
    const neighbour = post('/v1/batch', { batch: [track('Beside')] }, basic(other.apiKey), small);
    await holding.query('ROLLBACK');
    holding.release();
    expect([second.status, second.headers['retry-after']]).toEqual([429, '1']);
    expect((await neighbour).body).toMatchObject({ accepted: 1 });
    expect((await first).body).toMatchObject({ success: true, accepted: 1 });
    expect((await post('/v1/batch', { batch: [track('Second')] }, basic(app.apiKey), small)).body).toMatchObject({
      accepted: 1,
    });
  });

  test('that is small waits for none of the large ones that another entity sends', async () => {
    const neighbour = await insertKeyedApp(store, await makeWorld(store));
    const ended: string[] = [];
    const send = async (name: string, app: KeyedSampleApp, bytes: number) => {
      expect((await post('/v1/batch', { calls: 'x'.repeat(bytes) }, basic(app.apiKey))).status).toBe(400);
      ended.push(name);
    };
    await send('first', neighbour, 1);
    const large = Array.from({ length: 40 }, () => send('large', own, 400 * 1024));
    await Promise.race(large);
    await Promise.all([...large, send('small', neighbour, 100)]);
    expect(ended.indexOf('small')).toBeLessThan(20);
  });

  test.each(['/v1/b', '/v1/import'])('is taken at %s', async (path) => {
    const batch = [track('Elsewhere', { timestamp: new Date() })];
    expect((await post(path, { batch })).body).toMatchObject({ success: true, accepted: 1 });
  });

  test.each([
    [{ calls: [] }, 'batch: must be an array of calls'],
    [{ batch: Array.from({ length: 2_501 }, () => ({})) }, 'batch: must have at most 2500 calls, not 2501'],
    [{ batch: [], sentAt: 5 }, 'sentAt: must be a date and time in ISO 8601, such as 2026-03-01T12:00:00.000Z'],
    ['{"batch": [', 'body: is not valid JSON at position 11 (line 1, column 12)'],
    [`{"batch":["${'x'.repeat(500 * 1024)}"]}`, 'body: must have at most 500 KiB, also unzipped: send smaller batches'],
  ])('that is wrong as a whole is a 400 that says how (%#)', async (body, message) => {
    const refused = await post('/v1/batch', body);
    expect([refused.status, refused.body.success, refused.body.error_message]).toEqual([400, false, message]);
    expect(refused.headers['access-control-allow-origin']).toBe('*');
  });

  test('that is no JSON is kept as one refused call, by the place of its fault, without its key and a word cut', async () => {
    const app = await newApp();
    const kept = async () =>
      (
        await store.db.query<{ raw: string | null; message: string }>(
          'SELECT raw, message, customer_hash IS NOT NULL AS hashed FROM refused_calls WHERE app_id = $1 ORDER BY id',
          [app.app.id],
        )
      ).rows;
    const begun = `{"writeKey": "${app.apiKey}", "batch": [{"userId": "${personId(71)}", "event": `;
    await post('/v1/batch', `${begun}undefined}]}`, basic(app.apiKey));
    await post('/v1/t', `${begun}NaN, "text": "${'x '.repeat(2_000)}`, { 'content-type': 'text/plain' });
    const [first, second] = await kept();
    const at = begun.length;
    expect(first).toEqual({
      raw: `{"writeKey":"…", "batch": [{"userId": "${personId(71)}", "event": undefined}]}`,
      hashed: false,
      message: `body: is not valid JSON at position ${at} (line 1, column ${at + 1})`,
    });
    expect(second!.raw!.length).toBeLessThanOrEqual(2_048);
    expect(second!.raw).toContain('NaN');
    await insertTombstone(
      store.db,
      world.entity.id,
      store.secrets.customerHash(world.entity.id, 'user_id', personId(72)),
    );
    await post('/v1/batch', `{"batch": [{"traits": "${personId(72)}"`, basic(app.apiKey));
    expect((await kept()).at(-1)).toMatchObject({ raw: null, hashed: true });
    expect((await post('/v1/batch', '{"writeKey": "none", "batch": [', { 'content-type': 'text/plain' })).status).toBe(
      400,
    );
    const { body } = await server.call('GET', `/api/apps/${app.app.identifier}/ingestion`, { token: world.token });
    expect((body.result as { days: { received: number }[] }).days[0]).toMatchObject({ received: 3, refused: 3 });
  });

  test('may hold a call that is too large or too deep, which is refused by itself', async () => {
    const deep = JSON.parse(`${'{"a":'.repeat(80)}1${'}'.repeat(80)}`) as object;
    const { body } = await post('/v1/batch', {
      batch: [
        track('Large', { properties: { text: 'x'.repeat(33_000) } }),
        track('Deep', { properties: deep }),
        track('Sound'),
      ],
    });
    expect(body).toMatchObject({
      accepted: 1,
      refused: [
        { index: 0, code: 'too_large' },
        { index: 1, code: 'invalid' },
      ],
    });
  });

  test('is unzipped, as mobiles send it', async () => {
    const app = await newApp();
    const zipped = { 'content-type': 'text/plain', 'content-encoding': 'gzip' };
    const sent = JSON.stringify({ batch: [track('Zipped')], sentAt: new Date().toISOString(), writeKey: app.apiKey });
    expect((await post('/v1/b', gzipSync(sent), zipped)).body).toMatchObject({ accepted: 1 });
    expect(await eventNames(store, app)).toEqual(['Zipped']);
    const bomb = await post(
      '/v1/b',
      gzipSync(`{"writeKey":"${app.apiKey}","batch":["${' '.repeat(3_000_000)}"]}`),
      zipped,
    );
    expect([bomb.status, bomb.body.status]).toEqual([400, 'too_large']);
    expect((await post('/v1/b', 'no gzip', zipped)).body.error_message).toBe(
      'body: is not gzip, as Content-Encoding says',
    );
    expect((await post('/v1/b', 'no JSON', { ...zipped, 'content-encoding': 'br' })).status).toBe(415);
    for (const encoding of ['gzip', 'br', 'x-gzip']) {
      expect((await post('/v1/b', ` ${sent}`, { ...zipped, 'content-encoding': encoding })).body).toMatchObject({
        accepted: 1,
      });
    }
    expect((await post('/v1/b', gzipSync(sent), { ...zipped, 'content-encoding': 'X-GZip' })).body).toMatchObject({
      accepted: 1,
    });
    expect((await post('/v1/b', sent, { 'content-type': 'application/xml' })).status).toBe(415);
  });
});

describe('a single call', () => {
  test('goes by its path, as browsers send it', async () => {
    const app = await newApp({ appType: 'Web App' });
    const plain = { 'content-type': 'text/plain', origin: 'https://shop.example.com' };
    for (const [path, call] of Object.entries({
      t: { event: 'Tapped' },
      p: { name: 'Home', properties: {} },
      i: { userId: personId(5), traits: {} },
      g: { groupId: 'g' },
      screen: { name: 'Start' },
      a: { userId: personId(5), previousId: 'before' },
    })) {
      const sent = {
        ...call,
        anonymousId: 'browser-1',
        messageId: `ajs-${path}`,
        writeKey: app.apiKey,
        sentAt: new Date().toISOString(),
      };
      const answer = await post(`/v1/${path}`, sent, plain);
      expect([path, answer.status, answer.body]).toEqual([
        path,
        200,
        { success: true, accepted: 1, duplicates: 0, refused: [] },
      ]);
      expect(answer.headers['access-control-allow-origin']).toBe('*');
    }
    expect(await eventNames(store, app)).toEqual(['Tapped', 'Viewed Home Page', 'Viewed Start Screen']);
  });

  test('that is refused is a 400 with its reason, and is noted down', async () => {
    const app = await newApp();
    const refused = await post(
      '/v1/track',
      { messageId: 'single', userId: personId(3), writeKey: 'not shown' },
      basic(app.apiKey),
    );
    expect([refused.status, refused.body.status, refused.body.message_id]).toEqual([400, 'invalid', 'single']);
    expect(refused.body.error_message).toMatch(/^event: /);
    const { rows } = await store.db.query('SELECT message_id, raw FROM refused_calls WHERE app_id = $1', [app.app.id]);
    expect(rows).toEqual([{ message_id: 'single', raw: JSON.stringify({ userId: personId(3), messageId: 'single' }) }]);
  });

  test('may be asked for by any page beforehand', async () => {
    const { statusCode, headers } = await server.app.inject({
      method: 'OPTIONS',
      url: '/v1/t',
      headers: { origin: 'https://x.example' },
    });
    expect([statusCode, headers['access-control-allow-origin']]).toEqual([204, '*']);
    expect(headers['access-control-allow-headers']).toContain('Authorization');
    const retried = await server.app.inject({
      method: 'OPTIONS',
      url: '/v1/b',
      headers: { origin: 'https://x.example', 'access-control-request-headers': 'x-retry-count' },
    });
    expect(retried.headers['access-control-allow-headers']).toBe('x-retry-count');
  });
});

describe('a messageId', () => {
  test('is one event, whatever month its time is corrected to', async () => {
    const app = await newApp();
    const now = Date.now();
    const at = (ms: number) => track('Once', { messageId: 'months', timestamp: new Date(ms).toISOString() });
    expect((await post('/v1/batch', { batch: [at(now - 2 * MONTH_MS)] }, basic(app.apiKey))).body).toMatchObject({
      accepted: 1,
    });
    expect((await post('/v1/batch', { batch: [at(now)] }, basic(app.apiKey))).body).toMatchObject({
      accepted: 0,
      duplicates: 1,
    });
    expect(await eventNames(store, app)).toEqual(['Once']);
  });

  test('may come with every batch again, and from two servers at once', async () => {
    const app = await newApp();
    const other = await testServer(store);
    const batches = Array.from({ length: 8 }, (_, batch) =>
      Array.from({ length: 10 }, (_each, call) =>
        track(`E${batch}-${call}`, {
          messageId: `e-${batch}-${call}`,
          anonymousId: personId(call % 4),
          userId: personId(batch % 3),
        }),
      ),
    );
    const answers = await Promise.all(
      batches.flatMap((batch) =>
        [server, other, server].map((to) => post('/v1/batch', { batch }, basic(app.apiKey), to)),
      ),
    );
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
    const sum = (name: 'accepted' | 'duplicates') => answers.reduce((total, { body }) => total + Number(body[name]), 0);
    expect([sum('accepted'), sum('duplicates')]).toEqual([80, 160]);
    expect(new Set(await eventNames(store, app)).size).toBe(80);
    expect((await store.db.query('SELECT FROM sessions WHERE app_id = $1', [app.app.id])).rowCount).toBe(4);
    const { rows } = await store.db.query(
      `SELECT sum(accepted)::int AS accepted, sum(duplicates)::int AS duplicates, sum(refused)::int AS refused
       FROM ingested_batches WHERE app_id = $1`,
      [app.app.id],
    );
    expect(rows).toEqual([{ accepted: 80, duplicates: 160, refused: 0 }]);
  });
});

describe('a request that fails by our fault', () => {
  test('is a 500, and those that came with it go in', async () => {
    const app = await newApp();
    await store.db.query(`CREATE FUNCTION refuse_poison() RETURNS trigger LANGUAGE plpgsql AS
      $$ BEGIN IF NEW.name = 'Poison' THEN RAISE EXCEPTION 'poison'; END IF; RETURN NEW; END $$`);
    await store.db.query(
      'CREATE TRIGGER poison BEFORE INSERT ON event_definitions FOR EACH ROW EXECUTE FUNCTION refuse_poison()',
    );
    expectFault('POST /v1/track');
    const names = ['First', 'Second', 'Poison', 'Third', 'Fourth'];
    const answers = await Promise.all(
      names.map((event) => post('/v1/track', track(event, { messageId: event }), basic(app.apiKey))),
    );
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 500, 200, 200]);
    expect(await eventNames(store, app)).toEqual(['First', 'Fourth', 'Second', 'Third']);
    await store.db.query('DROP TRIGGER poison ON event_definitions');
    expect((await post('/v1/track', track('Poison', { messageId: 'Poison' }), basic(app.apiKey))).body).toMatchObject({
      accepted: 1,
    });
  });
});

describe('a write key', () => {
  test.each([
    [{}],
    [{ authorization: 'Token x' }],
    [{ authorization: `Basic ${Buffer.from('made-up:').toString('base64')}` }],
  ])('that is missing or unknown is a 401: %j', async (headers) => {
    const refused = await post('/v1/batch', { batch: [] }, { 'content-type': 'application/json', ...headers });
    expect([refused.status, refused.body]).toMatchObject([
      401,
      { success: false, error_message: 'Invalid or missing write key' },
    ]);
  });

  test('that is revoked is refused within seconds', async () => {
    const app = await newApp();
    expect((await post('/v1/track', track('Before'), basic(app.apiKey))).status).toBe(200);
    const path = `/api/apps/${app.app.identifier}/api_keys/${app.keyId}`;
    await server.call('PUT', path, { token: world.token, body: { revoked: true } });
    await waitFor(
      'a refused key',
      async () => (await post('/v1/track', track('After'), basic(app.apiKey))).status === 401,
    );
  });

  test('of several apps tells them apart by package name, then by platform', async () => {
    const apiKey = `Shared-key-1-${world.entity.id}`;
    const ios = await newApp({ apiKey, packageName: 'com.example.shared.ios' });
    const android = await newApp({ apiKey, packageName: 'com.example.shared.android', appType: 'Android App' });
    const second = await newApp({ apiKey, packageName: 'com.example.shared.second', appType: 'Android App' });
    const of = (event: string, context: object) => track(event, { context });
    const { body } = await post(
      '/v1/batch',
      {
        batch: [
          of('Named', { app: { namespace: 'com.example.shared.second' } }),
          of('By system', { os: { name: 'iOS' } }),
          of('Either', { os: { name: 'Android' } }),
          of('Neither', {}),
          of('Named too', { app: { namespace: 'com.example.shared.android' } }),
        ],
      },
      basic(apiKey),
    );
    expect(body).toMatchObject({
      accepted: 3,
      refused: [
        { index: 2, code: 'unknown_app' },
        { index: 3, code: 'unknown_app' },
      ],
    });
    expect(await Promise.all([ios, android, second].map((app) => eventNames(store, app)))).toEqual([
      ['By system'],
      ['Named too'],
      ['Named'],
    ]);
  });

  test('may have a limit, and is told when to come back', async () => {
    const limited = await testServer(store, { settings: { ingestLimitPerMinute: 2 } });
    const [app, other] = [await newApp(), await newApp()];
    const send = (apiKey: string) => post('/v1/track', track('Counted'), basic(apiKey), limited);
    expect([(await send(app.apiKey)).status, (await send(app.apiKey)).status]).toEqual([200, 200]);
    const refused = await send(app.apiKey);
    expect([refused.status, refused.body.status]).toEqual([429, 'too_many_requests']);
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
    expect((await send(other.apiKey)).status).toBe(200);
  });

  test('is not held to the limit of other requests', async () => {
    const limited = await testServer(store, { settings: { rateLimitPerMinute: 1 } });
    for (let times = 0; times < 3; times += 1) {
      expect((await post('/v1/track', track('Free'), basic(own.apiKey), limited)).status).toBe(200);
    }
  });

  test('are counted by day, with the time of the last one', async () => {
    const app = await newApp();
    const counted = async () =>
      (await server.call('GET', `/api/apps/${app.app.identifier}/ingestion`, { token: world.token })).body.result;
    expect(await counted()).toMatchObject({ last_received_at: null });
    const before = Date.now();
    await post('/v1/track', track('Counted'), basic(app.apiKey));
    const { days, last_received_at: at } = await counted();
    expect([days[0].received, days.length, Math.abs(Date.parse(at) - before) < 60_000]).toEqual([1, 7, true]);
  });

  test('shows the last calls as they were taken or refused, seconds after they came, and not those of the erased', async () => {
    const own = await insertKeyedApp(store, world);
    const live = (after = 0) =>
      server.call('GET', `/api/apps/${own.app.identifier}/live?after=${after}`, { token: world.token });
    const person = personId(7_701);
    await insertTombstone(
      store.db,
      world.entity.id,
      store.secrets.customerHash(world.entity.id, 'user_id', personId(7_702)),
    );
    const batch = [
      { type: 'track', event: 'Seen', messageId: 'live-1', userId: person, properties: { plan: 'gold' } },
      { type: 'track', event: 'Seen', messageId: 'live-1', userId: person },
      { type: 'track', messageId: 'live-2', userId: person },
      { type: 'track', event: 'Seen', messageId: 'live-3', userId: personId(7_702) },
    ];
    expect((await post('/v1/batch', { batch }, basic(own.apiKey))).body).toMatchObject({ accepted: 1, duplicates: 1 });
    const calls = await waitFor('the calls to show', async () => {
      const {
        body: { result },
      } = await live();
      return result.calls.length > 0
        ? (result.calls as { id: number; outcome: string; code: string | null; call: string }[])
        : null;
    });
    expect(calls.map(({ outcome, code }) => [outcome, code])).toEqual([
      ['refused', 'invalid'],
      ['duplicate', null],
      ['accepted', null],
    ]);
    expect(JSON.parse(calls[2]!.call)).toMatchObject({ userId: person, event: 'Seen', properties: { plan: 'gold' } });
    expect((await live(calls[0]!.id)).body.result).toEqual({ calls: [] });
    const many = Array.from({ length: 250 }, (_, nth) => ({ type: 'track', event: `Many ${nth}`, userId: person }));
    await post('/v1/batch', { batch: many }, basic(own.apiKey));
    const last = await waitFor('the last hundred', async () => {
      const {
        body: { result },
      } = await live(calls[0]!.id);
      return result.calls.length > 0 ? (result.calls as unknown[]) : null;
    });
    expect(last).toHaveLength(100);
    const { rows } = await store.db.query<{ n: number }>('SELECT count(*) AS n FROM live_calls WHERE app_id = $1', [
      own.app.id,
    ]);
    expect(rows[0]!.n).toBe(100);
  });

  test('has one entry in the audit log for each viewer, app and hour of live calls, over all servers', async () => {
    const [own, other] = [await newApp(), await newApp()];
    const live = (of: KeyedSampleApp, token = world.token, { call } = server) =>
      call('GET', `/api/apps/${of.app.identifier}/live`, { token });
    const entries = async () => {
      const { rows } = await store.db.query<{ of: string; actor: number; hour: boolean | null }>(
        `SELECT subject AS of, actor_id AS actor,
           (details ->> 'from')::timestamptz = date_trunc('milliseconds', happened_at)
             AND (details ->> 'until')::timestamptz - (details ->> 'from')::timestamptz = interval '1 hour' AS hour
         FROM audit_log WHERE details ->> 'what' = 'live_calls' AND subject = ANY($1) ORDER BY id`,
        [[own.app.identifier, other.app.identifier]],
      );
      return rows;
    };
    expect([(await live(own)).body.result, await entries()]).toEqual([{ calls: [] }, []]);
    for (const { apiKey } of [own, other]) await post('/v1/track', track('Followed'), basic(apiKey));
    await store.db.query(
      `INSERT INTO audit_log (entity_id, actor_kind, actor_id, address, action, subject_kind, subject, details, happened_at)
       VALUES ($1, 'user', $2, '127.0.0.1', 'read', 'app', $3, '{"what": "live_calls"}', now() - interval '61 minutes')`,
      [world.entity.id, world.user.id, own.app.identifier],
    );
    for (const app of [own, other]) {
      await waitFor('the calls to show', async () => {
        const { rowCount } = await store.db.query('SELECT FROM live_calls WHERE app_id = $1', [app.app.id]);
        return rowCount === 0 ? null : rowCount;
      });
    }
    const second = await testServer(store);
    const shown = await Promise.all([1, 2, 3, 4].flatMap(() => [live(own), live(own, world.token, second)]));
    expect(shown.map(({ body }) => body.result.calls.length)).toEqual(Array(8).fill(1));
    const mine = { of: own.app.identifier, actor: world.user.id };
    const [old, ...first] = await entries();
    expect([old, first]).toEqual([{ ...mine, hour: null }, [{ ...mine, hour: true }]]);
    await live(own, await tokenWith(store, world, ['usage_analytics_view']), second);
    await live(other);
    const later = (await entries()).slice(2);
    expect(later.map(({ of, actor }) => [of, actor === world.user.id])).toEqual([
      [own.app.identifier, false],
      [other.app.identifier, true],
    ]);
  });

  test('shows a call that took more than a second to take in', async () => {
    const { apiKey } = await insertKeyedApp(store, world);
    const target = (await findTrackingTarget(store.db, store.secrets, apiKey))!;
    const live = new LiveCalls({ db: store.db, secrets: store.secrets, log: { warn() {} } });
    vi.useFakeTimers({ toFake: ['setTimeout'] });
    try {
      const shown = live.select(target, [{ type: 'track', event: 'Slowly taken' }], {});
      vi.advanceTimersByTime(1_000); // the second in which it came is written without it
      live.add(target, shown, { calls: [], refused: [] }, { accepted: 1, duplicates: 0, repeated: [], refused: [] });
      vi.advanceTimersByTime(1_000);
    } finally {
      vi.useRealTimers();
    }
    const written = await waitFor(
      'the call to be written',
      async () =>
        (
          await store.db.query(`SELECT outcome FROM live_calls WHERE entity_id = $1 AND call LIKE '%Slowly taken%'`, [
            world.entity.id,
          ])
        ).rows[0],
    );
    expect(written).toEqual({ outcome: 'accepted' });
  });

  test('tells an SDK where to send', async () => {
    const { status, body } = await server.call('GET', `/v1/projects/${own.apiKey}/settings`);
    expect([status, body]).toEqual([
      200,
      {
        integrations: { 'Segment.io': { apiKey: own.apiKey, apiHost: 'millrace.test/v1', protocol: 'http' } },
        metrics: { sampleRate: 0 },
      },
    ]);
    expect((await server.call('GET', '/v1/projects/made-up/settings')).status).toBe(404);
  });
});

describe('somebody who was erased', () => {
  test('is refused call by call, and nothing of theirs is kept', async () => {
    const app = await newApp();
    await insertTombstone(
      store.db,
      world.entity.id,
      store.secrets.customerHash(world.entity.id, 'user_id', personId(60)),
    );
    const { body } = await post(
      '/v1/batch',
      {
        batch: [
          track('Theirs', { userId: personId(60), messageId: 'erased-1' }),
          track('Another', { userId: personId(61) }),
          { type: 'track', userId: personId(60), messageId: `of ${personId(60)}` },
        ],
      },
      basic(app.apiKey),
    );
    expect(body).toMatchObject({
      accepted: 1,
      refused: [
        { index: 0, code: 'erased' },
        { index: 2, code: 'invalid' },
      ],
    });
    const { rows } = await store.db.query(
      `SELECT code, raw, message_id, customer_hash IS NOT NULL AS hashed FROM refused_calls
       WHERE app_id = $1 ORDER BY index`,
      [app.app.id],
    );
    expect(rows).toEqual([
      { code: 'erased', raw: null, message_id: 'erased-1', hashed: true },
      { code: 'invalid', raw: null, message_id: null, hashed: true },
    ]);
    expect((await post('/v1/identify', { userId: personId(60) }, basic(app.apiKey))).body).toMatchObject({
      status: 'erased',
    });
  });

  test('and a refused call that is sent again makes no second row, unless its messageId names the person', async () => {
    const app = await newApp();
    await insertTombstone(
      store.db,
      world.entity.id,
      store.secrets.customerHash(world.entity.id, 'user_id', personId(63)),
    );
    const [own, naming] = ['refused-again', `of ${personId(63)}`].map((messageId) => ({
      type: 'track',
      userId: personId(63),
      messageId,
    }));
    for (const batch of [
      [own, naming],
      [own, naming],
    ])
      await post('/v1/batch', { batch }, basic(app.apiKey));
    const { rows } = await store.db.query(
      `SELECT raw, message_id, message_hash IS NOT NULL AS is_known FROM refused_calls WHERE app_id = $1 ORDER BY id`,
      [app.app.id],
    );
    expect(rows).toEqual([true, false, false].map((isKnown) => ({ raw: null, message_id: null, is_known: isKnown })));
  });
});

describe('a malformed call whose device only its batch tells', () => {
  const batchOf = (id: string) => ({
    batch: [{ type: 'track', properties: { city: 'Ghent' } }],
    context: { device: { id } },
  });

  test('is kept without its content where that device was erased', async () => {
    const app = await newApp();
    await insertTombstone(
      store.db,
      world.entity.id,
      store.secrets.customerHash(world.entity.id, 'device_id', personId(64)),
    );
    await post('/v1/batch', batchOf(personId(64)), basic(app.apiKey));
    const { rows } = await store.db.query(
      'SELECT raw, message, customer_hash IS NOT NULL AS hashed FROM refused_calls WHERE app_id = $1',
      [app.app.id],
    );
    expect(rows).toEqual([{ raw: null, message: expect.stringContaining('event') as string, hashed: true }]);
  });

  test('is kept with that device, by which it is found', async () => {
    const app = await newApp();
    await post('/v1/batch', batchOf(personId(65)), basic(app.apiKey));
    const { rows } = await store.db.query<{ raw: string }>('SELECT raw FROM refused_calls WHERE app_id = $1', [
      app.app.id,
    ]);
    expect(rows.map(({ raw }) => JSON.parse(raw) as unknown)).toEqual([
      { context: { device: { id: personId(65) } }, type: 'track', properties: { city: 'Ghent' } },
    ]);
  });
});

describe('afterwards', () => {
  /** Of an app, or where `next` leads. */
  const read = async ({ app }: KeyedSampleApp, path: string) => {
    const url = path.startsWith('http')
      ? path.slice('http://millrace.test'.length)
      : `/api/apps/${app.identifier}/${path}`;
    return (await server.call('GET', url, { token: world.token })).body.result;
  };

  test('refused calls are read page by page, by code and by messageId, with what came', async () => {
    const app = await newApp();
    const invalid = (nth: number) => ({ type: 'track', messageId: `r-${nth}`, userId: personId(nth) });
    await post(
      '/v1/batch',
      { batch: [invalid(1), { type: 'track', event: 'Nobody', messageId: 'r-2' }, invalid(3)] },
      basic(app.apiKey),
    );
    await post('/v1/batch', { batch: [invalid(4), invalid(3)] }, basic(app.apiKey));
    const seen: string[] = [];
    let page = await read(app, 'refused_calls?per_page=3');
    for (;;) {
      seen.push(...(page.refused_calls as { message_id: string }[]).map(({ message_id: id }) => id));
      if (page.next === null) break;
      page = await read(app, page.next as string);
    }
    expect(seen.toSorted()).toEqual(['r-1', 'r-2', 'r-3', 'r-4']);
    expect(seen[0]).toBe('r-4');
    expect((await read(app, 'refused_calls?code=nobody')).refused_calls).toMatchObject([
      {
        index: 1,
        message_id: 'r-2',
        code: 'nobody',
        of_app: true,
        call: JSON.stringify({ type: 'track', event: 'Nobody', messageId: 'r-2' }),
      },
    ]);
    expect((await read(app, 'refused_calls?message_id=r-3')).refused_calls).toMatchObject([
      { index: 2, code: 'invalid' },
    ]);
    const { rows } = await store.db.query(`SELECT details FROM audit_log WHERE subject = $1 AND action = 'read'`, [
      app.app.identifier,
    ]);
    expect(rows).toContainEqual({ details: { what: 'refused_calls' } });
  });

  test('what told of no app is read by those apps that share a key', async () => {
    const apiKey = `Shared-key-2-${world.entity.id}`;
    const [one, other] = [await newApp({ apiKey }), await newApp({ apiKey })];
    await post('/v1/batch', { batch: [track('Of which?', { messageId: 'of-none' })] }, basic(apiKey));
    for (const app of [one, other]) {
      const { refused_calls: refused } = await read(app, 'refused_calls?message_id=of-none');
      expect(refused).toMatchObject([{ message_id: 'of-none', code: 'unknown_app', of_app: false }]);
      expect((await read(app, 'ingestion')).days[0]).toMatchObject({
        received: 0,
        refused_of_no_app: expect.any(Number),
      });
      expect((await read(app, 'ingestion')).days[0].refused_of_no_app).toBeGreaterThan(0);
    }
    expect((await read(await newApp(), 'refused_calls')).refused_calls).toEqual([]);
  });

  test('calls are counted by day: received is accepted, duplicates and refused together', async () => {
    const app = await newApp();
    const batch = [
      track('A', { messageId: 'c-1' }),
      track('B', { messageId: 'c-2' }),
      track('A', { messageId: 'c-1' }),
      {},
    ];
    await post('/v1/batch', { batch }, basic(app.apiKey));
    await post('/v1/batch', { batch }, basic(app.apiKey));
    const { days } = (await read(app, 'ingestion?days=3')) as { days: Record<string, unknown>[] };
    expect(days).toHaveLength(3);
    expect(days[0]).toMatchObject({
      date: new Date().toISOString().slice(0, 10),
      received: 8,
      accepted: 2,
      duplicates: 4,
      refused: 2,
    });
    expect(days[1]).toMatchObject({ received: 0 });
  });

  test('errors are listed by kind', async () => {
    const app = await newApp();
    const crash = (message: string, type: string) =>
      track('Application Crashed', { properties: { message, exception_type: type } });
    const batch = [crash('No room', 'Memory'), crash('No room', 'Memory'), crash('No file', 'Disk')];
    await post('/v1/batch', { batch }, basic(app.apiKey));
    const { items, total_items: total } = await read(app, 'crashes?per_page=10');
    expect(total).toBe(2);
    expect(items).toContainEqual(
      expect.objectContaining({ title: 'No room', occurrences: 2, identifier: expect.stringMatching(/^crs_/) }),
    );
  });

  test('nothing of the people in calls stands in the log', () => {
    expect(JSON.stringify(server.logs)).not.toContain(personId(3));
    expect(server.logs).toContainEqual(expect.objectContaining({ msg: 'calls were refused', refused: { invalid: 1 } }));
  });
});
