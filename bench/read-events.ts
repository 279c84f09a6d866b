import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import pg from 'pg';
import { to as copyTo } from 'pg-copy-streams';
import { LIST_FIELDS, type ListField } from '../domain/analytics/usage-lists.ts';
import { DAY_MS } from '../domain/time/durations.ts';
import { isoUtc } from '../store/core/iso-time.ts';
import { EVENT_COLUMNS } from '../store/tracking/list-columns.ts';
import type { BenchContext, Line, Size } from './line.ts';
import { forgetPeak, peakMemoryMib } from './peak-memory.ts';
import { atLeast, atMost, atMostTimes, type Figure, median } from './report.ts';
import { call, type RunningService, untilNextLook } from './service.ts';
import { medians } from './timed.ts';
import { makeApp, type TrackedApp } from './tracked-app.ts';

const EVENTS: Record<Size, number> = { quick: 200_000, full: 5_000_000 };
/** Number of first events: those that are read page by page, and those of a sheet. */
const FOLLOWED: Record<Size, number> = { quick: 50_000, full: 1_000_000 };
const IN_SHEET: Record<Size, number> = { quick: 50_000, full: 500_000 };
const PER_PAGE = 1_000;
/** Timed pages of each kind, and the untimed ones before, which warm both sides up. */
const TURNS = { runs: 15, warmUps: 30 };
const MEMORY_MIB = 512;
const SINCE = Date.UTC(2026, 7);
const PERIOD_MS = 90 * DAY_MS;
/** Expressions of an event's members, in lists and files, the same as ours. */
const EXPRESSIONS: Record<ListField<'events'>, string> = {
  ...EVENT_COLUMNS,
  date_utc: isoUtc('r.happened_at'),
  detail: 'r.detail',
};
const COLUMNS = LIST_FIELDS.events.map((field) => `${EXPRESSIONS[field]} AS ${field}`).join(', ');

const made = new WeakMap<BenchContext, Promise<TrackedApp>>();

/** Returns the events of both lines, made once: of one app, over 90 days. */
function eventsOf(context: BenchContext): Promise<TrackedApp> {
  const app = made.get(context) ?? fill(context);
  made.set(context, app);
  return app;
}

async function fill(context: BenchContext): Promise<TrackedApp> {
  const service = await context.service();
  return withClient(context, async (client) => {
    const app = await makeApp(
      client,
      context,
      service,
      [0, 1, 2, 3].map((quarter) => SINCE + (quarter * PERIOD_MS) / 3),
    );
    await insertEvents(client, app, EVENTS[context.size]);
    return app;
  });
}

async function insertEvents(client: pg.Client, { entityId, id }: TrackedApp, events: number): Promise<void> {
  await client.query('TRUNCATE events, tracked_counts');
  await client.query(
    `INSERT INTO events (entity_id, app_id, happened_at, session_id, log_type, utc_offset, device_id, user_id, name, detail)
     SELECT $1, $2, timestamptz 'epoch' + interval '1 ms' * ($3::bigint + n * $4::bigint / ${events}), n / 5, 2, 60,
       'device-' || lpad((n % 5000 * 7919::bigint % 1000003)::text, 12, '0'),
       CASE n % 2 WHEN 0 THEN 'user-' || lpad((n % 5000 * 7919::bigint % 1000003)::text, 12, '0') END,
       'Product ' || (ARRAY['Viewed', 'Added', 'Removed', 'Shared'])[1 + n % 4],
       jsonb_build_object('product_id', 'p-' || n % 977, 'price', n % 100 + 0.5, 'currency', 'EUR', 'in_stock', true)
     FROM generate_series(0::bigint, ${events - 1}) n`,
    [entityId, id, SINCE, PERIOD_MS],
  );
  await client.query(
    `INSERT INTO tracked_counts (entity_id, app_id, day, events)
     SELECT entity_id, app_id, (happened_at AT TIME ZONE 'UTC')::date, count(*) FROM events GROUP BY 1, 2, 3`,
  );
  await client.query('VACUUM (ANALYZE) events');
  await client.query('VACUUM (ANALYZE) tracked_counts');
  await client.query('CHECKPOINT');
}

async function withClient<T>(context: BenchContext, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: await context.databaseUrl() });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

/** Returns the time just before the event after the first `events`. */
const untilAfter = (context: BenchContext, events: number): string =>
  new Date(SINCE + Math.floor((events * PERIOD_MS) / EVENTS[context.size]) - 1).toISOString();

const amount = (count: number) => count.toLocaleString('en');
const pageTitle = (size: Size) => `a page of ${amount(PER_PAGE)} events of ${amount(EVENTS[size])}, with its total`;
const lastPageTitle = (size: Size) =>
  `following next, the last page of ${amount(FOLLOWED[size])} events against the first`;

/**
 * A page of events with its total, against the same SQL through pg and JSON.stringify; and the last page against the
 * first.
 */
export const eventPages: Line = {
  key: 'pages',
  titles: (size) => [pageTitle(size), lastPageTitle(size)],
  async *measure(context) {
    const [service, app] = [await context.service(), await eventsOf(context)];
    const first = `/api/apps/${app.identifier}/events?per_page=${PER_PAGE}`;
    const [ours, bare] = await withClient(context, async (client) => {
      compare(await page(service, first), await barePage(client, app));
      return medians(
        () => page(service, first),
        () => barePage(client, app),
        TURNS,
      );
    });
    yield atMostTimes(pageTitle(context.size), ours, bare, 1.3);
    const followed = `${first}&until_date=${untilAfter(context, FOLLOWED[context.size])}`;
    const last = await lastPage(service, followed, FOLLOWED[context.size]);
    const [near, far] = await medians(
      () => page(service, followed),
      () => page(service, last),
      TURNS,
    );
    yield atMostTimes(lastPageTitle(context.size), far, near, 1.5);
  },
};

type Page = { total_items: number; item_count: number; navigation: { next: string | null } };

/** Returns a page as text. */
async function page({ url, token }: RunningService, path: string): Promise<string> {
  const reply = await fetch(url + path, { headers: { authorization: `Token ${token}` } });
  const text = await reply.text();
  if (!reply.ok || !/"name" ?: ?"Product /.test(text.slice(0, 1_000)))
    throw new Error(`${path}: ${text.slice(0, 200)}`);
  return text;
}

/** Returns a page without its items. */
function summaryOf(text: string): Page {
  return JSON.parse(`{${text.slice(text.lastIndexOf('"item_count":'), text.lastIndexOf('}}') + 1)}`) as Page;
}

async function lastPage(service: RunningService, first: string, events: number): Promise<string> {
  let [last, seen] = [first, 0];
  for (let path: string | undefined = first; path !== undefined;) {
    const { navigation, item_count: count, total_items: total } = summaryOf(await page(service, path));
    if (total !== events) throw new Error(`a page tells of ${total} events`);
    [last, seen] = [path, seen + count];
    path = navigation.next?.replace(/^https?:\/\/[^/]+/, '');
  }
  if (seen !== events) throw new Error(`the pages had ${seen} events`);
  return last;
}

/** Throws unless both sides say the same. */
function compare(ours: string, bare: string): void {
  const {
    result: { items, total_items: total },
  } = JSON.parse(ours) as { result: { items: object[]; total_items: number } };
  if (!isDeepStrictEqual({ total, items }, JSON.parse(bare)))
    throw new Error('the page is not what the bare statements give');
}

/**
 * Reads a page as hand-written code would, with the stored counts: the total, and the page with one more row, which
 * shows that there is a next one.
 */
async function barePage(client: pg.Client, { entityId, id }: TrackedApp): Promise<string> {
  const {
    rows: [total],
  } = await client.query(
    'SELECT sum(events)::integer AS total FROM tracked_counts WHERE entity_id = $1 AND app_id = $2',
    [entityId, id],
  );
  const { rows } = await client.query(
    `SELECT ${COLUMNS} FROM events r WHERE entity_id = $1 AND app_id = $2 ORDER BY happened_at, id LIMIT ${PER_PAGE + 1}`,
    [entityId, id],
  );
  return JSON.stringify({ ...total, items: rows.slice(0, PER_PAGE) });
}

const csvTitle = (size: Size) => `a CSV file of ${amount(EVENTS[size])} events`;
const xlsTitle = (size: Size) => `an XLS file of ${amount(IN_SHEET[size])} events against their CSV file`;
const memoryOf = (title: string) => `${title}, peak memory of server and worker`;

/**
 * Files of events, from the claim of the job to its end, against COPY of the same columns into a file; an XLS file
 * against a CSV file.
 */
export const eventFiles: Line = {
  key: 'files',
  titles: (size) => [csvTitle(size), memoryOf(csvTitle(size)), xlsTitle(size), memoryOf(xlsTitle(size))],
  async *measure(context) {
    const { size } = context;
    const [service, app] = [await context.service(), await eventsOf(context)];
    const build = (format: string, until = '') =>
      withClient(context, (client) => rowsPerSecond(service, client, app, format, until));
    const file = join(context.folder, 'bare-events.csv');
    const copy = () => withClient(context, (client) => bareRowsPerSecond(client, app, file, EVENTS[size]));
    yield* withPeak(memoryOf(csvTitle(size)), service, () =>
      runsOf(context, async () => atLeast(csvTitle(size), 'rows/s', await build('csv'), await copy(), 0.3)),
    );
    const until = `&until_date=${untilAfter(context, IN_SHEET[size])}`;
    yield* withPeak(memoryOf(xlsTitle(size)), service, () =>
      runsOf(context, async () =>
        atLeast(xlsTitle(size), 'rows/s', await build('xls', until), await build('csv', until), 0.3),
      ),
    );
    await withClient(context, (client) => client.query('TRUNCATE events, tracked_counts'));
  },
};

async function runsOf({ rounds }: BenchContext, run: () => Promise<Figure>): Promise<Figure> {
  const runs: Figure[] = [];
  for (let round = 0; round < rounds; round += 1) runs.push(await run());
  return median(runs);
}

/** Yields the figure, and on Linux the peak memory of the service. */
async function* withPeak(title: string, { pid }: RunningService, work: () => Promise<Figure>): AsyncIterable<Figure> {
  forgetPeak(pid);
  yield await work();
  const peakMib = peakMemoryMib(pid);
  if (peakMib !== null) yield atMost(title, 'MiB', peakMib, MEMORY_MIB);
}

async function rowsPerSecond(
  { url, token }: RunningService,
  client: pg.Client,
  { identifier }: TrackedApp,
  format: string,
  until: string,
): Promise<number> {
  const path = `/api/apps/${identifier}/events_export.${format}?skip_email=true${until}`;
  const { callback } = await call<{ callback: string }>(url, token, 'GET', path);
  for (const began = performance.now(); ; await delay(untilNextLook(began))) {
    const reply = await fetch(callback.replace(/^https?:\/\/[^/]+/, url));
    await reply.body?.cancel();
    if (reply.status === 200) break;
    if (reply.status !== 202) throw new Error(`a file of events: ${reply.status}`);
  }
  const {
    rows: [job],
  } = await client.query<{ rate: string }>(
    `SELECT rows_written / extract(epoch FROM ended_at - started_at) AS rate FROM file_jobs ORDER BY id DESC LIMIT 1`,
  );
  return Number(job!.rate);
}

async function bareRowsPerSecond(
  client: pg.Client,
  { entityId, id }: TrackedApp,
  file: string,
  events: number,
): Promise<number> {
  const began = performance.now();
  await pipeline(
    client.query(
      copyTo(
        `COPY (SELECT ${COLUMNS} FROM events r WHERE entity_id = ${entityId} AND app_id = ${id} ORDER BY happened_at, id)
     TO STDOUT (FORMAT csv)`,
      ),
    ),
    createWriteStream(file),
  );
  return events / ((performance.now() - began) / 1000);
}
