import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, inject, it } from 'vitest';
import { superviseTemporal } from '../../runtime/supervisor.ts';
import { openTemporalClient } from '../../temporal/client.ts';
import { onFileEnd } from '../harness/core/clean-up.ts';
import { CLOSED_PORT } from '../harness/core/closed-port.ts';
import { rememberSecret } from '../harness/core/people.ts';
import { programEnv } from '../harness/core/program-env.ts';

const START = fileURLToPath(new URL('../../runtime/start.ts', import.meta.url));
const WRONG = 'zq-wrong-password-of-a-start';
const NO_TEMPORAL = `127.0.0.1:${CLOSED_PORT}`;

let home: string;
beforeAll(async () => {
  rememberSecret(WRONG);
  home = await mkdtemp(join(tmpdir(), 'millrace-home-'));
  onFileEnd(() => rm(home, { recursive: true, force: true }));
  await writeFile(join(home, 'a-file'), '');
});

/** What the real `npm start` says that can't begin, without its lines of log. */
async function start(env: Record<string, string>): Promise<{ code: unknown; lines: string[] }> {
  const child = spawn(process.execPath, [START], {
    env: {
      ...programEnv(),
      MILLRACE_DATA_DIR: join(home, randomUUID()),
      DATABASE_URL: inject('postgres').adminUrl,
      TEMPORAL_ADDRESS: NO_TEMPORAL,
      MILLRACE_SECRET_KEY: Buffer.alloc(32, 7).toString('base64'),
      MILLRACE_FILES: `file:${join(home, 'files')}`,
      ...env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  onFileEnd(async () => child.kill('SIGKILL'));
  const ended = new Promise((resolve) => {
    child.once('exit', resolve);
  });
  const said = await Promise.all([text(child.stdout), text(child.stderr)]);
  return {
    code: await ended,
    lines: said
      .join('')
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('{')),
  };
}

const databaseUrl = (change: Partial<URL>) => Object.assign(new URL(inject('postgres').adminUrl), change).href;

describe('a process that can not start', () => {
  it.concurrent.each([
    [
      'nothing listens',
      () => ({ DATABASE_URL: `postgres://millrace@127.0.0.1:${CLOSED_PORT}/millrace` }),
      /^DATABASE_URL: 127\.0\.0\.1:47 refused the connection: check that it runs, and the port\.$/,
    ],
    [
      'the password is wrong',
      () => ({ DATABASE_URL: databaseUrl({ password: WRONG }) }),
      /^DATABASE_URL: 127\.0\.0\.1:\d+ does not take this user with this password: check both\.$/,
    ],
    [
      'there is no such database',
      () => ({ DATABASE_URL: databaseUrl({ pathname: '/none' }) }),
      /^DATABASE_URL: 127\.0\.0\.1:\d+ has no database of this name: check it\.$/,
    ],
    [
      'the folder of files can not be made',
      () => ({ MILLRACE_FILES: `file:${join(home, 'a-file', 'files')}` }),
      /^MILLRACE_FILES: the folder \S+a-file\/files can't be used \(ENOTDIR\): a file is in the way\.$/,
    ],
    [
      'the data folder can not be written',
      () => ({ MILLRACE_DATA_DIR: join(home, 'a-file') }),
      /^MILLRACE_DATA_DIR: the folder \S+a-file can't be used \(EEXIST\): a file is in the way\.$/,
    ],
    [
      'no data folder can be made',
      () => ({ MILLRACE_DATA_DIR: '/proc/millrace/data' }),
      /^MILLRACE_DATA_DIR: the folder \/proc\/millrace\/data can't be used \((?:ENOENT|EACCES|EPERM|EROFS)\): .+\.$/,
    ],
    [
      'no folder of files can be made',
      () => ({ MILLRACE_FILES: 'file:/proc/millrace/files' }),
      /^MILLRACE_FILES: the folder \/proc\/millrace\/files can't be used \((?:ENOENT|EACCES|EPERM|EROFS)\): .+\.$/,
    ],
  ])('says one sentence that names the variable if %s', async (_, env, sentence) => {
    expect(await start(env())).toEqual({ code: 1, lines: [expect.stringMatching(sentence)] });
  });
});

it('a wrong TEMPORAL_ADDRESS is said in one sentence, once, and waited for', async () => {
  const temporal = await openTemporalClient({ address: NO_TEMPORAL, namespace: 'none' }, 'test');
  const said: unknown[] = [];
  const stopping = new AbortController();
  const warn = (...line: unknown[]) => {
    said.push(line);
    stopping.abort();
  };
  await superviseTemporal({ temporal, log: { info() {}, warn, error() {} }, sweepSeconds: 0.01 }, stopping.signal);
  await temporal.connection.close();
  expect(said).toEqual([
    [
      { errorClass: expect.any(String), code: expect.any(String) },
      `TEMPORAL_ADDRESS: there is no Temporal at ${NO_TEMPORAL}; accepted work waits until there is`,
    ],
  ]);
});
