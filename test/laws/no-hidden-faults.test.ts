import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, inject, it } from 'vitest';
import { unexpectedFaults } from '../harness/run/faults.ts';

/**
 * Law 11: an internal error of any test's server or worker fails the run, unless the test announced it with
 * `expectFault`.
 */

const lines = (...documents: object[]) => documents.map((document) => `${JSON.stringify(document)}\n`).join('');

it('the search finds an error that no test announced, with the test file whose worker wrote it', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'millrace-faults-'));
  try {
    const failed = { level: 'error', activity: 'loadRows', errorClass: 'TypeError', msg: 'a step failed' };
    const request = { level: 50, method: 'GET', route: '/api/apps', msg: 'a request failed' };
    await writeFile(join(folder, 'worker-a.log'), lines(failed, { level: 'warn', msg: 'fine' }));
    await writeFile(join(folder, 'worker-b.log'), lines(failed) + '{"level":"error","activity":"cut o');
    await writeFile(join(folder, 'server-c.log'), lines(request));
    await writeFile(
      join(folder, 'log-owners.list'),
      lines(
        { log: 'worker-a.log', file: 'a.test.ts' },
        { log: 'worker-b.log', file: 'b.test.ts' },
        { log: 'server-c.log', file: 'b.test.ts' },
      ),
    );
    await writeFile(join(folder, 'expected-faults.list'), lines({ step: 'loadRows', file: 'a.test.ts' }));
    expect(await unexpectedFaults(folder)).toEqual([
      'b.test.ts: GET /api/apps a request failed (see in server-c.log)',
      'b.test.ts: loadRows a step failed (TypeError in worker-b.log)',
    ]);
  } finally {
    await rm(folder, { recursive: true });
  }
});

it('no log of this run has an internal error that no test announced', async () => {
  expect(await unexpectedFaults(inject('runFolder'))).toEqual([]);
});
