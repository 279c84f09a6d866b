import { gzipSync } from 'node:zlib';
import { beforeAll, describe, expect, it } from 'vitest';
import { findAttributeValues } from '../../../store/attributes/attribute-values.ts';
import { findImport } from '../../../store/imports/imports.ts';
import { listFiles } from '../../harness/core/files.ts';
import { file, hangUp, httpSource, inTurn, redirect, status } from '../../harness/core/http-source.ts';
import { personId, rememberSecret } from '../../harness/core/people.ts';
import { currentDetails, useStack } from '../../harness/core/stack.ts';
import { waitFor } from '../../harness/core/wait.ts';
import { makeWorld, type World } from '../../harness/core/world.ts';
import { importEnded, importErrors, startImportOf } from '../../harness/imports/imports.ts';

const HEADER = 'user_id,attribute_key,value,action_type\n';
const SECRET = 'secret-of-the-source';
const PATIENCE_MS = 10_000;
const KEPT_LIMITS = { bytesPerSor: 10_000_000, bytesPerEntity: 20_000_000 };

const stack = useStack({ impatient: true });
let source: Awaited<ReturnType<typeof httpSource>>;
let elsewhere: Awaited<ReturnType<typeof httpSource>>;
let world: World;

beforeAll(async () => {
  [source, elsewhere] = [await httpSource(), await httpSource()];
  world = await makeWorld(stack.store);
  rememberSecret(SECRET);
});

describe('a worker killed', () => {
  it.each([
    ['when the file is stored and not yet noted down', 'import: file stored', 2],
    ['when the file is noted down', 'import: file noted', 1],
  ])('%s costs a fetch at most', async (_when, boundary, fetches) => {
    const path = `/killed-${fetches}.csv`;
    const url = source.serve(path, file(rows('iron', 2_000)));
    const doomed = stack.startWorker({ kill: { boundary, hit: 1 } });
    const id = await start({ file_url: url });
    expect((await doomed.ended).signal).toBe('SIGKILL');
    expect(await findImport(stack.store.db, world.entity.id, id)).toMatchObject({ state: 'running', rowsIn: 0 });
    const worker = stack.startWorker();
    expect(await importEnded(stack.store, world, id)).toMatchObject({
      state: 'finished',
      rowsIn: 2_000,
      rowsOk: 2_000,
    });
    expect(source.asked.filter((each) => each.path === path)).toHaveLength(fetches);
    await worker.stop();
  });
});

const start = (fields: Record<string, unknown>) => startImportOf(stack.app, world, fields);

async function imported(fields: Record<string, unknown>) {
  const id = await start(fields);
  const job = await importEnded(stack.store, world, id);
  return { id, job, errors: await importErrors(stack.store, world, job) };
}

async function planOf(person: string): Promise<unknown> {
  const values = await findAttributeValues(stack.store.db, world.entity.id, world.sor.id, 'user_id', person);
  return values.find(({ key }) => key === 'plan')?.value;
}

const rows = (plan: string, count = 1) =>
  Buffer.from(HEADER + Array.from({ length: count }, (_, row) => `${personId(row)},plan,${plan},\n`).join(''));

describe('a file from an address', () => {
  beforeAll(() => {
    stack.startWorker({ patienceMs: PATIENCE_MS, keptLimits: KEPT_LIMITS });
  });

  it("is imported, gzipped or not, with the request's headers, which are kept no longer than that", async () => {
    for (const bytes of [rows('gold'), gzipSync(rows('silver'))]) {
      const url = source.serve('/values.csv', file(bytes));
      const { id, job } = await imported({
        file_url: `${url}?signature=${SECRET}`,
        request_headers: { 'X-Key': SECRET },
      });
      expect(job).toMatchObject({
        state: 'finished',
        rowsIn: 1,
        rowsOk: 1,
        shownUrl: `${url}?…`,
        fetchedBytes: bytes.length,
      });
      expect(source.asked.at(-1)).toMatchObject({
        path: `/values.csv?signature=${SECRET}`,
        headers: { 'x-key': SECRET },
      });
      const {
        rows: [kept],
      } = await stack.store.db.query('SELECT file_url, request_headers FROM imports WHERE identifier = $1', [id]);
      expect(kept).toEqual({ file_url: null, request_headers: null });
    }
    expect(await planOf(personId(0))).toBe('silver');
  });

  it('is fetched through redirects, and the headers go to no other origin', async () => {
    const there = elsewhere.serve('/real.csv', file(rows('platinum')));
    const { job } = await imported({
      file_url: source.serve('/moved', redirect(there)),
      request_headers: { 'X-Key': SECRET },
    });
    expect(job.state).toBe('finished');
    expect(source.asked.at(-1)!.headers['x-key']).toBe(SECRET);
    expect(elsewhere.asked.at(-1)!.headers['x-key']).toBeUndefined();
  });

  it('whose transfer breaks goes on where it broke', async () => {
    const bytes = rows('bronze', 5_000);
    const url = source.serve(
      '/broken.csv',
      inTurn(file(bytes, { etag: '"1"', breaksAfter: 100_000 }), file(bytes, { etag: '"1"' })),
    );
    const { job } = await imported({ file_url: url });
    expect(job).toMatchObject({ state: 'finished', rowsOk: 5_000, fetchTries: 1 });
    expect(source.asked.at(-1)!.headers.range).toMatch(/^bytes=[1-9]\d*-$/);
  });

  it('whose source changes between two attempts is wholly of one version', async () => {
    const [old, young] = [rows('old', 5_000), rows('young', 5_000)];
    const url = source.serve(
      '/changing.csv',
      inTurn(
        file(old, { etag: '"old"', breaksAfter: 100_000 }),
        file(young, { etag: '"young"', breaksAfter: 100_000 }),
        file(young, { etag: '"young"' }),
      ),
    );
    const { job } = await imported({ file_url: url });
    expect(job).toMatchObject({ state: 'finished', rowsIn: 5_000, rowsOk: 5_000, file: { fileBytes: young.length } });
    for (const row of [0, 1_000, 4_999]) expect(await planOf(personId(row))).toBe('young');
    expect(await listFiles(stack.store, 'imports/')).toContain(job.file!.fileKey);
  });

  it('that decompresses to more than may be kept fails its import, and nothing of it stays', async () => {
    const before = await listFiles(stack.store, 'imports/');
    const { job, errors } = await imported({
      file_url: source.serve('/large.csv.gz', file(gzipSync(Buffer.alloc(11_000_000, ' ')))),
    });
    expect(job).toMatchObject({ state: 'failed', rowsIn: 0, file: null });
    expect(errors).toMatchObject([
      { errorType: 'FILE_TRANSFER_ERROR', message: expect.stringContaining('would have over 10000000 bytes') },
    ]);
    expect(await listFiles(stack.store, 'imports/')).toEqual(before);
  });

  it('whose place others have filled meanwhile fails its import, and nothing of it stays', async () => {
    const { id: other } = await imported({ file_url: source.serve('/other.csv', file(rows('other'))) });
    const setBytes = (bytes: number) =>
      stack.store.db.query('UPDATE imports SET file_bytes = $2 WHERE identifier = $1', [other, bytes]);
    const before = await listFiles(stack.store, 'imports/');
    const { promise: filled, resolve: fill } = Promise.withResolvers<void>();
    const bytes = rows('late', 100);
    const id = await start({
      file_url: source.serve('/meanwhile.csv', (_, response) => {
        response.writeHead(200, { 'content-length': bytes.length }).write(bytes.subarray(0, 1_000));
        void filled.then(() => response.end(bytes.subarray(1_000)));
      }),
    });
    await waitFor(
      'the first bytes',
      async () => (await findImport(stack.store.db, world.entity.id, id))!.fetchedBytes === 1_000,
    );
    await setBytes(KEPT_LIMITS.bytesPerSor - 1_000);
    fill();
    const job = await importEnded(stack.store, world, id);
    expect(job).toMatchObject({ state: 'failed', rowsIn: 0, file: null });
    expect(await importErrors(stack.store, world, job)).toMatchObject([
      { errorType: 'FILE_TRANSFER_ERROR', message: expect.stringContaining('would have over 10000000 bytes') },
    ]);
    expect(await listFiles(stack.store, 'imports/')).toEqual(before);
    await setBytes(1_000);
  });

  it('that comes only at the third time is imported, and its status tells of the waiting', async () => {
    const url = source.serve('/later.csv', inTurn(status(503, { 'retry-after': '1' }), hangUp, file(rows('late'))));
    const id = await start({ file_url: url });
    const waiting = await waitFor('the first fault', async () => {
      const job = await findImport(stack.store.db, world.entity.id, id);
      return job!.fetchTries > 0 && job!.fetchFault !== null && job;
    });
    expect(waiting).toMatchObject({ state: 'running', rowsIn: 0 });
    expect(waiting.fetchFault).toContain('503');
    expect(await importEnded(stack.store, world, id)).toMatchObject({
      state: 'finished',
      rowsOk: 1,
      fetchTries: 3,
      fetchFault: null,
    });
  });
});

describe("a file that can't be fetched fails its import with one error that helps", () => {
  const answers: [what: string, answer: Parameters<typeof source.serve>[1], words: RegExp][] = [
    ['is not there', status(404), /404/],
    ['is forbidden', status(403), /403.*request_headers/],
  ];

  it.for(answers)('where it %s', async ([, answer, words]) => {
    const { job, errors } = await imported({ file_url: source.serve('/nothing.csv', answer) });
    expect(job).toMatchObject({ state: 'failed', rowsIn: 0, file: null, errorsByType: {} });
    expect(errors).toMatchObject([
      { line: 0, errorType: 'FILE_TRANSFER_ERROR', stage: 'transfer', message: expect.stringMatching(words) },
    ]);
  });

  it('where it never comes, after the time that was promised, however short the waits that the source asks for', async () => {
    const { job, errors } = await imported({
      file_url: source.serve('/never.csv', status(503, { 'retry-after': '0' })),
    });
    expect(job).toMatchObject({ state: 'failed', rowsIn: 0, errorsByType: {} });
    expect(job.endedAt!.getTime() - job.startedAt!.getTime()).toBeGreaterThanOrEqual(PATIENCE_MS);
    expect(job.fetchTries).toBeLessThan(10);
    expect(errors[0]!.message).toMatch(new RegExp(`503.*tried ${job.fetchTries} times`));
  });

  it('where its address is one of this network', async () => {
    const { job, errors } = await imported({ file_url: 'http://[::1]:9/values.csv' });
    expect(job.state).toBe('failed');
    expect(errors[0]!.message).toMatch(/MILLRACE_FETCH_ALLOW/);
  });

  it('where a redirect leads into this network', async () => {
    const { job, errors } = await imported({
      file_url: source.serve('/inwards', redirect('http://169.254.169.254/latest/meta-data')),
    });
    expect(job.state).toBe('failed');
    expect(errors[0]!.message).toMatch(/169\.254\.169\.254/);
  });
});

it('an import is canceled while its file is being fetched, and nothing is left of the file', async () => {
  const before = await listFiles(stack.store, 'imports/');
  const id = await start({ file_url: source.serve('/slow.csv', file(rows('slow', 5_000), { stopsAfter: 1_000 })) });
  await waitFor(
    'the first bytes',
    async () => (await findImport(stack.store.db, world.entity.id, id))!.fetchedBytes === 1_000,
  );
  expect(await currentDetails(stack, `import/${id}`)).toBe('Fetching the file');
  const reply = await stack.app.inject({
    method: 'POST',
    url: `/api/attribute_values/imports/${id}/cancel`,
    headers: { authorization: `Token ${world.token}` },
  });
  expect(reply.json()).toMatchObject({ result: { state: 'canceled', fetched_bytes: 1_000, rows: { read: 0 } } });
  const {
    rows: [kept],
  } = await stack.store.db.query('SELECT file_url, request_headers FROM imports WHERE identifier = $1', [id]);
  expect(kept).toEqual({ file_url: null, request_headers: null });
  await waitFor("the workflow's end", async () => {
    const {
      status: { name },
    } = await stack.temporal.workflow.getHandle(`import/${id}`).describe();
    return name === 'COMPLETED';
  });
  expect(await listFiles(stack.store, 'imports/')).toEqual(before);
});
