import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, it } from 'vitest';
import { openDataFolder } from '../../runtime/embedded/data-folder.ts';
import { isAlive, type ProcessIdentity } from '../../runtime/embedded/children.ts';
import { shareBundles } from '../harness/core/bundles.ts';
import { onFileEnd } from '../harness/core/clean-up.ts';
import { rememberSecret } from '../harness/core/people.ts';
import { programEnv } from '../harness/core/program-env.ts';
import { waitFor } from '../harness/core/wait.ts';

const START = fileURLToPath(new URL('../../runtime/start.ts', import.meta.url));
const folder = { path: '' };

beforeAll(async () => {
  folder.path = await mkdtemp(join(tmpdir(), 'millrace-start-'));
  await openDataFolder(folder.path);
  await shareBundles(folder.path);
  onFileEnd(() => rm(folder.path, { recursive: true, force: true }));
});

type Service = {
  url: string;
  said(): string;
  /** Whatever reads its output is gone. */
  hangUp(): void;
  kill(signal: NodeJS.Signals): Promise<number | null>;
  ended: Promise<number | null>;
};

/** The real `npm start`, on a data folder of this file's. */
function start(port: number, env: Record<string, string> = {}): Service {
  const child = spawn(process.execPath, [START], {
    env: { ...programEnv(), PORT: String(port), MILLRACE_DATA_DIR: folder.path, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let said = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => {
      said += chunk.toString();
    });
  const ended = once(child, 'exit').then(([code]) => code as number | null);
  const kill = (signal: NodeJS.Signals) => {
    child.kill(signal);
    return ended;
  };
  onFileEnd(() => kill('SIGKILL'));
  const hangUp = () => {
    for (const stream of [child.stdout, child.stderr]) stream.destroy();
  };
  return { url: `http://127.0.0.1:${port}`, said: () => said, hangUp, kill, ended };
}

async function ready({ url, said }: Service): Promise<string[]> {
  const answer = await waitFor(`a service that is ready; it said: ${said()}`, () =>
    fetch(`${url}/health/ready?parts=all`).then(
      (reply) => (reply.ok ? reply : null),
      () => null,
    ),
  );
  return ((await answer.json()) as { parts: { name: string }[] }).parts.map(({ name }) => name);
}

async function call<T>({ url }: Service, path: string, token: string | null, body?: object): Promise<T> {
  const reply = await fetch(url + path, {
    method: body ? 'POST' : 'GET',
    ...(body ? { body: JSON.stringify(body) } : {}),
    headers: { 'content-type': 'application/json', ...(token ? { authorization: `Token ${token}` } : {}) },
  });
  return ((await reply.json()) as { result: T }).result;
}

async function login(service: Service): Promise<string> {
  const password = (await readFile(join(folder.path, 'admin-password'), 'utf8')).trim();
  return (await call<{ auth_token: string }>(service, '/api/login', null, { email: 'admin@millrace.local', password }))
    .auth_token;
}

async function children(): Promise<ProcessIdentity[]> {
  const records = (await readdir(folder.path)).filter((file) => /^child\..*\.json$/.test(file));
  return Promise.all(
    records.map(async (file) => JSON.parse(await readFile(join(folder.path, file), 'utf8')) as ProcessIdentity),
  );
}

describe('npm start', () => {
  /** Started in one test, and ended in the next. */
  let running: Service | undefined;

  it('runs, is refused a folder in use, recovers from SIGKILL by itself, and drains on SIGTERM', async () => {
    const secret = 'metrics-of-the-start-test';
    rememberSecret(secret);
    const first = start(18_181, { MILLRACE_METRICS_ADDRESS: '127.0.0.1:18186', MILLRACE_METRICS_TOKEN: secret });
    expect(await ready(first)).toEqual([
      'postgres',
      'migrations',
      'files',
      'temporal',
      'worker of flows',
      'worker of bulk',
      'worker of syncs',
      'worker of sends',
      'worker of mails',
    ]);
    expect((await stat(join(folder.path, 'admin-password'))).mode & 0o777).toBe(0o600);
    expect((await stat(folder.path)).mode & 0o777).toBe(process.getuid!() === 0 ? 0o711 : 0o700);
    const metrics = (port: number, authorization: string) =>
      fetch(`http://127.0.0.1:${port}/metrics`, { headers: { authorization } });
    expect(await (await metrics(18_186, `Bearer ${secret}`)).text()).toContain('millrace_step_seconds');
    expect([
      (await metrics(18_186, 'Bearer wrong')).status,
      (await metrics(18_181, `Bearer ${secret}`)).status,
    ]).toEqual([401, 404]);
    expect((await fetch('http://127.0.0.1:18186/health/live')).status).toBe(404);
    const password = (await readFile(join(folder.path, 'admin-password'), 'utf8')).trim();
    expect(first.said().split(password)).toHaveLength(2); // said once
    const token = await login(first);
    const { identifier } = await call<{ identifier: string }>(first, '/api/system_of_records', token, { name: 'Kept' });
    const { parts } = await call<{ parts: { name: string; version: string | null }[] }>(first, '/api/system', token);
    expect(parts.flatMap(({ name, version }) => (version === null ? [] : [name, version]))).toEqual([
      'postgres',
      expect.stringMatching(/^18\b/),
      'temporal',
      expect.stringMatching(/^\d+\./),
    ]);

    const second = start(18_182);
    expect(await second.ended).toBe(1);
    expect(second.said()).toContain(`The data folder ${folder.path} is in use by process`);

    const orphans = await children();
    await first.kill('SIGKILL');
    expect(orphans.map(isAlive)).toEqual([true, true]);
    const third = start(18_181);
    await ready(third);
    expect(orphans.map(isAlive)).toEqual([false, false]);
    expect(third.said()).toContain('left behind');
    expect(third.said()).not.toContain(password);
    const sor = await call<{ name: string; api_keys: string[] }>(third, `/api/system_of_records/${identifier}`, token);
    expect(sor).toMatchObject({ name: 'Kept', api_keys: [expect.any(String)] });

    const heirs = await children();
    const before = third.said().length;
    // So many at once that each session of the pool is in use when the signal comes; their clients keep the
    // connections.
    const underWay = Array.from({ length: 60 }, () => call(third, '/api/system_of_records', token).catch(() => null));
    await Promise.race(underWay);
    expect(await third.kill('SIGTERM')).toBe(0);
    await Promise.all(underWay);
    expect(third.said().slice(before)).not.toMatch(/"level":"(?:warn|error)"|"frames"|^ +at /m);
    expect(heirs.map(isAlive)).toEqual([false, false]);
  });

  it('has its keys rotated in the data folder, the one that wraps them too, and starts with what it drew', async () => {
    const before = await readFile(join(folder.path, 'secret-key'), 'utf8');
    const ROTATIONS = [
      [['rotate'], 'data key 2 seals'],
      [['rotate', '--wrapping'], 'secret-key.before holds the one before'],
    ] as const;
    for (const [args, says] of ROTATIONS) {
      const child = spawn(
        process.execPath,
        [fileURLToPath(new URL('../../runtime/keys.ts', import.meta.url)), ...args],
        {
          env: { ...programEnv(), MILLRACE_DATA_DIR: folder.path },
          stdio: ['ignore', 'pipe', 'inherit'],
        },
      );
      expect((await Array.fromAsync(child.stdout)).join('')).toContain(says);
    }
    expect(await readFile(join(folder.path, 'secret-key.before'), 'utf8')).toBe(before);
    expect(await readFile(join(folder.path, 'secret-key'), 'utf8')).not.toBe(before);
    expect((await stat(join(folder.path, 'secret-key.before'))).mode & 0o777).toBe(0o600);
    const service = start(18_181);
    await ready(service);
    const sors = await call<{ name: string; api_keys: string[] }[]>(
      service,
      '/api/system_of_records',
      await login(service),
    );
    expect(sors).toContainEqual(expect.objectContaining({ name: 'Kept', api_keys: [expect.any(String)] }));
    running = service;
  });

  it('ends, and says why, when one of its parts has ended by itself', async () => {
    const service = running!;
    const { pid } = JSON.parse(await readFile(join(folder.path, 'child.postgres.json'), 'utf8')) as ProcessIdentity;
    process.kill(pid, 'SIGKILL');
    expect(await service.ended).toBe(1);
    expect(service.said()).toContain('postgres: ended by itself; its log is');
    expect(service.said()).not.toContain('already been released');
    expect(await children()).toEqual([]);
  });

  it('ends in good order at Ctrl-C, which whatever reads its output hears first', async () => {
    const service = start(18_188, { MILLRACE_LOG_FORMAT: 'text' });
    await ready(service);
    const said = await waitFor('the welcome', async () => (service.said().includes('Ctrl-C') ? service.said() : null));
    expect(said).toContain(
      `  Sign in   as admin@millrace.local, with the password in ${join(folder.path, 'admin-password')}`,
    );
    expect(said).toContain(`${service.url}/manual/first-import.md`);
    expect(said).not.toContain('{"level"');
    const parts = await children();
    service.hangUp();
    expect(await service.kill('SIGINT')).toBe(0);
    expect(parts.map(isAlive)).toEqual([false, false]);
  });

  it('says which variables are wrong, all at once, before anything starts', async () => {
    const service = start(18_183, { MILLRACE_RATE_LIMT: '5', TEMPORAL_ADDRESS: 'nowhere', MILLRACE_LOG_LEVEL: 'loud' });
    expect(await service.ended).toBe(1);
    expect(service.said()).toContain('MILLRACE_RATE_LIMT is not known: did you mean MILLRACE_RATE_LIMIT?');
    expect(service.said()).toContain('TEMPORAL_ADDRESS is host:port');
    expect(service.said()).toContain('MILLRACE_LOG_LEVEL is debug, info, warn or error');
    expect(service.said()).not.toContain('    at ');
  });

  it('says that its port is taken, or that of its metrics, and leaves nothing running', async () => {
    const stranger = createServer().listen(18_184, '127.0.0.1');
    await once(stranger, 'listening');
    const service = start(18_184);
    expect(await service.ended).toBe(1);
    expect(service.said()).toContain('PORT 18184 on 127.0.0.1 is taken by another program');
    const another = start(18_187, { MILLRACE_METRICS_ADDRESS: '127.0.0.1:18184' });
    expect(await another.ended).toBe(1);
    stranger.close();
    expect(another.said()).toContain('MILLRACE_METRICS_ADDRESS 127.0.0.1:18184 is taken by another program');
    expect(await children()).toEqual([]);
  });

  it('says that the secret key is another than the data folder was made with', async () => {
    const service = start(18_185, { MILLRACE_SECRET_KEY: Buffer.alloc(32).toString('base64') });
    expect(await service.ended).toBe(1);
    expect(service.said()).toContain('was not wrapped by this MILLRACE_SECRET_KEY');
    expect(service.said()).not.toContain('    at ');
    expect(await children()).toEqual([]);
  });
});
