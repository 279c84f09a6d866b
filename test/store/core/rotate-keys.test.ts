import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeEach, describe, expect, it } from 'vitest';
import { listAppTokenKeys } from '../../../store/apps/app-token-keys.ts';
import { viewSors } from '../../../store/attributes/systems-of-records.ts';
import { rotateDataKey, rotateSecretKey, countSealed } from '../../../store/core/rotate-keys.ts';
import { haveAlone, sayRunning } from '../../../store/core/running.ts';
import { openSecrets, type Secrets } from '../../../store/core/secrets.ts';
import { fingerprintOf, listWrappedKeys } from '../../../store/core/server-keys.ts';
import { openExporterSecrets } from '../../../store/exports/data-exporters.ts';
import { insertSampleApp } from '../../harness/apps/apps.ts';
import { insertTokenKey, type TokenKey } from '../../harness/apps/user-tokens.ts';
import { testStore, type TestStore } from '../../harness/core/database.ts';
import { rememberSecret } from '../../harness/core/people.ts';
import { waitFor } from '../../harness/core/wait.ts';
import { makeWorld, type World } from '../../harness/core/world.ts';
import { storedExporter } from '../../harness/exports/stored-exporters.ts';

const ROTATE = fileURLToPath(new URL('../../harness/core/rotate-main.ts', import.meta.url));

let store: TestStore;
let world: World;
let exporterId: number;
let tokenKey: TokenKey & { appId: number };

beforeEach(async () => {
  store = await testStore();
  world = await makeWorld(store);
  exporterId = (await storedExporter(store.db, store.secrets, world)).id;
  const { id: appId } = await insertSampleApp(store.db, world.entity.id, 'com.example.shop');
  tokenKey = { appId, ...(await insertTokenKey(store, world.entity.id, appId)) };
});

/** A rotation in a process of its own, ended by SIGKILL. */
async function killedRotation(boundary: string, times = 1, to: Buffer | null = null): Promise<void> {
  const keys = [store.secretKey.toString('base64'), to?.toString('base64') ?? '-'];
  const child = spawn(process.execPath, [ROTATE, store.url, store.filesFolder, ...keys, boundary, String(times)], {
    stdio: 'inherit',
  });
  expect(await once(child, 'exit')).toEqual([null, 'SIGKILL']);
}

const filesNow = async () =>
  Object.fromEntries(
    await Promise.all(
      (await readdir(join(store.filesFolder, 'keys'))).map(async (name) => [
        name,
        await readFile(join(store.filesFolder, 'keys', name), 'utf8'),
      ]),
    ),
  );
const rowsNow = async () =>
  Object.fromEntries((await listWrappedKeys(store.db)).map(({ name, id, wrapped }) => [`${name}-${id}`, wrapped]));

/** All that hangs on the keys is as it was when `store` was made. */
async function expectAllHolds(secrets: Secrets): Promise<void> {
  expect((await viewSors(store.db, secrets, world.entity.id, [world.sor]))[0]!.apiKeys).toEqual([world.apiKey]);
  expect(await openExporterSecrets(store.db, secrets, world.entity.id, exporterId)).toMatchObject({
    secretAccessKey: 'the secret of a stored exporter',
  });
  expect(await listAppTokenKeys(store.db, secrets, world.entity.id, tokenKey.appId)).toMatchObject([
    { secret: tokenKey.secret },
  ]);
  expect(secrets.lookup(world.apiKey)).toEqual(store.secrets.lookup(world.apiKey));
  expect(secrets.customerHash(1, 'user_id', 'x')).toEqual(store.secrets.customerHash(1, 'user_id', 'x'));
  expect(secrets.signingKeys()).toEqual(store.secrets.signingKeys());
}

describe('the data key', () => {
  it.each([
    ['drawn', 1],
    ['resealed', 3],
    ['file dropped', 1],
  ])('is rotated though the process is killed: %s', async (boundary, times) => {
    await killedRotation(boundary, times);
    await expectAllHolds(await openSecrets(store.db, store.files, store.secretKey)); // what starts meanwhile
    await rotateDataKey(store, store.secretKey);
    expect([...(await countSealed(store.db)).keys()]).toEqual([2]);
    const keys = ['data-2', 'lookup-1', 'signature-1', 'tombstone-1'];
    expect([Object.keys(await rowsNow()), Object.keys(await filesNow()).toSorted()]).toEqual([keys, keys]);
    await expectAllHolds(await openSecrets(store.db, store.files, store.secretKey));
    expect(await rotateDataKey(store, store.secretKey)).toMatchObject({ id: 3, dropped: [2] });
  });

  it('seals more than a batch again', async () => {
    const { entity } = world;
    const place = (identifier: string) => ({
      table: 'app_api_keys',
      column: 'api_key',
      entityId: entity.id,
      row: identifier,
    });
    const identifiers = Array.from({ length: 1_100 }, (_, n) => `key_${n}`);
    const {
      rows: [app],
    } = await store.db.query<{ id: number }>(
      `INSERT INTO apps (entity_id, identifier, name, package_name, app_type) VALUES ($1, 'app_1', 'A', 'a.b', 'Web App') RETURNING id`,
      [entity.id],
    );
    await store.db.query(
      `INSERT INTO key_lookups (lookup, kind, entity_id, owner_id)
       SELECT convert_to(identifier, 'UTF8'), 'app', $1, 0 FROM unnest($2::text[]) AS identifier`,
      [entity.id, identifiers],
    );
    await store.db.query(
      `INSERT INTO app_api_keys (entity_id, app_id, identifier, lookup, api_key, revoked)
       SELECT $1, $2, identifier, convert_to(identifier, 'UTF8'), sealed, false
       FROM unnest($3::text[], $4::text[]) AS given (identifier, sealed)`,
      [
        entity.id,
        app!.id,
        identifiers,
        identifiers.map((identifier) => store.secrets.seal(`of ${identifier}`, place(identifier))),
      ],
    );
    expect((await rotateDataKey(store, store.secretKey)).resealed).toBeGreaterThan(1_100);
    const secrets = await openSecrets(store.db, store.files, store.secretKey);
    const { rows } = await store.db.query<{ identifier: string; api_key: string }>(
      'SELECT identifier, api_key FROM app_api_keys',
    );
    for (const { identifier, api_key: sealed } of rows)
      expect(secrets.open(sealed, place(identifier))).toBe(`of ${identifier}`);
  });
});

describe('the secret key', () => {
  it.each([
    ['database', 1],
    ['file', 2],
  ])('is changed though the process is killed: %s', async (boundary, times) => {
    const to = randomBytes(32);
    rememberSecret(to.toString('base64'));
    await killedRotation(boundary, times, to);
    await expect(openSecrets(store.db, store.files, store.secretKey)).rejects.toThrow(
      `was not wrapped by this MILLRACE_SECRET_KEY (fingerprint ${fingerprintOf(store.secretKey)}): start with the key that the ` +
        `database was made with, or was given since (fingerprint ${fingerprintOf(to)})`,
    );
    expect(await rotateSecretKey(store, store.secretKey, to)).toBe(4);
    expect(await filesNow()).toEqual(await rowsNow());
    await expectAllHolds(await openSecrets(store.db, store.files, to));
    await store.db.query('DELETE FROM server_keys'); // each place alone is enough
    await expectAllHolds(await openSecrets(store.db, store.files, to));
  });

  it('once changed, has the files follow at the next start, where nobody repeats it', async () => {
    const to = randomBytes(32);
    await killedRotation('file', 2, to);
    expect(await filesNow()).not.toEqual(await rowsNow());
    await openSecrets(store.db, store.files, to);
    expect(await filesNow()).toEqual(await rowsNow());
  });
});

it('has the database alone, and is refused where a process runs, though its session broke', async () => {
  const end = await sayRunning(store.db);
  await expect(haveAlone(store.db, async () => {})).rejects.toThrow(
    'Millrace runs on this database: stop its processes first',
  );
  const holders = async () =>
    (
      await store.db.query<{ pid: number }>(
        `SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND mode = 'ShareLock'
       AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
      )
    ).rows.map(({ pid }) => pid);
  const [broken] = await holders();
  await store.db.query('SELECT pg_terminate_backend($1, 5000)', [broken]);
  await waitFor('another session', async () => (await holders()).some((pid) => pid !== broken));
  await expect(haveAlone(store.db, async () => {})).rejects.toThrow('Millrace runs on this database');
  end();
  await waitFor('the lock to go', async () => (await holders()).length === 0);
  await haveAlone(store.db, async () => {
    await expect(sayRunning(store.db)).rejects.toThrow("The server's keys are being rotated");
  });
  (await sayRunning(store.db))();
});
