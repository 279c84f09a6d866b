import { beforeAll, expect, it } from 'vitest';
import { completeCsv, writeCsv } from '../../../activities/files/build-file.ts';
import { LIST_FIELDS, type UsageListName } from '../../../domain/analytics/usage-lists.ts';
import { deleteSegment } from '../../../store/analytics/segments.ts';
import { fileSources } from '../../../store/files/file-sources.ts';
import type { UsageFileQuery } from '../../../store/files/file-sources/usage-lists.ts';
import { ensurePartitions } from '../../../store/tracking/event-partitions.ts';
import { insertSampleSegment } from '../../harness/analytics/segments.ts';
import { testStore, type TestStore } from '../../harness/core/database.ts';
import { makeWorld } from '../../harness/core/world.ts';
import { sampleActivity, sampleApp } from '../../harness/tracking/sdk-samples.ts';

const AT = new Date('2026-11-05T10:00:00.123456Z');
const ODD = [
  '',
  ' ',
  '"',
  '""',
  ',',
  '\r',
  '\n',
  'a\r\nb',
  ';',
  '\\',
  '\\.',
  '\\N',
  '{a,"b"}',
  '$1',
  'NULL',
  '=1+1',
  'é\u{1f600}',
  "it's",
];

let store: TestStore;
let entityId: number;
let appId: number;
let segment: number;

beforeAll(async () => {
  store = await testStore();
  const { db } = store;
  entityId = (await makeWorld(store)).entity.id;
  await ensurePartitions(db, [AT]);
  appId = await sampleApp(db, entityId);
  for (const id of ODD) await sampleActivity(db, entityId, { appId, at: AT, deviceId: `d${id}`, userId: `u${id}` });
  const people = ODD.map((id) => `uu${id}`);
  segment = (await insertSampleSegment(db, entityId, { appId, people })).id;
  await insertSampleSegment(db, entityId, { appId, people: people.slice(0, 1) });
  await db.query(
    `INSERT INTO events (entity_id, app_id, happened_at, log_type, name, device_id, user_id, utc_offset, detail)
     SELECT $1, $2, $3::timestamptz + n * interval '1 ms', 2, name, 'd' || name,
       CASE n % 2 WHEN 0 THEN 'u' || name END, n * 60 - 240, detail
     FROM unnest($4::text[]) WITH ORDINALITY named (name, n),
       LATERAL (VALUES (NULL), (to_jsonb(name)), (jsonb_build_object(name, 1e30, 'in', 1.10)), ('[true, null]'), ('false')) made (detail)`,
    [entityId, appId, AT, ODD],
  );
  const degrees = [0, -0, 1e-7, -1.5e-7, 5e-324, 1e-6, -1e-6, 1.5e-6, 1e-5, 0.1 + 0.2, -89.99999999999999, 180];
  await db.query(
    `INSERT INTO locations (entity_id, app_id, happened_at, latitude, longitude) SELECT $1, $2, $3, d, -d FROM unnest($4::float8[]) d`,
    [entityId, appId, AT, degrees],
  );
  await db.query(
    `UPDATE devices SET last_latitude = d, last_longitude = -d, last_city = nullif(substr(device_id, 2), ' '), opt_in = n % 2 = 0, lang = ''
     FROM unnest($1::float8[]) WITH ORDINALITY made (d, n) WHERE devices.device_id = 'd' || ($2::text[])[n]`,
    [degrees, ODD],
  );
});

async function both(
  list: UsageListName,
  query: UsageFileQuery,
): Promise<{ written: string; copied: string; rows: number }> {
  const source = fileSources[list];
  const columns = source.columnsOf!(query);
  let rows = 0;
  async function* counted(pieces: ReturnType<NonNullable<typeof source.csv>>) {
    for await (const piece of pieces) {
      rows += piece.rows;
      yield piece;
    }
  }
  const text = async (bytes: AsyncIterable<Uint8Array>) => String(Buffer.concat(await Array.fromAsync(bytes)));
  return {
    written: await text(writeCsv()(columns, source.rows(store.db, entityId, query))),
    copied: await text(completeCsv(columns, counted(source.csv!(store.db, entityId, query)))),
    rows,
  };
}

const everything = (): UsageFileQuery['filter'] => ({ appIds: [appId], oneOf: {} });
const LISTS = Object.keys(LIST_FIELDS) as UsageListName[];

it.for(LISTS)('a CSV file of %s that Postgres writes is byte for byte the one of its rows', async (list) => {
  const filter = { ...everything(), ...(list === 'segment_devices' ? { segments: [segment] } : {}) };
  for (const fields of [LIST_FIELDS[list], LIST_FIELDS[list].slice(0, 3)]) {
    const { written, copied, rows } = await both(list, { filter, fields: [...fields], isGrouped: false });
    expect(copied).toBe(written);
    expect(rows).toBeGreaterThanOrEqual(ODD.length);
  }
});

it.for(['name', 'detail', 'user_id', 'none'])('so is one of events grouped by %s', async (field) => {
  const fields = field === 'none' ? [] : [field, 'log_type'];
  const { written, copied, rows } = await both('events', { filter: everything(), fields, isGrouped: true });
  expect(copied).toBe(written);
  expect(rows).toBe(copied.split('\r\n').length - 2 - (field === 'none' ? 0 : quotedLineEnds(copied)));
});

const quotedLineEnds = (csv: string): number =>
  csv
    .split('"')
    .filter((_, at) => at % 2 === 1)
    .join('')
    .split('\r\n').length - 1;

it('so is one of each filter, whatever its values hold', async () => {
  const since = AT.toISOString();
  const earlier = ODD.map((id) => ({ appId, id: `d${id}` }));
  const filters: UsageFileQuery['filter'][] = [
    { appIds: null, oneOf: {} },
    { appIds: [], oneOf: {} },
    { appIds: [appId, appId + 1], oneOf: { name: ODD, device_id: ODD.map((id) => `d${id}`) } },
    { ...everything(), since, until: new Date(AT.getTime() + 5).toISOString() },
    { ...everything(), details: ODD },
    { ...everything(), segments: [segment] },
    ...ODD.map((id) => ({ ...everything(), person: { userId: `u${id}`, earlier } })),
  ];
  const found: number[] = [];
  for (const filter of filters) {
    const { written, copied, rows } = await both('events', {
      filter,
      fields: [...LIST_FIELDS.events],
      isGrouped: false,
    });
    expect(copied).toBe(written);
    found.push(rows);
  }
  expect(found.filter((rows) => rows === 0)).toHaveLength(1); // of no app
  const changed = { ...everything(), updatedSince: since, segments: [segment] };
  for (const filter of [changed, { ...everything(), oneOf: { current_user_id: ['u"'] } }]) {
    const { written, copied, rows } = await both('devices', {
      filter,
      fields: [...LIST_FIELDS.devices],
      isGrouped: false,
    });
    expect(copied).toBe(written);
    expect(rows).toBeGreaterThan(0);
  }
});

it.for(['csv', 'rows'] as const)(
  'a file of a segment that was deleted or changed fails with the reason, by its %s',
  async (way) => {
    const gone = (await insertSampleSegment(store.db, entityId, { appId, people: ['uu '] })).id;
    const build = (list: 'devices' | 'segment_devices') =>
      Array.fromAsync<unknown>(
        fileSources[list][way]!(store.db, entityId, {
          filter: { ...everything(), segments: [gone] },
          fields: ['device_id', 'last_city'],
          isGrouped: false,
        }),
      );
    await build('segment_devices');
    await store.db.query('UPDATE segments SET snapshot_at = NULL WHERE entity_id = $1 AND id = $2', [entityId, gone]);
    await expect(build('segment_devices')).rejects.toMatchObject({
      name: 'Refusal',
      message: expect.stringContaining('not found yet'),
    });
    await deleteSegment(store.db, entityId, gone);
    for (const list of ['devices', 'segment_devices'] as const) {
      await expect(build(list)).rejects.toMatchObject({
        name: 'Refusal',
        message: "The file can't be built: its segment was deleted",
      });
    }
  },
);
