import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, expect, it } from 'vitest';
import { readSigningKeys, signDocument, verifyDocument } from '../../domain/core/signed-document.ts';
import type { UnsignedManifest } from '../../domain/exports/export-manifest.ts';
import { fingerprintOf } from '../../store/core/server-keys.ts';
import { raiseTombstones } from '../../store/gdpr/tombstone-batches.ts';
import { onFileEnd } from '../harness/core/clean-up.ts';
import { personId, rememberSecret } from '../harness/core/people.ts';
import { programEnv } from '../harness/core/program-env.ts';
import { filesEnv, startServer } from '../harness/core/served.ts';
import { useStack } from '../harness/core/stack.ts';
import { makeWorld, type World } from '../harness/core/world.ts';
import { storedExporter } from '../harness/exports/stored-exporters.ts';

const KEYS = fileURLToPath(new URL('../../runtime/keys.ts', import.meta.url));
const MANIFEST: UnsignedManifest = {
  version: 1,
  exporter: 'exp_1',
  exporter_name: 'Daily',
  entity: 'ent_1',
  run: 'run_1',
  cause: 'schedule',
  window: { kind: 'received', start: null, end: '2026-11-20T23:00:00Z' },
  generation: 1,
  written_at: '2026-11-21T01:17:05Z',
  format: 'csv',
  compression: 'gzip',
  include_headers: false,
  encryption: null,
  types: [],
  rows: 0,
  bytes: 0,
};

const stack = useStack();
const next = randomBytes(32);
let world: World;
let exporter: string;
let home: string;

beforeAll(async () => {
  rememberSecret(next.toString('base64'));
  world = await makeWorld(stack.store);
  exporter = (await storedExporter(stack.store.db, stack.store.secrets, world)).identifier;
  home = await mkdtemp(join(tmpdir(), 'millrace-keys-'));
  onFileEnd(() => rm(home, { recursive: true, force: true }));
});

/** The real `npm run keys`. */
function keys(args: string[], env: Record<string, string> = {}): Promise<{ code: unknown; said: string }> {
  const { store } = stack;
  const given = {
    ...programEnv(),
    MILLRACE_DATA_DIR: home,
    DATABASE_URL: store.url,
    MILLRACE_SECRET_KEY: store.secretKey.toString('base64'),
    ...filesEnv(store),
    ...env,
  };
  return new Promise((resolve) => {
    execFile(process.execPath, [KEYS, ...args], { env: given }, (error, out, err) =>
      resolve({ code: error?.code ?? 0, said: out + err }),
    );
  });
}

const secretEnv = (key: Buffer) => ({ MILLRACE_SECRET_KEY: key.toString('base64') });

async function get<T>(url: string, path: string): Promise<T> {
  const reply = await fetch(url + path, {
    headers: { authorization: `Token ${world.token}`, accept: 'application/vnd.millrace.v3+json' },
  });
  return (await reply.json()) as T;
}

it('rotates under a service that is stopped: keys, tombstones and signatures hold, and no one else gets in meanwhile', async () => {
  const { store } = stack;
  const hash = store.secrets.customerHash(world.entity.id, 'user_id', personId(1));
  await raiseTombstones(store, world.entity.id, [hash]);
  const signed = signDocument(MANIFEST, store.secrets.sign);

  const before = await startServer(stack);
  expect(await keys(['rotate'])).toMatchObject({
    code: 1,
    said: expect.stringContaining('Millrace runs on this database: stop its processes'),
  });
  await before.stop();

  for (const args of [['show'], ['rotate']]) {
    expect(await keys(args, { MILLRACE_FILES: `file:${join(home, 'other-files')}` })).toMatchObject({
      code: 1,
      said: expect.stringMatching(/^MILLRACE_FILES: this file store is empty or lacks its marker .*\n$/),
    });
  }
  expect(await keys(['rotate'])).toMatchObject({
    code: 0,
    said: expect.stringMatching(/^data key 2 seals everything now: \d+ values .*data key 1 is gone\n$/),
  });
  expect(await keys(['rotate', '--wrapping'])).toMatchObject({
    code: 1,
    said: expect.stringContaining('MILLRACE_NEW_SECRET_KEY is required here'),
  });
  const wrapped = await keys(['rotate', '--wrapping'], { MILLRACE_NEW_SECRET_KEY: next.toString('base64') });
  expect(wrapped).toMatchObject({ code: 0, said: expect.stringContaining('4 keys are wrapped by the new secret key') });
  expect(await keys(['rotate'])).toMatchObject({
    code: 1,
    said: expect.stringContaining(`(fingerprint ${fingerprintOf(next)})`),
  });

  const { said } = await keys(['show'], secretEnv(next));
  expect(said).toMatch(new RegExp(`^data +2 +\\d{4}-\\d\\d-\\d\\d +${fingerprintOf(next)} +the same +[1-9]`, 'm'));
  for (const secret of [next, store.secretKey]) expect(said).not.toContain(secret.toString('base64'));

  const after = await startServer(stack, secretEnv(next));
  const sor = await get<{ result: { api_keys: string[] } }>(
    after.url,
    `/api/system_of_records/${world.sor.identifier}`,
  );
  expect(sor.result.api_keys).toEqual([world.apiKey]);
  const view = await get<object>(after.url, `/api/data_exporters/${exporter}`);
  expect(JSON.stringify(view)).toContain('the secret of a stored exporter');
  const published = readSigningKeys(await get(after.url, '/.well-known/jwks.json'))!;
  expect(verifyDocument(signed, published)).toBe('valid');
  await after.stop();
});

it('says what it can do when asked for something else', async () => {
  await Promise.all(
    [[], ['rotate', '--wraping'], ['show', 'all'], ['delete']].map(async (args) => {
      expect(await keys(args)).toMatchObject({
        code: 1,
        said: expect.stringContaining('npm run keys -- rotate --wrapping'),
      });
    }),
  );
});
