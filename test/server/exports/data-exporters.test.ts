import { describe, expect, test } from 'vitest';
import type { Right } from '../../../domain/accounts/rights.ts';
import { insertCustomSor } from '../../../store/attributes/systems-of-records.ts';
import { write } from '../../../store/core/database.ts';
import { updateExportedUntil } from '../../../store/exports/data-exporters.ts';
import { insertExportFile, insertExportRecords } from '../../../store/exports/export-files.ts';
import { findExportRun, insertExportRun } from '../../../store/exports/export-runs.ts';
import { makeWorld } from '../../harness/core/world.ts';
import { storedExporter } from '../../harness/exports/stored-exporters.ts';
import { refusalOf, resultOf } from '../syncs/use-syncs.ts';
import { errorsOf, FILE_KEY, KEYS, useExporters } from './use-exporters.ts';

const { store, server, world, apps, ask, definition, create, createdId, view, list, put, stored, audited } =
  useExporters();

const ACCOUNT = {
  export_configuration: 'aws_account_id',
  aws_account_id: '123456789012',
  aws_access_key_id: undefined,
  aws_secret_access_key: undefined,
};
const MIB = 1024 ** 2;

const everything = () => ({
  name: 'Nightly',
  subfolder: '/exports/daily/',
  aws_region: 'eu-central-1',
  endpoint: 'https://minio.example.com',
  app_ids: apps.map(({ identifier }) => identifier),
  sor_ids: [world.sor.identifier],
  exported_data: ['sessions_with_carrier', 'app_devices', 'crashes_values', 'attributes'],
  format: 'csv',
  include_headers: true,
  encryption_type: 'aes-256-CBC',
  encryption_key: FILE_KEY,
  part_bytes: 2 * MIB,
  export_since: '2026-01-31T12:30:00.5+01:00',
  notify_emails: ['data@example.com'],
  server_side_encryption: 'aws:kms',
  kms_key_id: 'alias/exports',
  content_md5: true,
});

describe('a data exporter', () => {
  test('is made inactive and shown with its secrets, then listed without settings and secrets', async () => {
    const made = await create(everything());
    const shownApps = apps.map(({ name, identifier }) => ({
      name,
      identifier,
      package_name: name,
      platform: 'iOS App',
    }));
    const listed = {
      identifier: expect.stringMatching(/^exp_/) as string,
      name: 'Nightly',
      type: 'aws_secret_key',
      active: false,
      apps: shownApps,
      subfolder: 'exports/daily',
      bucket_name: 'exports',
      aws_region: 'eu-central-1',
      exported_data: everything().exported_data,
      initial_run_at: null,
      last_run_at: null,
      exported_until: null,
      next_run_at: null,
      missing_window: null,
      time_zone: 'Europe/Paris',
      failures: 0,
      paused_at: null,
      paused_reason: null,
      sors: [{ name: 'CRM', identifier: world.sor.identifier, type: 'custom' }],
    };
    expect(resultOf(made)).toEqual({
      ...listed,
      exports: {},
      ...KEYS,
      encryption_type: 'aes-256-CBC',
      encryption_key: FILE_KEY,
      deletion_key: expect.stringMatching(/^[0-9a-f]{64}$/) as string,
      aws_account_id: null,
      aws_role_name: null,
      endpoint: 'https://minio.example.com',
      format: 'csv',
      include_headers: true,
      part_bytes: 2 * MIB,
      export_since: '2026-01-31T11:30:00Z',
      notify_emails: ['data@example.com'],
      notify_connections: [],
      server_side_encryption: 'aws:kms',
      kms_key_id: 'alias/exports',
      content_md5: true,
      revision: 1,
      created_by: { id: world.user.id, uid: world.user.uid },
      created_at: expect.stringMatching(/^\S+:\d\dZ$/) as string,
      updated_at: expect.stringMatching(/^\S+:\d\dZ$/) as string,
    });
    const { identifier } = made.body.result as { identifier: string };
    expect(await view(identifier)).toEqual(made.body.result);
    const found = (await list()).find((one: { identifier: string }) => one.identifier === identifier);
    expect(found).toEqual(listed);
  });

  test('is listed with its next run and what is missing, while it is active and not paused', async () => {
    const id = await createdId({ export_since: '2026-01-31' });
    const listed = async () => (await list()).find((one: { identifier: string }) => one.identifier === id);
    const change = (columns: string) =>
      store.db.query(`UPDATE data_exporters SET ${columns} WHERE identifier = $1`, [id]);
    await change("active = true, updated_at = now() - interval '3 days'");
    const { next_run_at, missing_window } = await listed();
    expect(new Date(next_run_at).getTime()).toBeGreaterThan(Date.now());
    expect(new Date(next_run_at).getTime()).toBeLessThan(Date.now() + 25 * 3_600_000);
    expect(missing_window.start).toBe('2026-01-30T23:00:00Z');
    expect(new Date(missing_window.end).getTime()).toBeLessThan(Date.now());
    await change('exported_until = now()');
    expect(await listed()).toMatchObject({ missing_window: null, exported_until: expect.any(String) as string });
    await change("paused_at = now(), paused_reason = 'NoSuchBucket', failures = 3");
    expect(await listed()).toMatchObject({ next_run_at: null, paused_reason: 'NoSuchBucket', failures: 3 });
  });

  test('has defaults for all that it can do without', async () => {
    const id = await createdId();
    expect(await view(id)).toMatchObject({
      name: 'Export to exports',
      subfolder: '',
      aws_region: 'eu-west-1',
      endpoint: null,
      sors: [],
      format: 'csv',
      include_headers: false,
      server_side_encryption: null,
      kms_key_id: null,
      content_md5: false,
      encryption_type: '',
      encryption_key: null,
      part_bytes: 512 * MIB,
      export_since: null,
      notify_emails: [],
    });
    const role = resultOf(await create(ACCOUNT));
    expect(role).toMatchObject({
      type: 'aws_account_id',
      aws_account_id: '123456789012',
      aws_role_name: 'millrace-exporter',
      aws_access_key_id: null,
      aws_secret_access_key: null,
    });
  });

  test('can be made by a web form, where none is an empty text', async () => {
    const form = new URLSearchParams({
      ...definition(),
      app_ids: apps[0]!.identifier,
      exported_data: 'logs',
      include_headers: 'true',
      part_bytes: String(MIB),
      sor_ids: '',
      encryption_type: '',
      encryption_key: '',
      server_side_encryption: '',
      endpoint: '',
      export_since: '',
      aws_account_id: '',
      notify_emails: '',
    });
    for (const type of ['devices', 'crashes']) form.append('exported_data', type);
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    const made = resultOf(await ask('', { method: 'POST', body: form.toString(), headers }));
    expect(made).toMatchObject({
      exported_data: ['logs', 'devices', 'crashes'],
      include_headers: true,
      part_bytes: MIB,
      sors: [],
      endpoint: null,
      notify_emails: [],
    });
  });

  test('is unknown to others, and to those who have one of its rights alone', async () => {
    const id = await createdId();
    const other = await makeWorld(store);
    const paths = [
      ['GET', ''],
      ['PUT', ''],
      ['DELETE', ''],
      ['PUT', '/activate'],
      ['PUT', '/deactivate'],
      ['POST', '/check'],
      ['GET', '/policy'],
    ] as const;
    for (const [method, path] of paths) {
      const unknown = await ask(`/${id}${path}`, {
        method,
        token: other.token,
        ...(method === 'GET' ? {} : { body: {} }),
      });
      expect(refusalOf(unknown)).toEqual([404, 'not_found', 'Automated data exporter not found']);
    }
    expect((await ask('', { method: 'GET', token: other.token })).body.result).toEqual([]);
    const foreign = await ask('', { method: 'POST', token: other.token, body: definition() });
    expect(errorsOf(foreign)).toEqual([400, { 'app_ids.0': 'names no app of the entity' }]);
    for (const [has, lacks] of [
      ['sor_manage', 'usage_analytics_view'],
      ['usage_analytics_view', 'sor_manage'],
    ] as [Right, Right][]) {
      const half = await makeWorld(store, { rights: [has], admin: false });
      expect(refusalOf(await ask('', { method: 'GET', token: half.token }))).toEqual([
        403,
        'forbidden',
        `This needs the right ${lacks}`,
      ]);
    }
  });

  test('is told of in the audit log, also who was shown its secrets, and no secret is', async () => {
    const id = await createdId({ encryption_type: 'AES-256-GCM', encryption_key: FILE_KEY });
    await view(id);
    await put(id, { name: 'Renamed', include_headers: false, bucket_name: 'elsewhere', ...KEYS });
    await put(`${id}/deactivate`);
    await ask(`/${id}`, { method: 'DELETE' });
    const entries = await audited(id);
    expect(entries).toEqual([
      ['create', {}],
      ['read', {}],
      ['update', { members: 'name bucket_name' }],
      ['update', { change: 'deactivated' }],
      ['delete', { secrets_shown: true }],
    ]);
    const role = await createdId(ACCOUNT);
    await view(role);
    expect(await audited(role)).toEqual([
      ['create', {}],
      ['read', {}],
    ]);
  });

  test('is deleted with its runs under way, and answered as it was', async () => {
    const id = await createdId();
    const { id: exporterId } = await stored(id);
    const window = { start: null, end: new Date() };
    const run = (await insertExportRun(store.db, world.entity.id, { exporterId, cause: 'request', window }))!;
    const before = await view(id);
    expect((await ask(`/${id}`, { method: 'DELETE' })).body).toEqual({ success: true, result: before });
    expect(refusalOf(await ask(`/${id}`, { method: 'GET' }))).toEqual([
      404,
      'not_found',
      'Automated data exporter not found',
    ]);
    expect((await findExportRun(store.db, world.entity.id, run.identifier))!.state).toBe('canceled');
  });

  test('is refused where the entity has a hundred, also of two that come at once', async () => {
    const full = await makeWorld(store);
    for (let count = 0; count < 99; count += 1) await storedExporter(store.db, store.secrets, full);
    const app = (
      await store.db.query<{ identifier: string }>(
        `INSERT INTO apps (entity_id, identifier, name, package_name, app_type) VALUES ($1, 'app_of_full', 'a', 'a', 'Web App')
       RETURNING identifier`,
        [full.entity.id],
      )
    ).rows[0]!;
    const body = definition({ app_ids: [app.identifier] });
    const answers = await Promise.all([1, 2].map(() => ask('', { method: 'POST', token: full.token, body })));
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 409]);
    expect(answers.find(({ status }) => status === 409)!.body.error_message).toBe(
      'The entity has 100 data exporters, which is the most: delete one first',
    );
    const {
      body: { result },
    } = await ask('', { method: 'GET', token: full.token });
    expect(result).toHaveLength(100);
  });
});

describe('a body', () => {
  const long = 'x'.repeat(600);

  test.each<[object, Record<string, RegExp>]>([
    [
      { export_configuration: undefined, bucket_name: undefined, app_ids: undefined, exported_data: undefined },
      {
        export_configuration: /^is required$/,
        bucket_name: /^is required$/,
        app_ids: /^is required$/,
        exported_data: /^is required$/,
      },
    ],
    [{ export_configuration: 'gcs' }, { export_configuration: /must be one of aws_account_id, aws_secret_key/ }],
    [
      { aws_access_key_id: undefined, aws_secret_access_key: null },
      {
        aws_access_key_id: /required with export_configuration aws_secret_key/,
        aws_secret_access_key: /required with/,
      },
    ],
    [{ aws_access_key_id: 'AKID\r\nx-other: 1' }, { aws_access_key_id: /without spaces or line breaks/ }],
    [
      { aws_access_key_id: 'AKIDÄ', aws_secret_access_key: 'copied with its line break\n' },
      {
        aws_access_key_id: /only ASCII letters/,
        aws_secret_access_key: /or hold line breaks/,
      },
    ],
    [{ aws_secret_access_key: ' after a space' }, { aws_secret_access_key: /begin or end with a space/ }],
    [
      { ...ACCOUNT, aws_account_id: undefined },
      { aws_account_id: /required with export_configuration aws_account_id/ },
    ],
    [{ ...ACCOUNT, aws_account_id: '1234-5678-9012' }, { aws_account_id: /twelve digits/ }],
    [{ ...ACCOUNT, aws_role_name: 'arn:aws:iam::1:role/x' }, { aws_role_name: /name of a role/ }],
    [
      { ...ACCOUNT, ...KEYS },
      { aws_access_key_id: /of export_configuration aws_secret_key/, aws_secret_access_key: /of export_conf/ },
    ],
    [
      { aws_account_id: '123456789012', aws_role_name: 'x' },
      {
        aws_account_id: /of export_configuration aws_account_id/,
        aws_role_name: /is of/,
      },
    ],
    [{ bucket_name: 's3://exports' }, { bucket_name: /without s3:/ }],
    [{ subfolder: 'a//b' }, { subfolder: /two slashes/ }],
    [{ subfolder: long }, { subfolder: /at most 512/ }],
    [{ aws_region: 'EU (Ireland)' }, { aws_region: /such as eu-west-1/ }],
    [{ endpoint: 'ftp://files.example.com' }, { endpoint: /http:\/\/ or https:/ }],
    [{ endpoint: 'https://user:secret@minio.example.com' }, { endpoint: /without a user/ }],
    [{ app_ids: [] }, { app_ids: /must not be empty/ }],
    [
      { app_ids: ['app_unknown', 'app_neither'] },
      { 'app_ids.0': /names no app of the entity/, 'app_ids.1': /names no app/ },
    ],
    [{ sor_ids: ['sor_unknown'] }, { 'sor_ids.0': /names no System of Records of the entity/ }],
    [{ exported_data: ['logs', 'attributes'] }, { sor_ids: /at least one System of Records, since attributes/ }],
    [{ exported_data: [] }, { exported_data: /must not be empty/ }],
    [{ exported_data: ['logs', 'everything'] }, { 'exported_data.1': /must be one of sessions, .*attributes/ }],
    [{ exported_data: ['app_devices', 'logs', 'devices'] }, { 'exported_data.2': /the same as app_devices/ }],
    [{ format: 'xls' }, { format: /must be one of csv, jsonl, parquet/ }],
    [{ include_headers: 'yes' }, { include_headers: /true or false/ }],
    [
      { encryption_type: 'DES', encryption_key: FILE_KEY },
      { encryption_type: /must be one of AES-128-CBC, .*AES-256-GCM/ },
    ],
    [{ encryption_type: 'AES-192-CBC' }, { encryption_key: /required with encryption_type/ }],
    [
      { encryption_type: 'AES-192-CBC', encryption_key: FILE_KEY },
      { encryption_key: /exactly 24 bytes of text, or of 48 hexadecimal/ },
    ],
    [{ encryption_key: FILE_KEY }, { encryption_type: /required with encryption_key/ }],
    [{ part_bytes: MIB - 1 }, { part_bytes: /from 1048576 to 5368709120/ }],
    [{ export_since: '31.01.2026' }, { export_since: /ISO 8601, such as 2026-01-31/ }],
    [{ export_since: '2999-01-01' }, { export_since: /must not be in the future/ }],
    [{ notify_connections: ['con_none'] }, { 'notify_connections.0': /no identifier of a connection here/ }],
    [
      { notify_connections: Array.from({ length: 6 }, (_, index) => `con_${index}`) },
      { notify_connections: /at most 5/ },
    ],
    [{ notify_emails: ['nobody'] }, { 'notify_emails.0': /e-mail address/ }],
    [
      { notify_emails: Array.from({ length: 21 }, (_, index) => `n${index}@example.com`) },
      { notify_emails: /at most 20/ },
    ],
    [{ name: ' ' }, { name: /blank/ }],
    [{ check: 'perhaps' }, { check: /true or false/ }],
  ])('is refused by the fields at fault: %j', async (body, faults) => {
    const answer = await create(body);
    const [status, found] = errorsOf(answer);
    expect([status, Object.keys(found).toSorted()]).toEqual([400, Object.keys(faults).toSorted()]);
    for (const [element, message] of Object.entries(faults)) expect(found[element]).toMatch(message);
    expect(answer.text).not.toContain(FILE_KEY);
  });

  test("begins a date where the entity's day does", async () => {
    await store.db.query('UPDATE entities SET default_tz = $2 WHERE id = $1', [world.entity.id, 'Asia/Tokyo']);
    expect(resultOf(await create({ export_since: '2026-03-01' })).export_since).toBe('2026-02-28T15:00:00Z');
    expect(resultOf(await create({ export_since: '2026-03-01T00:00:00Z' })).export_since).toBe('2026-03-01T00:00:00Z');
  });
});

describe('a change', () => {
  test('changes what it says alone, and answers without secrets', async () => {
    const id = await createdId(everything());
    const before = await view(id);
    const changed = resultOf(
      await put(id, { include_headers: 'false', subfolder: '', sor_ids: [world.sor.identifier] }),
    );
    const { aws_access_key_id, aws_secret_access_key, encryption_key, deletion_key, ...shown } = before;
    expect(changed).toEqual({
      ...shown,
      include_headers: false,
      subfolder: '',
      revision: 2,
      updated_at: expect.any(String) as string,
    });
    expect(await view(id)).toMatchObject({ aws_access_key_id, aws_secret_access_key, encryption_key, deletion_key });
    expect(await stored(id)).toMatchObject({ revision: 2 });
    expect(resultOf(await put(id, { subfolder: '/' }))).toEqual(changed);
    expect(await stored(id)).toMatchObject({ revision: 2 });
  });

  test('takes what the view showed', async () => {
    const all = [
      'sessions',
      'sessions_with_carrier',
      'logs',
      'details',
      'locations',
      'devices',
      'crashes',
      'campaign_results_per_user',
      'attributes',
    ];
    for (const body of [everything(), {}, ACCOUNT, { exported_data: all, sor_ids: [world.sor.identifier] }]) {
      const id = await createdId(body);
      const { apps: shownApps, sors, type, ...shown } = await view(id);
      const identifiers = (named: { identifier: string }[]) => named.map(({ identifier }) => identifier);
      const back = {
        ...shown,
        app_ids: identifiers(shownApps),
        sor_ids: identifiers(sors),
        export_configuration: type,
      };
      expect((await put(id, back)).status).toBe(200);
      expect(await stored(id)).toMatchObject({ revision: 1 });
    }
  });

  test.each([
    ['bucket_name', { bucket_name: 'elsewhere' }],
    ['aws_region', { aws_region: 'us-east-1' }],
    ['endpoint', { endpoint: 'https://collector.example.com' }],
    ['aws_access_key_id', { aws_access_key_id: 'AKIDOFANOTHER' }],
  ])('does not take a stored secret elsewhere: %s', async (member, body) => {
    const id = await createdId();
    const [status, faults] = errorsOf(await put(id, body));
    expect([status, Object.keys(faults)]).toEqual([400, ['aws_secret_access_key']]);
    expect(faults.aws_secret_access_key).toContain(`since ${member} changed`);
    expect(await stored(id)).toMatchObject({ revision: 1 });
    expect((await put(id, { ...body, aws_secret_access_key: KEYS.aws_secret_access_key })).status).toBe(200);
    expect(await view(id)).toMatchObject(body);
  });

  test('of the way of access forgets the keys of the other', async () => {
    const id = await createdId();
    expect(errorsOf(await put(id, { export_configuration: 'aws_account_id' }))).toEqual([
      400,
      { aws_account_id: expect.any(String) as string },
    ]);
    resultOf(
      await put(id, {
        export_configuration: 'aws_account_id',
        aws_account_id: '123456789012',
        aws_role_name: 'exports',
      }),
    );
    expect(await view(id)).toMatchObject({
      type: 'aws_account_id',
      aws_role_name: 'exports',
      aws_access_key_id: null,
      aws_secret_access_key: null,
    });
    const [, faults] = errorsOf(await put(id, { export_configuration: 'aws_secret_key' }));
    expect(Object.keys(faults)).toEqual(['aws_access_key_id', 'aws_secret_access_key']);
    resultOf(await put(id, { export_configuration: 'aws_secret_key', ...KEYS }));
    expect(await view(id)).toMatchObject({ ...KEYS, aws_account_id: null, aws_role_name: null });
  });

  test('of the encryption wants its key with it, and without encryption there is none', async () => {
    const id = await createdId({ encryption_type: 'AES-256-CBC', encryption_key: FILE_KEY });
    expect(errorsOf(await put(id, { encryption_type: 'AES-256-GCM' }))).toEqual([
      400,
      { encryption_key: 'must be given anew with another encryption_type' },
    ]);
    expect(errorsOf(await put(id, { encryption_key: '' }))).toEqual([
      400,
      { encryption_key: 'is required with encryption_type' },
    ]);
    expect(resultOf(await put(id, { encryption_type: 'aes-256-cbc' })).encryption_type).toBe('aes-256-cbc');
    expect(
      resultOf(await put(id, { encryption_type: 'AES-128-CTR', encryption_key: 'f'.repeat(32) })).encryption_type,
    ).toBe('AES-128-CTR');
    resultOf(await put(id, { encryption_type: '' }));
    expect(await view(id)).toMatchObject({ encryption_type: '', encryption_key: null });
  });

  test('is judged with what it leaves as it is', async () => {
    const id = await createdId({ exported_data: ['attributes'], sor_ids: [world.sor.identifier] });
    expect(errorsOf(await put(id, { sor_ids: [] }))).toEqual([
      400,
      { sor_ids: expect.stringContaining('at least one') as string },
    ]);
    expect((await put(id, { sor_ids: [], exported_data: ['logs'] })).status).toBe(200);
    expect(errorsOf(await put(id, { exported_data: ['attributes'] }))).toEqual([
      400,
      { sor_ids: expect.any(String) as string },
    ]);
  });

  test('of where the first export begins is refused once there was one', async () => {
    const id = await createdId({ export_since: '2026-01-01T00:00:00Z' });
    expect(resultOf(await put(id, { export_since: null })).export_since).toBeNull();
    await store.db.query('UPDATE data_exporters SET exported_until = now() WHERE identifier = $1', [id]);
    const [status, faults] = errorsOf(await put(id, { export_since: '2026-02-01T00:00:00Z' }));
    expect([status, faults.export_since]).toEqual([400, expect.stringMatching(/stays once it has exported/)]);
    expect((await put(id, { export_since: null })).status).toBe(200);
  });

  test('leaves out a System of Records that was deleted since', async () => {
    const spare = await write(store.db, (tx) =>
      insertCustomSor(tx, store.secrets, world.entity.id, 'Spare', world.user.id),
    );
    const id = await createdId({ exported_data: ['attributes'], sor_ids: [world.sor.identifier, spare.identifier] });
    await server.call('DELETE', `/api/system_of_records/${spare.identifier}`, { token: world.token });
    expect((await view(id)).sors).toEqual([expect.objectContaining({ identifier: world.sor.identifier })]);
    expect((await put(id, { name: 'Without the spare' })).status).toBe(200);
  });
});

describe('the exports that a view shows', () => {
  const day = (number: number) => new Date(Date.UTC(2026, 4, number));
  const hash = '0'.repeat(64);

  /** A run of a window that finished so many days ago, with a file of logs of so many rows. */
  async function finished(
    exporterId: number,
    window: { start: Date | '-infinity'; end: Date },
    rows: number,
    daysAgo = 0,
    days?: { from: string; to: string },
  ) {
    const run = (await insertExportRun(store.db, world.entity.id, {
      exporterId,
      cause: days ? 'backfill' : 'request',
      window,
      ...(days ? { days } : {}),
    }))!;
    await write(store.db, async (tx) => {
      await insertExportRecords(tx, world.entity.id, run.id, ['sessions', 'logs']);
      await insertExportFile(
        tx,
        world.entity.id,
        run.id,
        {
          dataType: 'logs',
          part: 1,
          key: 'k',
          rows,
          bytes: 1,
          sha256: hash,
          contentBytes: 1,
          contentSha256: hash,
          bucketChecksum: null,
        },
        null,
      );
      await tx.query(
        `UPDATE export_runs SET state = 'finished', ended_at = now() - make_interval(days => $2) WHERE id = $1`,
        [run.id, daysAgo],
      );
    });
  }

  test('are those of the newest run of each window of 31 days', async () => {
    const id = await createdId();
    const { id: exporterId } = await stored(id);
    const all = '-infinity' as const;
    await finished(exporterId, { start: all, end: day(1) }, 1, 32);
    await finished(exporterId, { start: day(1), end: day(2) }, 2, 30);
    await finished(exporterId, { start: day(1), end: day(2) }, 3);
    await finished(exporterId, { start: day(2), end: day(3) }, 4);
    await finished(exporterId, { start: day(2), end: day(3) }, 5, 0, { from: '2026-05-02', to: '2026-05-02' });
    const waiting = { exporterId, cause: 'request', window: { start: null, end: day(9) } } as const;
    await insertExportRun(store.db, world.entity.id, waiting);
    await updateExportedUntil(store.db, world.entity.id, exporterId, { until: day(2), startedAt: day(3) });
    await updateExportedUntil(store.db, world.entity.id, exporterId, { until: day(3), startedAt: day(4) });
    const { exports, ...shown } = await view(id);
    expect(shown).toMatchObject({ initial_run_at: '2026-05-03T00:00:00Z', last_run_at: '2026-05-04T00:00:00Z' });
    const epoch = (number: number) => String(day(number).getTime() / 1000);
    expect(Object.keys(exports)).toEqual([epoch(2), epoch(3)]);
    const record = (number: number, type: string, rows: number) => ({
      identifier: expect.stringMatching(/^rec_/) as string,
      date: `2026-05-0${number}T00:00:00Z`,
      type,
      total_files: rows ? 1 : 0,
      total_exported: rows,
    });
    expect(exports[epoch(2)]).toEqual([record(2, 'sessions', 0), record(2, 'logs', 3)]);
    expect(exports[epoch(3)]).toEqual([
      record(3, 'sessions', 0),
      record(3, 'logs', 4),
      record(3, 'sessions', 0),
      record(3, 'logs', 5),
    ]);
  });
});
