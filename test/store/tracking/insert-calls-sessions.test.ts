import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import type { AppCall } from '../../../store/tracking/app-call.ts';
import { onFileEnd } from '../../harness/core/clean-up.ts';
import { testStore, type TestStore } from '../../harness/core/database.ts';
import { lockWaits } from '../../harness/core/lock-waits.ts';
import { personId } from '../../harness/core/people.ts';
import { sampledRuns } from '../../harness/run/seed.ts';
import {
  ingestHeld,
  makeTrackedWorld,
  sampleCall,
  sampleEvent,
  takeIn,
  type TrackedWorld,
} from '../../harness/tracking/tracked-calls.ts';

/** Shortly before a month ends. */
const EDGE = Date.UTC(2026, 9, 31, 23, 50);

let store: TestStore;
let world: TrackedWorld;
let runs = 0;

beforeAll(async () => {
  store = await testStore();
  world = await makeTrackedWorld(store);
});

type Given = {
  device: number;
  gap: number;
  transition: 'background' | 'foreground' | null;
  user: number | null;
  version: string | null;
};

const given: fc.Arbitrary<Given[]> = fc.array(
  fc.record({
    device: fc.nat(2),
    gap: fc.oneof(fc.nat(60_000), fc.nat(200_000), fc.nat(5_000_000)),
    transition: fc.constantFrom(null, null, 'background' as const, 'foreground' as const),
    user: fc.option(fc.nat(2)),
    version: fc.option(fc.constantFrom('1', '2')),
  }),
  { minLength: 2, maxLength: 40 },
);

/** In the order of time, of devices that only this run has. */
function callsOf(run: string, made: Given[]): AppCall[] {
  let happenedAt = EDGE;
  return made.map(({ device, gap, transition, user, version }, index) =>
    sampleCall(world, {
      index,
      messageId: `${run}-${index}`,
      deviceId: `${run}-${device}`,
      happenedAt: (happenedAt += gap),
      userId: user === null ? null : personId(user),
      context: { appVersion: version },
      event: sampleEvent('Tapped', { transition, logType: transition === null ? 2 : 3 }),
    }),
  );
}

async function rowsOf(run: string, text: string): Promise<unknown[]> {
  const { rows } = await store.db.query(text, [world.entity.id, `${run}-%`]);
  return JSON.parse(JSON.stringify(rows).replaceAll(`${run}-`, '')) as unknown[];
}

const leftBehind = async (run: string) => ({
  sessions: await rowsOf(
    run,
    `SELECT subject, started_at, ended_at, background_seconds, user_id, app_version FROM sessions
    WHERE entity_id = $1 AND device_id LIKE $2 ORDER BY subject, started_at`,
  ),
  heads: await rowsOf(
    run,
    `SELECT h.subject, h.started_at, h.ended_at, h.backgrounded_at, s.id IS NOT NULL AS is_there FROM session_heads h
    LEFT JOIN sessions s ON s.entity_id = h.entity_id AND s.id = h.session_id AND s.started_at = h.started_at AND s.ended_at = h.ended_at
    WHERE h.entity_id = $1 AND h.subject LIKE 'd' || $2 ORDER BY h.subject`,
  ),
  devices: await rowsOf(
    run,
    `SELECT device_id, current_user_id, app_version, number_of_sessions, first_seen_at, last_seen_at FROM devices
    WHERE entity_id = $1 AND device_id LIKE $2 ORDER BY device_id`,
  ),
  events: await rowsOf(
    run,
    `SELECT e.happened_at, s.started_at FROM events e
      JOIN sessions s ON s.entity_id = e.entity_id AND s.id = e.session_id
    WHERE e.entity_id = $1 AND e.device_id LIKE $2 ORDER BY e.device_id, e.happened_at, e.id`,
  ),
});

function cut<T>(all: T[], cuts: number[]): T[][] {
  const edges = [...new Set([0, ...cuts.map((place) => place % all.length), all.length])].toSorted((a, b) => a - b);
  return edges.slice(0, -1).map((from, place) => all.slice(from, edges[place + 1]));
}

const cuts = fc.array(fc.nat(40), { maxLength: 8 });

it('calls that come in order make the same sessions, devices and events however they are cut into batches', async () => {
  await fc.assert(
    fc.asyncProperty(given, cuts, async (made, places) => {
      const [whole, parts] = [`w${(runs += 1)}`, `p${runs}`];
      await takeIn(store, world, callsOf(whole, made));
      for (const batch of cut(callsOf(parts, made), places)) await takeIn(store, world, batch);
      expect(await leftBehind(parts)).toEqual(await leftBehind(whole));
    }),
    { numRuns: sampledRuns(25) },
  );
});

it('calls that come in any order each lie in a session, and sessions of a device never overlap', async () => {
  await fc.assert(
    fc.asyncProperty(
      given,
      cuts,
      fc.array(fc.nat(1_000), { minLength: 40, maxLength: 40 }),
      async (made, places, order) => {
        const run = `s${(runs += 1)}`;
        const shuffled = callsOf(run, made).toSorted((a, b) => order[a.index]! - order[b.index]!);
        for (const batch of cut(shuffled, places)) await takeIn(store, world, batch);
        expect(await rowsOf(run, 'SELECT count(*) FROM events WHERE entity_id = $1 AND device_id LIKE $2')).toEqual([
          { count: made.length },
        ]);
        expect(
          await rowsOf(
            run,
            `SELECT FROM events e LEFT JOIN sessions s ON s.entity_id = e.entity_id AND s.id = e.session_id
        AND s.device_id = e.device_id AND e.happened_at BETWEEN s.started_at AND s.ended_at
      WHERE e.entity_id = $1 AND e.device_id LIKE $2 AND s.id IS NULL`,
          ),
        ).toEqual([]);
        expect(
          await rowsOf(
            run,
            `SELECT FROM sessions a JOIN sessions b ON b.entity_id = a.entity_id AND b.subject = a.subject AND b.id <> a.id
        AND b.started_at BETWEEN a.started_at AND a.ended_at WHERE a.entity_id = $1 AND a.device_id LIKE $2`,
          ),
        ).toEqual([]);
        expect(
          await rowsOf(
            run,
            `SELECT FROM sessions WHERE entity_id = $1 AND device_id LIKE $2
        AND (background_seconds < 0 OR background_seconds > extract(epoch FROM ended_at - started_at))`,
          ),
        ).toEqual([]);
        expect(
          await rowsOf(
            run,
            `SELECT d.device_id FROM devices d
        JOIN (SELECT device_id, count(*), min(started_at), max(ended_at) FROM sessions WHERE entity_id = $1 GROUP BY 1) s USING (device_id)
      WHERE d.entity_id = $1 AND d.device_id LIKE $2
        AND (d.number_of_sessions, d.first_seen_at, d.last_seen_at) IS DISTINCT FROM (s.count, s.min, s.max)`,
          ),
        ).toEqual([]);
        const { heads } = await leftBehind(run);
        expect(heads.filter((head) => !(head as { is_there: boolean }).is_there)).toEqual([]);
      },
    ),
    { numRuns: sampledRuns(25) },
  );
});

describe('a late call', () => {
  const at = (run: string, happenedAt: number) => sampleCall(world, { deviceId: `${run}-0`, happenedAt });

  it('that makes a session begin in the month before takes it there', async () => {
    const midnight = Date.UTC(2026, 10, 1);
    await takeIn(store, world, [at('month', midnight + 10_000)]);
    await takeIn(store, world, [at('month', midnight - 5_000)]);
    expect(
      await rowsOf(
        'month',
        `SELECT tableoid::regclass::text AS month, started_at, ended_at FROM sessions
      WHERE entity_id = $1 AND device_id LIKE $2`,
      ),
    ).toEqual([
      { month: 'sessions_2026_10', started_at: '2026-10-31T23:59:55.000Z', ended_at: '2026-11-01T00:00:10.000Z' },
    ]);
    await takeIn(store, world, [at('month', midnight + 40_000)]);
    expect((await leftBehind('month')).sessions).toMatchObject([
      { started_at: '2026-10-31T23:59:55.000Z', ended_at: '2026-11-01T00:00:40.000Z' },
    ]);
  });

  it('begins a session anew where that was erased', async () => {
    await takeIn(store, world, [at('gone', EDGE), at('gone', EDGE + 10_000)]);
    await rowsOf('gone', 'DELETE FROM sessions WHERE entity_id = $1 AND device_id LIKE $2');
    await takeIn(store, world, [at('gone', EDGE + 20_000)]);
    const moment = new Date(EDGE + 20_000).toISOString();
    const { sessions, heads, devices } = await leftBehind('gone');
    expect(sessions).toMatchObject([{ started_at: moment, ended_at: moment }]);
    expect(heads).toMatchObject([{ started_at: moment, is_there: true }]);
    expect(devices).toMatchObject([{ number_of_sessions: 2 }]);
  });

  it('finds the session that it belongs to among older ones', async () => {
    const hour = (number: number) => EDGE + number * 3_600_000;
    for (const number of [0, 1, 2, 3, 30, 60]) await takeIn(store, world, [at('old', hour(number))]);
    const late = [hour(60) + 10_000, hour(1) + 60_000, hour(2) - 90_000, hour(29)];
    await takeIn(
      store,
      world,
      late.map((happenedAt) => at('old', happenedAt)),
    );
    const shown = (await leftBehind('old')).sessions as { started_at: string; ended_at: string }[];
    expect(
      shown.map(({ started_at: from, ended_at: to }) => [
        (Date.parse(from) - EDGE) / 1000,
        (Date.parse(to) - EDGE) / 1000,
      ]),
    ).toEqual([
      [0, 0],
      [3_600, 3_660],
      [7_110, 7_200],
      [10_800, 10_800],
      [104_400, 104_400],
      [108_000, 108_000],
      [216_000, 216_010],
    ]);
  });
});

describe('a call that waits for another batch of its device', () => {
  const at = (run: string, second: number) =>
    sampleCall(world, { deviceId: `${run}-0`, happenedAt: EDGE + second * 1000 });

  it.each(['known', 'new'])('goes on with the session that it finds then, of a %s device', async (run) => {
    if (run === 'known') await takeIn(store, world, [at(run, -3_600)]);
    const other = await store.db.connect();
    onFileEnd(async () => other.release());
    await other.query('BEGIN');
    await ingestHeld(other, store.secrets, world.entity.id, [at(run, 10)]);
    const waiting = takeIn(store, world, [at(run, 20), sampleCall(world, { deviceId: `${run}-1`, happenedAt: EDGE })]);
    await lockWaits(store);
    await other.query('COMMIT');
    expect(await waiting).toEqual(['accepted', 'accepted']);
    const { sessions, heads, events } = await leftBehind(run);
    const [from, to] = [10, 20].map((second) => new Date(EDGE + second * 1000).toISOString());
    expect(sessions.filter((session) => (session as { subject: string }).subject === 'd0').at(-1)).toMatchObject({
      started_at: from,
      ended_at: to,
    });
    expect(sessions).toHaveLength(run === 'known' ? 3 : 2);
    expect(heads).toMatchObject([{ is_there: true, started_at: from, ended_at: to }, { is_there: true }]);
    expect(events).toHaveLength(sessions.length + 1);
  });
});
