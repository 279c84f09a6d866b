import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { openAsBlob } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { ATTRIBUTES } from './import-file.ts';

/** Millrace as `npm start` runs it, in its own process. */
export type RunningService = {
  url: string;
  pid: number;
  token: string;
  readySeconds: number;
  stop(): Promise<void>;
};

/** Address and token of a caller. */
export type Caller = Pick<RunningService, 'url' | 'token'>;

const ROOT = new URL('../', import.meta.url);
export const ADMIN = { email: 'bench@example.com', password: 'only for this benchmark' };

export async function startService(
  dataDir: string,
  port: number,
  more: Record<string, string> = {},
): Promise<RunningService> {
  const began = performance.now();
  const { settings, args } = await startCommand();
  const child = spawn(process.execPath, args, {
    cwd: ROOT,
    env: {
      ...process.env,
      ...settings,
      PORT: String(port),
      MILLRACE_DATA_DIR: dataDir,
      MILLRACE_RATE_LIMIT: '0',
      MILLRACE_LOG_LEVEL: 'warn',
      MILLRACE_ADMIN_EMAIL: ADMIN.email,
      MILLRACE_ADMIN_PASSWORD: ADMIN.password,
      MILLRACE_FETCH_ALLOW: '127.0.0.1',
      ...more,
    },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const url = `http://127.0.0.1:${port}`;
  await ready(url, child);
  const readySeconds = (performance.now() - began) / 1000;
  const { auth_token: token } = await call<{ auth_token: string }>(url, null, 'POST', '/api/login', ADMIN);
  return {
    url,
    pid: child.pid!,
    token,
    readySeconds,
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      child.kill('SIGTERM');
      await once(child, 'exit');
    },
  };
}

/** Returns the settings and environment that `npm start` gives to Node. */
async function startCommand(): Promise<{ settings: Record<string, string>; args: string[] }> {
  const { scripts } = JSON.parse(await readFile(new URL('package.json', ROOT), 'utf8')) as {
    scripts: { start: string };
  };
  const [before, after] = scripts.start.split(' exec node ') as [string, string];
  return { settings: Object.fromEntries(before.split(' ').map((word) => word.split('='))), args: after.split(' ') };
}

async function ready(url: string, child: ChildProcess): Promise<void> {
  while (
    !(await fetch(`${url}/health/ready?parts=all`).then(
      ({ ok }) => ok,
      () => false,
    ))
  ) {
    if (child.exitCode !== null) throw new Error('the service did not start');
    await delay(20);
  }
}

/** Asks the service, and returns its `result`. */
export async function call<T>(
  url: string,
  token: string | null,
  method: string,
  path: string,
  body?: object,
): Promise<T> {
  const isForm = body instanceof FormData;
  const reply = await fetch(url + path, {
    method,
    headers: {
      ...(token ? { authorization: `Token ${token}` } : {}),
      ...(body && !isForm ? { 'content-type': 'application/json' } : {}),
    },
    ...(body ? { body: isForm ? body : JSON.stringify(body) } : {}),
  });
  const answer = (await reply.json()) as { success: boolean; result: T; error_message?: string };
  if (!answer.success) throw new Error(`${method} ${path}: ${answer.error_message}`);
  return answer.result;
}

export type BenchSor = { identifier: string; apiKey: string };

/** Makes a SoR with the attributes of the benchmark's files. */
export async function createSor({ url, token }: Caller): Promise<BenchSor> {
  const sor = await call<{ identifier: string; api_keys: string[] }>(url, token, 'POST', '/api/system_of_records', {
    name: 'Bench',
  });
  for (const [key, type] of ATTRIBUTES) {
    await call(url, token, 'POST', '/api/customer_attributes', {
      sor_id: sor.identifier,
      key,
      label: key,
      value_type: type,
    });
  }
  return { identifier: sor.identifier, apiKey: sor.api_keys[0]! };
}

export type ImportStatus = {
  import_id: string;
  state: string;
  started_at: string;
  ended_at: string | null;
  rows: { read: number; ok: number; ignored: number; failed: number };
};

/** Uploads a file and waits for its end. Returns the seconds of the import, and from the request to its end. */
export async function importFile(
  { url, token }: Caller,
  sor: BenchSor,
  path: string,
): Promise<{ status: ImportStatus; importSeconds: number; requestSeconds: number }> {
  const form = new FormData();
  form.set('sor_id', sor.identifier);
  form.set('api_key', sor.apiKey);
  form.set('skip_email', 'true');
  form.set('file', await openAsBlob(path), 'bench.csv');
  const began = performance.now();
  const { import_id: id } = await call<{ import_id: string }>(
    url,
    null,
    'POST',
    '/api/attribute_values/batch_import',
    form,
  );
  for (;;) {
    const status = await call<ImportStatus>(url, token, 'GET', `/api/attribute_values/imports/${id}`);
    if (status.ended_at) {
      const importSeconds = (Date.parse(status.ended_at) - Date.parse(status.started_at)) / 1000;
      return { status, importSeconds, requestSeconds: (performance.now() - began) / 1000 };
    }
    await delay(untilNextLook(began));
  }
}

/** Returns ms until the next poll: often at first, then less, since polling takes CPU. */
export function untilNextLook(began: number): number {
  return Math.min(Math.max((performance.now() - began) / 20, 10), 250);
}
