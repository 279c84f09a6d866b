import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { write } from '../../../store/core/database.ts';
import { personalData } from '../../../store/gdpr/personal-data-registry.ts';
import { insertTombstone } from '../../../store/gdpr/tombstones.ts';
import { INSERT_CALLS } from '../../../store/tracking/insert-calls.ts';
import type { AppCall } from '../../../store/tracking/app-call.ts';
import { insertRefusedCalls } from '../../../store/tracking/call-reports.ts';
import { insertSampleApp } from '../../harness/apps/apps.ts';
import { testStore, type TestStore } from '../../harness/core/database.ts';
import { personId } from '../../harness/core/people.ts';
import { sampledRuns } from '../../harness/run/seed.ts';
import {
  ingestHeld,
  makeTrackedWorld,
  SAMPLE_START,
  type SampleCall,
  sampleCall,
  sampleEvent,
  takeIn,
  type TrackedWorld,
} from '../../harness/tracking/tracked-calls.ts';

let store: TestStore;
let world: TrackedWorld;

beforeAll(async () => {
  store = await testStore();
  world = await makeTrackedWorld(store);
});

const call = (given: SampleCall): AppCall => sampleCall(world, given);
const seconds = (column: string) => `round(extract(epoch FROM ${column}) - ${SAMPLE_START / 1000}, 3)::float8`;

async function rowsOf(text: string, ...values: unknown[]): Promise<unknown[]> {
  return (await store.db.query(text, [world.entity.id, ...values])).rows;
}

const device = async (deviceId: string) =>
  (await rowsOf('SELECT * FROM devices WHERE entity_id = $1 AND device_id = $2', deviceId))[0] as Record<
    string,
    unknown
  >;

describe('events', () => {
  it('keep what the call told, with the session of each', async () => {
    const detail = { 'a\tb': 'tab\tand "quotes" \\n', list: [1, { deep: null }], '': 'line\nend' };
    await takeIn(store, world, [
      call({
        messageId: 'e1',
        deviceId: 'e-dev',
        userId: personId(4),
        second: 5,
        context: { utcOffset: -90 },
        event: sampleEvent('A\\t\tb', { detail }),
      }),
      call({ messageId: 'e2', deviceId: 'e-dev', second: 6, event: sampleEvent('Plain', { detail: 'only a text' }) }),
      call({ messageId: 'e3', deviceId: 'e-dev', second: 7, type: 'identify', event: null }),
      call({
        messageId: 'e4',
        deviceId: 'e-dev',
        second: 8,
        event: sampleEvent('Application Opened', { logType: 3, transition: 'foreground' }),
      }),
    ]);
    const told = { log_type: 2, utc_offset: null, user_id: null, device_id: 'e-dev', crash_id: null, in_session: true };
    expect(
      await rowsOf(
        `SELECT name, detail, log_type, utc_offset, user_id, device_id, crash_id, ${seconds('happened_at')} AS at,
         session_id = s.id AS in_session
       FROM events e JOIN (SELECT id FROM sessions WHERE entity_id = $1 AND device_id = 'e-dev') s ON true
       WHERE entity_id = $1 AND device_id = 'e-dev' ORDER BY happened_at`,
      ),
    ).toEqual([
      { ...told, name: 'A\\t\tb', detail, utc_offset: -90, user_id: personId(4), at: 5 },
      { ...told, name: 'Plain', detail: 'only a text', at: 6 },
      { ...told, name: 'Application Opened', detail: null, log_type: 3, at: 8 },
    ]);
    expect(
      await rowsOf(
        'SELECT log_type, name FROM event_definitions WHERE entity_id = $1 AND app_id = $2 ORDER BY name',
        world.app.id,
      ),
    ).toEqual([
      { log_type: 2, name: 'A\\t\tb' },
      { log_type: 3, name: 'Application Opened' },
      { log_type: 2, name: 'Plain' },
    ]);
  });

  it('are taken once a message, within a batch and across batches, and always without a messageId', async () => {
    const calls = ['m1', 'm2', 'm1', null, null].map((messageId, index) =>
      call({ index, messageId, deviceId: 'm-dev' }),
    );
    expect(await takeIn(store, world, calls)).toEqual(['accepted', 'accepted', 'duplicate', 'accepted', 'accepted']);
    expect(await takeIn(store, world, [call({ messageId: 'm3', deviceId: 'm-dev' }), ...calls])).toEqual([
      'accepted',
      'duplicate',
      'duplicate',
      'duplicate',
      'accepted',
      'accepted',
    ]);
    expect(await rowsOf(`SELECT count(*) FROM events WHERE entity_id = $1 AND device_id = 'm-dev'`)).toEqual([
      { count: 7 },
    ]);
    expect(
      await rowsOf(
        'SELECT accepted, duplicates, refused FROM ingested_batches WHERE entity_id = $1 ORDER BY id DESC LIMIT 2',
      ),
    ).toEqual([
      { accepted: 3, duplicates: 3, refused: 0 },
      { accepted: 4, duplicates: 1, refused: 0 },
    ]);
  });

  it('of a kind of error count as one crash', async () => {
    const crash = (second: number, fingerprint: string, crashTitle: string | null = 'Out of memory') =>
      call({
        second,
        deviceId: 'c-dev',
        event: sampleEvent('Application Crashed', { logType: 1, fingerprint, crashTitle }),
      });
    const [first, other] = ['ab'.repeat(32), 'cd'.repeat(32)];
    await takeIn(store, world, [crash(20, first), crash(10, first), crash(15, other, null)]);
    await takeIn(store, world, [crash(5, first, 'Another title'), crash(90, other, 'Told later')]);
    expect(
      await rowsOf(
        `SELECT encode(fingerprint, 'hex') AS fingerprint, title, occurrences,
         ${seconds('first_seen_at')} AS first, ${seconds('last_seen_at')} AS last,
         (SELECT count(*) FROM events e WHERE e.entity_id = c.entity_id AND e.crash_id = c.id) AS events
       FROM crashes c WHERE entity_id = $1 ORDER BY id`,
      ),
    ).toEqual([
      { fingerprint: first, title: 'Out of memory', occurrences: 3, first: 5, last: 20, events: 3 },
      { fingerprint: other, title: 'Told later', occurrences: 2, first: 15, last: 90, events: 2 },
    ]);
    expect(await device('c-dev')).toMatchObject({ number_of_crashes: 5, number_of_sessions: 1 });
  });

  it('tell of places', async () => {
    const context = { latitude: 48.8566, longitude: -2.5, city: 'Paris' };
    await takeIn(store, world, [call({ second: 3, deviceId: 'l-dev', userId: personId(3), context })]);
    expect(
      await rowsOf(
        `SELECT l.latitude, l.longitude, l.user_id, s.device_id FROM locations l
       JOIN sessions s ON s.entity_id = l.entity_id AND s.id = l.session_id WHERE l.entity_id = $1 AND l.device_id = 'l-dev'`,
      ),
    ).toEqual([{ latitude: 48.8566, longitude: -2.5, user_id: personId(3), device_id: 'l-dev' }]);
    expect(await device('l-dev')).toMatchObject({ last_latitude: 48.8566, last_longitude: -2.5, last_city: 'Paris' });
  });
});

describe('a device', () => {
  it('is what its newest calls told, whatever order they come in', async () => {
    const told = (second: number, context: SampleCall['context'], userId: string | null = null) =>
      call({ deviceId: 'd-dev', second, userId, ...(context && { context }) });
    await takeIn(store, world, [
      told(100, { appVersion: '2', optIn: true }, personId(1)),
      told(110, { osVersion: '17' }),
    ]);
    await takeIn(store, world, [told(50, { appVersion: '1', lang: 'fr' }, personId(2))]);
    expect(await device('d-dev')).toMatchObject({
      app_version: '2',
      os_version: '17',
      lang: 'fr',
      opt_in: true,
      opt_out: null,
      uninstalled: false,
      current_user_id: personId(1),
      last_user_id: personId(1),
      number_of_sessions: 1,
    });
    await takeIn(store, world, [
      told(60, { appVersion: '1.5' }, personId(2)),
      told(200, { optIn: false }, personId(3)),
      told(210, {}),
    ]);
    expect(await device('d-dev')).toMatchObject({
      app_version: '2',
      opt_in: false,
      current_user_id: personId(3),
      last_user_id: personId(3),
    });
    expect(
      await rowsOf(
        `SELECT ${seconds('first_seen_at')} AS first, ${seconds('last_seen_at')} AS last FROM devices
       WHERE entity_id = $1 AND device_id = 'd-dev'`,
      ),
    ).toEqual([{ first: 50, last: 210 }]);
    expect(
      await rowsOf(
        `SELECT user_id, ${seconds('last_seen_at')} AS last FROM device_users WHERE entity_id = $1 AND device_id = 'd-dev' ORDER BY user_id`,
      ),
    ).toEqual([
      { user_id: personId(1), last: 100 },
      { user_id: personId(2), last: 60 },
      { user_id: personId(3), last: 200 },
    ]);
  });

  it('has each member as the last call that says it, in whatever order and batches its calls come', async () => {
    const member = <T>(...values: T[]) => fc.option(fc.constantFrom(...values), { freq: 2 });
    const said = fc.record({
      userId: member(personId(1), personId(2), personId(3)),
      pushToken: member('t1', 't2', 't3'),
      optIn: member(true, false),
      optOut: member(true, false),
      appVersion: member('1', '2'),
      osVersion: member('17', '18'),
      sdkVersion: member('4', '5'),
      city: member('Paris', 'Rome'),
      latitude: member(1, 2),
      longitude: member(3, 4),
      timezone: member('Europe/Paris', 'Asia/Tokyo'),
      utcOffset: member(60, 540),
      isUninstall: fc.boolean(),
      isLogout: fc.boolean(),
      rank: fc.integer(),
      cut: fc.boolean(),
    });
    let runs = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(said, { minLength: 1, maxLength: 12 }), async (all) => {
        const deviceId = `any-order-${(runs += 1)}`;
        const calls = all.map(
          ({ userId, isUninstall, isLogout, rank: _rank, cut: _cut, pushToken, ...context }, second) =>
            call({
              deviceId,
              second,
              userId,
              context: { ...context, pushToken: pushToken && `${pushToken} of ${deviceId}` },
              event: sampleEvent(isLogout ? 'millrace_logout' : isUninstall ? 'Application Uninstalled' : 'Tapped'),
            }),
        );
        const mixed = calls.map((each, at) => ({ each, ...all[at]! })).toSorted((a, b) => a.rank - b.rank);
        let batch: AppCall[] = [];
        for (const { each, cut } of mixed) {
          batch.push(each);
          if (!cut) continue;
          await takeIn(store, world, batch);
          batch = [];
        }
        await takeIn(store, world, batch);
        const last = <K extends keyof (typeof all)[0]>(key: K) =>
          all.findLast((each) => each[key] !== null)?.[key] ?? null;
        const token = last('pushToken');
        expect(await device(deviceId)).toMatchObject({
          current_user_id:
            all.findLast(({ userId, isLogout }) => userId !== null || isLogout)?.isLogout === false
              ? last('userId')
              : null,
          last_user_id: last('userId'),
          push_token: token && `${token} of ${deviceId}`,
          opt_in: last('optIn'),
          opt_out: last('optOut'),
          app_version: last('appVersion'),
          os_version: last('osVersion'),
          sdk_version: last('sdkVersion'),
          last_city: last('city'),
          last_latitude: last('latitude'),
          last_longitude: last('longitude'),
          timezone: last('timezone'),
          utc_offset: last('utcOffset'),
          uninstalled: all.at(-1)!.isUninstall && !all.at(-1)!.isLogout,
        });
      }),
      { numRuns: sampledRuns(150) },
    );
  });

  it('of which it was not known when each member was said changes them with calls from after it was last seen', async () => {
    await rowsOf(
      `INSERT INTO devices (entity_id, app_id, device_id, opt_out, push_token, first_seen_at, last_seen_at)
      VALUES ($1, $2, 'before', false, 'old', $3, $3)`,
      world.app.id,
      new Date(SAMPLE_START),
    );
    await takeIn(store, world, [call({ deviceId: 'before', second: 50, context: { optOut: true } })]);
    await takeIn(store, world, [
      call({ deviceId: 'before', second: 20, context: { optOut: false, pushToken: 'new', city: 'Rome' } }),
    ]);
    await takeIn(store, world, [
      call({ deviceId: 'before', second: -20, context: { pushToken: 'older', lang: 'fr' } }),
    ]);
    expect(await device('before')).toMatchObject({ opt_out: true, push_token: 'new', last_city: 'Rome', lang: 'fr' });
  });

  it('is not vouched for after a logout, also one before a login of its batch, or one that comes after a later login', async () => {
    const verified = async (deviceId: string, batches: [second: number, name: string][][]) => {
      await takeIn(store, world, [call({ deviceId, second: 0, userId: personId(1) })]);
      await rowsOf(
        `UPDATE devices SET verified_user_id = $3, verified_at = $4 WHERE entity_id = $1 AND device_id = $2`,
        deviceId,
        personId(1),
        new Date(SAMPLE_START + 10_000),
      );
      for (const batch of batches) {
        await takeIn(
          store,
          world,
          batch.map(([second, name]) => call({ deviceId, second, userId: personId(1), event: sampleEvent(name) })),
        );
      }
      return (await device(deviceId)).verified_user_id;
    };
    const [logout, login] = ['millrace_logout', 'Tapped'];
    expect(await verified('v-two', [[[20, logout]], [[30, login]]])).toBeNull();
    expect(
      await verified('v-one', [
        [
          [20, logout],
          [30, login],
        ],
      ]),
    ).toBeNull();
    expect(await verified('v-late', [[[30, login]], [[20, logout]]])).toBeNull();
    expect(
      await verified('v-before', [
        [
          [5, logout],
          [30, login],
        ],
      ]),
    ).toBe(personId(1));
  });

  it('of which the last user is erased logs in no earlier one by a late call', async () => {
    const told = (second: number, userId: string, city: string) =>
      call({ deviceId: 'erased-user', second, userId, context: { city } });
    await takeIn(store, world, [told(10, personId(41), 'Rome'), told(30, personId(42), 'Paris')]);
    const location = personalData.find(({ name }) => name === 'devices')!;
    await location.erase!(store, world.entity.id, [{ customerType: 'user_id', customerId: personId(42) }]);
    await takeIn(store, world, [told(20, personId(41), 'Rome')]);
    expect(await device('erased-user')).toMatchObject({ current_user_id: null, last_user_id: null, last_city: null });
    await takeIn(store, world, [told(40, personId(41), 'Rome')]);
    expect(await device('erased-user')).toMatchObject({ current_user_id: personId(41), last_city: 'Rome' });
  });

  it('is none where a server tells of a person', async () => {
    await takeIn(store, world, [call({ deviceId: null, userId: personId(9) })]);
    expect(
      await rowsOf(
        'SELECT subject, device_id, user_id FROM sessions WHERE entity_id = $1 AND user_id = $2',
        personId(9),
      ),
    ).toEqual([{ subject: `u${personId(9)}`, device_id: null, user_id: personId(9) }]);
    expect(await rowsOf('SELECT FROM devices WHERE entity_id = $1 AND current_user_id = $2', personId(9))).toEqual([]);
  });

  it('of two apps is two', async () => {
    const other = await insertSampleApp(store.db, world.entity.id, 'com.example.another');
    const told = { deviceId: 'two', messageId: 'two' };
    expect(await takeIn(store, world, [call(told), call({ ...told, appId: other.id })])).toEqual([
      'accepted',
      'accepted',
    ]);
    expect(await rowsOf(`SELECT count(*) FROM devices WHERE entity_id = $1 AND device_id = 'two'`)).toEqual([
      { count: 2 },
    ]);
    expect(await rowsOf(`SELECT count(*) FROM sessions WHERE entity_id = $1 AND device_id = 'two'`)).toEqual([
      { count: 2 },
    ]);
  });
});

it('an alias is remembered once', async () => {
  const alias = call({ type: 'alias', event: null, userId: personId(21), previousId: personId(20) });
  await takeIn(store, world, [alias, alias]);
  await takeIn(store, world, [alias]);
  expect(await rowsOf('SELECT previous_id, user_id FROM user_aliases WHERE entity_id = $1')).toEqual([
    { previous_id: personId(20), user_id: personId(21) },
  ]);
});

it('an erased person is refused by each of their ids, and nothing but a keyed hash is kept', async () => {
  const hash = store.secrets.customerHash(world.entity.id, 'user_id', personId(66));
  await write(store.db, (tx) => insertTombstone(tx, world.entity.id, hash));
  await write(store.db, (tx) =>
    insertTombstone(tx, world.entity.id, store.secrets.customerHash(world.entity.id, 'device_id', 'gone')),
  );
  const calls = [
    call({ index: 0, messageId: 'x0', userId: personId(66), deviceId: 'x-dev' }),
    call({ index: 1, messageId: 'x1', deviceId: 'gone' }),
    call({ index: 2, messageId: 'x2', type: 'alias', event: null, userId: personId(67), previousId: personId(66) }),
    call({ index: 3, messageId: 'x3', deviceId: 'x-other' }),
  ];
  expect(await takeIn(store, world, calls)).toEqual(['erased', 'erased', 'erased', 'accepted']);
  expect(await takeIn(store, world, calls)).toEqual(['erased', 'erased', 'erased', 'duplicate']);
  expect(
    await rowsOf(
      'SELECT index, message_id, code, raw, customer_hash = $2 AS is_hash FROM refused_calls WHERE entity_id = $1 ORDER BY index',
      hash,
    ),
  ).toEqual([
    { index: 0, message_id: 'x0', code: 'erased', raw: null, is_hash: true },
    { index: 1, message_id: 'x1', code: 'erased', raw: null, is_hash: false },
    { index: 2, message_id: 'x2', code: 'erased', raw: null, is_hash: true },
  ]);
  for (const table of ['events', 'sessions', 'devices', 'device_users']) {
    expect(
      await rowsOf(`SELECT FROM ${table} WHERE entity_id = $1 AND device_id = ANY ($2)`, ['x-dev', 'gone']),
    ).toEqual([]);
  }
  expect(
    await rowsOf(
      'SELECT accepted, duplicates, refused FROM ingested_batches WHERE entity_id = $1 ORDER BY id DESC LIMIT 2',
    ),
  ).toEqual([
    { accepted: 0, duplicates: 1, refused: 3 },
    { accepted: 1, duplicates: 0, refused: 3 },
  ]);
});

it('an erased person does not come back by a messageId that names them', async () => {
  const erased = personId(68);
  await write(store.db, (tx) =>
    insertTombstone(tx, world.entity.id, store.secrets.customerHash(world.entity.id, 'user_id', erased)),
  );
  expect(await takeIn(store, world, [call({ index: 9, messageId: `order-7/${erased}`, userId: erased })])).toEqual([
    'erased',
  ]);
  expect(
    await rowsOf('SELECT message_id, message_hash, raw FROM refused_calls WHERE entity_id = $1 AND index = 9'),
  ).toEqual([{ message_id: null, message_hash: null, raw: null }]);
});

it('a refused call that is sent again is kept once', async () => {
  const refusal = (messageId: string | null, index: number) =>
    ({ index, messageId, code: 'invalid', message: 'event is required', raw: '{}', people: [] }) as const;
  const refusals = [refusal('r1', 0), refusal(null, 1), refusal('r2', 2), refusal('r1', 3)];
  const refuseAll = (appId: number | null) =>
    write(store.db, (tx) => insertRefusedCalls(tx, world.entity.id, appId, refusals));
  for (const appId of [world.app.id, world.app.id, null, null]) await refuseAll(appId);
  const kept = [
    ['r1', 1],
    ['r2', 1],
    [null, 2],
  ];
  expect(
    await rowsOf(
      `SELECT app_id, message_id, count(*) FROM refused_calls WHERE entity_id = $1 AND code = 'invalid' GROUP BY 1, 2 ORDER BY 1, 2`,
    ),
  ).toEqual(
    [world.app.id, null].flatMap((app_id) => kept.map(([message_id, count]) => ({ app_id, message_id, count }))),
  );
  expect(
    await rowsOf(
      'SELECT app_id, accepted, duplicates, refused FROM ingested_batches WHERE entity_id = $1 ORDER BY id DESC LIMIT 4',
    ),
  ).toEqual(
    [
      [null, 3, 1],
      [null, 1, 3],
      [world.app.id, 3, 1],
      [world.app.id, 1, 3],
    ].map(([app_id, duplicates, refused]) => ({ app_id, accepted: 0, duplicates, refused })),
  );
});

it('a large batch takes as many statements as a small one', async () => {
  const statements = async (count: number, told: SampleCall = {}) => {
    const calls = Array.from({ length: count }, (_, at) =>
      call({
        messageId: `s${count}-${at}`,
        second: 10_000_000 + at * 40,
        deviceId: `s${count}-${at % 50}`,
        userId: personId(at % 7),
        ...told,
      }),
    );
    await takeIn(store, world, [calls[0]!]);
    return write(
      store.db,
      async (tx) => {
        let made = 0;
        const counting = new Proxy(tx, {
          get: (target, name: 'query') => {
            if (name === 'query') made += 1;
            const member: unknown = Reflect.get(target, name);
            return typeof member === 'function' ? (member as () => unknown).bind(target) : member;
          },
        });
        await ingestHeld(counting, store.secrets, world.entity.id, calls);
        return made;
      },
      INSERT_CALLS,
    );
  };
  const told: SampleCall = {
    context: { latitude: 1, longitude: 2 },
    traits: [{ sor: 'app', key: 'plan', value: 'free' }],
  };
  expect(await statements(1_000, told)).toBe(await statements(60, told));
  // The entity, who was erased, messages, heads, sessions, events, devices, and what was taken in.
  expect(await statements(50)).toBe(8);
});
