import { parse } from 'csv-parse/sync';
import { beforeAll, describe, expect, it } from 'vitest';
import { read, utils } from 'xlsx';
import { mergeAttributeValues, prepareChanges } from '../../../store/attributes/merge-attribute-values.ts';
import { write } from '../../../store/core/database.ts';
import { ensurePartitions } from '../../../store/tracking/event-partitions.ts';
import { insertSampleSegment } from '../../harness/analytics/segments.ts';
import { insertSampleApp } from '../../harness/apps/apps.ts';
import { fetchFile } from '../../harness/core/fetch-file.ts';
import { smtpServer } from '../../harness/core/smtp.ts';
import { useStack } from '../../harness/core/stack.ts';
import { waitFor } from '../../harness/core/wait.ts';
import { makeWorld, type World } from '../../harness/core/world.ts';
import { sampleActivity } from '../../harness/tracking/sdk-samples.ts';

const stack = useStack({ impatient: true });
let smtp: Awaited<ReturnType<typeof smtpServer>>;
let world: World;
let app: { id: number; identifier: string };
/** Of the app: the first and the last user. */
const segments: { identifier: string }[] = [];
/** The same file, asked for twice before any worker is there. */
const links: string[] = [];
/** What its link answered then. */
let early: Awaited<ReturnType<typeof get>>;

beforeAll(async () => {
  const {
    store: { db },
  } = stack;
  smtp = await smtpServer();
  world = await makeWorld(stack.store);
  app = await insertSampleApp(db, world.entity.id, 'com.example.files');
  const at = new Date('2026-11-05T10:00:00Z');
  await ensurePartitions(db, [at]);
  for (const nth of [1, 2, 3]) {
    await sampleActivity(db, world.entity.id, {
      appId: app.id,
      at,
      deviceId: `téléphone;"${nth}"`,
      userId: `=user-${nth}`,
    });
  }
  for (const people of [['u=user-1', 'u=user-3'], ['u=user-1']]) {
    segments.push(await insertSampleSegment(db, world.entity.id, { appId: app.id, people }));
  }
  await db.query(
    `INSERT INTO events (entity_id, app_id, happened_at, session_id, user_id, log_type, name, detail, utc_offset)
     SELECT $1, $2, $3::timestamptz + n * interval '1 second', 7, 'busy', 2, 'Tapped',
       CASE n % 3 WHEN 0 THEN '{"price": 12345678901234567890.10, "note": "a\\nb"}' WHEN 1 THEN '"plain, text"' END::jsonb, 60
     FROM generate_series(1, 2500) n`,
    [world.entity.id, app.id, at],
  );
  for (let time = 0; time < 2; time += 1)
    links.push(await callbackOf(`apps/${app.identifier}/events_export.csv?names=Tapped`));
  early = await get(links[0]!);
  stack.startWorker({ smtpUrl: `smtp://127.0.0.1:${smtp.port}` });
});

const get = async (path: string) => {
  const url = path.startsWith('http') ? path.replace(/^https?:\/\/[^/]+/, '') : `/api/${path}`;
  const reply = await stack.app.inject({ method: 'GET', url, headers: { authorization: `Token ${world.token}` } });
  return { status: reply.statusCode, body: reply.json<{ result: never; error_message: string }>() };
};
const callbackOf = async (path: string) =>
  ((await get(`${path}${path.includes('?') ? '&' : '?'}skip_email=true`)).body.result as { callback: string }).callback;
const fileAt = async (path: string) => fetchFile(stack.app, await callbackOf(path));
const fileOf = (path: string) => fileAt(`apps/${app.identifier}/${path}`);
const csvOf = async (path: string) => parse(await fileOf(path), { columns: true }) as Record<string, string>[];

/** A value of the JSON result as a CSV file has it. */
function asText(value: unknown): string {
  if (value === null || value === undefined) return '';
  if (Array.isArray(value))
    return value.map((element: Record<string, string>) => element.user_id ?? element.segment_id).join(';');
  return typeof value === 'string' ? value : JSON.stringify(value);
}

describe('a file', () => {
  const LISTS = ['events', 'sessions', 'devices', 'locations', 'devices of a segment'];
  it.for(LISTS)('of %s has what the JSON result has, whole', async (list) => {
    const path =
      list === 'devices of a segment'
        ? `segments/${segments[0]!.identifier}/devices`
        : `apps/${app.identifier}/${list}`;
    const { items } = (await get(`${path}?per_page=10000`)).body.result as { items: Record<string, unknown>[] };
    const rows = parse(await fileAt(`${path}_export.csv`), { columns: true }) as Record<string, string>[];
    expect(Object.keys(rows[0]!)).toEqual(Object.keys(items[0]!));
    const shown = (row: Record<string, unknown>) =>
      Object.fromEntries(
        Object.entries(row)
          // What Postgres writes has a space after each colon; digits are compared by the text below.
          .filter(([key]) => key !== 'detail')
          .map(([key, value]) => [key, asText(value)]),
      );
    expect(rows.map(shown)).toEqual(items.map(shown));
  });

  it("of devices has the ids of their segments, and those of a segment's people alone", async () => {
    const [both, first] = segments.map(({ identifier }) => identifier);
    const shown = async (query: string) =>
      (await csvOf(`devices_export.csv?${query}`)).map(({ current_user_id: user, segments: ids }) => [user, ids]);
    const all = [
      ['=user-1', `${both};${first}`],
      ['=user-3', both],
    ];
    expect(await shown('fields=current_user_id,segments:name')).toEqual([all[0], ['=user-2', ''], all[1]]);
    expect(await shown(`segment_ids=${both}`)).toEqual(all);
    expect([
      await csvOf('devices_export.csv?updated_since=2100-01-01'),
      await csvOf('events_export.csv?since_date=2100-01-01'),
    ]).toEqual([[], []]);
    const events = await csvOf(
      `events_export.csv?segment_ids=${first}&fields=user_id&group=true&until_date=2026-11-06`,
    );
    expect(events).toEqual([{ user_id: '=user-1', count: '1' }]);
  });

  it('keeps all digits of a detail, and a text as it is', async () => {
    const rows = await csvOf('events_export.csv?names=Tapped&fields=detail,name');
    expect(rows).toHaveLength(2_500);
    expect(rows.slice(0, 3).map(({ detail }) => detail)).toEqual([
      'plain, text',
      '',
      '{"note": "a\\nb", "price": 12345678901234567890.10}',
    ]);
  });

  it('of profiles has semicolons between its columns', async () => {
    const {
      store: { db, secrets },
    } = stack;
    const {
      entity,
      sor,
      attributes: { plan },
    } = world;
    const value = {
      kind: 'value',
      line: 1,
      valueType: 'String',
      customerType: 'user_id',
      customerId: '=user-1',
      value: 'a;b',
    } as const;
    await write(db, (tx) =>
      mergeAttributeValues(tx, secrets, entity.id, sor.id, prepareChanges([{ ...value, attributeId: plan!.id }])),
    );
    expect(String(await fileAt('customer_profiles/export.csv'))).toBe(
      'system_of_record_identifier;customer_attribute_identifier;customer_attribute_key;customer_attribute_value;customer_id_type;' +
        `customer_id\r\n${sor.identifier};${plan!.identifier};plan;"a;b";user_id;=user-1\r\n`,
    );
  });

  it('counts combinations where they are asked for', async () => {
    const rows = await csvOf('events_export.csv?group=true&fields=name&until_date=2026-11-06');
    expect(rows).toEqual([
      { name: 'Application Crashed', count: '3' },
      { name: 'Tapped', count: '2500' },
    ]);
  });

  it('keeps the digits of a detail in a workbook of groups', async () => {
    const book = read(await fileOf('events_export.xlsx?group=true&fields=detail&names=Tapped&until_date=2026-11-06'));
    const rows = utils.sheet_to_json<{ detail?: string; count: number }>(book.Sheets[book.SheetNames[0]!]!);
    expect(rows.map(({ detail, count }) => [detail, count])).toEqual(
      expect.arrayContaining([
        ['{"note": "a\\nb", "price": 12345678901234567890.10}', 833],
        ['plain, text', 834],
        [undefined, 833],
      ]),
    );
  });

  it('is an XLS workbook by default, in which no text is a formula', async () => {
    const [compoundFile, zip] = ['d0cf11e0', '504b0304'];
    for (const [path, begins] of [
      ['devices_export', compoundFile],
      ['devices_export.xls', compoundFile],
      ['devices_export.xlsx', zip],
    ]) {
      const file = await fileOf(`${path}?fields=current_user_id,number_of_sessions`);
      expect(file.toString('hex', 0, 4)).toBe(begins);
      const book = read(file);
      const sheet = book.Sheets[book.SheetNames[0]!]!;
      expect(sheet.C2).toMatchObject({ t: 's', v: '=user-1' });
      expect(sheet.D2).toMatchObject({ t: 'n', v: 0 });
      expect(utils.sheet_to_json(sheet)).toHaveLength(3);
    }
  });

  it('goes by mail as a link, to whoever asked for it', async () => {
    const { body } = await get(`apps/${app.identifier}/sessions_export.csv`);
    expect(body.result).toBe(`The report is being generated and will be sent to ${world.user.email}`);
    const { to, mail } = await waitFor('the mail', async () => smtp.received[0] ?? null);
    expect([to, mail.headers.subject]).toEqual([[world.user.email], 'sessions.csv is ready: 3 rows']);
    const [link] = /http\S+/.exec(mail.text)!;
    expect(String(await fetchFile(stack.app, link))).toMatch(/^session_id,application_id,/);
  });

  it('has a link that nobody can guess, and that ends after a week', async () => {
    const link = await callbackOf(`apps/${app.identifier}/locations_export.csv`);
    await fetchFile(stack.app, link);
    for (const wrong of [link.slice(0, -2), link.replace(/\?token=.*/, ''), link.replace('fil_', 'fil_x')]) {
      expect(await get(wrong)).toMatchObject({ status: 400, body: { success: false, status: 'bad_request' } });
    }
    await stack.store.db.query(`UPDATE file_jobs SET first_ended_at = now() - interval '7 days'
      WHERE kind = 'locations' AND state = 'finished'`);
    expect(await get(link)).toMatchObject({
      status: 400,
      body: { error_message: expect.stringContaining('kept for 7 days') as string },
    });
    await waitFor(
      'the sweep',
      async () =>
        (await stack.store.db.query(`SELECT FROM file_jobs WHERE first_ended_at < now() - interval '6 days'`))
          .rowCount === 0,
    );
  });

  it('says why it failed, and where else it may be had', async () => {
    await stack.store.db.query(
      `INSERT INTO events (entity_id, app_id, happened_at, user_id, log_type, name, detail)
       VALUES ($1, $2, '2026-11-06', 'u', 2, 'Long', to_jsonb(repeat('x', 40000)))`,
      [world.entity.id, app.id],
    );
    const link = await callbackOf(`apps/${app.identifier}/events_export?names=Long`);
    const answer = await waitFor('the failure', async () => {
      const reply = await get(link);
      return reply.status === 202 ? null : reply;
    });
    expect(answer).toMatchObject({ status: 400, body: { error_message: expect.stringContaining('.csv') as string } });
  });

  it('is the same one while it is under way, and another one later', async () => {
    const [first, second] = links;
    expect(second).toBe(first);
    const result = { state: 'accepted', stage: null, rows_written: 0, internal_error: null };
    expect(early).toEqual({ status: 202, body: { success: true, result } });
    await fetchFile(stack.app, first!);
    expect(await callbackOf(`apps/${app.identifier}/events_export.csv?names=Tapped`)).not.toBe(first);
  });

  it('refuses what the list refuses, and an unknown format', async () => {
    const answer = (file: string) => get(`apps/${app.identifier}/${file}`);
    expect(await answer('events_export.csv?since_date=soon')).toMatchObject({
      body: { error_message: 'Wrong date format' },
    });
    expect(await answer('events_export.csv?fields=nam')).toMatchObject({ status: 400 });
    expect(await answer('events_export.pdf')).toMatchObject({
      status: 400,
      body: { messages: [{ element: 'format' }] },
    });
    expect(await get('apps/app_other/devices_export.csv')).toMatchObject({
      status: 404,
      body: { error_message: "Couldn't find App" },
    });
    expect(await get('segments/seg_none/devices_export')).toMatchObject({
      status: 404,
      body: { error_message: "Couldn't find Segment" },
    });
  });
});
