import { beforeAll, expect, it } from 'vitest';
import { openDatabase, write } from '../../../store/core/database.ts';
import { ensurePartitions } from '../../../store/tracking/event-partitions.ts';
import { type CallOutcome, INSERT_CALLS } from '../../../store/tracking/insert-calls.ts';
import type { AppCall } from '../../../store/tracking/app-call.ts';
import { onFileEnd } from '../../harness/core/clean-up.ts';
import { testStore, type TestStore } from '../../harness/core/database.ts';
import { personId } from '../../harness/core/people.ts';
import {
  ingestHeld,
  makeTrackedWorld,
  SAMPLE_START,
  sampleCall,
  sampleEvent,
  type TrackedWorld,
} from '../../harness/tracking/tracked-calls.ts';

const SERVERS = 2;
const AT_ONCE = 8;
const ROUNDS = 4;
const MESSAGES = 300;
const DEVICES = 23;

let store: TestStore;
let world: TrackedWorld;

beforeAll(async () => {
  store = await testStore();
  world = await makeTrackedWorld(store);
});

/** The same call whoever makes it. Devices whose names sort otherwise by UTF-16 than by bytes are among them. */
function callOf(number: number): AppCall {
  const device = number % DEVICES;
  return sampleCall(world, {
    messageId: `message ${number}`,
    deviceId: `${['a', '\u{1F600}', '\uFFFD', 'Z'][device % 4]}${device}`,
    userId: personId(device % 5),
    second: (number * 37) % 20_000,
    context: { latitude: number % 90, longitude: 0 },
    event:
      number % 10 === 0
        ? sampleEvent('Application Crashed', {
            logType: 1,
            fingerprint: String(number % 3).repeat(64),
            crashTitle: 'Fault',
          })
        : sampleEvent(`Event ${number % 13}`),
    ...(number % 7 === 0 && { type: 'alias', previousId: personId(100 + (number % 11)), event: null }),
  });
}

/** Each batch has a third of all messages, some of them twice, in an order of its own. */
function batchOf(number: number): AppCall[] {
  return Array.from({ length: MESSAGES / 3 + 10 }, (_, at) =>
    callOf((number * 53 + at * (7 + (number % 4))) % MESSAGES),
  );
}

it('batches that overlap, of two servers at once, neither deadlock nor double anything', async () => {
  const servers = Array.from({ length: SERVERS }, () => openDatabase({ url: store.url, max: AT_ONCE, name: 'server' }));
  onFileEnd(async () => {
    for (const db of servers) await db.end();
  });
  await ensurePartitions(store.db, [SAMPLE_START]);
  let runs = 0;
  const outcomes: CallOutcome[] = [];
  const taken = new Set<number>();
  await Promise.all(
    servers.flatMap((db, server) =>
      Array.from({ length: AT_ONCE }, async (_, lane) => {
        for (let round = 0; round < ROUNDS; round += 1) {
          const number = (round * AT_ONCE + lane) * SERVERS + server;
          const batch = batchOf(number);
          for (const call of batch) taken.add(Number(call.messageId!.split(' ')[1]));
          outcomes.push(
            ...(await write(
              db,
              async (tx) => {
                runs += 1;
                return ingestHeld(tx, store.secrets, world.entity.id, batch);
              },
              INSERT_CALLS,
            )),
          );
        }
      }),
    ),
  );
  expect(runs).toBe(SERVERS * AT_ONCE * ROUNDS); // nobody had to start again
  expect(outcomes.filter((outcome) => outcome === 'accepted').length).toBe(taken.size);
  const { rows } = await store.db.query<Record<string, number>>(
    `SELECT (SELECT count(*) FROM event_messages WHERE entity_id = $1) AS messages,
       (SELECT count(*) FROM events WHERE entity_id = $1) AS events,
       (SELECT count(*) FROM locations WHERE entity_id = $1) AS locations,
       (SELECT count(*) FROM devices WHERE entity_id = $1) AS devices,
       (SELECT sum(occurrences)::integer FROM crashes WHERE entity_id = $1) AS crashes,
       (SELECT sum(number_of_crashes)::integer FROM devices WHERE entity_id = $1) AS device_crashes,
       (SELECT sum(accepted)::integer FROM ingested_batches WHERE entity_id = $1) AS accepted,
       (SELECT count(*) FROM sessions WHERE entity_id = $1)
         - (SELECT sum(number_of_sessions)::integer FROM devices WHERE entity_id = $1) AS sessions_beside,
       (SELECT count(*) FROM events e LEFT JOIN sessions s ON s.entity_id = e.entity_id AND s.id = e.session_id
          AND e.happened_at BETWEEN s.started_at AND s.ended_at WHERE e.entity_id = $1 AND s.id IS NULL) AS without_session,
       (SELECT count(*) FROM sessions a JOIN sessions b ON b.subject = a.subject AND b.entity_id = a.entity_id AND b.id <> a.id
          AND b.started_at BETWEEN a.started_at AND a.ended_at WHERE a.entity_id = $1) AS overlapping`,
    [world.entity.id],
  );
  const calls = [...taken].map(callOf);
  const crashes = calls.filter(({ event }) => event?.logType === 1).length;
  expect(rows[0]).toEqual({
    messages: taken.size,
    accepted: taken.size,
    locations: taken.size,
    events: calls.filter(({ event }) => event !== null).length,
    devices: DEVICES,
    crashes,
    device_crashes: crashes,
    sessions_beside: 0,
    without_session: 0,
    overlapping: 0,
  });
});
