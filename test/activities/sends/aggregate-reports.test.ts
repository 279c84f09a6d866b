import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { countAttempts, dropAttempts } from '../../../activities/sends/aggregate-reports.ts';
import { findControlGroupFigures } from '../../../store/sends/control-group-days.ts';
import { write } from '../../../store/core/database.ts';
import { listEntitiesToCount } from '../../../store/sends/report-rollups-across-entities.ts';
import { ensurePartitions } from '../../../store/tracking/event-partitions.ts';
import { testStore, type TestStore } from '../../harness/core/database.ts';
import { lockWaits } from '../../harness/core/lock-waits.ts';
import { makeWorld, type World } from '../../harness/core/world.ts';
import { insertSampleApp } from '../../harness/apps/apps.ts';
import { sampledRuns } from '../../harness/run/seed.ts';
import { insertSampleCampaign, insertSampleDevice } from '../../harness/sends/campaigns.ts';

let store: TestStore;
const DAY_MS = 86_400_000;
const steps = () => ({ db: store.db, boundary() {} });

beforeAll(async () => {
  store = await testStore();
});

/** What attempts there are, counted at once. */
const RECOUNT = `SELECT campaign_id, date_trunc('day', created_at, 'UTC')::date AS day, coalesce(variant, '') AS variant, channel, code,
    count(*) AS attempts, count(delivered_at) AS delivered, count(opened_at) AS opened, count(shown_at) AS shown,
    count(clicked_at) AS clicked
  FROM attempts WHERE entity_id = $1 GROUP BY 1, 2, 3, 4, 5`;
const COUNTED = `SELECT campaign_id, day, variant, channel, code, attempts, delivered, opened, shown, clicked FROM campaign_days
  WHERE entity_id = $1`;
const inOrder = (rows: object[]) => rows.map((row) => JSON.stringify(row)).toSorted();

async function rowsOf(sql: string, { entity }: World): Promise<string[]> {
  return inOrder((await store.db.query<object>(sql, [entity.id])).rows);
}

type PersonCounts = { sent: number; opened: number; shown: number; clicked: number };

/** What happens to the oldest attempt that it has not happened to. */
const UPDATES: Record<string, { set: string; of: string }> = {
  open: { set: 'opened_at = now(), delivered_at = now()', of: 'opened_at IS NULL' },
  show: { set: 'shown_at = now()', of: 'shown_at IS NULL' },
  click: { set: 'clicked_at = now()', of: 'shown_at IS NOT NULL AND clicked_at IS NULL' },
  settle: { set: `code = 'UNKNOWN'`, of: `code = 'PENDING'` },
};

const change = fc.oneof(
  fc.record({
    what: fc.constant('add' as const),
    daysAgo: fc.integer({ min: 0, max: 3 }),
    code: fc.constantFrom('PUSH_SENT', 'OPT_OUT', 'PENDING', 'INAPP_AVAILABLE'),
    channel: fc.constantFrom('push', 'inapp', 'both'),
    variant: fc.constantFrom(null, 'a', 'b'),
  }),
  fc.record({ what: fc.constantFrom('open', 'show', 'click', 'settle', 'count', 'drop') }),
);

describe('the counts of a campaign', () => {
  it('equal a recount of its attempts, whatever happened in whatever order, and keep those that are dropped', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(change, { maxLength: 25 }), async (changes) => {
        const world = await makeWorld(store);
        const app = await insertSampleApp(store.db, world.entity.id, 'com.example.counts');
        const campaign = await insertSampleCampaign(store.db, world.entity.id, app.id);
        for (const made of changes) {
          if (made.what === 'add') {
            await store.db.query(
              `INSERT INTO attempts (entity_id, campaign_id, app_id, channel, variant, state, code, created_at, device_id, user_id,
               settled_at)
             VALUES ($1, $2, $3, $4, $5, 'settled', $6, $7, 'phone', 'ada', now())`,
              [
                world.entity.id,
                campaign.id,
                app.id,
                made.channel,
                made.variant,
                made.code,
                new Date(Date.now() - made.daysAgo * DAY_MS),
              ],
            );
          } else if (made.what in UPDATES) {
            const { set, of } = UPDATES[made.what]!;
            await store.db.query(
              `UPDATE attempts SET ${set}, changed_at = now()
             WHERE entity_id = $1 AND id = (SELECT min(id) FROM attempts WHERE entity_id = $1 AND ${of})`,
              [world.entity.id],
            );
          } else if (made.what === 'count') await countAttempts(steps(), world.entity.id);
          else await dropAttempts(steps(), world.entity.id, new Date());
        }
        await countAttempts(steps(), world.entity.id);
        const counted = await rowsOf(COUNTED, world);
        expect(counted).toEqual(await rowsOf(RECOUNT, world));
        const {
          rows: [before],
        } = await store.db.query<PersonCounts>(
          `SELECT count(*) FILTER (WHERE code = 'PUSH_SENT') AS sent, count(opened_at) AS opened, count(shown_at) AS shown,
           count(clicked_at) AS clicked
         FROM attempts WHERE entity_id = $1`,
          [world.entity.id],
        );
        await dropAttempts(steps(), world.entity.id, new Date(Date.now() + 31 * DAY_MS));
        expect(await rowsOf(COUNTED, world)).toEqual(counted);
        expect(await rowsOf(RECOUNT, world)).toEqual([]);
        const { rows: people } = await store.db.query<PersonCounts & { person: string }>(
          'SELECT person, sent, opened, shown, clicked FROM campaign_people WHERE entity_id = $1',
          [world.entity.id],
        );
        expect(people).toEqual(
          Object.values(before!).every((count) => count === 0) ? [] : [{ person: 'uada', ...before! }],
        );
      }),
      { numRuns: sampledRuns(25) },
    );
  });

  it('leave nothing of a request that ended long ago', async () => {
    const world = await makeWorld(store);
    const { rows: sends } = await store.db.query<{ id: number }>(
      `INSERT INTO sends (entity_id, identifier, message_count, state, ended_at)
       SELECT $1, 'snd_' || days, 1, 'failed', now() - make_interval(days => days) FROM unnest('{29,31}'::integer[]) days RETURNING id`,
      [world.entity.id],
    );
    for (const { id } of sends) {
      await store.db.query('INSERT INTO send_messages (entity_id, send_id, ordinal, user_id) VALUES ($1, $2, 0, $3)', [
        world.entity.id,
        id,
        'ada',
      ]);
    }
    await countAttempts(steps(), world.entity.id);
    await dropAttempts(steps(), world.entity.id, new Date());
    const { rows } = await store.db.query('SELECT send_id AS id FROM send_messages WHERE entity_id = $1', [
      world.entity.id,
    ]);
    expect(rows).toEqual([{ id: sends[0]!.id }]);
  });

  it('leave nothing of what a sensitive in-app message said once no device gets it any more', async () => {
    const world = await makeWorld(store);
    const app = await insertSampleApp(store.db, world.entity.id, 'com.example.sensitive');
    const insert = async (isSensitive: boolean, status: string, minutesLeft: number) => {
      const campaign = await insertSampleCampaign(store.db, world.entity.id, app.id, {
        includesInapp: true,
        isSensitive,
        status,
      });
      await store.db.query(
        `INSERT INTO attempts (entity_id, campaign_id, app_id, channel, state, code, settled_at, device_id, user_id, content, inapp_until,
           details)
         VALUES ($1, $2, $3, 'inapp', 'settled', 'INAPP_AVAILABLE', now(), 'phone', 'ada', '{"inapp": {}}',
           now() + make_interval(mins => $4), $5)`,
        [world.entity.id, campaign.id, app.id, minutesLeft, [isSensitive, status, minutesLeft].join(' ')],
      );
    };
    for (const isSensitive of [true, false]) {
      for (const status of ['ongoing', 'canceled'])
        for (const minutes of [-1, 5]) await insert(isSensitive, status, minutes);
    }
    await countAttempts(steps(), world.entity.id);
    const isListed = async () => (await listEntitiesToCount(store.db)).includes(world.entity.id);
    await store.db.query(
      `UPDATE report_rollups SET counted_until = now() - interval '31 seconds' WHERE entity_id = $1`,
      [world.entity.id],
    );
    await store.db.query(`UPDATE attempts SET changed_at = now() - interval '2 minutes' WHERE entity_id = $1`, [
      world.entity.id,
    ]);
    expect(await isListed()).toBe(true);
    await dropAttempts(steps(), world.entity.id, new Date());
    const { rows } = await store.db.query<{ details: string }>(
      'SELECT details FROM attempts WHERE entity_id = $1 AND content IS NULL ORDER BY details',
      [world.entity.id],
    );
    expect(rows.map(({ details }) => details)).toEqual(['true canceled -1', 'true canceled 5', 'true ongoing -1']);
    expect(await isListed()).toBe(false);
  });

  it('compare who opened the app of those who were held back with the others, until a week is over', async () => {
    const world = await makeWorld(store);
    const app = await insertSampleApp(store.db, world.entity.id, 'com.example.control');
    const campaign = await insertSampleCampaign(store.db, world.entity.id, app.id, { type: 'classic' });
    const [today, earlier] = [new Date(), new Date(Date.now() - 10 * DAY_MS)];
    await ensurePartitions(store.db, [today, earlier]);
    const attempt = (user: string | null, device: string, code: string, at = today) =>
      store.db.query(
        `INSERT INTO attempts (entity_id, campaign_id, app_id, channel, state, code, settled_at, user_id, device_id, created_at)
       VALUES ($1, $2, $3, 'push', 'settled', $4, $7, $5, $6, $7)`,
        [world.entity.id, campaign.id, app.id, code, user, device, at],
      );
    const open = (device: string, at: Date) =>
      store.db.query(
        `INSERT INTO sessions (entity_id, app_id, started_at, ended_at, timeout, subject, device_id) VALUES ($1, $2, $3, $3, 120, $4, $5)`,
        [world.entity.id, app.id, at, `d${device}`, device],
      );
    const after = (minutes: number, at = today) => new Date(at.getTime() + minutes * 60_000);
    for (const kind of ['phone', 'tablet']) await attempt('held', `${kind} of held`, 'CONTROL_GROUP');
    await attempt(null, 'nobody', 'CONTROL_GROUP');
    for (const user of ['ada', 'bob', 'carl'])
      await attempt(user, `phone of ${user}`, user === 'carl' ? 'OPT_OUT' : 'PUSH_SENT');
    await open('tablet of held', after(1));
    await open('nobody', after(-1));
    for (const user of ['ada', 'bob']) for (const minutes of [1, 2]) await open(`phone of ${user}`, after(minutes));
    const figures = async () => {
      await countAttempts(steps(), world.entity.id);
      return findControlGroupFigures(store.db, world.entity.id, campaign.id);
    };
    const first = { people: 2, devices: 3, openedApp: 1, targetedPeople: 3, targetedOpenedApp: 2 };
    expect(await figures()).toEqual(first);
    const dueDays = async (condition: string) =>
      (await store.db.query(`SELECT FROM control_group_days WHERE entity_id = $1 AND ${condition}`, [world.entity.id]))
        .rowCount;
    expect(await dueDays(`due_at BETWEEN now() AND now() + interval '6 hours'`)).toBe(1);
    // A week after the attempt is too late, and a week after the day it is over.
    await attempt('past', 'phone of past', 'CONTROL_GROUP', earlier);
    await attempt('far', 'phone of far', 'CONTROL_GROUP', earlier);
    await open('phone of past', after(6 * 1_440, earlier));
    await open('phone of far', after(7 * 1_440 + 1, earlier));
    expect(await figures()).toEqual({ ...first, people: 4, devices: 5, openedApp: 2 });
    expect(await dueDays('due_at IS NULL')).toBe(1);
    // Until it is counted again, a session changes nothing.
    await open('nobody', after(2));
    expect(await figures()).toMatchObject({ openedApp: 2 });
    await store.db.query('UPDATE control_group_days SET due_at = now() WHERE entity_id = $1 AND due_at IS NOT NULL', [
      world.entity.id,
    ]);
    await store.db.query(
      `UPDATE report_rollups SET counted_until = now() - interval '31 seconds' WHERE entity_id = $1`,
      [world.entity.id],
    );
    await store.db.query(`UPDATE attempts SET changed_at = now() - interval '2 minutes' WHERE entity_id = $1`, [
      world.entity.id,
    ]);
    expect(await listEntitiesToCount(store.db)).toContain(world.entity.id);
    expect(await figures()).toMatchObject({ openedApp: 3 });
    await store.db.query(
      `UPDATE report_rollups SET counted_until = now() - interval '31 seconds' WHERE entity_id = $1`,
      [world.entity.id],
    );
    expect(await listEntitiesToCount(store.db)).not.toContain(world.entity.id);
    await dropAttempts(steps(), world.entity.id, new Date(Date.now() + 31 * DAY_MS));
    expect(await figures()).toEqual({ ...first, people: 4, devices: 5, openedApp: 3 });
    expect(await dueDays('due_at IS NOT NULL')).toBe(0);
  });

  it('set when a device got its first and last message, also where it says something meanwhile', async () => {
    const world = await makeWorld(store);
    const app = await insertSampleApp(store.db, world.entity.id, 'com.example.received');
    const campaign = await insertSampleCampaign(store.db, world.entity.id, app.id);
    await insertSampleDevice(store.db, world.entity.id, app.id, 'phone', { userId: 'ada' });
    let counting = Promise.resolve();
    const times = ['2026-11-02T10:00:00Z', '2026-11-01T10:00:00Z', '2026-11-03T10:00:00Z'];
    for (const at of times) {
      await store.db.query(
        `INSERT INTO attempts (entity_id, campaign_id, app_id, channel, state, code, device_id, user_id, settled_at)
         VALUES ($1, $2, $3, 'push', 'settled', 'PUSH_SENT', 'phone', 'ada', $4)`,
        [world.entity.id, campaign.id, app.id, at],
      );
      await write(store.db, async (tx) => {
        await tx.query('UPDATE devices SET last_seen_at = now() WHERE entity_id = $1', [world.entity.id]);
        counting = countAttempts(steps(), world.entity.id);
        await lockWaits(store);
      });
      await counting;
    }
    const { rows } = await store.db.query<{ first: Date; last: Date }>(
      'SELECT first_campaign_received_at AS first, last_campaign_received_at AS last FROM devices WHERE entity_id = $1',
      [world.entity.id],
    );
    expect(rows).toEqual([{ first: new Date(times[1]!), last: new Date(times[2]!) }]);
  });
});
