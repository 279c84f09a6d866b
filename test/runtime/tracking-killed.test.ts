import { expect, test } from 'vitest';
import { write } from '../../store/core/database.ts';
import { insertEventDefinitions } from '../../store/tracking/event-definitions.ts';
import { personId } from '../harness/core/people.ts';
import { type RunningProcess, startServer } from '../harness/core/served.ts';
import { useStack } from '../harness/core/stack.ts';
import { waitFor } from '../harness/core/wait.ts';
import { makeWorld } from '../harness/core/world.ts';
import { basic, insertKeyedApp } from '../server/tracking/sample-tracking.ts';

/** Acknowledged means committed, wherever the server dies. */

const stack = useStack();

const BATCHES = 60;
const CALLS = 25;
const CLIENTS = 6;

type Server = RunningProcess & { url: string };

/** What took the repeats of one test is killed in the next: a start costs more than all that is sent. */
let running: Server | undefined;

const idOf = (batch: number, call: number) => `killed-${batch}-${call}`;

function bodyOf(batch: number): string {
  const calls = Array.from({ length: CALLS }, (_, call) => ({
    type: 'track',
    event: `Event ${call}`,
    messageId: idOf(batch, call),
    anonymousId: personId((batch + call) % 7),
    properties: { batch },
  }));
  return JSON.stringify({ batch: calls, sentAt: new Date().toISOString() });
}

test.each([1, 7, 20])(
  'a server killed after %i batches has what it acknowledged, and repeats make one event each',
  async (killAfter) => {
    const world = await makeWorld(stack.store);
    const own = await insertKeyedApp(stack.store, world);
    const stored = async () => {
      const { rows } = await stack.store.db.query<{ batch: number; event: string }>(
        `SELECT (detail->>'batch')::int AS batch, name AS event FROM events WHERE app_id = $1`,
        [own.app.id],
      );
      return rows.map(({ batch, event }) => `${batch} ${event}`).toSorted();
    };
    const eventsOf = (batches: Iterable<number>) =>
      [...batches].flatMap((batch) => Array.from({ length: CALLS }, (_, call) => `${batch} Event ${call}`)).toSorted();

    const open = Array.from({ length: BATCHES }, (_, batch) => batch);
    const acknowledged = new Set<number>();
    /** Ends when all is acknowledged, or the server is gone. */
    const sendAll = async (url: string, afterEach: () => void) => {
      const waiting = open.filter((batch) => !acknowledged.has(batch));
      await Promise.all(
        Array.from({ length: CLIENTS }, async () => {
          for (let batch = waiting.shift(); batch !== undefined; batch = waiting.shift()) {
            const answer = await fetch(`${url}/v1/batch`, {
              method: 'POST',
              headers: basic(own.apiKey),
              body: bodyOf(batch),
            }).then(
              async (reply) => ({ status: reply.status, body: (await reply.json()) as { refused: unknown[] } }),
              () => null,
            );
            if (answer === null) return;
            expect([answer.status, answer.body.refused]).toEqual([200, []]);
            acknowledged.add(batch);
            afterEach();
          }
        }),
      );
    };

    const first = running ?? (await startServer(stack));
    running = undefined;
    await sendAll(first.url, () => {
      if (acknowledged.size === killAfter) process.kill(first.pid, 'SIGKILL');
    });
    expect(acknowledged.size).toBeGreaterThanOrEqual(killAfter);
    expect(acknowledged.size, 'the kill hit a server that was done').toBeLessThan(BATCHES);
    const kept = new Set(await stored());
    expect(eventsOf(acknowledged).filter((event) => !kept.has(event))).toEqual([]);

    const second = (running = await startServer(stack));
    await sendAll(second.url, () => {});
    expect(await stored()).toEqual(eventsOf(open));
    const { rows } = await stack.store.db.query(
      'SELECT sum(accepted)::int AS accepted FROM ingested_batches WHERE app_id = $1',
      [own.app.id],
    );
    expect(rows).toEqual([{ accepted: BATCHES * CALLS }]);
  },
);

test('the last of these servers ends cleanly', async () => {
  expect(await running!.stop()).toBe(0);
});

test('a server that ends while it computes a funnel answers 503, and ends within its drain', async () => {
  const world = await makeWorld(stack.store);
  const { app } = await insertKeyedApp(stack.store, world);
  await write(stack.store.db, (tx) =>
    insertEventDefinitions(tx, world.entity.id, app.id, [{ logType: 2, name: 'Viewed' }]),
  );
  const { url, stop } = await startServer(stack);
  const lock = await stack.store.db.connect();
  try {
    await lock.query('BEGIN; LOCK TABLE events IN ACCESS EXCLUSIVE MODE'); // the funnel computes until it is ended
    const asked = fetch(`${url}/api/funnels/quick_stats?app_id=${app.identifier}&from=2026-11-05&till=2026-11-06`, {
      method: 'POST',
      headers: { authorization: `Token ${world.token}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        funnel: { steps: [{ match_name: [{ app_id: app.identifier, log_type: 2, log_name: 'Viewed' }] }] },
      }),
    });
    await waitFor(
      'both sessions to compute',
      async () =>
        (
          await stack.store.db.query(
            `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
          )
        ).rowCount === 2,
    );
    const signaledAt = performance.now();
    expect(await stop()).toBe(0);
    expect(performance.now() - signaledAt).toBeLessThan(30_000);
    const answer = await asked;
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '1']);
  } finally {
    await lock.query('ROLLBACK');
    lock.release();
  }
});
