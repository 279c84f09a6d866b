import pg from 'pg';
import type { BenchContext, Line, Size } from './line.ts';
import { atMost, atMostTimes, type Figure, median } from './report.ts';
import { call, type RunningService } from './service.ts';
import { timed } from './timed.ts';
import { deleteTracked, insertDeviceUsers, makeTrackedApp, type TrackedApp } from './tracked-app.ts';

const PEOPLE: Record<Size, number> = { quick: 20_000, full: 1_000_000 };
const EVENTS_OF_A_PERSON = 10;
const FROM = '2026-06-01';
const TILL = '2026-06-30';
const VIEWED = 'Product Viewed';
const ORDERED = 'Order Completed';
const COUNTRIES = ['FR', 'US'];

const PERIOD = { from: FROM, till: TILL };
const FILTERS = {
  blocks: [
    {
      filters: [
        { filter_on: 'events', log_name: VIEWED, count: 2, period: PERIOD },
        { filter_on: 'devices', field: 'country_code', operator: 'is', values: COUNTRIES },
        { filter_on: 'events', log_name: ORDERED, operator: 'exactly', count: 0, period: PERIOD },
      ],
    },
  ],
};

const titleOf = (size: Size) => {
  const [people, events] = [PEOPLE[size], PEOPLE[size] * EVENTS_OF_A_PERSON].map((count) => count.toLocaleString('en'));
  return `segment preview over ${people} people with ${events} events`;
};

const fastTitleOf = (size: Size) => `fast ${titleOf(size)}, with who is left after each filter`;
/** A person waits no longer while typing. */
const FAST_SECONDS = 1.5;

type Counts = { people: number; reach: number; total: number };

/**
 * Who viewed a product twice, ordered nothing, and is from two countries: by a preview, and by a statement written by
 * hand.
 */
export const segment: Line = {
  key: 'segment',
  titles: (size) => [titleOf(size), fastTitleOf(size)],
  async *measure(context) {
    const service = await context.service();
    const client = new pg.Client({ connectionString: await context.databaseUrl() });
    await client.connect();
    try {
      const app = await fill(client, context, service);
      const runs: Figure[] = [];
      const fastRuns: Figure[] = [];
      for (let round = 0; round < context.rounds; round += 1) {
        const [bareSeconds, expected] = await timed(() => byHand(client, app));
        const [seconds, found] = await timed(() => byPreview(service, app));
        if (JSON.stringify(found) !== JSON.stringify(expected)) {
          throw new Error(`the preview counts ${JSON.stringify(found)}, by hand ${JSON.stringify(expected)}`);
        }
        runs.push(atMostTimes(titleOf(context.size), seconds, bareSeconds, 1.3));
        fastRuns.push(await byFastPreview(service, app, found.people, context.size));
      }
      yield median(runs);
      yield median(fastRuns);
    } finally {
      await deleteTracked(client);
      await client.end();
    }
  },
};

/** A device and a user each; a tenth of the events names no user. */
async function fill(client: pg.Client, context: BenchContext, service: RunningService): Promise<TrackedApp> {
  const app = await makeTrackedApp(client, context, service, { from: FROM, eventNames: [VIEWED, ORDERED] });
  const { id, entityId } = app;
  const people = PEOPLE[context.size];
  const events = people * EVENTS_OF_A_PERSON;
  await client.query(
    `INSERT INTO events (entity_id, app_id, happened_at, log_type, device_id, user_id, name)
     SELECT $1, $2, timestamptz '${FROM}' + n * interval '30 days' / ${events}, 2, 'device-' || lpad(person::text, 9, '0'),
       CASE WHEN n % 10 > 0 THEN 'user-' || lpad(person::text, 9, '0') END,
       CASE WHEN kind < 25 THEN $3 WHEN kind < 30 THEN $4 ELSE 'Screen ' || kind END
     FROM (SELECT n, (hashint8(n) & 2147483647) % ${people} AS person, (hashint8(n + 1000000000) & 2147483647) % 100 AS kind
       FROM generate_series(0, ${events - 1}) n) AS sent`,
    [entityId, id, VIEWED, ORDERED],
  );
  await insertDeviceUsers(client, app, people);
  await client.query(
    `INSERT INTO devices (entity_id, app_id, device_id, last_user_id, country, opt_in, push_token, first_seen_at, last_seen_at)
     SELECT $1, $2, 'device-' || lpad(person::text, 9, '0'), 'user-' || lpad(person::text, 9, '0'),
       (ARRAY['FR', 'US', 'DE', 'GB', 'ES', 'IT'])[1 + person % 6], person % 2 = 0, 'token', now(), now()
     FROM generate_series(0, ${people - 1}) person`,
    [entityId, id],
  );
  for (const table of ['events', 'device_users', 'devices']) await client.query(`VACUUM (ANALYZE) ${table}`);
  await client.query('CHECKPOINT');
  return app;
}

/** As somebody would write it who knows that here each user has one device, which is no person of its own. */
async function byHand(client: pg.Client, { id, entityId }: TrackedApp): Promise<Counts> {
  const having = (name: string, condition = '') => `SELECT coalesce(e.user_id, o.user_id) AS user_id FROM events e
    LEFT JOIN only_users o ON e.user_id IS NULL AND o.device_id = e.device_id
    WHERE e.entity_id = $1 AND e.app_id = $2 AND e.name = ${name}
      AND e.happened_at >= timestamptz '${FROM}' AND e.happened_at < timestamptz '${TILL}' + interval '1 day'
    GROUP BY 1 ${condition}`;
  await client.query(`SET work_mem = '64MB'`);
  const {
    rows: [counted],
  } = await client.query<{ people: string; reach: string; total: string }>(
    `WITH only_users AS MATERIALIZED (
       SELECT device_id, min(user_id) AS user_id FROM device_users WHERE entity_id = $1 AND app_id = $2
       GROUP BY device_id HAVING count(*) = 1),
     people AS MATERIALIZED (SELECT DISTINCT user_id FROM device_users WHERE entity_id = $1 AND app_id = $2),
     matched AS MATERIALIZED (
       SELECT p.user_id FROM people p
       WHERE p.user_id IN (${having('$3', 'HAVING count(*) >= 2')})
         AND p.user_id IN (SELECT last_user_id FROM devices WHERE entity_id = $1 AND app_id = $2 AND country = ANY ($5))
         AND NOT EXISTS (SELECT FROM (${having('$4')}) x WHERE x.user_id = p.user_id))
     SELECT (SELECT count(*) FROM matched) AS people, count(m.user_id) AS reach, count(*) AS total,
       count(DISTINCT m.user_id) FILTER (WHERE d.opt_in AND d.push_token IS NOT NULL) AS push, (SELECT count(*) FROM people) AS everybody
     FROM devices d LEFT JOIN matched m ON m.user_id = d.last_user_id
     WHERE d.entity_id = $1 AND d.app_id = $2 AND d.uninstalled IS NOT TRUE`,
    [entityId, id, VIEWED, ORDERED, COUNTRIES],
  );
  return { people: Number(counted!.people), reach: Number(counted!.reach), total: Number(counted!.total) };
}

/** Fails if the exact number is farther than twice the margin, which holds in 95 % of cases. */
async function byFastPreview(
  { url, token }: RunningService,
  app: TrackedApp,
  exact: number,
  size: Size,
): Promise<Figure> {
  type Answer = { preview: { people_number: number }; sample: { margin: number } };
  const body = { app: app.identifier, filters: FILTERS, fast: true, left: true };
  const [seconds, { preview, sample }] = await timed(() =>
    call<Answer>(url, token, 'POST', '/api/segments/preview', body),
  );
  const off = Math.abs(preview.people_number - exact);
  if (off > 2 * sample.margin) throw new Error(`the fast preview is off by ${off}, and says ± ${sample.margin}`);
  return atMost(fastTitleOf(size), 's', seconds, FAST_SECONDS);
}

async function byPreview({ url, token }: RunningService, { identifier: app }: TrackedApp): Promise<Counts> {
  type Answer = { preview: { people_number: number }; reach: { count: number; total: number } };
  const { preview, reach } = await call<Answer>(url, token, 'POST', '/api/segments/preview', {
    app,
    filters: FILTERS,
  });
  return { people: preview.people_number, reach: reach.count, total: reach.total };
}
