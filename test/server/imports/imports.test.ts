import { parse } from 'csv-parse/sync';
import { beforeAll, describe, expect, test } from 'vitest';
import type { ImportError } from '../../../domain/imports/import-error.ts';
import { showImportProgress } from '../../../server/imports/imports.ts';
import { write } from '../../../store/core/database.ts';
import { insertImportErrors } from '../../../store/imports/import-errors.ts';
import { updateImportLane } from '../../../store/imports/import-lanes.ts';
import { claimImport, findImport, type Import } from '../../../store/imports/imports.ts';
import { personId } from '../../harness/core/people.ts';
import { makeWorld } from '../../harness/core/world.ts';
import { insertUpload } from '../../harness/imports/imports.ts';
import { useServer } from '../http/use-server.ts';

const ERROR: ImportError = {
  line: 2,
  errorType: 'INVALID_VALUE',
  outcome: 'failed',
  stage: 'validation',
  message: '"x" is no number',
  customerId: personId(1),
  attributeKey: 'score',
  raw: `${personId(1)},score,x`,
  originalLine: null,
  customerHash: null,
};

const { store, server, world } = useServer();
let job: Import;

beforeAll(async () => {
  job = await newImport();
  await write(store.db, (tx) =>
    insertImportErrors(tx, world.entity.id, job.id, [
      ERROR,
      { ...ERROR, line: 3, errorType: 'UNDEFINED_ATTRIBUTE', outcome: 'ignored', customerId: personId(2) },
      {
        ...ERROR,
        line: 4,
        errorType: 'INVALID_CUSTOMER_ID',
        message: 'erased',
        customerId: null,
        raw: null,
        customerHash: Buffer.alloc(32),
      },
    ]),
  );
});

function newImport(): Promise<Import> {
  return insertUpload(store.db, store, world, {
    version: 2,
    skipEmail: false,
    file: {
      fileBytes: 1_000,
      fileSha256: Buffer.alloc(32, 1),
      sourceBytes: 100,
      sourceSha256: Buffer.alloc(32, 2),
      sourceGzip: true,
    },
  });
}

const get = (path: string, { v3 = false, token = world.token } = {}) =>
  server.call('GET', `/api/attribute_values/${path}`, { token, v3 });

test('import jobs are listed with their start, to their entity alone', async () => {
  const start = job.receivedAt.toISOString().slice(0, 19).replace('T', ' ');
  expect((await get('import_jobs')).body.result).toEqual({ [job.identifier]: start });
  const stranger = await makeWorld(store);
  expect((await get('import_jobs', { token: stranger.token })).body.result).toEqual({});
});

test('imports are listed newest first with state and counts, in pages, by state, SoR and open rows', async () => {
  const own = await makeWorld(store);
  const ERRORS = { INVALID_VALUE: 2, UNDEFINED_ATTRIBUTE: 1 };
  const jobs: Import[] = [];
  for (let n = 0; n < 3; n += 1) jobs.push(await insertUpload(store.db, store, own));
  const [first, second, third] = jobs as [Import, Import, Import];
  const list = async (query: string) => {
    const { status, body } = await get(`imports?${query}`, { token: own.token });
    expect(status).toBe(200);
    return body.result as { imports: { import_id: string; rows: unknown }[]; next: string | null };
  };
  const idsOf = ({ imports }: { imports: { import_id: string }[] }) => imports.map(({ import_id }) => import_id);
  await write(store.db, async (tx) => {
    const { generation } = (await claimImport(tx, own.entity.id, first.id, 'run'))!;
    const ref = { entityId: own.entity.id, importId: first.id, generation, lane: 0 };
    const counts = { rowsIn: 5, rowsOk: 2, rowsIgnored: 1, rowsFailed: 2, suspiciousIds: 0, errorsByType: ERRORS };
    await updateImportLane(tx, ref, { ...counts, cellsEmpty: 0, cellsUnnamed: 0, nextOffset: 10, nextLine: 7 });
  });
  await store.db.query(`UPDATE imports SET received_at = received_at - interval '2 days' WHERE id = $1`, [second.id]);
  const days = async (query: string) =>
    (
      (await get(`import_days${query}`, { token: own.token })).body.result as {
        days: { day: string; imports: number }[];
      }
    ).days;
  const counted = await days('');
  const dayOf = (daysAgo: number) =>
    new Date(first.receivedAt.getTime() - daysAgo * 86_400_000).toISOString().slice(0, 10);
  expect(counted.length).toBe(8);
  expect(counted.filter(({ imports }) => imports > 0)).toEqual([
    { day: dayOf(2), imports: 1, rows: { read: 0, ok: 0, ignored: 0, failed: 0 }, errors_by_type: {} },
    { day: dayOf(0), imports: 2, rows: { read: 5, ok: 2, ignored: 1, failed: 2 }, errors_by_type: ERRORS },
  ]);
  expect(await days(`?sor_id=${own.sor.identifier}`)).toEqual(counted);
  const all = await list('');
  expect(idsOf(all)).toEqual([third, second, first].map(({ identifier }) => identifier));
  expect(all.next).toBeNull();
  expect(all.imports[2]).toEqual({
    import_id: first.identifier,
    state: 'running',
    stage: null,
    dry_run: false,
    sor: { name: own.sor.name, identifier: own.sor.identifier, type: 'custom' },
    source: { url: null, bytes: expect.any(Number) },
    is_redrive: false,
    rows: { read: 5, ok: 2, ignored: 1, failed: 2, open: 3 },
    received_at: first.receivedAt.toISOString(),
    started_at: expect.any(String),
    ended_at: null,
  });
  expect(idsOf(await list('state=running'))).toEqual([first.identifier]);
  expect(idsOf(await list('open=true'))).toEqual([first.identifier]);
  const page = await list(`per_page=2&sor_id=${own.sor.identifier}`);
  expect(idsOf(page)).toEqual([third.identifier, second.identifier]);
  const next = new URL(page.next!);
  expect(next.searchParams.get('sor_id')).toBe(own.sor.identifier);
  expect(await list(next.search.slice(1))).toMatchObject({ imports: [{ import_id: first.identifier }], next: null });
  expect((await get('imports?sor_id=unknown', { token: own.token })).status).toBe(404);
  expect((await get('imports?cursor=x', { token: own.token })).status).toBe(400);
});

describe('import errors', () => {
  const shown = {
    customer_id: personId(1),
    key: 'score',
    date: expect.stringMatching(/T.*Z$/),
    source: 'validation',
    message: '"x" is no number',
    raw: `${personId(1)},score,x`,
    line: 2,
    column: null,
    redriven_by: null,
  };

  test('come in the shape of each version', async () => {
    const sor = world.sor.identifier;
    const v3 = await get(`import_errors?import_id=${job.identifier}`, { v3: true });
    expect(v3.headers['content-type']).toBe('application/json; charset=utf-8');
    expect(v3.body).toEqual({ success: true, result: { attribute_errors: expect.any(Array) } });
    expect(v3.body.result.attribute_errors).toHaveLength(3);
    const [first] = v3.body.result.attribute_errors;
    expect(first).toEqual({ import_id: job.identifier, error_type: 'INVALID_VALUE', sor, ...shown });
    for (const id of [job.identifier, job.jid]) {
      const v2 = await get(`import_errors?job_id=${id}`);
      expect(v2.body.result.attribute_errors[0]).toEqual({ job_id: id, sor, ...shown });
    }
  });

  test('are filtered by customer and type', async () => {
    const lines = async (filter: string) =>
      (await get(`import_errors?job_id=${job.jid}&${filter}`)).body.result.attribute_errors.map(
        ({ line }: { line: number }) => line,
      );
    expect(await lines(`customer_id=${encodeURIComponent(personId(2))}`)).toEqual([3]);
    expect(await lines('error_type=INVALID_CUSTOMER_ID')).toEqual([4]);
    expect(await lines('error_type=EMPTY_KEY')).toEqual([]);
  });

  test('come with the cells of the error file if asked', async () => {
    const { body } = await get(`import_errors?job_id=${job.jid}&cells=true&limit=1`);
    const file = await get(`imports/${job.identifier}/errors.csv`);
    const [, first] = parse(file.text, { bom: true }) as string[][];
    expect(first).toContain('"x" is no number');
    expect(body.result.attribute_errors[0].cells).toEqual(first);
  });

  test('come a page at a time with `limit` and `after`', async () => {
    const lines = async (page: string) =>
      (await get(`import_errors?job_id=${job.jid}&${page}`)).body.result.attribute_errors.map(
        ({ line }: { line: number }) => line,
      );
    expect(await lines('limit=2')).toEqual([2, 3]);
    expect(await lines('limit=2&after=3')).toEqual([4]);
    expect(await lines('after=2')).toEqual([3, 4]);
    expect(await lines('limit=1&after=2&error_type=INVALID_CUSTOMER_ID')).toEqual([4]);
    for (const wrong of ['limit=0', 'limit=10001', 'limit=x', 'after=-1']) {
      expect((await get(`import_errors?job_id=${job.jid}&${wrong}`)).status).toBe(400);
    }
  });

  test('need an id of their version that is known here', async () => {
    const missing = await get(`import_errors?import_id=${job.identifier}`);
    expect([missing.status, missing.body.error_message]).toEqual([
      400,
      'job_id: is required: import_id is for v3, which Accept chooses',
    ]);
    expect((await get('import_errors', { v3: true })).body.error_message).toBe('import_id: is required');
    expect((await get('import_errors?import_id=req_unknown', { v3: true })).body.error_message).toBe(
      'Request not found',
    );
    const stranger = await makeWorld(store);
    for (const answer of [
      await get('import_errors?import_id=imp_unknown', { v3: true }),
      await get(`import_errors?import_id=${job.identifier}`, { v3: true, token: stranger.token }),
    ])
      expect([answer.status, answer.body.error_message]).toEqual([404, 'Import not found']);
  });

  test('of a hundred thousand rows come whole and in order', async () => {
    const { id, identifier } = await newImport();
    const errors = Array.from({ length: 100_000 }, (_, at) => ({ ...ERROR, line: at + 2 }));
    await write(store.db, (tx) => insertImportErrors(tx, world.entity.id, id, errors));
    const { body } = await get(`import_errors?import_id=${identifier}`, { v3: true });
    const lines = body.result.attribute_errors.map(({ line }: { line: number }) => line);
    expect(lines).toEqual(errors.map(({ line }) => line));
  });

  test('leave who read them in the audit log', async () => {
    const { identifier } = await newImport();
    await get(`import_errors?job_id=${identifier}`);
    const { rows } = await store.db.query(
      'SELECT action, actor_id FROM audit_log WHERE entity_id = $1 AND subject = $2',
      [world.entity.id, identifier],
    );
    expect(rows).toEqual([{ action: 'read', actor_id: world.user.id }]);
  });
});

describe('an import', () => {
  test('is viewed with its source, its rows and what to expect', async () => {
    const imported = await newImport();
    const { id, identifier, jid } = imported;
    await claimImport(store.db, world.entity.id, id, 'run');
    const lane = { entityId: world.entity.id, importId: id, generation: 0 };
    await write(store.db, async (tx) => {
      await updateImportLane(
        tx,
        { ...lane, lane: 0 },
        {
          nextOffset: 500,
          nextLine: 7,
          rowsIn: 3,
          rowsOk: 1,
          rowsIgnored: 1,
          rowsFailed: 1,
          cellsEmpty: 0,
          cellsUnnamed: 0,
          suspiciousIds: 1,
          errorsByType: { UNDEFINED_ATTRIBUTE: 1, INVALID_VALUE: 1 },
        },
      );
      await updateImportLane(
        tx,
        { ...lane, lane: 1 },
        {
          nextOffset: 700,
          nextLine: 9,
          rowsIn: 2,
          rowsOk: 1,
          rowsIgnored: 0,
          rowsFailed: 1,
          cellsEmpty: 0,
          cellsUnnamed: 0,
          suspiciousIds: 1,
          errorsByType: { INVALID_VALUE: 1 },
        },
      );
    });
    expect((await get(`imports/${identifier}`)).body.result).toEqual({
      import_id: identifier,
      jid,
      state: 'running',
      stage: null,
      dry_run: false,
      file: null,
      version: 2,
      failure: null,
      defect: null,
      internal_error: null,
      columns: null,
      sor: { name: 'CRM', identifier: world.sor.identifier, type: 'custom' },
      source: {
        url: null,
        bytes: 100,
        sha256: '02'.repeat(32),
        compressed: true,
        decompressed_bytes: 1_000,
        decompressed_sha256: '01'.repeat(32),
      },
      fetched_bytes: null,
      fetch: null,
      next_line: 7,
      parent_id: null,
      redrives: [],
      mail: null,
      rows: { read: 5, ok: 2, ignored: 1, failed: 2, open: 3 },
      errors_by_type: { UNDEFINED_ATTRIBUTE: 1, INVALID_VALUE: 2 },
      open_by_type: { UNDEFINED_ATTRIBUTE: 1, INVALID_VALUE: 2 },
      suspicious_ids: 2,
      similar_ids: null,
      bytes_read: 500,
      rate: expect.any(Number),
      received_at: expect.any(String),
      started_at: expect.any(String),
      ended_at: null,
      expected_end_at: expect.any(String),
    });
    expect((await get('imports/imp_unknown')).body.error_message).toBe('Import not found');
    const stranger = await makeWorld(store);
    expect((await get(`imports/${identifier}`, { token: stranger.token })).status).toBe(404);
  });

  test('that read half its bytes in ten seconds ends in another ten', async () => {
    const running = (await findImport(store.db, world.entity.id, job.identifier))!;
    const startedAt = new Date('2026-01-01T00:00:00Z');
    const now = new Date('2026-01-01T00:00:10Z');
    const half = { ...running, state: 'running' as const, startedAt, nextOffset: 500, rowsIn: 25 };
    const alone = { sor: null, parent: null, redrives: [], settledByType: {}, failure: null, internalError: null };
    expect(showImportProgress({ job: half, ...alone }, now)).toMatchObject({
      rate: 2.5,
      expected_end_at: '2026-01-01T00:00:20.000Z',
      sor: null,
    });
    const ended = { ...half, state: 'finished' as const, endedAt: new Date('2026-01-01T00:00:05Z') };
    expect(showImportProgress({ job: ended, ...alone }, now)).toMatchObject({ rate: 5, expected_end_at: null });
  });
});
